"""Why an answer is not the truth: the wrong functions, or the right ones put together wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.expressions.grammar import read
from mdbench.expressions.tree import Call, Chain, Power, names_in, parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.expressions.tree import Node

__all__ = ["FAILURES", "failure", "families"]

FAILURES = ("none", "fitting", "search")

_FAMILIES = {
    "trigonometric": "sin cos tan cot",
    "inverse trigonometric": "asin acos atan arcsin arccos arctan",
    "exponential": "exp",
    "hyperbolic": "sinh cosh tanh",
    "inverse hyperbolic": "asinh acosh atanh arcsinh arccosh arctanh",
    "logarithmic": "log ln",
    "root": "sqrt",
    "modulus": "abs Abs",
    "step": "sign max min Max Min",
}
_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def families(equations: Sequence[str], variables: Sequence[str]) -> frozenset[str]:
    """Give the families of functions of variables in equations; polynomials have none.

    Examples
    --------
    >>> sorted(families(["x**2*sin(y)/(1 + 0.2*y**2)"], ["x", "y"]))
    ['rational', 'trigonometric']
    >>> families(["sin(2)*x + 1/3"], ["x", "y"])
    frozenset()
    """
    trees = (read(text, variables) for text in equations)
    return frozenset(family for tree in trees for node in parts(tree) for family in _of(node))


def failure(
    truth: Sequence[str], equations: Sequence[str], variables: Sequence[str], *, found: bool | None
) -> str | None:
    """Say how an answer fails.

    Parameters
    ----------
    found
        Whether it is the truth; None where that could not be decided.

    Returns
    -------
    str or None
        One of `FAILURES`: ``search`` where a family of functions is missing or too many, else
        ``fitting``: the structure or a constant is wrong.  None where nobody knows whether it is
        the truth, and its families are the truth's.

    References
    ----------
    Kabra et al., "SurfaceBench", section 5.4.
    """
    if found:
        return "none"
    if families(truth, variables) != families(equations, variables):
        return "search"
    return None if found is None else "fitting"


def _of(node: Node) -> Iterator[str]:
    match node:
        case Call() if _hangs(node):
            yield _OF.get(node.function, node.function)
        case Power() if _hangs(node.exponent):
            yield "exponential"
        case Power(exponent=exponent) if _hangs(node.base):
            value = 1.0 if exponent.constant is None else float(exponent.constant)
            if not value.is_integer():
                yield "root"
            if value < 0:
                yield "rational"
        case Chain():
            if any(symbol == "/" and _hangs(operand) for symbol, operand in node.rest):
                yield "rational"


def _hangs(node: Node) -> bool:
    return any(True for _ in names_in(node))
