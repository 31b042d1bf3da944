"""Derivations: steps, each an equation with the operation that gave it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy
from sympy.core.function import AppliedUndef
from sympy.printing.latex import LatexPrinter

from eqverdict.limited_process import PARSER_LOCK
from mdbench.errors import DataError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Sides(NamedTuple):
    """An equation: an ordered pair of expressions, which is not evaluated to true or false."""

    lhs: sympy.Expr
    rhs: sympy.Expr


@dataclass(frozen=True)
class Step:
    """An equation with the operation that gave it.

    Attributes
    ----------
    op
        One of `mdbench.datatypes.derivation.operators.OPERATORS`.
    refs
        The numbers, from 1, of the earlier steps that it refers to.
    operand
        What is added, what it is differentiated by, and so on; None where there is none.
    constants
        Of ``evaluate_integrals``: each integral with the name of its constant.
    """

    op: str
    refs: tuple[int, ...]
    operand: sympy.Expr | None
    constants: tuple[tuple[sympy.Expr, sympy.Symbol], ...]
    lhs: sympy.Expr
    rhs: sympy.Expr

    @property
    def sides(self) -> Sides:
        """The equation."""
        return Sides(self.lhs, self.rhs)

    @property
    def annotation(self) -> tuple[object, ...]:
        """Operation, step numbers and operand; not the constants."""
        return self.op, self.refs, self.operand


@dataclass(frozen=True)
class Derivation:
    """A derivation, and final steps that are wrong for the annotation of its own.

    Attributes
    ----------
    index
        Its number in the stream of random derivations that it comes from.
    stream
        The name of the stream.
    negatives
        True consequences of the first steps, which another final operation gives.
    """

    index: int
    stream: str
    steps: tuple[Step, ...]
    negatives: tuple[Step, ...]

    @property
    def context(self) -> tuple[Step, ...]:
        """All steps but the final one."""
        return self.steps[:-1]

    @property
    def final(self) -> Step:
        """The final step."""
        return self.steps[-1]

    def with_final(self, final: Step, negative: Step) -> Derivation:
        """Return the same with other final steps."""
        return replace(self, steps=(*self.context, final), negatives=(negative,))


def mirrored(sides: Sides) -> Sides:
    """Swap the sides."""
    return Sides(sides.rhs, sides.lhs)


@lru_cache(maxsize=50_000)
def parts(expr: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Return all sub-expressions of one, itself first, each once and without limits' tuples."""
    found: dict[sympy.Expr, None] = {}
    _collect(expr, found)
    return tuple(found)


def _collect(expr: sympy.Basic, seen: dict[sympy.Expr, None]) -> None:
    if expr in seen:
        return
    if isinstance(expr, sympy.Expr):
        seen[expr] = None
    for part in expr.args:
        # The order of a derivative is a number in a tuple, and no part of the mathematics.
        if isinstance(part, sympy.Tuple):
            _collect(part.args[0], seen)
        else:
            _collect(part, seen)


@lru_cache(maxsize=20_000)
def elements(sides: Sides) -> dict[sympy.Expr, None]:
    """Return all sub-expressions of both sides, each once, in a fixed order."""
    return dict.fromkeys(parts(sides.lhs) + parts(sides.rhs))


def ancestors(steps: Sequence[Step], number: int) -> set[int]:
    """Return the numbers of all steps that one needs, itself included."""
    numbers: set[int] = set()
    todo = [number]
    while todo:
        step_number = todo.pop()
        if step_number not in numbers:
            numbers.add(step_number)
            todo += steps[step_number - 1].refs
    return numbers


SYMBOLS = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
"""Names allowed for symbols and functions."""
_MOST_TEXT, _MOST_DEPTH, _MOST_NODES = 50_000, 60, 2_000
_MOST_DIGITS, _MOST_BITS, _MOST_ORDER = 40, 512, 20
_KEPT = 50_000
"""Expressions whose texts are kept; then all are forgotten."""

_NARY: dict[str, Callable[..., Any]] = {"Add": sympy.Add, "Mul": sympy.Mul}
_UNARY: dict[str, Callable[..., Any]] = {
    "sin": sympy.sin,
    "cos": sympy.cos,
    "exp": sympy.exp,
    "log": sympy.log,
}
CONSTRUCTORS = (
    "Symbol", "Function", "Integer", "Rational", *_NARY, "Pow", *_UNARY,
    "Derivative", "Integral", "Tuple",
)  # fmt: skip
"""All that a text may call."""
_SIMPLE: dict[type, str] = {
    sympy.Add: "Add",
    sympy.Mul: "Mul",
    sympy.Pow: "Pow",
    sympy.Tuple: "Tuple",
    sympy.Derivative: "Derivative",
    sympy.Integral: "Integral",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.exp: "exp",
    sympy.log: "log",
}
_symbols: dict[str, sympy.Symbol] = {}


def symbol(name: str) -> sympy.Symbol:
    """Return the symbol of a name."""
    if name not in _symbols:
        _symbols[name] = sympy.Symbol(name)
    return _symbols[name]


class _ResultCache(dict[Any, Any]):
    """Results for expressions; all are dropped when it is full."""

    def keep(self, key: Any, value: Any) -> Any:
        if len(self) >= _KEPT:
            self.clear()
        self[key] = value
        return value


_written, _readable, _sizes, _latex = _ResultCache(), _ResultCache(), _ResultCache(), _ResultCache()


def size(expr: sympy.Expr) -> int:
    """Count the nodes of an expression."""
    known = _sizes.get(expr)
    if known is None:
        known = _sizes.keep(expr, 1 + sum(map(size, expr.args)))
    return int(known)


def is_readable(expr: sympy.Basic) -> bool:
    """Whether an expression has no parts beyond those that can be written.

    So there is no nan, no infinity, no imaginary unit, no ``Subs`` and no ``Piecewise`` in it,
    and undefined functions have nothing but symbols as arguments.  What is read is the same: now
    and then SymPy leaves something like exp(0) behind, which is 1 when it is built again.
    """
    known = _readable.get(expr)
    if known is None:
        known = _readable.keep(expr, _is_readable(expr))
    return bool(known)


def _is_readable(expr: sympy.Basic) -> bool:
    if type(expr) in _SIMPLE:
        return all(map(is_readable, expr.args)) and bool(expr.func(*expr.args) == expr)
    if isinstance(expr, AppliedUndef):
        return all(each.is_Symbol for each in expr.args)
    if expr.is_Symbol:
        return True
    if getattr(expr, "is_Rational", False):
        return (
            bool(max(expr.p.bit_length(), expr.q.bit_length()) <= _MOST_BITS)
            and len(str(expr)) <= _MOST_DIGITS
        )
    return False


def write(expr: sympy.Basic) -> str:
    """Write an expression for `read`.

    Raises
    ------
    DataError
        If it has a part that could not be read.
    """
    known = _written.get(expr)
    if known is None:
        known = _written.keep(expr, _write(expr))
    return str(known)


def _write(expr: sympy.Basic) -> str:
    kind = _SIMPLE.get(type(expr))
    if kind is not None:
        return f"{kind}({', '.join(map(write, expr.args))})"
    if isinstance(expr, AppliedUndef):
        return f"Function('{expr.func.__name__}')({', '.join(map(write, expr.args))})"
    if isinstance(expr, sympy.Symbol):
        return f"Symbol('{expr.name}')"
    if isinstance(expr, sympy.Integer):
        return f"Integer({expr.p})"
    if isinstance(expr, sympy.Rational):
        return f"Rational({expr.p}, {expr.q})"
    raise DataError(
        f"{str(expr)[:80]} has {type(expr).__name__}, which cannot be written.",
        f"An expression consists of {', '.join(CONSTRUCTORS)}.",
    )


def read(text: str) -> sympy.Expr:
    """Read an expression that `write` wrote, or SymPy's ``srepr``.

    Raises
    ------
    DataError
        If the text is too long or too deep, is no nested call, or calls anything but
        `CONSTRUCTORS`; the message names it.
    """
    return _expression(_tree(text), _Counter())


def read_sides(text: str) -> Sides:
    """Read an equation that SymPy's ``srepr`` wrote: ``Equality(..., ...)``.

    Raises
    ------
    DataError
        As `read`; or if it is no equation.
    """
    match _tree(text):
        case ast.Call(func=ast.Name(id="Equality" | "Eq"), args=[lhs, rhs], keywords=[]):
            counter = _Counter()
            return Sides(_expression(lhs, counter), _expression(rhs, counter))
    raise DataError(f"{text[:80]!r} is no equation.", "Give Equality(..., ...) as srepr writes it.")


def _tree(text: str) -> ast.expr:
    if not isinstance(text, str):
        raise DataError(f"{text!r:.80} is no text.", "Give an expression as srepr writes it.")
    if len(text) > _MOST_TEXT:
        raise DataError(f"{len(text)} characters are too many: {_MOST_TEXT} at most.")
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > _MOST_DEPTH:
        raise DataError(f"{text[:60]!r}... is nested {deepest} deep; {_MOST_DEPTH} at most.")
    try:
        with PARSER_LOCK:
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"{text[:80]!r} cannot be parsed: {error}") from None


def _expression(tree: ast.expr, counter: _Counter) -> sympy.Expr:
    built = _build(tree, counter)
    if not isinstance(built, sympy.Expr):
        shown = ast.unparse(tree)[:80]
        raise DataError(f"{shown!r} is no expression but a {type(built).__name__}.")
    return built


class _Counter:
    """Counts nodes, so that no text makes work without end."""

    def __init__(self) -> None:
        self.nodes = 0

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise DataError(f"an expression has more than {_MOST_NODES} parts.")


def _build(node: ast.AST, counter: _Counter) -> Any:
    counter.count()
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _call(name, args, counter)
        case ast.Call(
            func=ast.Call(
                func=ast.Name(id="Function"), args=[ast.Constant(value=str(name))], keywords=[]
            ),
            args=args,
            keywords=[],
        ) if SYMBOLS.fullmatch(name) and args:
            values = [_build(each, counter) for each in args]
            if not all(isinstance(each, sympy.Symbol) for each in values):
                raise DataError(f"the function {name} has an argument that is no symbol.")
            return sympy.Function(name)(*values)
    raise DataError(
        f"{ast.unparse(node)[:80]!r} is not allowed in an expression.",
        f"Allowed are calls of {', '.join(CONSTRUCTORS)}.",
    )


def _call(name: str, args: list[ast.expr], counter: _Counter) -> Any:  # noqa: C901, PLR0911 - a kind each
    if name == "Symbol":
        match args:
            case [ast.Constant(value=str(text))] if SYMBOLS.fullmatch(text):
                return symbol(text)
        raise DataError(f"Symbol is called with {_shown(args)}; it needs a name in quotes.")
    if name in {"Integer", "Rational"}:
        numbers = [_integer(each) for each in args]
        if len(numbers) != (1 if name == "Integer" else 2) or 0 in numbers[1:]:
            raise DataError(f"{name} is called with {_shown(args)}.")
        return sympy.Rational(*numbers)
    if name not in CONSTRUCTORS or name == "Function":
        raise DataError(
            f"{name!r} is not allowed in an expression.", f"Allowed are {', '.join(CONSTRUCTORS)}."
        )
    values = [_build(each, counter) for each in args]
    if name == "Tuple":
        return sympy.Tuple(*values)
    if name in {"Derivative", "Integral"}:
        return _calculus(name, values)
    if not all(isinstance(each, sympy.Expr) for each in values):
        raise DataError(f"{name} is called with something that is no expression.")
    if name in _NARY:
        return _NARY[name](*values)
    if name == "Pow" and len(values) == 2:  # noqa: PLR2004 - base and exponent
        return _power(*values)
    if name in _UNARY and len(values) == 1:
        return _UNARY[name](*values)
    raise DataError(f"{name} is called with {counted(len(values), 'argument')}.")


def _power(base: sympy.Expr, exponent: sympy.Expr) -> Any:
    """Take a power, but none that SymPy would spend hours on."""
    if base.is_Rational and exponent.is_Rational:
        bits = max(base.p.bit_length(), base.q.bit_length()) * max(abs(exponent.p), exponent.q)
        if bits > _MOST_BITS:
            raise DataError("a power of two numbers is too large.")
    return sympy.Pow(base, exponent)


def _calculus(name: str, values: list[Any]) -> Any:
    match values:
        case [sympy.Expr() as body, *limits] if limits:
            pass
        case _:
            raise DataError(f"{name} needs an expression, and Tuples with its variables.")
    for limit in limits:
        match tuple(limit.args) if isinstance(limit, sympy.Tuple) else ():
            case (sympy.Symbol(),) if name == "Integral":
                continue
            case (sympy.Symbol(), sympy.Integer() as order) if name == "Derivative":
                if 0 < order <= _MOST_ORDER:
                    continue
        raise DataError(f"{name} has {str(limit)[:80]} where a Tuple with its variable is due.")
    return (sympy.Derivative if name == "Derivative" else sympy.Integral)(body, *limits)


def _integer(node: ast.expr) -> int:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            if len(str(value)) <= _MOST_DIGITS:
                return sign * value
    raise DataError(
        f"{ast.unparse(node)[:60]!r} is no whole number of at most {_MOST_DIGITS} digits."
    )


def _shown(args: list[ast.expr]) -> str:
    return ", ".join(ast.unparse(each) for each in args)[:80] or "nothing"


class _KeepingPrinter(LatexPrinter):  # type: ignore[misc]
    """SymPy's printer, which prints a part that it has printed before at once."""

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if kwargs or not isinstance(expr, sympy.Basic):
            return str(super()._print(expr, **kwargs))
        known = _latex.get(expr)
        if known is None:
            known = _latex.keep(expr, super()._print(expr))
        return str(known)


_printer = _KeepingPrinter()
_CLEANING: Mapping[str, str] = {r"\left": "", r"\right": "", r"\,": "", " )": ")"}


def latex(expr: sympy.Expr) -> str:
    r"""Write an expression as SymPy's LaTeX, without ``\left``, ``\right`` and ``\,``.

    >>> latex(sympy.Symbol("x") ** 2)
    'x^{2}'
    """
    return cleaned_latex(_printer._print(expr))  # noqa: SLF001 - doprint adds the frame alone


def cleaned_latex(text: str) -> str:
    """Remove from LaTeX what changes only how it looks."""
    for old, new in _CLEANING.items():
        text = text.replace(old, new)
    return text
