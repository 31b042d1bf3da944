"""Fields of the data type ``pde``, cut into the parts of a task."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.data.derivatives import one_sided_nodes, time_derivative
from mdbench.data.field import FieldColumns, feature_names, published_columns
from mdbench.data.smoothing import FEWEST_SAMPLES, InTime, smooth_in_time, smoother_along
from mdbench.data.trajectory import split_as_published, split_chronologically
from mdbench.datatypes.base import Dataset, Split
from mdbench.datatypes.equations.base import CachedColumns
from mdbench.datatypes.equations.selection import INTEGRATED_TO, Evidence
from mdbench.datatypes.facts import Protocol
from mdbench.expressions import parse
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Which samples a method is given for training."""

    most: int | None
    seed: int

    def of(self, n: int) -> NDArray[np.intp] | None:
        """Draw rows without replacement, in rising order; None for all of the n."""
        if self.most is None or self.most >= n:
            return None
        drawn = np.random.default_rng(self.seed).choice(n, self.most, replace=False)
        return np.sort(drawn)


@dataclass(frozen=True, eq=False)
class PdeDataset(Dataset):
    """A field at one noise level.

    Attributes
    ----------
    given
        What a method may see, noise included.
    clean
        The same without the noise that was added here.  Its derivatives are the targets of the
        test; where it has none, they are finite differences of its states.
    explicit
        The coordinates that are variables of the equations, too.
    rows
        Which samples a method is given for training.
    smoothed
        Whether methods are given smoothed states and their derivatives, or the noisy states and
        finite differences in time.
    asked
        The states whose equations are asked for, by their numbers; None for all.  The others,
        such as a pressure, are known at every time.
    unseen_terms
        The terms of the truth that cannot be seen in the data, by left-hand side and text.
    """

    given: Field = field(repr=False)
    clean: Field = field(repr=False)
    explicit: tuple[str, ...]
    rows: Rows
    smoothed: bool
    asked: tuple[int, ...] | None = None
    unseen_terms: tuple[tuple[str, str], ...] = ()

    @property
    def states(self) -> tuple[int, ...]:
        """The states whose equations are asked for, by their numbers."""
        return tuple(range(self.clean.dim)) if self.asked is None else self.asked


def variables_of(dataset: PdeDataset) -> tuple[str, ...]:
    """Return the names of what equations may be made of."""
    return feature_names(dataset.given, dataset.explicit)


class StrictSplits(NamedTuple):
    """A field as `strict` cuts it.

    Attributes
    ----------
    given, test
        What a method is given, and what its answer is tested on.
    evidence, held_out
        What candidates are compared with, and the answer where exact targets are not known.
    scored
        The numbers of the test's samples that are scored.
    remarks
        See `Task`.
    """

    given: Split
    test: Split
    evidence: Evidence
    held_out: Evidence | None
    scored: NDArray[np.intp]
    remarks: tuple[str, ...]


def strict_splits(dataset: PdeDataset, view: str, rows: Rows) -> StrictSplits:
    """Cut a field into what a method is given and the test.

    Smoothed states are known least at the ends, and the first and the last time are left out.
    """
    cut = split_chronologically(len(dataset.given.t))
    given = _between(dataset.given, cut.refit)
    (smoothed, remarks), evidence = _evidence(dataset, given)
    if dataset.smoothed:
        inner = slice(1, -1)
        shown, measured = _between(smoothed, inner), _between(given, inner).u
        assert smoothed.du is not None  # noqa: S101 - `smoothed_field` makes it
        du = smoothed.du[..., inner, dataset.states]
    else:
        shown, measured = given, given.u
        du = _du(given.t, given.u[..., dataset.states], slice(None))
    first = _part(dataset, view, shown, Protocol.STRICT, du=du, rows=rows, measured=measured)
    _, targets = clean_test(dataset, Protocol.STRICT)
    test = _between(dataset.clean, cut.test)
    last = _part(dataset, view, test, Protocol.STRICT, du=targets, rows=None, measured=test.u)
    known = dataset.clean.du is not None or len(test.t) < FEWEST_SAMPLES
    held_out = None if known else _evidence(dataset, test)[1]
    scored = inner_samples(targets.shape[:-1], dataset.clean)
    return StrictSplits(first, last, evidence, held_out, scored, remarks)


def _evidence(dataset: PdeDataset, given: Field) -> tuple[SmoothedField, WeakWindows]:
    """Smooth a field, and put it in the form in which equations are compared with it."""
    smoothed = smoothed_field(given)
    field = replace(smoothed.field, du=None)
    features = _columns(field, dataset.explicit, Protocol.STRICT)
    return smoothed, WeakWindows.of(given, field.u, CachedColumns(features), dataset.states)


def _between(whole: Field, times: slice) -> Field:
    """Cut some times out of a field."""
    cut = [
        None if a is None else np.ascontiguousarray(a[..., times, :]) for a in (whole.u, whole.du)
    ]
    assert cut[0] is not None  # noqa: S101 - a field has states
    return replace(whole, t=whole.t[times].copy(), u=cut[0], du=cut[1])


def published_splits(
    dataset: PdeDataset, view: str, rows: Rows
) -> tuple[Split, Split, Split, Split]:
    """Cut a field by time, and differentiate all of it in time before."""
    given, clean = dataset.given, dataset.clean
    cut = split_as_published(len(given.t))
    du = _du(given.t, given.u[..., dataset.states], slice(None))
    test_du = _du(given.t, clean.u, cut.test) if clean.du is None else clean.du[..., cut.test, :]

    def make(times: slice, du: Array, rows: Rows | None) -> Split:
        shown = replace(_between(given, times), du=None)
        return _part(dataset, view, shown, Protocol.PUBLISHED, du=du, rows=rows)

    return (
        make(cut.train, du[..., cut.train, :], rows),
        make(cut.validation, du[..., cut.validation, :], None),
        make(cut.refit, du[..., cut.refit, :], rows),
        make(cut.test, test_du[..., dataset.states], None),
    )


def clean_test(dataset: PdeDataset, protocol: Protocol) -> tuple[FieldColumns, Array]:
    """Return the features of the clean field at the test's times, and its derivatives in time.

    Both are the best that there are: features spectral or of high order, derivatives those
    of the solver or of the file.  Under `published` the features are its second-order ones.
    """
    clean = dataset.clean
    rows = split_chronologically(len(clean.t)).test
    targets = _du(clean.t, clean.u, rows) if clean.du is None else clean.du[..., rows, :]
    cut = replace(clean, t=clean.t[rows], u=np.ascontiguousarray(clean.u[..., rows, :]), du=None)
    return _columns(cut, dataset.explicit, protocol), targets[..., dataset.states]


def inner_samples(shape: Sequence[int], whole: Field) -> NDArray[np.intp]:
    """Number the samples that are so far inside that their differences are central ones.

    A periodic axis has no ends.  Next to those of any other, differences are one-sided, and so
    much less accurate that a wrong constant or term could make up for some of it.

    Parameters
    ----------
    shape
        Of one state at some of the times, (n_x[, n_y[, n_z]], n_t).
    whole
        The field, whose axes these are.

    Returns
    -------
    (n,)
        Numbers of samples in C order of (x, ..., t), rising.
    """
    inside = []
    for name, nodes in whole.grid.items():
        ends = 0 if name in whole.periods else one_sided_nodes(len(nodes))
        inside.append(slice(ends, len(nodes) - ends))
    numbers = np.arange(np.prod(shape), dtype=np.intp).reshape(shape)
    return np.ascontiguousarray(numbers[tuple(inside)].reshape(-1))


def _columns(cut: Field, explicit: tuple[str, ...], protocol: Protocol) -> FieldColumns:
    return FieldColumns(cut, explicit, second_order=protocol is Protocol.PUBLISHED)


def _part(
    dataset: PdeDataset,
    view: str,
    shown: Field,
    protocol: Protocol,
    *,
    du: Array,
    rows: Rows | None,
    measured: Array | None = None,
) -> Split:
    columns = _columns(replace(shown, du=None), dataset.explicit, protocol)
    picked = None if rows is None else rows.of(du[..., 0].size)
    if view == "table":
        return _table(columns, du, picked)
    inputs = {"t": shown.t, **shown.grid, "u": shown.u}
    if protocol is Protocol.STRICT and measured is not None:
        # By which a method knows that derivatives are as accurate as can be, and wrap around.
        inputs["periods"] = np.array([shown.periods.get(axis, 0.0) for axis in shown.grid])
        inputs["measured"] = np.ascontiguousarray(measured)
    if picked is not None:
        inputs["rows"] = picked.astype(np.float64)
    return Split(inputs, "du", np.ascontiguousarray(du), CachedColumns(columns))


def _table(columns: Mapping[str, Array], du: Array, picked: NDArray[np.intp] | None) -> Split:
    """Make rows of a field: those that are picked, or all in C order of (x, ..., t)."""
    targets = du.reshape(-1, du.shape[-1])
    chosen: NDArray[np.intp] | slice = slice(None) if picked is None else picked
    targets = np.ascontiguousarray(targets[chosen])
    # Column by column, so that no more than one of them is there twice.
    table = np.empty((len(columns), len(targets)))
    for row, name in zip(table, columns, strict=True):
        row[:] = columns[name].reshape(-1)[chosen]
    X = np.ascontiguousarray(table.T)
    return Split({"X": X}, "Y", targets, {name: X[:, i] for i, name in enumerate(columns)})


def published_table(
    dataset: PdeDataset, rows: Rows
) -> tuple[tuple[str, ...], tuple[Split, Split, Split, Split]]:
    """Make a table of the whole field and cut it by rows, which is along space."""
    columns = published_columns(dataset.given)
    du = _du(dataset.given.t, dataset.given.u[..., dataset.states], slice(None))
    clean = dataset.clean
    target = _du(clean.t, clean.u, slice(None)) if clean.du is None else clean.du
    target = target[..., dataset.states]
    cut = split_as_published(du[..., 0].size)

    def part(where: slice, values: Array, rows: Rows | None) -> Split:
        flat = {name: column.reshape(-1)[where] for name, column in columns.items()}
        targets = values.reshape(-1, values.shape[-1])[where]
        return _table(flat, targets, None if rows is None else rows.of(len(targets)))

    return tuple(columns), (
        part(cut.train, du, rows),
        part(cut.validation, du, None),
        part(cut.refit, du, rows),
        part(cut.test, target, None),
    )


def _du(t: Array, u: Array, times: slice) -> Array:
    """Differentiate some of the times of a field by themselves."""
    series = np.moveaxis(u[..., times, :], -2, 0)
    return np.moveaxis(time_derivative(t[times], series), 0, -2)


def floor_of(dataset: PdeDataset, protocol: Protocol) -> float:
    """Score the truth on the test inputs, through the features of the benchmark."""
    if protocol is Protocol.STRICT:
        columns, targets = clean_test(dataset, protocol)
        scored = inner_samples(targets.shape[:-1], dataset.clean)
    else:
        columns, targets = noisy_test(dataset)
        scored = np.arange(targets[..., 0].size)
    texts = dataset.truth or ()
    values = [parse(text, tuple(columns)).evaluate(columns).reshape(-1)[scored] for text in texts]
    return nmse(np.stack(values, axis=-1), targets.reshape(-1, targets.shape[-1])[scored])


def user_floor(dataset: PdeDataset, protocol: Protocol) -> float | None:
    """Score the user's truth of a field, as answers to it are scored.

    None where it has no finite score.
    """
    test = _between(dataset.clean, split_chronologically(len(dataset.clean.t)).test)
    if protocol is Protocol.STRICT and dataset.clean.du is None and len(test.t) >= FEWEST_SAMPLES:
        _, evidence = _evidence(dataset, test)
        columns, texts = evidence.columns, dataset.truth or ()
        losses = [
            evidence.loss(parse(text, tuple(columns)).evaluate(columns), place)
            for place, text in enumerate(texts)
        ]
        floor = float(np.mean(losses))
    else:
        floor = floor_of(dataset, protocol)
    return floor if np.isfinite(floor) else None


def noisy_test(dataset: PdeDataset) -> tuple[FieldColumns, Array]:
    """Return the noisy field's published features at the test's times, and clean targets."""
    rows = split_as_published(len(dataset.given.t)).test
    columns = _columns(_between(dataset.given, rows), dataset.explicit, Protocol.PUBLISHED)
    clean = dataset.clean
    targets = _du(clean.t, clean.u, rows) if clean.du is None else clean.du[..., rows, :]
    return columns, targets[..., dataset.states]


_SMOOTHNESS = 6
"""A test function is (1 - s^2) to this power along each axis and in time."""
_TAIL = 7.75
"""Half the width of a test function times the highest wave number that it lets pass: two standard
deviations of its spectrum, which is nearly normal."""
_QUIET = 1e-6
"""Least noise, as a share of the variance, when waves are separated from it."""
_OVERLAP = 2.0
"""Test functions in half the width of one."""
_MOST = 3000
"""Test functions, about."""
_BORDER = 3
"""Nodes at the ends of an axis that is not periodic where no test function is: derivatives are
worse there."""
_LEAST = 0.05
"""Of the mean variance that each integral's noise is taken to have at least."""
_DEGREES = (1, 3, 5)
"""Of the splines between times: the highest that there are enough of these for."""
_NODES = 3
"""At which test functions are integrated between two samples (Gauss and Legendre)."""


class SmoothedField(NamedTuple):
    """A field that was smoothed along all axes and in time.

    Attributes
    ----------
    field
        Its `du` is the derivative in time of the smoothed states.
    remarks
        What has to be known of how it was made; mostly empty.
    """

    field: Field
    remarks: tuple[str, ...]


def smoothed_field(given: Field) -> SmoothedField:
    """Smooth a field along all axes and in time, as much as it takes; with its rates of change."""
    found = [_smoothed_state(given, given.u[..., state]) for state in range(given.dim)]
    u, du = (
        np.stack(arrays, axis=-1) for arrays in zip(*(each[:2] for each in found), strict=True)
    )
    remarks = tuple(f"u{state}: {one.remark}" for state, one in enumerate(found) if one.remark)
    return SmoothedField(replace(given, u=u, du=du), remarks)


def _smoothed_state(given: Field, u: Array) -> InTime:
    """Smooth one state along all axes, and then in time; the noise is estimated first."""
    noise = smooth_in_time(u, given.t, -1).noise
    for axis, (name, nodes) in enumerate(given.grid.items()):
        if len(nodes) >= _FEWEST:
            smoother = smoother_along(u, nodes, axis, periodic=name in given.periods, noise=noise)
            u, noise = smoother(u), noise * smoother.left
    return smooth_in_time(u, given.t, -1)


_FEWEST = 12
"""Nodes of an axis along which a field is smoothed; fewer are left as they are."""


@dataclass(frozen=True, eq=False)
class WeakWindows(Evidence):
    """Integrals over windows in space and time, in which changes are to be those of equations.

    A right-hand side is evaluated on the smoothed field, and integrated against test functions
    that fall to zero at the border of their window; the derivative in time is moved on to the test
    function, and integrated with the field as it was measured.  Windows are so wide that the
    test functions let the waves pass that are above the noise, and noise above these as little as
    may be.  An integral counts the less, the more noise is in it.

    Attributes
    ----------
    changes
        For each target, the integrals of its derivative in time, (rows,).
    weights
        Of these rows.
    along
        For each target, what integrates along each axis and in time, (rows of the axis, nodes).
    """

    changes: tuple[Array, ...] = field(repr=False)
    weights: tuple[Array, ...] = field(repr=False)
    along: tuple[tuple[Array, ...], ...] = field(repr=False)

    @classmethod
    def of(
        cls, given: Field, smoothed: Array, columns: Mapping[str, Array], states: tuple[int, ...]
    ) -> WeakWindows:
        """Make it of a noisy field, of what it is when it is smoothed, and of that one's features.

        Parameters
        ----------
        smoothed
            Shaped like the states of `given`.
        """
        tiny = np.finfo(float).tiny
        floors, all_changes, all_weights, all_along = [], [], [], []
        for state in states:
            measured, rest = given.u[..., state], given.u[..., state] - smoothed[..., state]
            halves, along = _bumps(given, rest, smoothed[..., state])
            moved, kept = _in_time(given.t, halves[-1], len(along[-1]))
            changes = _integrals(measured, (*along[:-1], moved))
            exact = INTEGRATED_TO**2 * float(np.mean(measured**2))
            noise = _integrals(rest**2 + exact, tuple(each**2 for each in (*along[:-1], moved)))
            weights = 1.0 / (noise + _LEAST * np.mean(noise) + tiny)
            whole = float(weights @ changes**2) or 1.0
            floors.append(max(float(weights @ noise) / whole, tiny))
            all_changes.append(changes)
            all_weights.append(weights / whole)
            all_along.append((*along[:-1], kept))
        return cls(
            columns, np.array(floors), tuple(all_changes), tuple(all_weights), tuple(all_along)
        )

    def loss(self, values: Array, target: int) -> float:
        """Return the weighted squares of what is left over those of the changes."""
        left = self.changes[target] - _integrals(values, self.along[target])
        return float(np.sum(self.weights[target] * left**2))


def _integrals(values: Array, along: tuple[Array, ...]) -> Array:
    """Integrate values (n_x, ..., n_t) along all axes, (rows,)."""
    for matrix in along:
        values = np.tensordot(values, matrix, axes=(0, 1))
    return values.reshape(-1)


def _bumps(given: Field, rest: Array, smoothed: Array) -> tuple[list[int], list[Array]]:
    """Choose windows along each axis and in time: half their widths, and their weights."""
    shape = smoothed.shape
    periodic = [*(name in given.periods for name in given.grid), False]
    halves, wanted, inner = [], [], []
    for axis, (n, around) in enumerate(zip(shape, periodic, strict=True)):
        border = 0 if around else 1 if axis == len(shape) - 1 else min(_BORDER, (n - 1) // 4)
        span = n - 2 * border
        most = max((span - 1) // 4, 0)
        wave = _corner(rest, smoothed, axis, periodic=around)
        half = int(np.clip(round(_TAIL / wave), min(2, most), most))
        free = span if around else span - 2 * half
        halves.append(half)
        inner.append((border + half, free))
        wanted.append(max(4.0, _OVERLAP * free / max(half, 1)))
    less = min(1.0, _MOST / float(np.prod(wanted))) ** (1 / len(shape))
    along = []
    for n, around, half, (first, free), many in zip(
        shape, periodic, halves, inner, wanted, strict=True
    ):
        count = max(1, min(round(many * less), free))
        places = np.arange(count) * n / count if around else first + np.linspace(0, free - 1, count)
        away = np.abs(np.arange(n) - np.round(places)[:, None])
        if around:
            away = np.minimum(away, n - away)
        bumps = np.maximum(1 - (away / (half + 1)) ** 2, 0) ** _SMOOTHNESS
        along.append(bumps / bumps.sum(axis=1, keepdims=True))
    return halves, along


def _corner(rest: Array, smoothed: Array, axis: int, *, periodic: bool) -> float:
    """Return the highest wave number along an axis that is above the noise, in radians a node."""
    n = smoothed.shape[axis]
    lines = np.moveaxis(smoothed, axis, -1).reshape(-1, n)
    lines = lines - lines.mean()
    noise = max(float(np.mean(rest**2)), _QUIET * float(np.mean(lines**2)))
    if not periodic and n > 2:  # noqa: PLR2004 - a line through two nodes leaves nothing
        s = np.linspace(-1, 1, n)
        ends = np.stack([np.ones(n), s])
        lines = lines - (lines @ np.linalg.pinv(ends)) @ ends
        bell = np.cos(np.pi * s / 2) ** 2
        lines = lines * bell / np.sqrt(np.mean(bell**2))
    powers = np.mean(np.abs(np.fft.rfft(lines, axis=1)) ** 2, axis=0) / n
    above = np.flatnonzero(powers > noise)
    return float(2 * np.pi * max(int(above[-1]) if len(above) else 1, 1) / n)


def _in_time(t: Array, half: int, rows: int) -> tuple[Array, Array]:
    """Return matrices (rows, n) that integrate samples times test functions in time.

    The first one times minus their derivatives.  Between samples these are interpolated by
    a spline of degree 5, or less where they are few.
    """
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 - takes a moment to load

    n = len(t)
    step = (t[-1] - t[0]) / (n - 1)
    width = (half + 1) * step
    middles = np.linspace(t[1] + half * step, t[-2] - half * step, rows)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    halves = np.diff(t)[:, None] / 2
    places = (t[:-1, None] + halves * (nodes + 1)).ravel()
    degree = max(k for k in _DEGREES if k < n)
    between = make_interp_spline(t, np.eye(n), k=degree)(places)
    s = (places - middles[:, None]) / width
    inside = np.maximum(1 - s**2, 0)
    test = inside**_SMOOTHNESS
    slope = -2 * _SMOOTHNESS * s * inside ** (_SMOOTHNESS - 1) / width
    sizes = (halves * weights).ravel()
    norm = np.sum(test * sizes, axis=1, keepdims=True)
    return np.asarray(-(slope * sizes / norm) @ between), np.asarray(
        (test * sizes / norm) @ between
    )
