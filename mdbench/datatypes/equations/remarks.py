"""Remarks on answers: what a reader of a score has to know, and the share that is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdbench.metrics.spec import ALL_SAMPLES, FORM, LEVELS, PARTLY, PRINTED, MetricSpec, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.equations.base import EquationAnswer, EquationTask

    Array = NDArray[np.float64]

EXPLAINED = MetricSpec(
    name="share_explained",
    title="explained",
    explanation="of data of your own, the share of what changes in all samples, those before the "
    "test too, that the equations explain; of several the one that explains least",
    better="higher",
    on_failure=None,
    digits=3,
    places=frozenset({"answer"}),
)
UNEXPLAINED = 0.1
"""An answer that leaves a larger share of what changes unexplained, noise aside, is marked."""

_NOTHING = 1e-3
STILL = 1e-4
"""Rates of a test that are no larger a share of those before are rest: of the 63 systems of
ODEBench two have 6e-6 or less, and all others 1e-3 or more."""
ALL_NOISE = 0.9
"""The share of what changes in a test from which on it is all noise."""
SETTLED = 0.5
"""States that spread by a larger share of what they did before have not come to rest, whatever
seems to be noise: what is sampled too seldom looks like noise, too."""


def scored_samples(task: EquationTask[Any], values: Array) -> Array:
    """Return the values, (..., d), of the samples that errors are taken on."""
    if task.scored is None:
        return values
    return values.reshape(-1, values.shape[-1])[task.scored]


def errors_by_state(scores: Sequence[float], task: EquationTask[Any]) -> list[str]:
    """Return what each target's own score is, and how much of the pooled one is its."""
    if task.held_out is None:
        targets = scored_samples(task, task.test.targets)
        squares = np.sum(np.reshape(targets, (-1, len(scores))) ** 2, axis=0)
    else:
        squares = np.ones(len(scores))
    with np.errstate(all="ignore"):
        shares = np.array(scores) * squares
        if np.isinf(shares).any():  # which are all of the error
            shares = np.isinf(shares).astype(float)
        whole = float(shares.sum()) or 1.0
    return [
        f"{name}: {score:.2g}, {share / whole:.0%} of the error"
        for name, score, share in zip(task.targets, scores, shares, strict=True)
    ]


def explained(
    task: EquationTask[Any], losses: Array, floors: Array
) -> tuple[dict[str, Value], dict[str, list[str]]]:
    """Return the share that equations explain, with notes, and on those that explain too little.

    Parameters
    ----------
    losses
        The share that each leaves, (d,).
    floors
        What noise leaves of it for the true equations, (d,).
    """
    losses = np.where(np.isfinite(losses), losses, np.inf)
    shares = [max(1 - loss, -1.0) for loss in losses.tolist()]
    notes: dict[str, list[str]] = {ALL_SAMPLES: [], PARTLY: []}
    for target, share, floor in zip(task.targets, shares, floors, strict=True):
        text = f"{100 * share:.3g} % of" if share > _NOTHING else "nothing of"
        if 1 - share - floor > UNEXPLAINED:
            notes[PARTLY].append(f"{target} explains {text} what changes in all samples")
        else:
            notes[ALL_SAMPLES].append(f"{target} explains {text} what changes")
    return {EXPLAINED.name: min(shares)}, notes


def level_notes(task: EquationTask[Any], answer: EquationAnswer) -> dict[str, Sequence[str]]:
    """Return notes on columns of few values that equations have."""
    from mdbench.datatypes.equations.alike import cannot_be_told, used_in  # noqa: PLC0415 - few need it

    names = task.variables
    used = [
        (target, cannot_be_told(one.text, names, task.levels), used_in(one.text, names))
        for target, one in zip(task.targets, answer.parsed, strict=True)
    ]
    notes = {
        LEVELS: [
            f"{name}: {', '.join(map(repr, values))}"
            for name, values in task.levels.items()
            if any(name in variables for _, _, variables in used)
        ],
        FORM: [
            f"{target}: {name} has two values, and any function of it is the same on them as a "
            "multiple and a constant"
            for target, functions, _ in used
            for name in task.levels
            if name in functions
        ],
        PRINTED: [f"{task.targets[place]}: {text}" for place, text in answer.printed.items()],
    }
    return {word: texts for word, texts in notes.items() if texts}


class Course(NamedTuple):
    """The course of a system from the data that methods are given to the test.

    Attributes
    ----------
    rates
        Before the test, (n, d), as well as they are known.
    before, test
        The states of each trajectory or field, (..., n_t, d).
    """

    rates: Array
    before: Sequence[Array]
    test: Sequence[Array]


def rest_note(
    course: Course, targets: Array, by_state: Sequence[float], floors: Array | None
) -> str:
    """Return a note that the system is at rest in the test, and why; empty where it is not.

    Parameters
    ----------
    targets
        The rates of the test, (..., d).
    by_state
        The score of each state; the answer 0 scores 1.
    floors
        What noise leaves of each state's score for the true equations, where scores are the means
        of those of the states (`Evidence.floors`); None where errors of all states are pooled.
    """
    targets = targets.reshape(-1, targets.shape[-1])
    if floors is None:
        share = _size(targets) / (_size(course.rates) or 1.0)
        return _by_rates(share) if share <= STILL else ""
    shares = np.array(
        [
            _size(now) / (_size(then) or 1.0)
            for now, then in zip(targets.T, course.rates.T, strict=True)
        ]
    )
    spreads = _spread(course.test) <= SETTLED * _spread(course.before)
    still = (shares <= STILL) | ((floors >= ALL_NOISE) & spreads)
    # What has never changed has not come to rest, and is no excuse for the others.
    changing = (_spread(course.before) > 0) | (_spread(course.test) > 0)
    still &= changing
    moving = np.array(by_state)[~still & changing]
    if not still.any() or (len(moving) and np.mean(moving) > 1):
        return ""  # it is what moves that the answer is wrong about
    largest = float(np.max(shares[still]))
    return _by_rates(largest) if largest <= STILL else "what changes in the test is noise"


def _by_rates(share: float) -> str:
    return f"the rates of the test are {share:.1g} of those before it"


def _size(values: Array) -> float:
    """Return the root mean square, without overflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest else 0.0


def _spread(pieces: Sequence[Array]) -> Array:
    """Return the standard deviation of each state in time, (d,)."""
    variances = [np.mean(np.var(one, axis=-2).reshape(-1, one.shape[-1]), axis=0) for one in pieces]
    return np.asarray(np.sqrt(np.mean(variances, axis=0)))
