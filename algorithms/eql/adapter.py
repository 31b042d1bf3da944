"""EQL: equation learners of many seeds and penalties, trained as one batch and pruned."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from deep_regression import device_here, take
from formulas import Formula, prune
from fronts import FrontMember, Units, constant, refine, shortlist, written
from network import UNITS, EquationLearners, Training, train
from numpy.typing import NDArray
from trees import Node, evaluate

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = NDArray[np.float64]

_TRAINING_PART, _PRUNING_PART = 0.5, 0.8
"""Parts of the time limit after which training ends, and pruning; the rest is for the results."""
_LONGEST, _BEAM, _EACH_LENGTH = 8, 30, 4
"""Terms of the longest pruned formula; width of the beam; formulas kept of each length."""
_PRUNED_ON = 2
"""Number of these, the most accurate ones, whose inner terms are left out one by one."""


class Adapter:
    """Networks of functions, as sparse as their penalty makes them.

    Parameters
    ----------
    seed
        Seed of all first weights.
    threads
        Number of threads that PyTorch may use.
    units
        Layers of each kind of network: names of ``network.UNITS``.
    division
        Whether each kind divides at its end.
    penalties
        Factors of the sum of |w|; each with each start.
    starts
        Networks of each kind and penalty, each with its own first weights.
    pruned
        Of each kind and target so many are pruned, the best first.
    max_rows
        Largest number of samples in training and pruning; of more, a random part is drawn.
    training
        ``steps`` and ``learning_rate``.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        units: Sequence[Sequence[Sequence[str]]],
        division: Sequence[bool],
        penalties: Sequence[float],
        starts: int,
        pruned: int,
        max_rows: int,
        **training: Any,
    ) -> None:
        for name in {name for kind in units for layer in kind for name in layer}:
            if name not in UNITS:
                raise ValueError(f"no unit is called {name!r}; there are {list(UNITS)}")
        if len(units) != len(division):
            raise ValueError(
                f"division has {len(division)} values and units has {len(units)};"
                " there must be one for each kind of network"
            )
        for name, value in (("starts", starts), ("pruned", pruned), ("max_rows", max_rows)):
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be 1 or more")
        self._seed, self._threads = seed, threads
        self._kinds = list(zip(units, division, strict=True))
        self._penalties, self._starts, self._pruned = list(penalties), starts, pruned
        self._max_rows = max_rows
        self._training = take(Training, training)
        if training:
            raise TypeError(f"unexpected keyword argument {next(iter(training))!r}")
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Train all networks for all targets, then prune the best.

        Raises
        ------
        ValueError
            If the data are not finite.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        torch.set_num_threads(self._threads)
        self._problem, self._device = problem, device_here()
        self._units = [_near_one(problem.X[:, i]) for i in range(problem.X.shape[1])]
        self._target_units = [_near_one(problem.Y[:, i]) for i in range(len(problem.targets))]
        rows = np.arange(len(problem.X))
        if len(rows) > self._max_rows:
            random = np.random.default_rng(self._seed)
            rows = np.sort(random.choice(rows, self._max_rows, replace=False))
        self._X = (problem.X / self._units)[rows]
        self._Y = (problem.Y / self._target_units)[rows]
        self._found: list[list[Node]] = [
            [Node.constant(float(column.mean()))] for column in self._Y.T
        ]
        self._members: list[FrontMember] = []
        self._chosen: list[FrontMember] = []
        budget = problem.budget
        begin, limit = budget.spent(), budget.limit
        self.stopped_early = False
        self.evaluations = 0
        with np.errstate(all="ignore"):
            formulas: list[list[tuple[float, Formula]]] = [[] for _ in problem.targets]
            for number in range(len(self._kinds)):
                end = begin + _TRAINING_PART * limit * (number + 1) / len(self._kinds)
                is_late = budget.after(end - budget.spent())
                for target, own in enumerate(self._trained(number, is_late)):
                    formulas[target] += own
            whole, done = sum(map(len, formulas)), 0
            for target, own in enumerate(formulas):
                self._found[target] += [one.tree for _, one in own]
                for _, one in own:
                    done += 1
                    spent = _TRAINING_PART + (_PRUNING_PART - _TRAINING_PART) * done / whole
                    is_late = budget.after(begin + spent * limit - budget.spent())
                    self._prune(target, one, is_late)
            for target in range(len(problem.targets)):
                self._members += self._written(target, fit_again=len(rows) < len(problem.X))
        for target in range(len(problem.targets)):
            own_members = [member for member in self._members if member.target == target]
            self._chosen.append(min(own_members, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield the Pareto front of each target, as far as it was found."""
        for member in self._members if self._chosen else self._so_far():
            yield Candidate((member.equation,), member.predictions, target=member.target)

    def _so_far(self) -> Iterator[FrontMember]:
        """Yield what was found when the fit was stopped: first an answer for every target."""
        for target, y in enumerate(self._problem.Y.T):
            yield constant(y, target)
        for target in range(len(self._found)):
            with np.errstate(all="ignore"):
                members = self._written(target)
            yield from members

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, the most accurate ones are used."""
        self._chosen = [self._members[index] for index in indices]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen expressions; return (n, targets)."""
        return np.stack([evaluate(each.tree, problem.X) for each in self._chosen], axis=1)

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def _trained(
        self, number: int, is_late: Callable[[], bool]
    ) -> list[list[tuple[float, Formula]]]:
        """Train one kind of network; return for each target errors and formulas of the best."""
        units, division = self._kinds[number]
        targets = self._Y.shape[1]
        each = list(product(range(targets), self._penalties, range(self._starts)))
        generator = torch.Generator().manual_seed(self._seed * 1000 + number)
        learners = EquationLearners(
            len(each), self._X.shape[1], units, division=division, generator=generator
        )
        steps = train(
            learners,
            self._X,
            self._Y.T[[target for target, *_ in each]],
            np.array([penalty for _, penalty, _ in each]),
            self._training,
            device=self._device,
            late=is_late,
        )
        self.stopped_early |= steps < self._training.steps
        self.evaluations += steps * len(each)
        weights = [w.detach().cpu().numpy() for w in learners.weights]
        biases = [b.detach().cpu().numpy()[:, 0] for b in learners.biases]
        found: list[list[tuple[float, Formula]]] = [[] for _ in range(targets)]
        for member, (target, *_) in enumerate(each):
            own_weights = [w[member] for w in weights]
            own_biases = [b[member] for b in biases]
            if not all(np.isfinite(own).all() for own in (*own_weights, *own_biases)):
                continue
            own = Formula(self._X, own_weights, own_biases, units)
            error = float(np.mean((evaluate(own.tree, self._X) - self._Y[:, target]) ** 2))
            if np.isfinite(error):
                found[target].append((error, own))
        least = [sorted(own, key=lambda pair: pair[0])[: self._pruned] for own in found]
        print(  # noqa: T201
            f"{len(each)} networks of {len(units)} layers; least errors"
            f" {[f'{own[0][0]:.2g}' if own else 'none' for own in least]}"
        )
        return least

    def _prune(self, target: int, one: Formula, is_late: Callable[[], bool]) -> None:
        """Fit formulas of few of the terms, and leave out what is inside their functions."""

        def late() -> bool:
            over = is_late()
            self.stopped_early |= over
            return over

        y = self._Y[:, target]
        trees = one.sparse(y, longest=_LONGEST, beam=_BEAM, kept=_EACH_LENGTH)
        fitted = [tree for tree, *_ in refine(trees, self._X, y, scaling=False, late=late)]
        errors = [self._error(tree, target) for tree in fitted]
        for number in np.argsort(errors, kind="stable")[:_PRUNED_ON].tolist():
            fitted += prune(fitted[number], self._X, y, late=late)
        known = [*self._found[target], *fitted]
        self._found[target] = shortlist(
            [(tree.size, self._error(tree, target), tree) for tree in known]
        )

    def _error(self, tree: Node, target: int) -> float:
        error = float(np.mean((evaluate(tree, self._X) - self._Y[:, target]) ** 2))
        return error if np.isfinite(error) else np.inf

    def _written(self, target: int, *, fit_again: bool = False) -> list[FrontMember]:
        found = [(tree, 1.0, 0.0) for tree in self._found[target]]
        units = Units(self._units, self._target_units[target])
        X, y = self._problem.X, self._problem.Y[:, target]
        if fit_again:
            found += refine(self._found[target], X / units.x, y / units.y, scaling=False)
        return written(found, X, y, units=units, target=target, names=self._problem.variables)


def _near_one(values: Array) -> float:
    """Return the power of two next to the root mean square, so that weights are near one."""
    size = float(np.sqrt(np.mean(np.square(values / (np.abs(values).max() or 1.0)))))
    size *= float(np.abs(values).max())
    return float(np.exp2(np.clip(np.round(np.log2(size)), -1000, 1000))) if size > 0 else 1.0
