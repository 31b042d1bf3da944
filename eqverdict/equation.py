"""An equation that has been read and can be evaluated, counted and given to SymPy.

A sparse regression proposes thousands of texts like ``0.12*u0 + -4.5e-3*u0*u1 + 1.2*sin(u1)``.
SymPy needs milliseconds for each, to find in the end that nothing can be simplified.  For a linear
combination (`linear`) the same number of nodes follows from counting, as it is known what SymPy
does:

- terms are joined by `` + `` or `` - ``, and each is a coefficient times a monomial;
- a monomial is a product of variables, of functions of one variable that combine with
  nothing but themselves, and of their powers with exponents from 1 to 99;
- no coefficient is zero, and no two terms have the same monomial.

Then SymPy merges equal factors of a monomial, drops an integer coefficient of 1, and leaves
the rest unchanged.  Everything else is left to SymPy itself.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eqverdict.errors import EquationError
from eqverdict.grammar import MAX_NODES, check, read
from eqverdict.limited_process import LimitedProcess
from eqverdict.notations import in_core_notation
from eqverdict.tree import (
    CONSTANTS,
    FUNCTIONS,
    OPERATORS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    constants,
    pieces,
    tree_symbols,
    value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

MAX_SECONDS = 5
"""CPU time that SymPy may take to count the nodes of one equation, in s."""
MAX_BYTES = 2 << 30
"""Memory for one question to SymPy, for every data type."""
SYMPY_WORKER = "eqverdict.sympy_worker"
"""The module of the child processes that SymPy works in."""
_child = LimitedProcess(SYMPY_WORKER, MAX_SECONDS, MAX_BYTES, in_work=True)

_COEFFICIENT = re.compile(r"-?(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[-+]?\d{1,4})?", re.IGNORECASE)
_FACTOR = re.compile(r"((?P<function>\w+)\()?(?P<variable>\w+)(?(1)\))(\^[1-9]\d?)?")

_INERT = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log"})
"""Functions whose products and integer powers SymPy leaves alone."""


class _Monomial(NamedTuple):
    """A product of powers, with SymPy's number of nodes for it."""

    powers: frozenset[tuple[str, int]]
    scaled: int
    """Nodes with a coefficient before it."""
    bare: int
    """Nodes where none does, or the integer 1."""


class Linear(NamedTuple):
    """A linear combination.

    Attributes
    ----------
    nodes
        Its complexity, as SymPy would have it.
    terms
        The coefficient of each term, and its monomial as a text; ``1`` for a constant.
    """

    nodes: int
    terms: tuple[tuple[float, str], ...]


def linear(text: str, variables: tuple[str, ...]) -> Linear | None:
    """Read a linear combination.

    Parameters
    ----------
    text
        A right-hand side that has passed `grammar.check`.
    variables
        The names it may use.

    Returns
    -------
    Linear or None
        None if the text is not of the form that is known here.  A text with an answer is within
        the grammar and its limits.
    """
    # No text has more nodes than characters: here the limit on nodes cannot be passed unseen.
    if len(text) > MAX_NODES:
        return None
    terms = text.replace(" - ", " + -").split(" + ")
    seen = set()
    coefficients = []
    nodes = 1 if len(terms) > 1 else 0
    for term in terms:
        head, times, monomial = term.partition("*")
        if _COEFFICIENT.fullmatch(head):
            coefficient = float(head)
            unit = coefficient == 1.0 and head.isdigit()
            if coefficient == 0.0 or math.isinf(coefficient):
                return None
            if not times:
                monomial = "1"
        else:
            unit = not term.startswith("-")
            coefficient = 1.0 if unit else -1.0
            monomial = term.removeprefix("-")
        known = _monomial(monomial, variables)
        if known is None or known.powers in seen:
            return None
        seen.add(known.powers)
        coefficients.append((coefficient, monomial))
        nodes += known.bare if unit else known.scaled
    return Linear(nodes, tuple(coefficients))


@lru_cache(maxsize=10_000)
def _monomial(text: str, variables: tuple[str, ...]) -> _Monomial | None:
    """Read a monomial; None if there is anything in it that is not known here."""
    powers: Counter[str] = Counter()
    for factor in text.replace("**", "^").split("*"):
        if factor == "1":
            continue
        match = _FACTOR.fullmatch(factor)
        if match is None or match["variable"] not in variables:
            return None
        if match["function"] is not None and match["function"] not in _INERT:
            return None
        base, _, exponent = factor.partition("^")
        powers[base] += int(exponent or 1)
    # Powers and their bases count, and the product where there is more than one factor.
    key = frozenset(powers.items())
    if not powers:
        return _Monomial(key, scaled=1, bare=1)
    factors = sum((2 if base.endswith(")") else 1) + (2 if n > 1 else 0) for base, n in key)
    return _Monomial(key, scaled=2 + factors, bare=factors + (1 if len(key) > 1 else 0))


def _sum(
    combination: Linear, variables: tuple[str, ...], columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64] | np.float64:
    """Evaluate a linear combination, to the bit as its tree would be."""
    terms = []
    for coefficient, monomial in combination.terms:
        product: NDArray[np.float64] | np.float64 = np.float64(coefficient)
        for node in _factors(monomial, variables):
            if isinstance(node, Variable):  # most equations are linear combinations
                product = product * np.asarray(columns[node.name], np.float64)
            else:
                product = product * value(node, columns)
        terms.append(product)
    return reduce(operator.add, terms)


@lru_cache(maxsize=10_000)
def _factors(monomial: str, variables: tuple[str, ...]) -> tuple[Node, ...]:
    texts = monomial.replace("**", "^").split("*")
    return tuple(read(text, variables) for text in texts if text != "1")


def parse(text: str, variables: Iterable[str]) -> Equation:
    """Read the right-hand side of an equation from a text that is not trusted.

    The text is Python's notation for ``+ - * / **``, brackets, decimal numbers, ``pi``, ``E``,
    the variables, and calls of ``sin cos tan cot asin acos atan sinh cosh tanh asinh acosh
    atanh exp log sqrt abs sign square cube min max`` (and of aliases such as ``ln``, ``Abs``,
    ``arcsin``).  ``^`` is a power, as in ``**``.  What packages print and people write
    is read where its meaning is certain (`eqverdict.notations`), and is text of the one
    notation from then on.  Nothing else is read, and nothing is executed.

    Parameters
    ----------
    text
        The right-hand side.
    variables
        The names it may use.

    Raises
    ------
    EquationError
        If the text is no such equation, or if it is too long, too deep, or has numbers or
        constant parts that are too large; the message has the limit, what was given and what is
        allowed.

    Examples
    --------
    >>> equation = parse("1.5*u0*u1 - sin(u0)**2", ["u0", "u1"])
    >>> equation.complexity
    11
    >>> equation.evaluate({"u0": np.array([0.0, 1.0]), "u1": np.array([2.0, 2.0])}).round(3)
    array([0.   , 2.292])
    """
    names = tuple(variables)
    try:
        return Equation(text, names)
    except EquationError:
        plain = in_core_notation(text, names)
    return Equation(plain, names)


@dataclass(frozen=True)
class Equation:
    """A right-hand side that has been read; see `parse`.

    Attributes
    ----------
    text
        In the notation of `grammar`.
    variables
        The names that it may use, whether it does or not.
    """

    text: str
    variables: tuple[str, ...]

    def __post_init__(self) -> None:
        check(self.text)
        # A linear combination is known to be legal; anything else is so if it can be read.
        if self._linear is None:
            self._tree  # noqa: B018

    @cached_property
    def _linear(self) -> Linear | None:
        return linear(self.text, self.variables)

    @property
    def terms(self) -> tuple[tuple[float, str], ...] | None:
        """Coefficients and monomials (``1`` for a constant); None if it is no such sum."""
        return None if self._linear is None else self._linear.terms

    @cached_property
    def _tree(self) -> Node:
        return read(self.text, self.variables)

    def evaluate(self, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Evaluate the equation on arrays.

        Parameters
        ----------
        columns
            The values of each variable, all of one shape; only those that the equation uses are
            looked up, and the first.

        Returns
        -------
        NDArray
            A new array of that shape, float64, for a constant equation too.  NaN or infinite
            where the equation is undefined or too large, without a warning.

        Raises
        ------
        KeyError
            If a variable that the equation uses has no values.
        """
        shape = np.shape(next(iter(columns.values()))) if columns else ()
        with np.errstate(all="ignore"):
            if self._linear is None:
                values = value(self._tree, columns)
            else:  # a grid proposes thousands of them, of the same few monomials
                values = _sum(self._linear, self.variables, columns)
            return np.array(np.broadcast_to(values, shape))

    @cached_property
    def complexity(self) -> int:
        """Number of nodes in a pre-order walk of the expression that SymPy makes of the text.

        What SymPy simplifies by itself counts simplified: ``u0 + u0`` is ``2*u0``.  Sums and
        products count once however many terms they have, ``a - b`` is ``a + (-1)*b``, and a
        zero equation has complexity 1.

        Raises
        ------
        EquationError
            If SymPy fails on the equation, or needs too much time or memory.
        """
        if self._linear is not None:
            return self._linear.nodes
        if isinstance(self._tree, Number | Variable):
            return 1
        answer = _child.ask({"ask": "complexity", "text": self.text, "variables": self.variables})
        if "complexity" not in answer:
            raise EquationError(
                f"SymPy cannot count the nodes of {self.text[:40]!r}"
                f"{'...' if self.text[40:] else ''}: {answer['error']}",
                f"An equation may take {MAX_SECONDS} s and {MAX_BYTES >> 30} GiB of memory.",
            )
        return int(answer["complexity"])

    @cached_property
    def constants(self) -> int:
        """Number of constants that are no whole numbers: what was fitted.

        Examples
        --------
        >>> parse("2*x0**1.5 + 0.3*sin(1.7*x0)/4", ["x0"]).constants
        3
        """
        return constants(self._tree)

    @cached_property
    def pieces(self) -> int:
        """Number of pieces that could be left out or be another number.

        These are the summands, those within functions, powers, products and fractions counted,
        too; the functions; and the powers whose exponent is no whole number.  Zero has none.

        Examples
        --------
        >>> [parse(text, ["x"]).pieces for text in ("0", "2*x - x**3", "x/(1 + x)", "x**1.5")]
        [0, 2, 3, 2]
        >>> parse("0.5*sin(2*x + 1)", ["x"]).pieces
        4
        """
        if self._linear is None:
            return pieces(self._tree)
        return sum(1 + monomial.count("(") for _, monomial in self._linear.terms)

    @cached_property
    def structure(self) -> float:
        """Length of the form's description in nats: its symbols, each one of those it uses.

        Symbols are operators, functions, variables, and numbers, which are all one; what is only
        numbers is one number.

        Examples
        --------
        >>> round(float(parse("2.5*x**1.5", ["x"]).structure / np.log(4)), 9)
        5.0
        """
        used = tree_symbols(self._tree)
        return len(used) * math.log(len(set(used)))

    def to_sympy(self, *, real: bool = False) -> Any:
        """Make a SymPy expression, simplified as far as SymPy does it by itself.

        Parameters
        ----------
        real
            Whether the symbols are declared real.

        Notes
        -----
        Imports SymPy, and runs in this process without a bound on time or memory.
        """
        from sympy import Symbol  # noqa: PLC0415 - 0.6 s that most runs can do without

        assumptions = {"real": True} if real else {}
        return to_sympy(self._tree, {name: Symbol(name, **assumptions) for name in self.variables})


def to_sympy(node: Node, symbols: Mapping[str, Any], *, exact: bool = False) -> Any:
    """Return what SymPy's own parser would build: the same operations in the same order.

    Parameters
    ----------
    symbols
        A SymPy expression for each variable.
    exact
        Whether decimal numbers become the fractions that they are, and not floats.
    """
    import sympy  # noqa: PLC0415 - 0.6 s that most runs can do without

    def build(part: Node) -> Any:
        match part:
            case Number():
                return _sympy_number(part.text, exact=exact)
            case Variable():
                return symbols[part.name]
            case Chain():
                result = build(part.first)
                for symbol, operand in part.rest:
                    result = OPERATORS[symbol](result, build(operand))
                return result
            case Negation():
                return -build(part.operand)
            case Power():
                return build(part.base) ** build(part.exponent)
            case Call():
                return getattr(sympy, FUNCTIONS[part.function].sympy)(*map(build, part.arguments))

    return build(node)


def _sympy_number(text: str, *, exact: bool) -> Any:
    import sympy  # noqa: PLC0415 - as above

    if text in CONSTANTS:
        return getattr(sympy, text)
    if exact:
        return sympy.Rational(text)
    return sympy.Integer(int(text)) if text.isdigit() else sympy.Float(text)
