"""The functions and constants that an equation may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONSTANTS", "FUNCTIONS", "SAME_MEANING", "Function"]


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
"""Functions of other languages that no text may use, and how their values are written here.

Names that mean one thing here and another there are left out, such as ``lg``, ``sqr`` and ``LOG``.
"""
