"""Ensembles of sparse models: fits to samples of the data vote on the terms.

Fasel et al., Proc. R. Soc. A 478, 20210904 (2022), bagging: each model is fitted to rows that are
drawn with replacement.  The coefficients are the medians over the models, and terms that too few
of the models have are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Vote", "Voted", "draw_rows", "vote"]


@dataclass(frozen=True)
class Vote:
    """Size, samples and vote of an ensemble.

    Attributes
    ----------
    n_models
        Number of models that are fitted.
    subset
        Rows that each is fitted to, as a part of all.
    inclusion
        Terms that a smaller part of the models has are dropped.

    Raises
    ------
    ValueError
        If one of them is not as described.
    """

    n_models: int
    subset: float
    inclusion: float

    def __post_init__(self) -> None:
        if self.n_models < 1:
            raise ValueError(f"n_models is {self.n_models}; it must be 1 or more")
        if not 0 < self.subset <= 1:
            raise ValueError(f"subset is {self.subset}; it must be above 0, and at most 1")
        if not 0 <= self.inclusion <= 1:
            raise ValueError(f"inclusion is {self.inclusion}; it must be from 0 to 1")


@dataclass(frozen=True)
class Voted:
    """A setting of an ensemble: that of its models, and the vote."""

    model: Any
    vote: Vote

    @property
    def library(self) -> Any:
        """The terms that it may use."""
        return self.model.library


def draw_rows(n_models: int, subset: float, n_rows: int, seed: int) -> NDArray[np.intp]:
    """Draw the rows of each model with replacement, (n_models, rows); the first ones are nested."""
    size = max(1, round(subset * n_rows))
    return np.random.default_rng(seed).integers(n_rows, size=(n_models, size))


def vote(
    settings: Sequence[Voted],
    fit: Callable[[int, float, Sequence[Any]], Array],
    shape: tuple[int, int],
) -> Array:
    """Find the models of all settings, fitting each sample once for all votes.

    Parameters
    ----------
    settings
        The settings.
    fit
        Given a number of models, a subset and settings of models, fits these to as many samples;
        gives coefficients (n_models, settings, k, p).
    shape
        k and p: the numbers of targets and of terms.

    Returns
    -------
    (settings, k, p)
        The coefficients.
    """
    found = np.zeros((len(settings), *shape))
    for subset in dict.fromkeys(setting.vote.subset for setting in settings):
        places = [i for i, setting in enumerate(settings) if setting.vote.subset == subset]
        models = list(dict.fromkeys(settings[place].model for place in places))
        most = max(settings[place].vote.n_models for place in places)
        fitted = fit(most, subset, models)
        heard: dict[int, tuple[Array, Array]] = {}
        number = {model: i for i, model in enumerate(models)}
        for place in places:
            ballot = settings[place].vote
            if ballot.n_models not in heard:
                voters = fitted[: ballot.n_models]
                heard[ballot.n_models] = (np.median(voters, axis=0), (voters != 0).mean(axis=0))
            medians, parts = (
                each[number[settings[place].model]] for each in heard[ballot.n_models]
            )
            found[place] = np.where(parts >= ballot.inclusion, medians, 0.0)
    return found
