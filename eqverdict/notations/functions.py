"""Functions of other languages, and how their values are written here."""

from __future__ import annotations

import re
from functools import cache

from eqverdict.grammar import read
from eqverdict.tree import (
    CONSTANTS,
    SAME_MEANING,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    parts,
)

AMBIGUOUS = {
    "Log": "log(x) for the natural logarithm, log10(x) for the decimal one",
    "LOG": "log(x) for the natural logarithm, log10(x) for the decimal one",
    "lg": "log10(x) or log2(x)",
    "sqr": "x**2 or sqrt(x)",
    "SQR": "x**2 or sqrt(x)",
    "sinc": "sin(x)/x or sin(pi*x)/(pi*x)",
    "acot": "atan(1/x) or pi/2 - atan(x)",
    "arccot": "atan(1/x) or pi/2 - atan(x)",
    "step": "(1 + sign(x))/2, x > 0 or x >= 0",
}
"""Functions that differ from language to language, or that no equation here has."""
_ATAN2 = (
    # By the half angle, which has no value at the origin but for the last summand below the bar.
    "(2*min(sign(y) + 1, 1) - 1)*2"
    "*atan(x/(sqrt(x**2 + y**2) + abs(y) + (1 - sign(abs(x) + abs(y)))))"
    " + max(sign(-y), 0)*pi*(2*min(sign(x) + 1, 1) - 1)"
)
"""Of what is above the fraction bar first, as all languages that are read have it."""
TEMPLATES = SAME_MEANING | {
    "arctan2": _ATAN2,
    "atan2": _ATAN2,
    "ceil": "-floor(-x)",
    "n2": "x**2",
    "n3": "x**3",
    "n4": "x**4",
    "safe_log": "log(x)",
    "safe_sqrt": "sqrt(x)",
    "Float": "x",
    "Heaviside": "(1 + sign(x))/2",
    "Integer": "x",
    "Neg": "-x",
    "Pow": "x**y",
    "Rational": "x/y",
    "acoth": "atanh(1/x)",
    "acsc": "asin(1/x)",
    "acsch": "asinh(1/x)",
    "aq": "x/sqrt(1 + y**2)",
    "asec": "acos(1/x)",
    "asech": "acosh(1/x)",
    "fmax": "max(x, y)",
    "fmin": "min(x, y)",
    "float_power": "x**y",
    "greater": "max(sign(x - y), 0)",
    "less": "max(sign(y - x), 0)",
    "logabs": "log(abs(x))",
    "logical_and": "max(sign(x), 0)*max(sign(y), 0)",
    "logical_or": "max(max(sign(x), 0), max(sign(y), 0))",
    "powabs": "abs(x)**y",
    "sqrtabs": "sqrt(abs(x))",
    "true_divide": "x/y",
}
"""Functions that are written with others here, of the arguments ``x`` and ``y``."""
AT_ZERO = {"0": "max(sign(x), 0)", "1": "min(sign(x) + 1, 1)", "0.5": "(1 + sign(x))/2"}
"""Heaviside's function by its value at 0, which SymPy and NumPy have as second argument."""
CHAINS = {
    "Add": "+",
    "Mul": "*",
    "add": "+",
    "mul": "*",
    "plus": "+",
    "times": "*",
    "multiply": "*",
}
"""Sums and products of any number of arguments."""
FOLDED = {"Max": "max", "Min": "min", "max": "max", "min": "min", "fmax": "max", "fmin": "min"} | {
    "maximum": "max",
    "minimum": "min",
}
RELATIONS = {"Gt": ">", "Ge": ">=", "Lt": "<", "Le": "<=", "Eq": "==", "Ne": "!="} | {
    "StrictGreaterThan": ">", "GreaterThan": ">=", "StrictLessThan": "<", "LessThan": "<=",
    "Equality": "==", "Unequality": "!=",
}  # fmt: skip
BRANCHES = {"where", "ifelse", "ITE", "ite", "IfElse"}
_CAPITALISED = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
CAPITALS = (
    {name.title(): name for name in (*_CAPITALISED, "exp", "sqrt", "sign")}
    | {name.upper(): name for name in (*_CAPITALISED, "exp", "sqrt", "abs")}
    | {f"Arc{name.title()}": f"a{name}" for name in _CAPITALISED}
)
"""Functions of Mathematica and Fortran."""
NUMBERS = {"Pi": "pi", "PI": "pi", "M_PI": "pi", "M_E": "E", "exp1": "E"}
WORDS = {"and", "or", "not", "if", "else", "True", "False", "true", "false"}
SUFFIX = re.compile(r"[fFdDeEiIjJlL]\d*|im")


@cache
def template(name: str) -> tuple[Node, int]:
    """Return the tree of a function of other languages, and how many arguments it has."""
    text = TEMPLATES[name]
    names = ("x", "y", "z")
    return read(text, names), 1 + max(
        i for i, each in enumerate(names) if re.search(rf"\b{each}\b", text)
    )


def filled(node: Node, arguments: dict[str, Node]) -> Node:
    """Put arguments into a template."""
    match node:
        case Variable():
            return arguments[node.name]
        case Chain():
            rest = tuple((symbol, filled(each, arguments)) for symbol, each in node.rest)
            return Chain(None, filled(node.first, arguments), rest)
        case Negation():
            return Negation(None, filled(node.operand, arguments))
        case Power():
            return Power(None, filled(node.base, arguments), filled(node.exponent, arguments))
        case Call():
            return Call(
                None, node.function, tuple(filled(each, arguments) for each in node.arguments)
            )
    return node


def is_zero(node: Node) -> bool:
    """Whether a node is the number 0."""
    return isinstance(node, Number) and node.text not in CONSTANTS and float(node.text) == 0


def defined_everywhere(node: Node) -> bool:
    """Whether a tree has a value for all values of its variables, but for overflow."""
    return not _divides(node) and all(map(_harmless, parts(node)))


def _harmless(part: Node) -> bool:
    match part:
        case Call():
            return part.function in _EVERYWHERE
        case Power(exponent=Number(text=text)):
            return text not in CONSTANTS and float(text).is_integer()
    return not isinstance(part, Power)


_EVERYWHERE = frozenset(
    {"abs", "atan", "asinh", "cos", "cosh", "exp", "floor"}
    | {"max", "min", "sign", "sin", "sinh", "tanh"}
)


def _divides(node: Node) -> bool:
    """Whether a tree divides by something that has a variable in it."""
    return any(
        symbol == "/" and any(isinstance(each, Variable) for each in parts(below))
        for part in parts(node)
        if isinstance(part, Chain)
        for symbol, below in part.rest
    )
