"""The command line: spellings, exit statuses, and errors without tracebacks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer.main
from harness import ROOT, HereRuntime, add_method, make_workspace, wait_until
from hypothesis import given
from hypothesis import strategies as st
from sweeps import sampled

import mdbench
from mdbench.cli import main
from mdbench.cli.main import app
from mdbench.cli.options import declared_by, spread
from mdbench.cli.verbs import REMOVED, VERBS
from mdbench.errors import UnavailableError, UsageError
from mdbench.records import RecordStore, Status
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.methods import Method
    from mdbench.runtimes.base import Prepared

Output = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    add_method(command_line, "zero")
    return command_line


@pytest.mark.usefixtures("workspace")
def test_methods_may_lie_in_a_folder_that_is_named(tmp_path: Path, capsys: Output) -> None:
    guests = make_workspace(tmp_path / "guests").algorithms
    (tmp_path / "empty").mkdir()
    add_method(Workspace(guests.parent, tmp_path), "guest")
    named = ["--methods", str(tmp_path / "empty"), "--methods", str(guests)]
    assert main(["list", "--json", *named]) == 0
    names = {each["name"] for each in json.loads(capsys.readouterr().out)["methods"]}
    assert names == {"zero", "guest"}
    run = ["run", "--algorithm", "guest", "zero", "--data-type", "ode"]
    run += ["--dataset", "rc-circuit", "--result-dir", "r"]
    assert main([*run, *named]) == 0
    capsys.readouterr()
    records = [
        record
        for name in ("guest", "zero")
        for record in RecordStore(Path(f"r/{name}-ode.jsonl")).read()
    ]
    assert [record.status for record in records] == [Status.OK, Status.OK]
    assert main(run) == 2
    assert "no method 'guest'" in capsys.readouterr().err
    assert main(["new", "mine", *named]) == 0
    assert (tmp_path / "empty" / "mine" / "method.toml").is_file()
    for verb in ("run", "plan", "install", "check", "report", "reproduce"):
        assert main([verb, "--help"]) == 0
        assert "--methods" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("run --algorithm a b --data_type ode", "run --algorithm a --algorithm b --data-type ode"),
        ("run --algorithm a,b --with_noise", "run --algorithm a --algorithm b --with-noise"),
        ("--dataset=a,b c", "--dataset=a --dataset=b c"),
        ("--snr -5 10 --n_jobs -1", "--snr -5 --snr 10 --n-jobs -1"),
        ("--seeds 0 1 --save_pareto", "--seeds 0 --seeds 1 --save-pareto"),
        ("--rerun timeout,failed", "--rerun timeout --rerun failed"),
        ("--result-dir .", "--result-dir ."),
        ("--result_dir my_results", "--result-dir my_results"),
        ("new my_method", "new my_method"),
    ],
)
def test_spellings(given: str, wanted: str) -> None:
    assert spread(given.split()) == wanted.split()


@given(st.lists(st.sampled_from(["--snr", "--dataset", "x", "y_z", "-1", "run"])))
def test_spread_leaves_what_is_spelt_out_already(arguments: list[str]) -> None:
    once = spread(arguments)
    assert spread(once) == once


def test_version(capsys: Output) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mdbench {mdbench.__version__}\n"


@pytest.mark.parametrize("verb", [[], ["run"], ["list"], ["data"], ["check"]])
def test_h_asks_for_help(capsys: Output, verb: list[str]) -> None:
    printed = []
    for option in ("-h", "--help"):
        assert main([*verb, option]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


def test_a_prediction_may_be_minus_h(capsys: Output) -> None:
    assert main(["score", "-h", "-h"]) == 0
    assert "identified" in capsys.readouterr().out


def test_help_names_the_options_of_each_data_type(capsys: Output) -> None:
    for verb in ("run", "plan"):
        assert main([verb, "--help"]) == 0
        _, *sections = capsys.readouterr().out.split("With --data-type ")
        listed = {
            section.partition(":")[0]: set(re.findall(r"^ +(--[a-z-]+)", section, re.MULTILINE))
            for section in sections
        }
        assert listed == {
            "ode": {
                *("--derivatives", "--inputs", "--missing", "--trajectory", "--truth", "--time"),
                *("--time-format", "--hold", "--holdout", "--pool", "--scaling", "--sweep"),
                *("--states", "--ignore", "--skip", "--step", "--na-values", "--time-zone"),
                *("--pivot", "--repeats"),
            },
            "pde": {"--derivatives", "--variant", "--max-rows", "--truth", "--axes", "--scaling"},
            "real": {"--fold", "--ignore", "--skip", "--missing", "--na-values"},
            "srsd": {"--dummy-columns", "--target-noise", "--variant"},
            "surface": {"--curvature", "--variant", "--normals", "--noise-percent"},
        }


def test_list_shows_methods_and_datasets(workspace: Workspace, capsys: Output) -> None:
    (add_method(workspace, "bad") / "method.toml").write_text("x = ", encoding="utf-8")
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    assert "a throw-away method" in text
    assert "broken:" in text
    assert "Datasets of data type ode: 63" in text
    assert "rössler-attractor-chaotic" in text
    assert main(["list", "--datasets", "--data_type", "ode"]) == 0
    assert "lorenz-equations-chaotic" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_names_and_titles_of_datasets_are_whole_in_any_terminal(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["list", "--datasets", "--data-type", "ode"]) == 0
    text = capsys.readouterr().out
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert "llm-ode-new-second-start" in text.split()
    shown = " ".join(text.split())
    assert "population-growth-carrying-capacity Logistic growth of a population" in shown


def test_dry_run_states_what_is_done_and_does_nothing(workspace: Workspace, capsys: Output) -> None:
    line = "run --algorithm zero --data_type ode --dataset rc-c* glider --with_noise --dry_run"
    assert main(line.split()) == 0
    text = capsys.readouterr().out
    assert "15 to run: it has no record" in text
    assert "15 jobs: 0 done, 15 to run. Nothing was done." in text  # two circuits and the glider
    assert not Path("results").exists()
    assert not (workspace.home / "environments").exists()


@pytest.mark.usefixtures("workspace")
def test_run_ends_with_a_table_and_the_path(capsys: Output) -> None:
    line = ["run", "--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit"]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "1/1 zero · rc-circuit  finished NMSE 1.0 nodes 1" in text
    assert "Results: results/zero-ode.jsonl" in text
    assert main(line) == 0
    assert "1 of 1 job with a record already." in capsys.readouterr().out
    (record,) = RecordStore(Path("results/zero-ode.jsonl")).read()
    assert record.status is Status.OK


@pytest.mark.usefixtures("workspace")
def test_environment_that_cannot_be_made_is_no_success(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UnavailableError("no index answers", "check the network")

    monkeypatch.setattr(HereRuntime, "prepare", refuse)
    line = ["run", "--algorithm", "zero", "--data-type", "ode", "--dataset", "rc-circuit"]
    assert main(line) == 1
    assert "no index answers" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_a_plan_states_for_each_job_why_it_would_be_run(capsys: Output) -> None:
    options = ["--algorithm", "zero", "--data_type", "ode", "--dataset", "rc-circuit", "glider"]
    assert main(["run", *options[:-1]]) == 0
    capsys.readouterr()
    assert main(["plan", "--why", *options]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "zero · rc-circuit · clean · seed 0  not run: its record is up to date",
        "zero · glider · clean · seed 0  run: it has no record",
        "1 of 2 jobs would be run.",
    ]


@pytest.mark.parametrize(("verb", "now"), sorted(REMOVED.items()))
def test_a_verb_of_before_is_answered_with_what_is_typed_now(
    capsys: Output, verb: str, now: str
) -> None:
    assert verb not in VERBS
    assert main([verb, "--algorithm", "zero"]) == 2
    assert capsys.readouterr().err.split("Type: ")[1].split() == now.split()
    assert now.split()[1] in VERBS


@pytest.mark.usefixtures("workspace")
def test_users_own_csv(capsys: Output) -> None:
    t = np.linspace(0, 3, 80)
    table = np.column_stack([t, np.exp(-t), np.cos(t)])
    np.savetxt("decay.csv", table, delimiter=",", header="time,a,b", comments="")
    line = "run --algorithm zero --data-type ode --dataset-path decay.csv"
    assert main(line.split()) == 0
    (record,) = RecordStore(Path("results/zero-ode.jsonl")).read()
    assert (record.truth, record.target_source) == (None, "finite differences")
    assert record.dataset == "decay"
    assert "decay" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run --algorithm zeros --data-type ode", "Did you mean zero?"),
        ("run --algorithm zero --data-type odd", "Did you mean ode?"),
        ("run --algorithm zero --data-type ode --dataset rc-circus", "Did you mean rc-circuit"),
        ("run --algoritm=zero --data-type ode", "Did you mean --algorithm?"),
        ("plan --algorithm zero --data_typ ode", "Did you mean --data-type?"),
        ("run --algorithm zero", "--data-type"),
        ("run --algorithm zero --data-type ode --no-such-option", "--no-such-option"),
        ("run --algorithm zero --data-type ode --timeout 0", "--timeout is '0'"),
        ("run --algorithm zero --data-type ode --timeout soon", "soon"),
        ("run --algorithm zero --data-type ode --snr loud", "--snr is 'loud'"),
        ("run --algorithm zero --data-type ode --seeds 5-2", "5-2"),
        ("run --algorithm zero --data-type ode --seeds x", "no whole number"),
        ("run --algorithm zero --data-type ode --seed 1 --seeds 2", "both"),
        ("run --algorithm zero --data-type ode --rerun slow", "is no status"),
        ("run --algorithm zero --data-type ode --protocol loose", "strict"),
        ("run --algorithm zero --data-type ode --memory 4", "--memory is '4'"),
        ("run --algorithm zero --data-type ode --memory 10M", "at least 64M"),
        ("run --algorithm zero --data-type ode --memory 4X", "512M or 4G"),
        ("run --algorithm zero --data-type ode --max-output 0G", "at least 1M"),
        ("run --algorithm zero --data-type ode --threads 0", "--threads is '0'"),
        ("run --algorithm zero --data-type ode --max-processes x", "--max-processes is 'x'"),
        ("run --algorithm zero --data-type ode --runtime lxc", "auto, venv, docker"),
        ("run --algorithm zero --data-type ode --require network", "e.g. --require network=hard"),
        ("install --runtime lxc", "auto, venv, docker"),
        ("run --algorithm zero --data-type ode --n-jobs 0", "--n-jobs is '0'"),
        ("run --algorithm zero --data-type ode --n-jobs -2", "--n-jobs is '-2'"),
        ("run --algorithm zero --data-type ode --seed -1", "no whole number"),
        ("run --algorithm zero --data-type ode --dataset-path nowhere.csv", "nowhere.csv"),
        ("run --algorithm zero --data-type ode --result-dir a-file", "a-file"),
        ("run --algorithm zero --data-type ode --seed 1 --seed 2", "--seed was given 2 times"),
        ("run --algorithm zero --data-type ode --result-dir=", "--result-dir has an empty value"),
        ("data --data-type ode --out x --seed 5", "Add --with-noise"),
        ("data --data-type odd --out x", "ode"),
        ("data --data-type ode --out x --variant released", "'--variant' is no option"),
        ("data --data-type pde --out x --variant pink", "--variant is 'pink'"),
        ("rescore nowhere.jsonl", "There is no folder nowhere.jsonl"),
        ("check zeros", "Did you mean zero?"),
        ("new Zero", "is no name"),
        ("new zero", "There is a method 'zero' already"),
        ("install zeros", "Did you mean zero?"),
        ("fly", "fly"),
    ],
)
@pytest.mark.usefixtures("workspace")
def test_errors_say_what_to_do_and_show_no_traceback(line: str, words: str, capsys: Output) -> None:
    Path("a-file").touch()
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err + captured.out
    assert "error:" in captured.err
    assert not Path("results").exists()


def test_limits_reach_the_record(workspace: Workspace) -> None:
    line = "run --algorithm zero --data-type ode --dataset rc-circuit --memory 1.5G --threads 2"
    line += " --max-processes 99 --max-output 100M --require memory=soft processes=soft"
    assert main(line.split()) == 0
    (record,) = RecordStore(workspace.root.parent / "results" / "zero-ode.jsonl").read()
    budget = record.budget
    assert (budget.memory_mb, budget.threads) == (1536, 2)
    assert (budget.processes, budget.output_mb) == (99, 100)


@pytest.mark.usefixtures("workspace")
def test_probe_shows_every_runtime(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    assert main(["probe"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    levels = HereRuntime().probe().levels
    assert f"venv {' '.join(levels.values())}" in printed
    assert "docker - - - - No Docker engine answers at" in printed


def test_install_goes_on_past_a_broken_method(
    workspace: Workspace, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "other")
    (add_method(workspace, "unlocked") / "requirements.lock").unlink()
    (add_method(workspace, "broken") / "method.toml").write_text("x = ", encoding="utf-8")

    def refuse(self: HereRuntime, method: Method) -> Prepared:
        if method.name == "other":
            raise UnavailableError("no wheels here", "go elsewhere")
        return prepare(self, method)

    prepare = HereRuntime.prepare
    monkeypatch.setattr(HereRuntime, "prepare", refuse)
    monkeypatch.setattr(HereRuntime, "size_mb", lambda *_: 12.3)
    assert main(["install"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "zero venv yes: Python 3." in printed
    assert re.search(r"zero venv yes: Python \S+ [0-9.]+ 12\b", printed)
    assert "other venv no: no wheels here" in printed
    assert "is missing. To make it from requirements.in: scripts/lock unlocked" in printed
    assert "no valid TOML" in printed
    assert main(["install", "zero"]) == 0


def test_new_then_check(workspace: Workspace, capsys: Output) -> None:
    assert main(["new", "my_method"]) == 0
    assert "scripts/lock my_method" in capsys.readouterr().out
    assert main(["check", "my_method"]) == 0
    assert "my_method keeps its contract." in capsys.readouterr().out
    adapter = workspace.algorithms / "my_method" / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8").replace("{value!r}", "{value:.1f}"))
    assert main(["check", "my_method"]) == 1
    assert "breaks" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_data_are_exported_in_upstreams_layout(capsys: Output) -> None:
    assert main(["data", "--data-type", "ode", "--out", "out", "--with_noise"]) == 0
    assert "315 files in out" in capsys.readouterr().out
    with np.load("out/rössler-fixed-point/rössler-fixed-point_snr_40.npz") as arrays:
        assert {name: arrays[name].shape for name in arrays.files} == {
            "t": (150,),
            "u": (150, 3),
            "du": (150, 3),
        }


@pytest.mark.parametrize("number", sampled((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), least=1))
def test_a_run_that_is_stopped_leaves_whole_records(workspace: Workspace, number: int) -> None:
    slow = add_method(workspace, "slow") / "adapter.py"
    text = slow.read_text(encoding="utf-8").replace("def fit(", "def fit_now(")
    slow.write_text(  # the first job ends, and the second does not
        f"{text}\n    def fit(self, problem):\n        import time\n"
        "        time.sleep(0.0 if problem.X[0, 0] > 5.0 else 1000.0)\n"
        "        self.fit_now(problem)\n",
        encoding="utf-8",
    )
    code = (
        "import signal, sys\nfrom harness import HereRuntime\nfrom mdbench.cli import main\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # the tests may run under nohup
        "from mdbench.runtimes import venv\n"
        "venv.VenvRuntime = lambda *_, **__: HereRuntime()\nsys.exit(main(sys.argv[1:]))\n"
    )
    datasets = ["rc-circuit", "autocatalysis", "landau-equation"]
    options = ["--algorithm", "slow", "--data-type", "ode", "--n-jobs", "1", "--dataset", *datasets]
    bench = subprocess.Popen(
        [sys.executable, "-c", code, "run", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")},
    )
    results = Path("results/slow-ode.jsonl")
    assert wait_until(lambda: results.exists() and results.stat().st_size > 0)
    bench.send_signal(number)
    out, err = bench.communicate(timeout=1800)
    assert bench.returncode == 130
    assert err == ""
    records = RecordStore(results).read()
    assert [record.status for record in records] == [Status.OK, Status.INTERRUPTED]
    assert "2 of 3 jobs left" in out


@pytest.mark.parametrize("verb", ["run", "plan", "data"])
def test_examples_of_a_verb_have_its_own_options(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    head, _, options = capsys.readouterr().out.partition("What to run:")
    examples = re.findall(rf"mdbench {verb} .*", head)
    typed = {word for line in examples for word in re.findall(r"--[a-z-]+", line)}
    assert len(examples) >= 2
    assert typed <= set(re.findall(r"^ +(--[a-z-]+)", options, re.MULTILINE))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["run", "--algorithm", "zero", "--data-type", "ode", "--datset", "a"], "mean --dataset?"),
        (["run", "--algorithm", "zero", "--data-type", "ode", "--sed", "1"], "mean --seed"),
        (["run", "--algorithm", "zero", "--data-type", "ode", "--wings", "2"], "Options of ode"),
        (["data", "--data-type", "ode"], "mdbench data --help"),
        (["report", "one", "two"], "Name the folder given to run as --result-dir."),
        (["report", "--txt"], "mdbench report --help"),
        (["list", "--dataets"], "mdbench list --help"),
        (["runn"], "mdbench help"),
    ],
)
def test_what_was_mistyped_is_named_with_where_to_look(
    typed: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("mdbench ru", {"run"}),
        ("mdbench run --data-t", {"--data-type"}),
        ("mdbench run --algorithm sin", {"sindy", "sindy_pi"}),
        ("mdbench run --data-type srsd --dataset feynman-i.1", None),
        ("mdbench run --data-type surf", {"surface"}),
        ("mdbench plan --protocol p", {"published"}),
        ("mdbench check opero", {"operon"}),
        ("mdbench show --as py", {"python"}),
        ("mdbench predict --algorithm opero", {"operon"}),
    ],
)
def test_a_shell_completes_what_is_typed(
    words: str, offered: set[str] | None, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("_MDBENCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setattr("sys.argv", ["mdbench"])
    with pytest.raises(SystemExit) as done:
        main([])
    assert done.value.code == 0
    found = set(capsys.readouterr().out.split())
    if offered is None:
        assert found
        assert all(name.startswith(words.rsplit(maxsplit=1)[-1]) for name in found)
    else:
        assert found == offered


@pytest.mark.parametrize(
    ("typed", "words"),
    [("score x0*2+x1 2.1*x0 --columns x0,x1", "one term off"), ("run --help", "--algorithm")],
)
def test_a_short_command_does_without_pydantic_and_flint(typed: str, words: str) -> None:
    code = (
        "import sys; from mdbench.cli import main; code = main(sys.argv[1:]);"
        "sys.exit(code or str({'pydantic', 'flint', 'sympy'} & {*sys.modules}))"
    )
    line = [sys.executable, "-c", code, *typed.split()]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert words in done.stdout
    assert done.stderr.strip() == "set()"


@pytest.mark.parametrize(
    ("typed", "words"),
    [("--r2 0.9", "one term off"), ("--r2 nine", "--r2"), ("--timeout 0", "--timeout")],
)
def test_options_that_are_no_texts_are_read_and_refused(
    typed: str, words: str, capsys: Output
) -> None:
    code = main(["score", "x0*2 + x1", "2.1*x0", *typed.split()])
    out, err = capsys.readouterr()
    assert words in (err if code else out)


def test_the_bench_computes_with_one_thread_whatever_the_machine_has() -> None:
    """With more, the last digits of data and scores would hang on the number of cores."""
    asks = (
        "import mdbench.cli, numpy; from mdbench.worker.serve import kernel_and_threads; "
        "print(kernel_and_threads()[1])"
    )
    unset = {name: v for name, v in os.environ.items() if not name.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", asks]
    done = subprocess.run(command, env=unset, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in {"1", "None"}  # None: another library than OpenBLAS
    asks = "import mdbench.cli, os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    chosen = unset | {"OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", asks]
    done = subprocess.run(command, env=chosen, capture_output=True, text=True, check=True)
    assert done.stdout == "2\n", "what somebody has set counts"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["run", "--results", "r"], ["run", "--result-dir", "r"]),
        (["plan", "--results=r"], ["plan", "--result-dir=r"]),
        (["show", "--result-dir", "r"], ["show", "--results", "r"]),
        (["predict", "--result_dir=r"], ["predict", "--results=r"]),
        (["report", "--results", "r"], ["report", "r"]),
        (["combine", "--result-dir=r", "-o", "x.csv"], ["combine", "r", "--out", "x.csv"]),
        (["predict", "--output=x.csv"], ["predict", "--out=x.csv"]),
        (["score", "-o", "x"], ["score", "-o", "x"]),
        (["run", "--output", "x"], ["run", "--output", "x"]),
        (["run", "--engine", "podman"], ["run", "--runtime", "podman"]),
        (["check", "a", "--engine=podman"], ["check", "a", "--runtime=podman"]),
        (["run", "--runtime", "docker", "--engine", "podman"], ["run", "--runtime", "podman"]),
        (["run", "--engine=podman", "--runtime=docker"], ["run", "--runtime=podman"]),
        (["run", "--runtime", "docker"], ["run", "--runtime", "docker"]),
    ],
)
def test_options_with_two_names_are_one(typed: list[str], read: list[str]) -> None:
    program: Any = typer.main.get_command(app)
    assert spread(typed, declared_by(program.commands[typed[0]].params)) == read


def test_a_new_method_takes_no_name_of_another_folder(
    workspace: Workspace, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(workspace, "known")
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setenv("MDBENCH_METHODS", str(mine))
    assert main(["new", "known"]) == 2
    assert f"already: {workspace.algorithms / 'known'}" in capsys.readouterr().err
    assert not list(mine.iterdir())
    assert main(["new", "unknown"]) == 0
    assert main(["new", "unknown"]) == 2
    assert main(["new", "another", "--torch", "--scikit-learn"]) == 2
    assert main(["new", "another", "--scikit-learn"]) == 0


def test_the_next_steps_of_a_new_method_can_be_typed_from_here(
    workspace: Workspace, capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "elsewhere"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("MDBENCH_ROOT", str(workspace.root))
    assert main(["new", "mine"]) == 0
    shown = capsys.readouterr().out
    assert f"{ROOT / 'run.sh'} --algorithm mine" in shown
    assert f"{ROOT / 'scripts' / 'lock'} mine" in shown


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--out", "--result-dir"),
        ("--output=x", "--result-dir"),
        ("--result-path", "--dataset-path or --result-dir"),
        ("--noise", "--snr"),
        ("--noise_level=20", "--snr"),
        ("--time-limit", "--timeout"),
        ("--method", "--algorithm"),
        ("--system", "--dataset"),
        ("-j", "--n-jobs"),
        ("--seed-count=3", "--seed or --seeds"),
    ],
)
def test_an_option_of_another_name_is_found(capsys: Output, typed: str, meant: str) -> None:
    assert main(["run", "--algorithm", "zero", "--data-type", "ode", typed]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert f"{typed.partition('=')[0].replace('_', '-')!r} is no option of a run" in shown
    assert f"Did you mean {meant}?" in shown


def test_an_engine_next_to_another_runtime_is_one_runtime_too_many() -> None:
    with pytest.raises(UsageError, match="--runtime"):
        spread(["run", "--runtime", "venv", "--engine", "podman"])


@pytest.mark.parametrize("megabytes", [150, 600])
def test_a_shell_that_allows_too_little_memory_is_an_error(megabytes: int) -> None:
    line = f"ulimit -v {megabytes * 1024}; exec {sys.executable} -m mdbench list"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 2
    assert f"allows {megabytes} MiB of address space (ulimit -v)" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_end_of_a_run_of_many_jobs_is_that_of_few(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """Of many records only a part is kept, and that is all that the summary needs."""
    add_method(workspace, "failing", "raise RuntimeError('no')")
    line = ["run", "--algorithm", "zero", "failing", "--data-type", "ode", "--snr", "clean,20"]
    line += ["--dataset", "rc-circuit", "glider", "--seeds", "0,1"]
    ends = []
    for largest in (400, 3):
        monkeypatch.setattr("mdbench.cli.run.LARGEST_TABLE", largest)
        main([*line])
        text = capsys.readouterr().out
        ends.append(text[text.index("method") :] if largest == 3 else text)
    shown = ends[1].partition("Results:")[0].strip()
    assert len(shown.splitlines()) > 5
    assert shown in ends[0]


def test_any_verb_that_is_stopped_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdbench.cli.rescore.rescore_files", stop)
    assert main(["rescore", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "Interrupted. The same command goes on from here.\n"
