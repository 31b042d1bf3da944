"""PSRN: rounds of an enumeration that evaluates shared subtrees once, seeded by a small GP."""

from __future__ import annotations

import contextlib
import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from psrn.model.regressor import PSRN_Regressor
from search_process import SearchProcess
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

    Front = list[tuple[str, float]]

__all__ = ["Adapter"]

_FOREVER = 1e9
"""Seconds: the package's own limit, looked at between rounds only, ends nothing."""
_EXACT = 1e-12
"""An error over the mean square of the target that is the rounding of single precision."""

_DIGITS = 12
"""Decimals of constants: the package rounds to six, and what is scored is the text."""


class _EnoughError(Exception):
    """The last round that was asked for has ended."""


class Adapter(WrittenFronts):
    """One search a target, in a process of its own; the front of each round is kept.

    Parameters
    ----------
    seed
        Of Python's, NumPy's and PyTorch's random numbers.
    threads
        Of PyTorch.
    operators, layers, inputs, variables
        Of the network: how many layers of operators it has, and on how many inputs, of which as
        many are variables; the others are subexpressions and numbers that the GP brings.
    samples
        Rows on which all expressions are evaluated; the constants of the best are fitted to all.
    best
        Expressions of a round whose constants are fitted.
    constants
        Whether inputs may be numbers, and constants are fitted.
    rounds
        The most rounds.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "PSRN"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        operators: Sequence[str],
        layers: int,
        inputs: int,
        variables: int,
        samples: int,
        best: int,
        constants: bool,
        rounds: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._operators, self._layers = list(operators), layers
        self._inputs, self._variables = inputs, variables
        self._samples, self._best = samples, best
        self._constants, self._rounds = constants, rounds

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Search, and return all that was on the front after any round, the best first."""
        del target, limit
        self._errors = {repr(float(np.mean(y))): float(np.var(y))}
        process = SearchProcess(partial(self._run, X, y), self.budget, self.end, self.threads)
        for front in process:
            self._errors |= dict(front)
        self.stopped_early |= process.stopped
        return list(self.found(0))

    def _run(self, X: Array, y: Array, send: Callable[[Front], None]) -> None:
        seed = self.seed % 2**32
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the package draws from
        torch.manual_seed(seed)
        torch.set_num_threads(self.threads)
        regressor = _Regressor(send, self._rounds, **self._settings(X.shape[1]))
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nothing,  # for megabytes of progress
            contextlib.redirect_stdout(nothing),
            contextlib.redirect_stderr(nothing),
            contextlib.suppress(_EnoughError),
        ):
            regressor.fit(
                X,
                y[:, None],
                n_down_sample=self._samples,
                use_threshold=True,
                threshold=_EXACT * (float(np.mean(y**2)) or 1.0),
                prun_ndigit=_DIGITS,
                top_k=self._best,
            )
        regressor.send()

    def _settings(self, variables: int) -> dict[str, Any]:
        default = {
            "operators": self._operators,
            "time_limit": _FOREVER,
            "n_psrn_inputs": self._inputs,
            "n_sample_variables": min(self._variables, variables),
        }
        return {
            "variables": [f"x{place}" for place in range(variables)],
            "use_const": self._constants,
            "n_symbol_layers": self._layers,
            "use_dr_mask": False,
            "device": torch.device("cpu"),
            "token_generator_config": {
                "base": {"has_const": self._constants, "tokens": self._operators}
            },
            "stage_config": {"default": default, "stages": [{}]},
        }


class _Regressor(PSRN_Regressor):  # type: ignore[misc] # a class of the package
    """The package's, which sends its front after each round."""

    def __init__(self, send: Callable[[Front], None], rounds: int, **settings: Any) -> None:
        super().__init__(**settings)
        self._send, self._left = send, rounds

    def display_expr_table(self, *_: Any, **__: Any) -> None:
        """Send the front: the package calls this in each round before constants are fitted."""
        self.send()
        if self._left == 0:
            raise _EnoughError
        self._left -= 1

    def send(self) -> None:
        """Send what is on the front."""
        self._send([(str(text), float(error)) for text, _, error, _ in self.pareto_frontier])
