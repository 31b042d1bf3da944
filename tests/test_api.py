"""What a notebook calls."""

from __future__ import annotations

import doctest
import lzma
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from harness import ROOT, HereRuntime, add_method

import mdbench
from mdbench import datatypes
from mdbench.api import Comparison
from mdbench.data.python_objects import write_data
from mdbench.doors import PYTHON
from mdbench.errors import DataError, EquationError, MdbenchError, UsageError
from mdbench.records import RecordStore
from mdbench.records.files import PACKED
from mdbench.runtimes import venv
from mdbench.startup import common_kernels

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

HEAVY = {"jinja2", "mdbench.api", "numpy", "pandas", "pydantic", "rich", "scipy", "sympy", "typer"}
NEVER_AT_ONCE = {
    "docker",
    "findiff",
    "jinja2",
    "mpmath",
    "pandas",
    "pint",
    "scipy",
    "skfem",
    "sympy",
}
"""Packages that neither a help nor a list needs, nor a run in which nothing is to be done."""
FOR_FEW = (
    *("derivations", "drawing.trajectories", "language_models", "datatypes.derivation."),
    *("datatypes.real.", "datatypes.surface."),
)
"""Packages that only some runs need."""
SAID_OF_ALL = {"mdbench.extensions.language_models"}
"""What the options of every run are declared with."""


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    add_method(command_line, "zero")
    add_method(command_line, "broken", "raise RuntimeError('no')")
    return command_line


def test_importing_costs_next_to_nothing() -> None:
    code = "import sys, mdbench; print(mdbench.__version__, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert done[0] == mdbench.__version__
    assert not HEAVY & set(done)
    # The variables that NumPy reads when it is loaded have to be set before somebody does so.
    ours = {name for name in done[1:] if name.startswith("mdbench")}
    assert ours == {"mdbench", "mdbench.startup"}


def imported(*line: str, before: str = "") -> set[str]:
    """Return all that a command imports, in a process of its own."""
    code = (
        f"import sys\n{before}\nfrom mdbench.cli import main\n"
        f"assert main({list(line)!r}) == 0\nprint('imported:', *sys.modules)\n"
    )
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | path,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.rpartition("imported:")[2].split())


def modules_of(names: set[str], *packages: str) -> set[str]:
    """Return the modules of some packages, but for those that all need."""
    starts = tuple(f"mdbench.{package}" for package in packages)
    return {name for name in names if name.startswith(starts)} - SAID_OF_ALL


@pytest.mark.parametrize(
    "line", [["--help"], ["--version"], ["run", "--help"], ["list"], ["list", "--data-type", "pde"]]
)
def test_a_help_and_a_list_import_nothing_heavy(line: list[str]) -> None:
    found = imported(*line)
    assert not found & (NEVER_AT_ONCE | {"numpy", "flint"})
    facts = {f"mdbench.datatypes.{name}" for name in datatypes.names()}
    assert not modules_of(found - facts, *FOR_FEW, "expressions", "reports", "runtimes.docker")
    types = {f"mdbench.datatypes.{name}.data_type" for name in datatypes.names()}
    assert types
    assert not found & {*types, "mdbench.datatypes.base"}


@pytest.mark.usefixtures("workspace")
def test_a_run_with_nothing_to_do_imports_only_its_data_type() -> None:
    mdbench.run("zero", "ode", dataset="rc-circuit", n_jobs=1)
    here = (
        "from harness import HereRuntime\nfrom mdbench.runtimes import venv\n"
        "venv.VenvRuntime = lambda *_, **__: HereRuntime()"
    )
    line = ["--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit", "--n-jobs=1"]
    found = imported("run", *line, before=here)
    assert "mdbench.datatypes.ode.data_type" in found
    others = {f"mdbench.datatypes.{name}.data_type" for name in datatypes.names() if name != "ode"}
    assert not found & (NEVER_AT_ONCE | others)
    light = {f"mdbench.extensions.language_models.{name}" for name in ("availability", "views")}
    assert modules_of(found, *FOR_FEW) <= light


def test_python_computes_as_the_command_line() -> None:
    code = "import os, mdbench; mdbench.run; print(*map(os.environ.get, {names!r}))"
    wanted = {**dict.fromkeys(["OPENBLAS_NUM_THREADS"], "1"), **common_kernels()}
    plain = {name: value for name, value in os.environ.items() if name not in wanted}
    for given in ({}, {"OPENBLAS_NUM_THREADS": "7"}):  # what somebody has set counts
        done = subprocess.run(
            [sys.executable, "-c", code.format(names=list(wanted))],
            capture_output=True,
            text=True,
            check=True,
            env={**plain, "PYTHONPATH": str(ROOT), **given},
        )
        assert done.stdout.strip() == " ".join({**wanted, **given}.values())


def test_names_are_found_on_first_use() -> None:
    assert callable(mdbench.run)
    with pytest.raises(AttributeError, match="no attribute 'sing'"):
        _ = mdbench.sing


@pytest.mark.usefixtures("workspace")
def test_run_and_load_give_the_same_typed_table() -> None:
    said: list[str] = []
    table = mdbench.run(
        ["zero", "broken"],
        "ode",
        dataset=["rc-circuit", "autocatalysis"],
        snr=["clean", 20],
        memory="4G",
        n_jobs=1,
        say=said.append,
    )
    assert list(table["algorithm"]) == ["zero"] * 4 + ["broken"] * 4
    assert list(table["status"]) == ["ok"] * 4 + ["failed"] * 4
    assert list(table["dataset"][:2]) == ["rc-circuit", "autocatalysis"]
    kinds = {
        "algorithm": "string",
        "status": "string",
        "log": "string",
        "seed": "Int64",
        "snr_db": "Float64",
        "nmse": "Float64",
        "complexity": "Float64",
        "floor": "Float64",
        "budget.memory_mb": "Int64",
        "measured.wall_s": "Float64",
        "measured.started": "datetime64[us, UTC]",
        "equations": "object",
    }
    assert {name: str(table[name].dtype) for name in kinds} == kinds
    assert table["nmse"].isna().tolist() == [False] * 4 + [True] * 4
    assert table["snr_db"].isna().tolist() == [True, True, False, False] * 2
    assert table["equations"][0] == ("0",)
    assert table.loc[0, "runtime"] == "venv"
    assert said[0] == "8 jobs to run; 0 with a record already."
    assert "zero · rc-circuit · clean · seed 0  finished" in said

    loaded = mdbench.load("results")
    assert len(loaded) == 8
    pd.testing.assert_frame_equal(
        loaded[loaded["algorithm"] == "zero"].reset_index(drop=True),
        table[:4],
        check_like=True,
    )
    assert len(mdbench.load(Path("results/zero-ode.jsonl"))) == 4
    medians = loaded.groupby("algorithm")["nmse"].median()
    assert medians["zero"] == pytest.approx(1.0, abs=0.1)
    assert pd.isna(medians["broken"])


@pytest.mark.usefixtures("workspace")
def test_options_are_those_of_the_command_line() -> None:
    table = mdbench.run("zero", "ode", dataset="rc-circuit", seeds="0-1", timeout=9, threads=2)
    assert table["seed"].tolist() == [0, 1]
    assert table["budget.timeout_s"].tolist() == [9.0, 9.0]
    (first, _) = RecordStore(Path("results/zero-ode.jsonl")).read()
    assert first.budget.threads == 2
    for options, words in (
        ({"timeout": "soon"}, "--timeout is 'soon'"),
        ({"max_rows": 5}, "'--max-rows' is no option of a run, nor of the data type ode"),
        ({"dataset": "rc-circus"}, "Did you mean rc-circuit"),
    ):
        with pytest.raises(UsageError, match=words):
            mdbench.run("zero", "ode", **options)


def test_nothing_to_load(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no results"):
        mdbench.load(tmp_path)


def test_equations_are_compared() -> None:
    found = mdbench.compare("x0*sin(x1)", "x0*sin(x1) + 1")
    assert isinstance(found, Comparison)
    assert (found.solution, found.srbench_solution) == (True, True)
    assert (found.complexity, found.true_complexity) == (6, 4)
    assert found.normalized_edit_distance == pytest.approx(0.5)
    assert found.reasons["solution"] == "constant difference"
    assert mdbench.compare("x0", "x0 +").complexity is None
    assert mdbench.compare("x", "x + y", columns=["x", "y"]).solution is False
    with pytest.raises(EquationError):
        mdbench.compare("x0 +", "x0")


@pytest.mark.usefixtures("workspace")
def test_a_dataset_is_shown_as_methods_see_it() -> None:
    clean = mdbench.dataset("harmonic-oscillator", "ode")
    noisy = mdbench.dataset("harmonic-oscillator", "ode", snr=20, seed=3)
    assert (clean.dim, len(clean.truth or ())) == (2, 2)
    assert clean.views == ("table", "trajectory")
    table = clean["table"]
    assert (table.variables, table.targets) == (("u0", "u1"), ("u0_t", "u1_t"))
    assert {name: a.shape for name, a in table.train.items()} == {"X": (118, 2), "Y": (118, 2)}
    assert [len(part["X"]) for part in (table.validation, table.refit, table.test)] == [
        118,
        118,
        30,
    ]
    assert np.array_equal(noisy["table"].test["Y"], table.test["Y"])
    assert not np.array_equal(noisy["table"].train["X"], table.train["X"])
    assert set(clean["trajectory"].refit) >= {"t", "u", "du"}
    with pytest.raises(UsageError, match="Did you mean table"):
        clean["tabel"]
    with pytest.raises(UsageError, match="Did you mean rc-circuit"):
        mdbench.dataset("rc-circus", "ode")
    with pytest.raises(UsageError, match="'--variant' is no option"):
        mdbench.dataset("rc-circuit", "ode", variant="released")


@pytest.mark.usefixtures("workspace")
def test_options_of_a_data_type_make_another_dataset() -> None:
    data = mdbench.dataset("feynman-i.12.1", "srsd", dummy_columns=True)
    assert data.name == "feynman-i.12.1+dummy"
    (view,) = data.views
    assert len(data[view].variables) > 2


@pytest.mark.parametrize("snr", [None, "clean"])
def test_a_clean_dataset_has_two_names(snr: str | None) -> None:
    data = mdbench.dataset("rc-circuit", "ode", snr=snr)
    assert data.snr_db is None
    sent = pickle.loads(pickle.dumps(data))
    assert np.array_equal(sent["table"].test["X"], data["table"].test["X"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"snr": [40]}, "snr is [40]"),
        ({"snr": "forty"}, "snr is 'forty'"),
        ({"snr": float("nan")}, "snr is nan"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": "0"}, "seed is '0'"),
        ({"protocol": "stricter"}, "protocol is 'stricter'"),
    ],
)
def test_what_no_dataset_has_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        mdbench.dataset("rc-circuit", "ode", **given)


def test_one_part_of_a_table_is_a_dataset() -> None:
    folds: list[dict[str, Any]] = [{}, {"fold": 1}, {"fold": 2}]
    parts = [mdbench.dataset("kepler", "real", **fold) for fold in folds]
    default, first, second = (part["table"].test["X"] for part in parts)
    assert np.array_equal(default, first)
    assert not np.array_equal(default, second)
    with pytest.raises(UsageError, match=r"kepler is 2 datasets") as caught:
        mdbench.dataset("kepler", "real", fold=[1, 2])
    assert caught.value.hint == "Give one value to each option: fold=..."
    with pytest.raises(UsageError, match=r"is 2 datasets"):
        mdbench.dataset("rc-circuit", "ode", sweep="samples=20,50")


@pytest.mark.parametrize("folder", [5, ["a", "b"], None])
def test_what_is_no_folder_is_refused(folder: Any) -> None:
    with pytest.raises(UsageError, match="folder is "):
        mdbench.load(folder)


def test_results_are_loaded_packed_and_without_logs(tmp_path: Path) -> None:
    line = (ROOT / "tests" / "golden" / "records" / "schema-1.jsonl").read_bytes()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "asked.jsonl").write_text('{"model": "no record"}\n')
    (tmp_path / f"a{PACKED}").write_bytes(lzma.compress(line))
    packed = mdbench.load(tmp_path)
    (tmp_path / f"a{PACKED}").unlink()
    (tmp_path / "a.jsonl").write_bytes(line)
    plain = mdbench.load(tmp_path)
    assert packed["key"].tolist() == plain["key"].tolist() != []


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_times_of_single_precision_that_lost_their_steps_are_refused(
    tmp_path: Path, kind: Any
) -> None:
    t = (1000 + 0.001 * np.arange(100)).astype(kind)
    path = write_data({"t": t, "x": np.arange(100.0)}, tmp_path, "mine")
    with pytest.raises(DataError, match=r"rounded|Times have to increase"):
        mdbench.dataset("mine", "ode", dataset_path=path)


def test_the_page_of_examples_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDBENCH_ROOT", str(ROOT))
    monkeypatch.setenv("MDBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MDBENCH_RUNTIME", "venv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(venv, "VenvRuntime", lambda *_, **__: HereRuntime())
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert len(re.findall("^```pycon$", text, re.MULTILINE)) * 2 == text.count("```")
    plain = re.sub("^```.*$", "", text, flags=re.MULTILINE)
    page = doctest.DocTestParser().get_doctest(plain, {}, "python.md", "python.md", 0)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    doctest.DocTestRunner(optionflags=flags).run(page, out=said.append)
    assert not said, "".join(said)
    assert len(page.examples) > 25


DECAY = {"t": np.linspace(0, 5, 60), "x": np.exp(-np.linspace(0, 5, 60))}


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("given", "columns"),
    [
        (DECAY, ["t", "x"]),
        (pd.DataFrame(DECAY), ["t", "x"]),
        (pd.DataFrame(DECAY).set_index("t"), ["t", "x"]),
        ((DECAY["t"], DECAY["x"]), ["t", "u0"]),
        ([DECAY["t"], np.stack([DECAY["x"]] * 2, axis=1)], ["t", "u0", "u1"]),
        (np.stack([DECAY["t"], DECAY["x"]], axis=1), ["t", "u0"]),
        ({name: list(values) for name, values in DECAY.items()}, ["t", "x"]),
        (pd.Series(DECAY["x"], index=DECAY["t"]), ["t", "x"]),
        (pd.Series(DECAY["x"], pd.Index(DECAY["t"], name="t"), name="y"), ["t", "y"]),
        ((pd.Series(DECAY["t"]), pd.Series(DECAY["x"])), ["t", "u0"]),
    ],
)
def test_data_of_a_notebook_are_run_once(tmp_path: Path, given: Any, columns: list[str]) -> None:
    lines: list[str] = []
    for _ in range(2):
        table = mdbench.run(
            "zero", "ode", data=given, name="mine", result_dir=str(tmp_path), say=lines.append
        )
        assert table["dataset"].tolist() == ["mine"]
        assert table["status"].tolist() == ["ok"]
    written = pd.read_csv(tmp_path / "mine.csv")
    assert list(written.columns) == columns
    assert np.array_equal(written["t"], DECAY["t"])  # every digit
    assert "0 jobs to run; 1 with a record already." in lines


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1, 2, 3], "3 parts"),
        ("decay.csv", "1 part,"),
        (5, "not iterable"),
        ({"t": [1, 2], "x": [1]}, "same length"),
        ((np.zeros(5), np.zeros((4, 2))), r"shape \(5,\), the states \(4, 2\)"),
        ((np.zeros(5), np.zeros((5, 2, 2))), "states"),
        (pd.DataFrame(), "no rows"),
        ({}, "no rows"),
        (pd.Series(DECAY["x"]), "times in its index"),
        (pd.DataFrame(DECAY).sample(frac=1, random_state=0), "index has no name"),
        (pd.DataFrame(DECAY)[::2].set_index(pd.Index(["a"] * 30)), "index has no name"),
        (pd.DataFrame(np.ones((9, 2)), columns=[["a", "b"], ["t", "x"]]), "several levels"),
        ({"t": DECAY["t"], 1: DECAY["x"], "1": DECAY["x"]}, "two columns"),
        ({"t": DECAY["t"], "x": DECAY["x"].reshape(30, 2)}, "one value for each time"),
        ((DECAY["t"].reshape(30, 2), DECAY["x"]), "one value for each time"),
    ],
)
def test_data_that_are_no_table_are_refused_in_two_lines(given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        mdbench.run("zero", "ode", data=given)
    assert str(error.value).count("\n") == 1
    assert "DataFrame" in error.value.hint
    assert not Path("results").exists()


@pytest.mark.usefixtures("workspace")
def test_a_list_of_tables_is_runs_of_one_experiment(tmp_path: Path) -> None:
    table = pd.DataFrame(DECAY)
    runs = [table, table.assign(x=2 * table["x"]), DECAY]
    mdbench.run("zero", "ode", data=runs, name="runs", result_dir=str(tmp_path), say=len)
    data = mdbench.dataset("runs", "ode", dataset_path=tmp_path / "runs.csv", trajectory="run")
    assert data.dim == 1
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 3 * 60
    for wrong, says in (
        ([table, table.rename(columns={"x": "y"})], "Run 1 has the columns t, y"),
        ([table.assign(run=1)], "'run' of their own"),
    ):
        with pytest.raises(UsageError, match=says):
            mdbench.run("zero", "ode", data=wrong, name="wrong", result_dir=str(tmp_path))


@pytest.mark.usefixtures("workspace")
def test_columns_of_spans_are_times_and_lists_are_options(tmp_path: Path) -> None:
    spans = pd.to_timedelta(DECAY["t"], unit="min")
    given = {"elapsed": spans, "x": DECAY["x"], "flag": ["ok"] * 60, "n": np.arange(60)}
    table = mdbench.run(
        "zero",
        "ode",
        data=pd.DataFrame(given),
        name="spans",
        result_dir=str(tmp_path),
        say=len,
        ignore=["flag", "n"],
    )
    assert table["status"].tolist() == ["ok"]
    data = mdbench.dataset(
        "spans", "ode", dataset_path=tmp_path / "spans.csv", states=["x"], time="elapsed"
    )
    t = data["trajectory"].train["t"]
    np.testing.assert_allclose(np.diff(t), 60 * np.diff(DECAY["t"])[: len(t) - 1], rtol=1e-6)


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("kind", [dict, tuple, np.ma.column_stack])
def test_masked_values_are_missing(kind: Any, tmp_path: Path) -> None:
    states = np.ma.masked_greater(DECAY["x"], 0.9)
    given = {"t": DECAY["t"], "x": states} if kind is dict else kind((DECAY["t"], states))
    with pytest.raises(MdbenchError, match=r"line 2: (x|u0) is ''"):
        mdbench.run("zero", "ode", data=given, result_dir=str(tmp_path))
    assert not list(tmp_path.glob("*.csv"))  # the same name can be given again


@pytest.mark.usefixtures("workspace")
def test_a_file_is_never_replaced_by_data(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("day,weight\n1,70\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is there, with other data"):
        mdbench.run("zero", "ode", data=DECAY, name="mine", result_dir=str(tmp_path))
    assert mine.read_text(encoding="utf-8") == "day,weight\n1,70\n"


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("nothing", [[], (), set(), np.array([]), pd.Series([], dtype=str)])
def test_an_empty_list_does_not_stand_for_all(nothing: Any) -> None:
    with pytest.raises(UsageError, match="dataset is empty"):
        mdbench.run("zero", "ode", dataset=nothing)


@pytest.mark.usefixtures("workspace")
def test_options_may_be_of_numpy() -> None:
    table = mdbench.run(
        np.array(["zero"]),  # type: ignore[arg-type]  # as a user may
        "ode",
        dataset=pd.Series(["rc-circuit"]),
        seeds=range(2),
        snr=np.array([40.0]),
        timeout=np.float64(60),
        say=str,
    )
    assert table["seed"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
        ({"snr": "loud"}, "snr is 'loud'"),
        ({"snr": [40]}, "snr is"),
        ({"protocol": "Strict"}, "protocol is 'Strict'"),
        ({"data_type": None}, "data_type is None"),
    ],
)
def test_a_dataset_is_one_that_a_run_may_have(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        mdbench.dataset(**{"name": "rc-circuit", "data_type": "ode", **options})


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    "options",
    [
        {"points": 0},
        {"points": 10**9},
        {"points": 3.0},
        {"until": "soon"},
        {"start": [1.0]},
        {"start": pd.Series({"y": 1.0})},
        {"dataset": ["rc-circuit"]},
    ],
)
def test_a_mistyped_prediction_is_refused(options: dict[str, Any]) -> None:
    table = mdbench.run("zero", "ode", dataset="rc-circuit", n_jobs=1, say=str)
    asked = {"folder": table, "start": {"u0": 1.0}, "until": 1.0, "points": 3, **options}
    with pytest.raises(UsageError):
        mdbench.predict(**asked)


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "a\nb"])
def test_a_name_of_data_stays_in_the_folder(name: str) -> None:
    with pytest.raises(UsageError, match="name is"):
        mdbench.run("zero", "ode", data=DECAY, name=name)
    with pytest.raises(UsageError, match="both given"):
        mdbench.run("zero", "ode", data=DECAY, dataset_path="x.csv")


@pytest.mark.usefixtures("workspace")
def test_a_notebook_shows_a_small_table_and_the_keys_are_last() -> None:
    table = mdbench.run("zero", "ode", dataset=["rc-circuit", "lorenz*"], n_jobs=1)
    html = table._repr_html_()
    heads = re.findall(r"<th>([a-z_][a-z_.0-9]*)</th>", html)
    assert {"dataset", "status", "nmse", "equations"} <= set(heads)
    assert len(heads) < 12
    assert not {"key", "algorithm_sha", "study"} & set(heads)
    assert list(table.columns)[:3] == ["algorithm", "data_type", "dataset"]
    assert list(table.columns)[-1] == "key"
    assert "key" in mdbench.load("results").columns
    part = table[["dataset", "key"]]
    assert "<th>key</th>" in part._repr_html_()  # what was asked for is shown


@pytest.mark.usefixtures("workspace")
def test_results_are_shown_by_their_table_or_their_folder() -> None:
    table = mdbench.run("zero", "ode", dataset="rc-circuit", n_jobs=1, say=lambda _: None)
    assert mdbench.show(table).equals(mdbench.show("results"))
    assert mdbench.show(mdbench.load("results")).equals(mdbench.show("results"))
    for other in (pd.DataFrame({"a": [1]}), 3, None):
        with pytest.raises(UsageError, match="Results are a folder or what"):
            mdbench.show(other)


@pytest.mark.usefixtures("workspace")
def test_rows_that_are_left_out_of_a_table_do_not_count() -> None:
    names = ["rc-circuit", "harmonic-oscillator"]
    table = mdbench.run("zero", "ode", dataset=names, seeds=[0, 1], snr=20, n_jobs=1, say=str)
    assert mdbench.leaderboard(table)["jobs"].tolist() == [4]
    part = table[table["dataset"] == "rc-circuit"]
    assert mdbench.leaderboard(part)["jobs"].tolist() == [2]
    assert set(mdbench.show(part, every=True)["dataset"]) == {"rc-circuit"}
    end: Any = np.int64(1)
    still = mdbench.predict(folder=part, start={"u0": np.float64(2)}, until=end, points=2)
    assert still["u0"].tolist() == [2.0, 2.0]
    assert "harmonic-oscillator" in mdbench.report(table, "page.html").read_text(encoding="utf-8")
    page = mdbench.report(part, "page.html").read_text(encoding="utf-8")
    assert "harmonic-oscillator" not in page
    with pytest.raises(UsageError, match="None of the results"):
        mdbench.leaderboard(table[:0])
    with pytest.raises(UsageError, match="no column 'key'"):
        mdbench.leaderboard(table[["algorithm", "nmse"]])


def test_all_names_are_listed() -> None:
    assert set(dir(mdbench)) - set(PYTHON.names()) == {
        *("run", "load", "dataset", "compare", "show", "predict", "report", "leaderboard", "plot"),
        "__version__",
    }
    assert all(callable(getattr(mdbench, name)) for name in dir(mdbench) if name[0] != "_")


@pytest.mark.parametrize(
    ("name", "data_type"),
    [
        ("dysts-lorenz", "ode"),
        ("rc-circuit+trajectories=2+test=second-start", "ode"),
        ("arneodo", "ode"),
        ("srbench-strogatz-lv1", "srsd"),
    ],
)
def test_datasets_of_every_suite_can_be_looked_at(name: str, data_type: str) -> None:
    data = mdbench.dataset(name, data_type)
    assert data.truth
    view = data[data.views[0]]
    assert len(view.train["X"]) > 100
