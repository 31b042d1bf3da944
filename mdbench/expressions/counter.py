"""SymPy counts nodes, in a child process: see `child`."""

from __future__ import annotations

from typing import Any

from mdbench.children import Child
from mdbench.errors import EquationError
from mdbench.expressions.grammar import read

__all__ = ["MAX_BYTES", "MAX_SECONDS", "answer", "complexity"]

MAX_SECONDS = 5
"""CPU time for one equation."""
MAX_BYTES = 2 << 30
"""Memory for one question about equations, of every data type."""


def complexity(text: str, variables: tuple[str, ...]) -> int:
    """Count the nodes of the SymPy expression of a text that `grammar.read` has accepted.

    Raises
    ------
    EquationError
        If SymPy fails, or needs more than `MAX_SECONDS` or `MAX_BYTES`.
    """
    answer = _child.ask({"text": text, "variables": variables})
    if "complexity" not in answer:
        raise EquationError(
            f"SymPy cannot count the nodes of {text[:40]!r}{'...' if text[40:] else ''}: "
            f"{answer['error']}",
            f"An equation may take {MAX_SECONDS} s and {MAX_BYTES >> 30} GiB of memory.",
        )
    return int(answer["complexity"])


def prepare() -> None:
    """Load SymPy, which takes longer than most questions: the child's side."""
    answer({"text": "u0*(u0 + 1)", "variables": ["u0"]})


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Count the nodes of ``text`` with its ``variables``: the child's side."""
    from sympy import Symbol  # noqa: PLC0415 - the parent does without

    from mdbench.expressions.symbolic import nodes, to_sympy  # noqa: PLC0415 - as above

    variables = question["variables"]
    tree = read(question["text"], variables)
    return {"complexity": nodes(to_sympy(tree, {name: Symbol(name) for name in variables}))}


_child = Child(__name__, MAX_SECONDS, MAX_BYTES)
