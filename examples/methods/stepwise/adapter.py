"""Forward selection: the term that explains most of what is left comes in, one after the other."""

from itertools import combinations_with_replacement

import numpy as np

from mdbench.worker import Candidate


class Adapter:
    """Fits a polynomial by its 1, 2, ... best terms; each of these fits is a candidate."""

    def __init__(self, *, seed: int, threads: int, degree: int = 3, terms: int = 8) -> None:
        self.degree, self.terms = degree, terms

    def fit(self, problem) -> None:
        """Only keep the problem: what `candidates` sends counts, even at a limit."""
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are no numbers")
        self.problem = problem
        self.powers = [
            [numbers.count(i) for i in range(problem.X.shape[1])]
            for degree in range(self.degree + 1)
            for numbers in combinations_with_replacement(range(problem.X.shape[1]), degree)
        ]
        self.sent, self.chosen = [], {}

    def candidates(self):
        """Add term after term to each target's equation, and yield each of them."""
        features = self._features(self.problem.X)
        norms = np.linalg.norm(features, axis=0)
        norms[norms == 0] = np.inf
        for target in range(len(self.problem.targets)):
            y = self.problem.Y[:, target]
            law, left = np.zeros(len(self.powers)), y
            for _ in range(min(self.terms, len(self.powers))):
                gain = np.abs(features.T @ left) / norms
                gain[law != 0] = 0  # those that are in
                used = np.append(np.flatnonzero(law), gain.argmax())
                law = np.zeros(len(self.powers))
                law[used] = np.linalg.lstsq(features[:, used], y, rcond=None)[0]
                left = y - features @ law
                self.sent.append(law)
                self.chosen[target] = law  # without a call of `choose` the last one is the answer
                yield Candidate((self._text(law),), features @ law, target=target)

    def choose(self, indices) -> None:
        """Take the candidate that the bench has chosen for each target, by its number."""
        self.chosen = dict(enumerate(self.sent[index] for index in indices))

    def predict(self, problem) -> np.ndarray:
        """Predict the targets (n, targets) from `problem.X` alone."""
        laws = [self.chosen[target] for target in sorted(self.chosen)]
        return self._features(problem.X) @ np.column_stack(laws)

    def equations(self) -> list[str]:
        """Return one right-hand side for each target, in the names of `problem.variables`."""
        return [self._text(self.chosen[target]) for target in sorted(self.chosen)]

    def _features(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.prod(X**power, axis=1) for power in self.powers])

    def _text(self, law: np.ndarray) -> str:
        terms = []
        for power, coefficient in zip(self.powers, law.tolist()):
            factors = [f"{name}**{p}" for name, p in zip(self.problem.variables, power) if p]
            terms.append("*".join([repr(coefficient), *factors]))
        return " + ".join(term for term, value in zip(terms, law) if value) or "0"
