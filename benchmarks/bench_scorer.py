"""How often the scorer is wrong or undecided, and how long it takes, on labelled pairs.

Run as ``python benchmarks/bench_scorer.py [SEEDS]``.  Each of the 120 laws of physics and of the
equations of the 63 ODE and 14 PDE systems is written anew by proved identities, or changed by a
little that is real; what is right follows from what was done, never from what the scorer says.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.expressions.comparison import POSITIVE, symbolic_solution
from mdbench.expressions.fidelity import compare
from mdbench.expressions.functions import CONSTANTS, FUNCTIONS
from mdbench.expressions.grammar import read
from mdbench.expressions.tree import Call, Chain, Negation, Node, Number, Power, Variable
from mdbench.solvers import ode, pde
from mdbench.solvers.formula import read_problem

if TYPE_CHECKING:
    from collections.abc import Callable

DATASETS = Path(__file__).parent.parent / "datasets"
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
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
    """A truth and an answer, what was done to it, and what is right."""

    law: Law
    prediction: str
    what: str
    identified: bool
    solution: bool


def ends(spread: dict[str, Any]) -> tuple[float, float]:
    """Give the range of a variable, with its sign."""
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


def words(text: str) -> list[str]:
    """Give the names of variables in a true equation."""
    return [name for name in _NAME.findall(text) if name not in {*FUNCTIONS, *CONSTANTS}]


def written(node: Node) -> str:
    """Write a tree, with every bracket."""
    match node:
        case Number():
            return node.text
        case Variable():
            return node.name
        case Chain():
            parts = "".join(f" {sign} {written(part)}" for sign, part in node.rest)
            return f"({written(node.first)}{parts})"
        case Negation():
            return f"(-{written(node.operand)})"
        case Power():
            return f"({written(node.base)}**{written(node.exponent)})"
        case Call():
            return f"{node.function}({', '.join(map(written, node.arguments))})"


def rewritten(node: Node, generator: random.Random, share: float) -> str:
    """Write a tree anew, by an identity at some of its nodes; each holds wherever it is defined."""

    def again(part: Node) -> str:
        return rewritten(part, generator, share)

    change = generator.random() < share
    forms: tuple[str, ...] = ()
    match node:
        case Number():
            # Not 0, and in double precision 3 more than it tells what it is.
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
            base, exponent = again(node.base), written(node.exponent)
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
    """Write a sum or a product anew."""
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
    return [
        Pair(law, f, "rewritten", identified=True, solution=True),
        Pair(law, f"({f})*(sin({v})**2 + cos({v})**2)", "times 1", identified=True, solution=True),
        Pair(
            law,
            f"({f}) + {zero} + {zero.replace(v, f'(-{v})')}",
            "plus 0",
            identified=True,
            solution=True,
        ),
        Pair(law, f"1.03*({f})", "times 1.03", identified=True, solution=True),
        Pair(law, f"1.2*({g})", "times 1.2", identified=False, solution=True),
        Pair(law, f"({g})*(1 + 1e-3*{v})", "plus 1e-3", identified=False, solution=False),
        Pair(law, f"({g})*(1 + 1e-9*{v})", "plus 1e-9", identified=False, solution=False),
        Pair(law, f"({g})*(1 + {kink})", "a branch", identified=False, solution=False),
        Pair(law, f"({g})*(1 + {v}**2)**0.5", "another power", identified=False, solution=False),
    ]


def identified(pair: Pair) -> bool | None:
    """Ask for the verdict on terms."""
    law = pair.law
    found = compare([law.text], [pair.prediction], law.names, domain=law.ranges).verdict
    return None if found == "undecided" else found == "identified"


def solved(pair: Pair) -> bool | None:
    """Ask for the verdict of SRBench's definition."""
    return symbolic_solution(pair.law.text, pair.prediction, pair.law.domain, seconds=20).solved


def main() -> None:
    """Print how often each verdict is wrong, and how long it takes."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    corpus = [pair for seed in range(seeds) for law in laws() for pair in pairs(law, seed)]
    print(f"{len(corpus)} pairs")
    for title, ask in (("identified", identified), ("solution", solved)):
        counts: Counter[str] = Counter()
        times = []
        for pair in corpus:
            right = getattr(pair, title)
            start = time.process_time() if ask is identified else time.perf_counter()
            said = ask(pair)
            end = time.process_time() if ask is identified else time.perf_counter()
            times.append(1e3 * (end - start))
            counts["same" if right else "other"] += 1
            if said is right:
                continue
            kind = "undecided" if said is None else f"false {'positive' if said else 'negative'}"
            counts[kind] += 1
            print(f"  {title}, {kind}: {pair.law.name}, {pair.what}: {pair.prediction[:300]}")
        times.sort()
        print(
            f"{title}: {counts['same']} are, {counts['other']} are not; "
            f"{counts['false positive']} false positives, {counts['false negative']} false "
            f"negatives, {counts['undecided']} undecided; "
            f"median {statistics.median(times):.1f} ms, "
            f"95 % below {times[int(0.95 * len(times))]:.1f}, most {times[-1]:.1f}"
        )


if __name__ == "__main__":
    main()
