"""Equations as sums of terms, in a form that does not depend on how they were written.

An equation is multiplied out with exact numbers into *terms*: a coefficient times a product of
powers of *atoms*.  An atom is a variable, a function of a sum, or a sum under a root or a
fraction bar.  Every atom has a writing of its own:

- ``exp(a + 2*b)`` is ``exp(a) * exp(b)**2``, and a power with a variable exponent is an exp;
- ``sin`` and ``cos`` are one function with a phase, ``tan`` and ``cot`` are their quotients;
- signs leave odd functions and vanish in even ones, factors leave logarithms, roots and bars;
- ``log(a*b)`` is ``log(a) + log(b)``, and ``sqrt(a**2)`` is ``abs(a)``.

The last two hold where both sides are defined.  No SymPy: most equations need well below a
millisecond, and the work is limited by a count, not by a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from eqverdict.atoms import (
    ONE,
    PI,
    absolute,
    absolute_sum,
    bounded,
    exponential,
    float_of,
    function,
    normalised,
    number,
    number_power,
    opaque,
    simple,
    sorted_terms,
    sum_order,
    variable,
    wave,
)
from eqverdict.errors import EquationError
from eqverdict.grammar import check, read
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eqverdict.atoms import Atom, Exponent, Monomial, Sum

MAX_PRODUCTS = 20_000
"""Products of two terms that the expansion of one equation may take: well below a second."""
MAX_POWER = 24
"""Sums are not multiplied out beyond this power."""
CANCELLED = Fraction(1, 10**14)
"""Coefficients whose sum is smaller than this share of their sizes cancel: the rest is the rounding
of numbers that were printed in double precision."""

_SNAP = Fraction(1, 10**9)
"""A phase this near to a multiple of pi/2 is one."""
_ODD = frozenset({"asin", "atan", "sinh", "tanh", "asinh", "atanh", "sign"})
_EVEN = frozenset({"cosh"})


@lru_cache(maxsize=4_096)
def expand(text: str, variables: tuple[str, ...]) -> Sum:
    """Multiply an equation out.

    Parameters
    ----------
    text
        A right-hand side.
    variables
        The names it may use.

    Returns
    -------
    dict
        The coefficient of each product; not to be changed.

    Raises
    ------
    EquationError
        If the text cannot be read, has too many terms, or divides by zero.
    """
    check(text)
    return Expansion().of(read(text, variables))


@dataclass
class Expansion:
    """The expansion of one equation, with the work that it has done so far."""

    products: int = 0

    def of(self, node: Node) -> Sum:
        """Expand a tree."""
        match node:
            case Number():
                return _constant(number(node))
            case Variable():
                return {((variable(node.name), 1),): Fraction(1)}
            case Chain():
                return self.chain(node)
            case Negation():
                return _scaled(self.of(node.operand), Fraction(-1))
            case Power():
                return self.powered(node)
            case Call():
                return self.call(node)

    def chain(self, node: Chain) -> Sum:
        """Expand a sum or a product."""
        parts = [("+", node.first), *node.rest]
        if node.rest[0][0] in "+-":
            signed = [(1 if sign == "+" else -1, self.of(part)) for sign, part in parts]
            return _add(_scaled(part, Fraction(sign)) for sign, part in signed)
        result = self.of(node.first)
        for symbol, part in node.rest:
            factor = self.of(part)
            result = self.times(result, factor if symbol == "*" else self.power(factor, -1))
        return result

    def powered(self, node: Power) -> Sum:
        """Expand a power."""
        base = self.of(node.base)
        if node.exponent.constant is not None:
            return self.power(base, simple(node.exponent.constant))
        return self.exp(self.times(self.of(node.exponent), self.log(base)))

    def call(self, node: Call) -> Sum:
        """Expand a call."""
        if node.constant is not None:
            return _constant(Fraction(float(node.constant)))
        name = ALIASES.get(node.function, node.function)
        return self.applied(name, [self.of(argument) for argument in node.arguments])

    def applied(self, name: str, sums: list[Sum]) -> Sum:
        """Apply a function, by its usual name."""
        if len(sums) > 1:
            inner = sorted((sorted_terms(each) for each in sums), key=sum_order)
            return _single(function(name, *inner))
        known: dict[str, Callable[[Sum], Sum]] = {
            "abs": self.abs,
            "cos": lambda argument: self.wave(argument, cos=True),
            "cot": lambda argument: self.quotient(argument, cos_above=True),
            "exp": self.exp,
            "log": self.log,
            "sin": lambda argument: self.wave(argument, cos=False),
            "sqrt": lambda argument: self.power(argument, Fraction(1, 2)),
            "tan": lambda argument: self.quotient(argument, cos_above=False),
        }
        return known[name](sums[0]) if name in known else self.odd_or_even(name, sums[0])

    def quotient(self, argument: Sum, *, cos_above: bool) -> Sum:
        """Return the tangent of a sum, or one over it."""
        below = self.wave(argument, cos=not cos_above)
        return self.times(self.wave(argument, cos=cos_above), self.power(below, -1))

    def odd_or_even(self, name: str, argument: Sum) -> Sum:
        """Apply a function; signs leave odd ones, and vanish in even ones."""
        sign = Fraction(1)
        terms = sorted_terms(argument)
        if terms and terms[0][1] < 0 and name in _ODD | _EVEN:
            terms = tuple((monomial, -c) for monomial, c in terms)
            sign = Fraction(-1 if name in _ODD else 1)
        if name == "sign" and terms:
            terms = normalised(terms)[1]
        return _single(function(name, terms), sign)

    def times(self, first: Sum, second: Sum) -> Sum:
        """Multiply two sums."""
        self.counted(len(first) * len(second))
        parts = []
        for a, c in first.items():
            for b, d in second.items():
                powers = dict(a)
                for atom, power in b:
                    powers[atom] = powers.get(atom, 0) + power
                parts.append(_scaled(self.settled(powers), bounded(c * d)))
        return _add(parts)

    def counted(self, products: int) -> None:
        """Count products; too many are an error."""
        self.products += products
        if self.products > MAX_PRODUCTS:
            raise EquationError(
                f"an equation of more than {MAX_PRODUCTS:,} products is not multiplied out"
            )

    def settled(self, powers: dict[Atom, Exponent]) -> Sum:
        """Make a product of atoms, opening those that have become something simpler."""
        plain: list[tuple[Atom, Exponent]] = []
        opened: list[Sum] = []
        for atom, power in powers.items():
            if power == 0:
                continue
            if atom.kind == "variable":
                plain.append((atom, _whole(power)))
                continue
            whole = power.denominator == 1
            sum_again = atom.kind == "sum" and 0 < power <= MAX_POWER
            if whole and (sum_again or (atom.kind == "abs" and power % 2 == 0)):
                opened.append(self.power(dict(atom.inner), power))
            else:
                plain.append((atom, _whole(power)))
        result: Sum = {tuple(sorted(plain, key=lambda each: each[0].order)): Fraction(1)}
        for each in opened:
            result = self.times(result, each)
        return result

    def power(self, base: Sum, exponent: Fraction | int) -> Sum:
        """Raise a sum to a power."""
        exponent = Fraction(exponent)
        if exponent == 0:
            return _constant(Fraction(1))
        if not base:
            if exponent < 0:
                raise EquationError("an equation divides by zero")
            return {}
        whole = exponent.denominator == 1
        if len(base) == 1:
            [(monomial, c)] = base.items()
            if whole or c > 0:
                return self.single_power(monomial, c, exponent)
        elif whole and 0 < exponent <= MAX_POWER:
            result = base
            for _ in range(int(exponent) - 1):
                result = self.times(result, base)
            return result
        return self.opaque_power(base, exponent)

    def single_power(self, monomial: Monomial, c: Fraction, exponent: Fraction) -> Sum:
        """Raise one term to a power."""
        powers: dict[Atom, Exponent] = {}
        for atom, power in monomial:
            raised = power * exponent
            even = power.denominator == 1 and power % 2 == 0
            if even and raised % 2 != 0 and atom.kind not in {"exp", "abs"}:
                atom = absolute(atom)  # noqa: PLW2901 - from here on it is the other one
            powers[atom] = powers.get(atom, 0) + raised
        return _scaled(self.settled(powers), number_power(c, exponent))

    def opaque_power(self, base: Sum, exponent: Fraction) -> Sum:
        """Raise a sum that is not multiplied out; what all its terms share goes before it."""
        terms = sorted_terms(base)
        shared: dict[Atom, Exponent] = {}
        if exponent.denominator == 1:
            # Negative powers are shared, too: 1 + exp(-u) is exp(-u)*(exp(u) + 1).
            each = [dict(monomial) for monomial, _ in terms]
            atoms = {atom for powers in each for atom in powers}
            lowest = {atom: min(powers.get(atom, 0) for powers in each) for atom in atoms}
            shared = {atom: power for atom, power in lowest.items() if power}
        if shared:
            rest = self.power(self.without(base, shared), exponent)
            above = self.settled({atom: power * exponent for atom, power in shared.items()})
            return self.times(above, rest)
        scale, terms = normalised(terms)
        if exponent.denominator == 1 and terms[0][1] < 0:
            scale, terms = -scale, tuple((monomial, -c) for monomial, c in terms)
        return {((opaque(terms), _whole(exponent)),): number_power(scale, exponent)}

    def without(self, base: Sum, shared: dict[Atom, Exponent]) -> Sum:
        """Divide a sum by what its terms share, term by term.

        So a fraction in it is gone: multiplied out first, it would come back with each factor.
        """
        parts = []
        for monomial, c in base.items():
            powers = dict(monomial)
            for atom, power in shared.items():
                powers[atom] = powers.get(atom, 0) - power
            self.counted(1)
            parts.append(_scaled(self.settled(powers), c))
        return _add(parts)

    def exp(self, argument: Sum) -> Sum:
        """Return the exponential of a sum: a product of those of its terms."""
        result = _constant(Fraction(1))
        for monomial, c in argument.items():
            if not monomial:
                result = _scaled(result, float_of(math.exp, c))
            elif len(monomial) == 1 and monomial[0][0].kind == "log" and monomial[0][1] == 1:
                result = self.times(result, self.power(dict(monomial[0][0].inner), c))
            else:
                result = self.times(result, {((exponential(monomial), _whole(c)),): Fraction(1)})
        return result

    def log(self, argument: Sum) -> Sum:
        """Return the logarithm of a sum; that of one term is a sum."""
        if not argument:
            raise EquationError("an equation has the logarithm of zero")
        scale, terms = normalised(sorted_terms(argument))
        result = [_constant(float_of(math.log, scale))]
        if len(terms) > 1 or terms[0][1] < 0:
            return _add([*result, _single(function("log", terms))])
        for atom, power in terms[0][0]:
            if atom.kind == "exp":
                part: Sum = dict(atom.inner)
            elif atom.kind == "sum":
                part = _single(function("log", atom.inner))
            else:
                part = _single(function("log", ((((atom, 1),), Fraction(1)),)))
            result.append(_scaled(part, Fraction(power)))
        return _add(result)

    def abs(self, argument: Sum) -> Sum:
        """Return the size of a sum."""
        if not argument:
            return {}
        scale, terms = normalised(sorted_terms(argument))
        if len(terms) > 1:
            if terms[0][1] < 0:
                terms = tuple((monomial, -c) for monomial, c in terms)
            return {((absolute_sum(terms), 1),): scale}
        powers: dict[Atom, Exponent] = {}
        for atom, power in terms[0][0]:
            even = power.denominator == 1 and power % 2 == 0
            bare = even or atom.kind in {"exp", "abs"}
            powers[atom if bare else absolute(atom)] = power
        return _scaled(self.settled(powers), scale)

    def wave(self, argument: Sum, *, cos: bool) -> Sum:
        """Return the sine or the cosine of a sum."""
        phase = argument.get(ONE, Fraction(0)) + (PI / 2 if cos else 0)
        terms = sorted_terms({monomial: c for monomial, c in argument.items() if monomial})
        if not terms:
            return _constant(float_of(math.sin, phase))
        sign = 1
        if terms[0][1] < 0:  # sin(-x + p) = -sin(x - p)
            terms = tuple((monomial, -c) for monomial, c in terms)
            sign, phase = -1, -phase
        turns = round((phase - PI / 4) / PI)
        phase -= turns * PI
        sign *= -1 if turns % 2 else 1
        for known in (Fraction(0), PI / 2):
            if abs(phase - known) < _SNAP:
                phase = known
        return {((wave(terms, phase), 1),): Fraction(sign)}


def _constant(value: Fraction) -> Sum:
    return {ONE: value} if value else {}


def _single(atom: Atom, c: Fraction = Fraction(1)) -> Sum:
    return {((atom, 1),): c}


def _whole(power: Exponent) -> Exponent:
    """Return a whole number as an int, which is handled faster."""
    return int(power) if power.denominator == 1 else power


def _scaled(terms: Sum, factor: Fraction) -> Sum:
    if factor == 1:
        return terms
    scaled = {monomial: bounded(c * factor) for monomial, c in terms.items()} if factor else {}
    return {monomial: c for monomial, c in scaled.items() if c}


def _add(parts: Iterable[Sum]) -> Sum:
    """Add sums; what is left of coefficients that cancel but for their rounding is dropped."""
    result: Sum = {}
    sizes: dict[Monomial, Fraction] = {}
    for part in parts:
        for monomial, c in part.items():
            if monomial in result:
                sizes[monomial] = sizes.get(monomial, abs(result[monomial])) + abs(c)
                result[monomial] += c
            else:
                result[monomial] = c
    for monomial, size in sizes.items():
        if abs(result[monomial]) <= CANCELLED * size:
            del result[monomial]
    return result
