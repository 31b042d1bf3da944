"""Questions about equations that SymPy answers, in a child process: see `limited_process`."""

from __future__ import annotations

import cmath
import keyword
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.parsing.sympy_parser import parse_expr

from eqverdict.atoms import ONE
from eqverdict.equation import to_sympy
from eqverdict.errors import EquationError
from eqverdict.expand import expand
from eqverdict.fidelity.constant_match import ConstantMatcher, Equivalence, MatchResult
from eqverdict.fidelity.switches import has_switches, on_a_jump, switch_points
from eqverdict.grammar import read
from eqverdict.symbolic_solution import (
    assumed_symbols,
    equal_up_to_a_constant,
    rounded,
    srbench_rounded,
)
from eqverdict.sympy_speedups import load_less, shortcuts
from eqverdict.tree import value
from eqverdict.tree_edit_distance import Tree, edit_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


_ENOUGH_R2 = 0.5
"""SRBench looks at no model whose R2 on the test data is not above this."""
_SEEN_APART = 1e-5
"""Relative to the values: what differs by more between two switches is another function."""
_LOOKS = 4
_GOLDEN = 0.6180339887498949
_ROUNDING = 1e-6
"""Relative to the summands: values that differ by more than this differ by more than rounding."""
_SEEN = 0.05
_LARGE = 100.0
"""An expression that varies by so much, and is no larger, does not depend on numbers below 1e-4."""


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Answer a question by what its key ``ask`` names; the other keys are its arguments."""
    return _ANSWERS[question.pop("ask")](**question)


def prepare() -> None:
    """Let SymPy load what it loads at its first expression: no part of a question's time."""
    load_less()
    _complexity("u0*(u0 + 1)", ["u0"])


def nodes(expression: Any) -> int:
    """Return the number of nodes of a SymPy expression in a pre-order walk."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


def _complexity(text: str, variables: list[str]) -> dict[str, Any]:
    symbols = {name: sympy.Symbol(name) for name in variables}
    return {"complexity": nodes(to_sympy(read(text, variables), symbols))}


def _tree(text: str, variables: list[str]) -> dict[str, Any]:
    symbols = plain_symbols(variables)
    tree = tree_of(canonical(to_sympy(read(text, variables), symbols), symbols))
    return {"labels": tree.labels, "children": tree.children}


def _distance(trees: list[dict[str, Any]]) -> dict[str, Any]:
    one, other = (Tree(tuple(tree["labels"]), tuple(tree["children"])) for tree in trees)
    return {"distance": edit_distance(one, other)}


def _complexities(text: str, variables: list[str]) -> dict[str, Any]:
    expression = to_sympy(read(text, variables), plain_symbols(variables))
    return {"complexity": nodes(expression), "simplified": nodes(_simple(expression))}


def _operations(text: str, variables: list[str]) -> dict[str, Any]:
    expression = to_sympy(read(text, variables), plain_symbols(variables))
    return {"operations": int(expression.count_ops())}


def _solution(
    truth: str, prediction: str, domain: dict[str, dict[str, Any]], digits: int | None
) -> dict[str, Any]:
    symbols = assumed_symbols(domain)
    t, p = (to_sympy(read(text, symbols), symbols, exact=True) for text in (truth, prediction))
    how = equal_up_to_a_constant(t, p, symbols, domain)
    if not how and digits is not None:
        t, p = rounded(t, digits), rounded(p, digits)
        how = equal_up_to_a_constant(t, p, symbols, domain)
        if not how:
            how = _move_constants(truth, prediction, domain, digits)
        how += f" with numbers of {digits} digits" if how else ""
    if how and _is_apart_between_switches(truth, prediction, domain, by_ratio="ratio" in how):
        how = ""
    return {"how": how}


def _is_apart_between_switches(
    truth: str, prediction: str, domain: dict[str, dict[str, Any]], *, by_ratio: bool
) -> bool:
    """Whether the difference or the ratio is another one between two switches of either side."""
    trees = [read(text, domain) for text in (truth, prediction)]
    whole = any(spread["distribution"] == "uniform-integer" for spread in domain.values())
    if whole or not has_switches(*trees):
        return False
    columns = switch_points(trees, {name: _ends(spread) for name, spread in domain.items()})
    n = len(next(iter(columns.values())))
    with np.errstate(all="ignore"):
        true, answer = (
            np.broadcast_to(np.asarray(value(tree, columns), np.float64), n) for tree in trees
        )
        known = np.isfinite(true) & np.isfinite(answer) & ~on_a_jump(trees, columns)
    true, answer = true[known], answer[known]
    if not len(true):
        return False
    if by_ratio:
        some = true != 0
        factor = np.median(answer[some] / true[some]) if some.any() else 1.0
        off = answer - factor * true
    else:
        off = answer - true
        off = off - np.median(off)
    sizes = np.abs(true) + np.abs(answer)
    return bool(np.any(np.abs(off) > _SEEN_APART * (sizes + sizes.mean())))


def _move_constants(
    truth: str, prediction: str, domain: dict[str, dict[str, Any]], digits: int
) -> str:
    """Move the truth's constants by as much as rounding to some digits allows.

    So the sum of two waves is one, though its numbers are others, which have been rounded.
    """
    names = tuple(domain)
    ends = tuple((name, *_ends(spread)) for name, spread in domain.items())
    try:
        terms = expand(truth, names)
    except EquationError:
        return ""
    values = ConstantMatcher(truth, prediction, names, names, ends)
    if values.undefined:
        return ""
    offset, factor = values.offset(), values.factor()
    if offset is not None:
        shifted = terms | {ONE: terms.get(ONE, 0) + Fraction(offset)}
        if offset and _is_near(values.relation(shifted, exact=True), digits):
            return "difference"
        if _is_near(values.relation(terms, exact=True), digits):
            return "difference"
    if factor is None:
        return ""
    values = ConstantMatcher(truth, f"({prediction})/({factor:.9g})", names, names, ends)
    return "ratio" if _is_near(values.relation(terms, exact=True), digits) else ""


def _is_near(found: MatchResult, digits: int) -> bool:
    return found.relation is Equivalence.SAME and (found.error or 0.0) <= 10.0**-digits


def _ends(spread: dict[str, Any]) -> tuple[float, float]:
    low, high = float(spread["low"]), float(spread["high"])
    if spread["sign"] == "negative":
        return -high, -low
    return (-high, high) if spread["sign"] == "mixed" else (low, high)


def _srbench(
    truth: str, prediction: str, variables: Collection[str], r2: float | None
) -> dict[str, Any]:
    symbols = plain_symbols(variables)
    t, p = (
        srbench_rounded(to_sympy(read(text, variables), symbols).subs(sympy.pi, sympy.pi.evalf()))
        for text in (truth, prediction)
    )
    p = srbench_rounded(_simple(p))
    if (r2 is not None and not r2 > _ENOUGH_R2) or p == 0 or p is sympy.nan:
        return {"how": ""}
    difference = srbench_rounded(t - p)
    if _is_constant(difference) or (
        not _is_far_from_constant(difference) and _is_constant(srbench_rounded(_simple(difference)))
    ):
        return {"how": "difference"}
    return {"how": "ratio" if _is_constant(srbench_rounded(p / t)) else ""}


def _is_constant(expression: Any) -> bool:
    """Whether an expression is constant, as SymPy does after simplifying it.

    Values show nearly all that are not, and simplifying does not change them.
    """
    low, high, size = _spread(expression)
    return bool(high - low <= _ROUNDING * size and expression.is_constant())


def _is_far_from_constant(expression: Any) -> bool:
    """Whether rounding the numbers of any writing to three decimals leaves it variable."""
    low, high, size = _spread(expression)
    return high - low > _SEEN and size < _LARGE


def _spread(expression: Any) -> tuple[float, float, float]:
    """Return the least and the largest value at a few points, and the size of what is added up."""
    symbols = sorted(expression.free_symbols, key=str)
    values, size = [], 0.0
    for k in range(_LOOKS):
        point = {
            symbol: 0.4 + 1.7 * ((k + 1) * (i + 3) * _GOLDEN % 1)
            for i, symbol in enumerate(symbols)
        }
        terms = [complex(term.evalf(20, subs=point)) for term in sympy.Add.make_args(expression)]
        if not all(map(cmath.isfinite, terms)):
            return 0.0, 0.0, 0.0
        values.append(abs(sum(terms)))
        size = max(size, sum(map(abs, terms)))
    return min(values), max(values), size


def _simple(expression: Any) -> Any:
    """Simplify, to nothing that is longer."""
    with shortcuts():
        return sympy.simplify(expression, ratio=1)


_ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "tree": _tree,
    "complexity": _complexity,
    "operations": _operations,
    "distance": _distance,
    "complexities": _complexities,
    "solution": _solution,
    "srbench": _srbench,
}


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
