"""What in the user's data hurts the search for equations, and what to do about it.

Each check returns lines, none where there is nothing to say.  They are made for data in which the
trouble is plain; a line names the column, the number that was seen, and the next step.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mdbench.datatypes.equations.alike import FEW, independent_columns
from mdbench.datatypes.equations.hidden_states import hidden_causes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.data.smoothing import Smoothed
    from mdbench.data.trajectory import Trajectory

    Array = NDArray[np.float64]

_SPIKE, _SPIKE_SHARE, _FEW = 8.0, 0.3, 0.03
"""A sample stands out that is so many usual distances from the cubic through its neighbours, and
this share of the deviation; where more than the third share of all do, it is noise."""
_PATTERN = np.array([1.0, -4.0, 6.0, -4.0, 1.0]) / 6.0
"""The residuals that a single spike leaves; they are also the filter that finds it."""
_LIKENESS = 0.95
_NEARBY = 12
_GAP = 5.0
"""A step so many times the median one is a gap."""
_FAR = 30.0
"""Deviations from zero of an offset that is worth a word."""
_SIZES = 1e-3, 1e4
_APART = 1e4
"""Sizes of columns worth a word, and the ratio of two."""
_HARDLY = 1.5
"""A state that moves by fewer deviations of its noise hardly moves."""
_LASTS = 5
"""Samples that a value lasts on average in a column that is set from outside."""
_STEP = 0.25
"""A change of an input by a larger share of its range is a step."""
_JUMP, _JUMP_SHARE, _MANY = 8.0, 0.2, 0.1
"""A state jumps that changes so many times faster than in the steps around, by this share of its
range; at a larger share of the samples it is its way to move."""
_SHORT_RUN, _LONG_RUN = 4, 8
"""Equal samples at an end of the range, and within it, that are worth a word."""
_STEEP, _SLOW = 2.5, 0.1
"""A state was moving that changed by so many of its smallest steps, and by this share of its usual
one, or of its range."""
_STEADY = 0.1
"""A state that deviates by no larger share of its mean may be an input."""
_UNEXPLAINED, _EXPLAINED = 0.1, 0.1
"""A share of squared rates that cubics in the states do not explain, and what remains of that
where the missing quantity is added."""
_MAP_SAMPLES, _MAP_LEFT, _MAP_MOVES = 4.0, 0.02, 0.5
_NEAR, _FAR_RATES, _PAIRS = 0.1, 0.5, 10
"""States so near each other, in deviations, that have rates so different, in their size, on the
mean: these are no function of those; of so many pairs at least."""
_QUIET, _UNLIKE = 0.015, 0.5
"""Noise, in deviations, of quiet data; of unlike rates the squared differences are so large a share
of their squares (1 for rates that have nothing in common)."""
_ENDS = 3
"""Nodes at each end of an axis where third differences are not central."""
_HOUR = 1.0 / 24.0
_ALIKE = 1e-4
"""A derivative and the state are not separable if a fit of one to the other leaves less."""
_VARIES = 0.2
"""Ratio of the residual of a fit to each half of a field to that of one fit to both."""
_LONGEST = 1_000


def of_states(names: Sequence[str], trajectory: Trajectory, curves: Smoothed | None) -> list[str]:
    """Return warnings of trajectories.

    Parameters
    ----------
    names
        Of the states.
    curves
        The smoothed states of the longest trajectory; None where it is too short.
    """
    pieces = trajectory.pieces
    longest = max(pieces, key=lambda one: len(one.t))
    switched = [place for place in range(trajectory.u.shape[1]) if is_switched(longest.u[:, place])]
    steps = _steps_of_inputs(longest, switched)
    states = [place for place in range(trajectory.u.shape[1]) if place not in switched]
    flat, rows = _flat(names, longest, states, steps)
    broken = [
        *(_switched(names[place], longest.u[:, place]) for place in switched),
        *_outliers(names, longest, states, steps),
        *_jumps(names, longest, states, steps | rows),
        *flat,
        *_empty_rows(longest),
    ]
    lines = [
        *broken,
        *_gaps(pieces),
        *_few_rows(trajectory),
        *_offsets_and_sizes(names, trajectory.u),
    ]
    if curves is None:
        return lines
    lines += _hardly_moving(names, trajectory.u, curves)
    if line := _like_a_map(names, longest):
        return [*lines, line]
    # What breaks the curves has a remedy of its own, and rates mean little before it.
    return lines if broken else [*lines, *_not_of_states(names, longest, curves, steps)]


def unit_of_rates(step: float, unit: str) -> list[str]:
    """Return a warning where times are in days, and their steps far shorter."""
    if unit.lower() not in {"d", "day", "days"} or step >= _HOUR:
        return []
    return [
        (
            f"rates are per day, and samples are {step * 86400.0:.3g} s apart: write the time in "
            "seconds, minutes or hours for constants of a handy size"
        )
    ]


def is_switched(u: Array) -> bool:
    """Return whether a column has few values, each for several samples, as what is set has."""
    blocks = 1 + np.count_nonzero(np.diff(u))
    return 1 < len(np.unique(u)) <= FEW and bool(blocks <= len(u) / _LASTS)


def _switched(name: str, u: Array) -> str:
    values = ", ".join(f"{value:g}" for value in np.unique(u))
    return (
        f"{name}: only the values {values}, in steps, as of what is set from outside: where "
        f"nothing in the system changes it, it is an input: --inputs {name} --hold zero"
    )


def _steps_of_inputs(trajectory: Trajectory, switched: Sequence[int]) -> NDArray[np.bool_]:
    """Return at which samples (n,) an input steps, or a column that looks like one."""
    known = [trajectory.u[:, list(switched)]] + (
        [] if trajectory.inputs is None else [trajectory.inputs]
    )
    columns = np.concatenate(known, axis=1)
    stepped = np.zeros(len(trajectory.t), dtype=bool)
    if columns.shape[1]:
        steps = np.abs(np.diff(columns, axis=0)) > _STEP * np.ptp(columns, axis=0)
        stepped[1:] = steps.any(axis=1)
    return stepped


def _near(rows: NDArray[np.bool_], distance: int) -> NDArray[np.bool_]:
    """Return which rows are so near one of these."""
    return np.convolve(rows, np.ones(2 * distance + 1), mode="same") > 0


def _jumps(
    names: Sequence[str], trajectory: Trajectory, states: Sequence[int], steps: NDArray[np.bool_]
) -> list[str]:
    """Name states that jump from one course to another, as at a dose."""
    if len(trajectory.t) < 15:  # noqa: PLR2004 - too few to know what is usual
        return []
    lines = []
    of_input = _near(steps, 2)[1:]
    for state in states:
        u = trajectory.u[:, state]
        changes = np.abs(np.diff(u))
        if not changes.any():
            continue
        rates = changes / np.diff(trajectory.t)
        # Of digits and counts the least step is no jump, whatever rests around it.
        beside = np.min(changes[changes > 0]) / np.diff(trajectory.t)
        for away in (1, 2):
            beside[away:] = np.maximum(beside[away:], rates[:-away])
            beside[:-away] = np.maximum(beside[:-away], rates[away:])
        large = changes > _JUMP_SHARE * np.ptp(u)
        large[[0, 1, -2, -1]] = False  # of which one side is not known
        jumped = 1 + np.flatnonzero((rates > _JUMP * beside) & large & ~of_input)
        if 0 < len(jumped) <= _MANY * len(u):
            times = ", ".join(f"{float(trajectory.t[k]):.6g}" for k in jumped[:5])
            lines.append(
                f"{names[state]}: jumps within one step (at {times}): where something acts there, "
                "such as a dose, no equation of these columns has it: begin a new trajectory after "
                "each jump, or give what acts as an input (--inputs)"
            )
    return lines


def _flat(
    names: Sequence[str], trajectory: Trajectory, states: Sequence[int], steps: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.bool_]]:
    """Name states that keep one value where they were moving: a sensor that is stuck or at an end.

    The rows (n,) at which that begins and ends are returned, too.

    A state that comes to rest slows down before, and a rounded one turns in steps of its last
    digit; neither is named, nor what is 0, which a quantity may well be for a while, nor what comes
    before the first change.
    """
    lines: list[str] = []
    rows = np.zeros(len(trajectory.t), dtype=bool)
    of_input = _near(steps, 2)
    for state in states:
        u = trajectory.u[:, state]
        changes = np.abs(np.diff(u))
        moved = np.flatnonzero(changes)
        if len(moved) < _SHORT_RUN or len(np.unique(u)) <= FEW:
            continue
        least = _STEEP * float(np.min(changes[moved]))
        least = max(least, _SLOW * float(np.sqrt(np.mean(changes**2))))
        clipped: list[int] = []
        stuck: list[tuple[int, int]] = []
        low, high = float(u.min()), float(u.max())
        for before, after in pairwise([*moved.tolist(), len(u) - 1]):
            first, last = before + 1, after
            count = last - first + 1
            entered = float(np.max(changes[max(before - 1, 0) : before + 1]))
            left = least if after == len(u) - 1 else float(np.max(changes[after : after + 2]))
            steep = entered >= least and left >= least
            if not steep or u[first] == 0 or of_input[first : last + 2].any():
                continue
            if u[first] in {low, high} and count >= _SHORT_RUN:
                clipped.append(first)
            elif count >= _LONG_RUN:
                stuck.append((first, last))
            else:
                continue
            rows[[first, min(last + 1, len(u) - 1)]] = True
        lines += [
            f"{names[state]}: the same value from {float(trajectory.t[first]):.6g} to "
            f"{float(trajectory.t[last]):.6g}, though it moved before: a sensor that was stuck? "
            "empty "
            "those cells, and let --missing say what becomes of them"
            for first, last in stuck[:3]
        ]
        if clipped:
            ends = sorted({float(u[row]) for row in clipped})
            lines.append(
                f"{names[state]}: stops at {' and '.join(f'{end:.6g}' for end in ends)} "
                f"(first at {float(trajectory.t[clipped[0]]):.6g}), as at the end of a sensor's "
                "range: "
                "equations explain the end, not the system; empty those cells, and let --missing "
                "say what becomes of them"
            )
    return lines, rows


def _outliers(
    names: Sequence[str], trajectory: Trajectory, states: Sequence[int], steps: NDArray[np.bool_]
) -> list[str]:
    if len(trajectory.t) < 15:  # noqa: PLR2004 - too few to know what is usual
        return []
    lines = []
    of_input = _near(steps, 3)
    for name, u in ((names[place], trajectory.u[:, place]) for place in states):
        missed = sliding_window_view(u, 5) @ _PATTERN  # at samples 2, 3, ...
        around = sliding_window_view(missed, 5)  # at samples 4, 5, ...
        size = np.linalg.norm(around, axis=1) * np.linalg.norm(_PATTERN)
        alike = np.abs(around @ _PATTERN) >= _LIKENESS * np.maximum(size, 1e-300)
        apart = np.abs(missed[2:-2])
        # Noise may grow with the state, and so that near a sample counts.
        half = min(_NEARBY, len(missed) // 2 - 1)
        nearby = sliding_window_view(np.pad(np.abs(missed), half, mode="reflect"), 2 * half + 1)
        usual = 1.4826 * np.maximum(np.median(nearby, axis=1)[2:-2], np.median(np.abs(missed)))
        spread = float(np.subtract(*np.percentile(u, [84, 16]))) / 2
        far = 4 + np.flatnonzero(
            alike & (apart > np.maximum(_SPIKE * usual, _SPIKE_SHARE * spread + 1e-300))
        )
        far = far[~of_input[far]]
        if 0 < len(far) <= max(3, _FEW * len(u)):
            places = ", ".join(f"{float(trajectory.t[k]):.6g}" for k in far[:5])
            lines.append(
                f"{name}: {len(far)} sample{'s' * (len(far) > 1)} stand{'s' * (len(far) == 1)} out "
                f"(at {places}): one spike can decide about an equation; mend the cells, or empty "
                "them and give --missing interpolate"
            )
    return lines


def _empty_rows(trajectory: Trajectory) -> list[str]:
    """Name rows of zeros in the midst of others: a system that comes to rest slows down before."""
    zero = (trajectory.u == 0).all(axis=1)
    if not zero.any() or trajectory.u.shape[1] == 1 or zero.sum() > len(zero) // 2:
        return []
    far = np.abs(trajectory.u) > _SLOW * np.ptp(trajectory.u, axis=0)
    edges = np.flatnonzero(np.diff(zero.astype(int), prepend=0, append=0))
    runs = [
        (first, end)
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if first > 0 and end < len(zero) and far[first - 1].any() and far[end].any()
    ]
    count = sum(end - first for first, end in runs)
    if not count:
        return []
    first = float(trajectory.t[runs[0][0]])
    return [
        (
            f"{count} row{'s' * (count > 1)} with zeros alone, the first at {first:.6g}: where "
            "nothing was measured leave the cells empty, and give --missing drop"
        )
    ]


def _gaps(pieces: Sequence[Trajectory]) -> list[str]:
    steps = [np.diff(one.t) for one in pieces]
    every = np.concatenate(steps)
    if len(every) < 10:  # noqa: PLR2004 - too few to know what is usual
        return []
    most, usual = max(range(len(steps)), key=lambda k: steps[k].max()), float(np.median(every))
    k = int(np.argmax(steps[most]))
    if steps[most][k] < _GAP * usual:
        return []
    piece = pieces[most]
    count = int(np.sum(every >= _GAP * usual))
    more = f", the longest of {count} such gaps" if count > 1 else ""
    part = "part" if len(pieces) == 1 else "part (one for each part of each trajectory)"
    return [
        (
            f"no samples from {float(piece.t[k]):.6g} to {float(piece.t[k + 1]):.6g}, "
            f"{steps[most][k] / usual:.0f} usual steps{more}: what is between is a guess; add a "
            f"column that numbers the parts, 1 before a gap and 2 behind it, such as {part}, and "
            "give --trajectory part"
        )
    ]


def _few_rows(given: Trajectory) -> list[str]:
    inputs = 0 if given.inputs is None else given.inputs.shape[1]
    columns, rows = given.u.shape[1] + inputs, len(given.t)
    terms = comb(columns + 2, 2)
    if terms <= rows:
        return []
    return [
        (
            f"{columns} columns have {terms} products of at most two factors, and there are {rows} "
            "rows: anything can be fitted; give fewer columns, or more rows"
        )
    ]


def _offsets_and_sizes(names: Sequence[str], u: Array) -> list[str]:
    mean, deviation = np.abs(np.mean(u, axis=0)), np.std(u, axis=0)
    moving = deviation > 1e-14 * mean
    lines = []
    for name, far, spread in zip(names, mean, deviation, strict=True):
        if spread > 1e-14 * far and far > _FAR * spread:
            lines.append(
                f"{name}: an offset of {far / spread:.2g} deviations; it is taken off for methods "
                "that can undo it (SINDy's kin, PySINDy, integral, weakform), for others subtract "
                "it yourself"
            )
    sizes = np.sqrt(mean**2 + deviation**2)[moving]
    low, high = _SIZES
    if len(sizes) and (
        sizes.min() < low or sizes.max() > high or sizes.max() > _APART * sizes.min()
    ):
        lines.append(
            f"values from {sizes.min():.2g} to {sizes.max():.2g}: methods that are not scaled for "
            "you do better with units in which all are near 1"
        )
    return lines


def _hardly_moving(names: Sequence[str], u: Array, curves: Smoothed) -> list[str]:
    spread, noise = np.std(u, axis=0), np.sqrt(curves.variances)
    mean = np.abs(np.mean(u, axis=0))
    hardly = [
        (name, float(s / n), bool(s <= _STEADY * size))
        for name, s, n, size, remark in zip(names, spread, noise, mean, curves.remarks, strict=True)
        if not remark and n > 0 and 0 < s < _HARDLY * n
    ]
    # What is far from steady, or all that there is, is no input: its noise hides how it moves.
    every = len(hardly) == len(names)
    hidden = ", ".join(name for name, _, steady in hardly if every or not steady)
    lines = [
        f"{name}: hardly moves, {times:.1f} times its noise: nothing can be learnt of its "
        "rate; measure where it changes, or give it as an input: --inputs " + name
        for name, times, steady in hardly
        if steady and not every
    ]
    if hidden:
        lines.append(
            f"{hidden}: noise is most of what changes: average samples, or measure more of them"
        )
    return lines


def _like_a_map(names: Sequence[str], one: Trajectory) -> str:
    """Return a warning where each state follows from the last, and there is no curve between."""
    u = one.u[:_LONGEST]
    turns = np.mean(np.diff(np.sign(np.diff(u, axis=0)), axis=0) != 0)
    if len(u) < 30 or turns < 2 / _MAP_SAMPLES:  # noqa: PLR2004 - too few to know
        return ""
    z = _unit(u)
    left = _unexplained_share(_products(z[:-1], 2), z[1:])
    moves = float(np.sum(np.diff(z, axis=0) ** 2) / np.sum(z[1:] ** 2))
    if left > _MAP_LEFT or moves < _MAP_MOVES:  # noise about a curve turns as often
        return ""
    return (
        f"{', '.join(names)}: each row follows from the last one, and turns at nearly every one: a "
        "discrete map, not a rate; give the next values as targets of a table (--data-type srsd "
        "or real)"
    )


def _not_of_states(
    names: Sequence[str], trajectory: Trajectory, curves: Smoothed, steps: NDArray[np.bool_]
) -> list[str]:
    """Return a warning where rates are no function of the states, away from steps of inputs."""
    n = min(len(trajectory.t), _LONGEST)
    inner = 2 + np.flatnonzero(~_near(steps, 1)[2 : n - 2])
    t, u, du = trajectory.t[inner], curves.u[inner], curves.du[inner]
    if len(t) < 30 or u.shape[1] > 4:  # noqa: PLR2004 - too few, or too many products
        return []
    z, rates = _unit(u), du / _sizes(du)
    columns = z
    if trajectory.inputs is not None:
        columns = np.concatenate([z, _unit(trajectory.inputs[inner])], axis=1)
    of_states = _products(columns, 3)
    if of_states.shape[1] > len(t) // 3:
        return []
    worst = max(range(u.shape[1]), key=lambda k: _unexplained_share(of_states, rates[:, [k]]))
    unexplained = _unexplained_share(of_states, rates[:, [worst]])
    quiet = float(curves.variances[worst]) < _QUIET**2 * float(np.var(u[:, worst]))
    if unexplained < _UNEXPLAINED or not _differ_at_equal(columns, rates[:, worst], quiet=quiet):
        return []
    said = (
        f"{names[worst]}: its rate is no smooth function of the columns "
        f"({unexplained:.0%} unexplained)"
    )
    if u.shape[1] == 1 and (
        causes := hidden_causes(t, z, rates, lambda a, b: _unexplained_share(_products(a, 3), b))
    ):
        return [f"{said}: {causes}"]
    s = (2 * (t - t[0]) / (t[-1] - t[0]) - 1)[:, None]
    with_time = _products(np.concatenate([columns, s], axis=1), 3)
    if (
        with_time.shape[1] <= len(t) // 3
        and _unexplained_share(with_time, rates[:, [worst]]) < _EXPLAINED * unexplained
    ):
        return [
            (
                f"{said}, but of them and the time: a state is missing, or something acts from "
                "outside that changes with time; add its column, or, where the law itself has the "
                "time in it, one for the time (--inputs)"
            )
        ]
    return [
        (
            f"{said}: a state is missing, or something acts from outside; add the column (--inputs "
            "for what acts), its rate, or values some samples ago (delay coordinates)"
        )
    ]


def _differ_at_equal(columns: Array, rates: Array, *, quiet: bool) -> bool:
    """Return whether rates differ where all columns are nearly equal, at other times.

    They do so by their size; of quiet data also where those of such pairs are as different as
    any two, as of an epidemic that grows and decays: then most pairs are at times of small rates.
    """
    n = len(columns)
    apart = np.sqrt(np.sum((columns[:, None] - columns[None]) ** 2, axis=-1))
    i, j = np.nonzero(apart < _NEAR * np.sqrt(columns.shape[1]))
    later = j - i > max(3, n // 20)
    differences = np.abs(rates[i[later]] - rates[j[later]])
    if len(differences) < _PAIRS or float(np.mean(differences)) > _FAR_RATES:
        return len(differences) >= _PAIRS
    power = float(np.sum(rates[i[later]] ** 2 + rates[j[later]] ** 2))
    return quiet and float(np.sum(differences**2)) > _UNLIKE * power


def of_field(names: Sequence[str], field: Field, smoothed: Sequence[Array]) -> list[str]:
    """Return warnings of a field.

    Parameters
    ----------
    names
        Of the states.
    smoothed
        The rate of each state, smoothed in time, shaped like a state.
    """
    u = field.u
    flat = u.reshape(-1, u.shape[-1])
    lines = _offsets_and_sizes(names, flat)
    independent, _ = independent_columns(names, flat, len(names))
    lines += [
        f"{name}: constant, or a multiple of another state: leave it out of the file, since nobody "
        "can tell what either of the two does"
        for place, name in enumerate(names)
        if place not in independent
    ]
    still = np.ptp(u.reshape(-1, *u.shape[-2:]), axis=0).max(axis=1) == 0  # a frame of equal values
    if still[1:].any() and not still.all():
        at = float(field.t[1 + int(np.argmax(still[1:]))])
        lines.append(
            f"{int(still[1:].sum())} of {len(still)} times have one value everywhere, the first at "
            f"{at:.6g}: leave out times at which nothing was measured"
        )
    axis, nodes = next(iter(field.grid.items()))
    if len(field.grid) == 1 and len(nodes) == len(field.t):
        lines.append(
            f"as many places as times: u is read as ({axis}, t); where the time comes first: "
            f"--axes t,{axis}"
        )
    x = np.moveaxis(u, 0, -1)  # (..., n_t, d, n_x)
    if len(nodes) <= 2 * _ENDS:
        return lines
    for state, name in enumerate(names):
        # In units of their own, so that no square is too large or too small for a float.
        scaled = _of_size_one(x[..., state, :])
        first, second = np.gradient(scaled, axis=-1), np.zeros_like(scaled)
        second[..., 1:-1] = np.diff(scaled, n=2, axis=-1)
        inner = (..., slice(_ENDS, -_ENDS))
        third = np.gradient(second, axis=-1)[inner]
        value, first, second = scaled[inner], first[inner], second[inner]
        rate = _of_size_one(np.moveaxis(smoothed[state], 0, -1)[inner])
        flat = np.stack([np.ones(value.size), value.ravel()], axis=1)
        if np.ptp(value) > 0 and _unexplained_share(flat, second.reshape(-1, 1)) < _ALIKE:
            lines.append(
                f"{name}: its second derivative along {axis} is a multiple of it, a wave of one "
                "length: which of the two is in the law cannot be known; start from several waves"
            )
            continue
        lines += _varying(name, axis, (value, first, second, third, value * first), rate)
    return lines


def _varying(name: str, axis: str, terms: Sequence[Array], rate: Array) -> list[str]:
    """Return a warning where the halves of an axis have coefficients of their own."""
    n = rate.shape[-1]
    halves = slice(0, n // 2), slice(n // 2, n)
    columns = [np.stack([one[..., part].ravel() for one in terms], axis=1) for part in halves]
    rates = [rate[..., part].reshape(-1, 1) for part in halves]
    both, whole = np.concatenate(columns), np.concatenate(rates)
    power = float(np.sum(whole**2))
    if not 0 < power < np.inf:
        return []
    together = _unexplained_share(both, whole) * power
    apart = sum(
        _unexplained_share(c, r) * float(np.sum(r**2)) for c, r in zip(columns, rates, strict=True)
    )
    if together < _UNEXPLAINED * power or apart > _VARIES * together:
        return []
    return [
        (
            f"{name}: the two halves of {axis} have coefficients of their own "
            f"({together / power:.1%} of the rates unexplained together, {apart / power:.1%} "
            f"apart): a coefficient varies along "
            f"{axis}; fit parts of the axis by themselves, or give what varies as a state"
        )
    ]


def _of_size_one(u: Array) -> Array:
    """Return values over the largest of them."""
    largest = float(np.max(np.abs(u), initial=0.0))
    return u / largest if 0 < largest < np.inf else u


def _unit(u: Array) -> Array:
    deviation = np.std(u, axis=0)
    return np.asarray((u - np.mean(u, axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _sizes(u: Array) -> Array:
    size = np.sqrt(np.mean(u**2, axis=0))
    return np.where(size > 0, size, 1.0)


def _products(z: Array, degree: int) -> Array:
    """Return all products of columns up to a degree, (n, p)."""
    columns = [np.ones(len(z))]
    for count in range(1, degree + 1):
        several = combinations_with_replacement(range(z.shape[1]), count)
        columns += [np.prod(z[:, chosen], axis=1) for chosen in several]
    return np.stack(columns, axis=1)


def _unexplained_share(columns: Array, target: Array) -> float:
    """Return the share of squares that least squares leaves."""
    power = float(np.sum(target**2))
    if power <= 0:
        return 0.0
    size = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(size > 0, size, 1.0)
    rest = target - unit @ np.linalg.lstsq(unit, target)[0]
    return float(np.sum(rest**2)) / power
