"""Logistic regression on words; the adapters choose the words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from words import labels_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

__all__ = ["WordModel"]


class WordModel(ABC):
    """An adapter that weighs how often words are in a sequence.

    Parameters
    ----------
    seed, threads
        Not used: the fit is convex.
    strength
        C of the logistic regression: larger is less regular.
    """

    def __init__(self, *, seed: int, threads: int, strength: float = 10.0) -> None:
        del seed, threads
        self._model = make_pipeline(
            TfidfVectorizer(analyzer=self.words, min_df=2, sublinear_tf=True),
            LogisticRegression(C=strength, max_iter=2000),
        )

    @staticmethod
    @abstractmethod
    def words(text: str) -> list[str]:
        """Return the words of a sequence, each as often as it counts."""

    def fit(self, problem: Problem) -> None:
        """Learn the weights of words.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        """
        self._model.fit(problem.X, labels_of(problem))

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        chances: Array = self._model.predict_proba(problem.X)[:, 1:]
        return chances

    def equations(self) -> list[str]:
        """There are none."""
        return []
