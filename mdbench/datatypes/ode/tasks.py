"""Tasks of ODEs: what methods are given of trajectories, and what the test asks about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.data import splits
from mdbench.data.derivatives import time_derivative
from mdbench.data.smoothing import FEWEST_SAMPLES, smooth
from mdbench.data.trajectory import Trajectory, named_columns, state_names
from mdbench.datatypes.base import Split
from mdbench.datatypes.equations.selection import Increments
from mdbench.datatypes.facts import Protocol
from mdbench.expressions import parse
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.data.smoothing import Smoothed

    Array = NDArray[np.float64]


class Samples(NamedTuple):
    """Some samples of one trajectory, as methods are shown them: see `Split`."""

    t: Array
    u: Array
    du: Array
    measured: Array
    inputs: Array | None


def needs_of(series: Trajectory) -> tuple[str, ...]:
    """Return the names of what is to be known of samples besides times and states."""
    several = ("trajectories",) if len(series.starts) > 1 else ()
    return several + (("inputs",) if series.inputs is not None else ())


def held_out(series: Trajectory, protocol: Protocol = Protocol.STRICT) -> list[Trajectory]:
    """Return the samples of the test, of each trajectory."""
    cut = splits.chronological if protocol is Protocol.STRICT else splits.published
    return [one.rows(cut(len(one.t)).test) for one in series.pieces]


def rates(series: Trajectory) -> Array:
    """Return the derivatives of one trajectory, by finite differences where nobody knows them."""
    return time_derivative(series.t, series.u) if series.du is None else series.du


def increments(tests: Sequence[Trajectory]) -> Increments | None:
    """Make what equations are held against whose derivatives nobody knows; None for too few."""
    if any(len(one.t) < FEWEST_SAMPLES for one in tests):
        return None
    return Increments.of([smooth(one.t, one.u) for one in tests], tests)


def given_samples(curve: Smoothed, measured: Trajectory, *, smoothed: bool) -> Samples:
    """Show noisy samples to a method, with derivatives.

    A smoothed curve is known least at its ends, and the first and the last sample are left out.
    """
    if not smoothed:
        return measured_samples(measured, time_derivative(curve.t, measured.u))
    inner = measured.rows(slice(1, -1))
    return Samples(inner.t, curve.u[1:-1], curve.du[1:-1], inner.u, inner.inputs)


def measured_samples(series: Trajectory, du: Array) -> Samples:
    """Show samples as they were measured."""
    return Samples(series.t, series.u, du, series.u, series.inputs)


def split_of(view: str, pieces: Sequence[Samples]) -> Split:
    """Show samples of one trajectory, or of several one after the other, in a view."""
    t, u, du, measured = (
        np.ascontiguousarray(np.concatenate([one[place] for one in pieces])) for place in range(4)
    )
    inputs = None
    if pieces[0].inputs is not None:
        inputs = np.concatenate([one.inputs for one in pieces if one.inputs is not None])
    columns = named_columns(Trajectory(t, u, inputs=inputs))
    if view == "table":
        x = u if inputs is None else np.concatenate([u, inputs], axis=1)
        return Split({"X": np.ascontiguousarray(x)}, "Y", du, columns)
    arrays = {"t": t, "u": u, "measured": measured}
    if inputs is not None:
        arrays["inputs"] = np.ascontiguousarray(inputs)
    if len(pieces) > 1:
        lengths = [len(one.t) for one in pieces]
        arrays["trajectory"] = np.repeat(np.arange(float(len(pieces))), lengths)
    return Split(arrays, "du", du, columns)


def concatenated(columns: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Concatenate the columns of several trajectories."""
    return {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}


def user_floor(truth: Sequence[str], clean: Trajectory) -> float | None:
    """Score the user's truth of a trajectory, as answers are scored."""
    tests = held_out(clean)
    at = concatenated([named_columns(one) for one in tests])
    read = [parse(text, state_names(clean)) for text in truth]
    if clean.du is not None:
        values = np.stack([one.evaluate(at) for one in read], axis=-1)
        return nmse(values, np.concatenate([rates(one) for one in tests]))
    if (evidence := increments(tests)) is None:
        return None
    values = np.array(
        [evidence.loss(one.evaluate(evidence.columns), i) for i, one in enumerate(read)]
    )
    return float(np.mean(values)) if np.isfinite(values).all() else None
