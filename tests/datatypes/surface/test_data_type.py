"""The data type of surfaces: rows, names, tasks, scores, runs, and points of one's own."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, number
from sweeps import sampled

from mdbench.datatypes.base import Answer, Candidate, PlotBudget, PlottedAnswer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.surface.data_type import WORST, FirstSteps, SurfaceType
from mdbench.datatypes.surface.datasets import SurfaceDataset, SurfaceName
from mdbench.errors import AnswerError, DataError, UsageError
from mdbench.records import RecordStore, Status
from mdbench.runs.plan import make_plan
from mdbench.runs.reproduce import differences, plans_of
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.datatypes.base import Scores
    from mdbench.workspace import Workspace

KIND = SurfaceType(ROOT / "datasets" / "surface", Path("no-cache"))
SOURCE = KIND.source()
STRICT = Protocol.STRICT
ALL = list(SOURCE.names())
FEW = ["PDS8", "DIGS4", "LRDS6", "HDIS1", "PMOS13"]
"""Of those with a trait of their own: branches, whole numbers, a pole, a line, a large reach."""

BOTH = """
import numpy as np

class Adapter:
    '''Says x**2 + y**2 - 4, and what it was given.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.names, self.given = problem.variables, sorted(problem.arrays)
        if "normals" in problem.arrays:
            lengths = np.linalg.norm(problem.normals, axis=1)
            assert np.allclose(lengths, 1), lengths
            assert problem.normals.shape == problem.X.shape
    def predict(self, problem):
        return np.sum(problem.X ** 2, axis=1, keepdims=True) - 4
    def equations(self):
        return [" + ".join(f"{name}**2" for name in self.names) + " - 4"]
"""


@cache
def load(name: str, seed: int = 0) -> SurfaceDataset:
    found = SOURCE.load(name, snr_db=None, seed=seed, protocol=STRICT)
    assert isinstance(found, SurfaceDataset)
    return found


def judged(name: str, *equations: str) -> Scores:
    task = KIND.task(load(name), "table", STRICT)
    return KIND.score(task, KIND.read_answer(task, Answer(equations)))


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    folder = add_method(workspace, "both", BOTH)
    toml = folder / "method.toml"
    toml.write_text(toml.read_text().replace('["ode"]', '["surface"]'))
    return workspace


def names(
    workspace: Workspace, tmp_path: Path, *datasets: str, special: tuple[str, ...] = ()
) -> list[str]:
    asked = RunOptions(
        ("both",), "surface", datasets=datasets, special=special, result_dir=tmp_path / "results"
    )
    return [job.dataset for job in make_plan(asked, workspace).jobs]


def test_representations_categories_ids_and_globs(workspace: Workspace, tmp_path: Path) -> None:
    sizes = {"explicit": 129, "implicit": 24, "parametric": 30, "piecewise-surfaces": 10}
    assert len(names(workspace, tmp_path)) == 183
    for group, size in sizes.items():
        assert len(names(workspace, tmp_path, group)) == size
    assert names(workspace, tmp_path, "HDIS1") == ["HDIS1"]
    assert names(workspace, tmp_path, "NACS?") == [f"NACS{i}" for i in range(1, 10)]
    with pytest.raises(UsageError, match="Did you mean implicit"):
        names(workspace, tmp_path, "implcit")


def test_options_are_said_by_names(workspace: Workspace, tmp_path: Path) -> None:
    def made(dataset: str, *words: str) -> list[str]:
        return names(workspace, tmp_path, dataset, special=words)

    assert made("EBS1", "--noise-percent", "0,1,5,10") == [
        "EBS1",
        "EBS1+noise=1",
        "EBS1+noise=5",
        "EBS1+noise=10",
    ]
    assert made("PMOS13", "--variant", "wide") == ["PMOS13+wide"]
    assert made("HDIS1", "--variant=cloud", "--normals", "--noise-percent=0.5") == [
        "HDIS1+cloud+normals+noise=0.5"
    ]
    assert made("PMOS13", "--curvature", "--variant=wide") == ["PMOS13+wide+curved"]
    assert made("DIGS1", "--curvature") == ["DIGS1"]  # an integer grid has all its points
    for whole in (
        SurfaceName("HDIS1", "cloud", normals=True, noise=0.5),
        SurfaceName("PMOS13", "wide", noise=5, curved=True),
    ):
        assert SurfaceName.read(str(whole)) == whole


@pytest.mark.parametrize(
    ("dataset", "special", "words"),
    [
        ("EBS1", ("--variant", "cloud"), "--dataset implicit"),
        ("EBS1", ("--variant", "wide"), "--dataset parametric"),
        ("HDIS1", ("--variant", "wide"), "HDIS1 is implicit"),
        ("HDIS1", ("--variant", "narrow"), "--variant is 'narrow'"),
        ("EBS1", ("--noise-percent", "-1"), "--noise-percent is '-1'"),
        ("EBS1", ("--noise-percent", "nan"), "--noise-percent is 'nan'"),
        ("HDIS1", ("--curvature",), "HDIS1 is implicit"),
        ("EBS1+wide", (), "matches none"),
    ],
)
def test_what_makes_no_sense_is_refused(
    workspace: Workspace, tmp_path: Path, dataset: str, special: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        names(workspace, tmp_path, dataset, special=special)


def test_normals_are_of_clouds() -> None:
    with pytest.raises(UsageError, match="--normals goes with --variant cloud"):
        load("HDIS1+normals")
    with pytest.raises(UsageError, match="--noise-percent"):
        SOURCE.load("EBS1", snr_db=20.0, seed=0, protocol=STRICT)


def test_splits_are_those_of_the_issue() -> None:
    data = load("EBS2")
    assert (len(data.training.x), len(data.test.x), data.validation) == (5_000, 500, 500)
    assert data.beyond is not None
    assert np.abs(data.training.x).max() <= 5
    far = np.abs(data.beyond.x)
    assert (far.min(), far.max()) == (pytest.approx(5, abs=0.1), pytest.approx(10, abs=0.1))
    assert ((far >= 5) & (far <= 10)).all()
    assert (np.sign(data.beyond.x).mean(axis=0) < 0.2).all()  # of either sign
    task = KIND.task(data, "table", STRICT)
    sizes = [len(part.targets) for part in (task.train, task.validation, task.refit, task.test)]
    assert sizes == [4_500, 500, 5_000, 500]
    assert not set(map(tuple, data.training.x)) & set(map(tuple, data.test.x))


@pytest.mark.parametrize(("name", "end"), [("PMOS13", 2.0), ("PMOS13+wide", 5.0)])
def test_parametric_domains(name: str, end: float) -> None:
    data = load(name)
    assert np.abs(data.training.x).max() == pytest.approx(end, rel=0.01)
    assert data.beyond is not None
    assert np.abs(data.beyond.x).min() >= end
    assert np.abs(data.beyond.x).max() == pytest.approx(2 * end, rel=0.01)
    assert data.training.y.shape == (5_000, 3)


def test_integer_grids() -> None:
    data = load("DIGS7")
    assert data.beyond is not None
    assert [len(each.x) for each in (data.training, data.test, data.beyond)] == [96, 25, 144]
    inside = {tuple(row) for each in (data.training, data.test) for row in each.x}
    assert inside == {(i, j) for i in range(-5, 6) for j in range(-5, 6)}
    assert set(np.unique(np.abs(data.beyond.x))) == {5, 6, 7, 8, 9, 10}
    assert set(np.unique(data.training.y.round(9))) == {0, 1, 2, 3, 4}


def test_noise_is_a_share_of_the_spread_of_each_target_and_of_the_training_alone() -> None:
    clean, noisy = load("PMOS3"), load("PMOS3+noise=5")
    np.testing.assert_array_equal(clean.training.x, noisy.training.x)
    np.testing.assert_array_equal(clean.test.y, noisy.test.y)
    added = (noisy.training.y - clean.training.y).std(axis=0)
    np.testing.assert_allclose(added, 0.05 * clean.training.y.std(axis=0), rtol=0.05)
    assert clean.fingerprint != noisy.fingerprint
    other = load("PMOS3+noise=5", seed=1)
    assert other.fingerprint != noisy.fingerprint
    assert load("PMOS3", seed=1).fingerprint == clean.fingerprint


def test_a_cloud_is_on_its_surface_and_its_normals_are_upright() -> None:
    data = load("HDIS2+cloud+normals")
    x, y, z = data.training.x.T
    assert len(data.training.x) == 5_000
    assert len(data.test.x) == 500
    assert np.abs(x**3 * y + y**3 * z + z**3 * x).max() < 1e-6
    assert not data.training.y.any()
    assert data.normals is not None
    slope = np.stack([3 * x**2 * y + z**3, x**3 + 3 * y**2 * z, y**3 + 3 * z**2 * x], axis=-1)
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    np.testing.assert_allclose(np.median(np.sum(slope * data.normals[0], axis=1)), 1, atol=1e-6)
    assert data.beyond is None


@pytest.mark.parametrize("name", FEW)
def test_the_truth_wins(name: str) -> None:
    data = load(name)
    assert data.truth is not None
    scores = judged(name, *data.truth).metrics
    assert (scores["identified"], scores["solution"], scores["skeleton"]) == (1, 1, 1)
    assert (scores["failure_kind"], scores["coverage_shape"]) == ("none", 1)
    assert number(scores["nmse"]) < 1e-20
    assert number(scores["nmse_ood"]) < 1e-20
    assert number(scores["chamfer"]) <= 2 * number(data.floor)
    if data.shape.representation != "implicit":
        assert number(scores["raw_chamfer"]) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled([name for name in ALL if name not in FEW]))
def test_the_truth_wins_everywhere(name: str) -> None:
    test_the_truth_wins(name)


def test_all_metrics_are_there_and_are_those_that_are_promised() -> None:
    for name, answer in (("EBS1", ["x"]), ("PMOS2", ["u", "v", "1"]), ("HDIS2", ["x*y - 1"])):
        task = KIND.task(load(name), "table", STRICT)
        found = judged(name, *answer).metrics
        assert set(found) >= set(KIND.metric_names(task)) - {"agreement", "coefficient_error"}
    assert judged("EBS1", "x").metrics["failure_kind"] == "fitting"
    assert judged("EBS1", "sin(x)").metrics["failure_kind"] == "search"


def test_a_constant_off_is_a_solution_and_has_the_skeleton() -> None:
    for answer, solution, skeleton in (
        ("sin(x)*cos(y) + 3", 1, 0),
        ("2.5*sin(x)*cos(y)", 1, 1),
        ("2.5*sin(x)*cos(y) + 3", 0, 0),
        ("sin(x)*cos(2.5*y)", 0, 1),
    ):
        scores = judged("EBS2", answer).metrics
        assert scores["identified"] == 0, answer
        assert scores["solution"] == solution, answer
        assert scores["skeleton"] == skeleton, answer


def test_each_axis_of_a_parametric_surface_is_shown() -> None:
    x, y, _ = load("PMOS14").truth or ()
    scores = judged("PMOS14", x, y, "0")
    assert scores.metrics["solution"] == 0
    told = scores.notes["states"]
    assert [text.partition(":")[0] for text in told] == ["x", "y", "z"]
    assert [float(text.partition(":")[2]) for text in told][:2] == [0, 0]
    values = load("PMOS14").test.y
    share = np.sum(values[:, 2] ** 2) / np.sum((values - values.mean(axis=0)) ** 2)
    assert number(scores.metrics["nmse"]) == pytest.approx(share)


def test_what_is_not_finite_out_of_the_domain_is_counted() -> None:
    scores = judged("EBS1", "x**2 + y**2 + 0*sqrt(50 - x**2)").metrics
    assert number(scores["nmse"]) < 1e-20
    assert scores["nmse_ood"] == WORST
    assert 0 < number(scores["coverage_ood"]) < 1
    assert scores["coverage_shape"] == 1
    with pytest.raises(AnswerError, match="not finite"):
        judged("EBS1", "log(x)")


def test_an_implicit_answer_without_zeros_is_as_far_as_can_be() -> None:
    scores = judged("HDIS2", "7")
    assert (scores.metrics["chamfer"], scores.metrics["hausdorff"]) == (2.0, 1.0)
    assert scores.metrics["solution"] == 0
    assert scores.notes["shape"] == ["it has no points in the box"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [("0", "zero everywhere"), ("1e-9", "zero nowhere"), ("x**2 + 1", "zero nowhere")],
)
def test_of_a_cloud_what_is_no_surface_is_no_answer(answer: str, words: str) -> None:
    with pytest.raises(AnswerError, match=words):
        judged("HDIS2+cloud", answer)


def test_the_size_of_an_equation_of_a_cloud_states_nothing() -> None:
    for factor in ("1", "-1e-6"):
        scores = judged("HDIS2+cloud", f"{factor}*(x**3*y + y**3*z + z**3*x)").metrics
        assert (scores["identified"], scores["solution"]) == (1, 1), factor
        assert "nmse" not in scores


def chosen(name: str, *answers: str) -> str:
    task = KIND.task(load(name), "table", STRICT)
    offers = []
    for i, text in enumerate(answers):
        try:
            offers.append(KIND.evaluate_candidate(task, task.validation, Candidate(i, (text,), {})))
        except AnswerError:
            continue
    choice = KIND.select(task, offers)
    assert choice is not None
    return choice.equations[0]


def test_the_truth_is_chosen() -> None:
    truth = "x**2 + y**2"
    for name in ("EBS1", "EBS1+noise=10"):
        assert chosen(name, "0", truth, "1.1*x**2 + y**2", f"{truth} + 0.0001*sin(x)") == truth
    [law] = load("HDIS2").truth or ("",)
    for name in ("HDIS2+cloud", "HDIS2+cloud+noise=5"):
        assert (
            chosen(name, "0", "1", "x", "1e-30*x", law, f"{law} + 0.5", f"1e-9*({law} + 1)") == law
        )


def test_a_step_is_the_distance_from_a_plane() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    evidence = FirstSteps.of(points, ("x", "y", "z"))
    for size in (1e-9, 1.0, 1e9):
        loss = evidence.loss(size * (evidence.columns["x"] - 0.5), 0)
        expected = np.minimum((points[:, 0] - 0.5) ** 2 / evidence.size**2, 1).mean()
        assert loss == pytest.approx(expected, rel=1e-6)
    assert np.isnan(evidence.loss(np.zeros(7 * 500), 0))


def run(workspace: Workspace, tmp_path: Path, *datasets: str, **changes: Any) -> dict[str, Any]:
    asked = RunOptions(
        ("both",), "surface", datasets=datasets, result_dir=tmp_path / "results", **changes
    )
    execute(make_plan(asked, workspace), HereRuntime(), Quiet())
    store = RecordStore(tmp_path / "results" / "both-surface.jsonl")
    return {record.dataset: record for record in store.read()}


def test_a_run_leaves_records_that_are_reproduced(workspace: Workspace, tmp_path: Path) -> None:
    run(workspace, tmp_path, "EBS1", "HDIS2")
    records = run(workspace, tmp_path, "HDIS2", special=("--variant", "cloud", "--normals"))
    assert set(records) == {"EBS1", "HDIS2", "HDIS2+cloud+normals"}
    assert {record.status for record in records.values()} == {Status.OK}
    # A map is placed at the truth's own inputs; the zeros of an implicit answer are drawn again.
    assert number(records["EBS1"].floor) == 0
    assert all(number(records[name].floor) > 0 for name in ("HDIS2", "HDIS2+cloud+normals"))
    assert records["EBS1"].metrics["solution"] == 1.0
    assert records["EBS1"].metrics["identified"] == 0.0
    again = tmp_path / "again"
    for _, plan in plans_of(records.values(), (), workspace, result_dir=again, n_jobs=1):
        for record in execute(plan, HereRuntime(), Quiet()).records:
            changed = differences(records[record.dataset], record).keys()
            assert not changed & {"metrics", "truth", "floor"}


def ball(n: int = 2_000) -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(n, 3))
    return np.asarray(2 * points / np.linalg.norm(points, axis=1, keepdims=True))


def test_points_of_ones_own(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, points=ball(), normals=ball())
    records = run(workspace, tmp_path, dataset_path=path, special=("--normals",))
    record = records["mine+normals"]
    assert record.status is Status.OK, record.reason
    assert record.truth is None
    # x**2 + y**2 + z**2 - 4 is what was said: a shape that only noise of the drawing is apart.
    assert number(record.metrics["chamfer"]) < 2 * number(record.floor)
    assert "identified" not in record.judged_by
    source = KIND.source(path)
    assert list(source.names()) == ["mine"]
    data = source.load("mine+noise=10", snr_db=None, seed=0, protocol=STRICT)
    assert isinstance(data, SurfaceDataset)
    assert (len(data.training.x), len(data.test.x)) == (1_600, 400)
    assert np.linalg.norm(data.training.x, axis=1).std() > 0.05
    assert np.linalg.norm(data.test.x, axis=1).std() < 1e-9
    with pytest.raises(UsageError, match="wide"):
        source.load("mine+wide", snr_db=None, seed=0, protocol=STRICT)


def test_surfaces_and_points_of_ones_own_in_a_folder(tmp_path: Path) -> None:
    np.savez(tmp_path / "points.npz", points=ball())
    text = (ROOT / "datasets" / "surface" / "EBS1.toml").read_text(encoding="utf-8")
    (tmp_path / "bowl.toml").write_text(text, encoding="utf-8")
    source = KIND.source(tmp_path)
    assert list(source.names()) == ["bowl", "points"]
    assert source.title("points") == "a cloud of points"
    assert "x**2 + y**2" in source.title("bowl")
    with pytest.raises(UsageError, match="has no normals"):
        source.load("points+normals", snr_db=None, seed=0, protocol=STRICT)
    (tmp_path / "bowl.csv").write_text("x,y,z\n", encoding="utf-8")
    with pytest.raises(DataError, match="several files are called bowl"):
        KIND.source(tmp_path).names()
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no file ends in \.toml, \.csv"):
        KIND.source(tmp_path / "empty").names()
    with pytest.raises(DataError, match="nothing at"):
        KIND.source(tmp_path / "nowhere").names()


@pytest.mark.parametrize(
    ("answer", "right"),
    [("cos(pi*(i + j))", 1), ("(-1)**(i + j)", 1), ("1 - 2*sin(pi*(i - j)/2)**2", 1), ("1", 0)],
)
def test_between_whole_numbers_there_is_no_truth(answer: str, right: int) -> None:
    scores = judged("DIGS2", answer).metrics
    assert (scores["identified"], scores["solution"], scores["skeleton"]) == (right,) * 3
    assert (scores["failure_kind"] == "none") == bool(right)


def test_what_was_read_and_its_alternatives_are_shown() -> None:
    first, second = SOURCE.notes("NACS1+noise=5")
    assert "read as a fraction" in first
    assert second == "or: sin(x**2 + y**2)/1 + x**2 + y**2"
    assert not SOURCE.notes("EBS1")


def test_pictures_end_where_the_page_has_no_more_space() -> None:
    data = load("EBS2")
    shown = [PlottedAnswer(f"m{i}", i, ("sin(x)",), {"chamfer": 0.5}) for i in range(3)]
    whole = KIND.plots(data, shown, PlotBudget(10_000))
    assert [f"m{i}: 0.50" in whole.html for i in range(3)] == [True] * 3
    few = KIND.plots(data, shown, PlotBudget(2_000))
    assert [f"m{i}: 0.50" in few.html for i in range(3)] == [True, False, False]
    assert KIND.plots(data, shown, PlotBudget(0)).note


def test_published_scores_what_is_predicted() -> None:
    task = KIND.task(load("EBS1"), "table", Protocol.PUBLISHED)
    raw = Answer(("x",), task.test.targets.copy())
    assert KIND.score(task, KIND.read_answer(task, raw)).metrics["nmse"] == 0.0
    strict = replace(task, protocol=STRICT)
    with pytest.raises(AnswerError, match="contradict"):
        KIND.read_answer(strict, raw)
