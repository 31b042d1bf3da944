"""Makes tank.csv: the exact solution of a linear cascade, with noise of 1 % of its spread."""

from pathlib import Path

import numpy as np

INFLOW, UPPER, LOWER = 0.9, 0.35, 0.2
"""Litres a minute into the upper tank, and what flows out of each a minute, as a share."""


def solution(t: np.ndarray) -> np.ndarray:
    """Return what both tanks hold at times t, (n, 2), in litres; both are empty at first."""
    upper = INFLOW / UPPER * (1 - np.exp(-UPPER * t))
    # The lower one: a constant and two exponentials, by variation of constants.
    decay = (np.exp(-UPPER * t) - np.exp(-LOWER * t)) / (UPPER - LOWER)
    lower = INFLOW / LOWER * (1 - np.exp(-LOWER * t)) + INFLOW * decay
    return np.column_stack([upper, lower])


if __name__ == "__main__":
    t = np.linspace(0, 12, 241)
    exact = solution(t)
    noise = np.random.default_rng(0).normal(size=exact.shape) * 0.01 * exact.std(axis=0)
    rows = np.column_stack([t, exact + noise])
    head = "minute,upper [L],lower [L]"
    path = Path(__file__).with_name("tank.csv")
    np.savetxt(path, rows, fmt="%.5g", delimiter=",", header=head, comments="")
