"""Pairs of equations with the right verdict, which follows from how they were made.

Each of the 120 laws of physics, of the equations of the 63 ODE and 14 PDE systems, and of some
answers in ``docs/results`` is rewritten by proved identities, or changed by a little that is
real.  No label follows a scorer's verdict.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqverdict.grammar import read
from eqverdict.interval_eval import known_value
from eqverdict.srbench import POSITIVE
from eqverdict.tree import (
    CONSTANTS,
    FUNCTIONS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    text_of,
)
from mdbench.datatypes.ode import systems as ode
from mdbench.datatypes.pde import systems as pde
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import EquationError
from mdbench.records import PACKED, read_folder

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
DATASETS = ROOT / "datasets"
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
MOST_WORDS = 120
"""Longer answers are left out of the corpus: no law has as many."""
ODD = ("sin({v})", "tanh({v})", "atan({v})")


@dataclass(frozen=True)
class Law:
    """A true equation, and how its variables are drawn."""

    name: str
    text: str
    domain: dict[str, dict[str, Any]]
    known: bool
    """Whether the domain is the problem's own; of others only the names are known."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.domain)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the largest values, as `compare` takes them."""
        return {name: ends(spread) for name, spread in self.domain.items()} if self.known else {}


@dataclass(frozen=True)
class Pair:
    """A truth and an answer, what was done to it, and what is right; `equal`: as they stand."""

    law: Law
    prediction: str
    what: str
    equal: bool | None
    identified: bool | None
    solution: bool | None
    skeleton: bool | None
    """None where what was done does not prove it."""


def ends(spread: dict[str, Any]) -> tuple[float, float]:
    """Return the range of a variable, with its sign."""
    low, high = float(spread["low"]), float(spread["high"])
    signed = {"negative": (-high, -low), "mixed": (-high, high)}
    return signed.get(spread["sign"], (low, high))


def laws() -> list[Law]:
    """Read all true equations that are not constant."""
    found = []
    for path in sorted((DATASETS / "srsd").glob("*.toml")):
        problem = read_problem(path)
        found.append(Law(problem.name, problem.law, problem.domain, known=True))
    for folder, reader in (("ode", ode.read_system), ("pde", pde.read_system)):
        for path in sorted((DATASETS / folder).glob("*.toml")):
            for i, text in enumerate(reader(path).truth):
                names = sorted(set(words(text)))
                if names:
                    domain = {name: dict(POSITIVE) for name in names}
                    found.append(Law(f"{path.stem}[{i}]", text, domain, known=False))
    return found


def answers(number: int = 60) -> list[Law]:
    """Draw answers of methods from ``docs/results``, the same ones each time, a third of a file."""
    found: list[Law] = []
    for name, bundle in {"ode": "equal-work", "pde": "pde-released", "srsd": "srsd-search"}.items():
        records = read_folder(ROOT / "docs" / "results" / f"{bundle}{PACKED}")
        drawn = sorted({text for _, record in records for text in record.equations or ()})
        random.Random("answers").shuffle(drawn)
        kept = (law for i, text in enumerate(drawn) if (law := _answer(f"{name} {i}", text)))
        found += islice(kept, number // 3)
    return found


def _answer(name: str, text: str) -> Law | None:
    """Take an answer for a truth, if it is not constant and has values that are not zero."""
    names = sorted(set(words(text)))
    if not names or len(re.findall(r"[\w.]+|[-+*/]+", text)) > MOST_WORDS:
        return None
    try:
        tree = read(text, names)
        values = [
            known_value(tree, {n: 0.3 + (0.7 * k + 0.41 * i) % 1.9 for i, n in enumerate(names)})
            for k in range(3)
        ]
    except (EquationError, ArithmeticError):
        return None
    if any(value.contains(0) for value in values) or values[0].overlaps(values[1]):
        return None
    return Law(name, text, {n: dict(POSITIVE) for n in names}, known=False)


def words(text: str) -> list[str]:
    """Return the names of variables in a true equation."""
    return [name for name in _NAME.findall(text) if name not in {*FUNCTIONS, *CONSTANTS}]


def rewritten(node: Node, generator: random.Random, share: float) -> str:
    """Rewrite a tree, by an identity at some of its nodes; each holds wherever it is defined."""

    def again(part: Node) -> str:
        return rewritten(part, generator, share)

    change = generator.random() < share
    forms: tuple[str, ...] = ()
    match node:
        case Number():
            # Not 0, and in double precision 3 plus it is 3.
            if 0.1 < abs(float(node.constant or 0)) < 1e3:  # noqa: PLR2004
                forms = ("({a}*2/2)", "(({a} + 3) - 3)", "(1/(1/{a}))")
            made = node.text
        case Variable():
            forms = ("(-(-{a}))", "(({a} + {a})/2)", "(({a}*3 - {a})/2)")
            made = node.name
        case Chain():
            return chain(node, again, generator, change=change)
        case Negation():
            made = f"(-{again(node.operand)})"
        case Power():
            base, exponent = again(node.base), text_of(node.exponent)
            whole = change and exponent in {"2", "3", "4", "2.0", "3.0"}
            product = "*".join([base] * int(float(exponent))) if whole else ""
            made = f"({product})" if whole else f"({base}**{exponent})"
        case Call():
            arguments = ", ".join(map(again, node.arguments))
            made = f"{node.function}({arguments})"
            if node.function in FORMS:
                return generator.choice(FORMS[node.function]).format(a=f"({arguments})").join(
                    "()"
                ) if change else made  # fmt: skip
    return generator.choice(forms).format(a=made) if change and forms else made


FORMS = {
    "sin": ("2*sin({a}/2)*cos({a}/2)", "-sin(-{a})", "2*tan({a}/2)/(1 + tan({a}/2)**2)"),
    "cos": ("1 - 2*sin({a}/2)**2", "cos({a}/2)**2 - sin({a}/2)**2", "sin({a} + pi/2)"),
    "tan": ("sin({a})/cos({a})", "1/cot({a})"),
    "cot": ("cos({a})/sin({a})", "1/tan({a})"),
    "tanh": ("sinh({a})/cosh({a})", "1 - 2/(exp(2*{a}) + 1)"),
    "exp": ("exp({a}/2)**2", "1/exp(-{a})", "cosh({a}) + sinh({a})"),
    "log": ("-log(1/{a})", "2*log(sqrt({a}))", "log(3*{a}) - log(3)"),
    "sqrt": ("{a}**0.5", "sqrt(4*{a})/2"),
    "abs": ("sqrt({a}**2)", "max({a}, -{a})"),
}
"""Identities of functions of real numbers, wherever the first writing is defined."""


def chain(
    node: Chain, again: Callable[[Node], str], generator: random.Random, *, change: bool
) -> str:
    """Rewrite a sum or a product."""
    first, rest = again(node.first), [(sign, again(part)) for sign, part in node.rest]
    if not change:
        return f"({first}{''.join(f' {sign} {part}' for sign, part in rest)})"
    if node.rest[0][0] in "+-":
        if generator.random() < 0.5:  # noqa: PLR2004 - even odds
            opposite = {"+": "-", "-": "+"}
            return f"(-(-{first}{''.join(f' {opposite[sign]} {part}' for sign, part in rest)}))"
        generator.shuffle(rest)
        return f"({''.join(f'{sign} {part} ' for sign, part in rest)}+ {first})"
    below = [part for sign, part in rest if sign == "/"]
    above = [first, *(part for sign, part in rest if sign == "*")]
    generator.shuffle(above)
    if below:
        return f"({'*'.join(above)}/({'*'.join(below)}))"
    return f"(1/(1/{above[0]}/({'*'.join(above[1:])})))"


def pairs(law: Law, seed: int) -> list[Pair]:
    """Make pairs of a law: its writings, near misses of constants, and what it is not."""
    generator = random.Random(f"{law.name}/{seed}")
    name = generator.choice([n for n in law.names if n in set(words(law.text))])
    high = max(map(abs, ends(law.domain[name]))) if law.known else 1.0
    f = rewritten(read(law.text, law.names), generator, 0.35)
    g = rewritten(read(law.text, law.names), generator, 0.2)
    v = f"({name}/{high:.3g})"
    zero = generator.choice(ODD).format(v=v)
    kink = f"max(0, abs({v}) - 0.7)"
    made = [
        ("rewritten", f, "equal"),
        ("times 1", f"({f})*(sin({v})**2 + cos({v})**2)", "equal"),
        ("plus 0", f"({f}) + {zero} + {zero.replace(v, f'(-{v})')}", "equal"),
        ("times 1.03", f"1.03*({f})", "identified"),
        ("times 1.2", f"1.2*({g})", "solution"),
        ("plus 1e-3", f"({g})*(1 + 1e-3*{v})", ""),
        ("plus 1e-9", f"({g})*(1 + 1e-9*{v})", ""),
        ("a branch", f"({g})*(1 + {kink})", ""),
        ("another power", f"({g})*(1 + {v}**2)**0.5", ""),
    ]
    found = [_pair(law, what, text, verdict) for what, text, verdict in made]
    other = renumbered(read(law.text, law.names), generator)
    # Redundant numbers may stand in for each other, so that nothing else is proved.
    found.append(Pair(law, other, "other numbers", None, None, None, True))
    if hangs_on(law, name):
        fixed = re.sub(rf"\b{name}\b", f"({high / 3:.3g})", law.text)
        found.append(Pair(law, fixed, "a variable less", False, False, False, False))
    return found


def _pair(law: Law, what: str, text: str, verdict: str) -> Pair:
    """Label what is equal, what is identified with another constant, or a solution, or none."""
    order = ("", "solution", "identified", "equal")
    rank = order.index(verdict)
    solution = rank > 0
    return Pair(law, text, what, verdict == "equal", rank > 1, solution, True if solution else None)


def renumbered(node: Node, generator: random.Random) -> str:  # noqa: PLR0911 - one a kind
    """Write a tree with other numbers; whole exponents are structure."""

    def again(part: Node) -> str:
        return renumbered(part, generator)

    match node:
        case Number():
            if node.text in CONSTANTS:
                return node.text
            return f"{float(node.text) * generator.uniform(0.6, 1.6):.6g}"
        case Variable():
            return node.name
        case Chain():
            parts = "".join(f" {sign} {again(part)}" for sign, part in node.rest)
            return f"({again(node.first)}{parts})"
        case Negation():
            return f"(-{again(node.operand)})"
        case Power():
            return f"({again(node.base)}**{text_of(node.exponent)})"
        case Call():
            return f"{node.function}({', '.join(map(again, node.arguments))})"


def hangs_on(law: Law, name: str) -> bool:
    """Prove by two points that a law hangs on a variable."""
    tree = read(law.text, law.names)
    for k in range(6):
        point = {n: sum(ends(spread)) * (0.31 + 0.17 * ((k + i) % 4)) or 0.7
                 for i, (n, spread) in enumerate(law.domain.items())}  # fmt: skip
        try:
            one = known_value(tree, point)
            other = known_value(tree, {**point, name: point[name] * 0.77})
        except ArithmeticError:
            continue
        if not one.overlaps(other):
            return True
    return False
