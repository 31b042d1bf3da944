"""Untrusted Python text, read into formulas without running any of it.

What is read: one function, or one class with ``forward``, of assignments to plain names and one
``return``; arithmetic; and the functions below, of NumPy, PyTorch or ``math``.  All else is
refused with the reason: loops, branches, other imports, attributes, subscripts and calls.  Python
itself only parses the text; the formulas are made of what is recognised in the tree.
"""

from __future__ import annotations

import ast
import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from formula_graphs import GraphNode, ProgramError, number, parameter, variable
from program_functions import CALLS, PLAIN_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["MAX_PARAMETERS", "ReadProgram", "formula_of", "read_class", "read_function"]

LONGEST = 20_000
"""Characters of a text that is looked at."""
MAX_PARAMETERS = 40
"""Parameters of one program, whatever a method allows."""
_MODULES = {"np", "numpy", "math", "torch"}
_NUMBERS = {"pi": math.pi, "e": math.e, "tau": 2 * math.pi}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}

_Nodes = tuple[GraphNode, ...]


_GATHERING = {"array", "stack", "column_stack", "vstack", "hstack", "cat", "concatenate"}
"""Functions that put several outputs together, which is done in any case."""


_WRAPPERS = {"Parameter", "tensor", "as_tensor", "FloatTensor", "DoubleTensor", "float"}
"""Functions that may be around the number of a parameter."""


@dataclass(frozen=True)
class ReadProgram:
    """Formulas and parameters that were read from a program.

    Attributes
    ----------
    roots
        A formula for each output.
    start
        First values of the parameters, where the program gives them; else empty.
    names
        Names of the parameters, where it gives them.
    text
        The program as it would be printed, without comments.
    """

    roots: tuple[GraphNode, ...]
    start: tuple[float, ...]
    names: tuple[str, ...]
    text: str


@contextmanager
def _not_too_deep() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise ProgramError("the code is nested too deep") from None


def parsed(text: str) -> ast.Module:
    """Parse a text.

    Raises
    ------
    ProgramError
        If it is too long, or not Python.
    """
    if len(text) > LONGEST:
        raise ProgramError(f"the code has {len(text)} characters; {LONGEST} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = str(error)[:80] or "it is nested too deep"
        raise ProgramError(f"the code is not Python: {why}") from None


def read_function(
    text: str, variables: Sequence[str], outputs: int, *, parameters: int, name: str | None = None
) -> ReadProgram:
    """Read a function of the variables and ``params``.

    Parameters
    ----------
    text
        Python with at least one function.
    variables
        The names of the columns, which are those of its arguments; other names mean the
        columns in their order if there are as many.
    outputs
        Number of formulas that it returns.
    parameters
        ``params`` has so many.
    name
        Name of the function; by default the last one.

    Raises
    ------
    ProgramError
        If there is none, or it does what is not allowed.
    """
    found: ast.FunctionDef | None = None
    for statement in parsed(text).body:
        if isinstance(statement, ast.FunctionDef):
            if name is None or statement.name == name or found is None:
                found = statement
        else:
            _check_statement(statement)
    if found is None:
        raise ProgramError("there is no function in the code")
    given = found.args.args
    last = given[-1].arg if given else ""
    if len(given) == 1 + len(variables) and last not in {*variables, "params"}:
        given[-1].arg = "params"
        with _not_too_deep():
            _Renaming(last, "params").visit(found)
    names: dict[str, _Nodes] = _arguments(found, variables, leave_out={"params"})
    names["params"] = tuple(parameter(index) for index in range(parameters))
    with _not_too_deep():
        roots = _Reader(names, {}).outputs(found.body, outputs)
        found.body = [each for each in found.body if not _is_text(each)]
        return ReadProgram(roots, (), (), ast.unparse(found))


def read_class(text: str, variables: Sequence[str], outputs: int) -> ReadProgram:
    """Read a module of PyTorch's kind: numbers that ``__init__`` sets are its parameters.

    Parameters
    ----------
    text
        Python with a class that has the methods ``__init__`` and ``forward``.
    variables, outputs
        As for `read_function`.

    Raises
    ------
    ProgramError
        If there is none, a parameter is no single number, or it does what is not allowed.
    """
    found: ast.ClassDef | None = None
    for statement in parsed(text).body:
        if isinstance(statement, ast.ClassDef):
            found = statement
        else:
            _check_statement(statement)
    if found is None:
        raise ProgramError("there is no class in the code")
    methods = {each.name: each for each in found.body if isinstance(each, ast.FunctionDef)}
    for other in found.body:
        if not isinstance(other, ast.FunctionDef):
            _check_statement(other)
    if "forward" not in methods:
        raise ProgramError(f"the class {found.name[:40]} has no method forward")
    with _not_too_deep():
        start = _trainable(methods["__init__"]) if "__init__" in methods else {}
    if len(start) > MAX_PARAMETERS:
        raise ProgramError(f"{len(start)} parameters are more than {MAX_PARAMETERS}")
    forward = methods["forward"]
    names = _arguments(forward, variables, leave_out={"self"})
    own = {name: parameter(index) for index, name in enumerate(start)}
    with _not_too_deep():
        roots = _Reader(names, own).outputs(forward.body, outputs)
        return ReadProgram(roots, tuple(start.values()), tuple(start), ast.unparse(found))


def formula_of(text: str, names: Mapping[str, GraphNode]) -> GraphNode:
    """Read one expression in these names.

    Raises
    ------
    ProgramError
        If it is none.
    """
    body = parsed(text.strip()).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ProgramError(f"{text[:60]!r} is no expression")
    with _not_too_deep():
        return _Reader({name: (node,) for name, node in names.items()}, {}).one(body[0].value)


def _check_statement(statement: ast.stmt) -> None:
    """Accept imports of known modules, and texts; refuse all else."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and not statement.level:
        names = [str(statement.module)]
    elif _is_text(statement) or isinstance(statement, ast.Pass):
        return
    else:
        raise ProgramError(f"{_shown(statement)!r} is not allowed in the code")
    wrong = [name for name in names if name.partition(".")[0] not in _MODULES]
    if wrong:
        raise ProgramError(f"the import of {wrong[0][:40]!r} is forbidden")


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _shown(node: ast.AST) -> str:
    try:
        return ast.unparse(node).partition("\n")[0][:60]
    except (RecursionError, ValueError):
        return type(node).__name__


def _arguments(
    function: ast.FunctionDef, variables: Sequence[str], leave_out: set[str]
) -> dict[str, _Nodes]:
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or function.decorator_list:
        raise ProgramError("the function has arguments or decorators of another kind")
    names = [each.arg for each in (*given.posonlyargs, *given.args) if each.arg not in leave_out]
    if all(name in variables for name in names):
        return {name: (variable(list(variables).index(name)),) for name in names}
    if len(names) != len(variables):
        raise ProgramError(
            f"its arguments are {', '.join(names)[:80]}; the variables are {', '.join(variables)}"
        )
    return {name: (variable(column),) for column, name in enumerate(names)}


def _trainable(function: ast.FunctionDef) -> dict[str, float]:
    """Return what ``__init__`` sets on ``self``: single numbers, by name."""
    arguments = function.args.args[1:]
    defaults = function.args.defaults
    known = {
        argument.arg: _single(default, {})
        for argument, default in zip(
            arguments[len(arguments) - len(defaults) :], defaults, strict=True
        )
    }
    if len(defaults) < len(arguments):
        raise ProgramError("an argument of __init__ has no default")
    found: dict[str, float] = {}
    for statement in function.body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(), attr="__init__"))):
                continue
            case (
                ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
                )
                | ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id="self"), attr=name),
                    value=ast.expr() as value,
                )
            ):
                found[name] = _single(value, known)
            case _ if _is_text(statement) or isinstance(statement, ast.Pass):
                continue
            case _:
                raise ProgramError(f"{_shown(statement)!r} is not allowed in __init__")
    return found


def _single(node: ast.expr, known: Mapping[str, float]) -> float:
    """Take the number out of ``nn.Parameter(torch.tensor([1.0]))``."""
    match node:
        case (
            ast.Call(func=ast.Attribute(attr=name), args=[inner])
            | ast.Call(func=ast.Name(id=name), args=[inner])
        ) if name in _WRAPPERS:
            found = _single(inner, known)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="ones" | "zeros" as name),
            args=[] | [ast.Constant(value=1)] | [ast.Tuple(elts=[])],
        ):
            found = float(name == "ones")
        case ast.List(elts=[inner]):
            found = _single(inner, known)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = -_single(inner, known)
        case ast.Name(id=name) if name in known:
            found = known[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            found = _finite(value)
        case _:
            raise ProgramError(f"the parameter {_shown(node)!r} is no single number")
    return found


def _finite(value: float) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ProgramError("a number in it is not finite")
    return found


class _Renaming(ast.NodeTransformer):
    """Renames a name: models call ``params`` by other names."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename."""
        if node.id == self.old:
            node.id = self.new
        return node


class _Reader:
    """Follows the statements of one function; what is named may be several formulas."""

    def __init__(self, names: Mapping[str, _Nodes], own: Mapping[str, GraphNode]) -> None:
        self.names = dict(names)
        self.own = own

    def outputs(self, body: Sequence[ast.stmt], count: int) -> tuple[GraphNode, ...]:
        """Follow a function's body to its ``return``.

        Raises
        ------
        ProgramError
            If it is no straight line of assignments, or returns another number of formulas.
        """
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    found = self.several(value)
                    if len(found) != count:
                        raise ProgramError(f"it returns {len(found)} formulas; {count} are wanted")
                    return found
                case ast.Assign(targets=targets, value=value):
                    found = self.several(value)
                    for target in targets:
                        self.assign(target, found)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, self.several(value))
                case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                    if name not in self.names or type(operator) not in _OPERATORS:
                        raise ProgramError(f"{_shown(statement)!r} has no meaning here")
                    parts = (self.single(self.names[name]), self.one(value))
                    self.names[name] = (GraphNode(_OPERATORS[type(operator)], parts),)
                case _:
                    _check_statement(statement)
        raise ProgramError("the function returns nothing")

    def assign(self, target: ast.expr, found: _Nodes) -> None:
        """Name a formula, or each of several."""
        if isinstance(target, ast.Name):
            self.names[target.id] = found
            return
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(found):
            raise ProgramError(f"something is assigned to {_shown(target)!r}")
        for each, value in zip(target.elts, found, strict=True):
            self.assign(each, (value,))

    def several(self, node: ast.expr) -> _Nodes:
        """Read what may be several formulas."""
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.one(part) for part in parts)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=module), attr=name), args=[inner]
            ) if module in _MODULES and name in _GATHERING:
                return self.several(inner)
            case ast.Subscript(value=ast.Name(id="params"), slice=ast.Slice(step=None) as part):
                found = self.names.get("params", ())
                low, high = self.bound(part.lower, 0), self.bound(part.upper, len(found))
                return found[low:high]
            case _:
                return (self.one(node),)

    @staticmethod
    def bound(node: ast.expr | None, default: int) -> int:
        """Read the end of a slice."""
        if node is None:
            return default
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        raise ProgramError("params is cut at what is no whole number")

    @staticmethod
    def single(found: _Nodes) -> GraphNode:
        """Take the only one of several."""
        if len(found) != 1:
            raise ProgramError("several formulas stand where there can be one")
        return found[0]

    def one(self, node: ast.expr) -> GraphNode:
        """Read an expression."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return GraphNode("neg", (self.one(operand),))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.one(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                parts = self.one(left), self.one(right)
                return GraphNode(_OPERATORS[type(operator)], parts)
            case ast.Call():
                return self.call(node)
        found = self.leaf(node)
        if found is None:
            raise ProgramError(f"{_shown(node)!r} is not allowed")
        return found

    def leaf(self, node: ast.expr) -> GraphNode | None:
        """Read a number, a name or a parameter; None for anything else."""
        found = None
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                found = number(_finite(value))
            case ast.Name(id=name) if name in self.names:
                found = self.single(self.names[name])
            case ast.Name(id="pi" | "e" as name):
                found = number(_NUMBERS[name])
            case ast.Name(id=name):
                raise ProgramError(f"the name {name[:40]!r} is not known")
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.own:
                found = self.own[name]
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                module in _MODULES and name in _NUMBERS
            ):
                found = number(_NUMBERS[name])
            case ast.Subscript(value=ast.Name(id="params"), slice=ast.Constant(value=index)):
                given = self.names.get("params", ())
                if type(index) is not int or not 0 <= index < len(given):
                    raise ProgramError(f"there are params[0] to params[{len(given) - 1}]")
                found = given[index]
        return found

    def call(self, node: ast.Call) -> GraphNode:
        """Read a call of what is on the lists."""
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
                known = CALLS
            case ast.Name(id=name):
                known = CALLS | PLAIN_CALLS
            case _:
                raise ProgramError(f"the call {_shown(node)!r} is not allowed")
        key = name, len(node.args)
        if node.keywords or key not in known:
            raise ProgramError(f"the call {_shown(node)!r} is not allowed")
        return known[key](*(self.one(argument) for argument in node.args))
