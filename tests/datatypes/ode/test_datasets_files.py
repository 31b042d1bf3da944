"""Trajectories of people's own: names, several of them, inputs, gaps, and a truth."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import add_method, number

from eqverdict import parse
from mdbench.cli import main
from mdbench.data.smoothing import smooth
from mdbench.data.trajectory import Trajectory, named_columns
from mdbench.datatypes.base import Answer, Background
from mdbench.datatypes.equations.selection import Increments
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.simulation import simulate
from mdbench.errors import DataError, UsageError
from mdbench.records import RecordStore
from mdbench.runs.catalog import Catalog
from mdbench.runs.reproduce import rescored

if TYPE_CHECKING:
    from mdbench.datatypes.equations.base import EquationTask
    from mdbench.datatypes.ode.datasets import OdeDataset
    from mdbench.workspace import Workspace

TIMES = np.linspace(0, 6, 60)
DECAY = {"a": 1.0, "b": 2.5, "c": 0.4}
"""Starts of x' = -0.7 x + v with v = t: x = c exp(-0.7 t) + (0.7 t - 1)/0.49."""


def decay(start: float) -> Any:
    special = (0.7 * TIMES - 1) / 0.49
    return (start - special[0]) * np.exp(-0.7 * TIMES) + special


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def driven(path: Path, runs: str = "abc") -> Path:
    rows = ["run;Zeit;Größe [m];Wind"]
    for run in runs:
        rows += [
            f"{run};{t!r};{x!r};{t!r}".replace(".", ",")
            for t, x in zip(TIMES.tolist(), decay(DECAY[run]).tolist(), strict=True)
        ]
    return write(path, rows)


OPTIONS = {"inputs": ["Wind"], "trajectory": "run"}
TRUE = "Grosse = -0.7*Grosse + Wind"


@pytest.fixture
def kind(tmp_path: Path) -> Ode:
    return Ode(tmp_path / "none", tmp_path / "cache")


def load(kind: Ode, path: Path, **options: Any) -> OdeDataset:
    return kind.source(path).load(
        path.stem, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options
    )


def task(kind: Ode, data: OdeDataset, view: str = "table") -> EquationTask[OdeDataset]:
    return kind.task(data, view, Protocol.STRICT)


def test_each_trajectory_is_cut_and_shown_by_itself(kind: Ode, tmp_path: Path) -> None:
    path = driven(tmp_path / "wind.csv")
    data = load(kind, path, **OPTIONS)
    assert kind.source(path).title("wind") == str(path)  # without options it cannot be read
    assert data.names == {"u0": "Grosse", "v0": "Wind"}
    assert data.measured_in == {"Grosse": "m"}
    assert data.titles == ("Zeit", "Größe [m]")
    made = task(kind, data, "trajectory")
    assert made.variables == ("u0", "v0")
    assert made.targets == ("u0_t",)
    assert made.needs == ("trajectories", "inputs")
    shown = made.refit.inputs
    np.testing.assert_array_equal(np.unique(shown["trajectory"]), [0, 1, 2])
    for place, start in enumerate(DECAY.values()):
        mine = shown["trajectory"] == place
        np.testing.assert_array_equal(shown["t"][mine], TIMES[1:47])
        np.testing.assert_array_equal(shown["measured"][mine, 0], decay(start)[1:47])
        np.testing.assert_array_equal(shown["inputs"][mine, 0], TIMES[1:47])
        np.testing.assert_allclose(
            made.refit.targets[mine, 0], TIMES[1:47] - 0.7 * decay(start)[1:47], atol=2e-3
        )
        test = made.test.inputs["trajectory"] == place
        np.testing.assert_array_equal(made.test.inputs["u"][test, 0], decay(start)[48:])
    table = task(kind, data)
    assert table.needs == ()
    np.testing.assert_array_equal(
        table.refit.inputs["X"], np.concatenate([shown["u"], shown["inputs"]], axis=1)
    )


def test_several_trajectories_weigh_by_their_samples() -> None:
    rng = np.random.default_rng(3)
    long, short = (
        Trajectory(TIMES[:n], (start * np.exp(-TIMES[:n]) + 0.01 * rng.standard_normal(n))[:, None])
        for n, start in ((60, 1.0), (24, 3.0))
    )
    curves = [smooth(one.t, one.u) for one in (long, short)]
    both = Increments.of(curves, [long, short])
    alone = [
        Increments.of([curve], [one]) for curve, one in zip(curves, (long, short), strict=True)
    ]
    law = parse("-1.3*u0", ["u0"])
    apart = [one.loss(law.evaluate(one.columns), 0) for one in alone]
    whole = [float(one.stretches[0].whole[0]) for one in alone]
    shares = [60 / 84, 24 / 84]
    wanted = sum(s * w * x for s, w, x in zip(shares, whole, apart, strict=True))
    wanted /= sum(s * w for s, w in zip(shares, whole, strict=True))
    assert both.loss(law.evaluate(both.columns), 0) == pytest.approx(wanted, rel=1e-12)
    true = parse("-u0", ["u0"])
    assert both.loss(true.evaluate(both.columns), 0) < 3 * both.floors[0]


def test_inputs_act_while_a_system_is_integrated() -> None:
    found = simulate(["-0.7*u0 + v0"], TIMES, decay(1.0)[:, None], inputs=TIMES[:, None])
    np.testing.assert_allclose(found.states[:, 0], decay(1.0), atol=1e-4)
    assert found.r2 == pytest.approx(1.0)


def test_a_truth_that_is_given_is_scored_and_found(kind: Ode, tmp_path: Path) -> None:
    path = driven(tmp_path / "wind.csv")
    data = load(kind, path, **OPTIONS, truth=TRUE)
    assert data.truth == ("-0.7*u0 + v0",)
    assert data.floor is not None
    assert data.floor < 1e-6
    made = task(kind, data)
    right = kind.read_answer(made, Answer(("v0 - 0.7*u0",)))
    scores = kind.score(made, right).metrics
    assert scores["identified"] == 1
    assert scores["follows"] == 1
    assert scores["nmse"] == pytest.approx(data.floor, rel=1e-6)
    wrong = kind.score(made, kind.read_answer(made, Answer(("v0 - 0.9*u0",)))).metrics
    assert wrong["identified"] == 0
    assert number(wrong["nmse"]) > 1e3 * data.floor
    assert load(kind, path, **OPTIONS).truth is None
    assert load(kind, path, **OPTIONS).fingerprint != data.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "-0.7*Grosse + Wind",
        "Größe' = Wind - 0.7*Grosse",
        "d Grosse/dt = Wind-0.7*Grosse",
        "Grosse_t = Wind - 7/10*Grosse;",
    ],
)
def test_a_truth_is_written_as_people_write_it(kind: Ode, tmp_path: Path, text: str) -> None:
    [read] = load(kind, driven(tmp_path / "w.csv", "a"), **OPTIONS, truth=text).truth or ("",)
    columns = {"u0": np.array([0.3, 2.0]), "v0": np.array([1.0, -1.0])}
    np.testing.assert_allclose(
        parse(read, columns).evaluate(columns), -0.7 * columns["u0"] + columns["v0"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": "Gross = 1"}, "there is no state 'Gross'.*Grosse"),
        ({"truth": "Grosse = 1; Grosse = 2"}, "two equations"),
        ({"truth": "Grosse = sun*2"}, "sun"),
        ({"truth": "1; 2"}, "Give an equation for each state"),
        ({"inputs": ["Wint"]}, "no column 'Wint'.*Wind"),
        ({"inputs": ["Zeit"]}, "'Zeit' is the time"),
        ({"inputs": ["Wind", "Größe"]}, "no column is left for the states"),
        ({"trajectory": "ran"}, "no column 'ran'.*run"),
    ],
)
def test_options_that_do_not_fit_say_what_does(
    kind: Ode, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = driven(tmp_path / "w.csv", "a")
    with pytest.raises((UsageError, DataError), match="(?s)" + message):
        load(kind, path, **OPTIONS | options)


def test_options_of_files_are_for_files(tmp_path: Path) -> None:
    own = Ode(Path(__file__).parents[3] / "datasets" / "ode", tmp_path)
    with pytest.raises(UsageError, match="--dataset-path"):
        own.source().load(
            "rc-circuit", snr_db=None, seed=0, protocol=Protocol.STRICT, options={"truth": "1"}
        )


def test_the_published_pipeline_knows_one_trajectory(kind: Ode, tmp_path: Path) -> None:
    data = load(kind, driven(tmp_path / "w.csv"), **OPTIONS)
    with pytest.raises(UsageError, match="no trajectories and no inputs"):
        kind.task(data, "table", Protocol.PUBLISHED)


BESIDE = """
schema = 1
title = "A weight on a spring"
states = ["place", "speed"]
[units]
place = "cm"
t = "s"
[truth]
place = "speed"
speed = "-place"
"""


def test_a_file_next_to_the_data_describes_them(kind: Ode, tmp_path: Path) -> None:
    t = np.linspace(0, 9, 90)
    u = np.stack([np.sin(t), np.cos(t)], axis=1)
    np.savez(tmp_path / "spring.npz", t=t, u=u, du=np.stack([np.cos(t), -np.sin(t)], axis=1))
    path = tmp_path / "spring.npz"
    bare = load(kind, path)
    assert bare.names == {}
    (tmp_path / "spring.toml").write_text(BESIDE)
    data = load(kind, path)
    assert data.names == {"u0": "place", "u1": "speed"}
    assert data.truth == ("u1", "-u0")
    assert data.measured_in == {"place": "cm", "t": "s"}
    assert data.fingerprint != bare.fingerprint
    assert known_floor(data) < 1e-12
    assert kind.source(path).title("spring").startswith("A weight on a spring: ")


def known_floor(data: OdeDataset) -> float:
    assert data.floor is not None
    return data.floor


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 2", "schema"),
        ("schema = 1\nstats = []", "stats"),
        ("schema = 1\nstates = ['place']", "names 1; u has 2"),
        ("schema = 1\n[units]\nplase = 'm'", "units.plase"),
        ("schema = 1\nstates = ['place', 'speed']\n[truth]\nplace = 'speed'", "speed has no eq"),
        ("schema = ", "no valid TOML"),
        ("schema = 1\nmissing = 'drop'", "has no columns"),
    ],
)
def test_a_bad_file_next_to_the_data_is_refused(
    kind: Ode, tmp_path: Path, text: str, message: str
) -> None:
    t = np.linspace(0, 9, 30)
    u = np.stack([t, t], axis=1)
    np.savez(tmp_path / "spring.npz", t=t, u=u, du=u)
    (tmp_path / "spring.toml").write_text(text)
    with pytest.raises((DataError, UsageError), match=message):
        load(kind, tmp_path / "spring.npz")


@pytest.fixture
def workspace(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("COLUMNS", "200")
    return command_line


SUM = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.names = problem.variables
        assert "prey" not in self.names
    def predict(self, problem):
        return np.stack([problem.X[:, 0] - problem.X[:, 1]] * 2, axis=1)
    def equations(self):
        return ["u0 - u1", "u0 - u1"]
"""


def test_the_record_speaks_of_what_was_measured(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["day,prey [1000],hunter"]
    rows += [f"{t!r},{float(np.sin(t))!r},{float(np.cos(t))!r}" for t in map(float, TIMES)]
    file = write(Path("mine.csv"), rows)
    add_method(workspace, "sum", SUM)
    told = ["--truth", "prey = hunter; hunter = -prey"]
    line = ["--algorithm", "sum", "--data-type", "ode", "--dataset-path", str(file)]
    assert main(["run", *line, *told]) == 0
    assert "prey - hunter" in capsys.readouterr().out
    [record] = RecordStore(Path("results/sum-ode.jsonl")).read()
    assert record.status == "ok", record.reason
    assert record.equations == ("prey - hunter", "prey - hunter")
    assert record.targets == ("prey_t", "hunter_t")
    assert record.truth == ("hunter", "-prey")
    assert record.names == {"u0": "prey", "u1": "hunter"}
    assert record.measured_in == {"prey": "1000"}
    told_of_it = json.dumps(record.notes)
    assert "u0" not in told_of_it
    assert "prey_t: prey" in told_of_it
    again = rescored(record, Catalog(workspace))
    assert (again.left, again.changes) == ("", {})
    assert again.after.equations == record.equations
    assert main(["report", "results", "--out", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "prey [1000]" in page
    assert "Measurements in grey" in page


def test_what_smoothing_had_to_give_up_is_shown_and_recorded(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five times 1e-12 apart, then a pause: no spline that passes them all is any good between."""
    times = [start / 4 + step * 1e-12 for start in range(20) for step in range(5)]
    rows = ["t,swing,drift", *(f"{t!r},{np.sin(2 * t).item()!r},{1.5 + t!r}" for t in times)]
    add_method(workspace, "sum", SUM)
    line = ["--algorithm", "sum", "--data-type", "ode", "--n-jobs", "1"]
    assert main(["run", *line, "--dataset-path", str(write(Path("bursts.csv"), rows))]) == 0
    told = " ".join(capsys.readouterr().out.split())
    remark = "swing: smoothing failed its check against the samples; finite differences were used"
    assert f"bursts: {remark}" in told
    [record] = RecordStore(Path("results/sum-ode.jsonl")).read()
    assert record.notes["data"][0] == remark
    assert main(["report", "results", "--out", "page.html"]) == 0
    assert remark in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["", "folder"])
def test_a_file_whose_name_is_no_text_is_refused_before_the_run(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    add_method(workspace, "sum", SUM)
    path = Path(place, os.fsdecode(b"gr\xf6\xdf.csv"))
    path.parent.mkdir(exist_ok=True)
    try:
        write(path, ["t,x", *(f"{i},{i * i}" for i in range(60))])
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    line = ["--algorithm", "sum", "--data-type", "ode", "--dataset-path", place or str(path)]
    assert main(["run", *line]) == 2
    assert "is no text in UTF-8.\n  Rename the file" in capsys.readouterr().err


@pytest.mark.parametrize("derivatives", ["smooth", "fd"])
def test_no_method_is_run_on_what_is_no_number(workspace: Workspace, derivatives: str) -> None:
    rows = ["t,x,y", *(f"{i * 1e-290!r},{1e149 * np.sin(i / 5).item()!r},{i}" for i in range(60))]
    add_method(workspace, "sum", SUM)
    line = ["--algorithm", "sum", "--data-type", "ode", "--derivatives", derivatives]
    main(["run", *line, "--dataset-path", str(write(Path("huge.csv"), rows))])
    [record] = RecordStore(Path("results/sum-ode.jsonl")).read()
    assert record.status == "unsupported"
    assert "cannot be computed from these data as finite numbers" in record.reason
    assert record.equations is None


@pytest.mark.parametrize("n", [500, 501, 502, 510, 525, 531, 550])
def test_the_derivatives_of_a_clean_rotation_are_right_at_any_length(
    kind: Ode, tmp_path: Path, n: int
) -> None:
    """Four fifths of 501 to 531 samples once had derivatives of up to 1e57."""
    t = np.linspace(0, 10, n)
    fall = np.exp(-0.05 * t)
    x, y = fall * np.cos(2 * t), fall * np.sin(2 * t)
    rows = [
        f"{a!r},{b!r},{c!r}" for a, b, c in zip(*map(np.ndarray.tolist, (t, x, y)), strict=True)
    ]
    cut = task(kind, load(kind, write(tmp_path / "turn.csv", ["t,x,y", *rows])))
    states, rates = cut.refit.inputs["X"], cut.refit.targets
    assert cut.remarks == ()
    np.testing.assert_allclose(rates[:, 0], -0.05 * states[:, 0] - 2 * states[:, 1], atol=1e-5)
    np.testing.assert_allclose(rates[:, 1], 2 * states[:, 0] - 0.05 * states[:, 1], atol=1e-5)


def test_columns_are_those_that_equations_are_evaluated_on() -> None:
    series = Trajectory(TIMES, TIMES[:, None], inputs=-TIMES[:, None])
    assert list(named_columns(series)) == ["u0", "v0"]
    np.testing.assert_array_equal(named_columns(series)["v0"], -TIMES)


@pytest.mark.extension("language_models")
def test_a_prompt_that_may_show_names_shows_the_users(kind: Ode, tmp_path: Path) -> None:
    from mdbench.extensions.language_models.views import prompt_view  # noqa: PLC0415 - it may be taken away

    made = task(kind, load(kind, driven(tmp_path / "wind.csv"), **OPTIONS))
    view = prompt_view("named", made, Background(), 0)
    assert view.variables == ("Grosse", "Wind")
    assert view.targets == ("Grosse_t",)
    assert "- Grosse [m]" in (view.description or "")
    assert prompt_view("anon", made, Background(), 0).variables == ("x0", "x1")
