"""The likeliest laws of a table, by a beam search that ends with each whole expression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from pretraining import features
from skeletons import ARITY, FormError, form_of_prefix, prefix_of_form
from table_network import COLUMNS, TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from table_network import TableNetwork

    Array = NDArray[np.float64]

__all__ = ["Decoded", "decode", "table_rows"]

_ARITY = np.array([ARITY[name] for name in TOKENS])


class Decoded(NamedTuple):
    """A law that was written.

    Attributes
    ----------
    tokens
        In prefix order; variables are ``x0`` for the first column, and so on.
    log_chance
        The logarithm of its probability.
    """

    tokens: tuple[str, ...]
    log_chance: float


def table_rows(X: Array, y: Array, most: int, seed: int) -> tuple[Array, Array]:
    """Draw the rows (at most `most`) of a table that the network is shown."""
    rows = np.flatnonzero(np.isfinite(X).all(axis=1) & np.isfinite(y))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return X[rows], y[rows]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def decode(
    network: TableNetwork,
    X: Array,
    y: Array,
    *,
    beam: int,
    late: Callable[[], bool] = lambda: False,
) -> list[Decoded]:
    """Write the likeliest laws of a table, the likeliest first, each form once.

    Parameters
    ----------
    network
        As it was trained.
    X, y
        (n, d) with d up to `COLUMNS`, and (n,).
    beam
        Laws that are written side by side; with 1 each token is the likeliest.
    late
        Whether the time is over; what is whole by then is returned.

    Raises
    ------
    ValueError
        If there are more columns than the network supports.
    """
    columns = X.shape[1]
    if columns > COLUMNS:
        raise ValueError(f"the table has {columns} variables; at most {COLUMNS} are allowed")
    cells = torch.from_numpy(features(X, y))[None]
    there = torch.ones(1, columns + 1, dtype=torch.bool)
    read = network.read(cells, there)
    arity = np.concatenate([_ARITY, np.zeros(columns, dtype=np.int64)])
    longest = network.shape.longest
    whole: list[tuple[float, list[int]]] = []
    written = np.zeros((1, 0), dtype=np.int64)
    chances, open_places = np.zeros(1), np.ones(1, dtype=np.int64)
    for step in range(longest):
        many = len(written)
        logits = network(
            read.expand(many, -1, -1), there.expand(many, -1), torch.from_numpy(written)
        )[:, -1]
        own = chances[:, None] + torch.log_softmax(logits, -1).double().numpy()
        waiting = open_places[:, None] - 1 + arity[None]
        # No law is begun that is too long to be finished.
        own[waiting + step + 1 > longest] = -math.inf
        best = np.argsort(-own, axis=None, kind="stable")[:beam]
        best = best[np.isfinite(own.ravel()[best])]
        parents, codes = np.divmod(best, own.shape[1])
        written = np.column_stack([written[parents], codes])
        chances, open_places = own.ravel()[best], waiting.ravel()[best]
        done = open_places == 0
        whole += zip(chances[done].tolist(), written[done].tolist(), strict=True)
        written, chances, open_places = written[~done], chances[~done], open_places[~done]
        worst = sorted((chance for chance, _ in whole), reverse=True)[beam - 1 : beam]
        if not len(written) or (worst and chances.max() < worst[0]) or late():
            break
    return _each_once(whole)


def _each_once(whole: list[tuple[float, list[int]]]) -> list[Decoded]:
    found: dict[tuple[str, ...], Decoded] = {}
    for chance, codes in sorted(whole, key=lambda one: (-one[0], one[1])):
        tokens = tuple(
            TOKENS[code] if code < len(TOKENS) else f"x{code - len(TOKENS)}" for code in codes
        )
        try:
            written = tuple(prefix_of_form(form_of_prefix(tokens), gathered=True))
        except (FormError, RecursionError):
            continue
        found.setdefault(written, Decoded(written, chance))
    return list(found.values())
