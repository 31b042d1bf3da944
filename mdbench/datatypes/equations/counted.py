"""Equations drawn from counts of what stands in what, over collections of equations.

``grammar-2.json`` has the counts for each kind of equation and each collection, made by
``scripts/grammar_counts.py``.  Every collection has the same weight, whatever its size.  A draw
goes from the whole to its parts: a part is chosen with the share that it has in its context.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from eqverdict.limited_process import PARSER_LOCK
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Power, Variable, names_in
from mdbench.datatypes.equations.files import fresh_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

GRAMMAR = 2
"""The number of this grammar; 1 is that of shares chosen by hand."""
WHOLE = "the whole"
_COEFFICIENT = ", with a number before it"
_SIGN, _WITH_OWN = "sign of a term", " with its own state"
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
        """Whether a part has no variable but those that stand for constants."""
        return all(self.leaf(variable.name) is None for variable in names_in(node))

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
                    own = context == WHOLE and self._has_own(term)
                    self.counts.add(_SIGN + _WITH_OWN * own, sign)
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

    def _has_own(self, term: Node) -> bool:
        return any((self.leaf(node.name) or "").startswith("@own") for node in names_in(term))

    def _count_number(self, node: Node) -> None:
        if node.constant is not None and (half := half_decade(float(node.constant))) is not None:
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


def half_decade(number: float) -> int | None:
    """Return the half of a decade of a number from 0.01 to 100, signs aside; else None."""
    if not number or not math.isfinite(number):
        return None
    half = round(2 * math.log10(abs(number)))
    return half if _HALVES[0] <= half <= _HALVES[1] else None


def of_half_decade(half: int, generator: np.random.Generator) -> str:
    """Draw a number from a half of a decade."""
    return fresh_number(generator, 10 ** (half / 2 - 0.25), 10 ** (half / 2 + 0.25))


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
            yield ("-" if _is_negative(node) else "+"), node


def _is_negative(node: Node) -> bool:
    """Whether the numbers of a product have an odd number of minus signs."""
    if node.constant is not None:
        return bool(node.constant < 0)
    match node:
        case Negation():
            return not _is_negative(node.operand)
        case Chain() if node.rest[0][0] in "*/":
            return sum(map(_is_negative, (node.first, *(part for _, part in node.rest)))) % 2 == 1
    return False


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
                context: {
                    part: count / sum(parts.values()) for part, count in sorted(parts.items())
                }
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
        draw = _Draw(self, generator, leaves)
        kind, text = draw.whole()
        return text if kind.startswith("sum") or draw.sign(text, WHOLE) == "+" else f"-{text}"

    def pick(self, context: str, generator: np.random.Generator) -> str:
        """Draw a part for a context."""
        return picked(self.shares[context], generator)


def _is_number(text: str) -> bool:
    return not set(text) - set("0123456789.e+-")


@dataclass(frozen=True)
class _Draw:
    grammar: Grammar
    generator: np.random.Generator
    leaves: Callable[[str], str]

    def whole(self) -> tuple[str, str]:
        """Draw an equation; return its kind, and its text without a sign."""
        kind = self._kind(WHOLE, 0)
        return kind, self.number() if kind == _NUMBER else self._scaled(kind, WHOLE, 0)

    def part(self, context: str, depth: int) -> str:
        """Draw what stands in a context, with brackets where it needs them."""
        kind = self._kind(context, depth)
        return self.number() if kind == _NUMBER else self._scaled(kind, context, depth)

    def _scaled(self, kind: str, context: str, depth: int) -> str:
        """Draw a part that is no number, with a number before it or none."""
        if kind == "ratio":
            above = self.part("above a bar", depth + 1)
            text = f"({above}/({self.part('below a bar', depth + 1)}))"
            if _is_number(above):
                return text
        else:
            text = self._of_kind(kind, context, depth + 1)
        scaled = self.grammar.shares.get(context + _COEFFICIENT, {}).get("yes", 0.0)
        return f"{self.number()}*{text}" if self.generator.random() < scaled else text

    def _terms(self, number: int, depth: int) -> Iterator[str]:
        """Draw the terms of a sum, at most one of them a number."""
        constant = False
        for _ in range(number):
            kind = self._kind("a sum", depth)
            while kind == _NUMBER and constant:
                kind = self._kind("a sum", 0)
            constant |= kind == _NUMBER
            yield self.number() if kind == _NUMBER else self._scaled(kind, "a sum", depth)

    def _kind(self, context: str, depth: int) -> str:
        known = self.grammar.shares
        # A context that was never counted is drawn as a part of a sum is.
        context = context if context in known else "a sum"
        kind = self.grammar.pick(context, self.generator)
        if depth < _DEEPEST:
            return kind
        flat = [part for part in known[context] if part.startswith("@")]
        return str(self.generator.choice(flat)) if flat else _NUMBER

    def _of_kind(self, kind: str, context: str, depth: int) -> str:
        name, _, number = kind.partition(" of ")
        if kind.startswith("@"):
            return self.leaves(kind)
        if name == "product":
            parts = [self.part("a product", depth) for _ in range(int(number))]
            return "*".join(f"({part})" for part in parts)
        if name == "sum":
            terms = list(self._terms(int(number), depth))
            signs = [self.sign(term, context) for term in terms]
            text = " ".join(f"{s} {t}" for s, t in zip(signs, terms, strict=True))
            return f"({text.removeprefix('+ ')})"
        if kind.startswith("power"):
            return self._power(kind.removeprefix("power "), depth)
        count = 2 if kind in {"max", "min"} else 1
        return f"{kind}({', '.join(self.part(f'{kind}()', depth) for _ in range(count))})"

    def sign(self, term: str, context: str) -> str:
        """Draw the sign of a term: in most systems a state damps itself."""
        with_own = _SIGN + _WITH_OWN
        known = context == WHOLE and with_own in self.grammar.shares
        own = known and re.search(rf"\b{self.leaves('@own')}\b", term)
        return self.grammar.pick(with_own if own else _SIGN, self.generator)

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
        return of_half_decade(half, self.generator)


def counts_text() -> str:
    """Return the file of counts."""
    return files("mdbench.datatypes.equations").joinpath("grammar-2.json").read_text("utf-8")


@lru_cache(maxsize=1)
def counted() -> dict[str, dict[str, Any]]:
    """Return the counts of all collections, by kind of equation and collection."""
    return dict(json.loads(counts_text())["kinds"])


def drawn(grammar: Grammar, generator: np.random.Generator, variables: Sequence[str]) -> str | None:
    """Draw an equation of ``@x`` in which each variable stands at least once.

    Returns
    -------
    str or None
        None where it has fewer places than there are variables.
    """
    text = grammar.draw(generator, lambda _: "{}")
    number = text.count("{}")
    if number < len(variables):
        return None
    more = generator.choice(list(variables), number - len(variables))
    names = [*variables, *(str(name) for name in more)]
    return plain(text.format(*(names[i] for i in generator.permutation(number))))


def plain(text: str) -> str:
    """Write an equation without brackets that it does not need."""
    with PARSER_LOCK:
        return ast.unparse(ast.parse(text, mode="eval"))


def repeats(text: str) -> bool:
    """Whether a sum has a term twice, or a product or a quotient a factor, but for numbers.

    Examples
    --------
    >>> repeats("3*x + x"), repeats("x*y/x**2"), repeats("x + x*y")
    (True, True, False)
    """
    with PARSER_LOCK:
        tree = ast.parse(text, mode="eval").body
    return any(
        len(set(parts)) < len(parts)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        for parts in (_summands(node), [_base_of(factor) for factor in _factors_of(node)])
    )


def _base_of(factor: str) -> str:
    """Return what a factor is a power of."""
    return factor.rpartition(" ** ")[0] or factor


def _summands(node: ast.expr) -> list[str]:
    """Return the terms of a sum without their numbers."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _summands(left) + _summands(right)
        case ast.UnaryOp(operand=operand):
            return _summands(operand)
    factors = sorted(_factors_of(node)) or [""]
    return ["*".join(factors)]


def _factors_of(node: ast.expr) -> list[str]:
    """Return the factors of a product or a quotient, without numbers."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _factors_of(left) + _factors_of(right)
        case ast.UnaryOp(operand=operand):
            return _factors_of(operand)
        case ast.Constant():
            return []
    return [ast.unparse(node)]


def picked(shares: Mapping[str, float], generator: np.random.Generator) -> str:
    """Draw a name by the shares of names."""
    return str(generator.choice(list(shares), p=list(shares.values())))


def shares_of(kind: str, what: str) -> dict[str, float]:
    """Return how often something is counted of the problems of a kind, by collection alike."""
    total: Counter[str] = Counter()
    for table in counted()[kind].values():
        number = sum(table.get(what, {}).values())
        for name, count in table.get(what, {}).items():
            total[name] += count / number
    return {name: share / total.total() for name, share in sorted(total.items())}


def by_quota(shares: Mapping[str, float], count: int) -> list[str]:
    """Return a size for each of so many problems, so that any first of them have the shares.

    Each is the size that is behind its share most.  So problem 7 is the same of 10 and of 100.  It
    is the quota method of Balinski and Young (1975) without its upper bound.
    """
    drawn: Counter[str] = Counter()
    order = []
    for number in range(1, count + 1):
        size = max(shares, key=lambda name: (number * shares[name] - drawn[name], name))
        drawn[size] += 1
        order.append(size)
    return order


def terms_of(text: str, names: Sequence[str]) -> list[str]:
    """Return the terms of an equation, multiplied out.

    Raises
    ------
    EquationError
        If it cannot be multiplied out.
    """
    terms = expand(text, tuple(names))
    return [monomial_text(monomial, coefficient) for monomial, coefficient in terms.items()]
