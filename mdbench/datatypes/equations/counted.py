"""Equations drawn from counts of what stands in what, over collections of equations.

``grammar-2.json`` has the counts for each kind of equation and each collection, made by
``scripts/grammar_counts.py``.  Every collection has the same weight, whatever its size.  A draw
goes from the whole to its parts: a part is chosen with the share that it has in its context.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Power, Variable
from mdbench.datatypes.equations.files import fresh_number
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np

GRAMMAR = 2
"""The number of this grammar; 1 is that of shares chosen by hand."""
WHOLE = "the whole"
_COEFFICIENT = ", with a number before it"
_MOST_TERMS, _MOST_FACTORS, _MOST_EXPONENT = 6, 4, 5
_DEEPEST = 7
_NUMBER = "number"
_HALVES = (-4, 4)
"""Numbers are counted by the half of a decade: from 0.01 to 100."""


class Counts(dict[str, Counter[str]]):
    """How often a part stands in a context, by context and part."""

    def add(self, context: str, part: str) -> None:
        """Count one more."""
        self.setdefault(context, Counter())[part] += 1


@dataclass
class Counting:
    """Counts of the parts of equations.

    Attributes
    ----------
    counts
        What was counted so far.
    leaf
        Gives the name of a variable in the counts, which begins with ``@``; None for a number.
    """

    leaf: Callable[[str], str | None]
    counts: Counts = field(default_factory=Counts)

    def equation(self, tree: Node) -> None:
        """Count the parts of one equation."""
        self._count(tree, WHOLE)

    def _is_number(self, node: Node) -> bool:
        if node.constant is not None:
            return True
        match node:
            case Variable():
                return self.leaf(node.name) is None
            case Negation():
                return self._is_number(node.operand)
            case Chain():
                parts = (node.first, *(part for _, part in node.rest))
                return all(map(self._is_number, parts))
            case Power():
                return self._is_number(node.base) and self._is_number(node.exponent)
            case Call():
                return all(map(self._is_number, node.arguments))
        return False

    def _count(self, node: Node, context: str) -> None:
        if self._is_number(node):
            self._count_number(node)
            self.counts.add(context, _NUMBER)
            return
        scaled, above, below = self._factors(node)
        if len(above) + len(below) == 1 and above:
            node = above[0]
        self.counts.add(context + _COEFFICIENT, "yes" if scaled else "no")
        if below:
            self.counts.add(context, "ratio")
            self._count_product(above, "above a bar")
            self._count_product(below, "below a bar")
        elif len(above) > 1:
            self._count_product(above, context)
        else:
            self._count_one(node, context)

    def _count_product(self, factors: list[Node], context: str) -> None:
        if not factors:
            self.counts.add(context, _NUMBER)
        elif len(factors) == 1:
            self._count(factors[0], context)
        else:
            self.counts.add(context, f"product of {min(len(factors), _MOST_FACTORS)}")
            for factor in factors:
                self._count(factor, "a product")

    def _count_one(self, node: Node, context: str) -> None:
        match node:
            case Variable():
                self.counts.add(context, str(self.leaf(node.name)))
            case Chain():
                terms = list(_terms(node))
                self.counts.add(context, f"sum of {min(len(terms), _MOST_TERMS)}")
                for sign, term in terms:
                    self.counts.add("sign of a term", sign)
                    self._count(term, "a sum")
            case Power():
                exponent = _exponent(node.exponent)
                self.counts.add(context, f"power {exponent}")
                self._count(node.base, "a power")
                if exponent == "of an equation":
                    self._count(node.exponent, "an exponent")
            case Call():
                function = ALIASES.get(node.function, node.function)
                self.counts.add(context, "power 0.5" if function == "sqrt" else function)
                inside = "a power" if function == "sqrt" else f"{function}()"
                for argument in node.arguments:
                    self._count(argument, inside)

    def _count_number(self, node: Node) -> None:
        if node.constant is not None and node.constant:
            half = round(2 * math.log10(abs(float(node.constant))))
            if _HALVES[0] <= half <= _HALVES[1]:
                self.counts.add("size of a number", str(half))

    def _factors(self, node: Node) -> tuple[bool, list[Node], list[Node]]:
        """Part a product: whether it has a number, what is above its bar, and what is below."""
        match node:
            case _ if self._is_number(node):
                self._count_number(node)
                return True, [], []
            case Negation():
                return self._factors(node.operand)
            case Chain() if node.rest[0][0] in "*/":
                scaled, above, below = self._factors(node.first)
                for symbol, part in node.rest:
                    more, over, under = self._factors(part)
                    scaled |= more
                    if symbol == "/":
                        over, under = under, over
                    above, below = above + over, below + under
                return scaled, above, below
        return False, [node], []


def _terms(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the terms of a sum, with their signs; those of sums in it are its own."""
    match node:
        case Chain() if node.rest[0][0] in "+-":
            yield from _terms(node.first)
            for symbol, part in node.rest:
                for sign, term in _terms(part):
                    yield ("-" if (symbol == "-") != (sign == "-") else "+"), term
        case Negation():
            yield from (("+" if sign == "-" else "-", term) for sign, term in _terms(node.operand))
        case _:
            yield "+", node


def _exponent(node: Node) -> str:
    if node.constant is None:
        return "of an equation"
    value = float(node.constant)
    if value.is_integer() and abs(value) <= _MOST_EXPONENT:
        return str(int(value))
    return "0.5" if value == 0.5 else "of a number"  # noqa: PLR2004 - a square root


@dataclass(frozen=True)
class Grammar:
    """Shares of parts, by context, and a draw of equations with them.

    Attributes
    ----------
    shares
        The share of each part in a context.
    """

    shares: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, kind: str) -> Grammar:
        """Return the grammar of ``law``, ``system``, ``surface`` or ``field``.

        Each collection counts as much as any other: its counts are shares of its contexts' total.
        """
        totals: dict[str, Counter[str]] = {}
        for table in counted()[kind].values():
            number = sum(table["counts"][WHOLE].values())
            for context, parts in table["counts"].items():
                merged = totals.setdefault(context, Counter())
                for part, count in parts.items():
                    merged[part] += count / number
        return cls(
            {
                context: {part: count / sum(parts.values()) for part, count in sorted(parts.items())}
                for context, parts in sorted(totals.items())
            }
        )

    def draw(self, generator: np.random.Generator, leaves: Callable[[str], str]) -> str:
        """Draw an equation.

        Parameters
        ----------
        leaves
            Gives a variable's name for its name in the counts.

        Returns
        -------
        str
            Its text, in the grammar of answers.
        """
        return _Draw(self, generator, leaves).part(WHOLE, 0)

    def pick(self, context: str, generator: np.random.Generator) -> str:
        """Draw a part for a context."""
        parts = self.shares[context]
        return str(generator.choice(list(parts), p=list(parts.values())))


@dataclass(frozen=True)
class _Draw:
    grammar: Grammar
    generator: np.random.Generator
    leaves: Callable[[str], str]

    def part(self, context: str, depth: int) -> str:
        """Draw what stands in a context, with brackets where it needs them."""
        kind = self._kind(context, depth)
        if kind == _NUMBER:
            return self.number()
        text = self._of_kind(kind, depth + 1)
        scaled = self.grammar.shares.get(context + _COEFFICIENT, {}).get("yes", 0.0)
        if self.generator.random() < scaled:
            text = f"{self.number()}*{text}"
        return text

    def _kind(self, context: str, depth: int) -> str:
        known = self.grammar.shares
        # A context that was never counted is drawn as a part of a sum is.
        context = context if context in known else "a sum"
        kind = self.grammar.pick(context, self.generator)
        if depth < _DEEPEST:
            return kind
        flat = [part for part in known[context] if part.startswith("@")]
        return str(self.generator.choice(flat)) if flat else _NUMBER

    def _of_kind(self, kind: str, depth: int) -> str:
        name, _, rest = kind.partition(" of ")
        if kind.startswith("@"):
            return self.leaves(kind)
        if kind == "ratio":
            return f"({self.part('above a bar', depth)}/({self.part('below a bar', depth)}))"
        if name == "product":
            parts = [self.part("a product", depth) for _ in range(int(rest))]
            return "*".join(f"({part})" for part in parts)
        if name == "sum":
            terms = [self.part("a sum", depth) for _ in range(int(rest))]
            signs = [self.grammar.pick("sign of a term", self.generator) for _ in terms]
            return "(" + " ".join(f"{s} {t}" for s, t in zip(signs, terms, strict=True)) + ")"
        if kind.startswith("power"):
            return self._power(kind.removeprefix("power "), depth)
        count = 2 if kind in {"max", "min"} else 1
        return f"{kind}({', '.join(self.part(f'{kind}()', depth) for _ in range(count))})"

    def _power(self, exponent: str, depth: int) -> str:
        base = self.part("a power", depth)
        if exponent == "of an equation":
            return f"({base})**({self.part('an exponent', depth)})"
        if exponent == "of a number":
            return f"({base})**{fresh_number(self.generator, 0.3, 3.0)}"
        return f"({base})**({exponent})"

    def number(self) -> str:
        """Draw a constant."""
        half = int(self.grammar.pick("size of a number", self.generator))
        return fresh_number(self.generator, 10 ** (half / 2 - 0.25), 10 ** (half / 2 + 0.25))


@lru_cache(maxsize=1)
def counted() -> dict[str, dict[str, Any]]:
    """Return the counts of all collections, by kind of equation and collection."""
    text = files("mdbench.datatypes.equations").joinpath("grammar-2.json").read_text("utf-8")
    return dict(json.loads(text)["kinds"])


def quotas(shares: Mapping[Any, float], count: int) -> list[Any]:
    """Return how many problems are of each size: the nearest whole numbers to the shares.

    By largest remainders, so that they add up; in the order of the sizes, one after the other.

    Raises
    ------
    DataError
        If there are no shares.
    """
    total = sum(shares.values())
    if not total:
        raise DataError("There are no shares to draw by.")
    exact = {size: count * share / total for size, share in shares.items()}
    whole = {size: int(number) for size, number in exact.items()}
    missing = count - sum(whole.values())
    by_remainder = sorted(exact, key=lambda size: (whole[size] - exact[size], str(size)))
    for size in by_remainder[:missing]:
        whole[size] += 1
    # Sizes take turns, so that the first problems of any number have the shares, too.
    order = sorted(
        ((turn + 0.5) / whole[size], str(size), size) for size in whole for turn in range(whole[size])
    )
    assert all(a <= b for a, b in pairwise(order))  # noqa: S101 - sorted
    return [size for _, _, size in order]
