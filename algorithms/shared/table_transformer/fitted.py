"""Numbers of decoded laws, fitted to the table in the data's own units."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from balancing import Balance
from levenberg import ConstantFitter
from skeletons import ARITY
from tapes import pad
from tokens import CONST, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from decoding import Decoded
    from numpy.typing import NDArray
    from trees import Node

    Array = NDArray[np.float64]

__all__ = ["fitted"]

_STEPS = 60
_SIGNS = 3
"""Numbers of a law whose signs are all tried."""


def fitted(
    laws: Sequence[Decoded],
    X: Array,
    y: Array,
    *,
    late: Callable[[], bool] = lambda: False,
) -> list[tuple[Node, float]]:
    """Fit the numbers of laws, each from signs of all kinds, and a factor in front of all.

    Parameters
    ----------
    laws
        As they were decoded.
    X, y
        (n, d) and (n,).
    late
        Whether the time is over.

    Returns
    -------
    list
        The best of each law that has values on all rows, and the factor that belongs to it.
    """
    size = float(np.abs(y).max())
    if size == 0.0:
        return []
    tokens = Tokens(tuple(name for name in ARITY if name != CONST), X.shape[1])
    codes, starts, owners = [], [], []
    for owner, law in enumerate(laws):
        for start in _starts(law.tokens, X, y):
            codes.append([tokens.code(name) for name in ("mul", CONST, *law.tokens)])
            starts.append(start)
            owners.append(owner)
    if not codes:
        return []
    width = max(map(len, starts))
    first = np.zeros((len(starts), width))
    for row, values in enumerate(starts):
        first[row, : len(values)] = values
    first[:, 0] /= size
    fits = ConstantFitter(X, y / size, tokens).fit(pad(codes), first, iterations=_STEPS, late=late)
    found = []
    for owner in range(len(laws)):
        rows = [row for row, own in enumerate(owners) if own == owner]
        best = min(rows, key=lambda row: fits.error[row], default=None)
        if best is None or not np.isfinite(fits.error[best]):
            continue
        numbers = fits.constants[best]
        tree = tokens.node(codes[best][2:], numbers[1:].tolist())
        found.append((tree, float(numbers[0]) * size))
    return found


def _starts(law: Sequence[str], X: Array, y: Array) -> list[list[float]]:
    """Return first values of the factor in front and of the law's own numbers."""
    many = sum(name == CONST for name in law)
    starts = []
    signs = itertools.product((1.0, -1.0), repeat=min(many, _SIGNS))
    with np.errstate(all="ignore"):
        for each in signs:
            own = [*each, *[1.0] * (many - len(each))]
            balance = Balance(law, X, list(own))
            balance.settle()
            values = balance.values()
            largest = float(np.abs(values).max())
            if not (np.isfinite(values).all() and largest > 0):
                continue
            unit = values / largest
            factor = float(unit @ y) / float(unit @ unit) / largest
            if np.isfinite(factor) and factor != 0:
                starts.append([factor, *balance.numbers])
    return starts
