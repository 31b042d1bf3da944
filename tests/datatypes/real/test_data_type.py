"""Real measurements: what is given, what is asked, and what counts as recovered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.datatypes.base import Answer, Candidate, PlotBudget, PlottedAnswer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real.data_type import Real, RealDataset
from mdbench.datatypes.real.recovery import ROW_ERRORS, pool
from mdbench.errors import DataError, UsageError
from mdbench.records import RecordStore, Status, read_latest
from mdbench.reports.leaderboard import boards
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import Scores
    from mdbench.datatypes.equations.base import EquationTask

FOLDER = ROOT / "datasets" / "real"
STRICT = Protocol.STRICT

POWER = """
import numpy as np

class Adapter:
    '''A power of the first column.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        x, y = np.log(problem.X[:, 0]), np.log(problem.Y[:, 0])
        self.slope, self.offset = np.polyfit(x, y, 1)
        self.name = problem.variables[0]
    def predict(self, problem):
        return np.exp(self.offset) * problem.X[:, :1] ** self.slope
    def equations(self):
        return [f"{float(np.exp(self.offset))!r}*{self.name}**{float(self.slope)!r}"]
"""


@pytest.fixture
def real(tmp_path: Path) -> Real:
    return Real(FOLDER, tmp_path)


def task_of(real: Real, name: str, fold: int = 1) -> EquationTask[RealDataset]:
    dataset = real.source().load(name, snr_db=None, seed=0, protocol=STRICT, options={"fold": fold})
    return real.task(dataset, "table", STRICT)


def scores(real: Real, task: EquationTask[RealDataset], text: str) -> Any:
    return real.score(task, real.read_answer(task, Answer((text,)))).metrics


def test_a_fold_holds_its_rows_out_and_gives_all_others(real: Real) -> None:
    task = task_of(real, "kepler", 3)
    table = task.dataset.table
    assert len(task.dataset.held_out) == 1
    assert len(task.train.targets) == len(table.y) - 1
    given = {float(value) for value in task.train.targets[:, 0]}
    asked = {float(value) for value in task.test.targets[:, 0]}
    assert not given & asked
    assert given | asked == set(table.y.tolist())
    assert task.variables == ("a",)
    assert set(task.train.inputs) == {"X"}


def test_all_folds_together_ask_for_every_row_once(real: Real) -> None:
    source = real.source()
    jobs = real.expand_options(list(source.names()), {})
    assert len(jobs) == 247
    for name in ("kepler", "rydberg", "enso"):
        numbers = [kept["fold"] for asked, kept in jobs if asked == name]
        rows = np.concatenate([task_of(real, name, n).dataset.held_out for n in numbers])
        assert sorted(rows.tolist()) == list(range(len(task_of(real, name).dataset.table.y)))


def test_single_folds_can_be_asked_for(real: Real) -> None:
    real.source()
    assert real.expand_options(["kepler"], {"fold": [2, 5, 99]}) == [
        ("kepler", {"fold": 2}),
        ("kepler", {"fold": 5}),
    ]
    with pytest.raises(UsageError, match="no table has so many folds"):
        real.expand_options(["kepler"], {"fold": [7]})
    option = next(option for option in real.options if option.is_fold)
    for text in ("0", "-1", "two", "1,,2", ""):
        with pytest.raises(UsageError, match="--fold is"):
            option.parse(text)


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.toml")))
def test_the_reference_recovers_itself(real: Real, name: str) -> None:
    task = task_of(real, name)
    table = task.dataset.table
    result = real.score(task, real.read_answer(task, Answer((task.dataset.laws[0],))))
    found = result.metrics
    recovered = [metric for metric in real.metric_names(task) if metric.startswith("recovered")]
    kinds = {"reference": "recovered", "accepted": "recovered_any", "exact": "recovered_made"}
    assert recovered == [(kinds | {"few": "recovered_few"})[table.kind]]
    assert found["same_law"] == 1
    assert pool([_Fold(result)]).recovered is True
    assert found.get("units", 1.0) == 1.0
    assert ("identified" in found) == (table.truth == "exact")
    assert set(found) <= set(real.metric_names(task))


@dataclass
class _Fold:
    """A record, as far as folds are pooled."""

    scores: Scores
    answered: bool = True
    floor: float | None = None

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.scores.metrics

    @property
    def notes(self) -> Mapping[str, Sequence[str]]:
        return self.scores.notes


def verdict(real: Real, name: str, *texts: str) -> Any:
    """Score an answer to each fold, the last again and again, and pool the folds."""
    real.source()
    count = len(real.expand_options([name], {}))
    answers = [*texts, *[texts[-1]] * (count - len(texts))]
    tasks = [task_of(real, name, number) for number in range(1, count + 1)]
    return pool(
        [
            _Fold(real.score(task, real.read_answer(task, Answer((text,)))))
            for task, text in zip(tasks, answers, strict=True)
        ]
    )


def test_any_accepted_law_is_right(real: Real) -> None:
    task = task_of(real, "misra1", 2)
    assert len(task.dataset.laws) == 4
    for law in task.dataset.laws:
        assert scores(real, task, law)["same_law"] == 1.0


def test_what_is_not_the_law_is_not_recovered(real: Real) -> None:
    task = task_of(real, "kepler", 4)
    [law] = task.dataset.laws
    constant = float(law.split("*")[0].strip("()"))
    assert verdict(real, "kepler", f"{constant!r}*a*sqrt(a)").recovered
    far = verdict(real, "kepler", f"{1.05 * constant!r}*a**1.5")
    assert (far.same_law, far.as_good, far.recovered) == (True, False, False)
    long = verdict(real, "kepler", f"{constant!r}*a**1.5 + 1e-3*sin(3.1*a) + 1e-3*cos(a)")
    assert (long.same_law, long.recovered) == (False, False)
    assert not verdict(real, "kepler", "365*a**2").recovered
    wrong = scores(real, task, "365*a**2")
    assert (wrong["same_law"], wrong["units"]) == (0.0, 1.0)
    assert scores(real, task, "exp(a) + 365*a**1.5 - exp(a)")["units"] == 0.0


def test_an_intercept_that_rows_do_not_support_is_no_reason_to_refuse(real: Real) -> None:
    """The answer of the report, and one whose intercept is far from what the rows have."""
    assert verdict(real, "kepler", "366.86*a**1.5 - 4.66").recovered
    assert not verdict(real, "kepler", "366.86*a**1.5 + 900").recovered


def test_a_factor_that_rows_do_not_support_is_no_reason_either(real: Real) -> None:
    """The landed answers of one method to newton, each with a factor a little off 1."""
    answers = (
        "-2.00095541655*log(1.0190482676041235e+17*(r/sqrt(m2*m1))) + 54.8705122528",
        "-2.00433793748*log(7.205759403792794e+16*(r/sqrt(m2*m1))) + 54.1924326197",
        "-1.00134130942*log(1.0384593717069655e+34*(r*(r/(m2*m1)))) + 54.8836821432",
        "-2.00166300963*log(1.0190482676041235e+17*(r/sqrt(m1*m2))) + 54.8964394723",
        "-1.99444020829*log(2.038096535208247e+17*(r/sqrt(m1*m2))) + 56.2527164704",
    )
    assert verdict(real, "newton", *answers).recovered


def test_masses_that_rows_cannot_show_are_not_asked_for(real: Real) -> None:
    assert verdict(real, "kepler-solar", "0.36317*d**1.5").recovered
    assert verdict(real, "kepler-exoplanets", "0.3618*d*sqrt(d/m1)").recovered
    assert not verdict(real, "kepler-exoplanets", "0.9*d**1.5").recovered


def test_the_generator_is_the_truth_of_rows_that_were_made(real: Real) -> None:
    made = "0.0951*exp(-x) + 0.8607*exp(-3*x) + 1.5576*exp(-5*x)"
    for fold in range(1, 6):
        assert scores(real, task_of(real, "lanczos3", fold), made)["identified"] == 1.0
    task = task_of(real, "ideal-gas")
    assert scores(real, task, "log(8.314*n*T/V)")["identified"] == 1.0
    assert scores(real, task, "log(9.3*n*T/V)")["identified"] == 0.0


def test_constants_that_rows_do_not_show_are_not_judged(real: Real) -> None:
    """The best fit of lanczos3 is 9 % off in the smallest part, as its certified error says."""
    task = task_of(real, "lanczos3")
    table = task.dataset.table
    fitted = scores(real, task, table.laws[0].written(table.laws[0].start))
    assert (fitted["skeleton"], fitted["identified"], fitted["same_law"]) == (1.0, None, 1.0)
    assert scores(real, task, "2.5*exp(-4*x)")["identified"] == 0.0


def test_an_answer_without_end_outside_of_its_rows_is_scored_without_a_warning(real: Real) -> None:
    text = (
        "(0.21249509187762816 + exp(((-0.5994497582074969) + (((x/2048.0) * 1)"
        " + (sin((x/2048.0)) * 0.27970899275577393)))))"
    )
    assert scores(real, task_of(real, "roszman1", 3), text)["same_law"] == 0


def test_the_error_is_that_on_the_rows_held_out_over_the_variance_of_all(real: Real) -> None:
    task = task_of(real, "hubble", 2)
    table, rows = task.dataset.table, task.dataset.held_out
    expected = np.mean((500.0 * table.x[rows, 0] - table.y[rows]) ** 2) / np.var(table.y)
    assert scores(real, task, "500*D")["fvu"] == pytest.approx(expected, rel=1e-12)


def test_the_floor_is_the_reference_fitted_to_the_rows_that_are_given(real: Real) -> None:
    task = task_of(real, "hubble", 2)
    table, rows = task.dataset.table, task.dataset.held_out
    kept = np.setdiff1d(np.arange(len(table.y)), rows)
    slope = float(table.x[kept, 0] @ table.y[kept] / (table.x[kept, 0] @ table.x[kept, 0]))
    expected = np.mean((slope * table.x[rows, 0] - table.y[rows]) ** 2) / np.var(table.y)
    assert task.dataset.floor == pytest.approx(expected, rel=1e-9)
    note = real.score(task, real.read_answer(task, Answer((f"{slope!r}*D",)))).notes[ROW_ERRORS]
    answer, reference = ([float(cell) for cell in text.split()] for text in note)
    assert len(answer) == len(rows)
    np.testing.assert_allclose(answer, reference, rtol=1e-3)
    assert np.mean(answer) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "right", "longer"),
    [
        ("kepler", "366.6*a**1.5", "366.6*a**1.5 + 0.001*a**3 - 0.0003*a**4 + 0.01"),
        ("hubble", "475*D", "475*D + 30*D**2 - 11*sin(7*D)"),
    ],
)
def test_a_longer_equation_has_to_earn_its_pieces(
    real: Real, name: str, right: str, longer: str
) -> None:
    task = task_of(real, name)
    offers = [
        real.evaluate_candidate(task, task.refit, Candidate(number, (text,), {}))
        for number, text in enumerate((longer, right, "1.5"))
    ]
    chosen = real.select(task, offers)
    assert chosen is not None
    assert chosen.equations == (right,)


def test_tables_of_the_users_own(tmp_path: Path) -> None:
    rows = "speed,drag\n1,1.01\n2,4.1\n3,8.9\n4,16.2\n5,24.8\n6,36.3\n"
    (tmp_path / "drag.csv").write_text(rows, encoding="utf-8")
    real = Real(FOLDER, tmp_path / "cache")
    source = real.source(tmp_path / "drag.csv")
    assert source.names() == ["drag"]
    assert len(real.expand_options(["drag"], {})) == 6
    dataset = source.load("drag", snr_db=None, seed=0, protocol=STRICT, options={"fold": 1})
    task = real.task(dataset, "table", STRICT)
    assert dataset.truth is None
    found = scores(real, task, "1.01*speed**2")
    assert found["fvu"] < 1e-3
    assert set(found) == {"fvu", "complexity", "share_explained"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no tables"):
        _ = real.source(tmp_path / "empty").names()
    with pytest.raises(DataError, match="nothing at"):
        _ = real.source(tmp_path / "nowhere").names()


def test_a_unit_that_is_none_is_refused_before_anything_runs(tmp_path: Path) -> None:
    text = (FOLDER / "kepler.toml").read_text(encoding="utf-8").replace('"day"', '"parsnip"')
    (tmp_path / "kepler.toml").write_text(text, encoding="utf-8")
    (tmp_path / "kepler.csv").write_bytes((FOLDER / "kepler.csv").read_bytes())
    source = Real(FOLDER, tmp_path).source(tmp_path)
    with pytest.raises(DataError, match="'parsnip' is no unit"):
        source.load("kepler", snr_db=None, seed=0, protocol=STRICT)


def test_every_fold_leaves_a_record_and_all_are_merged_in_reports(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    method = add_method(workspace, "power", POWER)
    toml = (method / "method.toml").read_text(encoding="utf-8")
    (method / "method.toml").write_text(toml.replace('"ode"', '"real"'), encoding="utf-8")
    options = RunOptions(
        ("power",), "real", ("kepler",), n_jobs=1, result_dir=workspace.root / "results"
    )
    plan = make_plan(options, workspace)
    assert execute(plan, HereRuntime(), Quiet()).ran == 6
    records = RecordStore(plan.files["power-real"]).read()
    assert [record.part for record in records] == [f"fold={n}" for n in range(1, 7)]
    assert {record.system for record in records} == {"kepler"}
    assert {record.status for record in records} == {Status.OK}
    assert all(record.metrics["same_law"] == 1.0 for record in records[:1]), records[0].equations
    results = read_latest(options.result_dir)
    assert len(results) == 6
    board = boards(results, {}, {"real": Real.metrics})["real"]
    [row] = board.rows
    assert (row.jobs, row.cases) == (6, 1)
    # What no fold has by itself each has in a report.
    assert not {"recovered", "matches_reference"} & {
        name for one in records for name in one.metrics
    }
    expected = pool(records)
    for entry in board.entries:
        assert entry.values["matches_reference"] == float(expected.as_good)
        assert entry.values["recovered"] == float(expected.recovered is True)
    again = execute(make_plan(options, workspace), HereRuntime(), Quiet())
    assert (again.ran, again.skipped) == (0, 6)


def test_a_page_without_space_gets_the_rows_alone(real: Real) -> None:
    dataset = task_of(real, "kepler").dataset
    shown = [PlottedAnswer("one", 0, ("366*a**1.5",), {})]
    for evaluations, pictures in ((0, 1), (10**6, 2)):
        html = real.plots(dataset, shown, PlotBudget(evaluations)).html
        assert html.count('<svg class="plot"') == pictures
