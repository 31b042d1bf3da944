"""Systems of partial differential equations: reading them and making their fields.

A system is a TOML file; ``docs/datasets.md`` describes it.  It names the generator that makes its
data, with the grid and the constants that the file gives.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.field import HIGHEST_ORDER
from mdbench.datatypes.equations.files import (
    constants_of,
    number,
    parse,
    pop,
    read_table,
    substitute,
    text,
    texts,
)
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

GENERATORS = (
    "advection",
    "advection_diffusion",
    "burgers",
    "channel",
    "cylinder_flow",
    "korteweg_de_vries",
    "kuramoto_sivashinsky",
    "laser",
    "periodic",
    "reaction_diffusion",
    "schroedinger",
    "soil",
)
"""The functions of `mdbench.datatypes.pde.generators`."""
_REVISION = 2
"""To be raised whenever a change to the generators changes the fields that they make."""
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Nodes:
    """Equidistant nodes of an axis, or times.

    Attributes
    ----------
    period
        Of a periodic axis, else None.
    """

    first: float
    last: float
    count: int
    period: float | None = None

    @property
    def values(self) -> Array:
        """The nodes, (count,)."""
        return np.linspace(self.first, self.last, self.count)

    @property
    def step(self) -> float:
        """The distance of neighbours."""
        return (self.last - self.first) / (self.count - 1)


@dataclass(frozen=True)
class PdeSystem:
    """Equations with their constants, and how their data are made.

    Attributes
    ----------
    name
        The name of its file without the ending, NFC-normalised.
    id
        Its label, such as ``P14``, which orders the runs.
    title, description, source
        Texts for people.
    initial, boundary
        The initial and the boundary conditions, in words.
    notes
        What one must know of the data.
    released
        In what the published files are wrong; ``--variant released`` gives them so.
    variables
        What each state means, by its name.
    equations
        The right-hand sides by left-hand side (``u0_t``): arithmetic in the states, their
        derivatives (``u0_xx``), the coordinates in `explicit` and the constants.  A state without
        one, such as a pressure, is known and not asked for.
    unseen
        The terms of the truth that cannot be seen in the data, by left-hand side and text:
        ``("u0_t", "u0 * u0_x")``.
    constants
        The value of each constant, by its name.
    explicit
        The coordinates that stand in the equations.
    axes
        The nodes along each axis in space, by name.
    times
        The times.
    generator
        One of `GENERATORS`.
    made_with
        The system whose generation makes this one, too; its own name for most.
    settings
        Further numbers that the generator needs.
    published
        Whether its data are made as the published ones were, slips of the method included.
    as_published
        The same system, made so; None where it is that itself.
    """

    name: str
    id: str
    title: str
    description: str
    source: str
    initial: str
    boundary: str
    notes: tuple[str, ...]
    released: tuple[str, ...]
    variables: Mapping[str, str]
    equations: Mapping[str, str]
    unseen: tuple[tuple[str, str], ...]
    constants: Mapping[str, float]
    explicit: tuple[str, ...]
    axes: Mapping[str, Nodes]
    times: Nodes
    generator: str
    made_with: str
    settings: Mapping[str, float]
    published: bool = False
    as_published: PdeSystem | None = None

    @property
    def dim(self) -> int:
        """The number of equations."""
        return len(self.equations)

    @property
    def targets(self) -> tuple[int, ...]:
        """The states that have an equation, by their numbers."""
        return tuple(i for i, name in enumerate(self.variables) if f"{name}_t" in self.equations)

    @property
    def size(self) -> int:
        """The number of entries of `u`."""
        return int(np.prod([nodes.count for nodes in self.axes.values()])) * (
            self.times.count * len(self.variables)
        )

    @cached_property
    def truth(self) -> tuple[str, ...]:
        """The right-hand sides with the constants put in, at full precision."""
        names = self._names()
        return tuple(substitute(each, names, self.constants) for each in self.equations.values())

    @property
    def recipe(self) -> str:
        """SHA-256 of all that decides the field that its generator makes of this system."""
        decisive = (
            _REVISION,
            self.published,
            self.generator,
            self.truth,
            sorted(self.constants.items()),
            list(self.axes.items()),
            self.times,
            sorted(self.settings.items()),
        )
        return hashlib.sha256(repr(decisive).encode()).hexdigest()

    def _names(self) -> tuple[str, ...]:
        derivatives = derivative_names(tuple(self.variables), tuple(self.axes))
        return (*self.variables, *derivatives, *self.explicit, *self.constants)


def derivative_names(variables: tuple[str, ...], axes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the derivatives in space: each variable's, by axis and then by order.

    Examples
    --------
    >>> derivative_names(("u0",), ("x", "y"))
    ('u0_x', 'u0_xx', 'u0_xxx', 'u0_xxxx', 'u0_y', 'u0_yy', 'u0_yyy', 'u0_yyyy')
    """
    return tuple(
        f"{variable}_{axis * order}"
        for variable in variables
        for axis in axes
        for order in range(1, HIGHEST_ORDER + 1)
    )


def read_system(path: Path) -> PdeSystem:
    """Read a system from its TOML file.

    Raises
    ------
    DataError
        If the file cannot be read, a key is missing or unknown, a value is of the wrong kind, or
        an equation holds anything but arithmetic in its quantities.
    """
    table = read_table(path)
    name = unicodedata.normalize("NFC", path.stem)
    equations = texts(path, table, "equations")
    variables = texts(path, table, "variables")
    names = tuple(f"u{i}" for i in range(len(variables)))
    with_equation = [name for name in names if f"{name}_t" in equations]
    if tuple(variables) != names or [f"{name}_t" for name in with_equation] != list(equations):
        raise DataError(
            f"{path}: [variables] has the keys {list(variables)}, [equations] {list(equations)}",
            "They have to be u0, u1, ... and u0_t, u1_t, ..., in order; only a variable that has "
            "no equation of its own, such as a pressure, may lack one.",
        )
    axes = _grid(path, pop(path, table, "grid"))
    times = axes.pop("t")
    identity = text(path, table, "id")
    if not re.fullmatch(r"[A-Z]+[0-9]+", identity):
        raise DataError(f"{path}: id = {identity!r} has to be letters and a number, such as P15")
    other = _table(path, "published", table.pop("published", {}))
    system = PdeSystem(
        name=name,
        id=identity,
        title=text(path, table, "title"),
        description=text(path, table, "description"),
        source=text(path, table, "source"),
        initial=text(path, table, "initial"),
        boundary=text(path, table, "boundary"),
        notes=_list(path, table, "notes"),
        released=_list(path, table, "released"),
        variables=variables,
        equations=equations,
        unseen=_unseen(path, table, equations),
        constants=constants_of(path, table),
        explicit=_list(path, table, "explicit"),
        axes=axes,
        times=times,
        generator=text(path, table, "generator"),
        made_with=text(path, table, "made_with") if "made_with" in table else name,
        settings=_settings(path, table),
    )
    if table:
        raise DataError(f"{path}: unknown key {next(iter(table))!r}")
    _check(path, system)
    return replace(system, as_published=_as_published(path, system, other))


def _as_published(path: Path, system: PdeSystem, table: dict[str, Any]) -> PdeSystem:
    """Put in what differs, and an equation ``0`` where a state has none."""
    variables = texts(path, table, "variables") if "variables" in table else system.variables
    equations = texts(path, table, "equations") if "equations" in table else system.equations
    constants = constants_of(path, table) if "constants" in table else system.constants
    grid = {**system.axes, "t": system.times} | _nodes_by_axis(path, table.pop("grid", {}))
    times = grid.pop("t")
    settings = {**system.settings, **_settings(path, table)}
    initial, boundary = (
        text(path, table, key) if key in table else default
        for key, default in (("initial", system.initial), ("boundary", system.boundary))
    )
    notes = _list(path, table, "notes") if "notes" in table else system.notes
    if table:
        raise DataError(f"{path}: unknown key published.{next(iter(table))!r}")
    all_of_them = {f"{name}_t": equations.get(f"{name}_t", "0") for name in variables}
    published = replace(
        system,
        initial=initial,
        boundary=boundary,
        notes=notes,
        variables=variables,
        equations=all_of_them,
        constants=constants,
        unseen=(),
        axes=grid,
        times=times,
        settings=settings,
        published=True,
    )
    _check(path, published)
    return published


def _settings(path: Path, table: dict[str, Any]) -> dict[str, float]:
    given = _table(path, "solver", table.pop("solver", {}))
    return {key: number(path, f"solver.{key}", value) for key, value in given.items()}


def _unseen(
    path: Path, table: dict[str, Any], equations: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    given = _list(path, table, "unseen")
    terms = []
    for entry in given:
        target, _, term = (part.strip() for part in entry.partition(":"))
        if target not in equations or not term:
            raise DataError(
                f"{path}: unseen has {entry!r}",
                f"It has to be an equation and a term of it, such as 'u0_t: u0 * u0_x'; the "
                f"equations are {', '.join(equations)}.",
            )
        terms.append((target, term))
    return tuple(terms)


def _check(path: Path, system: PdeSystem) -> None:
    if system.generator not in GENERATORS:
        raise DataError(
            f"{path}: there is no generator {system.generator!r}",
            did_you_mean(system.generator, GENERATORS),
        )
    for coordinate in system.explicit:
        if coordinate not in (*system.axes, "t"):
            raise DataError(
                f"{path}: explicit has {coordinate!r}",
                f"The coordinates are {', '.join(system.axes)} and t.",
            )
    for key, equation in (*system.equations.items(), *system.unseen):
        try:
            parse(equation, system._names())  # noqa: SLF001 - of this module
        except ValueError as error:
            raise DataError(f"{path}: {key} = {equation!r}: {error}") from error


def _grid(path: Path, entry: Any) -> dict[str, Nodes]:
    if tuple(_table(path, "grid", entry)) not in {(*_AXES[:dim], "t") for dim in (1, 2, 3)}:
        raise DataError(
            f"{path}: [grid] has the keys {list(entry)}", "They have to be x[, y[, z]] and t."
        )
    return _nodes_by_axis(path, entry)


def _nodes_by_axis(path: Path, given: Any) -> dict[str, Nodes]:
    entries = _table(path, "grid", given)
    return {key: _nodes(path, f"grid.{key}", entry) for key, entry in entries.items()}


def _nodes(path: Path, key: str, given: Any) -> Nodes:
    entry = dict(_table(path, key, given))
    if not {"first", "last", "nodes"} <= set(entry) <= {"first", "last", "nodes", "period"}:
        raise DataError(
            f"{path}: {key} = {entry!r}",
            "It has to have the keys first, last and nodes; a periodic axis has period, too.",
        )
    values = {each: number(path, f"{key}.{each}", value) for each, value in entry.items()}
    if not isinstance(entry["nodes"], int) or not values["last"] > values["first"]:
        raise DataError(f"{path}: {key} = {entry!r}", "nodes is a whole number, last above first.")
    return Nodes(values["first"], values["last"], entry["nodes"], values.get("period"))


def _table(path: Path, key: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise DataError(f"{path}: {key} = {entry!r} has to be a table")
    return entry


def _list(path: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    items = table.pop(key, [])
    if not isinstance(items, list) or not all(isinstance(each, str) for each in items):
        raise DataError(f"{path}: {key} = {items!r} has to be a list of texts")
    return tuple(items)
