"""What a grid of settings finds: the different models of each target, each kept once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Models", "write_sum"]

_NEGLIGIBLE = 1e-10
"""Coefficients up to this size, times the unit that they are in, are no part of a model."""


class Models:
    """Coefficients of models, and which of them a setting gives for each target.

    Parameters
    ----------
    found
        The coefficients (p,) of one model after the other, setting by setting and for each
        setting target by target; arrays that are the same object are taken as one.
    n_targets
        The number of targets.
    negligible
        Coefficients up to this size become zero, (p,) or one for all.
    """

    def __init__(
        self, found: Iterable[Array], n_targets: int, negligible: Array | float = _NEGLIGIBLE
    ) -> None:
        known: dict[tuple[int, bytes], int] = {}
        coefficients: list[Array] = []
        rows: list[int] = []
        for number, model in enumerate(found):
            kept = np.where(np.abs(model) > negligible, model, 0.0)
            key = number % n_targets, kept.tobytes()
            if key not in known:
                known[key] = len(coefficients)
                coefficients.append(kept)
            rows.append(known[key])
        self.coefficients = np.array(coefficients)
        self.of_setting = np.reshape(rows, (-1, n_targets))

    def distinct(self) -> Iterator[tuple[list[int], list[int]]]:
        """Give each different system: the settings that found it, and the model of each target.

        They come in the order of their first settings.
        """
        found: dict[tuple[int, ...], list[int]] = {}
        for place, indices in enumerate(self.of_setting.tolist()):
            found.setdefault(tuple(indices), []).append(place)
        for system, places in found.items():
            yield places, list(system)


def write_sum(coefficients: Array, texts: Sequence[str]) -> str:
    """Write a model with coefficients that read back exactly; the text of a constant is empty.

    Examples
    --------
    >>> write_sum(np.array([0.5, 0.0, -2.0]), ["", "u0", "u0*u0_x"])
    '0.5 - 2.0*u0*u0_x'
    """
    summands = [
        f"{value!r}*{text}" if text else repr(value)
        for text, value in zip(texts, coefficients.tolist(), strict=True)
        if value
    ]
    return " + ".join(summands).replace("+ -", "- ") or "0"
