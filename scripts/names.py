"""Names of locals and parameters that say what they hold: checked by `scripts/lint`.

A name of `VAGUE` may stand where its whole life can be seen at once, in at most `MOST` lines.  A
parameter that names an option of a verb (``Annotated``) is what users type, and ``left`` with a
``right`` next to it is a side.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
CODE: Final = ("eqverdict", "mdbench")
VAGUE: Final = {"found", "one", "ones", "each", "place", "given", "rest", "kept", "left"}
MOST: Final = 3
"""Lines from the first to the last use."""
OF_USERS: Final = {
    ("mdbench/cli/notebook.py", "predict", "given"),
    ("mdbench/worker/budget.py", "share", "kept"),
}
"""Parameters of functions that users call from Python by these names."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scope: TypeAlias = Function | Comprehension
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def complaints(path: Path) -> Iterator[str]:
    """Yield a line for each vague name in a file that lives too long."""
    where = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    for function, scope in scopes(ast.parse(path.read_text(encoding="utf-8")), "module"):
        bound = bindings(scope)
        for name in bound.keys() & VAGUE:
            if name == "left" and "right" in bound:
                continue
            if any(map(_is_option, bound[name])) or (where, function, name) in OF_USERS:
                continue
            lines = [node.lineno for node in uses(scope, name)]
            if max(lines) - min(lines) >= MOST:
                yield f"{where}:{min(lines)}: {name!r} in {function} says nothing of what it holds"


def scopes(node: ast.AST, function: str) -> Iterator[tuple[str, Scope]]:
    """Yield all functions and comprehensions below a node, with the name of their function."""
    for child in ast.iter_child_nodes(node):
        name = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, (*_FUNCTIONS, *_COMPREHENSIONS)):
            yield name, child
        yield from scopes(child, name)


def bindings(scope: Scope) -> dict[str, list[ast.AST]]:
    """Return the nodes that give names of a scope their values, without those of inner scopes."""
    bound: dict[str, list[ast.AST]] = {}
    if isinstance(scope, _COMPREHENSIONS):
        waiting: list[ast.AST] = [generator.target for generator in scope.generators]
    else:
        for argument in ast.walk(scope.args):
            if isinstance(argument, ast.arg):
                bound.setdefault(argument.arg, []).append(argument)
        waiting = [*scope.body] if isinstance(scope.body, list) else [scope.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.setdefault(node.id, []).append(node)
        if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return bound


def uses(scope: Scope, name: str) -> Iterator[ast.Name | ast.arg]:
    """Yield the nodes of a name in a scope, those of inner scopes that do not bind it included."""
    waiting: list[ast.AST] = [scope]
    while waiting:
        node = waiting.pop()
        if (isinstance(node, ast.Name) and node.id == name) or (
            isinstance(node, ast.arg) and node.arg == name
        ):
            yield node
        for child in ast.iter_child_nodes(node):
            inner = isinstance(child, (*_FUNCTIONS, *_COMPREHENSIONS))
            if not (inner and name in bindings(child)):  # type: ignore[arg-type]
                waiting.append(child)
            elif isinstance(child, _COMPREHENSIONS):
                waiting.append(child.generators[0].iter)


def _is_option(node: ast.AST) -> bool:
    annotation = getattr(node, "annotation", None)
    return isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated"


def main() -> int:
    """Print all complaints; return 1 if there are some."""
    files = (path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py")))
    lines = [line for path in files for line in complaints(path)]
    print(*lines, sep="\n", end="\n" * bool(lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
