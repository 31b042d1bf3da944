"""DeepMoD: a network learns the field and its equation together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from adapters import FieldAdapter
from grids import AXES, target_states
from library import FieldLibrary, FieldTerms
from models import write_sum
from training import Learner, Options

from mdbench.worker import Budget, Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from models import Models
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_ROUNDS = 3
"""Largest number of times that terms are selected again after a training with the last ones."""
_SWEEP_PART = 0.5
"""The part of the time limit after which a sweep is ended."""
_FIT_PART = 0.4
"""The same for the fit of the winner, which knows the limit of both."""
_GAIN = 0.005
"""Smallest part of the mean square of u_t by which each further term of a start reduces it."""


@dataclass(frozen=True)
class _DeepmodSetting:
    """One point of the grid, and the training of the network."""

    library: FieldLibrary
    threshold: float
    options: Options


class Adapter(FieldAdapter):
    """A tanh network of time and space, whose derivatives have to fit a sparse equation.

    Parameters
    ----------
    seed
        Seed of the weights, the batches, and the samples that are held out.
    threads
        Number of threads that PyTorch may use.
    hyperparameters
        ``library``, ``derivative_order`` and ``order`` of the library; ``threshold`` of the
        normalised coefficients; all others are `training.Options`.
    """

    most_terms: ClassVar[int] = 400
    """Largest number of terms: each training step solves a least-squares problem of that size."""
    cut_short: ClassVar[bool] = False
    """Whether time ended something in this process's sweep, of which there is one at most."""

    def __init__(self, *, seed: int, threads: int, **hyperparameters: Any) -> None:
        super().__init__(seed=seed, threads=threads, **hyperparameters)
        self._threads = threads
        self.stopped_early = False

    @classmethod
    def setting(
        cls,
        *,
        library: str = "cross",
        derivative_order: int = 2,
        order: int = 2,
        threshold: float = 0.1,
        **options: Any,
    ) -> _DeepmodSetting:
        """Read a setting.

        Raises
        ------
        ValueError
            If a value is not allowed.
        """
        if not 0 < threshold < np.inf:
            raise ValueError(f"threshold is {threshold}; it must be above 0")
        terms = FieldLibrary.of(library=library, derivative_order=derivative_order, order=order)
        return _DeepmodSetting(terms, float(threshold), Options(**options))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[_DeepmodSetting], *, seed: int
    ) -> Models:
        """Not used: `fit` and `sweep` train by themselves, one equation after the other."""
        raise NotImplementedError

    def fit(self, problem: Problem) -> None:
        """Train on the data, choose terms, and train on both until the terms are constant."""
        clock = _Clock(problem.budget, _FIT_PART)
        self.fitting([self._setting], problem)
        self._terms = self.terms([self._setting], problem)
        torch.set_num_threads(self._threads)
        learner = _learner(problem, self._terms, self._setting, seed=self._seed, clock=clock)
        library = self._terms.columns(self._setting.library)
        self._coefficients = _learn(
            learner, learner.masks(library, self._setting.threshold), library, self._setting, clock
        )
        self.stopped_early = clock.ended or self.cut_short

    @classmethod
    def sweep(
        cls,
        train: Problem,
        validation: Problem,
        grid: Sequence[dict[str, Any]],
        *,
        seed: int,
        threads: int,
        **hyperparameters: Any,
    ) -> Iterator[Candidate]:
        """Train one network on the data, and from there one on for each set of terms.

        Thresholds and libraries have no part in a network of the data only; settings
        that choose the same terms from it continue as one.  Short equations come first.
        """
        clock = _Clock(train.budget, _SWEEP_PART)
        torch.set_num_threads(threads)
        settings = [cls.setting(**{**hyperparameters, **setting}) for setting in grid]
        places = np.flatnonzero(cls.fitting(settings, train)).tolist()
        terms = cls.terms([settings[place] for place in places], train)
        sizes = [len(terms)] * len(settings)
        for place in places:
            sizes[place] = int(terms.columns(settings[place].library).sum())

        texts, values = terms.texts(), terms.at(validation)
        written: set[tuple[str, ...]] = set()

        def by_options(place: int) -> str:
            return repr(settings[place].options)

        for _, group in groupby(sorted(places, key=by_options), key=by_options):
            alike = list(group)
            shared = _learner(train, terms, settings[alike[0]], seed=seed, clock=clock)
            state = shared.state()
            for masks, equal in _starts(shared, terms, settings, alike):
                if clock.is_over() and written:
                    print("left out: longer equations, for lack of time")  # noqa: T201
                    cls.cut_short = True
                    return
                place = cls.representative(equal, sizes)
                library = terms.columns(settings[place].library)
                shared.restore(state)
                coefficients = _learn(shared, masks, library, settings[place], clock)
                equations = tuple(write_sum(row, texts) for row in coefficients)
                if equations not in written:
                    written.add(equations)
                    yield Candidate(equations, values(coefficients), grid[place])
        cls.cut_short = clock.ended


class _Clock:
    """Rings when a part of the budget has been spent.

    Attributes
    ----------
    ended
        Whether anything was ended for it.
    """

    def __init__(self, budget: Budget, part: float) -> None:
        self._over = budget.after(part * budget.limit)
        self._half_over = budget.after(part * budget.limit / 2)
        self.ended = False

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self._noted(self._over())

    def half(self) -> bool:
        """Whether half of the time is over: what is left is for equations."""
        return self._noted(self._half_over())

    def _noted(self, late: bool) -> bool:
        self.ended |= late
        return late


def _learner(
    problem: Problem, terms: FieldTerms, setting: _DeepmodSetting, *, seed: int, clock: _Clock
) -> Learner:
    """Train a network on the data alone."""
    points, states = _samples(problem)
    asked = target_states(problem)
    learner = Learner(points, states, terms, setting.options, seed=seed, asked=asked)
    learner.learn_data(clock.half)
    return learner


def _learn(
    learner: Learner, masks: Mask, library: Mask, setting: _DeepmodSetting, clock: _Clock
) -> Array:
    """Train with terms and choose terms in turn, until they are constant; return coefficients."""
    for _ in range(_ROUNDS):
        if clock.is_over() or not masks.any():
            break
        learner.learn_equation(masks, clock.is_over)
        again = learner.masks(library, setting.threshold)
        if (again == masks).all():
            break
        masks = again
    return learner.coefficients(masks)[learner.asked]


def _starts(
    learner: Learner, terms: FieldTerms, settings: Sequence[_DeepmodSetting], places: Sequence[int]
) -> list[tuple[Mask, list[int]]]:
    """Choose terms for each setting; return each choice once, with its settings, short ones first.

    Choices that are longer than another one, and fit the network hardly better, are left out: the
    bench's fitness falls by 1 / 200 for each further symbol, and a term has two at the least.
    """
    chosen = learner.all_masks(
        [(terms.columns(settings[place].library), settings[place].threshold) for place in places]
    )
    found: dict[bytes, tuple[Mask, list[int]]] = {}
    for place, masks in zip(places, chosen, strict=True):
        found.setdefault(masks.tobytes(), (masks, []))[1].append(place)
    misfits = learner.misfits([masks for masks, _ in found.values()])
    ranked = sorted(
        zip(misfits, found.values(), strict=True), key=lambda each: (each[1][0].sum(), each[0])
    )
    kept: list[tuple[float, int]] = []
    starts = []
    for misfit, (masks, equal) in ranked:
        size = int(masks.sum())
        if all(misfit < other - _GAIN * max(1, size - shorter) for other, shorter in kept):
            kept.append((misfit, size))
            starts.append((masks, equal))
    print(f"{len(starts)} of {len(ranked)} sets of terms are trained with")  # noqa: T201
    return starts


def _samples(problem: Problem) -> tuple[Array, Array]:
    """Return coordinates (n, 1 + axes), time first, and states (n, states) of the rows to learn.

    Raises
    ------
    Unsupported
        If there are too few samples to hold some out.
    ValueError
        If a value is not finite.
    """
    u = problem.u
    nodes = [*(problem.arrays[name] for name in AXES[: u.ndim - 2]), problem.t]
    shape = u.shape[:-1]
    rows = problem.rows.astype(np.intp) if "rows" in problem.arrays else np.arange(np.prod(shape))
    if len(rows) < 10:  # noqa: PLR2004
        raise Unsupported(f"a network cannot be trained on {len(rows)} samples; it needs 10")
    *space, times = (
        axis[index] for axis, index in zip(nodes, np.unravel_index(rows, shape), strict=True)
    )
    states = u.reshape(-1, u.shape[-1])[rows]
    points = np.stack([times, *space], axis=1)
    if not (np.isfinite(states).all() and np.isfinite(points).all()):
        raise ValueError("the data are not finite; remove the samples that are NaN or infinite")
    return points, states
