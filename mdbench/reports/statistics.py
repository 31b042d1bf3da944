"""Comparisons of methods: paired tests, intervals and ranks, in which a failure ranks last.

A loss without an answer is infinite.  Two failures on the same system are a tie, and a failure
against an answer is the largest difference there is; nothing is dropped.

Of SciPy's statistics only what is seldom needed is used: importing them takes a second.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_NORMAL = 1.959963984540054
"""The quantile of the normal distribution that leaves 2.5 % above it."""
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


def difference(loss: float, other: float, *, log: bool) -> float:
    """Return the difference of two losses, or of their logarithms; infinite ones are failures.

    A loss is a score that is turned so that lower is better: both have one sign.

    Examples
    --------
    >>> difference(1e-3, 1e-1, log=True), difference(-0.75, -0.5, log=False)
    (-2.0, -0.25)
    >>> difference(math.inf, 1.0, log=True), difference(math.inf, math.inf, log=True)
    (inf, 0.0)
    """
    if loss == other:
        return 0.0
    if math.inf in (loss, other):
        return math.inf if loss > other else -math.inf
    if not log:
        return loss - other
    sizes = (max(abs(each), sys.float_info.min) for each in (loss, other))
    own, theirs = map(math.log10, sizes)
    return own - theirs if max(loss, other) > 0 else theirs - own


def midranks(values: Array) -> Array:
    """Rank numbers from 1; equal ones, infinite ones too, share the mean of their ranks.

    Examples
    --------
    >>> midranks(np.array([0.5, math.inf, 0.1, 0.5]))
    array([2.5, 4. , 1. , 2.5])
    """
    ordered = np.sort(values)
    before, up_to = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray((before + up_to + 1) / 2, np.float64)


@lru_cache
def studentized_range(share: float, groups: int) -> float:
    """Return the quantile of the range of so many standard normal numbers.

    Examples
    --------
    >>> round(studentized_range(0.95, 3), 3)
    3.314

    References
    ----------
    Demšar, J. Mach. Learn. Res. 7, 1 (2006), table 5: these quantiles divided by sqrt(2).
    """
    from scipy.special import ndtr  # noqa: PLC0415 - takes a moment

    z = np.linspace(-9.0, 9.0, 1801)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    low, high = 0.0, 40.0
    while high - low > 1e-12 * high:
        q = (low + high) / 2
        # The largest lies at z, and all others between z - q and z.
        below = groups * float(np.sum(density * (ndtr(z) - ndtr(z - q)) ** (groups - 1))) * 0.01
        low, high = (q, high) if below < share else (low, q)
    return high


def wilcoxon(differences: Sequence[float] | Array) -> Wilcoxon:
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
    total = plus + minus
    if exact:
        p = _counted_out(counted, min(plus, minus))
    elif not total:
        p = 1.0
    else:
        from scipy import stats  # noqa: PLC0415 - see above

        p = float(stats.wilcoxon(d, zero_method="pratt", method="approx").pvalue)
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
    """Count the ways to give signs to the ranks whose sum is as far out, of all the ways.

    SciPy counts them only where there are no ties.
    """
    doubled = np.rint(2 * ranks).astype(int)  # midranks are halves
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] += ways[:-rank].copy()
        ways /= 2  # probabilities, which do not overflow
    below = float(ways[: round(2 * smaller) + 1].sum())
    return min(1.0, 2 * below)


def wilson(share: float, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many independent trials.

    References
    ----------
    Wilson, J. Am. Stat. Assoc. 22, 209 (1927).

    Examples
    --------
    >>> low, high = wilson(0.0, 10)
    >>> low, round(high, 3)
    (0.0, 0.278)
    """
    z2 = _NORMAL**2
    centre = share + z2 / (2 * number)
    half = _NORMAL * math.sqrt(share * (1 - share) / number + z2 / (4 * number**2))
    ends = ((centre + sign * half) / (1 + z2 / number) for sign in (-1, 1))
    low, high = (min(1.0, max(0.0, round(end, 12))) for end in ends)
    return low, high


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
        Lower is better, infinite ones included; shape ``(systems, methods)``, two at least.
    level
        Of the critical difference.

    References
    ----------
    Demšar, J. Mach. Learn. Res. 7, 1 (2006): Nemenyi's critical difference
    q sqrt(k (k+1) / (6 N)).
    """
    from scipy.special import bdtr, chdtrc  # noqa: PLC0415 - takes a moment

    blocks, methods = scores.shape
    ranks = np.array([midranks(row) for row in scores])
    mean_ranks = tuple(float(rank) for rank in ranks.mean(axis=0))
    if np.ptp(ranks) == 0:
        p = 1.0
    elif methods == 2:  # noqa: PLR2004 - then it is the sign test, which is exact
        wins = [int(np.sum(np.diff(scores) < 0)), int(np.sum(np.diff(scores) > 0))]
        p = min(1.0, 2 * float(bdtr(min(wins), sum(wins), 0.5)))
    else:
        # With ties the variance of the ranks is less than that of 1 to `methods`.
        spread = ranks - (methods + 1) / 2
        between = float((spread.sum(axis=0) ** 2).sum())
        p = float(chdtrc(methods - 1, (methods - 1) * between / float((spread**2).sum())))
    q = studentized_range(1 - level, methods) / math.sqrt(2)
    return Friedman(mean_ranks, p, q * math.sqrt(methods * (methods + 1) / (6 * blocks)), blocks)


def draws(number: int, repeats: Sequence[int]) -> NDArray[np.int64]:
    """Draw `number` samples of systems, and of each that is drawn samples of its repeats.

    As many systems as there are, with replacement, and of each time that a system is drawn as many
    repeats (seeds) as it has, again with replacement: a hierarchical bootstrap.  The numbers are
    those of the generator Mulberry32 (public domain) with seed 0, so that the page, which draws
    again under its filters, draws the same.

    Parameters
    ----------
    repeats
        How many each system has, one at least.

    Returns
    -------
    NDArray
        How often each repeat of each system was drawn; shape ``(number, sum(repeats))``, the
        repeats of a system side by side.

    References
    ----------
    Davison, Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8.
    """
    return _draws(number, tuple(repeats))


@lru_cache(maxsize=8)  # most methods of a board have the same systems and seeds
def _draws(number: int, repeats: tuple[int, ...]) -> NDArray[np.int64]:
    size, most = len(repeats), max(repeats)
    per_system = 1 if most == 1 else 1 + most  # of one repeat there is nothing to draw
    shares = _shares(number * size * per_system).reshape(number, size, per_system)
    systems = (shares[..., 0] * size).astype(np.int64)
    having = np.asarray(repeats, np.int64)
    first = np.cumsum(having) - having
    width = int(having.sum())
    row = np.arange(number)[:, None] * width
    if most == 1:
        drawn = row + systems
    else:
        own = having[systems][..., None]
        seeds = (shares[..., 1:] * own).astype(np.int64) + (row + first[systems])[..., None]
        drawn = seeds[np.arange(most) < own]
    counts = np.bincount(drawn.ravel(), minlength=number * width).reshape(number, width)
    counts.setflags(write=False)
    return counts


def _shares(number: int) -> Array:
    """Return numbers from 0 to 1, by the generator Mulberry32 with seed 0."""
    steps = np.arange(1, number + 1, dtype=np.uint64)
    state = (steps * np.uint64(0x6D2B79F5)).astype(np.uint32)
    mixed = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    mixed ^= mixed >> np.uint32(14)
    shares: Array = mixed.astype(np.float64) / 2**32
    return shares


def bootstrap(
    values: Sequence[float] | Array,
    places: Sequence[int],
    counts: NDArray[np.int64],
    *,
    mean: bool,
) -> tuple[float, float]:
    """Return the 95 % interval of a median, or of a mean, when systems and repeats are resampled.

    Parameters
    ----------
    values
        The value of each job; infinite values are failures.
    places
        The repeat of the system of each job, an index into the second axis of `counts`: the noise
        levels of a system do not vary independently, so they are drawn together.
    counts
        As made by `draws`.
    mean
        Whether it is the mean.

    Returns
    -------
    tuple
        The ends of the interval; infinite where what is drawn is a failure.
    """
    order = np.argsort(np.asarray(values), kind="stable")
    ordered = np.asarray(values, np.float64)[order]
    drawn = counts[:, np.asarray(places)[order]]
    drawn = drawn[drawn.any(axis=1)]
    if mean:
        parts = drawn * np.where(np.isinf(ordered), 0.0, ordered)
        means = parts.sum(axis=1) / drawn.sum(axis=1)
        for worst in (math.inf, -math.inf):
            means[drawn[:, ordered == worst].any(axis=1)] = worst
    else:
        weights = drawn.cumsum(axis=1)
        half = weights[:, -1:] / 2
        lower = ordered[np.argmax(weights >= half, axis=1)]
        upper = ordered[np.argmax(weights > half, axis=1)]
        means = (lower + upper) / 2
    means = np.sort(means)
    last = len(means) - 1
    return float(means[int(0.025 * len(means))]), float(means[min(last, int(0.975 * len(means)))])


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the values below which a quarter, and three quarters, of some values are."""
    ordered = sorted(values)
    return ordered[len(ordered) // 4], ordered[min(len(ordered) - 1, 3 * len(ordered) // 4)]
