"""Methods without Python: programs that speak the protocol, in the sandboxes that are here."""

from __future__ import annotations

import os
import shutil
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from flavours import each_run, open_flavour
from harness import (
    METHOD,
    ROOT,
    HereRuntime,
    Quiet,
    children,
    execute,
    has_written,
    make_workspace,
    number,
    out_of_time,
)

from mdbench import methods
from mdbench.errors import MethodError
from mdbench.records import Status
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.venv import VenvRuntime
from mdbench.worker import Unavailable
from mdbench.worker.program import find_program

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

EXAMPLES = ROOT / "examples" / "methods"

MEAN = f"""#!{sys.executable}
import json, sys
import numpy as np

order = json.load(open("job.json"))

def send(type_, **content):
    print(json.dumps({{"type": type_, "job": order["job"], **content}}), flush=True)

mean = np.load("train.npz")["Y"].mean(axis=0)
print("to the log", file=sys.stderr)
send("fitted", seconds=0, stopped_early=False, evaluations=7, failed=0, failure="")
for line in sys.stdin:
    if json.loads(line)["type"] == "describe":
        send("described", equations=[repr(float(each)) for each in mean])
    else:
        rows = len(np.load("test.npz")["X"])
        np.save("predictions.npy", np.tile(mean, (rows, 1)))
        send("predicted", predictions="predictions.npy", seconds=0)
        break
"""
"""A program that answers with the mean of each target."""


def add_program(workspace: Workspace, text: str, *, tuning: str = "none", more: str = "") -> Path:
    """Add a method that is a program of its folder."""
    folder = workspace.algorithms / "guest"
    folder.mkdir()
    toml = METHOD.format(name="guest", tuning=tuning, more=f'program = ["./answer"]\n{more}')
    (folder / "method.toml").write_text(toml, encoding="utf-8")
    (folder / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    program = folder / "answer"
    program.write_text(dedent(text), encoding="utf-8")
    program.chmod(0o755)
    return folder


def run(workspace: Workspace, runtime: Runtime | None = None, **more: Any) -> Record:
    options = RunOptions(
        *(("guest",), "ode", ("harmonic-oscillator",)),
        result_dir=workspace.root / "results",
        timeout_s=more.pop("timeout_s", 100.0),
        **more,
    )
    (record,) = execute(make_plan(options, workspace), runtime or HereRuntime(), Quiet()).records
    return record


def test_a_program_does_a_job_as_an_adapter_does(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_program(workspace, MEAN)
    record = run(workspace, HereRuntime(wrapped=False))
    assert record.status is Status.OK, record.reason
    assert record.equations is not None
    assert [len(record.equations), record.measured.evaluations] == [2, 7]
    log = next((workspace.root / "results").rglob("*.log")).read_text(encoding="utf-8")
    assert "to the log" in log


BROKEN = {
    "ends at once": ("#!/bin/sh\n", Status.CRASHED, "exit status 0"),
    "ends with a status": ("#!/bin/sh\nexit 3\n", Status.CRASHED, "exit status 3"),
    "kills itself": ("#!/bin/sh\nkill -9 $$\n", Status.CRASHED, "SIGKILL"),
    "cannot be executed": ("no program\0\n", Status.FAILED, "answer: OSError"),
    "says nothing that is JSON": ("#!/bin/sh\necho hello\n", Status.INVALID_OUTPUT, "hello"),
    "answers out of turn": (
        f"{MEAN.partition('mean =')[0]}send('described', equations=['0', '0'])\n",
        Status.INVALID_OUTPUT,
        "described",
    ),
    "refuses": (
        f"{MEAN.partition('mean =')[0]}send('failed', kind='unsupported', error='not this')\n",
        Status.UNSUPPORTED,
        "not this",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_a_program_does_wrong_is_its_records_reason(tmp_path: Path, case: str) -> None:
    text, status, reason = BROKEN[case]
    workspace = make_workspace(tmp_path)
    add_program(workspace, text)
    record = run(workspace, HereRuntime(wrapped=False))
    assert (record.status, reason in record.reason) == (status, True), record.reason


def test_a_program_that_runs_out_of_time_is_scored_from_its_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    more = """
    item = {"equations": ["u1", "-2.1*u0"], "hyperparameters": {}, "target": None}
    send("candidates", items=[item], predictions=None)
    open("ready", "w").close()
    import time
    time.sleep(1000)
    """
    add_program(workspace, MEAN.partition("mean =")[0] + dedent(more), tuning="front")
    out_of_time(monkeypatch, lambda session: has_written(session, "ready"))
    record = run(workspace, HereRuntime(wrapped=False))
    assert record.status is Status.PARTIAL, record.reason
    assert number(record.metrics["nmse"]) < 1e-6


def test_a_program_is_looked_for_where_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, environment, path = (tmp_path / name for name in ("method", "environment", "path"))
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setenv("PATH", str(path))
    places = [path / "fit", environment / "fetched" / "bin" / "fit"]
    places += [environment / "fetched" / "fit", folder / "fit"]
    with pytest.raises(Unavailable, match=r"fit is neither in the method's folder nor in"):
        find_program(folder, ["fit"])
    for place in places:  # each comes before those that are there already
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\n", encoding="utf-8")
        place.chmod(0o755)
        assert find_program(folder, ["fit", "--quick", "fit"]).command == (
            str(place),
            "--quick",
            str(folder / "fit") if place.parent == folder else "fit",
        )


def test_a_program_that_is_missing_makes_its_jobs_unavailable(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_program(workspace, MEAN)
    (folder / "answer").unlink()
    record = run(workspace)
    assert record.status is Status.UNAVAILABLE
    assert "the program ./answer is neither" in record.reason


def test_keys_of_a_program_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    folder = add_program(workspace, MEAN)
    text = (folder / "method.toml").read_text(encoding="utf-8")
    for more, reason in (
        ('sources = ["fit.c"]', "fetch is missing"),
        ('fetch = "f.py"\nsources = ["fit.c"]', "fit.c is missing"),
        ('fetch = "f.py"\nsources = ["../fit.c"]', "sources"),
        (
            'paths = ["code"]\n[checkouts.code]\nurl = "u"\ncommit = "%s"\nsha256 = ""'
            % ("0" * 40),
            "code",
        ),
        (
            '[checkouts.code]\nurl = "--upload-pack=x"\ncommit = "%s"\nsha256 = ""' % ("0" * 40),
            "url",
        ),
        ('[checkouts.code]\nurl = "u"\ncommit = "main"\nsha256 = ""', "commit"),
    ):
        (folder / "method.toml").write_text(f"{text}\n{more}\n", encoding="utf-8")
        with pytest.raises(MethodError, match=reason):
            methods.load(folder)


def coefficients(record: Record) -> list[list[float]]:
    """Return the constant and the coefficients of each equation ``c + (a)*u0 + (b)*u1``."""
    assert record.equations is not None
    return [
        [float(term.partition("*")[0].strip("()")) for term in equation.split(" + ")]
        for equation in record.equations
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where environments are kept, so that one is made for all."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_example_in_c_is_compiled_and_fits_as_numpy_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path, *, wrapped: bool
) -> None:
    """Its environment's set-up compiles it, and it runs as plain process and in bubblewrap."""
    if wrapped and (trouble := bubblewrap.why_unavailable()):
        pytest.skip(f"no bubblewrap: {trouble}")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc)")
    workspace = make_workspace(tmp_path)
    shutil.copytree(EXAMPLES / "linear_c", workspace.algorithms / "guest")
    toml = workspace.algorithms / "guest" / "method.toml"
    text = toml.read_text(encoding="utf-8").replace('name = "linear_c"', 'name = "guest"')
    toml.write_text(text, encoding="utf-8")
    runtime = VenvRuntime(home, wrapped=wrapped)
    given: list[Any] = []
    save = np.savez

    def kept(*places: Any, **arrays: Any) -> None:
        given.append(arrays)
        save(*places, **arrays)

    monkeypatch.setattr(np, "savez", kept)
    record = run(workspace, runtime)
    assert record.status is Status.OK, record.reason
    fit = next(each for each in given if "Y" in each)
    inputs = np.column_stack([np.ones(len(fit["X"])), fit["X"]])
    expected = np.linalg.lstsq(inputs, fit["Y"], rcond=None)[0]
    np.testing.assert_allclose(coefficients(record), expected.T, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("flavour", each_run("bubblewrap")[:2])
def test_a_program_is_held_as_an_adapter_is(tmp_path: Path, flavour: str) -> None:
    """It finds no network, writes nothing but its folder, and leaves no process behind."""
    workspace = make_workspace(tmp_path)
    tries = f"""
    import os, socket, subprocess
    found = []
    try:
        socket.create_connection(("192.0.2.1", 80), 2)
    except OSError as error:
        found.append(f"network {{error.errno}}")
    try:
        open({str(workspace.root / "written")!r}, "w")
        found.append("written")
    except OSError:
        pass
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    send("failed", kind="failed", error=" ".join(found))
    """
    add_program(workspace, MEAN.partition("mean =")[0] + dedent(tries))
    record = run(workspace, open_flavour(flavour, tmp_path))
    assert record.status is Status.FAILED
    assert "written" not in record.reason
    assert "network" in record.reason
    assert not children()


def test_the_examples_are_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(methods.FOLDERS_VARIABLE, raising=False)
    with methods.more_folders([str(EXAMPLES)]):
        found = methods.discover(ROOT / "algorithms")
    for name in ("linear_c", "linear_r", "quadratic_rust"):
        method = found[name]
        assert isinstance(method, methods.Method), method
        assert method.spec.program
        assert method.fingerprint()
    assert methods.FOLDERS_VARIABLE not in os.environ
