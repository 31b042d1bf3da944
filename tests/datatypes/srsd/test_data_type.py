from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, known, number

from eqverdict import equation, parse
from eqverdict.compensated_eval import correctly_rounded_values
from eqverdict.grammar import read
from eqverdict.limited_process import LimitedProcess
from eqverdict.srbench import symbolic_solution
from mdbench.datatypes.base import Answer, Candidate
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.datatypes.srsd.datasets import ProblemName, Problems, SrsdDataset
from mdbench.errors import DataError, UsageError
from mdbench.metrics.regression import nmse, r2
from mdbench.records import RecordStore, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.reproduce import differences, plans_of
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

FOLDER = ROOT / "datasets" / "srsd"
STRICT = Protocol.STRICT
SYMBOLIC = ("normalized_edit_distance", "solution", "srbench_solution")
SOURCE = Srsd(FOLDER, Path("no-cache")).source()

LINEAR_IN_LOGS = """
import numpy as np

class Adapter:
    '''A product of powers, for data of any size.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        logs = np.log(np.abs(problem.X))
        design = np.column_stack([np.ones(len(logs)), logs])
        y = problem.Y[:, 0]
        self.b, *_ = np.linalg.lstsq(design, np.log(np.abs(y)), rcond=None)
        self.b[1:] = np.round(self.b[1:], 3)
        self.names = problem.variables
    def predict(self, problem):
        return (np.exp(self.b[0]) * np.prod(problem.X ** self.b[1:], axis=1))[:, None]
    def equations(self):
        powers = "*".join(f"{x}**({b})" for x, b in zip(self.names, self.b[1:]))
        return [f"{np.exp(self.b[0])!r}*{powers}".replace("np.float64", "")]
"""


@pytest.fixture
def srsd(tmp_path: Path) -> Srsd:
    return Srsd(FOLDER, tmp_path)


def load(name: str, seed: int = 0) -> SrsdDataset:
    dataset = SOURCE.load(name, snr_db=None, seed=seed, protocol=STRICT)
    assert isinstance(dataset, SrsdDataset)
    return dataset


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    folder = add_method(workspace, "powers", LINEAR_IN_LOGS)
    toml = folder / "method.toml"
    toml.write_text(toml.read_text().replace('["ode"]', '["srsd"]'))
    return workspace


def options(tmp_path: Path, **changes: Any) -> RunOptions:
    given: dict[str, Any] = {
        "algorithms": ("powers",),
        "data_type": "srsd",
        "result_dir": tmp_path / "results",
    }
    return RunOptions(**given | changes)


def names(workspace: Workspace, tmp_path: Path, **changes: Any) -> list[str]:
    return [job.dataset for job in make_plan(options(tmp_path, **changes), workspace).jobs]


def test_sets_names_and_globs(workspace: Workspace, tmp_path: Path) -> None:
    assert len(names(workspace, tmp_path)) == 120
    for group, size in (("easy", 30), ("medium", 40), ("hard", 50)):
        assert len(names(workspace, tmp_path, datasets=(group,))) == size
    assert len(names(workspace, tmp_path, datasets=("easy", "hard"))) == 80
    assert names(workspace, tmp_path, datasets=("feynman-i.12.1",)) == ["feynman-i.12.1"]
    assert len(names(workspace, tmp_path, datasets=("feynman-bonus.*",))) == 20
    with pytest.raises(UsageError, match="Did you mean easy"):
        names(workspace, tmp_path, datasets=("esay",))


def test_problems_are_in_the_order_of_difficulty_and_number() -> None:
    ordered = SOURCE.names()
    assert ordered[:2] == ["feynman-i.12.1", "feynman-i.12.4"]
    assert ordered[70] == "feynman-bonus.1"
    assert ordered.index("feynman-i.8.14") < ordered.index("feynman-i.10.7")


def test_options_are_said_by_names(workspace: Workspace, tmp_path: Path) -> None:
    def made(*words: str) -> list[str]:
        return names(workspace, tmp_path, datasets=("feynman-i.12.1",), special=words)

    base = "feynman-i.12.1"
    assert made("--variant", "released") == [f"{base}+released"]
    assert made() == [base]
    assert made("--dummy-columns", "--target_noise=0,1e-2") == [
        f"{base}+dummy",
        f"{base}+dummy+noise=0.01",
    ]
    assert made("--target-noise", "0.1,1e-1") == [f"{base}+noise=0.1"]
    assert made("--variant", "paper", "--dummy-columns") == [f"{base}+dummy"]  # nothing differs
    assert names(
        workspace, tmp_path, datasets=("feynman-i.12.4",), special=("--variant", "paper")
    ) == ["feynman-i.12.4+paper"]
    everything = ProblemName(base, "released", dummies=True, noise=1 / 3)
    assert ProblemName.read(str(everything)) == everything


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"special": ("--variant", "shipped")}, "--variant is 'shipped'"),
        ({"special": ("--target-noise", "loud")}, "--target-noise is 'loud'"),
        ({"special": ("--target-noise", "-1")}, "--target-noise is '-1'"),
        ({"special": ("--target-noise", "nan")}, "--target-noise is 'nan'"),
        ({"special": ("--target-noise",)}, "needs a value"),
        ({"special": ("--target-noise", "--dummy-columns")}, "needs a value"),
        ({"special": ("--dummy-columns=3",)}, "takes no value"),
        ({"special": ("--dummy-columns", "3")}, "'3' is no option"),
        ({"special": ("--dummies", "released")}, "--dummy-columns, --target-noise"),
        ({"special": ("--dummy-columns", "--dummy-columns")}, "more than once"),
        ({"with_noise": True}, "no noise levels in dB"),
        ({"snr": (20.0,)}, "--target-noise"),
        ({"datasets": ("feynman-i.12.1+dummy",)}, "matches none"),
    ],
)
def test_what_makes_no_sense_is_refused(
    workspace: Workspace, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        names(workspace, tmp_path, **changes)
    assert words in str(caught.value)


def test_other_data_types_have_none_of_these_options(workspace: Workspace, tmp_path: Path) -> None:
    folder = add_method(workspace, "zero")
    assert folder.exists()
    with pytest.raises(UsageError, match="'--dummy-columns' is no option of a run, nor of"):
        make_plan(
            RunOptions(("zero",), "ode", result_dir=tmp_path, special=("--dummy-columns",)),
            workspace,
        )


@pytest.mark.parametrize(
    "name",
    ["feynman-i.99", "feynman-i.12.1+noise=x", "feynman-i.12.1+noise=-1", "feynman-i.12.1+more"],
)
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        load(name)
    with pytest.raises(UsageError, match="no noise levels in dB"):
        SOURCE.load("feynman-i.12.1", snr_db=20.0, seed=0, protocol=STRICT)


def test_a_table_is_cut_by_position(srsd: Srsd) -> None:
    dataset = load("feynman-i.12.4")
    task = srsd.task(dataset, "table", STRICT)
    parts = (task.train, task.validation, task.test)
    assert [part.targets.shape for part in parts] == [(8_000, 1), (1_000, 1), (1_000, 1)]
    np.testing.assert_array_equal(np.concatenate([p.inputs["X"] for p in parts]), dataset.x)
    np.testing.assert_array_equal(np.concatenate([p.targets[:, 0] for p in parts]), dataset.y)
    assert task.refit.targets.shape == (9_000, 1)
    assert (task.variables, task.targets) == (("x0", "x1"), ("y",))
    for part in parts:
        np.testing.assert_array_equal(part.columns["x1"], part.inputs["X"][:, 1])
    published = srsd.task(dataset, "table", Protocol.PUBLISHED)
    np.testing.assert_array_equal(published.refit.targets, published.train.targets)
    with pytest.raises(UsageError, match="no view"):
        srsd.task(dataset, "trajectory", STRICT)


def test_25_laws_have_other_ranges_in_the_paper_and_the_page_lists_them() -> None:
    problems = Problems(FOLDER).problems
    differing = {name: each for name, each in problems.items() if each.paper}
    assert len(differing) == 25
    page = (ROOT / "docs" / "srsd.md").read_text(encoding="utf-8")
    listed = page.partition("### Ranges in the paper")[2].partition("\n## ")[0]
    for each in differing.values():
        label = each.id.replace("B", "bonus ")
        assert f"| {label} |" in listed


def test_the_paper_s_variant_has_its_ranges_and_the_same_truth() -> None:
    usual, printed = load("feynman-i.12.4"), load("feynman-i.12.4+paper")
    assert usual.truth == printed.truth
    assert usual.fingerprint != printed.fingerprint
    q1, r = np.abs(printed.x.T)
    assert q1.min() > 0.001
    assert q1.max() < 0.1
    assert r.min() > 0.01
    assert r.max() < 1
    dummies = load("feynman-i.12.4+paper+dummy")
    assert dummies.x.shape[1] > printed.x.shape[1]
    assert load("feynman-iii.15.27+paper").domain["x0"]["distribution"] == "uniform-integer"


def test_targets_of_rounding_are_left_to_the_released_variant(srsd: Srsd) -> None:
    exact, released = (load(f"feynman-iii.15.12{suffix}") for suffix in ("", "+released"))
    law = "4*x0*sin(x1*x2/2)**2"
    for writing in (law, "2*x0 - 2*x0*cos(x1*x2)", "2*x0*(1 - cos(x1*x2))"):
        task = srsd.task(exact, "table", STRICT)
        answer = srsd.read_answer(task, Answer((writing,)))
        assert srsd.errors(answer.values, task.test.targets)["nmse"] == 0.0
    task = srsd.task(released, "table", STRICT)
    assert released.truth is not None
    answer = srsd.read_answer(task, Answer(released.truth))
    assert srsd.errors(answer.values, task.test.targets)["nmse"] == 0.0
    columns = dict(zip(released.domain, released.x.T, strict=True))
    assert r2(parse(law, released.domain).evaluate(columns), released.y) < 0.9999


def test_predictions_in_double_precision_agree_with_their_equation(srsd: Srsd) -> None:
    """A method predicts 2*x0*(1 - cos(x1*x2)) as it can: as zero in most rows."""
    task = srsd.task(load("feynman-iii.15.12"), "table", STRICT)
    columns = task.test.columns
    law = "2*x0*(1 - cos(x1*x2))"
    predictions = parse(law, task.variables).evaluate(columns)[:, None]
    answer = srsd.read_answer(task, Answer((law,), predictions))
    assert answer.agreement == 0.0
    assert srsd.errors(answer.values, task.test.targets)["relative_error"] == 0.0
    np.testing.assert_array_equal(
        srsd.evaluate_candidate(task, task.validation, Candidate(0, (law,), {})).loss, 0.0
    )


SLIPS = {"feynman-i.34.14", "feynman-bonus.13", "feynman-iii.9.52"}
"""Problems whose released samples do not follow their law."""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(sorted(SLIPS | set(SOURCE.names()[3::10])), id="some"),
        pytest.param(SOURCE.names(), id="all", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("suffix", ["", "+released", "+dummy", "+released+dummy"])
def test_the_truth_is_what_the_samples_follow(suffix: str, names: list[str]) -> None:
    follows = {}
    for name in names:
        dataset = load(name + suffix)
        assert dataset.truth is not None
        columns = dict(zip(dataset.domain, dataset.x.T, strict=True))
        tree = read(dataset.truth[0], tuple(dataset.domain))
        y = correctly_rounded_values(tree, columns)
        if "released" in suffix:  # in double precision
            y = parse(dataset.truth[0], dataset.domain).evaluate(columns)
        follows[name] = np.array_equal(y, dataset.y)
    assert {name for name, right in follows.items() if not right} == (
        SLIPS if "released" in suffix else set()
    )


def test_the_sixth_bonus_problem_is_released_with_one_slip_in_both() -> None:
    right, released = (load(f"feynman-bonus.6{suffix}") for suffix in ("", "+released"))
    assert right.truth is not None
    assert released.truth is not None
    assert not symbolic_solution(right.truth[0], released.truth[0], right.domain).solved
    # Where the first power of eps is asked for, half of its signs are not possible.
    assert (released.x[:, 0] > 0).mean() > 0.95
    assert (right.x[:, 0] > 0).mean() < 0.6


def test_dummy_columns_are_added_and_change_nothing_else() -> None:
    added = []
    places = set()
    for name in SOURCE.names():
        plain, mixed = load(name), load(f"{name}+dummy")
        np.testing.assert_array_equal(plain.y, mixed.y)
        mine = [i for i, c in enumerate(mixed.x.T) if any(np.array_equal(c, p) for p in plain.x.T)]
        np.testing.assert_array_equal(mixed.x[:, mine], plain.x)
        others = sorted(set(range(mixed.x.shape[1])) - set(mine))
        added.append(len(others))
        places |= {i / (mixed.x.shape[1] - 1) for i in others if mixed.x.shape[1] > 1}
        for i in others:
            column, spread = mixed.x[:, i], mixed.domain[f"x{i}"]
            np.testing.assert_array_equal(column, column.astype(np.float32))
            assert spread["high"] / spread["low"] == pytest.approx(100)
            assert 1e-33 * 0.99 <= np.abs(column).min() <= np.abs(column).max() <= 1e33 * 1.01
            assert (column < 0).any() == (spread["sign"] == "mixed")
        assert plain.fingerprint != mixed.fingerprint
    assert {added.count(n) > 20 for n in (1, 2, 3)} == {True}
    assert sum(map(added.count, (1, 2, 3))) == 120
    assert {0.0, 1.0} <= places


def test_noise_is_in_the_training_targets_only(srsd: Srsd) -> None:
    clean = load("feynman-i.12.1")
    noisy = load("feynman-i.12.1+noise=0.1")
    np.testing.assert_array_equal(clean.x, noisy.x)
    np.testing.assert_array_equal(clean.y, noisy.y)
    xi = noisy.y_training - clean.y[:8_000]
    # Of the mean square, not of the square of the mean, nor of the variance.
    wanted = 0.1 * np.sqrt(np.mean(clean.y[:8_000] ** 2))
    assert np.std(xi) == pytest.approx(wanted, rel=0.03)
    assert abs(np.mean(xi)) < 4 * wanted / np.sqrt(8_000)
    task = srsd.task(noisy, "table", STRICT)
    np.testing.assert_array_equal(task.train.targets[:, 0], noisy.y_training)
    np.testing.assert_array_equal(task.refit.targets[:8_000], task.train.targets)
    np.testing.assert_array_equal(task.validation.targets[:, 0], clean.y[8_000:9_000])
    np.testing.assert_array_equal(task.test.targets[:, 0], clean.y[9_000:])
    other = load("feynman-i.12.1+noise=0.1", seed=1)
    assert other.fingerprint != noisy.fingerprint != clean.fingerprint
    assert load("feynman-i.12.1", seed=1).fingerprint == clean.fingerprint
    tiny = load("feynman-ii.15.4+noise=0.01")
    assert np.std(tiny.y_training - tiny.y[:8_000]) == pytest.approx(
        0.01 * np.sqrt(np.mean(tiny.y[:8_000] ** 2)), rel=0.03, abs=0
    )


def test_a_candidate_is_chosen_by_its_relative_error(srsd: Srsd) -> None:
    y = np.array([[1e-30], [1.0]])
    large = np.array([[2e-30], [1.0]])  # off by its own size in a tiny target
    small = np.array([[1e-30], [1.1]])
    losses = [srsd.loss(p, y) for p in (large, small)]
    assert losses == pytest.approx([0.5, 0.005])
    assert srsd.fitness(losses[1], 99) > srsd.fitness(losses[0], 1)


def test_scores_do_not_depend_on_the_unit(srsd: Srsd) -> None:
    generator = np.random.default_rng(0)
    y = generator.uniform(1, 2, (1_000, 1))
    y_hat = y + generator.normal(0, 0.001, y.shape)
    for unit in (1e-30, 1.0, 1e30):
        scores = srsd.errors(y_hat * unit, y * unit)
        assert scores["nmse"] == pytest.approx(nmse(y_hat, y), rel=1e-6)
        assert scores["r2"] == pytest.approx(r2(y_hat, y))
        assert scores["r2_accuracy"] == 1.0
    assert srsd.errors(y + 0.5, y)["r2_accuracy"] == 0.0


def test_files_are_those_of_srsd(tmp_path: Path) -> None:
    small = tmp_path / "few"
    small.mkdir()
    for name in ("feynman-i.12.1", "feynman-bonus.7"):
        (small / f"{name}.toml").write_text((FOLDER / f"{name}.toml").read_text())
    few = Srsd(small, tmp_path)
    assert few.write_all(tmp_path / "out") == 6
    dataset = load("feynman-i.12.1")
    rows = np.loadtxt(tmp_path / "out" / "easy_set" / "val" / "feynman-i.12.1.txt")
    np.testing.assert_array_equal(rows, np.column_stack([dataset.x, dataset.y])[8_000:9_000])
    assert len(list((tmp_path / "out" / "hard_set").glob("*/*.txt"))) == 3
    with pytest.raises(UsageError, match="--target-noise"):
        few.write_all(tmp_path / "out", with_noise=True)


def test_problems_of_the_users_own(srsd: Srsd, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (FOLDER / "feynman-i.12.1.toml").read_text()
    file.write_text(text)
    for path in (file, tmp_path):
        assert srsd.source(path).names() == ["mine"]
    with pytest.raises(DataError, match="nothing at"):
        srsd.source(tmp_path / "nowhere").names()
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no file ends in \.toml"):
        srsd.source(tmp_path / "empty").names()
    file.rename(tmp_path / "a+b.toml")
    with pytest.raises(DataError, match=r"no '\+'"):
        srsd.source(tmp_path).names()


def test_a_run_with_options_leaves_records_that_are_reproduced(
    workspace: Workspace, tmp_path: Path
) -> None:
    asked = options(tmp_path, datasets=("feynman-ii.38.3", "feynman-i.26.2"))
    execute(make_plan(asked, workspace), HereRuntime(), Quiet())
    noisy = options(
        tmp_path, datasets=("feynman-i.12.1",), special=("--dummy-columns", "--target-noise=1e-6")
    )
    execute(make_plan(noisy, workspace), HereRuntime(), Quiet())
    store = RecordStore(tmp_path / "results" / "powers-srsd.jsonl")
    records = {record.dataset: record for record in store.read()}
    assert set(records) == {"feynman-ii.38.3", "feynman-i.26.2", "feynman-i.12.1+dummy+noise=1e-06"}
    solved = records["feynman-i.12.1+dummy+noise=1e-06"]
    assert solved.status is Status.OK, solved.reason
    assert solved.metrics["r2_accuracy"] == 1.0
    assert solved.truth == load(solved.dataset).truth
    assert solved.equations is not None
    found = symbolic_solution(
        known(solved.truth)[0], solved.equations[0], load(solved.dataset).domain
    )
    assert found.solved
    assert solved.metrics["solution"] == 1.0
    # Noise leaves a factor that is nearly one: a node more than the three of the truth.
    assert solved.metrics["normalized_edit_distance"] == 1 / 3
    wrong = records["feynman-i.26.2"].metrics
    assert wrong["r2_accuracy"] == wrong["solution"] == wrong["srbench_solution"] == 0.0
    assert 0.0 < number(wrong["normalized_edit_distance"]) <= 1.0
    again = tmp_path / "again"
    for _, plan in plans_of(records.values(), (), workspace, result_dir=again, n_jobs=1):
        for record in execute(plan, HereRuntime(), Quiet()).records:
            assert not differences(records[record.dataset], record).keys() & {"metrics", "truth"}


def test_an_answer_that_is_another_law_or_the_truth_in_other_words_is_scored(srsd: Srsd) -> None:
    task = srsd.task(load("feynman-i.12.1"), "table", STRICT)  # x0*x1

    def scores(equation: str) -> dict[str, Any]:
        found = srsd.score(task, srsd.read_answer(task, Answer((equation,)))).metrics
        return {name: found[name] for name in SYMBOLIC}

    assert scores("2*x1*x0/2") == dict(zip(SYMBOLIC, (0.0, 1.0, 1.0), strict=True))
    # A constant factor is a solution, and two nodes more than the three of the truth; where it is
    # far from one, R2 is too low for SRBench's code.
    assert scores("1.01*x0*x1") == dict(zip(SYMBOLIC, (1 / 3, 1.0, 1.0), strict=True))
    assert scores("3.5*x0*x1") == dict(zip(SYMBOLIC, (1 / 3, 1.0, 0.0), strict=True))
    other = scores("x0 + x1")
    assert other["solution"] == other["srbench_solution"] == 0.0
    assert other["normalized_edit_distance"] == pytest.approx(1 / 3)  # the sum, renamed


@pytest.mark.slow
def test_what_sympy_gives_up_is_undecided_and_no_fault_of_the_method(
    srsd: Srsd, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To count so many nodes takes some seconds, which a slower machine has not within the limit.
    patient = LimitedProcess(equation.SYMPY_WORKER, 120, equation.MAX_BYTES)
    monkeypatch.setattr(equation, "_child", patient)
    task = srsd.task(load("feynman-i.12.1"), "table", STRICT)
    long = "+".join(f"sin({n}*x0)" for n in range(1, 1_000))
    found = srsd.score(task, srsd.read_answer(task, Answer((long,)))).metrics
    assert [found[name] for name in SYMBOLIC] == [None, None, None]
    assert found["r2_accuracy"] == 0.0
    assert set(srsd.metric_names(task)) >= set(SYMBOLIC)


FRONT = """
import numpy as np
from mdbench.worker import Candidate

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.rows, self.y = p.X.shape[0], p.Y
    def candidates(self):
        print("rows", self.rows)
        yield Candidate(("1.5*x0",), self.y)             # claims to be perfect
        yield Candidate(("log(x0 - 1e9)",), self.y)      # is nowhere finite
        yield Candidate(("x0*x1",), self.y + 1.0)        # is the law
    def choose(self, indices):
        self.chosen = indices
    def predict(self, p):
        return (p.X[:, 0] * p.X[:, 1])[:, None]
    def equations(self):
        return [["1.5*x0", "log(x0 - 1e9)", "x0*x1"][self.chosen[0]]]
"""


def test_a_front_is_compared_on_validation_data_by_its_equations(
    workspace: Workspace, tmp_path: Path
) -> None:
    toml = add_method(workspace, "front", FRONT, tuning="front") / "method.toml"
    toml.write_text(toml.read_text().replace('["ode"]', '["srsd"]'))
    asked = options(tmp_path, algorithms=("front",), datasets=("feynman-i.12.1",))
    (record,) = execute(make_plan(asked, workspace), HereRuntime(), Quiet()).records
    assert record.status is Status.OK, record.reason
    assert record.equations == ("x0*x1",)
    assert record.selection is not None
    assert (record.selection.candidates, record.selection.invalid) == (3, 1)
    assert record.selection.loss == pytest.approx(0, abs=1e-12)
    assert record.log is not None
    assert "rows 8000" in (asked.result_dir / record.log).read_text(encoding="utf-8")
