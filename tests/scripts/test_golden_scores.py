"""What answers score is what the golden files say, or the scorer has another version."""

from __future__ import annotations

import importlib
import random
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT

from mdbench.datatypes import classes
from mdbench.datatypes.equations import base as equations
from mdbench.metrics.spec import MetricSpec
from mdbench.runs.catalog import Catalog
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def script() -> ModuleType:
    """Import the script, which imports its neighbour by its bare name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return importlib.import_module("golden_scores")


GOLDEN: Any = script()
TYPES = tuple(GOLDEN.DATASETS)
FEW = {"ode": 8, "pde": 5, "srsd": 6, "real": 8, "surface": 3, "derivation": 8}
"""Answers of a data type that the fast lane scores, in some 1.5 seconds of CPU time each."""
PARTS = 8


def kind_of(data_type: str) -> Any:
    return Catalog(Workspace.find()).data_type(data_type)


def golden(data_type: str) -> Any:
    return GOLDEN.read(GOLDEN.path_of(ROOT, data_type))


def differing(data_type: str, entries: list[Any]) -> list[str]:
    part = GOLDEN.Golden(data_type, 0, entries)
    found = GOLDEN.compared(part, kind_of(data_type))
    return [GOLDEN.line_of(entry, changes) for entry, changes in found if changes]


@pytest.mark.parametrize("data_type", TYPES)
def test_some_answers_score_what_they_scored(data_type: str) -> None:
    quick = [entry for entry in golden(data_type).entries if not entry["slow"]]
    if data_type == "pde":  # one field is made, and not all
        quick = [entry for entry in quick if entry["dataset"] == "heat_soil_uniform_1d_p1"]
    some = random.Random(11).sample(quick, FEW[data_type])
    assert not differing(data_type, sorted(some, key=lambda entry: str(entry["dataset"])))


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("data_type", TYPES)
def test_all_answers_score_what_they_scored(data_type: str, part: int) -> None:
    entries = golden(data_type).entries
    size = -(-len(entries) // PARTS)
    assert not differing(data_type, entries[part * size : (part + 1) * size])


@pytest.mark.parametrize("data_type", TYPES)
def test_files_are_of_the_version_of_their_data_type(data_type: str) -> None:
    """Whoever raises a version writes the file: `scripts/golden-scores --write`."""
    assert golden(data_type).version == kind_of(data_type).scorer_version
    assert golden(data_type).data_type == data_type


def test_every_data_type_has_a_file_with_answers_of_all_kinds() -> None:
    known = {kind.name for kind in classes()}
    assert known == set(TYPES)
    for data_type in TYPES:
        entries = golden(data_type).entries
        assert len(entries) >= 190, data_type
        scores = [entry["scores"] for entry in entries]
        assert {each["status"] for each in scores} == {"ok", "invalid_output"}
        names = {name for each in scores for name in each["metrics"]}
        assert {spec.name for spec in kind_of(data_type).metrics} - names <= UNSCORED[data_type]
        if data_type != "derivation":
            flags = {each["metrics"].get("identified", "-") for each in scores}
            assert {0.0, 1.0} <= flags
            undecided = any(None in each["metrics"].values() for each in scores)
            assert undecided or data_type == "pde"  # of fields no landed answer is undecided


S_SETS = ("s1_", "s2_")
"""Sets of steps, which no small configuration has."""
UNSCORED: dict[str, set[str]] = {name: {"agreement"} for name in TYPES} | {
    "derivation": {
        spec.name for spec in classes(["derivation"])[0].metrics if spec.name.startswith(S_SETS)
    },
    # What an answer explains of all samples is of a user's data alone: see test_own_series.py.
    "ode": {"agreement", "share_explained", "solution_stays"},
    "pde": {"agreement", "residual", "share_explained"},
    # Of tables without a law, which are a user's or lie in packages: see test_packaged.py.
    "real": {
        *("agreement", "r2", "share_explained"),
        *(spec.name for spec in kind_of("real").metrics if spec.pooled),
    },
}
"""What no golden answer has: under `strict` methods' predictions are part of no table."""


def one(data_type: str = "ode") -> Any:
    return next(e for e in golden(data_type).entries if e["case"] == "constants off by 1 %")


def test_another_constant_of_the_scorer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not differing("ode", [one()])
    monkeypatch.setattr(equations, "nmse", lambda *_, **__: 1.001)
    [line] = differing("ode", [one()])
    assert "nmse" in line
    assert "-> 1.001" in line


SCORES: dict[str, Any] = {"status": "ok", "floor": None, "metrics": {}, "notes": {}}


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (0.5, 0.5 * (1 + 1e-10), True),
        (0.5, 0.5 * (1 + 1e-8), False),
        (1e-25, 3e-22, True),  # both are round-off
        (1e-13, 1e-11, False),
        (1.0, 0.0, False),
        (None, 0.0, False),
        (None, None, True),
        ("agree", "contradict", False),
        (1e300, 1.1e300, False),
    ],
)
def test_what_differs(old: Any, new: Any, *, same: bool) -> None:
    pair = [{**SCORES, "metrics": {"nmse": each}} for each in (old, new)]
    assert (GOLDEN.differences(*pair, {"nmse": 1e-12}) == {}) is same


def test_a_score_more_or_less_a_status_and_a_term_differ() -> None:
    more = {**SCORES, "metrics": {"nmse": None}}
    assert GOLDEN.differences(SCORES, more, {}) == {"nmse": ("(none)", None)}
    failed = {**SCORES, "status": "invalid_output"}
    assert set(GOLDEN.differences(SCORES, failed, {})) == {"status"}
    termed = {**SCORES, "notes": {"missing": ["u0_t: u0"]}}
    assert set(GOLDEN.differences(SCORES, termed, {})) == {"note missing"}


def add_metric(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a metric to a data type: the letters of an answer's equations."""
    own = kind.own_scores
    spec = MetricSpec(name="letters", title="letters", explanation="of the equations", digits=0)
    monkeypatch.setattr(kind, "metrics", (*kind.metrics, spec))
    monkeypatch.setattr(
        kind,
        "own_scores",
        lambda self, task, answer, known: {
            **own(self, task, answer, known),
            "letters": float(sum(map(len, answer.equations))),
        },
    )


def test_a_metric_that_is_only_added_needs_no_other_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, entry = tmp_path / "ode.jsonl", one()
    monkeypatch.setattr(GOLDEN, "path_of", lambda *_: path)
    kind = type(kind_of("ode"))
    GOLDEN.write(GOLDEN.Golden("ode", kind.scorer_version, [entry]), path)
    add_metric(kind, monkeypatch)
    assert GOLDEN.main(["ode"]) == 0
    assert GOLDEN.main(["ode", "--write"]) == 0
    after = GOLDEN.read(path)
    assert after.version == kind.scorer_version
    scores = after.entries[0]["scores"]["metrics"]
    assert scores["letters"] >= len("u0")
    assert {name: scores[name] for name in entry["scores"]["metrics"]} == entry["scores"]["metrics"]
    own = kind.own_scores
    monkeypatch.setattr(kind, "own_scores", lambda *given: own(*given) | {"letters": 0.0})
    assert GOLDEN.main(["ode"]) == 1  # from now on it is watched, too


def test_other_scores_need_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, entry = tmp_path / "ode.jsonl", one()
    monkeypatch.setattr(GOLDEN, "path_of", lambda *_: path)
    GOLDEN.write(GOLDEN.Golden("ode", 1, [entry]), path)
    before = path.read_bytes()
    kind = type(kind_of("ode"))
    monkeypatch.setattr(kind, "scorer_version", 1)
    assert GOLDEN.main(["ode"]) == 0
    assert GOLDEN.main(["ode", "--write"]) == 0
    assert path.read_bytes() == before
    monkeypatch.setattr(equations, "nmse", lambda *_, **__: 1.001)
    assert GOLDEN.main(["ode"]) == 1
    assert GOLDEN.main(["ode", "--write"]) == 1
    assert "raise ode's scorer_version to 2" in capsys.readouterr().out
    assert path.read_bytes() == before
    monkeypatch.setattr(kind, "scorer_version", 2)
    assert GOLDEN.main(["ode", "--write"]) == 0
    after = GOLDEN.read(path)
    assert (after.version, after.entries[0]["scores"]["metrics"]["nmse"]) == (2, 1.001)
    monkeypatch.setattr(kind, "scorer_version", 1)
    assert GOLDEN.main(["ode", "--write"]) == 1  # never back
    assert GOLDEN.read(path) == after
