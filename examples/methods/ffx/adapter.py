"""FFX by its package: each of its searches is run by itself, and its models are sent at once."""

from itertools import product

import numpy as np
from ffx.core.approach import Approach
from ffx.core.build_strategy import FFXBuildStrategy
from ffx.core.constants import OP_ABS, OP_GTH, OP_LOG10, OP_LTH
from ffx.core.model_factories import FFXModelFactory
from ffx.core.models import ConstantModel
from ffx.core.utils import nondominated_indices_2d

from mdbench.worker import Candidate

OPERATORS = {
    OP_ABS: "abs({0})",
    OP_LOG10: "log10({0})",
    OP_GTH: "max(0, {1!r} - {0})",
    OP_LTH: "max(0, {0} - {1!r})",
}
APPROACHES = sorted(
    (
        Approach(*flags)
        for flags in product([1], [0, 1], [0], [0, 1], [0, 1])  # exponents exclude interactions
        if sum(flags) < 4
    ),
    key=sum,
)
"""The searches, the cheapest first."""


class Adapter:
    """Sends the models of each search that are better or simpler than all others."""

    def __init__(self, *, seed: int, threads: int, searches: int = len(APPROACHES)) -> None:
        self.approaches = APPROACHES[:searches]

    def fit(self, problem) -> None:
        """Only keep the problem: what `candidates` sends counts, even at a limit."""
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are no numbers")
        self.problem = problem
        self.sent, self.chosen = [], {}

    def candidates(self):
        """Yield a target's mean, and then the models of one search after the other."""
        targets = range(len(self.problem.targets))
        for target in targets:
            yield self._candidate(ConstantModel(self.problem.Y[:, target].mean(), 0), target)
        for target in targets:
            another_fits = self.problem.budget.rounds(
                self.problem.budget.share(len(targets) - target)
            )
            for approach in self.approaches:
                if not another_fits():
                    self.stopped_early = True
                    break
                for model in self._search(approach, self.problem.Y[:, target]):
                    yield self._candidate(model, target)

    def _search(self, approach, y) -> list:
        X, names = self.problem.X, list(self.problem.variables)
        try:
            models = FFXModelFactory().build(X, y, FFXBuildStrategy(approach), names)
        except (AssertionError, SystemExit):  # how the package says that it cannot fit
            return []
        errors = [np.mean((model.simulate(X) - y) ** 2) for model in models]
        sizes = [model.numBases() for model in models]
        return [models[i] for i in nondominated_indices_2d(errors, sizes)]

    def _candidate(self, model, target: int) -> Candidate:
        self.sent.append(model)
        self.chosen[target] = model  # without a call of `choose` the last one is the answer
        return Candidate((self._text(model),), model.simulate(self.problem.X), target=target)

    def choose(self, indices) -> None:
        """Take the model that the bench has chosen for each target, by its number."""
        self.chosen = dict(enumerate(self.sent[index] for index in indices))

    def predict(self, problem) -> np.ndarray:
        """Predict the targets (n, targets) from `problem.X` alone."""
        return np.column_stack(
            [self.chosen[target].simulate(problem.X) for target in sorted(self.chosen)]
        )

    def equations(self) -> list[str]:
        """Return one right-hand side for each target, in the names of `problem.variables`."""
        return [self._text(self.chosen[target]) for target in sorted(self.chosen)]

    def _text(self, model) -> str:
        """Return a model with all digits; its own text rounds what hinges subtract."""
        if isinstance(model, ConstantModel):
            return repr(model.constant)
        text = self._sum(model.coefs_n, ["1", *map(self._base, model.bases_n)])
        if model.bases_d:
            below = self._sum([1, *model.coefs_d], ["1", *map(self._base, model.bases_d)])
            text = f"({text}) / ({below})"
        return text

    def _sum(self, coefficients, bases) -> str:
        return " + ".join(f"({float(c)!r})*{base}" for c, base in zip(coefficients, bases))

    def _base(self, base) -> str:
        if hasattr(base, "base1"):
            return f"{self._base(base.base1)}*{self._base(base.base2)}"
        if hasattr(base, "nonlin_op"):
            return OPERATORS[base.nonlin_op].format(self._base(base.simple_base), base.thr)
        return f"{self.problem.variables[base.var]}**{base.exponent}"
