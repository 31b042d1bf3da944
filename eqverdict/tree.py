"""The tree of an equation, its functions and constants, its value on arrays, and its parts."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Function:
    """A function of real numbers, as NumPy evaluates it and as SymPy names it."""

    numpy: Callable[..., Any]
    sympy: str
    arity: int = 1


def _cot(x: Any) -> Any:
    return 1.0 / np.tan(x)


_NAMED = {
    "abs": Function(np.abs, "Abs"),
    "acos": Function(np.arccos, "acos"),
    "acosh": Function(np.arccosh, "acosh"),
    "asin": Function(np.arcsin, "asin"),
    "asinh": Function(np.arcsinh, "asinh"),
    "atan": Function(np.arctan, "atan"),
    "atanh": Function(np.arctanh, "atanh"),
    "cos": Function(np.cos, "cos"),
    "cosh": Function(np.cosh, "cosh"),
    "cot": Function(_cot, "cot"),
    "exp": Function(np.exp, "exp"),
    "floor": Function(np.floor, "floor"),
    "log": Function(np.log, "log"),
    "max": Function(np.maximum, "Max", arity=2),
    "min": Function(np.minimum, "Min", arity=2),
    "sign": Function(np.sign, "sign"),
    "sin": Function(np.sin, "sin"),
    "sinh": Function(np.sinh, "sinh"),
    "sqrt": Function(np.sqrt, "sqrt"),
    "tan": Function(np.tan, "tan"),
    "tanh": Function(np.tanh, "tanh"),
}

ALIASES = {
    "Abs": "abs",
    "Max": "max",
    "Min": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "ln": "log",
}
"""Other names, each with the usual one."""

FUNCTIONS = _NAMED | {alias: _NAMED[name] for alias, name in ALIASES.items()}
"""The functions by every name that they may have in a text, natural logarithm included."""

CONSTANTS = {"pi": np.float64(np.pi), "E": np.float64(np.e)}
"""Numbers that have a name, which is SymPy's name for them too."""

SAME_MEANING = {
    "absolute": "abs(x)",
    "add": "x + y",
    "cbrt": "sign(x)*abs(x)**(1/3)",
    "cosec": "1/sin(x)",
    "cosine": "cos(x)",
    "coth": "1/tanh(x)",
    "csc": "1/sin(x)",
    "csch": "1/sinh(x)",
    "div": "x/y",
    "divide": "x/y",
    "exp2": "2**x",
    "expm1": "exp(x) - 1",
    "fabs": "abs(x)",
    "hypot": "sqrt(x**2 + y**2)",
    "inv": "1/x",
    "inverse": "1/x",
    "log10": "log(x)/log(10)",
    "log1p": "log(1 + x)",
    "log2": "log(x)/log(2)",
    "logistic": "1/(1 + exp(-x))",
    "maximum": "max(x, y)",
    "minimum": "min(x, y)",
    "mul": "x*y",
    "multiply": "x*y",
    "neg": "-x",
    "negative": "-x",
    "pow": "x**y",
    "power": "x**y",
    "reciprocal": "1/x",
    "relu": "max(x, 0)",
    "sec": "1/cos(x)",
    "sech": "1/cosh(x)",
    "sgn": "sign(x)",
    "sigmoid": "1/(1 + exp(-x))",
    "signum": "sign(x)",
    "sine": "sin(x)",
    "sub": "x - y",
    "subtract": "x - y",
    "tangent": "tan(x)",
}
"""Functions of other languages, and how their values are written in the one notation of `grammar`.

Names that mean one thing here and another there are left out, such as ``lg``, ``sqr`` and ``LOG``.
"""


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
"""The left-associative operators, for NumPy and for SymPy alike."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The base of all nodes: their value, computed once, where no variable is in them."""

    constant: np.float64 | None


@dataclass(frozen=True, slots=True)
class Number(_Part):
    """A literal, or the name of a constant; the text is kept, as SymPy wants every digit."""

    text: str


@dataclass(frozen=True, slots=True)
class Variable(_Part):
    """A name whose values are given at evaluation."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain(_Part):
    """A run of operators of one rank, worked out from the left: ``a + b - c`` or ``a * b / c``.

    One node however long it is, so that a sum of a thousand terms is not a thousand deep.
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Negation(_Part):
    """A unary minus."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Power(_Part):
    """A base and its exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call(_Part):
    """A function of one or two arguments."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Number | Variable | Chain | Negation | Power | Call


def value(
    node: Node, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64] | np.float64:
    """Evaluate a tree in float64; what is undefined or too large becomes NaN or infinite.

    Without ``np.errstate(all="ignore")`` around it, NumPy warns of these.
    """
    if node.constant is not None:
        return node.constant
    result: Any
    match node:
        case Variable():
            result = np.asarray(columns[node.name], np.float64)
        case Chain():
            result = value(node.first, columns)
            for symbol, operand in node.rest:
                result = OPERATORS[symbol](result, value(operand, columns))
        case Negation():
            result = -value(node.operand, columns)
        case Power():
            result = value(node.base, columns) ** value(node.exponent, columns)
        case Call():
            arguments = (value(argument, columns) for argument in node.arguments)
            result = FUNCTIONS[node.function].numpy(*arguments)
        case Number():
            raise AssertionError("a number is constant")
    return result  # type: ignore[no-any-return]


def pieces(node: Node) -> int:
    """Count what `Equation.pieces` counts, in a tree by itself."""
    return 0 if node.constant == 0 else max(1, _summands(node)) + _count_inner(node)


def constants(node: Node) -> int:
    """Count what `Equation.constants` counts, in a tree by itself."""
    if node.constant is not None:
        return int(not float(node.constant).is_integer())
    return sum(map(constants, children(node)))


def tree_symbols(node: Node) -> list[str]:
    """Return the symbols of a tree as `Equation.structure` counts them."""
    if node.constant is not None:
        return ["#"]
    match node:
        case Chain():
            own = [symbol for symbol, _ in node.rest]
        case Negation():
            own = ["-"]
        case Power():
            own = ["**"]
        case Call():
            own = [node.function]
        case _:
            own = [node.name] if isinstance(node, Variable) else ["#"]
    return own + [symbol for child in children(node) for symbol in tree_symbols(child)]


def _summands(node: Node) -> int:
    """Count the summands of a node, each at least once."""
    match node:
        case Negation():
            return _summands(node.operand)
        case Chain(rest=((("+" | "-"), _), *_)):
            return sum(map(_summands, children(node)))
    return 1


def _count_inner(node: Node) -> int:
    """Count functions, powers that are not whole, and sums below the outermost one."""
    count = 0
    match node:
        case Negation():
            count = _count_inner(node.operand)
        case Chain():
            counted = _count_inner if node.rest[0][0] in "+-" else _nested
            count = sum(map(counted, children(node)))
        case Power():
            exponent = node.exponent.constant
            whole = exponent is not None and float(exponent).is_integer()
            count = _nested(node.base) + _nested(node.exponent) + (not whole)
        case Call():
            count = 1 + sum(map(_nested, node.arguments))
    return 0 if node.constant is not None else count


def _nested(node: Node) -> int:
    """Count the pieces of a part: a sum has one for each of its summands, anything else its own."""
    if node.constant is not None:
        return 0
    summands = _summands(node)
    return (summands if summands > 1 else 0) + _count_inner(node)


def parts(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    for part in children(node):
        yield from parts(part)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below a node."""
    match node:
        case Chain():
            return (node.first, *(part for _, part in node.rest))
        case Negation():
            return (node.operand,)
        case Power():
            return (node.base, node.exponent)
        case Call():
            return node.arguments
    return ()


def with_part(node: Node, part: Node, other: Node) -> Node:
    """Put another node in the place of a part of a tree."""
    return mapped(node, lambda each: other if each is part else None)


def mapped(node: Node, replacement: Callable[[Node], Node | None]) -> Node:
    """Replace the parts of a tree for which there is a replacement; others stay as they are."""
    other = replacement(node)
    if other is not None:
        return other

    def inside(child: Node) -> Node:
        return mapped(child, replacement)

    match node:
        case Chain():
            rest = tuple((symbol, inside(operand)) for symbol, operand in node.rest)
            return replace(node, first=inside(node.first), rest=rest)
        case Negation():
            return replace(node, operand=inside(node.operand))
        case Power():
            return replace(node, base=inside(node.base), exponent=inside(node.exponent))
        case Call():
            return replace(node, arguments=tuple(map(inside, node.arguments)))
    return node


def names_in(node: Node) -> Iterator[Any]:
    """Return the variables of a tree."""
    return (part for part in parts(node) if hasattr(part, "name"))


_DEFINED_EVERYWHERE = frozenset({"atan", "asinh", "cos", "cosh", "exp", "sin", "sinh", "tanh"})


def needs_a_domain(node: Node) -> bool:
    """Whether identities of a tree may hold for numbers of one sign only."""
    for part in parts(node):
        match part:
            case Call():
                if ALIASES.get(part.function, part.function) not in _DEFINED_EVERYWHERE:
                    return True
            case Power():
                exponent = part.exponent.constant
                if exponent is None or not float(exponent).is_integer():
                    return True
    return False


def text_of(node: Node) -> str:
    """Write a tree, with every bracket."""
    match node:
        case Number():
            return node.text
        case Variable():
            return node.name
        case Chain():
            rest = "".join(f" {symbol} {text_of(operand)}" for symbol, operand in node.rest)
            return f"({text_of(node.first)}{rest})"
        case Negation():
            return f"(-{text_of(node.operand)})"
        case Power():
            return f"({text_of(node.base)}**{text_of(node.exponent)})"
        case Call():
            return f"{node.function}({', '.join(map(text_of, node.arguments))})"
    raise AssertionError(node)
