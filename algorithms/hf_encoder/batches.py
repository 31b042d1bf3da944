"""Batches of sequences of like length, so that little of them is padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

__all__ = ["batches", "by_length", "padded"]

_LIKE = 64
"""Batches are drawn from so many of them, in the order of their lengths."""


def batches(lengths: Sequence[int], size: int, rng: np.random.Generator) -> list[list[int]]:
    """Draw batches of rows that are about as long as each other; each row is in one."""
    order = rng.permutation(len(lengths)).tolist()
    found = []
    for first in range(0, len(order), size * _LIKE):
        near = sorted(order[first : first + size * _LIKE], key=lambda place: lengths[place])
        found += [near[begin : begin + size] for begin in range(0, len(near), size)]
    return [found[place] for place in rng.permutation(len(found)).tolist()]


def by_length(lengths: Sequence[int]) -> list[int]:
    """Return the places of rows, the shortest first."""
    return sorted(range(len(lengths)), key=lambda place: (lengths[place], place))


def padded(rows: Sequence[Sequence[int]], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows as a batch, and which of it is no padding; both (n, longest), int64."""
    ids = torch.full((len(rows), max(map(len, rows))), padding)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
    return ids, mask
