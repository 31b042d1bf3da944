"""The writings of an equation that do not depend on how it was written.

Each is made of one fraction of polynomials (`eqverdict.fidelity.rational`): with one
fraction bar, as partial fractions, or between these with the fewest constants; and with the
powers of sines, the powers of cosines, or multiples of angles; and with exponentials, or with the
tanh of half their exponents.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from eqverdict.atoms import ONE, function, normalised, opaque, sorted_terms
from eqverdict.errors import EquationError
from eqverdict.expand import Expansion, expand
from eqverdict.fidelity.models import Model
from eqverdict.fidelity.notation_variants import fewest_digits
from eqverdict.fidelity.partial_fractions import fewest_terms, partial_fractions
from eqverdict.fidelity.rational import (
    Rational,
    Ring,
    as_fraction,
    exponentials,
    polynomial,
    rational,
    with_tangents,
    without_common_waves,
    without_squares,
)
from eqverdict.grammar import check, read
from eqverdict.tree import ALIASES, Call, Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eqverdict.atoms import Atom, Exponent, Monomial, Sum

Forms = dict[str, "Sum"]
"""Sums of terms by the name of the form."""

_POLYNOMIAL = "polynomial, "
_MUCH_SHORTER = 0.6
"""The share of its digits that a polynomial's numbers have in a writing that counts besides."""
_HYPERBOLIC = frozenset({"sinh", "cosh", "tanh"})


@lru_cache(maxsize=4_096)
def standard_forms(text: str, names: tuple[str, ...]) -> Forms:
    """Write an equation in all standard forms.

    Parameters
    ----------
    text
        A right-hand side that can be read.
    names
        The variables that it may use.

    Returns
    -------
    dict
        Sums of terms, not to be changed; none where the equation is too large to be reduced.
    """
    check(text)
    return forms_of(read(text, names))


def forms_of(tree: Node) -> Forms:
    """Write a tree in all standard forms."""
    forms: Forms = {}
    try:
        expansion = _StandardExpansion()
        terms = expansion.of(tree)
        value = rational(terms, Ring.of(terms))
        for kind, variant in _variants(value, expansion):
            forms |= {f"{kind}, {layout}": form for layout, form in _layouts(variant, expansion)}
        if value.below.is_constant() and not value.ring.angles:
            forms |= _of_polynomial(value, expansion)
        for name, form in list(forms.items()):
            if (joined := _with_one_logarithm(form, expansion)) is not None:
                forms[f"{name}, one logarithm"] = joined
    except EquationError:
        pass  # what is too large has those forms that were made before
    return forms


@lru_cache(maxsize=1_024)
def fewest_constants(text: str, names: tuple[str, ...]) -> tuple[tuple[str, Sum], ...]:
    """Return the forms of an equation that have the fewest constants, each with its name.

    The equation as it is multiplied out is one of them, under the name "as written".
    """
    forms = dict(standard_forms(text, names))
    try:
        forms["as written"] = expand(text, names)
    except EquationError:
        if not forms:
            return ()
    sizes = {name: (len(Model(form).moving), len(form)) for name, form in forms.items()}
    products = {name: form for name, form in forms.items() if name.startswith(_POLYNOMIAL)}
    sums = {name: form for name, form in forms.items() if name not in products}
    fewest = min(sizes[name][0] for name in sums)
    plain = {name: form for name, form in sums.items() if not name.startswith("tanh")}
    if any(sizes[name][0] == fewest for name in plain):
        sums = plain  # exp(x) - 1 has a term that tanh(x/2)/(1 - tanh(x/2)) hides
    least = min(sizes[name] for name in sums)
    chosen = _each_once({name: form for name, form in sums.items() if sizes[name] == least})
    if len(chosen) > 1:
        # With one bar over 100 + x/(1 + x) the lack of a term is an error of 1 % in a constant.
        chosen = {name: form for name, form in chosen.items() if "one bar" not in name} or chosen
    digits = {name: fewest_digits(form) for name, form in chosen.items()}
    shortest = min(digits.values())
    chosen = {name: form for name, form in chosen.items() if digits[name] == shortest}
    # The terms of a polynomial always count; in another writing its constants may be much shorter.
    chosen |= {
        name: form
        for name, form in products.items()
        if sizes[name][0] <= least[0] and fewest_digits(form) <= _MUCH_SHORTER * shortest
    }
    return tuple(chosen.items())


def _each_once(forms: Forms) -> Forms:
    unique: Forms = {}
    for name, form in forms.items():
        if form not in unique.values():
            unique[name] = form
    return unique


class _StandardExpansion(Expansion):
    """An expansion whose functions have reduced fractions as arguments."""

    def call(self, node: Call) -> Sum:
        if node.constant is not None:
            return super().call(node)
        name = ALIASES.get(node.function, node.function)
        arguments = [self.of(argument) for argument in node.arguments]
        if name in _HYPERBOLIC:
            return self.hyperbolic(name, self.reduced(arguments[0]))
        if name in {"max", "min"}:
            first, second = arguments
            difference = _sum(first, _times(second, Fraction(-1)))
            size = self.abs(self.reduced(difference))
            sign = Fraction(1 if name == "max" else -1)
            return _times(_sum(_sum(first, second), _times(size, sign)), Fraction(1, 2))
        if name in {"log", "sqrt"}:
            above, below = self.sides(arguments[0])
            if name == "log":
                return _sum(self.log(above), _times(self.log(below), Fraction(-1)))
            return self.times(self.power(above, Fraction(1, 2)), self.power(below, Fraction(-1, 2)))
        return self.applied(name, [self.reduced(argument) for argument in arguments])

    def hyperbolic(self, name: str, argument: Sum) -> Sum:
        ahead, behind = self.exp(argument), self.exp(_times(argument, Fraction(-1)))
        sinh = _times(_sum(ahead, _times(behind, Fraction(-1))), Fraction(1, 2))
        cosh = _times(_sum(ahead, behind), Fraction(1, 2))
        if name == "tanh":
            return self.times(sinh, self.power(cosh, -1))
        return sinh if name == "sinh" else cosh

    def powered(self, node: Any) -> Sum:
        exponent = node.exponent.constant
        if exponent is None or float(exponent).is_integer():
            return super().powered(node)
        above, below = self.sides(self.of(node.base))
        power = Fraction(node.exponent.text) if hasattr(node.exponent, "text") else None
        raised = power if power is not None else Fraction(float(exponent))
        return self.times(self.power(above, raised), self.power(below, -raised))

    def reduced(self, terms: Sum) -> Sum:
        """Write a sum with one reduced fraction bar, as far as it is one that can be reduced."""
        above, below = self.sides(terms)
        return self.times(above, self.power(below, -1))

    def sides(self, terms: Sum) -> tuple[Sum, Sum]:
        """Return numerator and denominator of a sum."""
        if all(
            atom.kind == "variable" and power > 0 for monomial in terms for atom, power in monomial
        ):
            return terms, {ONE: Fraction(1)}
        value = rational(terms, Ring.of(terms))
        if value.ring.angles:
            value = _of_powers(value, of_sines=True)
        return _terms(value.above, value.ring, self), _terms(value.below, value.ring, self)


def _variants(value: Rational, expansion: Expansion) -> Iterator[tuple[str, Rational]]:
    """Write a fraction with powers of sines or cosines, with exponentials or with tanh."""
    for name, node in (
        ("exponentials", value),
        ("tanh", with_tangents(value)),
    ):
        if node is None:
            continue
        if not node.ring.angles:
            yield name, node
            continue
        # The least angle of which all others are multiples, and half of it: sin(x)**2 has the
        # cosine of 2*x alone.
        bare = not _has_waves(node.below, node.ring)
        form = _in_multiples(node, expansion) if bare else _one_bar(node, expansion)
        for halves in (False, True):
            again = rational(form, Ring.of(form, halves=halves))
            if not bare:
                again = without_common_waves(again)
            angle = "half angles" if halves else "angles"
            yield f"{name}, sines of {angle}", _of_powers(again, of_sines=False)
            yield f"{name}, cosines of {angle}", _of_powers(again, of_sines=True)


def _has_waves(side: Any, ring: Ring) -> bool:
    degrees = side.degrees()
    return any(degrees[i] for angle in ring.angles for i in angle)


def _of_powers(value: Rational, *, of_sines: bool) -> Rational:
    above, below = (
        without_squares(value.ring, side, of_sines=of_sines) for side in (value.above, value.below)
    )
    if below.is_zero():
        raise EquationError("an equation divides by zero")
    return Rational(value.ring, above, below).reduced()


def _layouts(value: Rational, expansion: Expansion) -> Iterator[tuple[str, Sum]]:
    """Write a fraction with one bar, as partial fractions, and with the fewest terms."""
    ring = value.ring
    yield "one bar", _one_bar(value, expansion)
    if ring.angles and not _has_waves(value.below, ring):
        yield "multiples of angles", _in_multiples(value, expansion)
    hyperbolic = _in_hyperbolics(value, expansion)
    if hyperbolic is not None:
        yield "hyperbolics", hyperbolic
    factors = _factors(value)
    parts = partial_fractions(value, factors) if any(len(each) > 1 for each, _ in factors) else None
    if parts is None:
        return
    for i, (whole, fractions) in enumerate([parts, *fewest_terms(parts, ring)]):
        form = _terms(whole, ring, expansion)
        for numerator, factor, power in fractions:
            bar = _power(factor, -power, ring, expansion)
            form = _sum(form, expansion.times(_terms(numerator, ring, expansion), bar))
        yield f"partial fractions {i}", form


def _one_bar(value: Rational, expansion: Expansion) -> Sum:
    form = _terms(value.above, value.ring, expansion)
    for factor, power in _factors(value):
        form = expansion.times(form, _power(factor, -power, value.ring, expansion))
    return form


def _factors(value: Rational) -> list[tuple[Any, int]]:
    """Factor the denominator; its constant is in the numerator already."""
    if value.below.is_constant():
        return []
    _, found = value.below.factor()
    made = [(factor / factor.leading_coefficient(), int(power)) for factor, power in found]
    return sorted(made, key=lambda each: str(each[0]))


def _in_multiples(value: Rational, expansion: Expansion) -> Sum:
    """Write products of sines and cosines as those of sums of angles."""
    ring = value.ring
    of_angles = {i for angle in ring.angles for i in angle}
    waves: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Fraction, Fraction]] = {}
    for exponents, c in value.above.to_dict().items():
        powers = tuple(0 if i in of_angles else int(e) for i, e in enumerate(exponents))
        spectrum: dict[tuple[int, ...], tuple[Fraction, Fraction]] = {
            (): (as_fraction(c), Fraction(0))
        }
        for sine, cosine in ring.angles:
            spectrum = {
                (*known, k): _product(a, b)
                for known, a in spectrum.items()
                for k, b in _spectrum(int(exponents[sine]), int(exponents[cosine])).items()
            }
        for frequency, (real, imaginary) in spectrum.items():
            had = waves.get((powers, frequency), (Fraction(0), Fraction(0)))
            waves[powers, frequency] = had[0] + real, had[1] + imaginary
    total: Sum = {}
    bars = [_power(factor, -power, ring, expansion) for factor, power in _factors(value)]
    for (powers, frequency), (real, imaginary) in waves.items():
        first = next((k for k in frequency if k), 0)
        if first < 0 or not (real or imaginary):
            continue  # the other half of a real number
        before = _terms(polynomial(ring, {powers: Fraction(1)}), ring, expansion)
        if first == 0:
            part = _times(before, real)
        else:
            part = expansion.times(
                before, _wave(ring, frequency, 2 * real, -2 * imaginary, expansion)
            )
        for bar in bars:
            part = expansion.times(part, bar)
        total = _sum(total, part)
    return total


def _in_hyperbolics(value: Rational, expansion: Expansion) -> Sum | None:
    """Write exponentials that come with their inverses as cosh and sinh; None without any."""
    ring = value.ring
    chosen = exponentials(ring)
    if not chosen or len(value.below) > 1:
        return None
    [shift] = value.below.to_dict()
    rest_below = polynomial(
        ring, {tuple(0 if i in chosen else int(e) for i, e in enumerate(shift)): Fraction(1)}
    )
    sums: dict[tuple[int, ...], dict[tuple[int, ...], Fraction]] = {}
    for exponents, c in value.above.to_dict().items():
        powers = tuple(0 if i in chosen else int(e) for i, e in enumerate(exponents))
        raised = tuple(int(exponents[i]) - int(shift[i]) for i in chosen)
        sums.setdefault(powers, {})[raised] = as_fraction(c)
    if not any(
        tuple(-k for k in raised) in each
        for each in sums.values()
        for raised in each
        if any(raised)
    ):
        return None
    total: Sum = {}
    for powers, coefficients in sums.items():
        before = _terms(polynomial(ring, {powers: Fraction(1)}), ring, expansion)
        for raised, c in coefficients.items():
            first = next((k for k in raised if k), 0)
            opposite = coefficients.get(tuple(-k for k in raised), Fraction(0))
            if first == 0:
                total = _sum(total, _times(before, c))
                continue
            if first < 0 and opposite:
                continue  # with its opposite
            argument: Sum = {}
            for i, k in zip(chosen, raised, strict=True):
                generator = ring.generators[i]
                inner = generator.base.inner[0][0]  # type: ignore[union-attr]
                argument = _sum(argument, {inner: k * generator.step} if k else {})
            for name, factor in (("cosh", c + opposite), ("sinh", c - opposite)):
                wave = expansion.odd_or_even(name, argument)
                total = _sum(total, expansion.times(before, _times(wave, factor)))
    return expansion.times(total, _power(rest_below, -1, ring, expansion))


def _with_one_logarithm(form: Sum, expansion: _StandardExpansion) -> Sum | None:
    """Join logarithms whose factors have the same size; None if there are none."""
    groups: dict[tuple[Monomial, Fraction], list[tuple[Monomial, Fraction, Atom]]] = {}
    for monomial, c in form.items():
        logarithms = [atom for atom, power in monomial if atom.kind == "log" and power == 1]
        if len(logarithms) == 1:
            factors = tuple(each for each in monomial if each[0] != logarithms[0])
            groups.setdefault((factors, abs(c)), []).append((monomial, c, logarithms[0]))
    total = dict(form)
    for (factors, size), logs in groups.items():
        if len(logs) == 1:
            continue
        argument: Sum = {ONE: Fraction(1)}
        for monomial, c, atom in logs:
            del total[monomial]
            inner = dict(atom.inner)
            side = inner if c > 0 else expansion.power(inner, -1)
            argument = expansion.times(argument, side)
        terms = sorted_terms(expansion.reduced(argument))
        joined: Sum = {((function("log", terms), 1),): size}
        total = _sum(total, expansion.times({factors: Fraction(1)}, joined))
    return None if total == form else total


def _wave(
    ring: Ring, frequency: tuple[int, ...], cosine: Fraction, sine: Fraction, expansion: Expansion
) -> Sum:
    """Return ``cosine*cos(z) + sine*sin(z)`` as one wave with a phase."""
    argument: Sum = {}
    for (index, _), k in zip(ring.angles, frequency, strict=True):
        if k:
            generator = ring.generators[index]
            argument = _sum(argument, {generator.base: k * generator.step})  # type: ignore[dict-item]
    if not sine:
        return _times(expansion.wave(argument, cos=True), cosine)
    if not cosine:
        return _times(expansion.wave(argument, cos=False), sine)
    amplitude = Fraction(math.hypot(float(cosine), float(sine)))
    phase = Fraction(math.atan2(float(cosine), float(sine)))
    return _times(expansion.wave({**argument, ONE: phase}, cos=False), amplitude)


@lru_cache(maxsize=1_024)
def _spectrum(sine: int, cosine: int) -> Mapping[int, tuple[Fraction, Fraction]]:
    """Return the coefficients of exp(i k z) in a product of powers of sin z and cos z."""
    n = sine + cosine
    # Whole numbers first: those of (e - 1/e)**sine * (e + 1/e)**cosine, with e = exp(i z).
    numbers = [0] * (n + 1)
    for i in range(sine + 1):
        for j in range(cosine + 1):
            numbers[i + j] += (-1) ** i * math.comb(sine, i) * math.comb(cosine, j)
    # Each sine divides by 2 i, each cosine by 2.
    sign = (1, 1, -1, -1)[-sine % 4] if sine % 2 else (1, -1)[sine // 2 % 2]
    amplitudes = {}
    for below, number in enumerate(numbers):
        if number:
            c = Fraction(sign * number, 2**n)
            amplitudes[n - 2 * below] = (Fraction(0), c) if sine % 2 else (c, Fraction(0))
    return amplitudes


def _product(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]
) -> tuple[Fraction, Fraction]:
    return (
        first[0] * second[0] - first[1] * second[1],
        first[0] * second[1] + first[1] * second[0],
    )


def _terms(value: Any, ring: Ring, expansion: Expansion) -> Sum:
    """Write a polynomial as a sum of terms."""
    total: Sum = {}
    for exponents, c in value.to_dict().items():
        powers: dict[Atom, Exponent] = {}
        for generator, exponent in zip(ring.generators, exponents, strict=False):
            if exponent:
                atom, power = generator.powers(int(exponent))
                powers[atom] = powers.get(atom, 0) + power
        total = _sum(total, _times(expansion.settled(powers), as_fraction(c)))
    return total


def _power(value: Any, exponent: int, ring: Ring, expansion: Expansion) -> Sum:
    return expansion.power(_terms(value, ring, expansion), exponent)


def _sum(one: Sum, other: Sum) -> Sum:
    total = dict(one)
    for monomial, c in other.items():
        total[monomial] = total.get(monomial, Fraction(0)) + c
    return {monomial: c for monomial, c in total.items() if c}


def _times(terms: Sum, factor: Fraction) -> Sum:
    return {monomial: c * factor for monomial, c in terms.items()} if factor else {}


def _of_polynomial(value: Rational, expansion: Expansion) -> Forms:
    """Write a polynomial as a product of factors, and with its squares completed."""
    ring = value.ring
    forms: Forms = {}
    _, factors = value.above.factor() if not value.above.is_zero() else (None, [])
    if sum(power for _, power in factors) > 1 and any(len(factor) > 1 for factor, _ in factors):
        c = as_fraction(value.above.leading_coefficient())
        powers: dict[Atom, Exponent] = {}
        for factor, power in factors:
            monic = _terms(factor / factor.leading_coefficient(), ring, expansion)
            if len(monic) == 1:
                [(monomial, _)] = monic.items()
                for atom, each in monomial:
                    powers[atom] = powers.get(atom, 0) + each * int(power)
                continue
            scale, terms = normalised(sorted_terms(monic))
            if terms[0][1] < 0:
                scale, terms = -scale, tuple((m, -each) for m, each in terms)
            powers[opaque(terms)] = int(power)
            c *= scale ** int(power)
        forms[f"{_POLYNOMIAL}factored"] = {
            tuple(sorted(powers.items(), key=lambda each: each[0].order)): c
        }
    squares = _completed_squares(_terms(value.above, ring, expansion))
    if squares is not None:
        forms[f"{_POLYNOMIAL}completed squares"] = squares
    return forms


def _completed_squares(terms: Sum) -> Sum | None:
    """Write ``a*x**2 + b*x`` as ``a*(x - m)**2`` and a constant; None where there is none such."""
    total = dict(terms)
    for monomial, a in terms.items():
        if len(monomial) != 1 or monomial[0][1] != 2 or monomial[0][0].kind == "sum":  # noqa: PLR2004
            continue
        atom = monomial[0][0]
        alone = ((atom, 1),)
        if alone not in total:
            continue
        b = total.pop(alone)
        del total[monomial]
        middle = -b / (2 * a)
        scale, inner = normalised(((ONE, -middle), (alone, Fraction(1))))
        if inner[0][1] < 0:
            inner = tuple((m, -c) for m, c in inner)
        square = ((opaque(inner), 2),)
        total[square] = a * scale**2
        total = _sum(total, {ONE: -a * middle * middle})
    return None if len(total) == len(terms) and total == terms else total
