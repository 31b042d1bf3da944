"""The functions that programs may call, and the form of each in the bench's grammar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from formula_graphs import GraphNode, number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CALLS", "PLAIN_CALLS"]


def _of(name: str) -> Callable[..., GraphNode]:
    return lambda *parts: GraphNode(name, parts)


def _logarithm(base: float) -> Callable[[GraphNode], GraphNode]:
    return lambda x: GraphNode("/", (GraphNode("log", (x,)), number(math.log(base))))


def _plus_one(x: GraphNode) -> GraphNode:
    return GraphNode("+", (number(1.0), x))


def _one_over(x: GraphNode) -> GraphNode:
    return GraphNode("/", (number(1.0), x))


def _power(exponent: float) -> Callable[[GraphNode], GraphNode]:
    return lambda x: GraphNode("**", (x, number(exponent)))


def _cube_root(x: GraphNode) -> GraphNode:
    root = GraphNode("**", (GraphNode("abs", (x,)), number(1.0 / 3.0)))
    return GraphNode("*", (GraphNode("sign", (x,)), root))


def _hypotenuse(x: GraphNode, y: GraphNode) -> GraphNode:
    return GraphNode("sqrt", (GraphNode("+", (_power(2.0)(x), _power(2.0)(y))),))


def _between(x: GraphNode, low: GraphNode, high: GraphNode) -> GraphNode:
    return GraphNode("min", (GraphNode("max", (x, low)), high))


def _sigmoid(x: GraphNode) -> GraphNode:
    return _one_over(_plus_one(GraphNode("exp", (GraphNode("neg", (x,)),))))


CALLS: dict[tuple[str, int], Callable[..., GraphNode]] = {
    **{
        (name, 1): _of(name)
        for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp")
    },
    **{(name, 1): _of(name) for name in ("log", "sign", "sin", "sinh", "sqrt", "tan", "tanh")},
    **{(f"arc{name[1:]}", 1): _of(name) for name in ("acos", "acosh", "asin", "asinh", "atan")},
    ("arctanh", 1): _of("atanh"),
    ("fabs", 1): _of("abs"),
    ("absolute", 1): _of("abs"),
    ("negative", 1): _of("neg"),
    ("log10", 1): _logarithm(10.0),
    ("log2", 1): _logarithm(2.0),
    ("log1p", 1): lambda x: GraphNode("log", (_plus_one(x),)),
    ("expm1", 1): lambda x: GraphNode("-", (GraphNode("exp", (x,)), number(1.0))),
    ("exp2", 1): lambda x: GraphNode("**", (number(2.0), x)),
    ("square", 1): _power(2.0),
    ("cbrt", 1): _cube_root,
    ("reciprocal", 1): _one_over,
    ("sigmoid", 1): _sigmoid,
    ("relu", 1): lambda x: GraphNode("max", (x, number(0.0))),
    ("ones_like", 1): lambda _x: number(1.0),
    ("zeros_like", 1): lambda _x: number(0.0),
    ("full_like", 2): lambda _x, value: value,
    ("asarray", 1): lambda x: x,
    ("float64", 1): lambda x: x,
    ("add", 2): _of("+"),
    ("subtract", 2): _of("-"),
    ("multiply", 2): _of("*"),
    ("mul", 2): _of("*"),
    ("sub", 2): _of("-"),
    ("div", 2): _of("/"),
    ("divide", 2): _of("/"),
    ("true_divide", 2): _of("/"),
    ("power", 2): _of("**"),
    ("float_power", 2): _of("**"),
    ("pow", 2): _of("**"),
    ("maximum", 2): _of("max"),
    ("fmax", 2): _of("max"),
    ("minimum", 2): _of("min"),
    ("fmin", 2): _of("min"),
    ("hypot", 2): _hypotenuse,
    ("clip", 3): _between,
    ("clamp", 3): _between,
}
"""Functions of a module, by name and number of arguments."""
PLAIN_CALLS: dict[tuple[str, int], Callable[..., GraphNode]] = {
    ("abs", 1): _of("abs"),
    ("float", 1): lambda x: x,
    ("pow", 2): _of("**"),
    ("max", 2): _of("max"),
    ("min", 2): _of("min"),
}
"""Functions that Python has without a module."""
