"""Fields drawn anew: the same by a seed, bounded, resolved, with every term to be seen."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT, make_workspace

from eqverdict import parse
from mdbench import datatypes
from mdbench.data.noise import generator_of
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde.fresh import NODES, TIMES, _draw, _is_acceptable
from mdbench.datatypes.pde.systems import Nodes, PdeSystem, read_system
from mdbench.errors import DataError
from mdbench.extensions.laboratory.drawing import draw
from mdbench.extensions.laboratory.truths import check_truths

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

SEED, COUNT = "test-a", 2


def quiet(name: str, done: int, of: int) -> None:
    del name, done, of


def drawn(number: int) -> PdeSystem:
    return _draw(generator_of("a test", number), "fresh-test-001")


def test_equations_can_be_read_and_have_short_constants() -> None:
    dims = []
    for number in range(200):
        system = drawn(number)
        dims.append(system.dim)
        columns = {
            f"u{i}{'_' * bool(n)}{'x' * n}": np.array([0.5, 0.7])
            for i in range(system.dim)
            for n in range(5)
        }
        for text in system.equations.values():
            assert np.isfinite(parse(text, columns).evaluate(columns)).all()
            assert 2 <= len(re.split(r" [+-] ", f" {text.removeprefix('-').strip()}")) <= 4
            digits = re.findall(r"(?<![\w*])\d+\.?\d*", text)
            assert all(len(each.replace(".", "").lstrip("0")) <= 3 for each in digits), text
    assert 0.15 < np.mean(np.array(dims) == 2) < 0.35
    assert drawn(3) == drawn(3)


@pytest.mark.parametrize(
    "equation",
    [
        "1.5 * u0_xx + 2 * u0**3",  # it explodes
        "- 1 * u0_xx + 1 * u0",  # heat that flows back
        "0.5 * u0_xx + 0.0001 * u0",  # a term that nobody sees
        "0.5 * u0_xx + 0.3 * u0_xx",  # terms that are one
        "2 * u0_xx + 0.5 * u0_x",  # all is over before the test
    ],
)
def test_what_shows_no_law_is_not_taken(equation: str) -> None:
    system = drawn(1)
    wave = {"u0_mean": 0.5, "u0_height_1": 0.8, "u0_phase_1": 1.0}
    settings = {"substeps": 10.0} | wave
    short = {"x": Nodes(0.0, 8 * (1 - 1 / NODES), NODES, 8.0)}
    times = Nodes(0.0, 8.0, TIMES)
    bad = replace(
        system,
        variables={"u0": "state"},
        equations={"u0_t": equation},
        settings=settings,
        axes=short,
        times=times,
    )
    assert not _is_acceptable(bad, multiplied_out=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("fresh"))
    (made.root / "datasets").unlink()
    (made.root / "datasets" / "pde").mkdir(parents=True)
    for each in (ROOT / "datasets" / "pde").glob("*.toml"):
        (made.root / "datasets" / "pde" / each.name).symlink_to(each)
    draw(SEED, made, ["pde"], COUNT, quiet, grammar=1)
    return made


@pytest.mark.slow
def test_fields_are_drawn_read_and_identified(place: Workspace) -> None:
    folder = place.datasets / "pde" / f"fresh-{SEED}"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    draw(SEED, place, ["pde"], COUNT, quiet, grammar=1)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    kind = datatypes.find("pde", place.datasets / "pde", place.arrays / "pde")
    source = kind.source()
    names = list(source.groups()[f"fresh-{SEED}"])
    assert len(names) == COUNT
    assert len(source.names()) == 14
    for one in check_truths(kind, source, names, [None], {}):
        assert one.wins, one
    for name in names:
        dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        field = dataset.clean
        assert field.u.shape[:2] == (NODES, TIMES)
        assert np.abs(field.u).max() <= 10
        assert dataset.floor < 1e-15
        task = kind.task(dataset, "field", Protocol.STRICT)
        found = kind.score(task, kind.read_answer(task, Answer(dataset.truth))).metrics
        assert found["identified"] == 1.0


def test_a_file_that_its_generator_cannot_make_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pde"
    folder.mkdir()
    text = """id = "P1"
title = "t"
description = "d"
source = "s"
generator = "periodic"
initial = "waves"
boundary = "periodic"
[variables]
u0 = "state"
[equations]
u0_t = "0.5 * u0_xx"
[grid]
x = { first = 0.0, last = 7.75, nodes = 32, period = 8.0 }
t = { first = 0.0, last = 1.0, nodes = 21 }
[solver]
substeps = 10
"""
    path = folder / "heat.toml"
    path.write_text(text, encoding="utf-8")
    kind = datatypes.find("pde", folder, tmp_path / "cache")
    with pytest.raises(DataError, match="u0_mean"):
        kind.source().load("heat", snr_db=None, seed=0, protocol=Protocol.STRICT)
    path.write_text(f"{text}u0_mean = 1.0\nu0_height_1 = 0.5\nu0_phase_1 = 0.0\n", encoding="utf-8")
    kind = datatypes.find("pde", folder, tmp_path / "cache")
    u = kind.source().load("heat", snr_db=None, seed=0, protocol=Protocol.STRICT).clean.u
    assert read_system(path).generator == "periodic"
    decay = 1 + 0.5 * np.exp(-0.5 * (2 * np.pi / 8) ** 2)
    assert u[0, -1, 0] == pytest.approx(decay, abs=1e-10)
