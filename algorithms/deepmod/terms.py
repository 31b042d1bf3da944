"""The library of terms on a network's output, and what a term's coefficient is in the data's units.

The network works in its own units, in which all numbers are of size one: coordinates from -1
to 1, states with mean 0 and variance 1.  Terms are powers of ``u / size`` times derivatives of
the scaled states, so that high orders neither overflow nor vanish in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from library import FieldTerms
    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]

__all__ = ["Scales", "TermColumns"]


@dataclass(frozen=True)
class Scales:
    """Scales between the data's units and the network's.

    Attributes
    ----------
    centre, half
        Centre and half width of each coordinate, (axes,): time first.
    mean, deviation, size
        Mean, deviation and size of each state, (states,): the size is its largest absolute value.
    """

    centre: Array
    half: Array
    mean: Array
    deviation: Array
    size: Array

    @classmethod
    def of(cls, points: Array, states: Array) -> Scales:
        """Compute them from samples at points (n, axes) of states (n, states)."""
        low, high = points.min(axis=0), points.max(axis=0)
        return cls(
            centre=(low + high) / 2,
            half=_or_one((high - low) / 2),
            mean=states.mean(axis=0),
            deviation=_or_one(states.std(axis=0)),
            size=_or_one(np.abs(states).max(axis=0)),
        )

    def points(self, points: Array) -> Tensor:
        """Scale coordinates."""
        return torch.tensor((points - self.centre) / self.half, dtype=torch.float32)

    def states(self, states: Array) -> Tensor:
        """Scale states."""
        return torch.tensor((states - self.mean) / self.deviation, dtype=torch.float32)


class TermColumns:
    """The columns of a library, evaluated on request.

    Parameters
    ----------
    terms
        The terms, in the order of the columns.
    scales
        One unit of the network, in the data's units.
    """

    def __init__(self, terms: FieldTerms, scales: Scales) -> None:
        self._scales = scales
        self._factors = [terms.functions[i].factors for i, _ in terms.pairs]
        self._derivatives = [terms.derivatives[j] for _, j in terms.pairs]
        self._ratio = torch.tensor(scales.deviation / scales.size, dtype=torch.float32)
        self._shift = torch.tensor(scales.mean / scales.size, dtype=torch.float32)

    def orders(self, columns: Sequence[int]) -> list[int]:
        """Return the orders of derivatives of some columns: 1 along time, then along each axis."""
        highest = [1] + [0] * (len(self._scales.half) - 1)
        for each in (self._derivatives[column] for column in columns):
            if each is not None:
                highest[each.axis + 1] = max(highest[each.axis + 1], each.order)
        return highest

    def evaluate(self, series: Tensor, orders: Sequence[int], columns: Sequence[int]) -> Tensor:
        """Multiply functions and derivatives.

        Parameters
        ----------
        series
            What `FieldNetwork.derivatives` returns for `orders`.
        orders
            At least those that the columns take.
        columns
            The columns wanted.

        Returns
        -------
        Tensor
            (n, len(columns)), in the network's units.
        """
        u = series[0] * self._ratio + self._shift
        known: dict[tuple[int, ...], Tensor] = {}

        def monomial(factors: tuple[int, ...]) -> Tensor:
            if len(factors) == 1:
                return u[:, factors[0]]
            if factors not in known:
                known[factors] = monomial(factors[:-1]) * u[:, factors[-1]]
            return known[factors]

        values = []
        for column in columns:
            factors, each = self._factors[column], self._derivatives[column]
            if each is None:
                values.append(monomial(factors))
                continue
            place = sum(orders[: each.axis + 1]) + each.order
            derivative = series[place, :, each.state]
            values.append(monomial(factors) * derivative if factors else derivative)
        return torch.stack(values, dim=1) if values else u.new_zeros((len(u), 0))

    def units(self) -> Array:
        """Return the data's units of each column, (p,): what a one in it is."""
        scales = self._scales
        units = np.array([np.prod(scales.size[list(factors)]) for factors in self._factors])
        for column, each in enumerate(self._derivatives):
            if each is not None:
                step = scales.half[each.axis + 1] ** each.order
                units[column] *= scales.deviation[each.state] / step
        return units

    def target_units(self) -> Array:
        """Return the data's units of the derivatives in time, (states,): what a one in them is."""
        return np.asarray(self._scales.deviation / self._scales.half[0])


def _or_one(values: Array) -> Array:
    return np.where(values > 0, values, 1.0)
