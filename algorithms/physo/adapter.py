"""PhySO: a recurrent policy that writes expressions whose units are consistent."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import physo
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from numpy.typing import NDArray
from physo.config.config0 import config0
from programs import AllowedSymbols, allowed_symbols, program_tree
from scaling import in_own_units, power_of_two, text, times
from trees import Node, evaluate

from mdbench.worker import Candidate, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = NDArray[np.float64]


class _EnoughError(Exception):
    """Ends PhySO's loop, which has no time limit."""


@dataclass(frozen=True)
class _Member:
    target: int
    tree: Node
    reward: float


class Adapter:
    """One search a target, each with its share of the time.

    Parameters
    ----------
    seed
        Seed of the policy and what it draws.
    threads
        Number of threads that PyTorch may use.
    operations
        Names of PhySO's operations; they are not protected.
    constants
        How many free constants without a dimension; with units there is one more for each
        dimension that a variable or the target has.
    batch, max_length, min_length, learning_rate, gamma_decay, entropy_weight, risk_factor
        Settings of the learning, as in PhySO's configurations.
    batch_per_second
        The most expressions of a batch for each second of a search's share of the budget, so that
        it has several batches.
    length_location, length_scale
        Location and scale of the soft prior on the length.
    constant_steps
        L-BFGS steps for the constants of an expression.
    hidden
        Units of the policy.
    epochs
        Batches after which a search ends.
    stop_reward
        1/(1 + NRMSE) at which it ends.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        operations: Sequence[str],
        constants: int,
        batch: int,
        batch_per_second: float,
        max_length: int,
        min_length: int,
        learning_rate: float,
        gamma_decay: float,
        entropy_weight: float,
        risk_factor: float,
        length_location: float,
        length_scale: float,
        constant_steps: int,
        hidden: int,
        epochs: int,
        stop_reward: float,
        max_rows: int,
    ) -> None:
        self._seed, self._threads = seed, threads
        self._operations, self._constants = list(operations), constants
        self._epochs, self._stop_reward, self._max_rows = epochs, stop_reward, max_rows
        self._config: dict[str, Any] = copy.deepcopy(config0)
        self._config["learning_config"] |= {
            "max_time_step": max_length,
            "gamma_decay": gamma_decay,
            "entropy_weight": entropy_weight,
            "risk_factor": risk_factor,
            "get_optimizer": lambda model: torch.optim.Adam(model.parameters(), lr=learning_rate),
        }
        self._batch, self._batch_per_second = batch, batch_per_second
        self._least_batch = math.ceil(1 / risk_factor)  # of which one is learned from
        self._config["free_const_opti_args"]["method_args"]["n_steps"] = constant_steps
        self._config["cell_config"]["hidden_size"] = hidden
        lengths: dict[str, dict[str, Any]] = {
            "HardLengthPrior": {"min_length": min_length, "max_length": max_length},
            "SoftLengthPrior": {"length_loc": length_location, "scale": length_scale},
        }
        self._config["priors_config"] = [
            (name, lengths.get(name, given)) for name, given in self._config["priors_config"]
        ]
        self.stopped_early = False
        self.evaluations = 0

    def fit(self, problem: Problem) -> None:
        """Search for each target.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If a search finds no expression with a finite value for every sample.
        """
        self._problem = problem
        self._found: list[dict[int, _Member]] = []
        self._chosen: list[_Member] = []
        self._offer: list[_Member] = []
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data are not finite")
        torch.set_num_threads(self._threads)
        for target in range(len(problem.targets)):
            self._found.append({})
            self._search(target, problem.budget.share(len(problem.targets) - target))
        self._offer = self._all()
        for target, name in enumerate(problem.targets):
            mine = [member for member in self._offer if member.target == target]
            if not mine:
                raise RuntimeError(f"PhySO has no expression for {name} that is finite everywhere")
            self._chosen.append(max(mine, key=lambda member: member.reward))

    def candidates(self) -> Iterator[Candidate]:
        """Yield each target's best expression of each length, as far as the search has come."""
        self._offer = self._offer or self._all()
        for member in self._offer:
            equation = text(member.tree, self._problem.variables)
            values = _values(member.tree, self._problem.X)
            yield Candidate((equation,), values, target=member.target)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one for each target; before, those of the best reward are used."""
        self._chosen = [self._offer[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [text(member.tree, self._problem.variables) for member in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equations, (n, targets)."""
        return np.stack([_values(member.tree, problem.X) for member in self._chosen], axis=1)

    def _search(self, target: int, limit: float) -> None:
        random.seed(self._seed)
        np.random.seed(self._seed % 2**32)  # noqa: NPY002 - PhySO draws from it
        torch.manual_seed(self._seed)
        X, y = self._problem.X, self._problem.Y[:, target]
        scales = [power_of_two(column) for column in X.T]
        scale = power_of_two(y)
        if len(X) > self._max_rows:
            draw = np.random.default_rng(self._seed)
            rows = np.sort(draw.choice(len(X), self._max_rows, replace=False))
            X, y = X[rows], y[rows]
        tokens = allowed_symbols(self._problem, target, self._constants)
        config = copy.deepcopy(self._config)
        config["learning_config"]["batch_size"] = int(
            min(self._batch, max(self._least_batch, self._batch_per_second * limit))
        )
        watch = _ProgramLogger(self, target, tokens, (scales, scale), limit)
        try:
            physo.SR(
                (X / scales).T,
                y / scale,
                X_names=tokens.variables,
                X_units=tokens.variable_units,
                y_name="y",
                y_units=tokens.target_units,
                fixed_consts=[1.0],
                fixed_consts_units=[[0.0] * 7],
                free_consts_names=tokens.constants,
                free_consts_units=tokens.constant_units,
                op_names=self._operations,
                use_protected_ops=False,
                run_config=config,
                get_run_logger=lambda: watch,
                get_run_visualiser=_NoVisualiser,
                parallel_mode=False,
                n_cpus=1,
            )
        except _EnoughError:
            self.stopped_early |= watch.out_of_time

    def _all(self) -> list[_Member]:
        members = [member for found in self._found for _, member in sorted(found.items())]
        return [m for m in members if np.isfinite(_values(m.tree, self._problem.X)).all()]


class _ProgramLogger:
    """Replaces PhySO's logger: keeps the best program of each length, and checks the time."""

    def __init__(
        self,
        adapter: Adapter,
        target: int,
        tokens: AllowedSymbols,
        scales: tuple[Sequence[float], float],
        limit: float,
    ) -> None:
        self._adapter, self._target, self._tokens = adapter, target, tokens
        self._scales, self._scale = scales
        self._another_fits = adapter._problem.budget.rounds(limit)  # noqa: SLF001 - a part of it
        self._another_fits()
        self.out_of_time = False

    def log(  # noqa: PLR0917 - PhySO calls it by these names
        self,
        epoch: int,
        batch: Any,
        model: Any,  # noqa: ARG002
        rewards: Array,
        keep: Any,  # noqa: ARG002
        notkept: Any,  # noqa: ARG002
        loss_val: Any,  # noqa: ARG002
    ) -> None:
        """Record the best programs of a batch.

        Raises
        ------
        _EnoughError
            If the search is to end.
        """
        found = self._adapter._found[self._target]  # noqa: SLF001 - a part of it
        lengths = np.asarray(batch.programs.n_lengths)
        for length in np.unique(lengths[rewards > 0]):
            mine = np.flatnonzero(lengths == length)
            best = int(mine[np.argmax(rewards[mine])])
            reward = float(rewards[best])
            known = found.get(int(length))
            if known is None or reward > known.reward:
                tree = self._tree(batch.programs.get_prog(best, detach=True))
                found[int(length)] = _Member(self._target, tree, reward)
        self._adapter.evaluations += len(rewards)
        best_of_all = max((member.reward for member in found.values()), default=0.0)
        print(f"epoch {epoch}: {len(rewards)} expressions, best reward {best_of_all:.9g}")  # noqa: T201
        self.out_of_time = not self._another_fits()
        if (
            self.out_of_time
            or epoch + 1 >= self._adapter._epochs  # noqa: SLF001
            or best_of_all >= self._adapter._stop_reward  # noqa: SLF001
        ):
            raise _EnoughError

    def _tree(self, program: Any) -> Node:
        names = [str(token) for token in program.tokens]
        constants = program.free_consts.class_values[0].tolist()
        tree = program_tree(names, self._tokens, constants)
        return times(self._scale, in_own_units(tree, self._scales))


class _NoVisualiser:
    """PhySO's visualiser, which shows nothing."""

    def visualise(self, run_logger: Any, batch: Any) -> None:
        """Draw nothing."""


def _values(tree: Node, X: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.array(np.broadcast_to(evaluate(tree, X), (len(X),)), dtype=np.float64)
