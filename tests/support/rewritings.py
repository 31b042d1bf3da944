"""Pairs of equations of ordinary kinds, and twelve writings of an equation by exact identities."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy
from sympy.simplify.fu import TR7, TR8, TR10, TR11

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("x", "y")
LONGEST = 500
"""Longer writings are left out: those of factored exponentials have 15,000 signs."""
DOMAIN = {"x": (0.1, 2.9), "y": (-1.4, 1.7)}
X, Y = sympy.symbols(NAMES)
TEMPLATES = (
    "{a}*x/({b} + x)",
    "{a}*x/({b} + x) - {c}*y",
    "{a}*x**2/({b} + x**2) + {c}",
    "{a}*x**4/({b} + x**4)",
    "{a}*y/({b} + x) + {c}*x",
    "{a}/(1 + exp(-{b}*y))",
    "{a}/({b} + exp({c}*x))",
    "{a}*sin({b}*x)**2",
    "{a}*cos({b}*y)**2 + {c}*x",
    "{a}*sin({b}*x)*cos({b}*x) - {c}*y",
    "{a}*sin({b}*x + y)",
    "{a}*tanh({b}*y)",
    "{a}*x*tanh({b}*y) - {c}*x",
    "{a}*cosh({b}*y)",
    "{a}*exp(-{b}*x)*y",
    "{a}*exp(-{b}*x)*(1 + {c}*y)",
    "{a}*x*(1 - x/{b})",
    "{a}*x*y - {b}*x + {c}",
    "{a}*x/({b} + x) + {c}*y/({d} + x)",
    "{a}*x/({b} + x) + {c}*x/({d} + x)",
    "{a}*(x + y)/({b} + x**2)",
    "{a}*log({b}*x) + {c}*y",
    "{a}*log((x + {b})/x)",
    "{a}*sqrt(x + {b})*y",
    "{a}*x/({b} + x + {c}*x**2)",
)
"""Laws with up to four constants."""


@dataclass(frozen=True)
class Drawn:
    """A law, an answer to it, what was done to it, and whether it is to be identified.

    None where what was done proves neither.
    """

    truth: Any
    answer: Any
    change: str
    identified: bool | None


def law(template: str, constants: dict[str, sympy.Rational]) -> Any:
    """Fill a template with exact numbers."""
    filled = template.format(**{name: f"({value})" for name, value in constants.items()})
    return sympy.sympify(filled, locals={"x": X, "y": Y}, rational=True)


def drawn(seed: int) -> Drawn:
    """Draw a law and an answer to it."""
    generator = random.Random(seed)
    template = TEMPLATES[seed % len(TEMPLATES)]
    constants = {
        name: sympy.Rational(generator.randrange(40, 260), 100)
        for name in "abcd"
        if f"{{{name}}}" in template
    }
    truth = law(template, constants)
    change = ("same", "near", "near", "far", "term", "leak", "little")[generator.randrange(7)]
    moved = dict(constants)
    name = generator.choice(list(constants))
    if change == "near":
        moved[name] *= sympy.Rational(generator.choice((96, 104, 97, 102)), 100)
        return Drawn(truth, law(template, moved), change, True)
    if change == "far":
        moved[name] *= sympy.Rational(generator.choice((85, 117, 130)), 100)
        return Drawn(truth, law(template, moved), change, None)
    if change == "term":
        term = generator.choice((X * Y**2, Y**3, X**3, sympy.Integer(1) * X**2 * Y))
        return Drawn(truth, truth + sympy.Rational(3, 10) * term, change, False)
    if change == "leak":
        return Drawn(truth, truth + sympy.Rational(generator.choice((2, 4)), 100), change, None)
    if change == "little":
        return Drawn(truth, truth * (1 + X * sympy.Rational(1, 10**9)), change, False)
    return Drawn(truth, truth, change, True)


def _bar(one: Any) -> tuple[Any, Any]:
    above, below = sympy.fraction(sympy.together(one))
    return above, below


def _scaled(one: Any) -> str:
    above, below = _bar(one)
    return f"({3 * sympy.expand(above)})/({3 * sympy.expand(below)})"


def _inverse(one: Any) -> str:
    above, below = _bar(one)
    return f"1/(({below})/({above}))" if above != 0 else "0"


def _shifted(one: Any) -> str:
    above, below = _bar(one)
    return f"7/5 - ({sympy.expand(sympy.Rational(7, 5) * below - above)})/({below})"


def _inverse_exponentials(one: Any) -> str:
    above, below = _bar(one)
    for part in sorted(one.atoms(sympy.exp), key=str):
        above, below = above / part, below / part
    return f"({sympy.expand(above)})/({sympy.expand(below)})"


WRITINGS: tuple[Callable[[Any], Any], ...] = (
    str,
    sympy.together,
    sympy.expand,
    sympy.factor,
    lambda one: sympy.apart(sympy.together(one), X) if one.is_rational_function() else one,
    lambda one: one.rewrite(sympy.exp) if one.has(sympy.tanh, sympy.sinh, sympy.cosh) else one,
    lambda one: sympy.expand_trig(TR7(one)),
    lambda one: TR8(TR11(TR10(one))),
    _scaled,
    _inverse,
    _shifted,
    _inverse_exponentials,
)
"""Each holds wherever the first writing is defined."""


def writings(one: Any) -> list[str]:
    """Write an equation in all ways, each once."""
    texts = dict.fromkeys(str(way(one)) for way in WRITINGS)
    return [text for text in texts if len(text) <= LONGEST]
