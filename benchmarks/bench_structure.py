"""Size of the bench, and the part of it that a trivial job and a comparison of equations use.

    .venv/bin/python benchmarks/bench_structure.py

The trivial job is what ``./run.sh --algorithm sindy --data-type ode --dataset rc-circuit`` does in
the process that was started, once it was run before: environment and arrays are made.  Counted are
modules of mdbench that were imported, and those in which a function was called; functions (also
lambdas, but no comprehensions and no bodies of modules and classes) in any thread; classes in which
a method that was called is written, and separately those of which an instance was made, too, also
while modules are imported.  Each number is followed by the most that it should be.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mdbench"
JOB = [
    *("run", "--algorithm", "sindy", "--data-type", "ode", "--dataset", "rc-circuit"),
    *("--runtime", "venv"),  # the same on every machine
]
SCORE = ["score", "x0", "x0+1"]
WANTED = {"imported": 110, "functions": 700, "classes": 80}
"""The most that the trivial job should touch."""
HELD = {"imported": 110, "functions": 766, "classes": 80, "calls": 25_000}
"""The most that a test allows: calls depend on how long the job takes, as it is looked at often,
and one function is called only where that is more than half a second."""
LONGEST = 600
"""Lines of a module; what is longer has the reason in its docstring."""
_MAKERS = {"__init__", "__new__", "model_validate", "model_validate_json"}
"""Functions of others, such as a base class, that make instances of our classes."""
_FUNCTION = 0x1 | 0x2
"""Flags of the code of functions, which that of modules and classes has not."""


def main() -> None:
    """Measure and print."""
    report(f"mdbench {' '.join(JOB)}", trivial_job(), WANTED)
    report(f"mdbench {' '.join(SCORE)}", counted(SCORE), {"functions": 100})
    print("files")
    everything = lengths(PACKAGE)
    apart = {path: size for path, size in everything.items() if is_apart(path)}
    core = [size for path, size in everything.items() if path not in apart]
    for name, sizes, lines, modules in (
        ("the core", core, 52_000, 175),
        ("data types and extensions", list(apart.values()), 0, 0),
        ("eqverdict", list(lengths(ROOT / "eqverdict").values()), 0, 0),
        ("mdbench/runs", list(lengths(PACKAGE / "runs").values()), 0, 18),
        ("tests", list(lengths(ROOT / "tests").values()), 0, 0),
    ):
        show(f"{name}, lines", sum(sizes), lines)
        show(f"{name}, modules", len(sizes), modules)
    rings = circles(imports())
    show("circles of imports", len(rings), 0)
    for ring in rings:
        print("    " + ", ".join(sorted(ring)))
    long = {path: size for path, size in lengths(PACKAGE).items() if size > LONGEST}
    show(f"mdbench/, modules over {LONGEST} lines", len(long), 0)
    for path, size in sorted(long.items(), key=lambda item: -item[1]):
        print(f"    {size:5d}  {path.relative_to(ROOT)}")


def trivial_job() -> dict[str, int]:
    """Count what the trivial job touches, once its environment and arrays are made."""
    with tempfile.TemporaryDirectory() as folder:
        for number in ("first", "second"):
            counts = counted([*JOB, "--result-dir", f"{folder}/{number}"])
    return counts


def is_apart(path: Path) -> bool:
    """Whether a module is part of what can be taken away: an extension or a data type's folder."""
    parts = path.relative_to(PACKAGE).parts
    if parts[0] == "datatypes":
        return (PACKAGE / "datatypes" / parts[1] / "data_type.py").exists()
    return parts[0] == "extensions"


def imports() -> dict[str, set[str]]:
    """Return the modules of mdbench and eqverdict that each imports, also within functions.

    What only a type checker reads is left out.
    """
    modules = {}
    for package in (PACKAGE, ROOT / "eqverdict"):
        for path in lengths(package):
            parts = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = set()
        for node in _executed(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
                continue
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in modules else str(node.module))
        graph[module] = (names & modules.keys()) - {module}
    return graph


def _executed(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _executed(node)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or by others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for module in graph[waiting.pop()] - seen:
                seen.add(module)
                waiting.append(module)
        reached[start] = seen
    rings: list[set[str]] = []
    for module in graph:
        ring = {other for other in reached[module] if module in reached[other]}
        if ring and ring not in rings:
            rings.append(ring)
    return rings


def report(name: str, found: dict[str, int], most: dict[str, int]) -> None:
    """Print what a command touched."""
    print(name)
    for key, what in (
        ("imported", "modules imported"),
        ("modules", "modules called"),
        ("functions", "functions called"),
        ("calls", "calls of them"),
        ("classes", "classes called"),
        ("used", "classes called or instances made"),
    ):
        show(what, found[key], most.get(key, 0))


def show(what: str, number: int, most: int) -> None:
    """Print a number, and the most that it should be; 0 for no such."""
    print(f"  {what:40} {number:6d}{f'   (at most {most})' if most else ''}")


def lengths(folder: Path) -> dict[Path, int]:
    """Count the lines of all modules in a folder."""
    return {path: path.read_bytes().count(b"\n") for path in sorted(folder.rglob("*.py"))}


def counted(line: list[str]) -> dict[str, int]:
    """Run a command in a process of its own, and count what of mdbench it touches."""
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(
            [sys.executable, __file__, "--inside", file.name, *line],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"mdbench {' '.join(line)}: {done.stdout}{done.stderr}")
        found: dict[str, int] = json.loads(Path(file.name).read_text(encoding="utf-8"))
        return found


class Seen:
    """Functions that were called, by a profiler's events; see `sys.setprofile`."""

    def __init__(self) -> None:
        self.functions: set[Any] = set()
        self.classes: set[str] = set()
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a function that was called."""
        if event != "call":
            return
        code = frame.f_code
        own = code.co_filename.startswith(f"{PACKAGE}{os.sep}")
        if own and code.co_flags & _FUNCTION == _FUNCTION:
            if not code.co_name.startswith("<") or code.co_name == "<lambda>":
                self.functions.add(code)
                self.calls += 1
        elif code.co_name not in _MAKERS:
            return
        if code.co_argcount and code.co_varnames[0] in {"self", "cls"}:
            self._add(frame.f_locals.get(code.co_varnames[0]))

    def _add(self, first: object) -> None:
        kind = first if isinstance(first, type) else type(first)
        if kind.__module__.partition(".")[0] == "mdbench":
            self.classes.add(f"{kind.__module__}.{kind.__qualname__}")

    def counts(self, modules: Iterable[str]) -> dict[str, int]:
        """Return the numbers."""
        return {
            "imported": sum(name.partition(".")[0] == "mdbench" for name in modules),
            "modules": len({code.co_filename for code in self.functions}),
            "functions": len(self.functions),
            "calls": self.calls,
            "used": len(self.classes),
            "classes": len({_class_of(code) for code in self.functions} - {""}),
        }


def _class_of(code: Any) -> str:
    """Name the class in which a method is written; of what is none, nothing."""
    owner = code.co_qualname.rpartition(".")[0]
    return f"{code.co_filename}:{owner}" if owner and not owner.endswith("<locals>") else ""


def inside(place: str, *line: str) -> int:
    """Run a command with the profiler on, and write what it touched."""
    seen = Seen()
    threading.setprofile(seen)
    sys.setprofile(seen)
    from mdbench.cli import main as command  # noqa: PLC0415 - what its import calls counts

    status = command(list(line))
    sys.setprofile(None)
    threading.setprofile(None)
    Path(place).write_text(json.dumps(seen.counts(list(sys.modules))), encoding="utf-8")
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside(*sys.argv[2:]))
    main()
