"""Integrates discovered systems, which may do anything, in a process that can be killed.

An answer may blow up, become so stiff that the solver makes no progress, or never end.  The work
is done in a child process with a limit on CPU time, by the function `answer` of this module.  The
equations have passed the grammar; what is executed is written from their trees.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eqverdict.grammar import read
from eqverdict.limited_process import PARSER_LOCK, LimitedProcess
from eqverdict.tree import FUNCTIONS, Call, Chain, Negation, Node, Number, Power, Variable
from mdbench.datatypes.ode.systems import SOLVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MAX_SECONDS = 1
"""CPU time for one trajectory; the kernel counts in whole seconds, and may give one more."""
MAX_BYTES = 2 << 30
"""Memory for one trajectory."""
MAX_EVALUATIONS = 20_000
"""Evaluations of the right-hand sides after which a system counts as stiff; most systems take a
few hundred."""
BLOWN_UP = 1e6
"""A state of this many times the largest true one has blown up."""
_MORE = 4
"""How many times as much may be used where a solver has to be more accurate than usual."""
_VALID = 0.4
"""The error up to which a chaotic trajectory counts as followed."""
_LONG = 20
"""Longer chains are written as calls, as Python reads no expression of any depth."""


class Ending(StrEnum):
    """The end of a simulation."""

    WHOLE = "whole"
    """It reached the last time."""
    BLEW_UP = "blew_up"
    """A state or a derivative became undefined, infinite or as good as that."""
    STIFF = "stiff"
    """The solver gave up: its steps became too small, or too many."""
    LATE = "late"
    """It was killed for taking too long."""


@dataclass(frozen=True)
class Simulation:
    """The result of integrating an answer.

    Attributes
    ----------
    r2
        Of the trajectory; None where there is no whole one.
    states
        The states as far as it went, shape ``(m, d)`` with m at most the number of times.
    evaluations
        How often the right-hand sides were evaluated.
    """

    r2: float | None
    ended: Ending
    states: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False, compare=False)
    evaluations: int = 0


def simulate(
    equations: Sequence[str],
    t: Array,
    true: Array,
    evaluations: int = MAX_EVALUATIONS,
    *,
    inputs: Array | None = None,
    held: bool = False,
    frame: Frame | None = None,
    solver: Mapping[str, Any] = SOLVER,
) -> Simulation:
    """Integrate a system from the first true state, and compare the trajectories.

    Parameters
    ----------
    equations
        The right-hand side of each state in ``u0``, ``u1``, ...; they have been read before.
    t
        Increasing times, (n,).
    true
        The true states at these times, (n, len(equations)).
    evaluations
        How often the right-hand sides may be evaluated.
    inputs
        The values at these times of ``v0``, ``v1``, ..., (n, k), where the right-hand sides have
        such; in between they change evenly, or keep their values where they are `held`.
    frame
        The units in which the tolerances are meant; None for those of the data.
    solver
        The solver's settings, which are to be those that the data are made with.
    """
    question: dict[str, Any] = {
        "equations": list(equations),
        "t": t.tolist(),
        "start": true[0].tolist(),
        "limit": BLOWN_UP * (1.0 + float(np.max(np.abs(true)))),
        "evaluations": evaluations,
        "inputs": None if inputs is None else inputs.T.tolist(),
        "held": held,
        "solver": {name: value for name, value in solver.items() if name != "method"},
    }
    if frame is not None:
        question |= {
            "offset": frame.offset.tolist(),
            "size": frame.size.tolist(),
            "time": frame.time,
            "limit": (np.abs(frame.offset) + BLOWN_UP * frame.size).tolist(),
        }
    accurate = solver["rtol"] < SOLVER["rtol"]
    if accurate:
        question["evaluations"] *= _MORE
    reply = _child.ask(question, MAX_SECONDS * (_MORE if accurate else 1))
    if "error" in reply:
        return Simulation(None, Ending.LATE)
    ended, states = Ending(reply["ended"]), np.array(reply["u"])
    r2 = trajectory_r2(states, true) if ended is Ending.WHOLE else None
    return Simulation(r2, ended, states, reply["evaluations"])


class Frame(NamedTuple):
    """Units of a system whose states and times may be of any size, and far from zero.

    Attributes
    ----------
    offset, size
        Of each state, (d,).
    time
        Of the times.
    """

    offset: Array
    size: Array
    time: float

    @classmethod
    def of(cls, t: Array, u: Array) -> Frame:
        """Return the means and deviations of states (n, d), and a tenth of the time."""
        size = np.std(u, axis=0)
        size = np.where(size > 0, size, np.maximum(np.abs(u[0]), np.finfo(float).tiny))
        return cls(np.mean(u, axis=0), size, float(t[-1] - t[0]) / 10 or 1.0)


def valid_time(states: Array, t: Array, true: Array, lyapunov: float) -> float:
    r"""Return for how long a trajectory is followed, in Lyapunov times.

    It is until the root of the mean squared error of the states, each over its deviation, is first
    above 0.4, or the simulation ends; :math:`\lambda (t - t_0)`.

    Parameters
    ----------
    states
        As far as they were simulated, (m, d).
    t
        Times, (n,), n at least m.
    true
        The true states, (n, d).
    lyapunov
        The largest Lyapunov exponent, per unit of time.

    References ---------- Pathak et al., "Model-free prediction of large spatiotemporally chaotic
    systems from data", PRL 120, 024102, 2018. Their error is over the root of the mean square of
    the whole state; here no state counts by its unit.

    Examples
    --------
    >>> true = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> valid_time(np.array([[0.0], [1.1], [1.0]]), np.arange(4.0), true, 0.5)
    0.5
    """
    if not len(states):
        return 0.0
    deviations = np.std(true, axis=0)
    moving = deviations > 0
    with np.errstate(all="ignore"):
        off = (states - true[: len(states)])[:, moving] / deviations[moving]
        errors = np.sqrt(np.mean(np.square(off), axis=1)) if moving.any() else np.zeros(len(states))
    wrong = np.flatnonzero(~(errors <= _VALID))
    last = int(wrong[0]) - 1 if len(wrong) else len(states) - 1
    return float(lyapunov * (t[max(last, 0)] - t[0]))


def warm() -> None:
    """Start the child, which needs a second to load its solver."""
    _child.start()


def trajectory_r2(predicted: Array, true: Array) -> float | None:
    r"""Return the R2 of a trajectory, its states weighted by their variances.

    .. math:: 1 - \frac{\sum_i \sum_t (u_i - \hat u_i)^2}{\sum_i \sum_t (u_i - \bar u_i)^2}

    Parameters
    ----------
    predicted, true
        States, (n, d).

    Returns
    -------
    float or None
        At most 1.  Where the true states do not change, 1 for the same and else 0; None where
        a sum of squares is too large.

    References
    ----------
    d'Ascoli et al., "ODEFormer: symbolic regression of dynamical systems with transformers",
    ICLR 2024: the score behind its share of trajectories above 0.9.

    Examples
    --------
    >>> true = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    >>> trajectory_r2(true + [0.0, 0.5], true)
    0.625
    """
    with np.errstate(all="ignore"):
        unexplained = float(np.sum(np.square(true - predicted)))
        variance = float(np.sum(np.square(true - np.mean(true, axis=0))))
        if variance == 0.0:
            return 1.0 if unexplained == 0.0 else 0.0
        r2 = 1.0 - unexplained / variance
    return r2 if math.isfinite(r2) else None


_child = LimitedProcess(__name__, MAX_SECONDS, MAX_BYTES, in_work=True)


class _BlewUpError(ArithmeticError):
    """A derivative is not finite, or a state is too large."""


class _TooManyError(Exception):
    """The right-hand sides were evaluated too often."""


def prepare() -> None:
    """Load the solver in the child, before any question.

    Of SciPy no more is loaded than the solver itself takes, which is much less: its two packages
    are entered without what their ``__init__.py`` imports, and there are no sparse matrices, which
    other solvers take.  Where a version of SciPy is laid out otherwise, all of it is loaded.
    """
    import scipy  # noqa: PLC0415 - the child alone needs it

    if "scipy.integrate" in sys.modules:
        return
    names = "scipy.integrate", "scipy.integrate._ivp"
    whole = set(sys.modules)
    sparse: Any = ModuleType("scipy.sparse")
    sparse.find = sparse.coo_matrix = None
    try:
        sys.modules.setdefault("scipy.sparse", sparse)
        for name in names:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(Path(scipy.__path__[0], *name.split(".")[1:]))]
        integrate: Any = sys.modules[names[0]]
        integrate.ode = import_module("scipy.integrate._ode").ode
        integrate.LSODA = import_module("scipy.integrate._ivp.lsoda").LSODA
    except (ImportError, AttributeError):
        for name in set(sys.modules) - whole:
            if name.startswith(("scipy.integrate", "scipy.sparse")):
                del sys.modules[name]
        import_module("scipy.integrate")
    if sys.modules.get("scipy.sparse") is sparse:
        del sys.modules["scipy.sparse"]


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Integrate ``equations`` from ``start`` to the times ``t``: the child's side of `simulate`.

    ``inputs``, where there are some, are values at these times.

    Returns
    -------
    dict
        The states as far as they could be integrated, how the simulation ended, and how often the
        right-hand sides were evaluated.
    """
    inputs = question.get("inputs") or []
    derivatives = compiled(question["equations"], len(inputs))
    d = len(question["start"])
    framed = "size" in question
    offset = np.array(question.get("offset", [0.0] * d))
    size = np.array(question.get("size", [1.0] * d))
    unit = question.get("time", 1.0)
    times = (np.array(question["t"]) - question["t"][0] * ("time" in question)) / unit
    limits = np.broadcast_to(question["limit"], d).tolist()
    most = question["evaluations"]
    inputs_at = _inputs_at(times, inputs, held=question.get("held", False)) if inputs else _none
    rate = (unit / size).tolist()
    used = 0

    def right_hand_side(now: float, u: Any) -> list[float]:
        # It is called up to some ten thousand times: what does nothing here is left out.
        nonlocal used
        used += 1
        if used > most:
            raise _TooManyError
        state = (offset + size * u).tolist() if framed else u.tolist()
        for value, limit in zip(state, limits, strict=True):
            if not -limit < value < limit:
                raise _BlewUpError
        du = derivatives(*state, *inputs_at(now))
        # A sum of finite numbers may be infinite; one with others never is finite.
        if not math.isfinite(sum(du)) and not all(map(math.isfinite, du)):
            raise _BlewUpError
        return [each * by for each, by in zip(du, rate, strict=True)] if framed else du

    t = times
    reached = [((np.array(question["start"]) - offset) / size).tolist()]
    ended = Ending.WHOLE
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA warns when it gives up
            _march(right_hand_side, t, reached, question["solver"])
        if len(reached) < len(t):
            ended = Ending.STIFF
    except (ArithmeticError, ValueError, TypeError):
        ended = Ending.BLEW_UP  # complex values are a TypeError, and as undefined as the rest
    except _TooManyError:
        ended = Ending.STIFF
    if not np.isfinite(reached).all():
        ended = Ending.BLEW_UP
        reached = [state for state in reached if all(map(math.isfinite, state))]
    states = [(offset + size * np.array(state)).tolist() for state in reached]
    return {"ended": ended, "u": states, "evaluations": min(used, most)}


def _none(_now: float) -> list[float]:
    """Give the inputs of a system that has none."""
    return []


def _inputs_at(
    times: Array, inputs: Sequence[Sequence[float]], *, held: bool
) -> Callable[[float], list[float]]:
    """Return a function that gives the inputs at a time."""
    if not held:
        return lambda now: [float(np.interp(now, times, one)) for one in inputs]

    def before(now: float) -> list[float]:
        place = max(int(np.searchsorted(times, now, side="right")) - 1, 0)
        return [one[place] for one in inputs]

    return before


def _march(
    right_hand_side: Callable[..., list[float]], t: Any, reached: list[Any], settings: Any
) -> None:
    """Add the states at one time after the other, as far as the solver comes."""
    from scipy.integrate import LSODA  # noqa: PLC0415 - as in `prepare`

    solver = LSODA(right_hand_side, t[0], reached[0], t[-1], **settings)
    times = [*t.tolist(), math.inf]
    while solver.status == "running":
        solver.step()
        if solver.status == "failed":
            return
        if times[len(reached)] <= solver.t:
            passed = np.searchsorted(t, solver.t, side="right")
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
    "_floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
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
