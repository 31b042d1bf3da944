"""A bag of words: one, two and three of them at a time, wherever they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z_]+|\d+|[^\sA-Za-z\d]")
_SEPARATOR = " [SEP] "


class Adapter:
    """Logistic regression on the words of the whole text.

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
            TfidfVectorizer(analyzer=_features, min_df=2, sublinear_tf=True),
            LogisticRegression(C=strength, max_iter=2000),
        )

    def fit(self, problem: Problem) -> None:
        """Learn the weights of features.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        """
        if not np.isin(problem.Y, (0.0, 1.0)).all():
            raise ValueError("the labels are not 0 and 1")
        self._model.fit(problem.X, problem.Y[:, 0])

    def predict(self, problem: Problem) -> Array:
        """Give the chance that each candidate is right, (n, 1)."""
        chances: Array = self._model.predict_proba(problem.X)[:, 1:]
        return chances

    def equations(self) -> list[str]:
        """There are none."""
        return []


def _features(text: str) -> list[str]:
    words = _TOKEN.findall(text.replace(_SEPARATOR, " SEP "))
    return [
        " ".join(words[place : place + count])
        for count in (1, 2, 3)
        for place in range(len(words) - count + 1)
    ]
