"""Systems of ordinary differential equations: reading them and integrating them.

A system is a TOML file; ``docs/datasets.md`` describes it.  Its equations are text in the states
``u0``, ``u1``, ... and in named constants, and pass a whitelist before they are evaluated.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.trajectory import MIN_SAMPLES
from mdbench.datatypes.equations.files import (
    FUNCTIONS,
    compile_equations,
    constants_of,
    number,
    parse,
    pop,
    read_table,
    substitute,
    text,
    texts,
)
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    RightHandSide = Callable[[float, Array], Array]

_WORD = re.compile(r"[A-Za-z]\w*")

T_END = 10.0
N_POINTS = 150

SOLVER: dict[str, Any] = {
    "method": "LSODA",
    "rtol": 1e-5,
    "atol": 1e-7,
    "first_step": 1e-6,
    "min_step": 1e-10,
}
"""The settings of the solver, as in MDBench."""
ACCURATE: dict[str, Any] = SOLVER | {"rtol": 1e-9, "atol": 1e-11}
"""Settings for systems with a time span of their own; some of these are chaotic."""
FORMS = ("trigonometric", "exponential", "other", "rational", "polynomial")
"""Sines, cosines, tangents; exponentials, logarithms; roots, broken powers, absolute values;
states under a bar; and sums of powers of states."""
_FORM_OF = dict.fromkeys(("sin", "cos", "tan", "cot"), "trigonometric") | dict.fromkeys(
    ("exp", "log"), "exponential"
)
ARRANGED = frozenset({"abs", "cos", "cot", "exp", "log", "sin", "tan"})
"""The functions of ODEBench, which SymPy writes as the same ones."""
_MOST_SAMPLES = 100_000
_REVISION = 1
"""To be raised whenever a change to this module changes the arrays that it makes."""


@dataclass(frozen=True)
class OdeSystem:
    """Autonomous first-order equations with their constants and initial conditions.

    Attributes
    ----------
    name
        The name of its file without the ending, NFC-normalised.
    id
        Its label in the collection that it comes from, such as ``I14``.
    title, description, source, domain
        Texts for people; `domain` may be empty.
    variables
        What each state means, by its name.
    equations
        The right-hand side of each state.
    constants
        The value of each constant, by its name.
    initial_conditions
        Each of length `dim`; datasets are made from the first.
    end, samples
        The last time, and the number of equidistant samples from 0 on.
    accurate
        Whether it is integrated to 1e-9, so that chaos leaves ten Lyapunov times, and not as in
        MDBench.
    lyapunov
        The largest Lyapunov exponent of a chaotic system, per unit of time; None for others.
    repeats
        Names of systems that it repeats, with other constants or in an extended form.
    tolerances
        The relative and the absolute tolerance of the solver; empty for the usual ones.
    exact_until
        The time up to which the samples from each start are those of the equations, to a hundredth
        of the states' deviations; later ones are the solver's.  Empty where all are.
    """

    name: str
    id: str
    title: str
    description: str
    source: str
    domain: str
    variables: Mapping[str, str]
    equations: tuple[str, ...]
    constants: Mapping[str, float]
    initial_conditions: tuple[tuple[float, ...], ...]
    end: float = T_END
    samples: int = N_POINTS
    accurate: bool = False
    lyapunov: float | None = None
    repeats: tuple[str, ...] = ()
    tolerances: tuple[float, ...] = ()
    exact_until: tuple[float, ...] = ()

    @property
    def solver(self) -> dict[str, Any]:
        """The solver and its tolerances, as SciPy's ``solve_ivp`` takes them."""
        usual = ACCURATE if self.accurate else SOLVER
        return usual | dict(zip(("rtol", "atol"), self.tolerances, strict=False))

    @property
    def dim(self) -> int:
        """The number of equations."""
        return len(self.equations)

    @cached_property
    def truth(self) -> tuple[str, ...]:
        """The right-hand sides with the constants put in, at full precision."""
        names = (*self.variables, *self.constants)
        return tuple(substitute(each, names, self.constants) for each in self.equations)

    @cached_property
    def form(self) -> str:
        """The form of the right-hand sides: the first of `FORMS` that one of them has."""
        return min((_form(text) for text in self.truth), key=FORMS.index)

    @property
    def recipe(self) -> str:
        """SHA-256 of all that decides the arrays of `integrate` for this system by default."""
        sampled = (self.solver, self.end, self.samples)
        decisive = (_REVISION, *sampled, self.truth, self.initial_conditions[0])
        return hashlib.sha256(repr(decisive).encode()).hexdigest()

    @cached_property
    def right_hand_side(self) -> RightHandSide:
        """The function (t, u) -> du, for one state (dim,) or for a series of them (dim, n)."""
        written = self.truth if self.accurate else _as_arranged_by_sympy(self)
        evaluate = compile_equations(written, tuple(self.variables), np)

        def right_hand_side(_t: float, u: Array) -> Array:
            du = np.empty_like(u)
            for i, value in enumerate(evaluate(*u)):
                du[i] = value
            return du

        return right_hand_side

    def __getstate__(self) -> dict[str, object]:
        # The compiled function cannot be pickled; it is made again where it is asked for.
        return {name: value for name, value in vars(self).items() if name != "right_hand_side"}


def _form(equation: str) -> str:
    with PARSER_LOCK:
        tree = ast.parse(equation, mode="eval")
    forms = {"polynomial"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            forms.add(_FORM_OF.get(node.func.id, "other"))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = node.right.value if isinstance(node.right, ast.Constant) else None
            if not (isinstance(exponent, int | float) and float(exponent).is_integer()):
                forms.add("other")
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and any(isinstance(below, ast.Name) for below in ast.walk(node.right))
        ):
            forms.add("rational")
    return min(forms, key=FORMS.index)


def read_system(path: Path) -> OdeSystem:
    """Read a system from its TOML file.

    Raises
    ------
    DataError
        If the file cannot be read, a key is missing or unknown, or a value is of the wrong kind; if
        an equation holds anything but arithmetic in the states, the constants and the functions
        of `mdbench.datatypes.equations.files`.
    """
    table = read_table(path)
    equations = texts(path, table, "equations")
    states = tuple(f"u{i}" for i in range(len(equations)))
    variables = texts(path, table, "variables")
    if tuple(equations) != tuple(f"{state}_t" for state in states) or tuple(variables) != states:
        raise DataError(
            f"{path}: [variables] has the keys {list(variables)}, [equations] {list(equations)}",
            "They have to be u0, u1, ... and u0_t, u1_t, ..., one equation a variable, in order.",
        )
    constants = constants_of(path, table)
    for key, equation in equations.items():
        try:
            parse(equation, (*states, *constants))
        except ValueError as error:
            raise DataError(f"{path}: {key} = {equation!r}: {error}") from error
    sampling, starts = _sampling(path, table), _initial_conditions(path, table, len(states))
    if "exact_until" in table:
        sampling["exact_until"] = _positive(path, table, "exact_until", len(starts))
    system = OdeSystem(
        name=unicodedata.normalize("NFC", path.stem),
        id=text(path, table, "id"),
        title=text(path, table, "title"),
        description=text(path, table, "description"),
        source=text(path, table, "source"),
        domain=text(path, table, "domain") if "domain" in table else "",
        variables=variables,
        equations=tuple(equations.values()),
        constants=constants,
        initial_conditions=starts,
        **sampling,
    )
    used = {word for each in equations.values() for word in _WORD.findall(each)} & {*FUNCTIONS}
    if not system.accurate and (others := sorted(used - ARRANGED)):
        raise DataError(
            f"{path}: the function {others[0]} is of systems with a time span of their own",
            "Give the keys end and samples.",
        )
    if table:
        raise DataError(f"{path}: unknown key {next(iter(table))!r}")
    return system


def _sampling(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Pop what is known of times and chaos; nothing where a system is sampled as ODEBench's."""
    settings: dict[str, Any] = {}
    if "end" in table or "samples" in table:
        end, samples = number(path, "end", pop(path, table, "end")), pop(path, table, "samples")
        if end <= 0:
            raise DataError(f"{path}: end = {end:g} has to be above 0")
        if isinstance(samples, bool) or not isinstance(samples, int):
            raise DataError(f"{path}: samples = {samples!r} has to be a whole number")
        if not MIN_SAMPLES <= samples <= _MOST_SAMPLES:
            raise DataError(
                f"{path}: samples = {samples}", f"It is from {MIN_SAMPLES} to {_MOST_SAMPLES:,}."
            )
        settings = {"end": end, "samples": samples, "accurate": True}
        if "tolerances" in table:
            settings["tolerances"] = _positive(path, table, "tolerances", 2)
    if "lyapunov" in table:
        settings["lyapunov"] = number(path, "lyapunov", table.pop("lyapunov"))
        if settings["lyapunov"] <= 0:
            raise DataError(
                f"{path}: lyapunov = {settings['lyapunov']:g}",
                "It is above 0; leave it out for a system that is not chaotic.",
            )
    repeats = table.pop("repeats", [])
    if not isinstance(repeats, list) or not all(isinstance(each, str) for each in repeats):
        raise DataError(f"{path}: repeats = {repeats!r} has to be a list of names")
    return settings | {"repeats": tuple(repeats)}


def _positive(path: Path, table: dict[str, Any], key: str, count: int) -> tuple[float, ...]:
    """Pop a list of so many positive numbers."""
    values = table.pop(key)
    if not isinstance(values, list) or len(values) != count:
        raise DataError(f"{path}: {key} = {values!r}", f"It has to be a list of {count} numbers.")
    numbers = tuple(number(path, key, value) for value in values)
    if min(numbers) <= 0:
        raise DataError(f"{path}: {key} = {values!r}", "The numbers have to be above 0.")
    return numbers


def integrate(
    system: OdeSystem,
    initial_condition: Sequence[float] | None = None,
    times: Array | None = None,
    *,
    evaluations: int = 1_000_000,
    **solver: float,
) -> tuple[Array, Array, Array]:
    """Integrate a system, and evaluate its right-hand sides on the solution.

    The solver is SciPy's LSODA with rtol 1e-5, atol 1e-7, a first step of 1e-6 and no step below
    1e-10, as in MDBench (Ziaei Bideh et al., AAAI 2026); for systems with a time span of their own
    they are 1e-9 and 1e-11.

    Parameters
    ----------
    system
        The system.
    initial_condition
        Where to start, of length `system.dim`; by default the first of the system's own.
    times
        Increasing times from 0 to the system's end at the most, (samples,).  By default equidistant
        ones, both included; 150 to 10 where the system has no time span of its own.
    evaluations
        How often the right-hand sides may be evaluated.
    **solver
        Settings of the solver in the place of the system's own.

    Returns
    -------
    t : (samples,)
        The times.
    u, du : (samples, dim)
        The solution and its derivatives, in Fortran order.

    Raises
    ------
    DataError
        If the solution does not reach the end with so many evaluations, or leaves the domain of the
        equations.
    """
    from scipy.integrate import solve_ivp  # noqa: PLC0415 - a second that cached data do not need

    start = system.initial_conditions[0] if initial_condition is None else initial_condition
    failure = f"{system.name} cannot be integrated from {list(start)} to t = {system.end:g}"
    derivatives, used = system.right_hand_side, itertools.count(1)

    def right_hand_side(t: float, u: Array) -> Array:
        if next(used) > evaluations:  # a solution may become infinite within the time span
            raise DataError(f"{failure}: at t = {t:g} there were {evaluations:,} evaluations")
        du = derivatives(t, u)
        if not np.isfinite(du).all():  # LSODA would never come back
            raise DataError(f"{failure}: at t = {t:g}, u = {u.tolist()}, du is {du.tolist()}")
        return du

    t = np.linspace(0.0, system.end, system.samples) if times is None else times
    with np.errstate(all="ignore"):
        solution = solve_ivp(
            right_hand_side, (0.0, system.end), start, t_eval=t, **{**system.solver, **solver}
        )
    if not solution.success:
        raise DataError(f"{failure}: {solution.message}")
    u = solution.y
    return t, u.T, derivatives(0.0, u).T


def _as_arranged_by_sympy(system: OdeSystem) -> list[str]:
    """Write the right-hand sides, constants put in, in SymPy's order of operations.

    The published trajectories come from expressions that SymPy had arranged.  Another order
    differs in the last bit, but this can flip a decision of the step-size control, and then the
    chaotic systems differ by 1e-2 at t = 10.
    """
    with PARSER_LOCK:  # importing SymPy parses text
        import sympy  # noqa: PLC0415 - half a second that cached data do not need

    symbols = {name: sympy.Symbol(name) for name in (*system.variables, *system.constants)}
    expressions = compile_equations(system.equations, tuple(symbols), sympy)(*symbols.values())
    values = {symbols[name]: sympy.Float(value) for name, value in system.constants.items()}
    arranged = [sympy.sympify(expression).xreplace(values) for expression in expressions]
    with PARSER_LOCK:  # its first use imports SymPy's printers
        return [sympy.pycode(each, fully_qualified_modules=False) for each in arranged]


def _initial_conditions(
    path: Path, table: dict[str, Any], dim: int
) -> tuple[tuple[float, ...], ...]:
    key = "initial_conditions"
    conditions = pop(path, table, key)
    if not (
        isinstance(conditions, list)
        and conditions
        and all(isinstance(condition, list) and len(condition) == dim for condition in conditions)
    ):
        raise DataError(
            f"{path}: {key} = {conditions!r}", f"It has to be a list of lists of {dim}."
        )
    return tuple(tuple(number(path, key, value) for value in condition) for condition in conditions)
