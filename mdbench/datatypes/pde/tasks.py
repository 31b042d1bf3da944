"""Fields of the data type ``pde``, cut into the parts of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict import parse
from mdbench.data.derivatives import one_sided_nodes, time_derivative
from mdbench.data.field import FieldColumns, feature_names, published_columns
from mdbench.data.smoothing import FEWEST_SAMPLES
from mdbench.data.trajectory import split_as_published, split_chronologically
from mdbench.datatypes.base import CheckSplit, Dataset, Split
from mdbench.datatypes.equations.options import EXACT
from mdbench.datatypes.equations.selection import Evidence
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde.weak_form import SmoothedField, WeakWindows, smoothed_field
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from mdbench.data.field import Field
    from mdbench.datatypes.equations.base import EquationTask
    from mdbench.datatypes.equations.selection import Evidence

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
    derivatives
        What methods are given: the noisy states with finite differences (``fd``) or with the true
        derivatives (``exact``), or smoothed states with their derivatives (``smooth``).
    asked
        The states whose equations are asked for, by their numbers; None for all.  The others,
        such as a pressure, are known at every time.
    scaled
        Whether the states are in units of the user's, which mean nothing.
    unseen_terms
        The terms of the truth that cannot be seen in the data, by left-hand side and text.
    """

    given: Field = field(repr=False)
    clean: Field = field(repr=False)
    explicit: tuple[str, ...]
    rows: Rows
    derivatives: str
    asked: tuple[int, ...] | None = None
    scaled: bool = False
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
    between_cuts = _cut_times(dataset.given, cut.refit)
    (smoothed, remarks), evidence = _evidence(dataset, between_cuts)
    if dataset.derivatives == "smooth":
        inner = slice(1, -1)
        shown, measured = (
            _cut_times(replace(smoothed, du=None), inner),
            between_cuts.u[..., inner, :],
        )
        assert smoothed.du is not None  # noqa: S101 - `smoothed_field` makes it
        du = smoothed.du[..., inner, dataset.states]
    else:
        shown, measured = between_cuts, between_cuts.u
        true = dataset.clean.du if dataset.derivatives == EXACT else None
        if true is None:
            du = _du(between_cuts.t, between_cuts.u[..., dataset.states], slice(None))
        else:
            du = true[..., cut.refit, dataset.states]
    first = _part(dataset, view, shown, Protocol.STRICT, du=du, rows=rows, measured=measured)
    del smoothed, shown, measured, du  # fields of 20 MB each, before the next table is made
    _, targets = clean_test(dataset, Protocol.STRICT)
    test = _cut_times(dataset.clean, cut.test)
    last = _part(dataset, view, test, Protocol.STRICT, du=targets, rows=None, measured=test.u)
    known = dataset.clean.du is not None or len(test.t) < FEWEST_SAMPLES
    held_out = None if known else _evidence(dataset, test)[1]
    scored = inner_samples(targets.shape[:-1], dataset.clean)
    return StrictSplits(first, last, evidence, held_out, scored, remarks)


def last_times(task: EquationTask[PdeDataset]) -> CheckSplit:
    """Return as many of the last times of the fit as the test has, as a field."""
    inputs, test = task.refit.inputs, task.test.inputs
    count = min(len(inputs["t"]), len(test["t"]))
    shown = {
        name: np.ascontiguousarray(array[..., -count:, :]) if name in {"u", "measured"} else array
        for name, array in inputs.items()
        if name != "rows"
    }
    shown["t"] = inputs["t"][-count:].copy()
    clean = task.dataset.clean
    cut = replace(clean, t=shown["t"], u=shown["u"], du=None)
    targets = np.ascontiguousarray(task.refit.targets[..., -count:, :])
    columns = CachedColumns(_columns(cut, task.dataset.explicit, Protocol.STRICT))
    return CheckSplit(shown, task.refit.target_name, targets, columns)


def _evidence(dataset: PdeDataset, measured: Field) -> tuple[SmoothedField, WeakWindows]:
    """Smooth a field, and put it in the form in which equations are compared with it."""
    if dataset.scaled:
        offset = np.mean(measured.u.reshape(-1, measured.dim), axis=0)
        smoothed = smoothed_field(replace(measured, u=measured.u - offset))
        smoothed = smoothed._replace(field=replace(smoothed.field, u=smoothed.field.u + offset))
    else:
        smoothed = smoothed_field(measured)
    field = replace(smoothed.field, du=None)
    features = _columns(field, dataset.explicit, Protocol.STRICT)
    return smoothed, WeakWindows.of(
        measured, field.u, CachedColumns(features), dataset.states, centred=dataset.scaled
    )


def _cut_times(whole: Field, times: slice) -> Field:
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
    measured, clean = dataset.given, dataset.clean
    cut = split_as_published(len(measured.t))
    du = _du(measured.t, measured.u[..., dataset.states], slice(None))
    test_du = _du(measured.t, clean.u, cut.test) if clean.du is None else clean.du[..., cut.test, :]

    def make(times: slice, du: Array, rows: Rows | None) -> Split:
        shown = replace(_cut_times(measured, times), du=None)
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
    X = np.empty((len(targets), len(columns)))
    for i, name in enumerate(columns):
        X[:, i] = columns[name].reshape(-1)[chosen]
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
    stacked = targets.reshape(-1, targets.shape[-1])[scored]
    return nmse(np.stack(values, axis=-1), stacked)


def user_floor(dataset: PdeDataset, protocol: Protocol) -> float | None:
    """Score the user's truth of a field, as answers to it are scored.

    None where it has no finite score.
    """
    test = _cut_times(dataset.clean, split_chronologically(len(dataset.clean.t)).test)
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
    columns = _columns(_cut_times(dataset.given, rows), dataset.explicit, Protocol.PUBLISHED)
    clean = dataset.clean
    targets = _du(clean.t, clean.u, rows) if clean.du is None else clean.du[..., rows, :]
    return columns, targets[..., dataset.states]


class CachedColumns(Mapping[str, "Array"]):
    """Columns that are made when they are first asked for, and kept up to a limit of bytes."""

    def __init__(self, columns: Mapping[str, Array], limit: int = 2**28) -> None:
        self._columns = columns
        self._kept: dict[str, Array] = {}
        self._left = limit

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, name: str) -> Array:
        if name in self._kept:
            return self._kept[name]
        column = self._columns[name]
        if column.nbytes <= self._left:
            self._left -= column.nbytes
            self._kept[name] = column
        return column
