"""Files of sampled systems: by their names, in order, and with fingerprints."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import math
import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.readers import description_of, ending_of, endings, stem_of
from mdbench.datatypes.facts import FRESH, SUITE_FILE, sorted_heads
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.installation import page
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from numpy.typing import NDArray

    from mdbench.data.readers import View

    Array = NDArray[np.float64]

_T = TypeVar("_T")

_IN_PYTHON = (
    "Where Python reads the file, give what it reads: mdbench.run(..., data=table) "
    f"({page('datasets')})."
)


def find_files(
    path: Path, view: View, hint: str
) -> tuple[dict[str, Path], dict[tuple[str, float], Path]]:
    """Find the datasets in a file, or in a folder and the folders in it.

    A name that ends in ``_snr_40`` and the like is a noisy version of that dataset.

    Parameters
    ----------
    view
        What is read from the files.
    hint
        What to give instead, where there are none.

    Returns
    -------
    clean
        The files by the names of their datasets.
    noisy
        The files of noisy versions, by name and dB.

    Raises
    ------
    DataError
        If there is nothing, if two files have the same name, or if a noisy version has a TOML file.
    """
    known = endings(view, in_folders=path.is_dir())

    def is_data(file: Path) -> bool:
        hidden = file.name.startswith(".")
        return ending_of(file) in known and file.is_file() and not hidden

    if path.is_dir():
        files = [file for file in (*path.glob("*"), *path.glob("*/*")) if is_data(file)]
    elif path.exists():
        files = [path] if is_data(path) else []
    else:
        raise DataError(f"There is nothing at {path}.", hint)
    if not files:
        raise _no_data(path, known, hint)
    clean: dict[str, Path] = {}
    noisy: dict[tuple[str, float], Path] = {}
    stems = {(file.parent, stem_of(file)) for file in files}
    for file in sorted(files):
        level = re.fullmatch(r"(.+)_snr_(-?\d+(\.\d+)?)", stem_of(file))
        if level and (file.parent, level[1]) in stems:
            if (described := description_of(file)).exists():
                raise DataError(
                    f"{described} describes a noisy version; it would not be read.",
                    f"Write it in {level[1]}.toml, which counts for all versions.",
                )
            noisy[unicodedata.normalize("NFC", level[1]), float(level[2])] = file
            continue
        name = unicodedata.normalize("NFC", stem_of(file))
        if name in clean:
            raise DataError(
                f"{clean[name]} and {file} have the same name.",
                "The name is that of the dataset; rename one of them.",
            )
        clean[name] = file
    return clean, noisy


def _no_data(path: Path, known: tuple[str, ...], hint: str) -> DataError:
    read = " or ".join(sorted(known))
    if path.is_dir():
        return DataError(f"{path} has no files that end in {read}.", hint)
    ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
    return DataError(
        f"{path} {ending}; files with data of this type end in {read}.", f"{hint}  {_IN_PYTHON}"
    )


class SystemFiles(Mapping[str, _T]):
    """The systems in some files by name and in order; each is read on first use.

    Parameters
    ----------
    files
        TOML files.
    read
        Reads a system from its file.
    order
        As that of `TypeFacts`; where the heads of the files are not enough for it, all are read.
    """

    def __init__(
        self,
        files: Iterable[Path],
        read: Callable[[Path], _T],
        order: Callable[[str, Mapping[str, Any]], tuple[Any, ...]] | None,
    ) -> None:
        self._files = {unicodedata.normalize("NFC", file.stem): file for file in files}
        self._read = read
        self._order = order or (lambda name, _: (name,))
        self._known: dict[str, _T] = {}

    @cached_property
    def heads(self) -> Mapping[str, Mapping[str, Any]]:
        """The keys above the first table of each file, by the names of the systems."""
        heads = sorted_heads(self._files.values(), self._order)
        if heads is None:
            whole = {name: vars(self[name]) for name in self._files}
            heads = {n: whole[n] for n in sorted(whole, key=lambda n: self._order(n, whole[n]))}
        return heads

    @property
    def unordered(self) -> Collection[str]:
        """The names, for which no file is opened."""
        return self._files.keys()

    def __getitem__(self, name: str) -> _T:
        if name not in self._known:
            self._known[name] = self._read(self._files[name])
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self.heads)

    def __len__(self) -> int:
        return len(self._files)

    def groups(self, key: str) -> dict[str, list[str]]:
        """Return the names of the systems by a value in the heads of their files."""
        groups: dict[str, list[str]] = {}
        for name, head in self.heads.items():
            groups.setdefault(head[key], []).append(name)
        return groups


class Suites(Mapping[str, _T]):
    """The systems of a folder, and of the folders in it; each of these folders is a suite.

    Iteration goes over all of them: those of the folder itself first, then suite by suite.

    Parameters
    ----------
    folder
        The folder of a data type; or one file, which is all there is.
    read, order
        As those of `SystemFiles`.

    Raises
    ------
    DataError
        If a name is there twice.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[Path], _T],
        order: Callable[[str, Mapping[str, Any]], tuple[Any, ...]] | None,
    ) -> None:
        files = [folder] if folder.is_file() else sorted(folder.glob("*.toml"))
        self.own = SystemFiles(files, read, order)
        self.suites = {
            path.name: SystemFiles(systems, read, order)
            for path in sorted(folder.glob("*/"))
            if (systems := sorted({*path.glob("*.toml")} - {path / SUITE_FILE}))
        }
        self._suite_of = dict.fromkeys(self.own.unordered, self.own)
        for title, suite in self.suites.items():
            if twice := set(suite.unordered) & set(self._suite_of):
                raise DataError(f"{folder / title}: {min(twice)!r} is a system elsewhere, too")
            self._suite_of |= dict.fromkeys(suite.unordered, suite)

    @property
    def unordered(self) -> Collection[str]:
        """The names, for which no file is opened."""
        return self._suite_of.keys()

    def known(self) -> Iterator[_T]:
        """Return all systems that were not drawn by ``mdbench lab fresh``."""
        suites = [each for title, each in self.suites.items() if not title.startswith(FRESH)]
        for suite in (self.own, *suites):
            yield from (suite[name] for name in suite)

    def __getitem__(self, name: str) -> _T:
        return self._suite_of[name][name]

    def __contains__(self, name: object) -> bool:
        return name in self._suite_of

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for suite in self.suites.values():
            yield from suite

    def __len__(self) -> int:
        return len(self._suite_of)


def named(name: str, entries: Mapping[str, _T]) -> _T:
    """Return the entry of a dataset.

    Raises
    ------
    UsageError
        If there is none of this name; shows near names.
    """
    if name not in entries:
        raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, entries))
    return entries[name]


def suffix(snr_db: float | None) -> str:
    """Return the end of a file's name for a noise level."""
    return "" if snr_db is None else f"_snr_{snr_db:g}"


def fingerprint(arrays: Mapping[str, Array], snr_db: float | None, noise: str, seed: int) -> str:
    """Hash the values, shapes and types of all arrays, and where the noise comes from.

    Parameters
    ----------
    noise
        ``file``, or the protocol by which it was drawn.
    """
    sha256 = hashlib.sha256()
    for key, array in arrays.items():
        sha256.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        sha256.update(array.tobytes())
    if snr_db is not None:
        sha256.update(f"{noise} {snr_db:g} {seed if noise != 'file' else ''}".encode())
    return sha256.hexdigest()


def fresh_number(generator: np.random.Generator, low: float, high: float) -> str:
    """Draw a constant of two or three digits, log-uniform between two bounds; as text."""
    value = math.exp(generator.uniform(math.log(low), math.log(high)))
    return f"{float(f'{value:.{generator.integers(2, 4)}g}'):g}"


FUNCTIONS = (
    *("abs", "cos", "cosh", "cot", "exp", "log", "sign", "sin", "sinh", "sqrt", "tan", "tanh"),
    *("max", "min"),
)
_OF_TWO = frozenset({"max", "min"})
"""The functions of two arguments; all others have one."""
_NODES = (
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
    *(ast.UnaryOp, ast.UAdd, ast.USub),
    *(ast.Call, ast.Name, ast.Load, ast.Constant),
)


def read_table(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        return read_toml(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error


def parse(equation: str, names: Iterable[str]) -> ast.expr:
    """Parse an equation; raises a ValueError that names what is not allowed."""
    try:
        expression = _tree(equation.strip()).body
    except SyntaxError as error:
        raise ValueError(f"is no expression ({error.msg})") from error
    called = {node.func for node in ast.walk(expression) if isinstance(node, ast.Call)}
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if (
                name in FUNCTIONS and len(given) == 1 + (name in _OF_TWO)
            ):
                fault = ""
            case ast.Name(id=name):
                fault = "" if name in names or node in called else "there is no such name"
            case ast.Call():
                fault = (
                    f"the functions are {', '.join(FUNCTIONS)}; the last two have two arguments, "
                    "all others one"
                )
            case ast.Constant(value=value):
                fault = "" if type(value) in {int, float} else "this is no number"
            case _:
                fault = "" if isinstance(node, _NODES) else "this is not allowed"
        if fault:
            raise ValueError(f"{ast.unparse(node)!r}: {fault}")
    return expression


def compile_equations(
    equations: Iterable[str], names: Sequence[str], module: ModuleType
) -> Callable[..., tuple[Any, ...]]:
    """Make a function of the named quantities that gives the value of each equation.

    Parameters
    ----------
    module
        The package whose functions are used: NumPy or SymPy.
    """
    with PARSER_LOCK:
        function = ast.parse(f"lambda {', '.join(names)}: ()", mode="eval")
    values = cast("ast.Tuple", cast("ast.Lambda", function.body).body)
    values.elts = [parse(each, names) for each in equations]
    with PARSER_LOCK:
        code = compile(ast.fix_missing_locations(function), "<equations>", "eval")
    functions = {name: getattr(module, name) for name in FUNCTIONS if hasattr(module, name)}
    if module is np:
        functions |= {"cot": lambda x: 1.0 / np.tan(x), "max": np.maximum, "min": np.minimum}
    scope = {"__builtins__": {}} | functions | {"abs": abs}
    return cast("Callable[..., tuple[Any, ...]]", eval(code, scope))  # noqa: S307 - whitelisted


def substitute(equation: str, names: Iterable[str], values: Mapping[str, float]) -> str:
    """Substitute values for names, at full precision."""
    return ast.unparse(_Substitution(values).visit(parse(equation, names)))


def without(equation: str, names: Collection[str]) -> str:
    """Write an equation without the terms in which some quantities are factors.

    Examples
    --------
    >>> without("2 * (u_x + u_z) - u_z * v + v", ["u_z"])
    '2 * u_x + v'
    """
    tree = _RemoveFactors(names).visit(_tree(equation).body)
    return "0" if tree is None else ast.unparse(tree)


def _tree(text: str) -> ast.Expression:
    with PARSER_LOCK:
        return ast.parse(text, mode="eval")


class _Substitution(ast.NodeTransformer):
    """Replaces names by values."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.values:
            return node
        value = self.values[node.id]
        size = ast.Constant(abs(value))
        # A negative constant has to be a sign and a number, for `unparse` to put brackets.
        return size if math.copysign(1.0, value) > 0 else ast.UnaryOp(ast.USub(), size)


class _RemoveFactors(ast.NodeTransformer):
    """Takes quantities out of sums and products; None is what is left of a term with one."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr | None:
        return None if node.id in self.names else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr | None:
        operand = self.visit(node.operand)
        return None if operand is None else ast.UnaryOp(node.op, operand)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if any(isinstance(each, ast.Name) and each.id in self.names for each in ast.walk(node)):
            raise ValueError(f"{ast.unparse(node)!r}: its argument cannot be left out")
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr | None:
        left, right = self.visit(node.left), self.visit(node.right)
        if left is not None and right is not None:
            return ast.BinOp(left, node.op, right)
        match node.op:
            case ast.Add() if right is not None:
                return cast("ast.expr", right)
            case ast.Sub() if right is not None:
                return ast.UnaryOp(ast.USub(), right)
            case ast.Add() | ast.Sub():
                return cast("ast.expr | None", left)
            case ast.Mult():
                return None
            case ast.Div() if right is not None:
                return None
            case _:
                raise ValueError(f"{ast.unparse(node)!r}: a part of it cannot be left out")


def pop(path: Path, table: dict[str, Any], key: str) -> Any:
    """Pop a key from a table; a DataError where it is missing."""
    try:
        return table.pop(key)
    except KeyError:
        raise DataError(f"{path}: key {key!r} is missing") from None


def text(path: Path, table: dict[str, Any], key: str) -> str:
    """Pop a text from a table; a DataError where it is none."""
    value = pop(path, table, key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{path}: {key} = {value!r} has to be a text")
    return value


def texts(path: Path, table: dict[str, Any], key: str) -> dict[str, str]:
    """Pop a table of texts from a table; a DataError where it is none."""
    value = pop(path, table, key)
    if not isinstance(value, dict) or not value:
        raise DataError(f"{path}: {key} = {value!r} has to be a table")
    return {name: text(path, value, name) for name in tuple(value)}


def number(path: Path, key: str, value: Any) -> float:
    """Return a finite number; a DataError where the value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{path}: {key} = {value!r} has to be a finite number")
    return float(value)


def constants_of(path: Path, table: dict[str, Any]) -> dict[str, float]:
    """Pop the table of constants from a system's file; a DataError where one is wrong."""
    entries = table.pop("constants", {})
    if not isinstance(entries, dict):
        raise DataError(f"{path}: constants = {entries!r} has to be a table")
    constants = {}
    for name, entry in entries.items():
        if name in FUNCTIONS or not re.fullmatch(r"(?!u\d)[A-Za-z]\w*", name, re.ASCII):
            raise DataError(f"{path}: constants.{name} cannot be the name of a constant")
        if not isinstance(entry, dict) or set(entry) != {"value", "meaning"}:
            raise DataError(
                f"{path}: constants.{name} = {entry!r}",
                "It has to have the keys value and meaning.",
            )
        constants[name] = number(path, f"constants.{name}.value", entry["value"])
    return constants


def write_table(file: IO[bytes], columns: Mapping[str, Array]) -> None:
    """Write columns as CSV, with names in the first line and all digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(np.column_stack([*columns.values()]).tolist())
    file.write(text.getvalue().encode())
