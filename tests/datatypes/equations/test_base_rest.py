"""Whether a system is at rest in the test window, decided by data and never by names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, known
from scipy.integrate import solve_ivp
from sweeps import paired

from mdbench.data.field import Field
from mdbench.data.field_files import write_field
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.remarks import STILL, Course, rest_note
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.pde.data_type import Pde

if TYPE_CHECKING:
    from pathlib import Path

STRICT = Protocol.STRICT


@pytest.fixture(scope="module")
def ode(tmp_path_factory: pytest.TempPathFactory) -> Ode:
    return Ode(ROOT / "datasets" / "ode", tmp_path_factory.mktemp("cache"))


def judged(kind: Any, data: Any, texts: tuple[str, ...], protocol: Protocol = STRICT) -> Any:
    task = kind.task(data, "table", protocol)
    return kind.score(task, kind.read_answer(task, Answer(texts)))


@pytest.mark.parametrize(("snr_db", "protocol"), paired((None, 10.0), Protocol))
def test_two_of_the_63_systems_are_at_rest(
    ode: Ode, snr_db: float | None, protocol: Protocol
) -> None:
    source, found = ode.source(), {}
    for name in source.names():
        data = source.load(name, snr_db=snr_db, seed=0, protocol=protocol)
        task = ode.task(data, "table", protocol)
        course = ode.course(task)
        found[name] = rest_note(course, task.test.targets, [2.0] * data.dim, None)
        # Those before, counted from the clean rates alone.
        du = known(data.clean.du)
        share = np.linalg.norm(du[120:]) / np.linalg.norm(du[:120]) * np.sqrt(120 / 30)
        assert bool(found[name]) == (share <= STILL)
    assert {name for name, why in found.items() if why} == {
        "autocatalysis",
        "photons-in-a-laser",
    }


def test_a_right_law_and_a_wrong_one_at_rest_and_not(ode: Ode) -> None:
    def load(name: str) -> Any:
        return ode.source().load(name, snr_db=None, seed=0, protocol=STRICT)

    data = load("autocatalysis")
    right = tuple(text.replace("2.1", "2.11") for text in known(data.truth))
    scores = judged(ode, data, right)
    assert scores.metrics["nmse"] > 1
    assert scores.notes["rest"] == ["the rates of the test are 6e-06 of those before it"]
    data = load("rc-circuit")
    scores = judged(ode, data, ("2*u0",))
    assert scores.metrics["nmse"] > 1
    assert "rest" not in scores.notes


def own(path: Path, t: Any, u: Any) -> Path:
    np.savetxt(path, np.column_stack([t, u]), delimiter=",", header="t,x,y,z"[: 1 + 2 * u.shape[1]])
    path.write_text(path.read_text().removeprefix("# "))
    return path


def lorenz(_: float, y: Any) -> list[float]:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


@pytest.mark.parametrize(
    ("case", "rests"),
    [
        ("noise", True),
        ("exact", True),
        ("rounded", True),
        ("oscillation", False),
        ("noisy oscillation", False),
        ("growth", False),
        ("seldom", False),
    ],
)
def test_own_data_without_a_truth(tmp_path: Path, case: str, rests: bool) -> None:
    t, rng = np.linspace(0, 20, 300), np.random.default_rng(4)
    noise = 0.01 * rng.standard_normal((len(t), 1))
    u = {
        "noise": np.exp(-t)[:, None] + noise,
        "exact": np.exp(-t)[:, None],
        "rounded": np.round(1 + np.exp(-t), 3)[:, None],
        "oscillation": np.sin(2 * t)[:, None],
        "noisy oscillation": np.sin(2 * t)[:, None] + 10 * noise,
        "growth": np.exp(t / 8)[:, None] + noise,
        "seldom": solve_ivp(lorenz, (0, 20), [1, 1, 1], t_eval=t[::6], rtol=1e-8).y.T,
    }[case]
    kind = Ode(tmp_path / "none", tmp_path / "cache")
    path = own(tmp_path / "mine.csv", t if len(u) == len(t) else t[::6], u)
    data = kind.source(path).load("mine", snr_db=None, seed=0, protocol=STRICT)
    scores = judged(kind, data, tuple(f"50*u{i} + 3" for i in range(data.dim)))
    assert ("rest" in scores.notes) is rests
    if not rests:
        assert scores.metrics["nmse"] > 1


def test_what_moves_next_to_what_rests_is_still_judged(tmp_path: Path) -> None:
    t = np.linspace(0, 20, 300)
    noise = 0.01 * np.random.default_rng(5).standard_normal((len(t), 2))
    u = np.stack([np.exp(-2 * t), np.sin(2 * t)], axis=1) + noise
    kind = Ode(tmp_path / "none", tmp_path / "cache")
    path = own(tmp_path / "mine.csv", t, u)
    data = kind.source(path).load("mine", snr_db=None, seed=0, protocol=STRICT)
    fine = judged(kind, data, ("5", "2*(1 - 2*max(0, 0*u1))*u1 - 2*u1"))
    assert fine.metrics["nmse"] > 1
    assert "rest" in fine.notes  # the second equation is 0, as good as none
    bad = judged(kind, data, ("5", "50*u1 + 3"))
    assert "rest" not in bad.notes


@pytest.mark.parametrize(("rate", "rests"), [(20.0, True), (1.0, False)])
@pytest.mark.parametrize("known_rates", [True, False])
def test_fields(tmp_path: Path, rate: float, rests: bool, known_rates: bool) -> None:
    t, x = np.linspace(0, 1, 60), np.linspace(0, 1, 40)
    profile = np.sin(np.pi * x)[:, None]
    decay = np.exp(-rate * t)[None, :]
    u = (x[:, None] + profile * decay)[..., None]  # there is a profile left, which rests
    du = (-rate * profile * decay)[..., None] if known_rates else None
    with (tmp_path / "heat.npz").open("wb") as file:
        write_field(file, Field(t, {"x": x}, u, du))
    kind = Pde(tmp_path / "none", tmp_path / "cache")
    data = kind.source(tmp_path / "heat.npz").load("heat", snr_db=None, seed=0, protocol=STRICT)
    scores = judged(kind, data, ("9*u0 + 3",))
    assert scores.metrics["nmse"] > 1
    assert ("rest" in scores.notes) is rests


def test_sizes_are_taken_without_overflow() -> None:
    huge = np.full((4, 1), 1e200)
    course = Course(huge, [huge], [huge])
    assert rest_note(course, huge, [2.0], None) == ""
    assert rest_note(course, huge * 1e-5, [2.0], None)
    assert rest_note(Course(0 * huge, [huge], [huge]), 0 * huge, [2.0], None)
