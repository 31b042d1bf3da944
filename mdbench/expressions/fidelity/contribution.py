"""Which terms of an equation contribute nothing where it is tested."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from mdbench.errors import EquationError
from mdbench.expressions.equation import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from mdbench.expressions.fidelity.compare import Term

__all__ = ["NEGLIGIBLE", "negligible", "used"]

NEGLIGIBLE = 1e-3
"""A term whose root mean square is below this share of the target's is negligible."""
_MOST_POINTS = 20_000
"""Of larger fields, points at even distances are looked at."""
_NAME = re.compile(r"[A-Za-z_]\w*")


def used(text: str, columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """Name the columns that an equation uses, so that no others need be made."""
    return [name for name in dict.fromkeys(_NAME.findall(text)) if name in columns]


def negligible(
    terms: Iterable[Term],
    columns: Mapping[str, NDArray[np.float64]],
    targets: NDArray[np.float64],
    share: float = NEGLIGIBLE,
) -> list[Term]:
    """Pick the terms that contribute nothing.

    Parameters
    ----------
    terms
        Terms of the truth or of an answer.
    columns
        For each variable its values, shaped like one target.
    targets
        What the equations are to give; the last axis runs over the equations.
    share
        Of the root mean square of the target.

    Returns
    -------
    list of Term
        Those whose values are all defined and small.  None where the target is zero everywhere:
        there is no signal to compare with.
    """
    size = targets[..., 0].size
    step = max(1, -(-size // _MOST_POINTS))
    picked: dict[str, NDArray[np.float64]] = {}
    signals = [_rms(targets[..., i].reshape(-1)) for i in range(targets.shape[-1])]
    small = []
    for term in terms:
        names = used(term.exact, columns)
        for name in names:
            if name not in picked:
                picked[name] = columns[name].reshape(-1)[::step]
        try:
            # A constant has no column of its own.
            values = parse(term.exact, names).evaluate({name: picked[name] for name in names})
        except EquationError:
            continue  # nested deeper than an equation may be
        if _rms(np.atleast_1d(values)) < share * signals[term.equation]:
            small.append(term)
    return small


def _rms(values: NDArray[np.float64]) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(values))))
