"""DeepMoD as published: Adam trains the network on the data and the whole library at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from adapters import FieldAdapter
from grids import AXES, target_states
from joint import JointLearner, Training
from library import FieldLibrary, FieldTerms
from models import Models
from training import Options

from mdbench.worker import Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_SWEEP_PART = 0.5
"""The part of the time limit after which a sweep is ended."""
_FIT_PART = 0.4
"""The same for the fit of the winner, which knows the limit of both."""


@dataclass(frozen=True)
class _Setting:
    """One point of the grid: the library, the network, and its training."""

    library: FieldLibrary
    network: Options
    training: Training


class Adapter(FieldAdapter):
    """A tanh network of time and space, whose derivatives have to fit a sparse equation.

    Each setting trains a network of its own, from the beginning on with all terms of its library.

    Parameters
    ----------
    seed
        Seed of the weights and of the samples that are held out.
    threads
        Not used: the bench limits the threads of PyTorch.
    hyperparameters
        ``library``, ``derivative_order`` and ``order`` of the library; ``threshold`` of the
        normalised coefficients; ``layers`` and ``width`` of the network; ``learning_rate``,
        ``steps`` and ``patience`` of the training.
    """

    most_terms: ClassVar[int] = 400
    """Largest number of terms: each training step solves a least-squares problem of that size."""
    cut_short: ClassVar[bool] = False
    """Whether time ended the training of a setting in this process."""

    @classmethod
    def setting(cls, **hyperparameters: Any) -> _Setting:
        """Read a setting.

        Raises
        ------
        TypeError
            If there is no such value.
        ValueError
            If a value is not allowed.
        """
        names = {each.name for each in fields(Training)}
        training = {name: hyperparameters.pop(name) for name in names & hyperparameters.keys()}
        sizes = ("layers", "width")
        network = {name: hyperparameters.pop(name) for name in sizes if name in hyperparameters}
        library = FieldLibrary.of(**hyperparameters)
        return _Setting(library, Options(**network), Training(**training))

    @classmethod
    def find(
        cls, problem: Problem, terms: FieldTerms, settings: Sequence[_Setting], *, seed: int
    ) -> Models:
        """Train a network for each setting, those with small libraries first, while there is time.

        The first one is trained in any case, as far as the time goes.
        """
        budget = problem.budget
        part = _SWEEP_PART if len(settings) > 1 else _FIT_PART
        is_over = budget.after(part * budget.limit)
        points, states = _samples(problem)
        asked = target_states(problem)
        columns = [terms.columns(setting.library) for setting in settings]
        found = np.zeros((len(settings), len(asked), len(terms)))
        fitted: list[int] = []
        for place in sorted(range(len(settings)), key=lambda place: int(columns[place].sum())):
            if fitted and is_over():
                break
            setting = settings[place]
            learner = JointLearner(points, states, terms, setting.network, seed=seed, asked=asked)
            masks, ended = learner.learn(columns[place], setting.training, is_over)
            found[place] = learner.coefficients(masks)[learner.asked]
            fitted.append(place)
            cls.cut_short |= not ended
        fitted.sort()
        if len(fitted) < len(settings):
            cls.cut_short = True
            print(f"left out for lack of time: {len(settings) - len(fitted)} settings")  # noqa: T201
        return Models(found[fitted], fitted=fitted if cls.cut_short else None)

    def fit(self, problem: Problem) -> None:
        """Train the network of the own setting."""
        super().fit(problem)
        self.stopped_early = self.cut_short


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
    *size, n_states = u.shape
    rows = problem.arrays.get("rows", np.arange(np.prod(size))).astype(np.intp)
    if len(rows) < 10:  # noqa: PLR2004
        raise Unsupported(f"a network cannot be trained on {len(rows)} samples; it needs 10")
    *space, time = np.unravel_index(rows, size)
    axes = [problem.arrays[name][place] for name, place in zip(AXES, space, strict=False)]
    points = np.stack([problem.t[time], *axes], axis=1)
    states = u.reshape(-1, n_states)[rows]
    if not (np.isfinite(states).all() and np.isfinite(points).all()):
        raise ValueError("the data are not finite; remove the samples that are NaN or infinite")
    return points, states
