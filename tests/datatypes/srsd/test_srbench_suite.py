"""SRBench's ground-truth problems: their rows, how they are cut, their noise, their files."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from harness import ROOT
from sweeps import sampled

from eqverdict import parse
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.datatypes.srsd.datasets import Problems, SrsdDataset
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import DataError

FOLDER = ROOT / "datasets" / "srsd"
FILES = sorted((FOLDER / "srbench").glob("*.toml"))
STROGATZ = [path for path in FILES if "strogatz" in path.stem]
KIND = Srsd(FOLDER, FOLDER)
SOURCE = Problems(FOLDER)
UNREACHABLE = {"feynman_I_26_2", "feynman_I_30_5", "feynman_test_10", "feynman_II_11_17"}
"""Laws that SRBench leaves out, for their arcsines, and one that PMLB does not have."""


def load(name: str, seed: int = 0) -> SrsdDataset:
    found = SOURCE.load(name, snr_db=None, seed=seed, protocol=Protocol.STRICT)
    assert isinstance(found, SrsdDataset)
    return found


def test_the_sets_are_asked_for_and_are_not_run_without() -> None:
    groups = SOURCE.groups()
    assert {name: len(groups[name]) for name in groups if name.startswith("srbench")} == {
        "srbench-feynman": 116,
        "srbench-strogatz": 14,
        "srbench": 130,
    }
    assert len(SOURCE.names()) == 120
    ids = {SOURCE.problems[name].id for name in groups["srbench"]}
    assert len(ids) == 130
    assert not ids & UNREACHABLE


@pytest.mark.parametrize("path", STROGATZ, ids=lambda path: path.stem)
def test_strogatz_rows_are_those_that_were_published(path: Any) -> None:
    """The ranges in the files were read from the published rows, to the last digit."""
    problem = read_problem(path)
    assert problem.recurrence is not None
    x = problem.recurrence.table()
    assert x.shape == (400, 2)
    for column, spread in zip(x.T, problem.spreads.values(), strict=True):
        size = max(abs(spread.low), abs(spread.high))
        assert abs(column.min() - spread.low) < 1e-13 * size
        assert abs(column.max() - spread.high) < 1e-13 * size
    # The change of the first state in a step is its rate by the formula of the problem for it.
    first = read_problem(path.with_name(path.name[:-6] + "1.toml"))
    rate = parse(first.law, ("x0", "x1")).evaluate({"x0": x[:, 0], "x1": x[:, 1]})
    for start in range(0, 400, 100):
        rows = slice(start, start + 100)
        steps = np.diff(x[rows, 0]) / 0.1
        np.testing.assert_allclose(steps, rate[rows][:-1], rtol=0, atol=1e-11 * np.ptp(rate))


@pytest.mark.extension("laboratory")
@pytest.mark.parametrize("path", sampled(FILES), ids=lambda path: path.stem)
def test_the_truth_of_a_problem_is_perfect(path: Any) -> None:
    from mdbench.extensions.laboratory.truths import check_truths  # noqa: PLC0415 - it may be taken away

    (found,) = check_truths(KIND, SOURCE, [path.stem], [None], {})
    assert found.wins, found


def test_the_ranges_are_those_of_the_feynman_database() -> None:
    """Two laws of which the database's ranges differ most from SRSD's."""
    gravity = tomllib.loads((FOLDER / "srbench/srbench-feynman-i.9.18.toml").read_text())
    assert [(each["low"], each["high"]) for each in gravity["variables"].values()] == [
        *[(1.0, 2.0)] * 3,
        *[(3.0, 4.0), (1.0, 2.0)] * 3,
    ]
    light = tomllib.loads((FOLDER / "srbench/srbench-feynman-i.48.2.toml").read_text())
    assert light["variables"]["c"]["high"] == 10.0
    assert light["variables"]["m"]["high"] == 5.0


def test_rows_are_cut_by_the_seed() -> None:
    """A quarter is the test; of more than 10,000 others as many are drawn."""
    few, again, other = (load("srbench-strogatz-vdp1", seed) for seed in (0, 0, 1))
    assert few.x.shape == (400, 2)
    assert few.cuts == (270, 300)
    assert few.fingerprint == again.fingerprint != other.fingerprint
    assert len(np.unique(few.x, axis=0)) == 400
    np.testing.assert_array_equal(np.sort(few.y), np.sort(other.y))
    many = load("srbench-feynman-i.12.1", 3)
    assert many.x.shape == (35_000, 2)
    assert many.cuts == (9_000, 10_000)
    test = {row.tobytes() for row in many.x[10_000:]}
    assert len(test) == 25_000
    assert not any(row.tobytes() in test for row in many.x[:10_000])
    # With replacement: 10,000 draws out of 75,000 have some 635 repetitions, within 6 deviations.
    twice = 10_000 - len(np.unique(many.x[:10_000], axis=0))
    assert 480 < twice < 790


@pytest.mark.parametrize("name", ["srbench-feynman-i.12.1", "srbench-strogatz-lv2"])
@pytest.mark.parametrize("level", [0.001, 0.1])
def test_noise_is_of_the_root_mean_square_of_training_targets(name: str, level: float) -> None:
    clean, noisy = load(name), load(f"{name}+noise={level}")
    border = clean.cuts[1]
    task = KIND.task(noisy, "table", Protocol.STRICT)
    np.testing.assert_array_equal(task.test.targets[:, 0], clean.y[border:])
    noise = task.refit.targets[:, 0] - clean.y[:border]
    scale = level * np.sqrt(np.mean(clean.y[:border] ** 2))
    assert abs(np.std(noise) / scale - 1) < 5 / np.sqrt(2 * border)
    assert abs(np.mean(noise)) < 5 * scale / np.sqrt(border)


@pytest.mark.parametrize("level", ["", "+noise=0.01", "+noise=0.1"])
def test_the_law_is_chosen_before_what_explains_less_or_is_longer(level: str) -> None:
    """The relative error of noise in small targets does not decide."""
    from mdbench.datatypes.base import Candidate  # noqa: PLC0415

    dataset = load(f"srbench-feynman-i.12.1{level}")
    task = KIND.task(dataset, "table", Protocol.STRICT)
    texts = ["x0", "x0*x1", "1.1*x0*x1", "x0*x1 + 0.0001*sin(x0)", "x0*x1 - 0.001*x0**2*x1**3"]
    scored = [
        KIND.evaluate_candidate(task, task.validation, Candidate(i, (text,), {}))
        for i, text in enumerate(texts)
    ]
    selection = KIND.select(task, scored)
    assert selection is not None
    assert selection.equations == ("x0*x1",)


def test_metrics_are_those_of_the_paper() -> None:
    dataset = load("srbench-feynman-i.12.1")
    task = KIND.task(dataset, "table", Protocol.STRICT)
    names = {"r2", "r2_accuracy", "complexity", "simplified_complexity", "solution"}
    assert names | {"srbench_solution"} <= set(KIND.metric_names(task))
    [truth] = dataset.truth or ()
    longer = f"({truth})*(sin(x0)**2 + cos(x0)**2)"
    values = task.test.targets
    found = KIND.score(task, KIND.read_answer(task, Answer((longer,), values))).metrics
    own = KIND.score(task, KIND.read_answer(task, Answer((truth,), values))).metrics
    assert found["r2_accuracy"] == found["solution"] == found["srbench_solution"] == 1.0
    assert found["simplified_complexity"] == own["simplified_complexity"] == own["complexity"] == 3
    assert found["complexity"] == 12
    of_srsd = SOURCE.load("feynman-i.12.1", snr_db=None, seed=0, protocol=Protocol.STRICT)
    plain = KIND.task(of_srsd, "table", Protocol.STRICT)
    assert "simplified_complexity" not in KIND.metric_names(plain)


GOOD = (FOLDER / "srbench/srbench-strogatz-vdp1.toml").read_text(encoding="utf-8")
THIRD = '{ distribution = "uniform", low = 0.0, high = 1.0, sign = "range" }'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('split = "srbench"', 'split = "half"', "split = 'half'"),
        ("step = 0.1", "", "recurrence has the keys"),
        ("step = 0.1", "step = 'long'", "recurrence.step = 'long'"),
        ("rows = 100", "rows = 0", "recurrence.rows = 0"),
        ("rows = 100", "rows = 1000000000", "recurrence.rows = 1000000000"),
        ("starts = [", "starts = 3\nothers = [", "recurrence has the keys"),
        ("starts = [", "starts = [ [1.0], ", "recurrence.starts"),
        ("rates = [", 'rates = ["x", ', "recurrence.rates"),
        ('rates = ["', 'rates = ["z + ', "unknown name 'z'"),
        ("[variables]", f"[variables]\nz = {THIRD}", "recurrence has the keys"),
    ],
)
def test_a_bad_recurrence_is_refused_by_name_key_and_value(
    tmp_path: Any, old: str, new: str, words: str
) -> None:
    path = tmp_path / "law.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"law\.toml") as caught:
        read_problem(path)
    assert words in str(caught.value)


def test_a_recurrence_that_grows_without_bound_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "law.toml"
    path.write_text(GOOD.replace("step = 0.1", "step = 1e4"), encoding="utf-8")
    with pytest.raises(DataError, match=r"row \d+ of its recurrence is not finite"):
        Srsd(FOLDER, tmp_path).source(path).load(
            "law", snr_db=None, seed=0, protocol=Protocol.STRICT
        )
