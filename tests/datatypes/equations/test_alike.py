"""Columns that are the same on the data, and powers that are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT
from own_data import integrated, table, task_of

from eqverdict import parse
from mdbench import datatypes
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.alike import (
    cannot_be_told,
    in_lowest_powers,
    independent_columns,
    levels_of,
    nearly_the_same,
)
from mdbench.datatypes.facts import Protocol

if TYPE_CHECKING:
    from pathlib import Path

T = np.linspace(0, 10, 101)
SPREAD = np.random.default_rng(5).uniform(1, 3, 101)


@pytest.mark.parametrize("value", [0.0, 2024.0, -1e-9, 1e12, 0.1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_constants_are_left_out_wherever_they_stand(value: float, place: int) -> None:
    columns = np.insert(np.stack([np.sin(T), np.exp(-T)], axis=1), place, value, axis=1)
    kept, [line] = independent_columns(["a", "b", "c"], columns, 3)
    assert kept == [k for k in range(3) if k != place]
    assert line.startswith(f"{'abc'[place]}: {value:.6g} in all rows")


@pytest.mark.parametrize("factor", [1.0, -1.0, 1e-9, 3.3, 1e12])
@pytest.mark.parametrize("shift", [0.0, 32.0, -5e3])
def test_what_another_column_gives_is_left_out(factor: float, shift: float) -> None:
    x = np.sin(T) + 2
    columns = np.stack([np.cos(T), x, factor * (x + shift)], axis=1)
    names = ["a", "x", "y"]
    assert independent_columns(names, columns)[0] == [0, 1]
    # The rate of a state follows from that of another one where it is a multiple.
    of_states = independent_columns(names, columns, 3)[0]
    assert of_states == ([0, 1] if shift == 0 else [0, 1, 2])


def test_columns_that_only_look_alike_stay() -> None:
    x = np.sin(T)
    for other in (x + 1e-6 * SPREAD, np.round(x, 3), x**3, np.abs(x), np.cos(T)):
        assert independent_columns(["x", "y"], np.stack([x, other], axis=1))[0] == [0, 1]


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_columns_that_are_the_same_but_for_rounding_are_named(digits: int) -> None:
    celsius = 10 * np.sin(T)
    columns = np.round(np.stack([np.cos(T), celsius, 1.8 * celsius + 32], axis=1), digits)
    [line] = nearly_the_same(["a", "C", "F"], columns)
    assert line.startswith("F: nearly 1.8")
    assert "times C +32" in line
    assert nearly_the_same(["a", "b"], np.stack([T, T**1.2], axis=1)) == []


def test_where_nothing_changes_all_stay() -> None:
    assert independent_columns(["a", "b"], np.ones((9, 2)), 2) == ([0, 1], [])


VALUES = ((0.0, 1.0), (0.0, 0.6), (-1.0, 1.0), (2.0, 5.0), (-1.0, 0.0, 1.0), (0.0, 1.0, 2.0, 4.0))
ANSWERS = (
    "x + 3.0*u**{n}",
    "x*u**{n} - 0.5*u*u*u",
    "(u + 0.25)**{n}*x",
    "x/(1 + u**{n})",
    "exp(-0.1*u**{n})*(x + u**2)",
    "-(u**{n} - x)*(u - 1)",
    "2*u**{n}/3 - u**1",
)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("text", ANSWERS)
@pytest.mark.parametrize("power", [2, 3, 4, 7])
def test_lowest_powers_are_the_same_on_the_data(
    text: str, power: int, values: tuple[float, ...]
) -> None:
    columns = {"x": SPREAD[:60], "u": np.resize(values, 60)}
    given = text.format(n=power)
    lowest = in_lowest_powers(given, columns, levels_of(columns))
    before, after = (parse(one, columns).evaluate(columns) for one in (given, lowest))
    np.testing.assert_allclose(after, before, rtol=1e-10, atol=1e-10)
    for high in range(len(values), 13):  # of few values no power as high as their number
        assert f"u**{high}" not in lowest.replace(" ", "")
    assert in_lowest_powers(lowest, columns, levels_of(columns)) == lowest


def test_other_equations_stay_as_they_are() -> None:
    few = {"u": (0.0, 1.0)}
    for text in ("x**3 + 2*u", "sin(x**2)", "0", "x - u*x**4", "1.50*x + 0.0*u"):
        assert in_lowest_powers(text, ["x", "u"], few) == text
        assert in_lowest_powers("u**3", ["x", "u"], {}) == "u**3"


def test_a_column_of_many_values_has_all_its_powers() -> None:
    assert levels_of({"x": np.resize(np.arange(6.0), 90)}) == {}
    assert levels_of({"x": np.arange(4.0)}) == {}  # each comes once: nobody set it
    assert levels_of({"x": np.ones(50)}) == {}
    late = np.zeros(5_000)
    late[4_000:] = np.arange(1_000)
    assert levels_of({"x": late}) == {}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("exp(u)", ["u"]),
        ("x/u", ["u"]),
        ("u**0.5", ["u"]),
        ("x**u", ["u"]),
        ("x/(2 + u*x)", ["u"]),
        ("sin(x)*u", []),
        ("u*x**-1", []),
        ("3*u - u/2", []),
        ("exp(w)", []),  # three values
    ],
)
def test_functions_of_two_values_are_chance(text: str, named: list[str]) -> None:
    levels = {"u": (0.0, 1.0), "w": (0.0, 1.0, 2.0)}
    assert cannot_be_told(text, ["x", "u", "w"], levels) == named


def test_an_answer_is_written_with_the_lowest_powers(tmp_path: Path) -> None:
    on = (T // 2) % 2
    x = integrated(lambda _, u: [3.0 - 0.4 * u[0]], [1.0], T)[:, 0]  # as if nothing was switched
    columns = {"t": T, "x": x + 0 * on, "heat": on}
    kind, task = task_of(table(tmp_path / "a.csv", columns), inputs=["heat"], hold="zero")
    assert task.levels == {"v0": (0.0, 1.0)}
    answer = kind.read_answer(task, Answer(("3 - 0.4*u0 + 0.01*v0**3",)))
    assert answer.equations == ("3.0 - 0.4*u0 + 0.01*v0",)
    notes = kind.score(task, answer).notes
    assert notes["printed"] == ["u0_t: 3 - 0.4*u0 + 0.01*v0**3"]
    assert notes["levels"] == ["v0: 0.0, 1.0"]


def test_a_table_of_factors(tmp_path: Path) -> None:
    a, dose = SPREAD[:60], np.resize([0.0, 0.6], 60)
    columns = {"a": a, "k": np.full(60, 3.0), "dose": dose, "F": 1.8 * a + 32}
    columns |= {"y": 2 * a + 1.7 * dose + 0.3}
    kind, task = task_of(table(tmp_path / "a.csv", columns), "real", "table", fold=[1])
    assert task.variables == ("a", "dose")
    assert len(task.remarks) == 2
    answer = kind.read_answer(task, Answer(("2*a + 1.7*dose**4/0.216 + 0.3",)))
    [text] = answer.equations
    at = {"a": np.array([1.0]), "dose": np.array([2.0])}
    assert parse(text, at).evaluate(at) == pytest.approx(2 + 1.7 * 2 + 0.3)


@pytest.mark.parametrize("name", ["ode", "real", "pde"])
def test_nothing_of_the_benchmarks_own_data_is_touched(tmp_path: Path, name: str) -> None:
    kind = datatypes.find(name, ROOT / "datasets" / name, tmp_path)
    source = kind.source()
    first = list(source.names())[:2]
    for dataset_name in [one for one in first if one in kind.check_datasets] or first[:1]:
        [(_, options), *_] = kind.expand_options([dataset_name], {})
        dataset = source.load(
            dataset_name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options
        )
        task = kind.task(dataset, kind.views[0], Protocol.STRICT)
        assert not dataset.own
        assert task.levels == {}
        assert not {"share_explained", "solution_stays"} & set(kind.metric_names(task))
