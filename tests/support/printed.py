"""What printed equations have to mean, to be held against what readers of them make of them.

The readers, in `printed_mathematics` and `printed_code`, do not know how an equation was printed:
each gives the value that somebody would work out who sees nothing else.  What can be read in two
ways is `Misread`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from eqverdict.grammar import read
from eqverdict.printers import names_in
from eqverdict.tree import ALIASES, Call, Chain, Negation, Node, Number, Power, Variable
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

Value: TypeAlias = "NDArray[np.longdouble]"
Columns: TypeAlias = "Mapping[str, NDArray[np.floating]]"


class Misread(Exception):  # noqa: N818 - it names what happens to the reader
    """What is printed cannot be read, or in more ways than one."""


def _cot(x: Any) -> Any:
    return 1 / np.tan(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sinh", "cosh", "tanh")},
    "abs": np.abs,
    "cot": _cot,
    "exp": np.exp,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "sign": np.sign,
    "sqrt": np.sqrt,
}
EVERY = FUNCTIONS | {alias: FUNCTIONS[name] for alias, name in ALIASES.items()}
PI, E = map(
    np.longdouble,
    ("3.14159265358979323846264338327950288", "2.71828182845904523536028747135266250"),
)
DIGITS = 4
"""Of numbers on the page."""


# ---------------------------------------------------------------- what was meant


def exactly(text: str) -> Any:
    return np.longdouble(text)


def rounded(text: str) -> Any:
    """Round as on the page."""
    return np.longdouble(f"{float(text):.{DIGITS}g}")


def meant(text: str, columns: Columns, number: Callable[[str], Any] = exactly) -> Any:
    """Work out what the bench reads in a text, number by number in extended precision."""
    with np.errstate(all="ignore"):
        return _meant(read(text, tuple(columns)), columns, number)


def in_doubles(text: str, columns: Columns, number: Callable[[str], Any] = exactly) -> Any:
    """Work it out in double precision; where that is something else, rounding is all there is."""
    with np.errstate(all="ignore"):
        return _meant(
            read(text, tuple(columns)), doubles(columns), lambda text: np.float64(number(text))
        )


def _meant(node: Node, columns: Columns, number: Callable[[str], Any]) -> Any:
    match node:
        case Number(text=text):
            named = {"pi": PI, "E": E}.get(text)
            return number(text) if named is None else type(number("1"))(named)
        case Variable(name=name):
            return columns[name]
        case Negation(operand=operand):
            return -_meant(operand, columns, number)
        case Power(base=base, exponent=exponent):
            return _meant(base, columns, number) ** _meant(exponent, columns, number)
        case Call(function=function, arguments=arguments):
            return EVERY[function](*(_meant(each, columns, number) for each in arguments))
        case Chain(first=first, rest=rest):
            total = _meant(first, columns, number)
            for sign, part in rest:
                other = _meant(part, columns, number)
                total = OPERATORS[sign](total, other)
            return total


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def doubles(columns: Columns) -> dict[str, NDArray[np.float64]]:
    """Return columns in double precision."""
    return {name: np.asarray(column, np.float64) for name, column in columns.items()}


def points(names: Iterable[str], count: int = 8) -> dict[str, Value]:
    """Draw values of names, of both signs and some sizes; the same ones each time."""
    scales = np.array([1.0, 0.3, 2.0, 5.0, 1.0, 0.1, 3.0, 0.7] * (count // 8 + 1))[:count]
    found = {}
    for name in sorted(names):
        generator = np.random.default_rng(list(name.encode()))
        signs = np.where(np.arange(count) % 2 == 0, 1.0, generator.choice([-1.0, 1.0], count))
        values = generator.uniform(0.2, 1.0, count) * scales * signs
        found[name] = values.astype(np.longdouble)
    return found


def agree(found: Any, expected: Any, in_doubles: Any = None) -> bool:
    """Whether values are the same wherever they are real, and not lost to rounding.

    Parameters
    ----------
    in_doubles
        The same worked out in double precision, where `found` is: where it differs from what is
        expected, rounding is all that there is to see.
    """
    expected = np.atleast_1d(np.asarray(expected, np.longdouble))
    found = np.broadcast_to(np.asarray(found, np.longdouble), expected.shape)
    with np.errstate(all="ignore"):
        good = np.isfinite(expected) & (np.abs(expected) < 1e100) & (np.abs(expected) > 1e-100)
        if in_doubles is not None:
            near = np.broadcast_to(np.asarray(in_doubles, np.longdouble), expected.shape)
            good &= np.abs(near - expected) <= 1e-9 * np.abs(expected)
        same = np.abs(found - expected) <= 1e-6 * np.abs(expected)
    return bool(np.all(same[good]))


# ---------------------------------------------------------------- random trees

_LEAVES = ("x", "y", "u0", "u12", "prey", "x", "y", "pi", "E", "2", "3", "0.5", "1", "1.5", "10")
_NUMBERS = ("0.7883", "1.2e3", "1e5", "2.5e-4", "1e-3", "12345.678", "7", "0.333333333")
_CALLS = ("sin", "cos", "tanh", "exp", "log", "sqrt", "abs", "sinh", "atan", "sign", "tan")
_EXPONENTS = ("2", "3", "(-1)", "-2", "0.5", "(1/2)", "1.5", "(-0.5)", "x", "(-y)", "2.0", "(x/3)")


def random_text(draw: np.random.Generator, size: int) -> str:  # noqa: C901, PLR0911, PLR0912 - one each
    """Draw an equation: negative factors, nested signs, powers of negatives and of products."""

    def one(part: int) -> str:
        return random_text(draw, part)

    if size <= 1:
        leaves = _NUMBERS if draw.random() < 0.25 else _LEAVES
        return str(draw.choice(leaves))
    left = int(draw.integers(1, size))
    kind = int(draw.integers(0, 16))
    a, b = f"({one(left)})", f"({one(size - left)})"
    if draw.random() < 0.5:  # with no more brackets than there are in it
        a, b = a[1:-1], b[1:-1]
    match kind:
        case 0 | 1:
            return f"{a} + {b}"
        case 2 | 3:
            return f"{a} - {b}"
        case 4 | 5 | 6:
            return f"{a}*{b}"
        case 7 | 8:
            return f"{a}/{b}"
        case 9:
            return f"-{a}*{b}"
        case 10:
            return f"{a}*(-{b})"
        case 11:
            return f"-({one(size - 1)})"
        case 12:
            return f"({one(size - 1)})**{draw.choice(_EXPONENTS)}"
        case 13:
            return f"-{a}**{draw.choice(_EXPONENTS)}"
        case 14:
            if draw.random() < 0.1:
                return f"max({a}, {b})"
            return f"{draw.choice(_CALLS)}({one(size - 1)})"
        case _:
            return f"{draw.choice(_CALLS)}({one(size - 1)})**{draw.choice(_EXPONENTS)}"


def random_trees(count: int, seed: int) -> list[str]:
    """Draw equations that the bench takes."""
    draw = np.random.default_rng(seed)
    found: list[str] = []
    while len(found) < count:
        text = random_text(draw, int(draw.integers(2, 10)))
        try:
            read(text, names_in(text))
        except EquationError:
            continue
        found.append(text)
    return found


@dataclass(frozen=True)
class Case:
    """An equation, and its values at the points of its variables."""

    text: str
    names: tuple[str, ...]
    columns: Columns
    values: Any
    near: Any

    @classmethod
    def of(cls, text: str, number: Callable[[str], Any] = exactly) -> Case:
        names = names_in(text)
        columns = points(names or ("unused",))
        values = meant(text, columns, number)
        return cls(text, names, columns, values, in_doubles(text, columns, number))

    @property
    def tells(self) -> bool:
        """Whether there is a value to compare."""
        values = np.asarray(self.values, np.longdouble)
        return bool(np.any(np.isfinite(values) & (np.abs(values) > 1e-100)))

    def is_read_from(self, reader: Callable[[str, Columns], Any], printed: str) -> bool:
        """Whether a reader finds these values in what is printed."""
        try:
            found = reader(printed, self.columns)
        except (Misread, SyntaxError, ArithmeticError):
            return False
        return agree(found, self.values, self.near)
