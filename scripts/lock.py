"""Writes the hashed locks of core, development, pages and methods; see scripts/lock."""

from __future__ import annotations

import sys
import tomllib
from functools import partial
from pathlib import Path

from mdbench.errors import MdbenchError
from mdbench.methods import discover
from mdbench.runtimes.environments.requirements import lock_method, lock_requirements

ROOT = Path(__file__).resolve().parent.parent
ALGORITHMS = ROOT / "algorithms"


def main(arguments: list[str]) -> int:
    """Lock the methods that are named, or else everything; return the exit status."""
    options = [argument for argument in arguments if argument.startswith("-")]
    names = [argument for argument in arguments if not argument.startswith("-")]
    try:
        if not names:
            lock_core(options)
            lock_data(options)
        for name in names or discover(ALGORITHMS):
            lock_method(name, ALGORITHMS, partial(print, file=sys.stderr), options)
    except MdbenchError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def lock_core(options: list[str]) -> None:
    """Lock the core, its development and its pages; where two have a package, they agree."""
    project = ROOT / "pyproject.toml"
    python = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["requires-python"]
    core = ROOT / "requirements.lock"
    build = ["--group", "build", *options]
    lock_requirements(project, core, python, options=build)
    cluster = ["--extra", "cluster", "--constraint", core.name, *build]
    lock_requirements(project, ROOT / "requirements-cluster.lock", python, options=cluster)
    for group, name in (("dev", "requirements-dev.lock"), ("docs", "requirements-docs.lock")):
        more = ["--group", group, "--constraint", core.name, *build]
        lock_requirements(project, ROOT / name, python, options=more)


def lock_data(options: list[str]) -> None:
    """Lock the packages in which tables lie; none is imported, so what they need is left out."""
    for source in sorted(ROOT.glob("datasets/*/*/requirements.in")):
        lock = source.with_suffix(".lock")
        lock_requirements(source, lock, ">=3.11", options=["--no-deps", *options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
