"""Time to make methods' environments from their locks, and their size.

    PYTHONPATH=. .venv-dev/bin/python benchmarks/bench_environments.py [METHOD ...]

Each is made in a folder of its own, one after the other, and removed again; packages are fetched or
taken from uv's cache, as it is (``UV_CACHE_DIR``).  What programs of methods fetch besides, as
pysr's does, is left out.  Prints a table in Markdown.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from mdbench.errors import MdbenchError
from mdbench.methods import find
from mdbench.runtimes.environments.uv import discard
from mdbench.runtimes.environments.venvs import prepare

ALGORITHMS = Path(__file__).resolve().parent.parent / "algorithms"
METHODS = (
    *("eql", "dsr", "udsr", "pysindy", "pysr", "physo", "bingo", "rils_rols", "aifeynman"),
    *("odeformer", "e2e", "nesymres", "tpsr"),
)


def measure(name: str, home: Path) -> str:
    """Make one environment; return its line of the table."""
    begin = time.monotonic()
    try:
        method = find(name, ALGORITHMS)
        made = prepare(
            name, method.lock, method.spec.python, home, build=method.spec.build, on_line=print
        )
    except MdbenchError as error:
        return f"| {name} | | | | not here: {str(error).splitlines()[0]} |"
    seconds = time.monotonic() - begin
    size = sum(file.lstat().st_size for file in made.prefix.rglob("*") if not file.is_symlink())
    built = "built" if method.spec.build else "wheels"
    discard(made.prefix, print)
    return f"| {name} | {len(made.packages)} | {size / 1e6:.0f} | {seconds:.0f} | {built} |"


def main(names: list[str]) -> None:
    """Measure and print."""
    lines = ["| method | packages | MB | seconds | from |", "|---|--:|--:|--:|---|"]
    with tempfile.TemporaryDirectory(prefix="mdbench-environments-") as folder:
        for name in names or METHODS:
            lines.append(measure(name, Path(folder)))
            print(lines[-1], flush=True)
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
