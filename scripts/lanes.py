"""Which tests are the core's, and which parts next to it have changed; for `scripts/test`.

    lanes.py core                tests of the core alone
    lanes.py changed[=COMMIT]    these, and those of each part that has changed since COMMIT
    lanes.py parts[=COMMIT]      the names of the parts that have changed

Of the first two pytest's arguments are printed, a line each.  A part is what the core does not
need: an extension, a data type, the scorer, the methods, the scripts of this repository.  It has
changed where one of its files or of its tests has, or a module that its code imports, directly or
by others, or that its tests import.  So it has where a file changed of which imports say nothing,
as `pyproject.toml` or a system in `datasets/`; pages are not such.  Without a COMMIT the branch is
compared with where it left `origin/main`, or `main` where no such branch is known; what is not
committed counts.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("mdbench", "eqverdict")
BARE: Final = ("tests/support", "scripts", "benchmarks")
"""Folders whose modules are imported by their bare names."""
SAYS_NOTHING: Final = (
    *("docs/", "results/", "studies/"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
)
"""How the names of files begin that no test of a part reads: those of pages are the core's."""


@dataclass(frozen=True)
class Part:
    """What the core does not need: folders of code, and the folder of its tests."""

    name: str
    code: tuple[str, ...]
    tests: str

    def owns(self, path: str) -> bool:
        """Whether a file is in one of the part's folders."""
        return any(path.startswith(f"{folder}/") for folder in (*self.code, self.tests))


def parts() -> list[Part]:
    """Return all parts."""
    folders = [
        path.parent.relative_to(ROOT / "mdbench").as_posix()
        for pattern in ("extensions/*/entry_points.txt", "datatypes/*/data_type.py")
        for path in sorted((ROOT / "mdbench").glob(pattern))
    ]
    return [
        *(Part(folder, (f"mdbench/{folder}",), f"tests/{folder}") for folder in folders),
        Part("eqverdict", ("eqverdict",), "tests/eqverdict"),
        Part("methods", ("algorithms",), "tests/algorithms"),
        Part("scripts", ("scripts",), "tests/scripts"),
    ]


def changed(commit: str) -> list[str]:
    """Return the names of all files that differ from a commit.

    Raises
    ------
    SystemExit
        If there is no such commit.
    """
    known = [commit] if commit else ["origin/main", "main"]
    for name in known:
        base = _git("merge-base", name, "HEAD")
        if base:
            names = _git("diff", "--name-only", "--no-renames", "-z", base[0].strip())
            new = _git("ls-files", "-z", "--others", "--exclude-standard")
            return sorted({*names, *new})
    sys.exit(f"lanes.py: there is no commit {' or '.join(known)} here.")


def _git(*arguments: str) -> list[str]:
    """Return what Git lists; nothing where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [name for name in done.stdout.split("\0") if name] if done.returncode == 0 else []


def affected(part: Part, names: list[str], graph: dict[str, set[str]]) -> bool:
    """Whether files that changed concern a part."""
    used = uses(part, graph)
    others = [other for other in parts() if other != part]
    return any(
        part.owns(name)
        or name in used
        or not (
            name in graph
            or name.startswith(SAYS_NOTHING)
            or any(other.owns(name) for other in others)
        )
        for name in names
    )


def uses(part: Part, graph: dict[str, set[str]]) -> set[str]:
    """Return the modules that a part uses: see the module's docstring."""
    tests = {name for name in graph if name.startswith(f"{part.tests}/")}
    code = {name for name in graph if part.owns(name)} - tests
    return _reached(code, graph, ("",)) | _reached(tests, graph, ("tests/", *BARE))


def _reached(names: set[str], graph: dict[str, set[str]], within: tuple[str, ...]) -> set[str]:
    """Return modules and all that they import; of those outside some folders no imports."""
    reached = set(names)
    waiting = list(names)
    while waiting:
        for name in graph[waiting.pop()] - reached:
            reached.add(name)
            if name.startswith(within):
                waiting.append(name)
    return reached


def imports() -> dict[str, set[str]]:
    """Return which of this repository's modules each imports, by their files' names."""
    files = [
        path.relative_to(ROOT)
        for folder in (*PACKAGES, "tests", "scripts", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "conftest.py"  # of all tests
    ]
    modules = {_module(path): path.as_posix() for path in files}
    return {path.as_posix(): {*_imported(path, modules)} - {path.as_posix()} for path in files}


def _module(path: Path) -> str:
    """Return the name by which a file is imported."""
    bare = path.parent.as_posix() in BARE
    parts = path.with_suffix("").parts[-1:] if bare else path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, modules: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            module = name if name in modules else name.rpartition(".")[0]
            if module in modules:
                yield modules[module]


def main(arguments: list[str]) -> int:
    """Print what was asked for."""
    lane, _, commit = arguments[0].partition("=") if len(arguments) == 1 else ("", "", "")
    if lane not in {"core", "changed", "parts"}:
        sys.exit(__doc__)
    run: list[Part] = []
    if lane != "core":
        names = changed(commit)
        graph = imports()
        run = [part for part in parts() if affected(part, names, graph)]
    if lane == "parts":
        print(*(part.name for part in run), sep="\n")
        return 0
    for part in run:
        print(f"changed, or uses what changed: {part.name}", file=sys.stderr)
    print(*("tests", *PACKAGES), sep="\n")
    for part in parts():
        if part not in run:
            print(*(f"--ignore={folder}" for folder in (part.tests, *part.code)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
