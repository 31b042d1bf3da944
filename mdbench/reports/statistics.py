"""Comparisons of methods: paired tests, intervals and ranks, in which a failure ranks last.

An error without an answer is infinite.  Two failures on the same system are a tie, and a
failure against an answer is the largest difference there is; nothing is dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "Friedman",
    "Wilcoxon",
    "bootstrap_medians",
    "difference",
    "draws",
    "friedman",
    "holm",
    "midranks",
    "studentized_range",
    "wilcoxon",
]

EXACT_UP_TO = 200
"""Pairs up to which the distribution under the null hypothesis is counted out."""


@dataclass(frozen=True)
class Wilcoxon:
    """A signed-rank test of paired differences.

    Attributes
    ----------
    n
        All pairs.
    zeros
        How many of them are ties.
    wins, losses
        How many differences are below zero, and above.
    w_plus, w_minus
        Sums of the ranks of the differences above zero, and below.
    p
        Two-sided; 1 where all pairs are ties.
    effect
        Matched-pairs rank-biserial correlation (W+ - W-) / (W+ + W-), from -1 (always below
        zero) to 1; 0 where all pairs are ties.
    exact
        Whether `p` was counted out; if not it is the normal approximation.
    """

    n: int
    zeros: int
    wins: int
    losses: int
    w_plus: float
    w_minus: float
    p: float
    effect: float
    exact: bool


@dataclass(frozen=True)
class Friedman:
    """A test of whether several methods rank alike.

    Attributes
    ----------
    mean_ranks
        By method; 1 is the best.
    p
        That they differ by chance.
    critical_difference
        Mean ranks further apart than this differ at the level 0.05 (Nemenyi).
    blocks
        Over how many systems.
    """

    mean_ranks: tuple[float, ...]
    p: float
    critical_difference: float
    blocks: int


def difference(loss: float, other: float) -> float:
    """Give the difference of two errors on a logarithmic scale; infinite errors are failures.

    Examples
    --------
    >>> difference(1e-3, 1e-1), difference(math.inf, 1.0), difference(math.inf, math.inf)
    (-2.0, inf, 0.0)
    """
    if loss == other:
        return 0.0
    if math.inf in (loss, other):
        return math.inf if loss > other else -math.inf
    return math.log10(loss) - math.log10(other)


def wilcoxon(differences: Sequence[float]) -> Wilcoxon:
    """Test whether paired differences lie around zero.

    Ties (zeros) are ranked with the others, and their ranks are then left out; equal sizes
    share the mean of their ranks, and so do infinite ones.

    Parameters
    ----------
    differences
        One for each pair, infinite ones included.

    References
    ----------
    Wilcoxon, Biometrics Bulletin 1, 80 (1945); the treatment of zeros is Pratt's, J. Am. Stat.
    Assoc. 54, 655 (1959); the effect size is Kerby's, Comprehensive Psychology 3, 1 (2014).
    """
    d = np.asarray(differences, np.float64)
    zeros = int(np.sum(d == 0))
    ranks = midranks(np.abs(d))
    plus, minus = float(ranks[d > 0].sum()), float(ranks[d < 0].sum())
    counted = ranks[d != 0]
    exact = len(d) <= EXACT_UP_TO
    p = _counted_out(counted, min(plus, minus)) if exact else _normal(counted, plus)
    total = plus + minus
    return Wilcoxon(
        n=len(d),
        zeros=zeros,
        wins=int(np.sum(d < 0)),
        losses=int(np.sum(d > 0)),
        w_plus=plus,
        w_minus=minus,
        p=p,
        effect=(plus - minus) / total if total else 0.0,
        exact=exact,
    )


def _counted_out(ranks: Array, smaller: float) -> float:
    """Count the ways to give signs to the ranks whose sum is as far out, of all the ways."""
    doubled = np.rint(2 * ranks).astype(int)  # midranks are halves
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] += ways[:-rank].copy()
        ways /= 2  # probabilities, which do not overflow
    below = float(ways[: round(2 * smaller) + 1].sum())
    return min(1.0, 2 * below)


def _normal(ranks: Array, plus: float) -> float:
    spread = math.sqrt(float((ranks**2).sum())) / 2
    if spread == 0:
        return 1.0
    return float(2 * special.ndtr(-abs(plus - ranks.sum() / 2) / spread))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of several tests, in the order in which they are given.

    References
    ----------
    Holm, Scand. J. Stat. 6, 65 (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


def friedman(scores: Array, level: float = 0.05) -> Friedman:
    """Rank methods on each system, and test whether their mean ranks differ.

    Parameters
    ----------
    scores
        Lower is better, infinite ones included; shape ``(systems, methods)``.
    level
        Of the critical difference.

    References
    ----------
    Demšar, J. Mach. Learn. Res. 7, 1 (2006): eq. for Friedman's test with ties as in SciPy,
    Nemenyi's critical difference q sqrt(k (k+1) / (6 N)).
    """
    blocks, methods = scores.shape
    ranks = np.array([midranks(row) for row in scores]).reshape(blocks, methods)
    mean_ranks = tuple(float(rank) for rank in ranks.mean(axis=0))
    spread = float(((ranks - (methods + 1) / 2) ** 2).sum())
    if spread == 0 or methods < 2:  # noqa: PLR2004 - nothing to compare
        p = 1.0
    else:
        between = blocks * float(((ranks.mean(axis=0) - (methods + 1) / 2) ** 2).sum())
        p = float(special.chdtrc(methods - 1, between * blocks * (methods - 1) / spread))
    q = studentized_range(1 - level, max(methods, 2)) / math.sqrt(2)
    return Friedman(mean_ranks, p, q * math.sqrt(methods * (methods + 1) / (6 * blocks)), blocks)


def midranks(values: Array | Sequence[float]) -> Array:
    """Rank values from 1; equal ones, infinite ones included, share the mean of their ranks.

    Examples
    --------
    >>> midranks([0.1, 5.0, 0.1, math.inf]).tolist()
    [1.5, 3.0, 1.5, 4.0]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places], np.float64)


def studentized_range(probability: float, groups: int) -> float:
    """Give the quantile of the range of so many standard normal numbers.

    It is what SciPy's ``studentized_range`` has for infinitely many degrees of freedom; all of
    ``scipy.stats`` takes longer to import than a report to make.
    """
    z = np.linspace(-9.0, 9.0, 4001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

    def excess(q: float) -> float:
        within = special.ndtr(z + q) - special.ndtr(z)
        share = groups * np.trapezoid(density * within ** (groups - 1), z)
        return float(share) - probability

    return float(optimize.brentq(excess, 0.0, 60.0, xtol=1e-10))


def draws(number: int, size: int) -> NDArray[np.int64]:
    """Draw `number` samples of `size` out of `size`, with replacement.

    The numbers are those of the generator Mulberry32 (public domain) with seed 0, so that the
    page, which draws anew under its filters, draws the same.

    Returns
    -------
    NDArray
        How often each one was drawn; shape ``(number, size)``.
    """
    steps = np.arange(1, number * size + 1, dtype=np.uint64)
    state = (steps * np.uint64(0x6D2B79F5)).astype(np.uint32)
    mixed = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    mixed ^= mixed >> np.uint32(14)
    drawn = (mixed.astype(np.float64) / 2**32 * size).astype(np.int64).reshape(number, size)
    counts = np.zeros((number, size), np.int64)
    np.add.at(counts, (np.arange(number)[:, None], drawn), 1)
    return counts


def bootstrap_medians(
    losses: Sequence[float], systems: Sequence[int], counts: NDArray[np.int64]
) -> tuple[float, float]:
    """Give the 95 % interval of a median when whole systems are drawn anew.

    Parameters
    ----------
    losses
        Of each case; infinite ones are failures.
    systems
        The system of each case, an index into the second axis of `counts`: the noise levels of
        a system do not vary independently, so they are drawn together.
    counts
        As made by `draws`.

    Returns
    -------
    tuple
        The ends of the interval; infinite where the median is a failure.
    """
    order = np.argsort(np.asarray(losses), kind="stable")
    ordered = np.asarray(losses, np.float64)[order]
    weights = counts[:, np.asarray(systems)[order]].cumsum(axis=1)
    half = weights[:, -1:] / 2
    drawn = weights[:, -1] > 0
    lower = ordered[np.argmax(weights >= half, axis=1)][drawn]
    upper = ordered[np.argmax(weights > half, axis=1)][drawn]
    medians = np.sort((lower + upper) / 2)
    return (
        float(medians[int(0.025 * len(medians))]),
        float(medians[min(len(medians) - 1, int(0.975 * len(medians)))]),
    )
