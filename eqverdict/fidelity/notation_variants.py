"""A sum of terms as a text in which every number is a constant that may move.

One function has many such texts: ``a*x/(b + x)`` is ``c*x/(1 + d*x)``.  Those are taken whose
numbers have the fewest digits: ``0.5*x/(2 + x)``, and not ``0.25*x/(1 + 0.5*x)``.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING

from eqverdict.atoms import PI, monomial_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eqverdict.atoms import Atom, Exponent, Monomial, Sum, Terms

ONE_TEXT = "1.0"
"""The one number of a sum that is no constant; any other 1 is written without a point."""
_MOST_SCALINGS = 48
_MOST_EXPONENT = 300
_SCALED = frozenset({"sum", "abs"})
"""Kinds of atoms in which one number is 1, as a factor before the atom has its value."""
_SHORT = 13
"""A number with fewer digits than this is taken as it is printed."""
_LONGEST = 60
"""The digits that are counted of a number with more."""


def plain_writing(form: Sum) -> str:
    """Write a sum of terms as it is: in each sum under a bar the first number is 1."""
    writer = _Writer({}, offsets=False)
    return " + ".join(writer.term(m, c) for m, c in form.items()) or "0"


def shows_its_terms(form: Sum) -> bool:
    """Whether a shortest writing has the numbers of the terms, each term over one of them."""
    texts = _writings(tuple(form.items()))
    least = min(digits for digits, _ in texts.values())
    return any(digits == least and is_plain for digits, is_plain in texts.values())


def shortest_writings(form: Sum) -> list[str]:
    """Return the writings of a sum of terms whose numbers have the fewest digits.

    Each sum under a fraction bar has one number that is 1; an exponential takes the number before
    it as an offset into its exponent, or does not; and squares in exponents are completed, or are
    not.
    """
    texts = _writings(tuple(form.items()))
    least = min(digits for digits, _ in texts.values())
    return [text for text, (digits, _) in texts.items() if digits == least]


def fewest_digits(form: Sum) -> int:
    """Return how many digits the numbers of the shortest writing have."""
    return min(digits for digits, _ in _writings(tuple(form.items())).values())


@lru_cache(maxsize=1_024)
def _writings(
    terms: tuple[tuple[Monomial, Fraction], ...],
) -> dict[str, tuple[int, bool]]:
    """Return all writings, with the number of their digits and whether they have no offsets.

    An offset is a number that is moved into an exponent or a logarithm.
    """
    texts: dict[str, tuple[int, bool]] = {}
    for form, scales in _with_scaled_logarithms(dict(terms)):
        # A factor within a logarithm is written for an intercept only where it is shorter.
        is_scaled = any(scale != 1 for scale in scales.values())
        bars = list(
            dict.fromkeys(
                (atom, power)
                for monomial in form
                for atom, power in monomial
                if atom.kind in _SCALED
            )
        )
        choices = product(*(range(len(bar.inner)) for bar, _ in bars))
        for chosen in islice(choices, _MOST_SCALINGS):
            ones = {bar: i for (bar, _), i in zip(bars, chosen, strict=True)}
            for offsets in (False, True):
                writer = _Writer(ones, offsets=offsets)
                text = " + ".join(writer.term(m, c, scales.get(m)) for m, c in form.items()) or "0"
                digits = (
                    is_scaled
                    + sum(map(_digits, writer.numbers))
                    + sum(
                        min(_digits(each), _digits(1 / each))
                        for each in writer.numbers_of_factors
                        if each
                    )
                )
                texts.setdefault(text, (digits, not (offsets or is_scaled)))
    return texts


def _digits(value: Fraction) -> int:
    """Return how many digits a number has."""
    if not value:
        return 0
    try:
        shown = f"{float(abs(value)):.15g}"
    except OverflowError:
        return _LONGEST
    short = len(shown.split("e", maxsplit=1)[0].replace(".", "").strip("0"))
    if short < _SHORT:
        return max(1, short)
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator > 1:
        return _LONGEST
    decimals = max(twos, fives)
    whole = abs(value.numerator) * 10**decimals // value.denominator
    return min(_LONGEST, len(str(whole).rstrip("0")))


def _with_scaled_logarithms(form: Sum) -> Iterator[tuple[Sum, dict[Monomial, float]]]:
    """Take ``d`` into the logarithm of ``c*log(x) + d``, which is ``c*log(exp(d/c)*x)``.

    Yields
    ------
    Sum
        What is left: first all of it.
    dict
        The factor in the logarithm of each term that has one; of several that could have it, one
        after the other.  Without an intercept the factor of a sum is 1: all its numbers may move.
    """
    places: dict[Monomial, list[Monomial]] = {}
    sums: dict[Monomial, float] = {}
    for monomial, c in form.items():
        logs = [each for each in monomial if each[0].kind == "log" and each[1] == 1]
        factors = tuple(each for each in monomial if each not in logs)
        if len(logs) == 1 and factors in form and abs(form[factors] / c) < _MOST_EXPONENT:
            places.setdefault(factors, []).append(monomial)
        elif len(logs) == 1 and factors not in form and len(logs[0][0].inner) > 1:
            sums[monomial] = 1.0
    yield form, sums
    for chosen in islice(product(*places.values()), _MOST_SCALINGS) if places else ():
        scaled = dict(form)
        scales = sums | {
            monomial: math.exp(float(scaled.pop(factors) / form[monomial]))
            for factors, monomial in zip(places, chosen, strict=True)
        }
        yield scaled, scales


class _Writer:
    """Writes terms with every number in brackets.

    Attributes
    ----------
    numbers
        The numbers that have been written.
    numbers_of_factors
        Those in factors that are no fraction: ``1 - x/74.3`` has the digits of 74.3.
    """

    def __init__(self, ones: Mapping[Atom, int], *, offsets: bool) -> None:
        self.ones = ones
        self.offsets = offsets
        self.numbers: list[Fraction] = []
        self.numbers_of_factors: list[Fraction] = []

    def number(self, value: Fraction | int) -> str:
        value = Fraction(value)
        self.numbers.append(value)
        return f"({value})" if value.denominator == 1 else f"({float(value)!r})"

    def term(self, monomial: Monomial, c: Fraction, scale: float | None = None) -> str:
        """Write a term, with a factor in its logarithm if one is given."""
        exponents = {atom: power for atom, power in monomial if atom.kind == "exp"}
        factors = []
        for atom, power in monomial:
            if atom.kind == "exp":
                continue
            if atom.kind in _SCALED:
                terms = atom.inner
                divided = self.offsets and _divided(atom, power, exponents)
                if divided:
                    terms, k = divided
                    exponents, c = {}, c * k
                    unit_index = next(i for i, (_, each) in enumerate(terms) if each == 1)
                else:
                    unit_index = self.ones.get(atom, 0)
                    c, terms = _scaled(atom, power, unit_index, c)
                before = len(self.numbers)
                text = f"({self.sum(terms, unit_index)})"
                if atom.kind == "sum" and power > 0:
                    self.numbers_of_factors += self.numbers[before:]
                    del self.numbers[before:]
                whole = power.denominator == 1
                shown = f"({power})" if whole else self.number(Fraction(power))
                name = "abs" if atom.kind == "abs" else ""
                factors.append(name + text + ("" if power == 1 else f"**{shown}"))
            else:
                factors.append(self.factor(atom, power, scale if atom.kind == "log" else None))
        if exponents and self.offsets:
            exponent, c = self.completed(exponents, c)
            offset = Fraction(math.log(abs(c))) if c else Fraction(0)
            if 0 < _digits(offset) < _digits(c):
                sign = "" if c > 0 else "-"
                return sign + "*".join([f"exp({exponent} + {self.number(offset)})", *factors])
            factors.append(f"exp({exponent})")
        else:
            factors += [f"exp({self.inner_term(atom, p)})" for atom, p in exponents.items()]
        return "*".join([self.number(c), *factors])

    def inner_term(self, atom: Atom, power: Exponent) -> str:
        inner = monomial_text(atom.inner[0][0], Fraction(1))
        return f"{self.number(Fraction(power))}*{inner}"

    def sum(self, terms: Terms, unit_index: int | None = None) -> str:
        """Write what is in a function or under a bar; one number is 1, and is not written."""
        texts = []
        for i, (monomial, c) in enumerate(terms):
            if i == unit_index and c in {1, -1}:
                sign = "" if c > 0 else "-"
                texts.append(sign + (self.product(monomial) if monomial else ONE_TEXT))
            else:
                texts.append(self.inside(monomial, c))
        return " + ".join(texts) or "0"

    def inside(self, monomial: Monomial, c: Fraction) -> str:
        exponents = {atom: power for atom, power in monomial if atom.kind == "exp"}
        if self.offsets and len(exponents) == len(monomial) and exponents:
            shown, c = self.completed(exponents, c)
            offset = Fraction(math.log(abs(c)))
            if not offset:  # no constant that could move
                return f"{self.number(c)}*exp({shown})"
            sign = "" if c > 0 else "-"
            return f"{sign}exp({shown} + {self.number(offset)})"
        return self.term(monomial, c)

    def product(self, monomial: Monomial) -> str:
        """Write a product whose factor is 1."""
        numbers = list(self.numbers)
        text = self.term(monomial, Fraction(1))
        self.numbers = numbers + [each for each in self.numbers[len(numbers) :] if each != 1]
        return text.replace("(1)*", "", 1)

    def completed(self, exponents: Mapping[Atom, Exponent], c: Fraction) -> tuple[str, Fraction]:
        """Write ``a*x**2 + b*x`` in an exponent as ``a*(x - m)**2``; what is left is a factor."""
        unmatched = {
            monomial_text(atom.inner[0][0], Fraction(1)): Fraction(power)
            for atom, power in exponents.items()
        }
        shown = []
        for name in list(unmatched):
            square = f"{name}**2"
            if square in unmatched and name in unmatched and re.fullmatch(r"\w+", name):
                a, b = unmatched[square], unmatched[name]
                middle = -b / (2 * a)
                if float(-a * middle * middle) > _MOST_EXPONENT:
                    continue
                del unmatched[square], unmatched[name]
                shown.append(f"{self.number(a)}*({name} - {self.number(middle)})**2")
                c = c * Fraction(math.exp(float(-a * middle * middle)))
        shown += [f"{self.number(power)}*{text}" for text, power in unmatched.items()]
        return " + ".join(shown), c

    def factor(self, atom: Atom, power: Exponent, scale: float | None) -> str:
        whole = power.denominator == 1
        shown = f"({power})" if whole else self.number(Fraction(power))
        raised = "" if power == 1 else f"**{shown}"
        if atom.kind == "variable":
            return atom.text + raised
        if atom.kind == "log" and scale is not None:
            inner = self.sum(tuple((m, c * Fraction(scale)) for m, c in atom.inner))
            return f"log({inner}){raised}"
        # The first number inside is 1, and a factor before the atom has its value.
        inner = self.sum(atom.inner, 0 if atom.kind in {"log", "sign"} else None)
        if atom.kind == "wave":
            phase = atom.constants[-1]
            if phase == PI / 2:
                return f"cos({inner}){raised}"
            shift = f" + {self.number(Fraction(phase))}" if phase else ""
            return f"sin({inner}{shift}){raised}"
        if atom.second is not None:
            return f"{atom.kind}({inner}, {self.sum(atom.second)}){raised}"
        return f"{atom.kind}({inner}){raised}"


def _scaled(atom: Atom, power: Exponent, one: int, c: Fraction) -> tuple[Fraction, Terms]:
    """Divide a sum by one of its numbers; return the factor before it, too."""
    number = atom.inner[one][1]
    if atom.kind == "abs":
        c *= abs(number) ** int(power) if power.denominator == 1 else 1
        number = abs(number)
    elif power.denominator == 1:
        c *= number ** int(power)
    elif number > 0:
        c *= Fraction(float(number) ** float(power))
    else:
        return c, atom.inner
    return c, tuple((monomial, each / number) for monomial, each in atom.inner)


def _divided(
    bar: Atom, power: Exponent, exponents: Mapping[Atom, Exponent]
) -> tuple[Terms, Fraction] | None:
    """Divide both sides of ``E/(1 + k*E)`` by ``k*E``; None where the bar has no such term.

    Returns
    -------
    Terms
        What is under the bar then.
    Fraction
        The factor before the fraction.
    """
    if power > 0 or not exponents:
        return None
    for monomial, k in bar.inner:
        if {atom: -power * each for atom, each in monomial} == exponents:
            terms = []
            for other, c in bar.inner:
                powers = dict(other)
                for atom, each in monomial:
                    powers[atom] = powers.get(atom, 0) - each
                terms.append((tuple((atom, each) for atom, each in powers.items() if each), c / k))
            return tuple(terms), k ** int(power)
    return None
