"""The form in which equations are compared node by node; runs in a child process only.

The steps are those behind the published distances of SRSD (Matsubara et al., "Rethinking
symbolic regression datasets and benchmarks for scientific discovery", section on the normalized
edit distance): numbers worked out, factored, simplified, and read anew from SymPy's own text,
so that the order of the arguments does not depend on how the expression came about.
"""

from __future__ import annotations

import keyword
from functools import cache
from typing import TYPE_CHECKING, Any

import sympy
from sympy.parsing.sympy_parser import parse_expr

from mdbench.expressions.srbench.tree_edit_distance import Tree
from mdbench.expressions.sympy_speedups import shortcuts

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["canonical", "plain_symbols", "tree_of"]

_CONSTANT = "constant"
"""The label of all numbers; no variable can have it, see `plain_symbols`."""
_TAKEN = frozenset({"Integer", "Float", "Rational", "Symbol", "Function", _CONSTANT})


def plain_symbols(variables: Iterable[str]) -> dict[str, Any]:
    """Make a symbol without assumptions for each variable, of a name that SymPy can read back."""
    return {
        name: sympy.Symbol(f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name)
        for name in variables
    }


def canonical(expression: Any, symbols: dict[str, Any]) -> Any:
    """Bring an expression into the form in which it is compared.

    Parameters
    ----------
    expression
        A SymPy expression in the symbols.
    symbols
        As made by `plain_symbols`.
    """
    number = expression.subs(sympy.pi, sympy.pi.evalf()).evalf()
    with shortcuts():
        simple = number.factor().simplify().subs(1.0, 1)
    # What is read is SymPy's own text of an expression that our grammar let through.
    return parse_expr(
        str(simple),
        local_dict={symbol.name: symbol for symbol in symbols.values()},
        global_dict=dict(_names()),
    )


def tree_of(expression: Any) -> Tree:
    """Write an expression as a labelled tree: all numbers alike, variables by their names.

    Sums and products have as many children as they have terms.
    """
    labels: list[str] = []
    children: list[int] = []
    # A stack of our own: an expression may be deeper than Python's.
    waiting: list[tuple[Any, bool]] = [(expression, False)]
    while waiting:
        node, done = waiting.pop()
        arguments = () if node.is_number else node.args
        if arguments and not done:
            waiting.append((node, True))
            waiting.extend((argument, False) for argument in reversed(arguments))
        else:
            labels.append(_label(node))
            children.append(len(arguments))
    return Tree(tuple(labels), tuple(children))


def _label(node: Any) -> str:
    if node.is_number:
        return _CONSTANT
    return str(node.name) if node.is_Symbol else type(node).__name__


@cache
def _names() -> dict[str, Any]:
    """All names of SymPy, for its parser; made once, as it takes milliseconds."""
    return {name: getattr(sympy, name) for name in sympy.__all__}
