"""The SRSD paper: its edit distances (tables S13, S14), and its numbers compared with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reporting import EXAMPLE

from eqverdict.srbench import normalized_edit_distance
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.extensions.papers.published import read_published_sets
from mdbench.extensions.papers.sets import sets_table
from mdbench.records import Record

COULOMB = "8987742437.98822*x1/x2**2"
"""The truth of S13, I.12.4."""
CASES = [
    (COULOMB, "tan(x2/sqrt(x2**{0}) + {1})", 1.0),
    (COULOMB, "x1*(x1 + {0}*exp(({1}*cos(x2 + {2}) + {3})/x2))*exp(-x2)", 1.0),
    (COULOMB, "{0}*x2**{1}", 0.167),
    ("{0}*x1*x2", "{1}*x1*x2", 0.0),
    ("{0}*x1*x2", "x1*x2*({1} - ({2}*x2 + {3}*log(cos(x2))))*(-x1 + x2 + {4})/x2", 1.0),
    ("{0}*x1*x2", "x1*x2", 0.25),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("truth", "prediction", "distance"), CASES)
def test_the_distances_of_the_paper(
    truth: str, prediction: str, distance: float, seed: int
) -> None:
    """All constants have one label: which they are makes no difference."""
    constants = np.random.default_rng(seed).uniform(1.1, 9.9, 5).round(4).tolist()
    truth, prediction = truth.format(*constants), prediction.format(*constants)
    found = normalized_edit_distance(truth, prediction, ("x1", "x2"))
    assert found.value is not None
    assert round(found.value, 3) == distance
    assert not found.reason


def test_the_papers_tables() -> None:
    published = read_published_sets("srsd")
    tables = published.values["srsd"]
    assert list(tables) == ["easy", "medium", "hard"]
    assert {len(rows) for rows in tables.values()} == {6}
    assert tables["easy"]["gplearn"] == {
        "r2_accuracy": 0.0667,
        "srbench_solution": 0.0667,
        "normalized_edit_distance": 0.876,
    }
    # The shares are of 30, 40 and 50 problems.
    for size, rows in zip((30, 40, 50), tables.values(), strict=True):
        for row in rows.values():
            for name in ("r2_accuracy", "srbench_solution"):
                assert row[name] * size == pytest.approx(round(row[name] * size), abs=0.02)
            assert 0 < row["normalized_edit_distance"] < 1


def test_the_papers_numbers_are_shown_next_to_ours() -> None:
    def result(dataset: str, method: str = "gplearn", **changes: Any) -> Record:
        metrics = {"r2_accuracy": 1.0, "normalized_edit_distance": 0.2, "solution": None}
        given = {
            **EXAMPLE,
            "algorithm": method,
            "data_type": "srsd",
            "dataset": dataset,
            "system": dataset,
            "seed": 0,
            "protocol": "strict",
            "status": "ok",
            "metrics": metrics,
        }
        return Record.model_validate(given | changes)

    specs = {spec.name: spec for spec in Srsd.metrics}
    names = ("r2_accuracy", "solution", "normalized_edit_distance")
    table = sets_table(
        [
            result("a"),
            result("b", status="failed", metrics={}),
            result("c", "zero"),
            result("d", "afp"),
            result("elsewhere"),
        ],
        "srsd",
        {"easy": ["a", "b", "c"], "hard": ["d"]},
        {name: specs[name] for name in names},
        read_published_sets("srsd"),
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert rows[0][:5] == ["method", "set", "problems here", "R² accuracy, SRSD", "here"]
    # No answer is no accurate model and a distance of 1; what is undecided is left out.
    assert rows[2] == [
        "gplearn",
        "easy",
        "2 of 3",
        "0.067",
        "0.500",
        "–",
        "0.000",
        "0.876",
        "0.600",
    ]
    assert rows[3] == ["afp", "hard", "1 of 1", "0.040", "1.000", "–", "–", "0.960", "0.200"]
    assert len(rows) == 4


def test_srbenchs_rates_add_up_to_those_over_all_problems() -> None:
    """The means over all 130 problems are in a table of SRBench's notebook, in percent."""
    sets = read_published_sets("srbench").values["srsd"]
    levels = ("", "+noise=0.001", "+noise=0.01", "+noise=0.1")
    assert list(sets) == [f"srbench-{each}{n}" for each in ("feynman", "strogatz") for n in levels]
    assert {len(rows) for rows in sets.values()} == {14}
    for method, known in {
        "afp": (20.48, 19.0, 16.31, 12.15),
        "gpgomea": (27.12, 10.62, 4.69, 1.46),
        "operon": (16.0, 12.31, 1.92, 0.08),
        "gplearn": (15.48, 16.16, 16.05, 15.77),
    }.items():
        for level, percent in zip(levels, known, strict=True):
            laws, tables = (
                sets[f"srbench-{each}{level}"][method]["srbench_solution"]
                for each in ("feynman", "strogatz")
            )
            assert (116 * laws + 14 * tables) / 1.3 == pytest.approx(percent, abs=0.1)


def test_a_set_with_noise_is_compared_with_results_at_this_noise() -> None:
    def result(dataset: str, **metrics: float) -> Record:
        given = {**EXAMPLE, "algorithm": "operon", "data_type": "srsd", "dataset": dataset}
        given |= {"system": dataset, "protocol": "strict", "status": "ok", "metrics": metrics}
        return Record.model_validate(given)

    specs = {spec.name: spec for spec in Srsd.metrics if spec.name in {"r2_accuracy", "complexity"}}
    table = sets_table(
        [
            result("a", r2_accuracy=1.0, complexity=5.0),
            *(
                result(f"{x}+noise=0.1", r2_accuracy=0.0, complexity=n)
                for x, n in zip("abc", (1, 2, 9), strict=True)
            ),
            result("a+noise=0.2", r2_accuracy=1.0, complexity=5.0),
        ],
        "srsd",
        {"srbench-feynman": ["a", "b", "c"]},
        specs,
        read_published_sets("srbench"),
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert [row[1:] for row in rows if row[0] == "operon"] == [
        ["srbench-feynman", "1 of 3", "0.852", "1.000", "82.750", "5.000"],
        ["srbench-feynman+noise=0.1", "3 of 3", "0.755", "0.000", "89.000", "2.000"],
    ]
