"""Fields: states sampled on a grid in space and at times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.derivatives import accurate_derivative, fewest_nodes, is_uniform, space_derivative
from mdbench.data.trajectory import MIN_SAMPLES, refuse_rounded, refuse_sizes
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AXES = ("x", "y", "z")
"""The names of the axes in space, in the order of the arrays' dimensions."""
MIN_NODES = 3
"""The shortest axis that has a first derivative of second order."""
_PART_OF_A_STEP = 1e-3
"""The largest error of a period's length, as a share of the distance of two nodes."""


@dataclass(frozen=True, eq=False)
class Field:
    """The states of a system on a rectangular grid over time.

    Attributes
    ----------
    t
        Increasing times, (n_t,).
    grid
        The nodes of each axis, (n_x,), (n_y,), (n_z,), by its name; one to three of `AXES`.
    u
        States, (n_x[, n_y[, n_z]], n_t, d).
    du
        Time derivatives of the states, shaped like `u`, or None where they are not known.
    periods
        The length of each periodic axis by its name: its nodes are equidistant, and the next
        one after the last would be the first one again.
    labels
        What the states are called in the file that they came from; empty where it is u.
    """

    t: Array
    grid: Mapping[str, Array]
    u: Array
    du: Array | None = None
    periods: Mapping[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def dim(self) -> int:
        """The number of states."""
        return int(self.u.shape[-1])

    def check(self, path: Path) -> None:
        """Refuse arrays that no dataset can be made of; `path` is where they come from.

        Raises
        ------
        DataError
            If shapes do not fit, a value is not finite, an axis or the times do not increase in
            equal steps, or there are too few of them; it names the array, the place in it and
            the value.
        """
        if self.u.ndim < MIN_NODES:
            raise DataError(
                f"{path}: u has shape {self.u.shape}",
                "It has to be (n_x[, n_y[, n_z]], n_t, d); a single state has d = 1: u[..., None].",
            )
        for key, nodes in {**self.grid, "t": self.t}.items():
            _check_axis(path, key, nodes)
        for axis, period in self.periods.items():
            _check_period(path, axis, self.grid, period)
        expected = (*(len(nodes) for nodes in self.grid.values()), len(self.t))
        layout = ", ".join([*(f"n_{axis}" for axis in self.grid), "n_t", "d"])
        arrays = {"u": self.u} | ({} if self.du is None else {"du": self.du})
        for key, array in arrays.items():
            if array.shape[:-1] != expected or array.shape[-1] == 0:
                counts = ", ".join(map(str, expected))
                raise DataError(
                    f"{path}: {key} has shape {array.shape}",
                    f"By the lengths of {', '.join(self.grid)} and t it has to be "
                    f"({layout}) = ({counts}, d){_turned(key, array.shape, expected)}.",
                )
            _check_finite(path, key, array)
            refuse_sizes(path, key, array)
        if self.du is not None and self.du.shape != self.u.shape:
            raise DataError(
                f"{path}: u has shape {self.u.shape}, du {self.du.shape}", "They have to be equal."
            )


def _turned(key: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """Return how to put dimensions in order, where nothing else is wrong and there is one way."""
    orders = [
        order
        for order in permutations(range(len(shape)) if len(shape) == len(expected) + 1 else ())
        if tuple(shape[i] for i in order[:-1]) == expected
    ]
    return f": numpy.transpose({key}, {orders[0]})" if len(orders) == 1 else ""


def _check_axis(path: Path, key: str, nodes: Array) -> None:
    if nodes.ndim != 1:
        raise DataError(f"{path}: {key} has shape {nodes.shape}", "It has to be a row, (n,).")
    if key == "t":
        least, why = MIN_SAMPLES, "to have 3 in every split"
    else:
        least, why = MIN_NODES, "for a first derivative"
    if len(nodes) < least:
        count = "1 point" if len(nodes) == 1 else f"{len(nodes)} points"
        raise DataError(f"{path}: {key} has {count}", f"At least {least} are needed, {why}.")
    _check_finite(path, key, nodes)
    steps = np.diff(nodes)
    if not (steps > 0).all():
        i = int(np.argmin(steps > 0)) + 1
        falls = (steps < 0).all()
        raise DataError(
            f"{path}: {key}[{i}] is {nodes[i]}, after {key}[{i - 1}] = {nodes[i - 1]}",
            "Its values have to increase"
            + (f": turn it around, and u along it: {key}[::-1]." if falls else "."),
        )
    if not is_uniform(nodes):
        refuse_rounded(path, key, nodes)
        i = int(np.argmax(np.abs(steps - steps.mean())))
        raise DataError(
            f"{path}: {key} is not uniform: {key}[{i + 1}] - {key}[{i}] is {steps[i]:.6g}, "
            f"the mean step {steps.mean():.6g}",
            "Interpolate the field to equal steps first: scipy.interpolate.make_interp_spline("
            f"{key}, u, axis={AXES.index(key) if key in AXES else -2})(numpy.linspace({key}[0], "
            f"{key}[-1], len({key}))).",
        )


def _check_period(path: Path, axis: str, grid: Mapping[str, Array], period: float) -> None:
    if axis not in grid:
        raise DataError(
            f"{path}: {axis} is named as periodic, and is no axis of this field",
            f"Its axes are {', '.join(grid)}.",
        )
    nodes = grid[axis]
    length = float(nodes[-1] - nodes[0])
    step = length / (len(nodes) - 1)
    if abs(length + step - period) <= _PART_OF_A_STEP * step:
        return
    if abs(length - period) <= _PART_OF_A_STEP * step:
        raise DataError(
            f"{path}: {axis} has both ends of its period, {nodes[0]:g} and {nodes[-1]:g}",
            f"They are one place: leave out the last node of {axis}, and its values in u.",
        )
    raise DataError(
        f"{path}: {axis} has the period {period:g}, and {len(nodes)} nodes {step:g} apart",
        f"The nodes of a periodic axis fill its period, which would be {length + step:g} here.",
    )


def _check_finite(path: Path, key: str, array: Array) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        place = tuple(int(i) for i in np.unravel_index(int(np.argmin(finite)), array.shape))
        raise DataError(
            f"{path}: {key}[{', '.join(map(str, place))}] is {array[place]}",
            "Every value has to be a finite number: cut the field to where all are known, or fill "
            "in what is not.",
        )


HIGHEST_ORDER = 4
"""The highest derivative in space."""


def feature_names(field: Field, explicit: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of all features of a field: states, derivatives, coordinates asked for.

    Derivatives are those of orders 1 to 4 along each axis that has the nodes for them, by state,
    axis and order: ``u0, u1, u0_x, u0_xx, ..., u1_xxxx``.
    """
    states = [f"u{i}" for i in range(field.dim)]
    derivatives = [
        f"{state}_{axis * order}"
        for state in states
        for axis, nodes in field.grid.items()
        for order in range(1, HIGHEST_ORDER + 1)
        if len(nodes) >= fewest_nodes(order)
    ]
    return (*states, *derivatives, *explicit)


def unsupported(field: Field) -> dict[str, str]:
    """Return the orders, such as ``zz``, that an axis has too few nodes for, and why."""
    return {
        axis * order: f"unsupported: a derivative of order {order} takes {fewest_nodes(order)} "
        f"nodes, and {axis} has {len(nodes)}"
        for axis, nodes in field.grid.items()
        for order in range(1, HIGHEST_ORDER + 1)
        if len(nodes) < fewest_nodes(order)
    }


class FieldColumns(Mapping[str, "Array"]):
    """The features of a field by name, shaped like one state.

    Each is worked out when it is asked for and not kept: all together are many times the field.
    Derivatives are as accurate as the nodes allow: spectral along periodic axes, of high order
    along others.

    Parameters
    ----------
    field
        The states; nothing is taken from one time to another.
    explicit
        The coordinates that are features.
    second_order
        Take plain second-order differences along all axes, as the published pipeline does.
    """

    def __init__(
        self, field: Field, explicit: tuple[str, ...] = (), *, second_order: bool = False
    ) -> None:
        self._field = field
        self._second_order = second_order
        self._names = dict.fromkeys(feature_names(field, explicit))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        field = self._field
        shape = field.u.shape[:-1]
        coordinates = {**field.grid, "t": field.t}
        if name in coordinates:
            sizes = [1] * len(shape)
            axis = list(coordinates).index(name)
            sizes[axis] = shape[axis]
            return np.ascontiguousarray(np.broadcast_to(coordinates[name].reshape(sizes), shape))
        state, _, derivative = name.partition("_")
        u = np.ascontiguousarray(field.u[..., int(state[1:])])
        if not derivative:
            return u
        along, order = derivative[0], len(derivative)
        nodes, axis = field.grid[along], list(field.grid).index(along)
        if self._second_order:
            return space_derivative(u, nodes, axis, order)
        return accurate_derivative(u, nodes, axis, order, period=field.periods.get(along))


def published_columns(field: Field) -> dict[str, Array]:
    """Return the features as the code behind MDBench's tables does.

    A derivative of order n is the first one taken n times, along x and y to order 4; along z only
    the first is there, under the name of the fourth.
    """
    columns: dict[str, Array] = {}
    derivatives: dict[str, Array] = {}
    for i in range(field.dim):
        u = np.ascontiguousarray(field.u[..., i])
        columns[f"u{i}"] = u
        for axis, (name, nodes) in enumerate(field.grid.items()):
            value = u
            for order in range(1, HIGHEST_ORDER + 1):
                value = space_derivative(value, nodes, axis, 1)
                if name == "z":
                    derivatives[f"u{i}_zzzz"] = value
                    break
                derivatives[f"u{i}_{name * order}"] = value
    return columns | derivatives
