from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from harness import ROOT
from pngs import pictures
from reporting import TEXTS, data

from mdbench import datatypes
from mdbench.data.field_files import write_field
from mdbench.data.trajectory import write_npz
from mdbench.datatypes.base import Plots, PlottedAnswer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.errors import MdbenchError
from mdbench.records import Record
from mdbench.reports.pictures import MOST_DRAWN, Pictures

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import DataType


NUMBERS = {name: number for number, name in enumerate("abcdefgh")}
TRUTH = ["0.25*u0_x + 0.5*u0_y + 0.5*(u0_xx + u0_yy)"]
PLANE = "advection_diffusion_2d"


def draw(cache: Path, *records: dict[str, Any]) -> Plots:
    """Draw with arrays in a cache."""

    def find(name: str) -> DataType[Any, Any] | None:
        try:
            return datatypes.find(name, ROOT / "datasets" / name, cache / name)
        except MdbenchError:
            return None

    results = [Record.model_validate(one) for one in records]
    return Pictures(find).draw(results, NUMBERS)


def circuit(algorithm: str, equation: str = "0.3 - 0.36*u0", **changes: Any) -> dict[str, Any]:
    shape = {"dim": 1, "targets": ["u0_t"], "truth": ["(0.7 - u0/1.2)/2.31"], "r2_test": 0.999}
    return data(algorithm, "rc-circuit", **{**shape, "equations": [equation], **changes})


def plane(algorithm: str, equation: str = TRUTH[0], **changes: Any) -> dict[str, Any]:
    shape = {"dim": 1, "targets": ["u0_t"], "truth": TRUTH, "scores": {"residual": 0.5}}
    shape |= {"data_type": "pde", "equations": [equation]}
    return data(algorithm, PLANE, **{**shape, **changes})


def test_the_best_on_clean_data_are_drawn_both_ways(tmp_path: Path) -> None:
    found = draw(
        tmp_path,
        circuit("a", nmse=0.5),
        circuit("b", nmse=0.9, verdict="identified"),
        circuit("c", nmse=0.1),
        circuit("d", nmse=0.7),
        circuit("e", nmse=0.6),
        circuit("f", "(0.7 - u0/1.2)/2.31", nmse=0.0),  # was given the truth
        circuit("g", nmse=0.0, snr_db=20.0),
        circuit("h", status="timeout"),
    )
    names = re.findall(r"</svg>(\w): R² 0.999<", found.html)
    assert names == ["b", "c", "a"]
    assert len(names) == MOST_DRAWN
    assert found.html.count('class="line thin"') == 2 * MOST_DRAWN
    assert found.note == ""


def test_a_plane_is_drawn_with_what_equations_miss(tmp_path: Path) -> None:
    kind = datatypes.find("pde", ROOT / "datasets" / "pde", tmp_path / "pde")
    dataset = kind.source().load(PLANE, snr_db=None, seed=0, protocol=Protocol.STRICT)
    found = draw(
        tmp_path,
        plane("a", "0"),
        plane("b", protocol="published"),
        plane("c", TRUTH[0].replace("0.25", "0.26")),
    )
    shown = pictures(found.html)
    assert len(shown) == 3 + 3  # three times; the truth, a and c
    assert f"the truth: {dataset.floor:.1e}".replace("e-0", "e-") in found.html
    assert "c: 0.50" in found.html
    truth, zero, near = (float(picture.mean()) for picture in shown[3:])
    assert truth < near < zero


def test_no_field_is_made_for_a_picture(tmp_path: Path) -> None:
    found = draw(tmp_path, plane("a"))
    assert found.html == ""
    assert found.note.endswith("mdbench data --data-type pde --out DIR")
    assert not list(tmp_path.rglob("*.npz"))
    variant = draw(tmp_path, plane("a", options={"variant": "released"}))
    assert variant.note.endswith("--out DIR --variant released")


def test_of_other_data_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert draw(tmp_path, data("a", "nowhere")) == Plots()
    assert draw(tmp_path, data("a", "feynman-i.12.1", data_type="srsd")) == Plots()
    assert draw(tmp_path, data("a", "x", data_type="another")) == Plots()


@pytest.mark.parametrize("data_type", ["ode", "pde"])
def test_the_users_own_files_are_drawn_as_long_as_they_are_the_same(
    tmp_path: Path, data_type: str
) -> None:
    kind = datatypes.find(data_type, ROOT / "datasets" / data_type, tmp_path / "cache")
    name = {"ode": "rc-circuit", "pde": PLANE}[data_type]
    made: Any = kind.source().load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
    file = tmp_path / "mine.npz"
    (write_npz if data_type == "ode" else write_field)(file, made.clean)
    own = kind.source(file).load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)
    one = (circuit if data_type == "ode" else plane)("a", truth=None)
    one |= {"dataset": "mine", "dataset_path": str(file)}
    one["key_parts"] = {"dataset": own.fingerprint}
    assert "<figure" in draw(tmp_path, one).html
    one["key_parts"] = {"dataset": "0" * 64}
    assert draw(tmp_path, one) == Plots(note=f"No picture, as {file} has changed since.")
    file.write_bytes(b"damaged")
    assert "cannot be read" in draw(tmp_path, one).note
    file.unlink()
    assert draw(tmp_path, one) == Plots()


def test_simulations_stop_when_all_have_had_their_share(tmp_path: Path) -> None:
    kind = datatypes.find("ode", ROOT / "datasets" / "ode", tmp_path / "ode")
    slow = Pictures(lambda _: kind)
    slow.budget.evaluations = 0
    found = slow.draw([Record.model_validate(circuit("a"))], NUMBERS)
    assert found.html.count('class="measured"') == 2
    assert "line thin" not in found.html
    assert slow.budget.evaluations == 0
    slow.budget.evaluations = 1
    found = slow.draw([Record.model_validate(circuit("a"))], NUMBERS)
    assert found.html.count("line thin") == 1
    assert slow.budget.evaluations < 0


class Asked(Ode):
    """Remembers which answers it is asked to draw, of a dataset that is always there."""

    name = "asked"
    metrics: ClassVar[Any] = TEXTS
    has_plots = True
    answers: ClassVar[list[PlottedAnswer]] = []

    def source(self, _path: Any = None) -> Any:
        load = SimpleNamespace(fingerprint="f")
        return SimpleNamespace(
            names=lambda: ["text"], is_cached=lambda *_: True, load=lambda *_, **__: load
        )

    def plots(self, _dataset: Any, answers: Any, _room: Any) -> Plots:
        self.answers[:] = answers
        return Plots("<figure></figure>")


def test_any_data_type_is_asked_to_draw_its_best_answers(tmp_path: Path) -> None:
    kind = Asked(tmp_path, tmp_path)

    def text(method: str, accuracy: float | None, **changes: Any) -> Record:
        scores = {"accuracy": accuracy}
        made = data(method, "text", data_type="asked", scores=scores, equations=None, **changes)
        return Record.model_validate(made | {"truth": None})

    results = [text("a", 0.5), text("b", None), text("c", 0.75), text("d", 0.25)]
    results.append(text("e", 1.0, protocol="published"))
    assert Pictures(lambda _: kind).draw(results, NUMBERS).html == "<figure></figure>"
    assert [one.method for one in kind.answers] == ["c", "a", "d"]
    assert kind.answers[0] == PlottedAnswer("c", 2, (), {"accuracy": 0.75})
