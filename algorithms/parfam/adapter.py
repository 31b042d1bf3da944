"""ParFam: formulas of fixed forms, rational in the inputs and in functions of them, and sparse."""

from __future__ import annotations

import ast
import contextlib
import copy
import logging
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from process_fronts import ProcessFronts

with Path(os.devnull).open("w", encoding="utf-8") as _nothing, contextlib.redirect_stdout(_nothing):
    # The package prints where it is.
    from parfam.parfamwrapper import ParFamWrapper
    from parfam.train import (
        evaluate_test_iterative_finetuning,
        get_complete_model_parameter_list,
        hyperparameter_training,
        setup_model,
    )

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Found = list[tuple[str, float]]

__all__ = ["Adapter"]

_MODEL = "ParFamTorch"
_FOREVER = 1e9
"""The package's own limits, of seconds and of evaluations: they end nothing."""
_DIGITS = 12
"""Decimals of constants: the package prints three, and what is scored is the text."""
_COEFFICIENTS = 4
"""Their place in what the package returns of a fit."""


class Adapter(ProcessFronts):
    """One search a target, in a process of its own; the fit of each family is kept.

    Parameters
    ----------
    seed
        Of NumPy's and PyTorch's random numbers: where each family's fit starts.
    threads
        Of PyTorch.
    sizes
        The package's settings whose families are fitted, one after the other: ``small`` (degrees up
        to 2, denominators of degree 1) and ``big`` (4, 3); both with sqrt, cos and exp.
    families
        The most families.
    accuracy
        The relative error (root of the sum of squares over that of the target) below which a fit
        ends the search.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "ParFam"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        sizes: Sequence[str],
        families: int,
        accuracy: float,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._sizes, self._families, self._accuracy = list(sizes), families, accuracy

    def error_of_mean(self, y: Array) -> float:
        """Return the error of a constant."""
        return float(np.std(y))

    def run(self, X: Array, y: Array, send: Callable[[Found], None]) -> None:
        """Search, and send all equations."""
        torch.set_num_threads(self.threads)
        logging.disable(logging.WARNING)
        size = float(np.linalg.norm(y)) or 1.0
        best = np.inf
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nothing,  # for its progress
            contextlib.redirect_stdout(nothing),
        ):
            for family, settings in islice(self._tasks(len(y)), self._families):
                fit = _Fit(family, settings, torch.tensor(X), torch.tensor(y))
                error = fit.off() / size
                send([(fit.text(), error)])
                if not error < best:
                    continue
                fit.prune()
                best = fit.off() / size
                send([(fit.text(), best)])
                if best < self._accuracy:
                    return

    def _tasks(self, rows: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield families of each size with the package's settings, without those of one before."""
        known: set[str] = set()
        for size in self._sizes:
            wrapper = ParFamWrapper(iterate=True, config_name=size)
            read = dict(wrapper.config["TRAININGPARAMETERS"])
            settings = {name: ast.literal_eval(value) for name, value in read.items()} | {
                "seed": self.seed % 2**32,
                "device": "cpu",
                "classifier": None,
                "max_dataset_length": rows,
            }
            for family in get_complete_model_parameter_list(
                wrapper.model_parameters, _MODEL, settings["enforce_function_iterate"]
            ):
                if repr(family) not in known:
                    known.add(repr(family))
                    yield family, settings


class _Fit:
    """The fit of a family of formulas to data."""

    def __init__(
        self, family: dict[str, Any], settings: dict[str, Any], X: torch.Tensor, y: torch.Tensor
    ) -> None:
        self._family, self._settings, self._X, self._y = family, settings, X, y
        seed = settings["seed"]
        np.random.seed(seed)  # noqa: NPY002 - what the package draws from
        torch.manual_seed(seed)
        found = hyperparameter_training(
            X, y, None, dict(settings), copy.deepcopy(family), seed, verbose=False
        )
        self._coefficients = found[_COEFFICIENTS]

    def prune(self) -> None:
        """Leave out small coefficients and fit the others, as the package does with its best."""
        *_, self._coefficients = evaluate_test_iterative_finetuning(
            self._family,
            self._X,
            self._y,
            self._X,
            self._y,
            "cpu",
            self._coefficients,
            True,
            self._settings["lambda_1_finetuning"],
            _MODEL,
        )

    def text(self) -> str:
        """Return the formula."""
        return str(self._model().get_formula(self._coefficients, decimals=_DIGITS))

    def off(self) -> float:
        """Return the root of the sum of squares that are left; not finite where a value is not."""
        values = self._model().predict(self._coefficients, self._X)
        return float(torch.linalg.norm(values.ravel() - self._y))

    def _model(self) -> Any:
        return setup_model(copy.deepcopy(self._family), self._X.shape[1], "cpu", _MODEL)
