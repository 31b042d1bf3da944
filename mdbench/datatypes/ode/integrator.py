"""Integrates a system that a method discovered: the child's side of `simulation`.

The equations have passed the grammar; what is executed is written from their trees.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import LSODA

from mdbench.datatypes.ode.systems import SOLVER
from mdbench.expressions.grammar import read
from mdbench.expressions.tree import FUNCTIONS, Call, Chain, Negation, Node, Number, Power, Variable
from mdbench.limited_process import PARSER_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LONG = 20
"""Longer chains are written as calls, as Python reads no expression of any depth."""


_TOLERANCES = {name: value for name, value in SOLVER.items() if name != "method"}


class _BlewUpError(ArithmeticError):
    """A derivative is not finite, or a state is too large."""


class _TooManyError(Exception):
    """The right-hand sides were evaluated too often."""


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Integrate ``equations`` from ``start`` to the times ``t``: the states as far as it came.

    ``inputs``, where there are some, are values at these times.

    With these also how it ended, and how often the right-hand sides were evaluated.
    """
    inputs = question.get("inputs") or []
    derivatives = compiled(question["equations"], len(inputs))
    times = question["t"]
    limit, most = question["limit"], question["evaluations"]
    used = 0

    def right_hand_side(now: float, u: Any) -> list[float]:
        nonlocal used
        used += 1
        if used > most:
            raise _TooManyError
        state = u.tolist()
        if not all(abs(value) < limit for value in state):
            raise _BlewUpError
        du = derivatives(*state, *(float(np.interp(now, times, one)) for one in inputs))
        if not all(map(math.isfinite, du)):
            raise _BlewUpError
        return du

    t = np.array(question["t"])
    reached = [question["start"]]
    ended = "whole"
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA says so when it gives up
            _march(right_hand_side, t, reached)
        if len(reached) < len(t):
            ended = "stiff"
    except (ArithmeticError, ValueError, TypeError):
        ended = "blew_up"  # complex values are a TypeError, and as undefined as the rest
    except _TooManyError:
        ended = "stiff"
    if not np.isfinite(reached).all():
        ended = "blew_up"
        reached = [state for state in reached if all(map(math.isfinite, state))]
    return {"ended": ended, "u": reached, "evaluations": min(used, most)}


def _march(right_hand_side: Callable[..., list[float]], t: Any, reached: list[Any]) -> None:
    """Add the states at one time after the other, as far as the solver comes."""
    solver = LSODA(right_hand_side, t[0], reached[0], t[-1], **_TOLERANCES)
    while solver.status == "running":
        solver.step()
        if solver.status == "failed":
            return
        passed = np.searchsorted(t, solver.t, side="right")
        if passed > len(reached):
            reached += solver.dense_output()(t[len(reached) : passed]).T.tolist()


def compiled(equations: list[str], inputs: int = 0) -> Callable[..., list[float]]:
    """Make a function of the states and of inputs that gives the derivatives, all plain floats.

    Raises
    ------
    EquationError
        If an equation cannot be read.

    Examples
    --------
    >>> compiled(["-u0*u1", "u0**2 + exp(u1)"])(2.0, 0.0)
    [-0.0, 5.0]
    """
    names = (*(f"u{i}" for i in range(len(equations))), *(f"v{i}" for i in range(inputs)))
    written = ", ".join(_python(read(text, names)) for text in equations)
    with PARSER_LOCK:
        code = compile(f"lambda {', '.join(names)}: [{written}]", "<equations>", "eval")
    made: Callable[..., list[float]] = eval(code, {"__builtins__": {}} | _SCOPE)  # noqa: S307
    return made


def _python(node: Node) -> str:
    if node.constant is not None:
        return f"({float(node.constant)!r})"
    match node:
        case Variable():
            return node.name
        case Chain():
            return _chain(node)
        case Negation():
            return f"(-{_python(node.operand)})"
        case Power():
            return f"_pow({_python(node.base)}, {_python(node.exponent)})"
        case Call():
            arguments = ", ".join(map(_python, node.arguments))
            return f"_{FUNCTIONS[node.function].sympy.lower()}({arguments})"
        case Number():
            raise AssertionError("a number is constant")


def _chain(node: Chain) -> str:
    parts = [("", node.first), *node.rest]
    if len(parts) <= _LONG:
        return f"({''.join(symbol + _python(part) for symbol, part in parts)})"
    if node.rest[0][0] in "+-":
        signed = ("-" * (symbol == "-") + _python(part) for symbol, part in parts)
        return f"_sum(({', '.join(signed)}))"
    powers = ("1.0/" * (symbol == "/") + _python(part) for symbol, part in parts)
    return f"_product(({', '.join(powers)}))"


def _product(factors: Iterable[float]) -> float:
    result = 1.0
    for factor in factors:
        result *= factor
    return result


def _pow(base: float, exponent: float) -> float:
    try:
        # A negative base with a fractional exponent has no real value.
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def _no_overflow(function: Callable[[float], float]) -> Callable[[float], float]:
    def guarded(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x) if function is math.sinh else math.inf

    return guarded


_SCOPE: dict[str, Any] = {
    "_abs": abs,
    "_cot": lambda x: 1.0 / math.tan(x),
    "_max": max,
    "_min": min,
    "_pow": _pow,
    "_product": _product,
    "_sign": lambda x: math.copysign(1.0, x) if x else 0.0,
    "_sum": sum,
    **{f"_{name}": _no_overflow(getattr(math, name)) for name in ("exp", "sinh", "cosh")},
    **{
        f"_{name}": getattr(math, name)
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "log", "sqrt")
    },
    **{f"_{name}": getattr(math, name) for name in ("tanh", "asinh", "acosh", "atanh")},
}
