"""By how much the constants of a law are off once its like terms are merged, by computer algebra.

A constant that is written need not be one of the law: of ``1 - cos(x) + 0.3*(1 + cos(x))`` 1.3 and
0.7 are.  So a law is written in several layouts, as it is and multiplied out, each with all numbers
of a product in one, and a number before an exponential there or within the exponent; those with the
fewest numbers decide.  SymPy does it: the scorer has no part.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from eqverdict.tree import Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_CANCELLED = 1e-12
_KEPT = {"power_exp": False, "log": False}
"""An offset in an exponent or a logarithm may be a factor: where it is written is where it is."""
_KNOWN = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sinh", "cosh", "atan", "asin", "acos")


class Layouts:
    """A law in several layouts, with the numbers that each has.

    Parameters
    ----------
    tree
        The law, with a variable ``#0``, ``#1``, ... for each constant.
    n_constants
        How many there are.
    """

    def __init__(self, tree: Node, n_constants: int) -> None:
        self.constants = [sympy.Symbol(f"c{k}", positive=True) for k in range(n_constants)]
        law = _sympy(tree, self.constants)
        angle = sympy.Wild("a")
        sine, cosine = sympy.sin(angle / 2), sympy.cos(angle / 2)
        multiplied = sympy.expand(law, **_KEPT)
        layouts = {
            law,
            sympy.expand(law, multinomial=False, **_KEPT),
            multiplied,
            *(
                sympy.expand(multiplied.replace(old, new), **_KEPT)
                for old, new in (
                    (sympy.sin(angle) ** 2, 1 - sympy.cos(angle) ** 2),
                    (sympy.cos(angle) ** 2, 1 - sympy.sin(angle) ** 2),
                    (sympy.cos(angle), 1 - 2 * sine**2),
                    (sympy.cos(angle), 2 * cosine**2 - 1),
                    (sympy.sin(angle) ** 2, (1 - sympy.cos(2 * angle)) / 2),
                    (sympy.cos(angle) ** 2, (1 + sympy.cos(2 * angle)) / 2),
                )
            ),
        }
        constants = frozenset(self.constants)
        self.is_polynomial = law.is_polynomial(*(law.free_symbols - constants))
        """Whether the law is one of its variables: as such it has one layout."""
        self.numbers = [list(_Numbers(constants).of(each)) for each in layouts]
        parted = sympy.expand(law, log=False)
        self.numbers += [list(_Numbers(constants, offsets=way).of(parted)) for way in (False, True)]

    def changes(self, before: NDArray[Any], after: NDArray[Any]) -> list[float]:
        """Return the largest change of a number in each of the layouts that have the fewest."""
        tables = [dict(zip(self.constants, map(float, c), strict=True)) for c in (before, after)]
        known = []
        for numbers in self.numbers:
            first, second = ([_value(number, table) for number in numbers] for table in tables)
            there = [(a, b) for a, b in zip(first, second, strict=True) if a != 0 or b != 0]
            shares = [float(abs(b / a - 1)) if a != 0 else float("inf") for a, b in there]
            known.append((len(there), max(shares, default=0.0)))
        least = min((count for count, _ in known), default=0)
        return [share for count, share in known if count == least]


def _value(number: Any, table: dict[Any, float]) -> Any:
    """Return the value of a number; what cancels to double precision is zero."""
    number = sympy.sympify(number)
    value, size = (
        sum(abs(term) if absolute else term for term in _terms_of(number, table))
        for absolute in (False, True)
    )
    return value if abs(value) > _CANCELLED * size else sympy.Integer(0)


def _terms_of(number: Any, table: dict[Any, float]) -> list[Any]:
    return [term.subs(table).evalf() for term in sympy.Add.make_args(sympy.expand(number))]


@dataclass
class _Numbers:
    """The numbers of an expression: one for each term, and those within its factors.

    Attributes
    ----------
    offsets
        Whether a number before an exponential is one within its exponent.
    """

    constants: frozenset[Any]
    offsets: bool = False

    def __post_init__(self) -> None:
        self.seen: set[Any] = set()

    def of(self, expression: Any, *, scaled: bool = False) -> Iterator[Any]:
        """Yield the numbers of a sum; of one that is scaled over the first."""
        terms: dict[Any, Any] = {}
        inner: list[Any] = []
        for term in sympy.Add.make_args(expression):
            coefficient, rest = self._split(term, inner)
            terms[rest] = terms.get(rest, 0) + coefficient
        unit = next(iter(terms.values())) if scaled else sympy.Integer(1)
        for rest, coefficient in list(terms.items())[scaled:]:
            number = coefficient / unit
            yield sympy.log(abs(number)) if self.offsets and rest.has(sympy.exp) else number
        for argument, is_scaled in inner:
            if (argument, is_scaled) not in self.seen:
                self.seen.add((argument, is_scaled))
                yield from self.of(argument, scaled=is_scaled)

    def _split(self, term: Any, inner: list[Any]) -> tuple[Any, Any]:
        """Part a term into its number and the rest; add sums within it to those to be looked at."""
        coefficient, rest = sympy.Integer(1), sympy.Integer(1)
        for factor in sympy.Mul.make_args(term):
            if not factor.free_symbols - self.constants:
                coefficient *= factor
                continue
            base, exponent = factor.as_base_exp() if factor.is_Pow else (factor, sympy.Integer(1))
            if exponent.free_symbols:
                inner.append((exponent, False))
            if base.is_Mul:
                number, other = self._split(base, inner)
                coefficient *= number**exponent
                rest *= other**exponent
                continue
            if base.is_Add:
                number = self._first(base)
                coefficient *= number**exponent
                inner.append((base, True))
            elif base.is_Function or isinstance(base, sympy.exp):
                inner += [(argument, False) for argument in base.args]
            rest *= factor
        return coefficient, rest

    def _first(self, base: Any) -> Any:
        """Return the number of the first term of a sum, which is 1 once it is before the sum."""
        return self._split(sympy.Add.make_args(base)[0], [])[0]


def _sympy(node: Node, constants: Sequence[Any]) -> Any:
    match node:
        case Number():
            return sympy.pi if node.text == "pi" else sympy.Rational(str(float(node.constant or 0)))
        case Variable():
            is_constant = node.name.startswith("#")
            return constants[int(node.name[1:])] if is_constant else sympy.Symbol(node.name)
        case Negation():
            return -_sympy(node.operand, constants)
        case Power():
            return _sympy(node.base, constants) ** _sympy(node.exponent, constants)
        case Chain():
            total = _sympy(node.first, constants)
            for symbol, operand in node.rest:
                total = _OPERATORS[symbol](total, _sympy(operand, constants))
            return total
        case Call():
            arguments = [_sympy(each, constants) for each in node.arguments]
            is_known = node.function in _KNOWN
            applied = getattr(sympy, node.function) if is_known else sympy.Function(node.function)
            return applied(*arguments)
