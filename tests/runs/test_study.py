"""Study files: the same as what is typed."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute
from hypothesis import given
from hypothesis import strategies as st

import mdbench
from mdbench import api
from mdbench.cli import main, run
from mdbench.errors import MdbenchError, UsageError
from mdbench.records import RecordStore, comparable, read_latest
from mdbench.reports.entries import studies
from mdbench.runs.options import typed_fields
from mdbench.runs.plan import make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import RunOptions, Study, study_text

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

Output = pytest.CaptureFixture[str]
TWO = """
schema = 1
dataset = "rc-circuit"
seeds = "0,2-3"
n_jobs = 1
[[grid]]
algorithm = ["zero"]
data_type = "ode"
snr = ["clean", 25]
[[grid]]
algorithm = "zero,nil"
data_type = "ode"
seeds = 0
"""


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    add_method(command_line, "zero")
    add_method(command_line, "nil")
    return command_line


def written(text: str, name: str = "study.toml") -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


@pytest.mark.usefixtures("workspace")
def test_grids_are_command_lines_and_a_job_is_asked_for_once(workspace: Workspace) -> None:
    study = Study.read(written(TWO))
    plan = make_plan(study, workspace)
    asked = [(job.algorithm, job.snr_db, job.seed) for job in plan.jobs]
    first = [("zero", snr, seed) for snr in (None, 25.0) for seed in (0, 2, 3)]
    assert asked == [*first, ("nil", None, 0)]  # zero, clean, 0 is in both grids
    assert {job.study for job in plan.jobs} == {study.sha256}
    assert study.sha256 == hashlib.sha256(Path("study.toml").read_bytes()).hexdigest()
    assert plan.n_jobs == 1


@pytest.mark.usefixtures("workspace")
def test_several_data_types_have_a_file_each(workspace: Workspace) -> None:
    toml = workspace.algorithms / "zero" / "method.toml"
    toml.write_text(toml.read_text("utf-8").replace('["ode"]', '["ode", "pde"]'), "utf-8")
    grids = '[[grid]]\ndata_type="ode"\ndataset="rc-circuit"\n[[grid]]\ndata_type="pde"\n'
    plan = make_plan(Study.read(written(f'schema=1\nalgorithm="zero"\n{grids}')), workspace)
    assert list(plan.files) == ["zero-ode", "zero-pde"]
    assert {job.data_type for job in plan.jobs} == {"ode", "pde"}


def test_the_hash_is_in_the_records_and_in_the_report(workspace: Workspace, capsys: Output) -> None:
    study = Study.read(written(TWO))
    plan = make_plan(study, workspace)
    records = execute(plan, HereRuntime(), Quiet()).records
    assert {record.study for record in records} == {study.sha256}
    assert [JobSpec.of(record) for record in records] == list(plan.jobs)
    found = read_latest(Path("results"))
    assert studies(found) == [(study.sha256, 7)]
    assert main(["report", "results", "--text"]) == 0
    assert f"7 results of the study with SHA-256 {study.sha256}" in capsys.readouterr().out
    assert main(["report", "results"]) == 0
    assert f"<dd>{study.sha256}</dd>" in Path("report.html").read_text("utf-8")


def test_a_study_does_nothing_that_a_command_line_has_done(workspace: Workspace) -> None:
    line = RunOptions(("zero",), "ode", ("rc-circuit",))
    (typed,) = execute(make_plan(line, workspace), HereRuntime(), Quiet()).records
    text = 'schema=1\nalgorithm="zero"\ndata_type="ode"\ndataset="rc-circuit"\nseeds=[0,1]'
    summary = execute(make_plan(Study.read(written(text)), workspace), HereRuntime(), Quiet())
    assert (summary.ran, summary.skipped) == (1, 1)
    assert [one.study is None for one in summary.records] == [True, False]
    assert comparable(summary.records[0]) == comparable(typed)
    assert len(studies(read_latest(Path("results")))) == 2


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "schema is None"),
        ("schema = 2", "schema is 2"),
        ("schema = true", "schema is True"),
        ("schema = 1", "--algorithm is missing"),
        ("schema = ", "no TOML"),
        ("schema = 1\ngrid = 3", "no list of tables"),
        ("schema = 1\ngrid = []", "no list of tables"),
        (f"schema = 1\na = {'[' * 9999}", "no TOML"),
        ("schema = 1\n[[grid]]\nn_jobs = 2", "n_jobs is in grid 1"),
        ("schema = 1\nstudy = 'other.toml'", "cannot ask for another"),
        ("schema = 1\ndata-type = 'ode'", "Write data_type"),
        ("schema = 1\nwith_noise = 'no'", "with_noise is 'no'"),
        ('schema = 1\nalgorithm = "zero"\ndata_type = "ode"\nresult_dir = "a\\u0000b"', "no NUL"),
        ('schema = 1\nalgorithm = "zero"\ndata_type = "ode"\ndataset_path = "\\u0000"', "no NUL"),
        ("schema = 1\ntimeout = [1]", "timeout is [1]"),
        ("schema = 1\nchoice = []", "choice is []"),
        ("schema = 1\nderivatives = [['fd']]", "derivatives is [['fd']]"),
        ("schema = 1\nderivatives = ['fd', 'fd']", "derivatives is ['fd', 'fd']"),
        ("schema = 1\ndata_type = ['ode', 'pde']", "data_type is ['ode', 'pde']"),
        ("schema = 1\ntimeout = true", "timeout is True"),
        ("schema = 1\ntimeout = nan", "--timeout is 'nan'"),
        ("schema = 1\nalgorithm = []", "algorithm is []"),
        ("schema = 1\nalgorithm = [['zero']]", "algorithm is [['zero']]"),
        ("schema = 1\ntimeout = 2020-01-01", "timeout is datetime"),
        ("schema = 1\nthreads = 0", "--threads is '0'"),
        ("schema = 1\nmemory = '1M'", "--memory is '1M'"),
        ("schema = 1\nalgorithm = 'zero'\ndata_type = 'ode'\nseeds = '3-1'", "The seeds '3-1'"),
        ("schema = 1\nprotocol = 'lax'", "--protocol is 'lax'"),
        ("schema = 1\nalgorithm = 'zer'\ndata_type = 'ode'", "no method 'zer'"),
        ("schema = 1\nalgorithm = 'zero'\ndata_type = 'od'", "no data type 'od'"),
        ("schema = 1\nalgorithm = 'zero'\ndata_type = 'ode'\ncolour = 'red'", "'--colour'"),
        ("schema = 1\nalgorithm = 'zero'\ndata_type = 'ode'\ndataset = 'x'", "--dataset 'x'"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(text: str, says: str, workspace: Workspace) -> None:
    path = written(text)
    with pytest.raises(MdbenchError) as caught:
        make_plan(Study.read(path), workspace)
    assert caught.value.message.startswith("study.toml")
    assert says in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.usefixtures("workspace")
def test_the_grid_is_named() -> None:
    text = TWO.replace('"zero,nil"', '"zero"\ntimeout = -1')
    with pytest.raises(UsageError, match=r"^study.toml, grid 2: --timeout is '-1'"):
        Study.read(written(text))


FACTORS = """
schema = 1
dataset = "rc-circuit"
protocol = ["strict", "published"]
[[grid]]
algorithm = "zero"
data_type = "ode"
derivatives = ["fd", "smooth", "exact"]
choice = ["own", "benchmark"]
[[grid]]
algorithm = "nil"
data_type = "ode"
"""


@pytest.mark.usefixtures("workspace")
def test_a_list_of_columns_is_one_value() -> None:
    text = FACTORS.replace('["fd", "smooth", "exact"]', '"fd"').replace(
        'choice = ["own", "benchmark"]', 'states = ["a", "b"]\nna_values = [-9999, "ND"]'
    )
    study = Study.read(written(text.replace('["strict", "published"]', '"strict"')))
    assert len(study.grids) == 2
    assert {"--states=a,b", "--na-values=-9999,ND"} <= set(study.grids[0].special)


def test_a_list_for_one_value_is_a_grid_for_each(workspace: Workspace) -> None:
    study = Study.read(written(FACTORS))
    asked = [
        (job.protocol, job.options.get("derivatives"), str(job.choice))
        for job in make_plan(study, workspace).jobs
    ]
    assert len(asked) == 2 * 3 * 2 + 2
    product = {
        (p, d, c)
        for p in ("strict", "published")
        for d in ("fd", "smooth", "exact")
        for c in ("own", "benchmark")
    }
    assert set(asked[:12]) == product
    assert study.numbers == (1,) * 12 + (2,) * 2
    with pytest.raises(UsageError, match=r"^study.toml, grid 2: "):
        make_plan(Study.read(written(FACTORS.replace('"nil"', '"nul"'))), workspace)


@pytest.mark.usefixtures("workspace")
def test_files_that_are_none() -> None:
    Path("folder").mkdir()
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    Path("big.toml").write_bytes(b"#" * 2**21)
    for name in ("folder", "nowhere.toml", "bytes.toml", "big.toml", "a\0b"):
        with pytest.raises(UsageError):
            Study.read(Path(name))


@pytest.mark.usefixtures("workspace")
def test_only_options_of_the_whole_run_may_be_added(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(written(TWO))
    for option, (declared, _) in typed_fields(RunOptions).items():
        value = [declared.name, "1"] if declared.metavar else [declared.name]
        if not declared.of_run:
            assert main(["plan", "--study", path, *value]) == 2, option
            assert f"{declared.name} was given with --study" in capsys.readouterr().err
    assert main(["plan", "--study", path, "--derivatives=fd"]) == 2
    assert "--derivatives=fd was given with --study" in capsys.readouterr().err
    beside = Study.read(Path(path), {"n_jobs": "3", "result_dir": "else"}).whole
    assert (beside.n_jobs, beside.result_dir) == (3, Path("else"))
    monkeypatch.setenv("MDBENCH_RUNTIME", "docker")  # is said where nobody says anything
    assert Study.read(Path(path)).whole.runtime == "docker"
    assert Study.read(written(f"runtime = 'venv'\n{TWO}")).whole.runtime == "venv"


LINES = [
    ["--dataset", "rc-circuit", "--snr", "clean", "40", "--seeds", "0-2,7", "--timeout", "60"],
    ["--with-noise", "--seed", "3", "--memory", "1.5G", "--save-pareto", "--threads", "2"],
    ["--derivatives", "fd", "--rerun", "timeout,failed", "--n-jobs=-1", "--fresh-sandbox"],
    ["--dataset", "rc*", "--runtime", "venv", "--require", "network=hard", "--snr", "-1e1"],
]


@pytest.mark.parametrize("line", LINES)
def test_init_writes_what_asks_for_the_same(
    line: list[str], workspace: Workspace, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Study] = []
    monkeypatch.setattr(run, "run_study", lambda study, **_: seen.append(study))
    words = ["--algorithm", "zero", "nil", "--data-type", "ode", *line]
    main(["run", *words])
    assert main(["study", "--init", "made.toml", *words]) == 0
    main(["run", "--study", "made.toml"])
    assert "Wrote made.toml" in capsys.readouterr().out
    typed, read = (make_plan(one, workspace) for one in seen)
    assert [vars(job) | {"study": None} for job in read.jobs] == [vars(job) for job in typed.jobs]
    assert (read.n_jobs, read.rerun, read.fresh_sandbox) == (
        *(typed.n_jobs, typed.rerun, typed.fresh_sandbox),
    )
    assert seen[0].whole.require == seen[1].whole.require
    assert main(["study", "--study", "made.toml"]) == 0
    assert f"{len(typed.jobs)} jobs, study {seen[1].sha256}" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_init_writes_nothing_that_would_not_run() -> None:
    words = ["--algorithm", "zero", "--data-type", "ode"]
    for wrong in (["--dataset", "x"], ["--colour", "red"], ["--timeout", "0"]):
        assert main(["study", "--init", "made.toml", *words, *wrong]) == 2
    assert main(["study", *words]) == 2
    assert main(["study", "--init", "a.toml", "--study", "b.toml"]) == 2
    assert not list(Path().glob("*.toml"))
    Path("made.toml").write_text("mine", encoding="utf-8")
    assert main(["study", "--init", "made.toml", *words]) == 2
    assert Path("made.toml").read_text("utf-8") == "mine"
    assert main(["study", "--init", "nowhere/made.toml", *words]) == 0  # folders are made


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1))
def test_any_text_comes_back(texts: list[str]) -> None:
    back = tomllib.loads(study_text({"dataset": texts, "data_type": texts[0]}))
    assert [str(one) for one in back["dataset"]] == texts
    assert str(back["data_type"]) == texts[0]


def test_from_python(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "open_runtime", lambda *_, **__: HereRuntime())
    table: Any = mdbench.run(study=written(TWO), n_jobs=2)
    assert len(table) == 7
    assert table["study"].nunique() == 1
    with pytest.raises(UsageError, match="--seed was given with --study"):
        mdbench.run(study="study.toml", seed=1)
    with pytest.raises(UsageError, match="--algorithm is missing"):
        mdbench.run()
    assert len(RecordStore(workspace.root.parent / "results" / "nil-ode.jsonl").read()) == 1
