"""Solutions of the equations of a record, in the names of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mdbench import datatypes
from mdbench.data.columns import OwnNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.records import Record

    Array = NDArray[np.float64]

__all__ = ["Solver"]


class Solver:
    """Integrates equations that are written in the names of a record's data.

    Parameters
    ----------
    record
        Of equations of motion.
    states, inputs
        The names in the order of arrays.
    """

    def __init__(self, record: Record, states: Sequence[str], inputs: Sequence[str] = ()) -> None:
        self._kind = datatypes.classes([record.data_type])[0]
        self._options = record.options
        internal = {f"u{place}": state for place, state in enumerate(states)}
        self._names = OwnNames({**record.names, **internal})
        own = OwnNames(record.names)
        self._places = [int(own.internal(name)[1:]) for name in inputs]

    def solve(
        self, texts: Sequence[str], times: Array, start: Array, inputs: Array | None = None
    ) -> tuple[Array, str]:
        """Return the states that equations reach, (times, states), and why no further.

        Parameters
        ----------
        inputs
            (times, inputs)
        """
        driven = None
        if self._places and inputs is not None:
            driven = np.zeros((len(times), 1 + max(self._places)))
            driven[:, self._places] = inputs
        states, why = self._kind.integrate(
            self._names.all_internal(texts), times, start, driven, self._options
        )
        return np.asarray(states), why

    def __call__(
        self, texts: Sequence[str], times: Array, start: Array, inputs: Array | None = None
    ) -> Array:
        """Return the states that equations reach, as far as they do."""
        return self.solve(texts, times, start, inputs)[0]
