"""PySR's adapter against recorded tables: what it does with them takes no Julia."""

from __future__ import annotations

import importlib
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT

from eqverdict import parse
from mdbench.worker import Problem, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "algorithms" / "pysr"
SPEC = tomllib.loads((FOLDER / "method.toml").read_text(encoding="utf-8"))
TABLE = """Complexity,Loss,Equation
1,4.5,"x0"
3,0.5,"x0 * 2.0"
5,1.0e-3,"(x0 * 2.0) + sin(x1)"
6,1.5f-7,"(square(x0) / x1) ^ 2.5f0"
7,NaN,"log(x0 - x0)"
8,0.1,"log(x0 - 1.0e9)"
9,0.2,"mystery(x0)"
10,0.2,"x0 + x7"
11,1e-9,"(x0 *
"""


@contextmanager
def modules(*names: str) -> Iterator[list[Any]]:
    """Import modules of the adapter's as the worker does; leave nothing of them behind."""
    own = ("adapter", "julia", "tables")
    sys.path.insert(0, str(FOLDER))
    try:
        yield [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(FOLDER))
        for name in own:
            sys.modules.pop(name, None)


def problem(time_limit: float | None = None, targets: int = 1) -> Problem:
    X = np.random.default_rng(0).uniform(1, 2, (20, 2))
    Y = np.stack([2 * X[:, 0] + np.sin(X[:, 1])] * targets, axis=1)
    names = tuple(f"y{place}" for place in range(targets))
    return Problem("table", ("mass", "speed"), names, {"X": X, "Y": Y}, time_limit)


class Recorded:
    """Stands for PySR's class, and writes what a search had written."""

    made: list[dict[str, Any]]
    table = TABLE
    end: BaseException | None = None

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters
        self.made.append(parameters)

    def fit(self, X: Any, y: Any, variable_names: list[str]) -> None:
        assert (X.shape, y.shape, variable_names) == ((20, 2), (20,), ["x0", "x1"])
        folder = Path(self.parameters["output_directory"]) / self.parameters["run_id"]
        folder.mkdir(parents=True)
        (folder / "hall_of_fame.csv").write_text(self.table, encoding="utf-8")
        if self.end is not None:
            raise self.end


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    monkeypatch.chdir(tmp_path)
    kind = type("OfThisTest", (Recorded,), {"made": []})
    with modules("adapter", "julia") as (adapter, julia):
        monkeypatch.setattr(julia, "regressor", lambda: kind)
        yield adapter.Adapter, kind


def test_the_front_is_the_table(recorded: tuple[Any, Any]) -> None:
    Adapter, kind = recorded
    adapter = Adapter(seed=3, threads=4, **SPEC["hyperparameters"])
    given = problem(time_limit=100.0, targets=2)
    adapter.fit(given)
    found = list(adapter.candidates())
    assert [candidate.target for candidate in found] == [0] * 4 + [1] * 4
    columns = {name: given.X[:, place] for place, name in enumerate(given.variables)}
    for candidate in found:
        (text,) = candidate.equations
        expected = parse(text, given.variables).evaluate(columns)
        np.testing.assert_allclose(candidate.predictions, expected, rtol=1e-12)
    assert "mass" in found[3].equations[0]
    assert "** 2.5" in found[3].equations[0]
    assert adapter.equations() == [found[3].equations[0]] * 2  # the smallest loss
    adapter.choose([2, 4])
    assert adapter.equations() == ["((mass * 2.0) + sin(speed))", "mass"]
    predicted = adapter.predict(given)
    np.testing.assert_allclose(predicted[:, 0], given.Y[:, 0])
    np.testing.assert_array_equal(predicted[:, 1], given.X[:, 0])
    first, second = kind.made
    assert first["random_state"] == second["random_state"] == 3
    assert (first["deterministic"], first["parallelism"]) == (True, "serial")
    assert first["constraints"]["/"] == (-1, 9)
    assert first["nested_constraints"]["sin"] == {"sin": 0, "exp": 1, "log": 1, "sqrt": 1}
    assert 44 < first["timeout_in_seconds"] <= 45
    assert 89 < second["timeout_in_seconds"] <= 90
    assert not adapter.stopped_early


def test_a_search_that_is_stopped_gives_its_table(recorded: tuple[Any, Any]) -> None:
    class TimeUp(BaseException):
        pass

    Adapter, kind = recorded
    kind.end = TimeUp()
    adapter = Adapter(seed=0, threads=1)
    with pytest.raises(TimeUp):
        adapter.fit(problem())
    assert [candidate.equations[0] for candidate in adapter.candidates()][:2] == [
        "mass",
        "(mass * 2.0)",
    ]


def test_no_finite_equation_is_an_error(recorded: tuple[Any, Any]) -> None:
    Adapter, kind = recorded
    kind.table = 'Complexity,Loss,Equation\n1,NaN,"x0"\n'
    with pytest.raises(RuntimeError, match="front for y0 has no finite"):
        Adapter(seed=0, threads=1).fit(problem())


def test_without_julia_it_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with modules("adapter", "julia") as (adapter, julia):
        monkeypatch.setattr(julia, "HOME", tmp_path)
        with pytest.raises(Unavailable, match=r"Julia 1\.10\.3.*install\.sh pysr"):
            adapter.Adapter(seed=0, threads=1).fit(problem())


def test_the_copy_is_read_where_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "hall_of_fame.csv"
    with modules("tables") as (tables,):
        assert tables.read_table(file, ["a"]) == []
        file.write_text("Complexity,Loss", encoding="utf-8")
        assert tables.read_table(file, ["a"]) == []
        whole = 'Complexity,Loss,Equation\n1,0.25,"x0"\n'
        file.with_suffix(".csv.bak").write_text(whole, encoding="utf-8")
        assert tables.read_table(file, ["a"]) == [tables.TableRow(1, 0.25, "a")]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("-x0", "(-a)"),
        ("x0 ^ x1 ^ 2", "(a ** (b ** 2.0))"),
        ("inv(cube(x1))", "(1/(((b)**3)))"),
        ("2.5f-3 - 1.0e10", "(0.0025 - 10000000000.0)"),
        ("neg(abs(x0))", "(-(abs(a)))"),
    ],
)
def test_equations_in_python(text: str, python: str) -> None:
    with modules("tables") as (tables,):
        assert tables.in_python(text, ["a", "b"]) == python


@pytest.mark.parametrize(
    "text", ["", "x2", "x0 +", "f(x0)", "sin(x0, x1)", "x0.real", "'a'", "True", "1j", "x0 % 2"]
)
def test_texts_that_are_none(text: str) -> None:
    with modules("tables") as (tables,), pytest.raises(ValueError, match=r"."):
        tables.in_python(text, ["a", "b"])
