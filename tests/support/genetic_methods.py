"""The genetic methods as the worker loads them, and laws that they should find."""

from __future__ import annotations

import importlib
import sys
import tomllib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import ROOT
from numpy.typing import NDArray

from eqverdict import parse
from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = NDArray[np.float64]

MODULES = (
    "adapter",
    "evaluation",
    "evolution",
    "genotypes",
    "hillclimb",
    "language",
    "linkage",
    "mixing",
    "pareto",
    "predictors",
    "regressor",
    "scaling",
    "trees",
)

LAWS: dict[str, tuple[list[tuple[float, float]], Callable[[Array], Array]]] = {
    "product": ([(0.1, 5), (0.1, 5)], lambda x: x[0] * x[1]),
    "quotient": ([(0.1, 5), (0.1, 5)], lambda x: x[0] / x[1]),
    "parabola": ([(-3, 3)], lambda x: 3.7 * x[0] ** 2 - 1.3),
    "tiny constant": ([(1e8, 1e10)], lambda x: 1.0545718e-34 * x[0]),
    "huge variables": (
        [(1e26, 1e28), (1e26, 1e28), (1e10, 1e11)],
        lambda x: 6.6743e-11 * x[0] * x[1] / x[2] ** 2,
    ),
    "tiny variables": ([(1e-31, 1e-30), (1e8, 3e8)], lambda x: x[0] * x[1] ** 2 / 2),
}
"""Ranges of the variables, each uniform, and the law."""


@contextmanager
def modules(name: str) -> Iterator[Any]:
    """Import a method's adapter as the worker does; leave nothing of it behind."""
    spec = specification(name)
    shared = [f"shared/{folder}" for folder in spec.get("uses", ())]
    folders = [str(ROOT / "algorithms" / folder) for folder in (name, *shared)]
    sys.path[:0] = folders
    try:
        yield importlib.import_module
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for module in MODULES:
            sys.modules.pop(module, None)


def specification(name: str) -> dict[str, Any]:
    """Read a method's method.toml."""
    text = (ROOT / "algorithms" / name / "method.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def law(name: str, rows: int = 200) -> tuple[Array, Array]:
    """Return inputs (n, d) and targets (n, 1) of a law."""
    ranges, formula = LAWS[name]
    low, high = np.array(ranges).T
    X = np.random.default_rng(7).uniform(low, high, (rows, len(ranges)))
    return X, formula(X.T)[:, None]


def table(X: Array, Y: Array | None = None, time_limit: float | None = None) -> Problem:
    """Make a problem of inputs (n, d) and targets (n, m)."""
    arrays = {"X": X} if Y is None else {"X": X, "Y": Y}
    targets = tuple(f"u{i}_t" for i in range(1 if Y is None else Y.shape[1]))
    return Problem("table", tuple(f"u{i}" for i in range(X.shape[1])), targets, arrays, time_limit)


def evaluate_text(text: str, X: Array) -> Array:
    """Evaluate an equation as the bench does; gives (n,)."""
    columns = {f"u{i}": X[:, i] for i in range(X.shape[1])}
    return np.broadcast_to(parse(text, list(columns)).evaluate(columns), len(X))


def nmse(predictions: Sequence[float] | Array, y: Array) -> float:
    """Return the normalised error, whatever the unit."""
    largest = np.abs(y).max()
    residual = (np.asarray(predictions) - y) / largest
    return float(np.square(residual).sum() / np.square(y / largest).sum())
