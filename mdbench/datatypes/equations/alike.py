"""Columns, and powers of a column, that are the same on the data.

What is the same on the data no method can tell apart, and which one it takes is chance.  So columns
that add nothing are left out before any method sees the user's data.  Of the powers of a column of
few values the lowest stands for its equals.  Nothing of it touches the benchmark's own data.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.grammar import read
from eqverdict.tree import (
    Call,
    Chain,
    Negation,
    Node,
    Power,
    Variable,
    names_in,
    parts,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Levels = Mapping[str, tuple[float, ...]]
    Monomial = tuple[tuple[str, int], ...]
    Polynomial = dict[Monomial, float]

FEW = 5
"""A column of no more different values has powers that are the same as lower ones."""
_OFTEN = 3
"""Rows that there are for each value of such a column, at least."""
_STILL = 1e-12
"""A column that changes by no larger share of its size does not change."""
_SAME = 1e-9
"""Two columns are the same if a fit by one leaves less than this share of the other's deviation."""
_NEARLY = 0.01
"""Below this share, two columns differ by rounding or noise alone."""
_MOST_TERMS, _MOST_POWER = 200, 20
_DROPPED = 1e-12
"""A term that is no larger a share of the largest one comes from rounding."""


def independent_columns(
    names: Sequence[str], columns: Array, states: int = 0
) -> tuple[list[int], list[str]]:
    """Return which columns are kept, and a line for each that is left out.

    Parameters
    ----------
    names
        Of the columns.
    columns
        (n, m).
    states
        How many of the columns, the first ones, are states: of these only a multiple of another
        one is left out, as its rate then follows; of others everything that a constant and another
        column give.  Where no state changes all of them are kept.

    Examples
    --------
    >>> t = np.arange(5.0)
    >>> independent_columns(["year", "C", "F"], np.stack([0 * t + 7, t, 1.8 * t + 32], axis=1))[0]
    [1]
    """
    chosen: list[int] = []
    lines: list[str] = []
    still = [float(np.ptp(c)) <= _STILL * float(np.abs(c).max(initial=0)) for c in columns.T]
    if all(still[: states or None]):
        return list(range(len(names))), []
    for index, name in enumerate(names):
        column, is_state = columns[:, index], index < states
        if still[index]:
            of_rate = "its rate is 0, and " if is_state else ""
            lines.append(
                f"{name}: {float(column[0]):.6g} in all rows, and left out: {of_rate}what it does "
                "to others is in their constants"
            )
            continue
        same = next(
            (
                (other, relation)
                for other in chosen
                if (not is_state or other < states)
                and (relation := _relation(columns[:, other], column, not is_state))
            ),
            None,
        )
        if same is None:
            chosen.append(index)
            continue
        other, (factor, shift) = same
        text = names[other] if factor == 1 else f"{factor:.6g} times {names[other]}"
        if shift:
            text += f" {'+' if shift > 0 else '-'} {abs(shift):.6g}"
        follows = (
            "its rate follows from that of the other"
            if is_state
            else "nobody can tell what either of the two does"
        )
        lines.append(f"{name}: the same as {text} in all rows, and left out: {follows}")
    return chosen, lines


def nearly_the_same(names: Sequence[str], columns: Array) -> list[str]:
    """Return a line for each column (n, m) that another one gives but for rounding or noise."""
    moving = [index for index, column in enumerate(columns.T) if np.ptp(column) > 0]
    lines = []
    for number, index in enumerate(moving):
        for other in moving[:number]:
            relation = _relation(columns[:, other], columns[:, index], True, within=_NEARLY)
            if relation is not None:
                factor, shift = relation
                lines.append(
                    f"{names[index]}: nearly {factor:.4g} times {names[other]} {shift:+.4g}: what "
                    "either of the two does can hardly be told; leave one of them out"
                )
                break
    return lines


def _relation(
    values: Array, other: Array, shifted: bool, *, within: float = _SAME
) -> tuple[float, float] | None:
    """Return factor and constant by which a column gives another one; None for no such."""
    size = float(np.abs(values).max()), float(np.abs(other).max())
    a, b = values / size[0], other / size[1]
    if shifted:
        off = a - a.mean(), b - b.mean()
        factor = float(off[0] @ off[1] / (off[0] @ off[0]))
        shift = float(b.mean() - factor * a.mean())
    else:
        factor, shift = float(a @ b / (a @ a)), 0.0
    if abs(shift) <= _SAME:
        shift = 0.0
    unexplained = b - factor * a - shift
    if float(np.sqrt(np.mean(unexplained**2))) > within * float(np.std(b)):
        return None
    factor *= size[1] / size[0]
    return (1.0 if abs(factor - 1) <= _SAME else factor), shift * size[1]


def levels_of(columns: Mapping[str, Array]) -> dict[str, tuple[float, ...]]:
    """Return the values of the columns that have few, rising.

    Examples
    --------
    >>> levels_of({"u": np.array([0.0, 1, 1, 0, 0, 1]), "x": np.arange(6.0)})
    {'u': (0.0, 1.0)}
    """
    few = {}
    for name, column in columns.items():
        flat = np.ravel(column)
        if len(np.unique(flat[:1_000])) > FEW:  # of many rows a few decide, quickly
            continue
        values = np.unique(flat)
        if 1 < len(values) <= FEW and len(flat) >= _OFTEN * len(values):
            few[name] = tuple(map(float, values))
    return few


def levels_line(name: str, values: Sequence[float]) -> str:
    """Return the line of advice on a column of few values."""
    listed = ", ".join(f"{value:g}" for value in values)
    powers = "its powers are" if len(values) <= 2 else f"its powers from {len(values)} on are"  # noqa: PLR2004
    return (
        f"{name}: {len(values)} values ({listed}): {powers} the same as lower ones on these data, "
        "and are written as those; at other values nothing is known"
    )


def in_lowest_powers(text: str, variables: Iterable[str], levels: Levels) -> str:
    """Write an equation with the lowest powers of columns of few values.

    On these values it is the same; elsewhere nothing is known.  What is not a polynomial in such
    a column stays as it is.

    Parameters
    ----------
    text
        A right-hand side that has been read before.
    levels
        The values of each column of few.

    Examples
    --------
    >>> in_lowest_powers("0.5*x - 2.0*u**3", ["x", "u"], {"u": (0.0, 1.0)})
    '0.5*x - 2.0*u'
    >>> in_lowest_powers("exp(u**2) + x", ["x", "u"], {"u": (-1.0, 1.0)})
    '(exp(1.0) + x)'
    """
    names = tuple(variables)
    node = read(text, names)
    if not levels.keys() & {part.name for part in names_in(node)}:
        return text
    polynomial = _polynomial(node)
    if polynomial is not None:
        return _polynomial_text(polynomial, levels) if _excess(polynomial, levels) else text
    other = _lowered(node, names, levels)
    return text if other == node else text_of(other)


def used_in(text: str, variables: Iterable[str]) -> frozenset[str]:
    """Return the variables that an equation has."""
    return frozenset(part.name for part in names_in(read(text, tuple(variables))))


def cannot_be_told(text: str, variables: Iterable[str], levels: Levels) -> list[str]:
    """Name the columns of two values that an equation has in a function, a root or a divisor."""
    hidden: list[str] = []
    for part in parts(read(text, tuple(variables))):
        match part:
            case Call():
                inside: list[Node] = list(part.arguments)
            case Power(base=base, exponent=exponent):
                power = exponent.constant
                whole = power is not None and power >= 0 and float(power).is_integer()
                inside = [] if whole else [base, exponent]
            case Chain():
                inside = [operand for symbol, operand in part.rest if symbol == "/"]
            case _:
                inside = []
        hidden += [variable.name for node in inside for variable in names_in(node)]
    two = [name for name, values in levels.items() if len(values) == 2]  # noqa: PLR2004
    return [name for name in two if name in hidden]


def _lowered(node: Node, names: tuple[str, ...], levels: Levels) -> Node:
    polynomial = _polynomial(node)
    if polynomial is not None:
        return (
            read(_polynomial_text(polynomial, levels), names)
            if _excess(polynomial, levels)
            else node
        )

    def lowered(part: Node) -> Node:
        return _lowered(part, names, levels)

    match node:
        case Chain():
            rest = tuple((symbol, lowered(operand)) for symbol, operand in node.rest)
            return replace(node, first=lowered(node.first), rest=rest)
        case Negation():
            return replace(node, operand=lowered(node.operand))
        case Power():
            return replace(node, base=lowered(node.base), exponent=lowered(node.exponent))
        case Call():
            return replace(node, arguments=tuple(map(lowered, node.arguments)))
    return node


def _polynomial(node: Node) -> Polynomial | None:
    """Multiply a tree out; None where it is no polynomial, or too long a one."""
    if node.constant is not None:
        return {(): float(node.constant)}
    match node:
        case Variable():
            return {((node.name, 1),): 1.0}
        case Negation():
            inner = _polynomial(node.operand)
            return None if inner is None else {key: -value for key, value in inner.items()}
        case Power():
            return _power(node)
        case Chain():
            return _chain(node)
    return None


def _power(node: Power) -> Polynomial | None:
    power = node.exponent.constant
    if power is None or not float(power).is_integer() or not 0 <= power <= _MOST_POWER:
        return None
    base = _polynomial(node.base)
    product: Polynomial | None = {(): 1.0}
    for _ in range(int(power)):
        product = _product(product, base)
    return product


def _chain(node: Chain) -> Polynomial | None:
    whole = _polynomial(node.first)
    for symbol, operand in node.rest:
        other = _polynomial(operand)
        if whole is None or other is None:
            return None
        if symbol in "+-":
            sign = 1.0 if symbol == "+" else -1.0
            for key, value in other.items():
                whole[key] = whole.get(key, 0.0) + sign * value
        elif symbol == "*":
            whole = _product(whole, other)
        elif operand.constant:
            whole = {key: value / float(operand.constant) for key, value in whole.items()}
        else:
            return None
    return whole


def _product(left_factor: Polynomial | None, right_factor: Polynomial | None) -> Polynomial | None:
    if (
        left_factor is None
        or right_factor is None
        or len(left_factor) * len(right_factor) > _MOST_TERMS
    ):
        return None
    product: Polynomial = {}
    for first, a in left_factor.items():
        for second, b in right_factor.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            key = tuple(sorted(powers.items()))
            product[key] = product.get(key, 0.0) + a * b
    return product


def _excess(polynomial: Polynomial, levels: Levels) -> bool:
    """Return whether a power of a column of few values is as high as their number, or higher."""
    return any(
        name in levels and power >= len(levels[name]) for key in polynomial for name, power in key
    )


def _polynomial_text(polynomial: Polynomial, levels: Levels) -> str:
    """Write a polynomial with the lowest powers of columns of few values."""
    lowest: dict[Monomial, Fraction] = {}
    for key, value in polynomial.items():
        terms: dict[Monomial, Fraction] = {(): Fraction(value)}
        for name, power in key:
            powers = _remainder(power, levels.get(name, ()))
            terms = {
                (tuple(sorted((*names, (name, lower)))) if lower else names): weight * coefficient
                for names, weight in terms.items()
                for lower, coefficient in powers.items()
                if coefficient
            }
        for names, weight in terms.items():
            lowest[names] = lowest.get(names, Fraction(0)) + weight
    size = {name: max(map(abs, values)) or 1.0 for name, values in levels.items()}
    reach = {
        names: abs(float(weight)) * float(np.prod([size.get(n, 1.0) ** p for n, p in names]))
        for names, weight in lowest.items()
    }
    least = _DROPPED * max(reach.values(), default=0.0)
    from mdbench.worker.coordinates import sum_of  # noqa: PLC0415 - few answers need it

    return sum_of(
        [
            (float(weight), "*".join(n if p == 1 else f"{n}**{p}" for n, p in names))
            for names, weight in lowest.items()
            if reach[names] > least
        ]
    )


def _remainder(power: int, values: Sequence[float]) -> dict[int, Fraction]:
    """Return the polynomial of lower degree that is a power on some values, exactly.

    Examples
    --------
    >>> _remainder(4, (0.0, 0.5))
    {1: Fraction(1, 8)}
    """
    if not values or power < len(values):
        return {power: Fraction(1)}
    exact = [Fraction(value) for value in values]
    divisor = [Fraction(1)]  # the product of (u - value), from the constant on
    for value in exact:
        shifted = [Fraction(0), *divisor]
        divisor = [a - value * b for a, b in zip(shifted, [*divisor, Fraction(0)], strict=True)]
    weights = [Fraction(0)] * len(exact)
    weights[0] = Fraction(1)
    for _ in range(power):  # times u, modulo the divisor
        last, weights = weights[-1], [Fraction(0), *weights[:-1]]
        weights = [a - last * b for a, b in zip(weights, divisor[:-1], strict=True)]
    return {lower: weight for lower, weight in enumerate(weights) if weight}
