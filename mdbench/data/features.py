"""What a right-hand side may be made of: states, their derivatives in space, coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.derivatives import accurate_derivative, fewest_nodes, space_derivative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]

__all__ = ["HIGHEST_ORDER", "FieldColumns", "feature_names", "published_columns", "unsupported"]

HIGHEST_ORDER = 4
"""The highest derivative in space."""


def feature_names(field: Field, explicit: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Name all features of a field: states, derivatives, and the coordinates asked for.

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
    """Give the orders that an axis has too few nodes for, such as ``zz``, each with the reason."""
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
            place = [1] * len(shape)
            axis = list(coordinates).index(name)
            place[axis] = shape[axis]
            return np.ascontiguousarray(np.broadcast_to(coordinates[name].reshape(place), shape))
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
    """Give the features as the code behind MDBench's tables does.

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
