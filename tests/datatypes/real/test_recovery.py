"""What recovers a law: simulated tables whose truth is known, and each class of wrong verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT
from reporting import EXAMPLE

from mdbench.datatypes.real.folds import folds
from mdbench.datatypes.real.problem import Law, Measurements, read_measurements
from mdbench.datatypes.real.recovery import ROW_ERRORS, form_of, is_as_good, pool
from mdbench.records import Record, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDER = ROOT / "datasets" / "real"


def simulated(law: Law, columns: Mapping[str, Array], noise: float, seed: int) -> Measurements:
    """Return a table whose rows were made by a law, with normal noise of a share of the spread."""
    plain = law.values(columns, law.start)
    generator = np.random.default_rng(seed)
    y = plain + noise * np.std(plain) * generator.standard_normal(len(plain))
    table = read_measurements(FOLDER / "kepler.toml")
    units = dict.fromkeys(columns, "")
    x = np.stack(list(columns.values()), axis=1)
    return replace(table, units=units, x=x, y=y, laws=(law,), rounding=0.0)


LAWS = {
    "power": (Law("b1*a**1.5", {"b1": 366.65}), {"a": np.geomspace(0.4, 10, 8)}),
    "isotherm": (
        Law("b1*b2*p/(1 + b2*p)", {"b1": 108.0, "b2": 0.12}),
        {"p": np.geomspace(2.7, 122, 10)},
    ),
    "growth": (
        Law("b1/(1 + exp(b2 - b3*x))", {"b1": 72.0, "b2": 2.6, "b3": 0.067}),
        {"x": np.linspace(9, 79, 15)},
    ),
    "gas": (
        Law("b1 + log(n) + log(T) - log(V)", {"b1": 2.1}),
        {
            "n": np.random.default_rng(1).uniform(1, 100, 30),
            "T": np.random.default_rng(2).uniform(300, 400, 30),
            "V": np.random.default_rng(3).uniform(1, 100, 30),
        },
    ),
}
"""Laws and inputs such as those of the tables."""


def scaled_fit(table: Measurements) -> str:
    """Return the law as linear scaling leaves it: fitted, with an intercept that is fitted, too."""
    [law] = table.laws
    longer = Law(f"{law.text} + c0", {**law.start, "c0": 0.0})
    columns = dict(zip(table.columns, table.x.T, strict=True))
    return longer.written(longer.fitted(columns, table.y))


def test_the_right_law_is_accepted_with_an_intercept_that_means_nothing() -> None:
    """At a level of 1 %, an intercept of the rows' noise is refused in about one of 100."""
    verdicts = []
    for law, columns in LAWS.values():
        for seed in range(10):
            table = simulated(law, columns, 0.02, seed)
            fitted = law.written(law.fitted(columns, table.y))
            verdicts.append(form_of(scaled_fit(table), [fitted], table).same is True)
    assert np.mean(verdicts) >= 0.95


@pytest.mark.parametrize("text", ["b1*a**1.5 + 9*a", "b1*a**1.5 + 40", "b1*a**1.5 + 9*a + 40"])
def test_a_slope_or_an_intercept_that_rows_support_is_refused(text: str) -> None:
    columns = {"a": np.geomspace(0.4, 10, 24)}
    truth, law = Law(text, {"b1": 36.0}), Law("b1*a**1.5", {"b1": 36.0})
    for seed in range(5):
        table = replace(simulated(truth, columns, 0.01, seed), laws=(law,))
        answer = truth.written(truth.fitted(columns, table.y))
        assert form_of(answer, [law.written(law.fitted(columns, table.y))], table).same is False


def tried(table: Measurements, answer: Law, name: str) -> bool:
    """Whether a form that is fitted in each fold is as good as the table's law, fitted there."""
    errors: dict[str, list[Array]] = {"answer": [], "reference": []}
    for rows in folds(name, table.x):
        others = np.setdiff1d(np.arange(len(table.y)), rows)
        known, asked = (
            {key: column[part] for key, column in zip(table.columns, table.x.T, strict=True)}
            for part in (others, rows)
        )
        for key, law in (("answer", answer), ("reference", table.laws[0])):
            values = law.values(asked, law.fitted(known, table.y[others]))
            errors[key].append((values - table.y[rows]) ** 2 / np.var(table.y))
    return is_as_good(np.concatenate(errors["answer"]), np.concatenate(errors["reference"]))


@pytest.mark.parametrize("name", ["power", "isotherm", "growth", "gas"])
def test_the_right_law_with_constants_a_little_off_is_as_good(name: str) -> None:
    """Constants of another four fifths of the rows, as a method would leave that searches less."""
    law, columns = LAWS[name]
    verdicts = []
    for seed in range(40):
        table = simulated(law, columns, 0.02, seed)
        some = np.random.default_rng(seed).permutation(len(table.y))[len(table.y) // 5 :]
        fewer = {key: column[some] for key, column in columns.items()}
        off = law.values(columns, law.fitted(fewer, table.y[some])) - table.y
        best = law.values(columns, law.fitted(columns, table.y)) - table.y
        verdicts.append(is_as_good(off**2, best**2))
    assert np.mean(verdicts) >= 0.95


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("power", Law("b1*a + b2", {"b1": 1000.0, "b2": -900.0})),
        ("isotherm", Law("b1 + b2*p", {"b1": 50.0, "b2": 0.5})),
        ("growth", Law("b1 + b2*x", {"b1": 0.0, "b2": 1.0})),
        ("gas", Law("b1 + b2*n - b3*V", {"b1": 6.0, "b2": 0.02, "b3": 0.02})),
    ],
)
def test_a_wrong_law_is_not_as_good(name: str, wrong: Law) -> None:
    law, columns = LAWS[name]
    verdicts = [tried(simulated(law, columns, 0.02, seed), wrong, name) for seed in range(20)]
    assert not any(verdicts)


def test_one_row_that_is_quite_wrong_is_no_chance() -> None:
    """Of six rows more than a third of all draws are without it."""
    reference = np.full(6, 1e-3)
    answer = np.array([1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 0.9])
    assert not is_as_good(answer, reference)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_errors_that_are_no_numbers_are_not_as_good(bad: float) -> None:
    assert not is_as_good(np.array([1e-3, bad]), np.full(2, 1.0))
    assert not is_as_good(np.full(2, 1e-3), np.array([bad, 1.0]))


def test_errors_below_single_precision_are_as_good() -> None:
    assert is_as_good(np.full(5, 1e-8), np.full(5, 1e-20))
    assert not is_as_good(np.full(5, 1e-5), np.full(5, 1e-20))


# ------------------------------------------------------------------------- the project's tables


def of(name: str, text: str) -> bool | None:
    table = read_measurements(FOLDER / f"{name}.toml")
    return form_of(text, [law.written(law.start) for law in table.laws], table).same


SAME = [
    ("kepler", "366.86*a**1.5 - 4.66"),
    ("kepler", "-4.66 + 366.86*a*sqrt(a)"),
    ("kepler", "0.9*(407*a**1.5 - 5)"),
    ("kepler", "-(4.66 - 366.86*sqrt(a**3))"),
    ("kepler-binaries", "sqrt(d**3/(m1 + m2))"),
    ("kepler-binaries", "1.0*sqrt(d**3/(m1 + m2))"),
    ("kepler-binaries", "d*sqrt(d/(m2 + m1))"),
    ("kepler-solar", "0.3652*d**1.5"),
    ("kepler-solar", "0.3652*d*sqrt(d) + 0.0012"),
    ("kepler-exoplanets", "0.3618*d*sqrt(d/m1)"),
    ("kepler-exoplanets", "0.3618*sqrt(d**3/(m1 + 0.000954*m2))"),
    ("hubble", "424*D + 41"),
    ("ideal-gas", "log(8.1*n*T/V)"),
    ("ideal-gas", "log(n) + log(T) - log(V) + 2.08"),
    ("schechter", "-1.21*(log(L) + 3.3e-9*L + 1.8)"),
    ("time-dilation", "-0.00556*v**2"),
    ("misra1", "440*0.0003*x/(1 + 0.0003*x) - 0.01"),
]
OTHER = [
    ("kepler", "366.86*a**1.5 + 20*sin(a)"),
    ("kepler", "1000*a - 900"),
    ("kepler-solar", "0.3652*d**2"),
    ("kepler-exoplanets", "0.9*d**1.5"),
    ("hubble", "450*D + D**2"),
    ("hubble", "41"),
    ("leavitt", "-2*logP"),
    ("ideal-gas", "log(8.1*n/V)"),
    ("time-dilation", "-0.2*v"),
    ("bennett5", "4.607*sqrt(x + 3.533) - 50.1"),  # of the form only if its exponent were another
]


@pytest.mark.parametrize(("name", "text"), SAME)
def test_writings_of_a_law_are_the_law(name: str, text: str) -> None:
    assert of(name, text) is True


@pytest.mark.parametrize(("name", "text"), OTHER)
def test_other_laws_are_not(name: str, text: str) -> None:
    assert of(name, text) is False


def test_an_answer_with_many_slopes_is_compared_in_a_moment() -> None:
    """Of 20 slopes there are a million subsets."""
    names = [f"x{k}" for k in range(20)]
    columns = dict(zip(names, np.random.default_rng(0).uniform(1, 2, (20, 60)), strict=True))
    law = Law("b1*x0*x1", {"b1": 2.0})
    table = simulated(law, columns, 0.01, 0)
    answer = "2.0*x0*x1 + " + " + ".join(f"{1e-9 * (k + 1)}*{name}" for k, name in enumerate(names))
    form = form_of(answer, ["2.0*x0*x1"], table)
    assert (form.same, form.shortened) == (True, True)


def test_a_factor_that_rows_do_not_support_is_taken_off_and_one_that_they_do_is_not() -> None:
    """The law of gases has one constant; linear scaling leaves a factor before the logarithm."""
    table = read_measurements(FOLDER / "ideal-gas.toml")
    law = table.laws[0].written(table.laws[0].start)
    form = form_of("0.9796*log(n*T/V) + 2.2", [law], table)
    assert (form.same, form.shortened) == (True, True)
    assert not form_of("log(8.1*n*T/V)", [law], table).shortened
    x = dict(zip(table.columns, table.x.T, strict=True))
    steeper = replace(table, y=1.5 * np.log(8.0 * x["n"] * x["T"] / x["V"]))
    assert not form_of("1.5*log(n*T/V) + 3.1", [law], steeper).shortened


# --------------------------------------------------------------------------------- folds, by hand


def result(fold: int, fvu: float, *, same: float | None = 1.0, **changes: Any) -> Record:
    data = {
        **EXAMPLE,
        "key": f"{fold:064x}",
        "data_type": "real",
        "part": f"fold={fold}",
        "status": "ok",
        "metrics": {"fvu": fvu, "same_law": same},
        "notes": {ROW_ERRORS: [f"{fvu:.4g}", "1"]},
        "floor": 1.0,
    }
    return Record.model_validate({**data, **changes})


def recovered(*results: Record) -> bool | None:
    return pool(results).recovered


def test_the_mean_over_the_folds_counts() -> None:
    assert recovered(result(1, 1.5), result(2, 0.5))
    assert recovered(result(1, 1.5), result(2, 0.52))
    assert not recovered(*(result(n, 1.03) for n in range(1, 6)))  # in every one, so no chance


def test_more_than_half_of_the_answers_must_have_the_form() -> None:
    assert recovered(result(1, 1.0), result(2, 1.0), result(3, 1.0, same=0.0))
    assert not recovered(result(1, 1.0), result(2, 1.0, same=0.0))


def test_what_nobody_knows_is_not_counted_where_it_matters() -> None:
    assert recovered(result(1, 1.0), result(2, 1.0, same=None)) is None
    assert recovered(result(1, 1.0), result(2, 1.0), result(3, 1.0, same=None)) is True
    assert recovered(result(1, 9.0), result(2, 1.0, same=None)) is False


@pytest.mark.parametrize("status", ["timeout", "failed"])
def test_a_fold_without_an_answer_is_a_failure(status: str) -> None:
    gone = result(2, 0.0, status=Status(status), metrics={}, notes={})
    assert recovered(result(1, 0.1), gone, result(3, 0.1)) is False


def test_records_of_an_older_scorer_have_the_means_of_folds_alone() -> None:
    assert recovered(result(1, 1.0, notes={}), result(2, 1.0, notes={})) is True
    assert recovered(result(1, 9.0, notes={}), result(2, 1.0, notes={})) is False


@pytest.mark.parametrize("notes", [["1 2", "1"], ["1"], ["x", "1"], ["nan", "1"], []])
def test_a_strangers_note_of_errors_breaks_no_report(notes: list[str]) -> None:
    verdict = pool([result(1, 9.0, notes={ROW_ERRORS: notes}), result(2, 9.0)])
    assert verdict.as_good is False


def test_an_error_that_is_not_known_is_not_as_good() -> None:
    gone = result(1, 1.0, notes={}, metrics={"fvu": None, "same_law": 1.0})
    assert pool([gone, result(2, 1.0)]).as_good is False


def test_rows_are_drawn_from_all_folds_together() -> None:
    errors = np.random.default_rng(4).uniform(0.5, 2.0, (2, 9))
    parts = [
        result(n, 1.0, notes={ROW_ERRORS: [" ".join(map(repr, some.tolist())) for some in each]})
        for n, each in enumerate(np.split(errors, 3, axis=1), start=1)
    ]
    assert pool(parts).as_good is is_as_good(errors[0], errors[1])
    assert pool(parts[::-1]).folds == 3
