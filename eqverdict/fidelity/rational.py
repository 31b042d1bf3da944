"""An equation as a fraction of two polynomials, reduced, with exact numbers.

The polynomials are over *generators*: a variable, a function of something, or the sine and the
cosine of an angle.  Powers of one base that are whole multiples of a common step share a
generator, so that ``exp(2.3*x)`` and ``exp(4.6*x)`` are one and its square; so do the angles
``2.3*x`` and ``4.6*x``.  What cancels is gone, however the equation was written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from eqverdict.atoms import PI, float_of, function, sorted_terms, wave
from eqverdict.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eqverdict.atoms import Atom, Exponent, Monomial, Sum

MOST_STEPS = 24
"""Powers of one base whose ratio is larger than this have generators of their own."""
MOST_MULTIPLES = 12
"""The largest multiple of one angle that is written in powers of its sine and cosine."""
MOST_TERMS = 400
"""Polynomials of more terms are not worked with."""
MOST_GENERATORS = 24


@dataclass(frozen=True)
class Generator:
    """One unknown of the polynomials.

    Attributes
    ----------
    kind
        ``power``, ``sin``, ``cos`` or ``tanh``.
    base
        The atom that it is a power of; of an angle, the monomial it is a multiple of.
    step
        The power of the base, or the multiple of the monomial, that it stands for.
    """

    kind: str
    base: Atom | Monomial
    step: Fraction

    def powers(self, exponent: int) -> tuple[Atom, Exponent]:
        """Return the atom that it is, and the power of it that some power of itself is."""
        if self.kind == "power":
            return self.base, _whole(self.step * exponent)  # type: ignore[return-value]
        terms = ((self.base, self.step),)
        if self.kind == "tanh":
            return function("tanh", terms), exponent  # type: ignore[arg-type]
        return wave(terms, PI / 2 if self.kind == "cos" else Fraction(0)), exponent  # type: ignore[arg-type]


@dataclass
class Ring:
    """The generators of an equation, and the polynomials over them.

    Attributes
    ----------
    generators
        In the order of the polynomials' variables.
    angles
        The indices of the sine and the cosine of each angle.
    """

    generators: tuple[Generator, ...]
    context: Any = field(init=False)
    angles: list[tuple[int, int]] = field(init=False)
    _of_power: dict[tuple[Atom, Fraction], tuple[int, int]] = field(default_factory=dict)
    _of_angle: dict[tuple[Monomial, Fraction], tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.generators) > MOST_GENERATORS:
            raise EquationError(f"an equation of more than {MOST_GENERATORS} parts is not reduced")
        names = tuple(f"g{i}" for i in range(max(1, len(self.generators))))
        self.context = fmpq_mpoly_ctx.get(names, Ordering.deglex)
        self.angles = [
            (i, i + 1) for i, generator in enumerate(self.generators) if generator.kind == "sin"
        ]

    @classmethod
    def of(cls, terms: Sum, *, halves: bool = False) -> Ring:
        """Choose the generators of a sum of terms; on request those of half the angles."""
        powers: dict[Atom, set[Fraction]] = {}
        multiples: dict[Monomial, set[Fraction]] = {}
        for atom, power in _leaves(terms):
            if atom.kind == "wave":
                for monomial, c in atom.inner:
                    multiples.setdefault(monomial, set()).add(abs(c))
            else:
                powers.setdefault(atom, set()).add(abs(Fraction(power)))
        made: list[Generator] = []
        of_power: dict[tuple[Atom, Fraction], tuple[int, int]] = {}
        of_angle: dict[tuple[Monomial, Fraction], tuple[int, int]] = {}
        for atom in sorted(powers, key=lambda each: each.order):
            for step, sizes in _steps(powers[atom], MOST_STEPS):
                of_power |= {(atom, size): (len(made), int(size / step)) for size in sizes}
                made.append(Generator("power", atom, step))
        for monomial, _ in sorted_terms({key: Fraction(1) for key in multiples}):
            for step, sizes in _steps(multiples[monomial], MOST_MULTIPLES):
                each = step / 2 if halves else step
                of_angle |= {(monomial, size): (len(made), int(size / each)) for size in sizes}
                made += [Generator(kind, monomial, each) for kind in ("sin", "cos")]
        return cls(tuple(made), of_power, of_angle)

    def constant(self, value: Fraction) -> Any:
        """Make a polynomial of a number."""
        return self.context.constant(fmpq(value.numerator, value.denominator))

    def gen(self, i: int) -> Any:
        """Return a generator as a polynomial."""
        return self.context.gen(i)

    def power(self, atom: Atom, exponent: Exponent) -> Rational:
        """Return a power of an atom."""
        index, times = self._of_power[atom, abs(Fraction(exponent))]
        raised = self.gen(index) ** times
        one = self.constant(Fraction(1))
        return Rational(self, raised, one) if exponent > 0 else Rational(self, one, raised)

    def sine(self, atom: Atom) -> Any:
        """Write the atom ``sin(a + b + ... + phase)`` in the sines and cosines of its parts."""
        phase = atom.constants[-1]
        unity, zero = self.constant(Fraction(1)), self.constant(Fraction(0))
        if phase == 0:
            sin, cos = zero, unity
        elif phase == PI / 2:
            sin, cos = unity, zero
        else:
            sin = self.constant(float_of(math.sin, Fraction(phase)))
            cos = self.constant(float_of(math.cos, Fraction(phase)))
        for monomial, c in atom.inner:
            index, times = self._of_angle[monomial, abs(c)]
            step = self.gen(index), self.gen(index + 1)
            s, co = zero, unity
            for _ in range(times):
                s, co = s * step[1] + co * step[0], co * step[1] - s * step[0]
            if c < 0:
                s = -s
            sin, cos = sin * co + cos * s, cos * co - sin * s
        return sin


def _leaves(terms: Sum) -> Iterator[tuple[Atom, Exponent]]:
    """Return the atoms that are generators, with their powers."""
    for monomial in terms:
        for atom, power in monomial:
            if is_fraction_bar(atom, power):
                yield from _leaves(dict(atom.inner))
            elif atom.kind == "whole":
                raise EquationError("an equation that is too large is not reduced")
            else:
                yield atom, power


def is_fraction_bar(atom: Atom, power: Exponent) -> bool:
    """Whether a factor is a sum to a whole power."""
    return atom.kind == "sum" and power.denominator == 1


def _steps(sizes: set[Fraction], most: int) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Return the steps that sizes are whole multiples of, each with those that are."""
    step = reduce(_common_step, sizes)
    if max(sizes) / step <= most:
        yield step, sorted(sizes)
    else:
        for size in sorted(sizes):
            yield size, [size]


def _common_step(first: Fraction, second: Fraction) -> Fraction:
    """Return the largest number of which two are whole multiples."""
    below = first.denominator * second.denominator
    above = math.gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Fraction(above, below)


def _whole(power: Fraction) -> Exponent:
    return int(power) if power.denominator == 1 else power


def as_fraction(value: Any) -> Fraction:
    """Convert a coefficient of a polynomial."""
    return Fraction(int(value.p), int(value.q))


@dataclass(frozen=True)
class Rational:
    """A fraction of two polynomials without common factor."""

    ring: Ring
    above: Any
    below: Any

    def reduced(self) -> Rational:
        """Cancel what numerator and denominator share."""
        above, below = self.above, self.below
        if len(above) > MOST_TERMS or len(below) > MOST_TERMS:
            raise EquationError(f"a polynomial of more than {MOST_TERMS} terms is not reduced")
        if above.is_zero():
            return Rational(self.ring, above, self.ring.constant(Fraction(1)))
        if not below.is_constant():
            common = above.gcd(below)
            if not common.is_constant():
                above, below = _quotient(above, common), _quotient(below, common)
        scale = below.leading_coefficient()
        return Rational(self.ring, above / scale, below / scale)

    def __add__(self, other: Rational) -> Rational:
        if self.below == other.below:
            return Rational(self.ring, self.above + other.above, self.below).reduced()
        above = self.above * other.below + other.above * self.below
        return Rational(self.ring, above, self.below * other.below).reduced()

    def __mul__(self, other: Rational) -> Rational:
        above, below = self.above * other.above, self.below * other.below
        return Rational(self.ring, above, below).reduced()

    def power(self, exponent: int) -> Rational:
        """Raise it to a whole power."""
        if exponent >= 0:
            return Rational(self.ring, self.above**exponent, self.below**exponent)
        if self.above.is_zero():
            raise EquationError("an equation divides by zero")
        return Rational(self.ring, self.below**-exponent, self.above**-exponent).reduced()


def _quotient(one: Any, other: Any) -> Any:
    return divmod(one, other)[0]


def rational(terms: Sum, ring: Ring) -> Rational:
    """Write a sum of terms as one fraction.

    Raises
    ------
    EquationError
        If it has too many terms, or divides by zero.
    """
    unity = ring.constant(Fraction(1))
    by_denominator: dict[Any, list[Any]] = {}
    for monomial, c in terms.items():
        part = Rational(ring, ring.constant(c), unity)
        for atom, power in monomial:
            if is_fraction_bar(atom, power):
                factor = rational(dict(atom.inner), ring).power(int(power))
            elif atom.kind == "wave":
                factor = Rational(ring, ring.sine(atom), unity).power(int(power))
            else:
                factor = ring.power(atom, power)
            part = part * factor
        by_denominator.setdefault(str(part.below), []).append(part)
    total = Rational(ring, ring.constant(Fraction(0)), unity)
    for parts in by_denominator.values():
        above = reduce(lambda a, b: a + b, (part.above for part in parts))
        total = total + Rational(ring, above, parts[0].below).reduced()
    return total


def polynomial(ring: Ring, terms: Mapping[tuple[int, ...], Any] | Iterable[Any]) -> Any:
    """Make a polynomial of coefficients by exponents."""
    coefficients = dict(terms)
    return ring.context.from_dict(
        {
            exponents: fmpq(c.numerator, c.denominator) if isinstance(c, Fraction) else c
            for exponents, c in coefficients.items()
            if c
        }
    )


def without_squares(ring: Ring, value: Any, *, of_sines: bool) -> Any:
    """Write the squares of sines in cosines, or of cosines in sines."""
    for sine, cosine in ring.angles:
        squared, other = (sine, cosine) if of_sines else (cosine, sine)
        reduced = ring.constant(Fraction(0))
        unit = ring.constant(Fraction(1)) - ring.gen(other) ** 2
        by_power: dict[int, dict[tuple[int, ...], Any]] = {}
        for exponents, c in value.to_dict().items():
            halves, rest = divmod(exponents[squared], 2)
            left = (*exponents[:squared], rest, *exponents[squared + 1 :])
            by_power.setdefault(halves, {})[left] = c
        for halves, part in by_power.items():
            reduced += polynomial(ring, part) * unit**halves
        value = reduced
    return value


def exponentials(ring: Ring) -> list[int]:
    """Return the indices of the generators that are powers of an exponential."""
    return [
        i
        for i, each in enumerate(ring.generators)
        if each.kind == "power" and getattr(each.base, "kind", "") == "exp"
    ]


def with_tangents(value: Rational) -> Rational | None:
    """Write each exponential as ``(1 + t)/(1 - t)``, with ``t`` the tanh of half its exponent.

    None where there is no exponential.
    """
    chosen = exponentials(value.ring)
    if not chosen:
        return None
    generators = tuple(
        Generator("tanh", each.base.inner[0][0], each.step / 2) if i in chosen else each  # type: ignore[union-attr]
        for i, each in enumerate(value.ring.generators)
    )
    ring = Ring(generators)
    unity = ring.constant(Fraction(1))
    sides = []
    for side in (value.above, value.below):
        total = Rational(ring, ring.constant(Fraction(0)), unity)
        degrees = side.degrees()
        # One denominator for all terms: each exponential to its highest power.
        below = unity
        for i in chosen:
            below *= (unity - ring.gen(i)) ** int(degrees[i])
        above = ring.constant(Fraction(0))
        for exponents, c in side.to_dict().items():
            term = ring.constant(as_fraction(c))
            for i, power in enumerate(exponents):
                if i in chosen:
                    term *= (unity + ring.gen(i)) ** power
                    term *= (unity - ring.gen(i)) ** int(degrees[i] - power)
                elif power:
                    term *= ring.gen(i) ** power
            above += term
        total = Rational(ring, above, below).reduced()
        sides.append(total)
    return sides[0] * sides[1].power(-1)


def without_common_waves(value: Rational) -> Rational:
    """Cancel what numerator and denominator share, where the sine and cosine of an angle are one.

    With ``t`` the tangent of half the angle both are fractions of polynomials in ``t``, which have
    one reduced writing.
    """
    ring = value.ring
    generators = list(ring.generators)
    for sine, cosine in ring.angles:
        generators[sine] = Generator("tan", generators[sine].base, generators[sine].step)
        generators[cosine] = Generator("unused", generators[cosine].base, Fraction(1))
    halves = Ring(tuple(generators))
    sides = [_in_half_angles(side, ring, halves) for side in (value.above, value.below)]
    quotient = sides[0] * sides[1].power(-1)
    degrees = [
        max(int(quotient.above.degrees()[sine]), int(quotient.below.degrees()[sine]))
        for sine, _ in ring.angles
    ]
    least = [-(-degree // 2) for degree in degrees]
    above, below = (
        _from_half_angles(side, ring, least) for side in (quotient.above, quotient.below)
    )
    scale = below.leading_coefficient()
    return Rational(ring, above / scale, below / scale)


def _in_half_angles(side: Any, ring: Ring, halves: Ring) -> Rational:
    unity = halves.constant(Fraction(1))
    degrees = [0] * len(ring.generators)
    terms = side.to_dict()
    for sine, cosine in ring.angles:
        degrees[sine] = max((int(e[sine]) + int(e[cosine]) for e in terms), default=0)
    below = unity
    for sine, _ in ring.angles:
        below *= (unity + halves.gen(sine) ** 2) ** degrees[sine]
    above = halves.constant(Fraction(0))
    of_angles = {i for angle in ring.angles for i in angle}
    for exponents, c in terms.items():
        term = halves.constant(as_fraction(c))
        for i, power in enumerate(exponents):
            if i not in of_angles and power:
                term *= halves.gen(i) ** int(power)
        for sine, cosine in ring.angles:
            t = halves.gen(sine)
            s, co = int(exponents[sine]), int(exponents[cosine])
            term *= (2 * t) ** s * (unity - t**2) ** co * (unity + t**2) ** (degrees[sine] - s - co)
        above += term
    return Rational(halves, above, below).reduced()


def _from_half_angles(side: Any, ring: Ring, least: list[int]) -> Any:
    """Divide by ``(1 + t**2)**n`` for each angle, and write the result in sines and cosines."""
    unity = ring.constant(Fraction(1))
    total = ring.constant(Fraction(0))
    of_angles = {i for angle in ring.angles for i in angle}
    for exponents, c in side.to_dict().items():
        term = ring.constant(as_fraction(c))
        for i, power in enumerate(exponents):
            if i not in of_angles and power:
                term *= ring.gen(i) ** int(power)
        for (sine, cosine), n in zip(ring.angles, least, strict=True):
            half, odd = divmod(int(exponents[sine]), 2)
            s, co = ring.gen(sine), ring.gen(cosine)
            down, up = (unity - co) / 2, (unity + co) / 2
            term *= (s / 2) ** odd * down**half * up ** (n - half - odd)
        total += term
    return without_squares(ring, total, of_sines=True)
