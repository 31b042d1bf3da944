"""Noise as WeakIdent's paper has it, and the coefficients of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def noisy(u: Array, share: float, seed: int) -> Array:
    """Add a share of the root mean square about the middle of the range, as the paper does."""
    flat = u.reshape(-1, u.shape[-1])
    middle = (flat.max(axis=0) + flat.min(axis=0)) / 2
    size = np.sqrt(np.mean((flat - middle) ** 2, axis=0))
    return np.asarray(u + share * size * np.random.default_rng(seed).standard_normal(u.shape))


def numbers(equation: str, terms: tuple[str, ...]) -> dict[str, float]:
    """Read the coefficients of products; those of other products are an error."""
    found = {}
    for part in equation.replace("- ", "+ -").split(" + "):
        value, _, term = part.partition("*")
        assert term in terms, equation
        found[term] = float(value)
    return found
