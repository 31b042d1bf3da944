"""Forms of laws: expressions whose numbers are all one symbol, each in a canonical form.

A form is a number ``C``, a variable, a function of a form, a sum or a product.  Products hold
powers of halves, and at most one number; sums at most one number by itself.  So forms that are the
same but for the order, for brackets or for what can be put into a number are equal.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "ARITY",
    "FUNCTIONS_OF_FORMS",
    "Form",
    "FormError",
    "form_of_prefix",
    "prefix_of_form",
    "read_form",
    "read_laws",
    "renumbered",
]

FUNCTIONS_OF_FORMS = ("exp", "log", "sin", "cos", "tan", "atan", "tanh")
ARITY = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "square": 1, "cube": 1, "sqrt": 1,
    **dict.fromkeys(FUNCTIONS_OF_FORMS, 1), "const": 0,
}  # fmt: skip
"""Number of arguments of each token; variables, ``x0`` and so on, have none."""
_HALF, _WHOLE, _LARGEST = Fraction(1, 2), Fraction(1), 8


class FormError(ValueError):
    """Not a form, or none that can be written in these tokens."""


@dataclass(frozen=True, order=True)
class Form:
    """A form; made by the functions of this module only.

    Attributes
    ----------
    kind
        ``number``, ``variable``, a function's name, ``sum`` or ``product``.
    number
        Of a product: whether a number is one of its factors.
    column
        Column of a variable.
    parts
        The argument, the summands with 1 or -1, or the bases with their powers.
    """

    kind: str
    number: bool = False
    column: int = 0
    parts: tuple[tuple[Form, Fraction], ...] = ()


_NUMBER = Form("number")
_ONE = Form("product")


def _product(factors: Iterable[tuple[Form, Fraction]], *, number: bool = False) -> Form:
    """Multiply powers of forms."""
    powers: defaultdict[Form, Fraction] = defaultdict(Fraction)
    waiting = list(factors)
    while waiting:
        base, power = waiting.pop()
        if base.kind == "number":
            number = True
        elif base.kind == "product":
            number |= base.number
            waiting += [(part, own * power) for part, own in base.parts]
        else:
            powers[base] += power
    parts = tuple(sorted((base, power) for base, power in powers.items() if power))
    if not any(power > 0 for _, power in parts):
        number = number or bool(parts)
    if not parts:
        return _NUMBER if number else _ONE
    if number:
        # A sum that has a number takes in the one before it.
        for place, (base, power) in enumerate(parts):
            if power == 1 and base.kind == "sum" and any(_numbered(term) for term, _ in base.parts):
                own = [_product([(term, _WHOLE)], number=True) for term, _ in base.parts]
                taken = _sum((term, _WHOLE) for term in own)
                return _product([*parts[:place], *parts[place + 1 :], (taken, _WHOLE)])
    elif len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    return Form("product", number=number, parts=parts)


def _numbered(form: Form) -> bool:
    return form.kind == "number" or form.number


def _bare(form: Form) -> Form:
    """Return a summand without its number."""
    if form.kind == "product" and form.number:
        return _product(form.parts)
    return form


def _sum(terms: Iterable[tuple[Form, Fraction]]) -> Form:
    """Add forms, each with 1 or -1."""
    found: dict[Form, tuple[Form, Fraction]] = {}
    waiting = list(terms)
    while waiting:
        term, sign = waiting.pop()
        if term == _ONE:
            term = _NUMBER
        if term.kind == "sum":
            waiting += [(part, own * sign) for part, own in term.parts]
            continue
        numbered = _numbered(term)
        # What is 1/x is C/x to a product, and not to a sum of it and x.
        key = _NUMBER if term.kind == "number" else _bare(term)
        if key in found:
            term = _NUMBER if key == _NUMBER else _product([(key, _WHOLE)], number=True)
            numbered = True
        found[key] = term, _WHOLE if numbered else sign
    parts = sorted(found.values(), key=lambda part: (-part[1], part[0]))
    if all(sign < 0 for _, sign in parts):
        positive = _sum([(term, _WHOLE) for term, _ in parts])
        return _product([(positive, _WHOLE)], number=True)
    if len(parts) == 1:
        return parts[0][0]
    return Form("sum", parts=tuple(parts))


def _call(name: str, argument: Form) -> Form:
    """Apply a function."""
    if argument == _ONE or argument.kind == "number":
        return _NUMBER
    if name == "exp":
        return _exponential(argument)
    if name == "log":
        return _logarithm(argument)
    return Form(name, parts=((argument, _WHOLE),))


def _exponential(argument: Form) -> Form:
    if argument.kind == "log":
        return argument.parts[0][0]
    if argument.kind == "sum" and any(term.kind == "number" for term, _ in argument.parts):
        rest = [part for part in argument.parts if part[0].kind != "number"]
        return _product([(_call("exp", _sum(rest)), _WHOLE)], number=True)
    return Form("exp", parts=((argument, _WHOLE),))


def _logarithm(argument: Form) -> Form:
    if argument.kind == "exp":
        return argument.parts[0][0]
    if argument.kind != "product":
        return Form("log", parts=((argument, _WHOLE),))
    if not any(power > 0 for _, power in argument.parts):
        inverse = _product((base, -power) for base, power in argument.parts)
        negative = _product([(_call("log", inverse), _WHOLE)], number=True)
        return _sum([(_NUMBER, _WHOLE), (negative, _WHOLE)])
    if argument.number:
        return _sum([(_NUMBER, _WHOLE), (_call("log", _bare(argument)), _WHOLE)])
    if len(argument.parts) == 1:
        return _product([(_call("log", argument.parts[0][0]), _WHOLE)], number=True)
    return Form("log", parts=((argument, _WHOLE),))


def read_form(text: str) -> Form:
    """Read a law, whose variables are numbered in the order of their names' first mention.

    Raises
    ------
    FormError
        If it is none.
    """
    try:
        return _Reader(text).read(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise FormError(f"{text!r} is no expression: {error.msg}") from error


class _Reader:
    """Reads the syntax tree of a law."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._columns: dict[str, int] = {}

    def read(self, node: ast.expr) -> Form:
        match node:
            case ast.Constant(value=int() | float() as value):
                return _ONE if value == 1 else _NUMBER
            case ast.Name(id="C"):
                return _NUMBER
            case ast.Name(id=name):
                return Form("variable", column=self._columns.setdefault(name, len(self._columns)))
            case ast.BinOp() | ast.UnaryOp() | ast.Call():
                return self._operation(node)
        raise self._refused(node)

    def _operation(self, node: ast.expr) -> Form:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _product([(self.read(operand), _WHOLE)], number=True)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
                return _product([(self.read(left), Fraction(power))])
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                sign = _WHOLE if isinstance(op, ast.Add) else -_WHOLE
                return _sum([(self.read(left), _WHOLE), (self.read(right), sign)])
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                sign = _WHOLE if isinstance(op, ast.Mult) else -_WHOLE
                return _product([(self.read(left), _WHOLE), (self.read(right), sign)])
            case ast.Call(func=ast.Name(id="sqrt"), args=[argument]):
                return _product([(self.read(argument), _HALF)])
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in FUNCTIONS_OF_FORMS:
                return _call(name, self.read(argument))
        raise self._refused(node)

    def _refused(self, node: ast.expr) -> FormError:
        return FormError(f"{self._text!r} holds {ast.unparse(node)!r}, which no form has")


def read_laws(file: Path) -> dict[str, Form]:
    """Read a file of laws, ``name: law`` in each line, ``#`` before remarks."""
    lines = file.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {name.strip(): read_form(law.strip()) for name, law in pairs}


def prefix_of_form(form: Form, *, gathered: bool = False) -> list[str]:
    """Write a form as tokens in prefix order.

    Parameters
    ----------
    gathered
        Whether the roots of a product are written as one root.

    Raises
    ------
    FormError
        If it has a power above 8.
    """
    if form.kind in {"number", "product"} and not form.parts:
        return ["const"]
    if form.kind == "variable":
        return [f"x{form.column}"]
    if form.kind == "sum":
        return _written_sum(form.parts, gathered=gathered)
    if form.kind == "product":
        return _written_product(form, gathered=gathered)
    return [form.kind, *prefix_of_form(form.parts[0][0], gathered=gathered)]


def _written_product(form: Form, *, gathered: bool) -> list[str]:
    """Write a product as a numerator over a denominator."""
    parts = form.parts
    roots = [part for part in parts if gathered and part[1].denominator == 2]  # noqa: PLR2004
    if len(roots) > 1:
        parts = tuple(part for part in parts if part not in roots)
        inside = Form("product", parts=tuple((base, 2 * power) for base, power in roots))
        above = [["sqrt", *_written_product(inside, gathered=True)]]
    else:
        above = []
    above += [_written_power(base, power, gathered=gathered) for base, power in parts if power > 0]
    below = [_written_power(base, -power, gathered=gathered) for base, power in parts if power < 0]
    if form.number or not above:
        above.insert(0, ["const"])
    return ["div", *_chain(above), *_chain(below)] if below else _chain(above)


def _written_sum(parts: Sequence[tuple[Form, Fraction]], *, gathered: bool) -> list[str]:
    """Write a sum from the left: each addition is around all terms before it."""
    written = prefix_of_form(parts[0][0], gathered=gathered)
    for term, sign in parts[1:]:
        own = prefix_of_form(term, gathered=gathered)
        written = ["add" if sign > 0 else "sub", *written, *own]
    return written


def _chain(factors: Sequence[list[str]]) -> list[str]:
    written = factors[-1]
    for factor in factors[-2::-1]:
        written = ["mul", *factor, *written]
    return written


def _written_power(base: Form, power: Fraction, *, gathered: bool) -> list[str]:
    if power.denominator in {2, 4}:
        return ["sqrt", *_written_power(base, 2 * power, gathered=gathered)]
    if power.denominator != 1:
        raise FormError(f"a power of {power} cannot be written")
    return _whole(prefix_of_form(base, gathered=gathered), power.numerator)


def _whole(own: list[str], power: int) -> list[str]:
    if power > _LARGEST:
        raise FormError(f"a power of {power} is above {_LARGEST}")
    for name, step in (("square", 2), ("cube", 3)):
        if power % step == 0:
            return [name, *_whole(own, power // step)]
    return own if power == 1 else ["mul", *own, *_whole(own, power - 1)]


def form_of_prefix(tokens: Sequence[str]) -> Form:
    """Read tokens in prefix order.

    Raises
    ------
    FormError
        If they are not one whole expression.
    """
    left: Iterator[str] = iter(tokens)

    def build() -> Form:
        name = next(left, None)
        if name is None:
            raise FormError(f"{' '.join(tokens)!r} is not complete")
        if name == "const":
            return _NUMBER
        if name not in ARITY:
            if not (name[:1] == "x" and name[1:].isdecimal()):
                raise FormError(f"there is no token {name!r}")
            return Form("variable", column=int(name[1:]))
        arguments = [build() for _ in range(ARITY[name])]
        match name:
            case "add" | "sub":
                sign = _WHOLE if name == "add" else -_WHOLE
                return _sum([(arguments[0], _WHOLE), (arguments[1], sign)])
            case "mul" | "div":
                power = _WHOLE if name == "mul" else -_WHOLE
                return _product([(arguments[0], _WHOLE), (arguments[1], power)])
            case "square" | "cube" | "sqrt":
                power = {"square": Fraction(2), "cube": Fraction(3), "sqrt": _HALF}[name]
                return _product([(arguments[0], power)])
        return _call(name, arguments[0])

    form = build()
    if next(left, None) is not None:
        raise FormError(f"{' '.join(tokens)!r} is more than one expression")
    return form


def renumbered(tokens: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Put other variables in the place of ``x0``, ``x1``, ... of prefix tokens."""
    return [name if name in ARITY else f"x{columns[int(name[1:])]}" for name in tokens]
