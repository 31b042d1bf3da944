"""Whether a run that is killed again and again comes to what an undisturbed one comes to.

    bench_kills.py [venv|docker] [KILLS]

A run of 2 slots is killed with -9 after a random time, and begun again, until so many kills have
hit it; whenever it comes to its end its records are compared, but for `measured`, and it begins
from nothing.  Goal: 100 kills and no difference.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from throwaway import ADAPTER, Silent

from mdbench.authoring import make_method
from mdbench.backends.local import LocalBackend
from mdbench.records import RecordStore, comparable
from mdbench.runs.execute import execute
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

LONGEST = 4.0


def main() -> None:
    """Kill, compare and print; or be the run that is killed."""
    runtime, kills = sys.argv[1], int(sys.argv[2])
    if kills == 0:
        run(Workspace(Path(sys.argv[3]), Path(sys.argv[4])), runtime, Path(sys.argv[5]))
        return
    own = Workspace.find()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "algorithms").mkdir()
        (root / "datasets").symlink_to(own.datasets)
        workspace = Workspace(root, own.home)
        method = make_method("sleeps", workspace.algorithms)
        (method / "adapter.py").write_text(ADAPTER.format(fit="time.sleep(0.1)"), encoding="utf-8")
        toml = (method / "method.toml").read_text(encoding="utf-8")
        toml = toml.replace('tuning = "grid"', 'tuning = "none"').partition("\n[grid]")[0]
        (method / "method.toml").write_text(toml, encoding="utf-8")
        run(workspace, runtime, root / "undisturbed")
        wanted = records(root / "undisturbed")
        print(f"{len(wanted)} jobs; {_killed(workspace, runtime, kills, wanted)}")


def _killed(workspace: Workspace, runtime: str, kills: int, wanted: dict[str, Any]) -> str:
    rng = random.Random(0)
    results = workspace.root / "killed"
    hits = ends = 0
    begin = time.monotonic()
    while hits < kills:
        command: list[str | Path] = [
            sys.executable,
            __file__,
            runtime,
            "0",
            workspace.root,
            workspace.home,
            results,
        ]
        running = subprocess.Popen(command)
        try:
            running.wait(rng.uniform(0.5, LONGEST))
        except subprocess.TimeoutExpired:
            hits += 1
            running.kill()
        if running.wait() > 0:
            sys.exit(f"a run that nobody killed ended with status {running.returncode}")
        if running.returncode == 0:
            _compare(records(results), wanted)
            ends += 1
            shutil.rmtree(results)
    run(workspace, runtime, results)
    _compare(records(results), wanted)
    return f"{hits} kills, {ends + 1} whole runs, all equal, in {time.monotonic() - begin:.0f} s"


def _compare(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Print all that differs, down to the single value, and end if there is anything."""
    differences = [
        line
        for key in sorted(wanted.keys() | found.keys())
        for line in _differences(key[:8], found.get(key), wanted.get(key))
    ]
    if differences:
        sys.exit("\n".join(differences))


def _differences(place: str, one: Any, other: Any) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            line
            for name in sorted(one.keys() | other.keys())
            for line in _differences(f"{place}: {name}", one.get(name), other.get(name))
        ]
    return [] if one == other else [f"{place} is {one!r}, and was {other!r}"]


def run(workspace: Workspace, runtime: str, results: Path) -> None:
    """Run the method on all clean systems, two at a time."""
    opened = open_runtime(runtime, workspace.home)
    options = RunOptions(("sleeps",), "ode", n_jobs=2, result_dir=results)
    execute(make_plan(options, workspace), opened, Silent(), LocalBackend())
    opened.close()


def records(results: Path) -> dict[str, Any]:
    """Return what must be equal in the newest record of each job."""
    found = RecordStore(results / "sleeps-ode.jsonl").latest()
    return {key: comparable(record) for key, record in found.items()}


if __name__ == "__main__":
    main()
