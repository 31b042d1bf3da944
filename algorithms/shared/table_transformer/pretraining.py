"""Laws and tables to learn from: forms drawn from a bigram of tokens, and samples of them.

A table is drawn so that each part of its law can be seen: constants, and ranges of variables, are
moved until the summands of a sum are of like size and functions are not linear.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from balancing import Balance
from numpy.typing import NDArray
from skeletons import (
    ARITY,
    FUNCTIONS_OF_FORMS,
    FormError,
    form_of_prefix,
    prefix_of_form,
    renumbered,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skeletons import Form

Array = NDArray[np.float64]

__all__ = ["FEATURES", "Bigram", "Table", "drawn_table", "features"]

FEATURES = 11
"""Numbers that describe a cell."""
_VARIABLE = "variable"
_NEW = 0.9
"""Probability that a place of a variable takes one that the law does not have yet."""
_FULL = 0.15, 0.6, 1.0
"""Probability to keep a law of one, two or more variables: of one there are few, drawn often."""
_SEEN = 0.02
"""The least share of a summand in its sum."""
_TRIES = 6


@dataclass(frozen=True)
class Table:
    """Samples of a law.

    Attributes
    ----------
    X, y
        (n, d) and (n,).
    tokens
        The law in prefix order; its variables are columns of `X`.
    ranges
        (d, 2) decades between which each variable was drawn.
    """

    X: Array
    y: Array
    tokens: tuple[str, ...]
    ranges: Array


class Bigram:
    """Frequencies of tokens at each place below each other token, counted in known laws.

    Parameters
    ----------
    laws
        Forms to count in; each is drawn itself, too, with the probability `share`.
    longest
        Tokens of a drawn law at most.
    most
        Variables of a drawn law at most.
    """

    def __init__(
        self, laws: Sequence[Form], *, share: float = 0.3, longest: int = 30, most: int = 8
    ) -> None:
        self._laws = [prefix_of_form(law) for law in laws]
        self._share, self._longest, self._most = share, longest, most
        counts: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for tokens in self._laws:
            waiting = [("", 0)]
            for name in tokens:
                above = waiting.pop()
                kind = name if name in ARITY else _VARIABLE
                counts[above][kind] += 1
                waiting += [(kind, place) for place in reversed(range(ARITY.get(name, 0)))]
        self._chances = {
            above: (list(own), np.array(list(own.values()), float) / sum(own.values()))
            for above, own in counts.items()
        }

    def draw(self, rng: np.random.Generator) -> list[str]:
        """Draw a law, in its canonical form; its variables are numbered from 0 at random."""
        while True:
            if rng.random() < self._share:
                tokens = self._laws[rng.integers(len(self._laws))]
            else:
                drawn = self._tokens(rng)
                if drawn is None:
                    continue
                tokens = drawn
            columns = sorted({name for name in tokens if name not in ARITY})
            if not 1 <= len(columns) <= self._most or len(columns) != _highest(columns):
                continue
            order = rng.permutation(len(columns)).tolist()
            try:
                tokens = prefix_of_form(form_of_prefix(renumbered(tokens, order)))
            except FormError:
                continue
            if rng.random() > _FULL[min(len(columns), len(_FULL)) - 1]:
                continue
            left = {name for name in tokens if name not in ARITY}
            if len(tokens) <= self._longest and left == set(columns) and not _twice(tokens):
                return tokens

    def _tokens(self, rng: np.random.Generator) -> list[str] | None:
        tokens: list[str] = []
        waiting = [("", 0)]
        many = 0
        while waiting:
            names, chances = self._chances[waiting.pop()]
            kind = names[int(np.searchsorted(np.cumsum(chances), rng.random() * chances.sum()))]
            if kind == _VARIABLE:
                new = many == 0 or rng.random() < _NEW
                tokens.append(f"x{many if new else rng.integers(many)}")
                many += new
            else:
                tokens.append(kind)
                waiting += [(kind, place) for place in reversed(range(ARITY[kind]))]
            if len(tokens) + len(waiting) > self._longest:
                return None
        return tokens


def _highest(columns: Sequence[str]) -> int:
    return max(int(name[1:]) for name in columns) + 1


def _twice(tokens: Sequence[str]) -> bool:
    """Return whether a function is inside another one, as no law has it."""
    waiting = [0]
    for name in tokens:
        depth = waiting.pop() + (name in FUNCTIONS_OF_FORMS)
        if depth > 1:
            return True
        waiting += [depth] * ARITY.get(name, 0)
    return False


def drawn_table(
    tokens: Sequence[str], rows: int, rng: np.random.Generator, *, dummies: int = 0
) -> Table | None:
    """Draw samples of a law, or None where none were found in which all of it is seen.

    Parameters
    ----------
    tokens
        The law; its variables are ``x0`` to the highest.
    rows
        Number of rows of the table.
    dummies
        Columns that the law does not have, put at random places.
    """
    own = _highest([name for name in tokens if name not in ARITY])
    columns = own + dummies
    for attempt in range(_TRIES):
        far = rng.random() < 0.4  # noqa: PLR2004
        middles = np.clip(np.round(rng.normal(0, 8 if far else 1.2, columns)), -25, 25)
        width = np.where(rng.random(columns) < 0.85, 1.0, rng.uniform(0.1, 0.5, columns))  # noqa: PLR2004
        base = rng.uniform(-1, 1, (rows, columns)) * width
        even = rng.random(columns) < 0.1  # noqa: PLR2004
        base[:, even] = np.log10(rng.uniform(0.02, 2, (rows, int(even.sum()))))
        mixed = rng.random(columns) < (0.15 if attempt == 0 else 0.0)
        signs = np.where(mixed & (rng.random((rows, columns)) < 0.5), -1.0, 1.0)  # noqa: PLR2004
        X = signs * 10.0 ** (base + middles)
        many = sum(name == "const" for name in tokens)
        spread = np.where(rng.random(many) < 0.5, 0.7, 8.0)  # noqa: PLR2004
        numbers = np.clip(10.0 ** (rng.normal(0, 1, many) * spread), 1e-30, 1e30)
        with np.errstate(all="ignore"):
            balance = Balance(tokens, X, numbers.tolist(), movable=True)
            balance.settle()
            y, seen = balance.values(), balance.least_share()
            if not (seen > _SEEN and np.isfinite(y).all() and np.isfinite(X).all()):
                continue
            size = np.abs(y).max()
            if not 1e-60 < size < 1e60 or np.ptp(y) < 1e-6 * size:  # noqa: PLR2004
                continue
            if np.abs(X).max() > 1e40:  # noqa: PLR2004
                continue
        order = rng.permutation(columns)
        places = np.argsort(order)
        rights = sorted(places[:own].tolist())
        # Columns stay in the order of the law: only dummies come in between.
        full = np.empty(columns, dtype=np.int64)
        full[rights] = np.arange(own)
        others = [place for place in range(columns) if place not in set(rights)]
        full[others] = np.arange(own, columns)
        ranges = np.stack([np.log10(np.abs(X).min(0)), np.log10(np.abs(X).max(0))], axis=1)
        return Table(X[:, full], y, tuple(renumbered(tokens, rights)), ranges[full])
    return None


def features(X: Array, y: Array) -> Array:
    """Describe each cell of a table by numbers of about unit size.

    Parameters
    ----------
    X, y
        (n, d) and (n,), finite.

    Returns
    -------
    ndarray
        (n, d + 1, `FEATURES`); the target's column is the last one.  For each cell: decade of
        its column; decade within it, and how widely these spread; sign; value as a share of
        the largest; whether this is the target; the exponent that the column has in the product
        of powers nearest to the target (of the target: how near that is); the decade of the
        number in front of that product, and how near it is to 1; and what the product leaves
        of the target in this row, plain and as a share of what is left overall.
    """
    whole = np.column_stack([X, y])
    largest = np.abs(whole).max(axis=0)
    largest[largest == 0] = 1.0
    decades = np.log10(np.maximum(np.abs(whole), largest * 1e-30))
    middle, spread = decades.mean(axis=0), decades.std(axis=0)
    centred = decades - middle
    design = centred[:, :-1]
    gram = design.T @ design + 1e-9 * len(X) * np.eye(design.shape[1])
    powers = np.linalg.solve(gram, design.T @ centred[:, -1])
    left = centred[:, -1] - design @ powers
    size = math.sqrt(float(np.mean(left**2)))
    near = math.log10(size / max(float(spread[-1]), 1e-12) + 1e-8)
    front = float(middle[-1] - powers @ middle[:-1])
    close = math.log10(abs(front) + 1e-8)
    known = np.append(np.clip(powers, -6, 6) / 2, near / 4)
    shape = whole.shape
    cells = [
        np.broadcast_to(middle / 10, shape),
        centred / np.where(spread > 0, spread, 1.0),
        np.broadcast_to(spread, shape),
        np.sign(whole),
        whole / largest,
        np.broadcast_to(np.arange(shape[1]) == shape[1] - 1, shape),
        np.broadcast_to(known, shape),
        np.full(shape, np.clip(front, -60, 60) / 10),
        np.full(shape, close / 4),
        np.broadcast_to(np.clip(left, -3, 3)[:, np.newaxis], shape),
        np.broadcast_to(np.clip(left / max(size, 1e-9), -4, 4)[:, np.newaxis], shape),
    ]
    return np.stack(cells, axis=2).astype(np.float32)
