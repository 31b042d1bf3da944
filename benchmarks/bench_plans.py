"""Time and memory of ``mdbench plan`` where there are many records.

The records are copies of one real record with the keys of the plan's jobs.  Usage:

    .venv/bin/python benchmarks/bench_plans.py [METHODS [SEEDS [COMMANDS]]]

METHODS x 63 systems x 5 noise levels x SEEDS jobs; the default is 10 x 16, which is 50,400.  Of the
COMMANDS that are measured, 1 to 4, the first are two plans.  As many as one run may have:

    .venv/bin/python benchmarks/bench_plans.py 19 16 1

    .venv/bin/python benchmarks/bench_plans.py edition

plans the 36,663 jobs of edition 1 where nothing was made before, and prints CPU seconds, and their
ratio to the yardstick of `versions.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from harness import HereRuntime, Quiet, add_method, make_workspace  # noqa: E402
from versions import HERE as HERE_VERSION  # noqa: E402
from versions import command, cpu_s, in_turn, yardstick  # noqa: E402

from mdbench.backends.local import LocalBackend  # noqa: E402
from mdbench.runs.execute import execute  # noqa: E402
from mdbench.runs.plan import (  # noqa: E402
    make_plan,
    resolve_jobs,
)
from mdbench.runs.study import RunOptions  # noqa: E402
from mdbench.runtimes.registry import open_runtime  # noqa: E402

CHILD = "import sys; from mdbench.cli import main; sys.exit(main(sys.argv[1:]))"


def main(methods: int = 10, seeds: int = 16, commands: int = 4) -> None:
    """Make the records, then measure commands that find them all."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        workspace = make_workspace(Path(folder))
        names = tuple(f"zero{number}" for number in range(methods))
        for name in names:
            add_method(workspace, name)
        few = RunOptions(names[:1], "ode", ("rc-circuit",), result_dir=Path("one"))
        (record,) = execute(
            make_plan(few, workspace), HereRuntime(), Quiet(), LocalBackend()
        ).records
        template = json.loads(record.to_line())
        asked = RunOptions(names, "ode", with_noise=True, seeds=tuple(range(seeds)))
        plan = make_plan(asked, workspace)
        start = time.perf_counter()
        runtime = open_runtime("venv", workspace.home)
        ready = resolve_jobs(plan, runtime)
        print(f"keys, every dataset made: {time.perf_counter() - start:.1f} s")
        Path("results").mkdir()
        with ExitStack() as stack:
            out = {
                name: stack.enter_context(file.open("w", encoding="utf-8"))
                for name, file in plan.files.items()
            }
            for one in ready:
                own = {"key": one.key, "key_parts": one.parts, **one.job.recorded()}
                line = json.dumps(template | own, separators=(",", ":"))
                out[one.job.results].write(f"{line}\n")
        size = sum(file.stat().st_size for file in plan.files.values()) / 1e6
        print(f"{len(ready)} records, {size:.0f} MB", flush=True)
        del plan, ready
        place_of = {"MDBENCH_ROOT": str(workspace.root), "MDBENCH_HOME": str(workspace.home)}
        environment = {**os.environ, **place_of, "PYTHONPATH": str(HERE.parent)}
        asked_for = ["--algorithm", *names, "--data-type", "ode", "--with-noise", "--seeds"]
        asked_for += [f"0-{seeds - 1}", "--runtime", "venv"]
        for name, arguments in [
            ("plan, all is done", ["plan", *asked_for]),
            ("plan, nothing is", ["plan", *asked_for, "--timeout", "7"]),
            ("plan --json, nothing is", ["plan", *asked_for, "--timeout=7", "--json"]),
            ("run, all is done", ["run", *asked_for]),
        ][:commands]:
            measure(name, arguments, environment)


def plan_edition() -> None:
    """Plan a study whose data and fingerprints are not there, in turn with the yardstick."""
    study = HERE.parent / "studies" / "edition-1.toml"

    def planned() -> float:
        with tempfile.TemporaryDirectory() as home:
            environment = HERE_VERSION.environment() | {"MDBENCH_HOME": home}
            return cpu_s(command("plan", "--study", str(study), "--json"), environment)

    pairs = in_turn(planned, lambda: cpu_s(yardstick(), HERE_VERSION.environment()), 3)
    print(f"plan of edition 1: {median(pairs.first):.1f} CPU s, {pairs.ratio:.1f} x the yardstick")


def measure(name: str, line: list[str], environment: dict[str, str]) -> None:
    """Run a command, and print its seconds and its largest memory."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *line], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    cpu = used.ru_utime + used.ru_stime
    print(
        f"{name}: {seconds:.1f} s, CPU {cpu:.1f} s, {used.ru_maxrss / 1024:.0f} MB"
        + f" ({status})" * bool(status)
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["edition"]:
        plan_edition()
    else:
        main(*map(int, sys.argv[1:]))
