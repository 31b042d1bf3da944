"""Pairs of equations that are hard for a scorer, with the right verdict by construction.

`rewritten_pairs` has twelve writings of each law of a family, as the answer and as the truth, with
constants that are the law's, within 4 % of it, or 6 % and more off.  `hidden_pairs` has
differences where sampling is blind: narrow, tiny, or where no datum is.

On the domain of the data an answer is the truth where the two differ by at most `SAME` of the size
of the truth, whatever else stands in its text; a larger difference anywhere makes it another one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

from labelled import Law, Pair, rewritten

from eqverdict.grammar import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Number = Callable[[float], str]

SAME = 1e-13
"""Two functions that differ by no more, over the size of the truth, are the same."""
WRITINGS = 12
"""Of each law."""
DIGITS = (4, 6, 10, 17)
"""To which constants are printed."""


@dataclass(frozen=True)
class Family:
    """Laws that differ in their constants.

    Attributes
    ----------
    name
        Of the pairs' kind.
    constants
        The least and the largest value of each.
    domain
        The range of each variable, as `Law.domain` has it.
    writings
        Returns equivalent texts from the function that prints a number, and the constants.  The
        first one is the law's own writing; of its constants no two can stand in for each other.
    """

    name: str
    constants: Mapping[str, tuple[float, float]]
    domain: Mapping[str, tuple[float, float]]
    writings: Callable[..., list[str]]

    def drawn(self, generator: random.Random) -> dict[str, float]:
        """Draw constants that are not round."""
        return {name: generator.uniform(*ends) for name, ends in self.constants.items()}

    def law(self, text: str, name: str) -> Law:
        """Return a law on the domain."""
        spreads = {
            each: {"low": low, "high": high, "sign": "positive"}
            for each, (low, high) in self.domain.items()
        }
        return Law(name, text, spreads, known=True)

    def twelve(
        self, constants: Mapping[str, float], digits: int, generator: random.Random
    ) -> list[str]:
        """Return twelve writings, those beyond the family's own by identities at some places."""
        texts = self.writings(printer(digits), **constants)
        names = tuple(self.domain)
        more = [
            rewritten(read(texts[i % len(texts)], names), generator, 0.3)
            for i in range(WRITINGS - len(texts))
        ]
        return [*texts, *more][:WRITINGS]


def printer(digits: int) -> Number:
    """Return the function that prints a number to so many digits, in brackets if it is negative."""

    def printed(number: float) -> str:
        text = f"{number:.{digits}g}"
        return f"({text})" if number < 0 else text

    return printed


def _saturation(n: Number, v: float, k: float) -> list[str]:
    return [
        f"{n(v)}*u0/({n(k)} + u0)",
        f"{n(v)} - {n(v * k)}/({n(k)} + u0)",
        f"{n(v)}/(1 + {n(k)}/u0)",
        f"{n(3 * v)}*u0/({n(3 * k)} + 3*u0)",
        f"{n(v)}*(1 - {n(k)}/({n(k)} + u0))",
        f"({n(v / k)}*u0)/(1 + u0/{n(k)})",
        f"1/({n(1 / v)} + {n(k / v)}/u0)",
        f"({n(0.1 * v * k)} + {n(1.1 * v)}*u0)/({n(k)} + u0) - {n(0.1 * v)}",
    ]


def _shifted_fraction(n: Number, a: float, b: float, k: float) -> list[str]:
    return [
        f"{n(a)} + {n(b)}/({n(k)} + u0)",
        f"({n(a * k + b)} + {n(a)}*u0)/({n(k)} + u0)",
        f"({n(a)}*({n(k)} + u0) + {n(b)})/({n(k)} + u0)",
        f"{n(a + b / k)} - {n(b / k)}*u0/({n(k)} + u0)",
        f"{n(a)} + {n(b / k)}/(1 + u0/{n(k)})",
        f"({n(2 * (a * k + b))} + {n(2 * a)}*u0)/({n(2 * k)} + 2*u0)",
        f"{n(a)}*({n(k + b / a)} + u0)/({n(k)} + u0)",
    ]


def _hill(n: Number, v: float, k: float, power: int) -> list[str]:
    u = f"u0**{power}"
    return [
        f"{n(v)}*{u}/({n(k)} + {u})",
        f"{n(v)} - {n(v * k)}/({n(k)} + {u})",
        f"{n(v)}/(1 + {n(k)}*u0**(-{power}))",
        f"{n(v)}/(1 + {n(k)}/{u})",
        f"{n(v)}*(1 - {n(k)}/({n(k)} + {u}))",
        f"{n(v / k)}*{u}/(1 + {u}/{n(k)})",
        f"{n(v)}/(1 + exp({n(log(k))} - {power}*log(u0)))",
    ]


def _sigmoid(n: Number, a: float, k: float, c: float) -> list[str]:
    z = f"{n(k)}*(u0 - {n(c)})"
    return [
        f"{n(a)}/(1 + exp(-{z}))",
        f"{n(a)} - {n(a)}/(1 + exp({z}))",
        f"{n(a)}*exp({z})/(1 + exp({z}))",
        f"{n(a / 2)}*(1 + tanh({n(k / 2)}*(u0 - {n(c)})))",
        f"{n(a / 2)} + {n(a / 2)}*tanh({n(k / 2)}*u0 - {n(k * c / 2)})",
        f"{n(a)}*(1 - 1/(1 + exp({n(k)}*u0 - {n(k * c)})))",
        f"{n(2 * a)}/(2 + 2*exp(-{n(k)}*u0 + {n(k * c)}))",
    ]


def _squared_sine(n: Number, a: float, w: float, b: float) -> list[str]:
    x = f"{n(w)}*u0"
    return [
        f"{n(a)}*sin({x})**2 + {n(b)}",
        f"{n(a)}*(1 - cos({x})**2) + {n(b)}",
        f"{n(a + b)} - {n(a)}*cos({x})**2",
        f"{n(a / 2)}*(1 - cos({n(2 * w)}*u0)) + {n(b)}",
        f"{n(a / 2 + b)} - {n(a / 2)}*cos({n(2 * w)}*u0)",
        f"{n(a)}*sin({x})*sin({x}) + {n(b)}*(sin({x})**2 + cos({x})**2)",
        f"({n(a + b)}*tan({x})**2 + {n(b)})/(1 + tan({x})**2)",
    ]


def _double_angle(n: Number, a: float, w: float, b: float) -> list[str]:
    h = f"{n(w / 2)}*u0"
    return [
        f"{n(a)}*sin({n(w)}*u0) + {n(b)}*u0",
        f"{n(2 * a)}*sin({h})*cos({h}) + {n(b)}*u0",
        f"{n(2 * a)}*tan({h})/(1 + tan({h})**2) + {n(b)}*u0",
        f"-{n(a)}*sin(-{n(w)}*u0) + {n(b)}*u0",
        f"{n(a)}*cos({n(w)}*u0 - pi/2) + {n(b)}*u0",
        f"{n(4 * a)}*sin({n(w / 4)}*u0)*cos({n(w / 4)}*u0)*cos({h}) + {n(b)}*u0",
    ]


def _product_of_exponentials(n: Number, c: float, a: float, b: float) -> list[str]:
    return [
        f"{n(c)}*exp({n(a)}*u0 - {n(b)}*u1)",
        f"{n(c)}*exp({n(a)}*u0)*exp(-{n(b)}*u1)",
        f"{n(c)}*exp({n(a)}*u0)/exp({n(b)}*u1)",
        f"exp({n(log(c))} + {n(a)}*u0 - {n(b)}*u1)",
        f"{n(c)}*exp({n(a / 2)}*u0 - {n(b / 2)}*u1)**2",
        f"{n(c)}/exp({n(b)}*u1 - {n(a)}*u0)",
    ]


def _cubic(n: Number, a: float, b: float, c: float, d: float) -> list[str]:
    return [
        f"{n(a)} + {n(b)}*u0 - {n(c)}*u0**2 + {n(d)}*u0**3",
        f"{n(a)} + u0*({n(b)} + u0*({n(d)}*u0 - {n(c)}))",
        f"u0*({n(b)} - u0*({n(c)} - {n(d)}*u0)) + {n(a)}",
        f"{n(d)}*(u0**3 - {n(c / d)}*u0**2 + {n(b / d)}*u0 + {n(a / d)})",
        f"{n(a)}*(1 + {n(b / a)}*u0) + u0**2*({n(d)}*u0 - {n(c)})",
        f"{n(a)} + {n(b)}*u0 - {n(c)}*u0*u0 + {n(d)}*u0*u0*u0",
    ]


def _roots(n: Number, a: float, r: float, s: float) -> list[str]:
    return [
        f"{n(a)}*(u0 - {n(r)})*(u0 - {n(s)})",
        f"{n(a)}*(u0**2 - {n(r + s)}*u0 + {n(r * s)})",
        f"{n(a)}*u0**2 - {n(a * (r + s))}*u0 + {n(a * r * s)}",
        f"u0*({n(a)}*u0 - {n(a * (r + s))}) + {n(a * r * s)}",
        f"{n(a)}*((u0 - {n((r + s) / 2)})**2 - {n(((r - s) / 2) ** 2)})",
        f"({n(a)}*u0 - {n(a * r)})*(u0 - {n(s)})",
    ]


def _logistic(n: Number, r: float, k: float) -> list[str]:
    return [
        f"{n(r)}*u0*(1 - u0/{n(k)})",
        f"{n(r)}*u0 - {n(r / k)}*u0**2",
        f"{n(r)}*u0*({n(k)} - u0)/{n(k)}",
        f"{n(r / k)}*u0*({n(k)} - u0)",
        f"u0*({n(r)} - {n(r / k)}*u0)",
        f"{n(r * k / 4)} - {n(r / k)}*(u0 - {n(k / 2)})**2",
    ]


def _predator(n: Number, a: float, h: float, m: float) -> list[str]:
    return [
        f"{n(a)}*u0*u1/(1 + {n(h)}*u0) - {n(m)}*u1",
        f"u1*({n(a)}*u0/(1 + {n(h)}*u0) - {n(m)})",
        f"{n(2 * a)}*u0*u1/(2 + {n(2 * h)}*u0) - {n(m)}*u1",
        f"{n(a / h)}*u1 - {n(a / h)}*u1/(1 + {n(h)}*u0) - {n(m)}*u1",
        f"{n(a / h - m)}*u1 - {n(a / h)}*u1/(1 + {n(h)}*u0)",
        f"u1*({n(a - m * h)}*u0 - {n(m)})/(1 + {n(h)}*u0)",
        f"{n(a / h)}*u0*u1/({n(1 / h)} + u0) - {n(m)}*u1",
    ]


def _hyperbolic(n: Number, a: float, k: float, b: float) -> list[str]:
    x = f"{n(k)}*u0"
    return [
        f"{n(a)}*cosh({x}) + {n(b)}*u0",
        f"{n(a / 2)}*(exp({x}) + exp(-{x})) + {n(b)}*u0",
        f"{n(a)}*sqrt(1 + sinh({x})**2) + {n(b)}*u0",
        f"{n(a)}*(1 + 2*sinh({n(k / 2)}*u0)**2) + {n(b)}*u0",
        f"{n(a)}*(cosh({n(k / 2)}*u0)**2 + sinh({n(k / 2)}*u0)**2) + {n(b)}*u0",
        f"{n(a / 2)}*(exp({n(2 * k)}*u0) + 1)/exp({x}) + {n(b)}*u0",
    ]


def _root_of_sum(n: Number, a: float, b: float) -> list[str]:
    return [
        f"{n(a)}*sqrt(u0**2 + {n(b)})",
        f"sqrt({n(a * a)}*u0**2 + {n(a * a * b)})",
        f"{n(a)}*u0*sqrt(1 + {n(b)}/u0**2)",
        f"{n(a)}*(u0**2 + {n(b)})**0.5",
        f"{n(a)}*(u0**2 + {n(b)})/sqrt(u0**2 + {n(b)})",
        f"{n(a / 2)}*sqrt(4*u0**2 + {n(4 * b)})",
    ]


_ONE = {"u0": (0.1, 3.0)}
_TWO = {"u0": (0.1, 3.0), "u1": (0.2, 2.0)}
FAMILIES = (
    Family("saturation", {"v": (0.5, 2), "k": (0.3, 1.5)}, _ONE, _saturation),
    Family(
        "shifted fraction",
        {"a": (0.5, 2), "b": (0.4, 2), "k": (0.3, 1.5)},
        _ONE,
        _shifted_fraction,
    ),
    *(
        Family(
            f"Hill {power}",
            {"v": (0.5, 2), "k": (0.3, 1.5)},
            _ONE,
            lambda n, v, k, power=power: _hill(n, v, k, power),
        )
        for power in (2, 4)
    ),
    Family("sigmoid", {"a": (0.5, 2), "k": (1, 3), "c": (0.5, 2)}, _ONE, _sigmoid),
    Family("squared sine", {"a": (0.5, 2), "w": (0.5, 1.4), "b": (0.3, 1)}, _ONE, _squared_sine),
    Family("double angle", {"a": (0.5, 2), "w": (0.5, 0.9), "b": (0.3, 1)}, _ONE, _double_angle),
    Family(
        "exponentials",
        {"c": (0.5, 2), "a": (0.2, 0.9), "b": (0.2, 0.9)},
        _TWO,
        _product_of_exponentials,
    ),
    Family(
        "cubic",
        {"a": (0.5, 2), "b": (0.5, 2), "c": (0.5, 2), "d": (0.2, 1)},
        _ONE,
        _cubic,
    ),
    Family("roots", {"a": (0.5, 2), "r": (3.5, 5), "s": (5.5, 8)}, _ONE, _roots),
    Family("logistic", {"r": (0.5, 2), "k": (4, 9)}, _ONE, _logistic),
    Family("predator", {"a": (1, 3), "h": (0.3, 1), "m": (0.2, 0.8)}, _TWO, _predator),
    Family("cosh", {"a": (0.5, 2), "k": (0.4, 1.2), "b": (0.3, 1)}, _ONE, _hyperbolic),
    Family("root of a sum", {"a": (0.5, 2), "b": (0.3, 2)}, _ONE, _root_of_sum),
)


def rewritten_pairs(seed: int) -> Iterator[Pair]:
    """Make twelve writings of each law: as the truth, and as answers with some constants."""
    for family in FAMILIES:
        generator = random.Random(f"{family.name}/{seed}")
        constants = family.drawn(generator)
        near = {name: c * generator.uniform(0.96, 1.04) for name, c in constants.items()}
        moved = generator.choice(list(constants))
        factor = generator.choice([0.8, 0.94, 1.06, 1.2])
        far = {**constants, moved: constants[moved] * factor}
        law = family.law(family.writings(printer(17), **constants)[0], f"{family.name} {seed}")
        for what, values, identified in (
            ("the same constants", constants, True),
            ("constants within 4 %", near, True),
            ("a constant 6 % off or more", far, False),
        ):
            printed = [family.twelve(values, digits, generator) for digits in DIGITS]
            for i in range(WRITINGS):
                k = i % len(DIGITS)
                yield _pair(
                    law, printed[k][i], f"{what}, {DIGITS[k]} digits", identified=identified
                )
        # So much that no writing has enough constants to make up for it within 5 % each.
        own, wrong = law.text, f"3*({law.text})"
        for text in family.twelve(constants, 17, generator):
            true = replace(law, text=text)
            yield _pair(true, own, "the truth rewritten", identified=True)
            yield _pair(true, wrong, "the truth rewritten, times 3", identified=False)


def _pair(law: Law, text: str, what: str, *, identified: bool) -> Pair:
    return Pair(law, text, what, None, identified, None, None)


def hidden_pairs(seed: int) -> Iterator[Pair]:
    """Make differences of each law that are narrow, tiny or outside of the domain.

    Each law is of the size of 1 on its domain.
    """
    for family in FAMILIES:
        generator = random.Random(f"hidden/{family.name}/{seed}")
        text = family.writings(printer(17), **family.drawn(generator))[0]
        law = family.law(text, f"{family.name} {seed}")
        low, high = family.domain["u0"]
        p = f"{generator.uniform(low + 0.1, high - 0.1):.7f}"
        for what, answer, identified in _hidden(text, p, low, high):
            yield _pair(law, answer, what, identified=identified)
        if len(law.names) > 1:
            bump = f"0.5*exp(-1e6*((u0 - {p})**2 + (u1 - 1.1)**2))"
            yield _pair(law, f"{text} + {bump}", "bump at a point inside", identified=False)
    yield from _switches(seed)
    yield from _domains(seed)


def _hidden(f: str, p: str, low: float, high: float) -> Iterator[tuple[str, str, bool]]:
    """Return kinds, answers and labels beside the law f, p being a place inside the domain."""
    for height in ("0.5", "1e-3", "1e-8"):
        yield "narrow bump inside", f"{f} + {height}*exp(-1e6*(u0 - {p})**2)", False
        yield "very narrow bump inside", f"({f})*(1 + {height}*exp(-1e14*(u0 - {p})**2))", False
    pulse = f"tanh(1e6*(u0 - {p})) - tanh(1e6*(u0 - {p} - 1e-5))"
    yield "narrow pulse inside", f"{f} + 1e-3*({pulse})", False
    yield "narrow pole inside", f"{f} + 1e-16/(u0 - {p})", False
    yield "peak of a fraction inside", f"{f} + 1e-3/(1 + 1e14*(u0 - {p})**2)**4", False
    yield "tent inside", f"{f} + max(0, 1e-4 - 1e3*abs(u0 - {p}))", False
    yield "round corner inside", f"{f} + 0.1*(sqrt((u0 - {p})**2 + 1e-14) - abs(u0 - {p}))", False
    yield "bump of a function inside", f"{f} + 0.5*exp(-1e8*(exp(-u0) - exp(-{p}))**2)", False
    yield "bump in a denominator", f"({f})/(1 + 0.5*exp(-1e6*(u0 - {p})**2))", False
    yield "bump in an argument", f.replace("u0", f"(u0 + 0.1*exp(-1e8*(u0 - {p})**2))"), False
    yield "bump outside", f"{f} + 0.5*exp(-1e6*(u0 - {high + 20})**2)", True
    yield "a corner at the end", f"{f} + 1e-3*max(0, u0 - {high - 1e-6:.9f})", False
    yield "a corner outside", f"{f} + max(0, u0 - {high + 20})", True
    yield "a bound outside", f.replace("u0", "max(u0, -100)"), True
    yield "a bound inside", f.replace("u0", f"max(u0, {low + 1e-6:.9f})", 1), False
    yield "a factor that is 1", f"({f})*tanh(1e7*u0)", True
    yield "a factor that is 1 but at the end", f"({f})*tanh(1e7*(u0 - {low}))", False
    yield "an exponential of 1e-130", f"{f} + exp(-3000*u0)", True
    yield "an exponential of 1e-26", f"{f} + exp(-600*u0)", SAME > 1e-26  # noqa: PLR2004
    yield "an exponential at the end", f"{f} + 0.1*exp(-3000*(u0 - {low}))", False
    # No law has such a term, whose constant could be moved to make up for it.
    yield "a term of 1e-14", f"{f} + 1e-14*atan(u0)", SAME > 1e-14  # noqa: PLR2004
    yield "a term of 1e-9", f"{f} + 1e-9*atan(u0)", False
    yield "a fast wave", f"{f} + 1e-3*sin(1e8*u0)", False


def _switches(seed: int) -> Iterator[Pair]:
    """Return smooth functions instead of a modulus, where they are it and where they are not."""
    generator = random.Random(f"switches/{seed}")
    for _ in range(4):
        c = f"{generator.uniform(0.5, 2):.6f}"
        steep = generator.choice(["1e3", "1e5", "1e7"])
        for what, spread, identified in (
            ("a smooth modulus", {"low": 0.0, "high": 2.0, "sign": "mixed"}, False),
            ("a smooth modulus away from 0", {"low": 0.5, "high": 2.0, "sign": "positive"}, True),
        ):
            law = Law(f"modulus {seed}", f"{c}*abs(u0)", {"u0": spread}, known=True)
            yield _pair(law, f"{c}*u0*tanh({steep}*u0)", what, identified=identified)
        law = Law(f"modulus {seed}", f"{c}*u0", {"u0": {"low": 0, "high": 2, "sign": "mixed"}},
                  known=True)  # fmt: skip
        yield _pair(law, f"{c}*u0*tanh({steep}*u0)**2", "a smooth step, squared", identified=False)
        yield _pair(law, f"{c}*u0 + 1e-200*exp(300*u0)", "an exponential", identified=False)
        small = Law(f"kelvin {seed}", f"{c}*u0", {"u0": {"low": 250, "high": 400,
                    "sign": "positive"}}, known=True)  # fmt: skip
        yield _pair(small, f"{c}*u0 + 1e3*exp(-u0)", "exp of minus kelvins", identified=True)


def _domains(seed: int) -> Iterator[Pair]:
    """Return identities that hold where u0 is positive, and of zero, which hold everywhere."""
    generator = random.Random(f"domains/{seed}")
    c = f"{generator.uniform(0.5, 2):.6f}"
    spreads = {
        True: {"low": 0.2, "high": 2.0, "sign": "positive"},
        False: {"low": 0.0, "high": 2.0, "sign": "mixed"},
    }
    for truth, answer in (
        (f"{c}*log(u0**2)", f"{2 * float(c):.6f}*log(u0)"),
        (f"{c}*abs(u0)", f"{c}*u0"),
        (f"{c}*u0", f"{c}*sqrt(u0**2)"),
        (f"{c}*u0", f"{c}*exp(log(u0))"),
        (f"{c}*u0**2", f"{c}*u0*abs(u0)"),
        (f"{c}*u0", f"{c}*max(u0, -u0)"),
    ):
        for positive, spread in spreads.items():
            what = f"an identity of positive numbers, {'there' if positive else 'elsewhere'}"
            law = Law(f"sign {seed}", truth, {"u0": spread}, known=True)
            yield _pair(law, answer, what, identified=positive)
    for zero in (
        "sin(u0)**2 + cos(u0)**2 - 1",
        "cosh(u0)**2 - sinh(u0)**2 - 1",
        "(u0 + 1)**2 - u0**2 - 2*u0 - 1",
        "exp(u0)*exp(-u0) - 1",
        "tanh(u0) - sinh(u0)/cosh(u0)",
        "u0/(1 + u0**2) - 1/(u0 + 1/u0)",
    ):
        for truth, answer in (("0", zero), (zero, "0"), (f"{c}*u0**2", f"{c}*u0**2 + {zero}")):
            law = Law(f"zero {seed}", truth, {"u0": spreads[True]}, known=True)
            yield _pair(law, answer, "a writing of zero", identified=True)
        law = Law(f"zero {seed}", zero, {"u0": spreads[True]}, known=True)
        yield _pair(law, "1e-3*u0", "a writing of zero and another", identified=False)
