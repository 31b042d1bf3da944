"""Time to make methods' environments from their locks, and their size.

    PYTHONPATH=. .venv-dev/bin/python benchmarks/bench_environments.py [--write] [METHOD ...]

Each is made in a folder of its own, one after the other, and removed again; packages are fetched or
taken from uv's cache, as it is (``UV_CACHE_DIR``).  What programs of methods fetch besides, as
pysr's does, is left out.  Prints a table in Markdown; with ``--write`` the sizes go into
``environments.json``, by the first digits of the SHA-256 of the lock, for the table of methods
(``scripts/methods_page.py``).  Without names: one method of each lock that has no size there.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

from mdbench.errors import MdbenchError
from mdbench.methods import Method, discover, find
from mdbench.runtimes.environments.uv import discard
from mdbench.runtimes.environments.venvs import prepare

ALGORITHMS = Path(__file__).resolve().parent.parent / "algorithms"
SIZES = Path(__file__).resolve().parent / "environments.json"


def lock_of(name: str) -> str:
    """Return the first digits of the SHA-256 of a method's lock."""
    return hashlib.sha256(find(name, ALGORITHMS).lock.read_bytes()).hexdigest()[:12]


def unmeasured(sizes: dict[str, int]) -> list[str]:
    """Return one method of each lock that has no size."""
    found = {
        lock_of(name): name
        for name, method in discover(ALGORITHMS).items()
        if isinstance(method, Method)
    }
    return [name for lock, name in found.items() if lock not in sizes]


def measure(name: str, home: Path, sizes: dict[str, int]) -> str:
    """Make one environment; return its line of the table, and keep its size."""
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
    sizes[lock_of(name)] = round(size / 1e6)
    discard(made.prefix, print)
    return f"| {name} | {len(made.packages)} | {size / 1e6:.0f} | {seconds:.0f} | {built} |"


def main(names: list[str], *, write: bool) -> None:
    """Measure and print."""
    sizes: dict[str, int] = json.loads(SIZES.read_text(encoding="utf-8"))
    lines = ["| method | packages | MB | seconds | from |", "|---|--:|--:|--:|---|"]
    with tempfile.TemporaryDirectory(prefix="mdbench-environments-") as folder:
        for name in names or unmeasured(sizes):
            lines.append(measure(name, Path(folder), sizes))
            print(lines[-1], flush=True)
            if write:
                text = json.dumps(dict(sorted(sizes.items())), indent=2) + "\n"
                SIZES.write_text(text, encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    given = sys.argv[1:]
    main([name for name in given if name != "--write"], write="--write" in given)
