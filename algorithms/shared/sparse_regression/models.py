"""Models that a grid of settings finds: the different ones of each target, each kept once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.worker import sum_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import LibraryTerms
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Models", "write_sum"]

_NEGLIGIBLE = 1e-10
"""Coefficients up to this size are no part of the model, as in the published pipeline."""


class Models:
    """Coefficients of models, and which of them a setting gives for each target.

    Parameters
    ----------
    found
        The coefficients of the model that each setting gives for each target,
        (settings, targets, p); those that are negligible become zero.
    remarks
        What is known of each setting in addition to its equations, as JSON; nothing by default.
    fitted
        Which settings these are, where time ran out before all were fitted.
    """

    def __init__(
        self,
        found: Array,
        remarks: Sequence[dict[str, Any]] | None = None,
        fitted: Sequence[int] | None = None,
    ) -> None:
        self.fitted = fitted
        self.remarks = [{} for _ in found] if remarks is None else remarks
        kept = np.where(np.abs(found) > _NEGLIGIBLE, found, 0.0)
        known: dict[tuple[int, bytes], int] = {}
        first: list[tuple[int, int]] = []
        self.of_setting = np.empty(found.shape[:2], dtype=np.intp)
        for setting, target in np.ndindex(*found.shape[:2]):
            key = target, kept[setting, target].tobytes()
            if key not in known:
                known[key] = len(first)
                first.append((setting, target))
            self.of_setting[setting, target] = known[key]
        self.coefficients = np.array([kept[place] for place in first])
        self.targets = [target for _, target in first]
        self._texts: dict[int, str] = {}

    def written(self, terms: LibraryTerms, index: int) -> str:
        """Write a model, once."""
        if index not in self._texts:
            self._texts[index] = terms.write(self.coefficients[index], self.targets[index])
        return self._texts[index]

    def distinct(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield each different system: the settings that found it, and the model of each target.

        They come in the order of their first settings.
        """
        found: dict[tuple[int, ...], list[int]] = {}
        for place, indices in enumerate(self.of_setting):
            found.setdefault(tuple(indices.tolist()), []).append(place)
        for system, places in found.items():
            yield places, list(system)


def write_sum(coefficients: Array, texts: Sequence[str]) -> str:
    """Write a model with coefficients that read back exactly; the text of a constant is empty.

    Examples
    --------
    >>> write_sum(np.array([0.5, 0.0, -2.0]), ["", "u0", "u0*u0_x"])
    '0.5 - 2.0*u0*u0_x'
    """
    return sum_of(list(zip(coefficients.tolist(), texts, strict=True)))
