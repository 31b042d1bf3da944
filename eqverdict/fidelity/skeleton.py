"""Whether some choice of its constants makes an answer the truth: what is called its skeleton.

The answer's constants are fitted to the truth's values, and then moved on in extended precision
until all digits agree.  A structure that holds everything does not pass: where the two agree, no
part of the answer may be without effect that had one before.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.equation import linear
from eqverdict.errors import EquationError
from eqverdict.expand import expand
from eqverdict.fidelity.constant_match import refined_constants
from eqverdict.fidelity.numeric import ValueComparison, exact_point
from eqverdict.fidelity.parametric import ParametricExpression, parametrize
from eqverdict.fidelity.parametric_fit import fit_parametric
from eqverdict.interval_eval import ball_value, exact_ball, provably_differ
from eqverdict.tree import (
    Call,
    Chain,
    Number,
    Variable,
    names_in,
    parts,
    value,
    with_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.atoms import Sum
    from eqverdict.fidelity.points import Domain
    from eqverdict.tree import Node

    Array = NDArray[np.float64]

MOST_CONSTANTS = 24
"""Answers with more constants are undecided."""
_STARTS = 8
"""Number of choices of constants from which a fit starts."""
_FEWEST = 12
"""Points that have to be there besides one for each constant."""
_UNSEEN = 1e-9
"""A part whose lack changes values by less has no effect once constants are fitted."""
_EFFECT = 1e-60
"""A part whose lack changes values by more has an effect with the answer's own numbers."""
_LOOKED_AT = 4
_WHOLE = 1e-9
_MOST_SUBSETS = 6
"""Sums of more terms are looked at by single terms and pairs only."""


def same_skeleton(
    truth: str,
    prediction: str,
    true_names: tuple[str, ...],
    names: tuple[str, ...],
    domain: Domain,
) -> bool | None:
    """Whether there are constants with which an answer is the truth.

    Returns
    -------
    bool or None
        None for answers of too many constants, where too little can be evaluated, and where too
        much cancels for double precision, unless a choice was found.  False
        also where no choice was found: fits start from the answer's own constants, and from
        seven draws of the truth's, which are always the same.
    """
    known = _by_monomials(truth, prediction, true_names, names)
    if known is not None:
        return known
    values = ValueComparison(truth, prediction, true_names, names, domain)
    used = [{node.name for node in names_in(tree)} for tree in (values.truth, values.prediction)]
    if used[0] != used[1]:
        return False  # what one depends on and the other does not would have to vanish
    answer = parametrize(values.prediction, named=True)
    usable = np.isfinite(values.true_values)
    equal = values.equal and not _differs_somewhere(answer, answer.start, values)
    if equal or not len(answer.start):
        return equal
    if len(answer.start) > MOST_CONSTANTS or usable.sum() < len(answer.start) + _FEWEST:
        return None
    columns = {name: column[usable] for name, column in values.columns.items()}
    wanted = values.true_values[usable]
    fits: set[bytes] = set()
    for start in _starts(answer, parametrize(values.truth, named=True).start):
        fit = fit_parametric(answer, columns, wanted, start, list(range(len(start))))
        if fit is not None and fit.tobytes() not in fits:
            fits.add(fit.tobytes())
            if _holds(answer, fit, values, columns):
                return True
        if fit is None and answer.is_linear:
            break  # from nowhere else there is one
    # Where too much cancels for double precision, nothing can be fitted.
    return None if values.cancels else False


def _by_monomials(
    truth: str, prediction: str, true_names: tuple[str, ...], names: tuple[str, ...]
) -> bool | None:
    """Compare sums of products of variables, each with a constant of its own."""
    try:
        t, p = expand(truth, true_names), expand(prediction, names)
    except EquationError:
        return None
    if not (_is_polynomial(t) and _is_polynomial(p)):
        return None
    if t == p:
        return True
    combination = linear(prediction, names)
    if combination is None:
        return None
    if any(c in {1.0, -1.0} for c, _ in combination.terms):
        return None  # it may not be written, and is no constant then
    return set(t) == set(p)


def _is_polynomial(terms: Sum) -> bool:
    return all(
        atom.kind == "variable" and power.denominator == 1
        for monomial in terms
        for atom, power in monomial
    )


def _starts(answer: ParametricExpression, true: Array) -> Iterator[Array]:
    """Return constants to start from: the answer's own, and the truth's in other orders."""
    yield answer.start
    generator = random.Random("starts")  # noqa: S311 - the same for all, not secrets
    pool = [float(c) for c in true if np.isfinite(c) and c] or [1.0]
    for _ in range(_STARTS - 1):
        drawn = [
            generator.choice((1, 1, -1)) * generator.choice([*pool, abs(own) or 1.0])
            for own in answer.start
        ]
        for k in answer.exponents:
            drawn[k] = float(answer.start[k])
        yield np.array(drawn)


def _holds(
    answer: ParametricExpression,
    constants: Array,
    values: ValueComparison,
    columns: Mapping[str, Array],
) -> bool:
    """Whether the two agree to all digits, with every part of the answer there."""
    if any(abs(constants[k] - round(constants[k])) < _WHOLE for k in answer.exponents):
        return False
    free = list(range(len(constants)))
    exact = refined_constants(answer, values, values.truth, columns, constants, free)
    if exact is None or _is_more_than(answer, exact[0], columns):
        return False
    return not _differs_somewhere(answer, exact[0], values, exact[1])


def _differs_somewhere(
    answer: ParametricExpression,
    constants: Array,
    values: ValueComparison,
    exact: Sequence[Any] | None = None,
) -> bool:
    """Whether an answer with other constants is not the truth where no point drawn shows it."""
    digits = [exact_ball(float(c)) for c in constants] if exact is None else exact
    difference = values.hidden_difference(
        lambda columns: answer.values(columns, constants),
        lambda point: answer.precise(point, digits),
        values.truth,
    )
    return difference is not None


def _is_more_than(
    answer: ParametricExpression, constants: Array, columns: Mapping[str, Array]
) -> bool:
    """Whether a part has no effect with these constants, and had one with the answer's own."""
    return any(
        _is_idle(answer, tree, part, constants, columns)
        and _has_effect(answer, tree, part, columns)
        for tree, part in _with_holes(answer.tree)
    )


_HOLE = "the part"


def _with_holes(tree: Node) -> Iterator[tuple[Node, Node]]:
    """Return the tree with a hole for each part, or sum of terms, that could be without effect."""
    for part in parts(tree):
        if part is not tree and not isinstance(part, Number):
            yield with_part(tree, part, Variable(None, _HOLE)), part
        if isinstance(part, Call) and len(part.arguments) > 1:  # of max and min only one counts
            first, second = part.arguments
            yield from (
                (with_part(tree, part, first), second),
                (with_part(tree, part, second), first),
            )
        if not (isinstance(part, Chain) and part.rest[0][0] in "+-"):
            continue
        operands = [("+", part.first), *part.rest]
        for chosen in _subsets(len(operands)):
            inner = [operands[i] for i in chosen]
            rest = [operands[i] for i in range(len(operands)) if i not in chosen]
            some = Chain(None, Number(np.float64(0.0), "0"), tuple(inner))
            hole = Chain(None, Variable(None, _HOLE), tuple(rest))
            yield with_part(tree, part, hole), some


def _subsets(n: int) -> Iterator[set[int]]:
    if n <= _MOST_SUBSETS:
        for mask in range(1, 2**n - 1):
            if mask.bit_count() > 1:
                yield {i for i in range(n) if mask >> i & 1}
    else:
        yield from ({i, j} for i in range(n) for j in range(i))


def _is_idle(
    answer: ParametricExpression,
    tree: Node,
    part: Node,
    constants: Array,
    columns: Mapping[str, Array],
) -> bool:
    """Whether values stay as they are when a part is one number.

    A part without variables is a constant that may be anything but zero.
    """
    n = len(next(iter(columns.values())))
    named = {**columns, **{f"#{k}": np.full(n, c) for k, c in enumerate(constants)}}
    with np.errstate(all="ignore"):
        whole = np.broadcast_to(value(answer.tree, named), n)
        filled = np.broadcast_to(value(part, named), n)
        usable = np.isfinite(whole) & np.isfinite(filled)
        if not usable.any():
            return False
        varies = any(not node.name.startswith("#") for node in names_in(part))
        number = float(np.median(filled[usable])) if varies else 0.0
        other = np.broadcast_to(value(tree, {**named, _HOLE: np.full(n, number)}), n)
        same = np.abs(other - whole) <= _UNSEEN * np.abs(whole)
    return bool(same[usable].all())


def _has_effect(
    answer: ParametricExpression, tree: Node, part: Node, columns: Mapping[str, Array]
) -> bool:
    """Whether with the answer's own numbers values are others when a part is one number.

    A part without variables is a constant that may be anything but zero.
    """
    varies = any(not node.name.startswith("#") for node in names_in(part))
    n = len(next(iter(columns.values())))
    rows = np.unique(np.linspace(0, n - 1, _LOOKED_AT).astype(int))
    constants = {f"#{k}": exact_ball(float(c)) for k, c in enumerate(answer.start)}
    points = [
        exact_point({name: float(column[i]) for name, column in columns.items()}) | constants
        for i in rows
    ]
    for point in points:

        def both(point: Mapping[str, Any] = point) -> tuple[Any, Any, Any]:
            number = ball_value(part, points[0]) if varies else exact_ball(0.0)
            one, other = ball_value(answer.tree, point), ball_value(tree, {**point, _HOLE: number})
            return one, other, abs(one) + abs(other)

        try:
            if provably_differ(both, _EFFECT)[0]:
                return True
        except ArithmeticError:
            continue
    return False
