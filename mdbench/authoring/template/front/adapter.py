"""The adapter of @NAME@: a random search with a front of candidates, to be replaced by yours."""

from __future__ import annotations

import numpy as np
from mdbench.worker import Candidate


class Adapter:
    """Draws products of powers, fits their coefficients, and sends what is better than before."""

    def __init__(self, *, seed: int, threads: int, terms: int = 3, rounds: int = 2000) -> None:
        self.rng = np.random.default_rng(seed)
        self.terms, self.rounds = terms, rounds

    def fit(self, problem) -> None:
        """Only keep the problem: what is sent by `candidates` counts, even at a limit."""
        if not np.isfinite(problem.X).all():
            raise ValueError("the data have values that are no numbers")
        self.problem = problem
        self.sent, self.chosen = [], {}

    def candidates(self):
        """Search target by target, and yield each candidate as soon as there is one."""
        targets, budget = self.problem.targets, self.problem.budget
        for target in range(len(targets)):
            another_fits = budget.rounds(budget.share(len(targets) - target))
            best = np.inf
            for _ in range(self.rounds):
                if not another_fits():
                    self.stopped_early = True
                    break
                law = self._draw(target)
                predictions = self._evaluate(law, self.problem.X)
                error = np.mean((predictions - self.problem.Y[:, target]) ** 2)
                if error < best:
                    best = error
                    self.sent.append(law)
                    self.chosen[target] = law  # without a call of `choose` this is the answer
                    # The predictions may be left out where only `strict` is run.
                    yield Candidate((self._text(law),), predictions, target=target)

    def choose(self, indices) -> None:
        """Take the candidate that the bench has chosen for each target, by its number."""
        self.chosen = dict(enumerate(self.sent[index] for index in indices))

    def predict(self, problem) -> np.ndarray:
        """Predict the targets (n, targets) from `problem.X` alone."""
        columns = [self._evaluate(self.chosen[target], problem.X) for target in sorted(self.chosen)]
        return np.column_stack(columns)

    def equations(self) -> list[str]:
        """Return one right-hand side for each target, in the names of `problem.variables`."""
        return [self._text(self.chosen[target]) for target in sorted(self.chosen)]

    def _draw(self, target: int):
        powers = self.rng.integers(0, 3, size=(self.terms, len(self.problem.variables)))
        features = self._features(powers, self.problem.X)
        coefficients = np.linalg.lstsq(features, self.problem.Y[:, target], rcond=None)[0]
        return powers, coefficients

    def _features(self, powers, X):
        return np.column_stack([np.prod(X**power, axis=1) for power in powers])

    def _evaluate(self, law, X):
        powers, coefficients = law
        return self._features(powers, X) @ coefficients

    def _text(self, law) -> str:
        terms = []
        for power, coefficient in zip(*(part.tolist() for part in law)):
            factors = [f"{v}**{p}" for v, p in zip(self.problem.variables, power) if p]
            terms.append("*".join([repr(coefficient), *factors]))
        return " + ".join(terms)
