"""Systems of ordinary differential equations: reading them and integrating them.

A system is a TOML file; ``docs/datasets.md`` describes it.  Its equations are text in the states
``u0``, ``u1``, ... and in named constants, and pass a whitelist before they are evaluated.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import ModuleType

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    RightHandSide = Callable[[float, Array], Array]

__all__ = ["System", "integrate", "read_system"]

T_END = 10.0
N_POINTS = 150

_SOLVER: dict[str, Any] = {
    "method": "LSODA",
    "rtol": 1e-5,
    "atol": 1e-7,
    "first_step": 1e-6,
    "min_step": 1e-10,
}
_REVISION = 1
"""To be raised whenever a change to this module changes the arrays that it makes."""

_FUNCTIONS = ("abs", "cos", "cot", "exp", "log", "sin", "tan")
_NODES = (
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
    *(ast.UnaryOp, ast.UAdd, ast.USub),
    *(ast.Call, ast.Name, ast.Load, ast.Constant),
)


@dataclass(frozen=True)
class System:
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

    @property
    def dim(self) -> int:
        """The number of equations."""
        return len(self.equations)

    @cached_property
    def truth(self) -> tuple[str, ...]:
        """The right-hand sides with the constants put in, at full precision."""
        put_in = _PutIn(self.constants)
        names = (*self.variables, *self.constants)
        return tuple(ast.unparse(put_in.visit(_parse(text, names))) for text in self.equations)

    @property
    def recipe(self) -> str:
        """SHA-256 of all that decides what `integrate` makes of this system by default."""
        decisive = (_REVISION, _SOLVER, T_END, N_POINTS, self.truth, self.initial_conditions[0])
        return hashlib.sha256(repr(decisive).encode()).hexdigest()

    @cached_property
    def right_hand_side(self) -> RightHandSide:
        """The function (t, u) -> du, for one state (dim,) or for a series of them (dim, n)."""
        evaluate = _compile(_as_arranged_by_sympy(self), tuple(self.variables), np)

        def right_hand_side(_t: float, u: Array) -> Array:
            du = np.empty_like(u)
            for i, value in enumerate(evaluate(*u)):
                du[i] = value
            return du

        return right_hand_side


def read_system(path: Path) -> System:
    """Read a system from its TOML file.

    Raises
    ------
    DataError
        If the file cannot be read, a key is missing or unknown, a value is of the wrong kind, or
        an equation holds anything but arithmetic in the states, the constants and the functions
        abs, cos, cot, exp, log, sin and tan.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error
    equations = _texts(path, table, "equations")
    states = tuple(f"u{i}" for i in range(len(equations)))
    variables = _texts(path, table, "variables")
    if tuple(equations) != tuple(f"{state}_t" for state in states) or tuple(variables) != states:
        raise DataError(
            f"{path}: [variables] has the keys {list(variables)}, [equations] {list(equations)}",
            "They have to be u0, u1, ... and u0_t, u1_t, ..., one equation a variable, in order.",
        )
    constants = _constants(path, table)
    for key, text in equations.items():
        try:
            _parse(text, (*states, *constants))
        except ValueError as error:
            raise DataError(f"{path}: {key} = {text!r}: {error}") from error
    system = System(
        name=unicodedata.normalize("NFC", path.stem),
        id=_text(path, table, "id"),
        title=_text(path, table, "title"),
        description=_text(path, table, "description"),
        source=_text(path, table, "source"),
        domain=_text(path, table, "domain") if "domain" in table else "",
        variables=variables,
        equations=tuple(equations.values()),
        constants=constants,
        initial_conditions=_initial_conditions(path, table, len(states)),
    )
    if table:
        raise DataError(f"{path}: unknown key {next(iter(table))!r}")
    return system


def integrate(
    system: System, initial_condition: Sequence[float] | None = None
) -> tuple[Array, Array, Array]:
    """Integrate a system, and evaluate its right-hand sides on the solution.

    The solver is SciPy's LSODA with rtol 1e-5, atol 1e-7, a first step of 1e-6 and no step below
    1e-10, as in MDBench (Ziaei Bideh et al., AAAI 2026).

    Parameters
    ----------
    system
        The system.
    initial_condition
        Where to start, of length `system.dim`; by default the first of the system's own.

    Returns
    -------
    t : (150,)
        Equidistant times from 0 to 10, both included.
    u, du : (150, dim)
        The solution and its derivatives, in Fortran order.

    Raises
    ------
    DataError
        If the solution does not reach the end, or leaves the domain of the equations.
    """
    from scipy.integrate import solve_ivp  # noqa: PLC0415 - a second that cached data do not need

    start = system.initial_conditions[0] if initial_condition is None else initial_condition
    failure = f"{system.name} cannot be integrated from {list(start)} to t = {T_END:g}"
    derivatives = system.right_hand_side

    def right_hand_side(t: float, u: Array) -> Array:
        du = derivatives(t, u)
        if not np.isfinite(du).all():  # LSODA would never come back
            raise DataError(f"{failure}: at t = {t:g}, u = {u.tolist()}, du is {du.tolist()}")
        return du

    t = np.linspace(0.0, T_END, N_POINTS)
    with np.errstate(all="ignore"):
        solution = solve_ivp(right_hand_side, (0.0, T_END), start, t_eval=t, **_SOLVER)
    if not solution.success:
        raise DataError(f"{failure}: {solution.message}")
    u = solution.y
    return t, u.T, derivatives(0.0, u).T


def _as_arranged_by_sympy(system: System) -> list[str]:
    """Write the right-hand sides, constants put in, in SymPy's order of operations.

    The published trajectories come from expressions that SymPy had arranged.  Another order
    differs in the last bit, but this can flip a decision of the step-size control, and then the
    chaotic systems differ by 1e-2 at t = 10.
    """
    import sympy  # noqa: PLC0415 - half a second that cached data do not need

    symbols = {name: sympy.Symbol(name) for name in (*system.variables, *system.constants)}
    expressions = _compile(system.equations, tuple(symbols), sympy)(*symbols.values())
    values = {symbols[name]: sympy.Float(value) for name, value in system.constants.items()}
    arranged = [sympy.sympify(expression).xreplace(values) for expression in expressions]
    return [sympy.pycode(expression, fully_qualified_modules=False) for expression in arranged]


def _compile(
    equations: Iterable[str], names: Sequence[str], module: ModuleType
) -> Callable[..., tuple[Any, ...]]:
    """Make a function of the named quantities that gives the value of each equation."""
    function = ast.parse(f"lambda {', '.join(names)}: ()", mode="eval")
    values = cast("ast.Tuple", cast("ast.Lambda", function.body).body)
    values.elts = [_parse(text, names) for text in equations]
    code = compile(ast.fix_missing_locations(function), "<equations>", "eval")
    functions = {name: getattr(module, name) for name in _FUNCTIONS if hasattr(module, name)}
    scope = {"__builtins__": {}} | functions | {"abs": abs}
    return cast("Callable[..., tuple[Any, ...]]", eval(code, scope))  # noqa: S307 - whitelisted


def _parse(text: str, names: Iterable[str]) -> ast.expr:
    """Parse an equation; a ValueError says what in it is not allowed."""
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"is no expression ({error.msg})") from error
    called = {node.func for node in ast.walk(expression) if isinstance(node, ast.Call)}
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in _FUNCTIONS:
                fault = ""
            case ast.Name(id=name):
                fault = "" if name in names or node in called else "there is no such name"
            case ast.Call():
                fault = f"the functions are {', '.join(_FUNCTIONS)}, each of one argument"
            case ast.Constant(value=value):
                fault = "" if type(value) in {int, float} else "this is no number"
            case _:
                fault = "" if isinstance(node, _NODES) else "this is not allowed"
        if fault:
            raise ValueError(f"{ast.unparse(node)!r}: {fault}")
    return expression


class _PutIn(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.values:
            return node
        value = self.values[node.id]
        size = ast.Constant(abs(value))
        # A negative constant has to be a sign and a number, for `unparse` to put brackets.
        return size if math.copysign(1.0, value) > 0 else ast.UnaryOp(ast.USub(), size)


def _pop(path: Path, table: dict[str, Any], key: str) -> Any:
    try:
        return table.pop(key)
    except KeyError:
        raise DataError(f"{path}: key {key!r} is missing") from None


def _text(path: Path, table: dict[str, Any], key: str) -> str:
    value = _pop(path, table, key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{path}: {key} = {value!r} has to be a text")
    return value


def _texts(path: Path, table: dict[str, Any], key: str) -> dict[str, str]:
    value = _pop(path, table, key)
    if not isinstance(value, dict) or not value:
        raise DataError(f"{path}: {key} = {value!r} has to be a table")
    return {name: _text(path, value, name) for name in tuple(value)}


def _number(path: Path, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{path}: {key} = {value!r} has to be a finite number")
    return float(value)


def _constants(path: Path, table: dict[str, Any]) -> dict[str, float]:
    given = table.pop("constants", {})
    if not isinstance(given, dict):
        raise DataError(f"{path}: constants = {given!r} has to be a table")
    constants = {}
    for name, entry in given.items():
        if name in _FUNCTIONS or not re.fullmatch(r"(?!u\d)[A-Za-z]\w*", name, re.ASCII):
            raise DataError(f"{path}: constants.{name} cannot be the name of a constant")
        if not isinstance(entry, dict) or set(entry) != {"value", "meaning"}:
            raise DataError(
                f"{path}: constants.{name} = {entry!r}",
                "It has to have the keys value and meaning.",
            )
        constants[name] = _number(path, f"constants.{name}.value", entry["value"])
    return constants


def _initial_conditions(
    path: Path, table: dict[str, Any], dim: int
) -> tuple[tuple[float, ...], ...]:
    key = "initial_conditions"
    given = _pop(path, table, key)
    if not (
        isinstance(given, list)
        and given
        and all(isinstance(condition, list) and len(condition) == dim for condition in given)
    ):
        raise DataError(f"{path}: {key} = {given!r}", f"It has to be a list of lists of {dim}.")
    return tuple(tuple(_number(path, key, value) for value in condition) for condition in given)
