"""EPDE: equations as sums of products of columns, found by evolution with sparse regression."""

from __future__ import annotations

import contextlib
import os
import random
import re
import warnings
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from process_fronts import ProcessFronts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # escapes in the package's texts
    from epde.interface.interface import EpdeSearch
    from epde.interface.prepared_tokens import CacheStoredTokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Found = list[tuple[str, float]]

__all__ = ["Adapter"]

_FIRST, _TARGET = "x0", "dx0/dx0"
"""The package's names: of the variable that an equation is asked for, and of its derivative."""
_FACTOR = re.compile(r"(\S+)\{power: ([\d.]+)\}")


class Adapter(ProcessFronts):
    """One evolution a target, in a process of its own; all equations of each epoch are kept.

    Each is a candidate with its constant, which the package always fits, and without.

    The package is given columns, not a grid: the first is its variable, the target stands for that
    variable's derivative, and the other columns are its further tokens.  With a single column it
    would look for distinct terms without an end.

    Parameters
    ----------
    seed
        Of Python's, NumPy's and PyTorch's random numbers.
    threads
        Of PyTorch.
    population
        Equations, and directions between error and size (MOEA/DD).
    terms, factors, power
        The most terms of an equation, factors of a term, and power of a factor.
    sparsity
        Interval of the weight of the penalty of sparse regression.
    epochs
        The most epochs.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "EPDE"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        population: int,
        terms: int,
        factors: int,
        power: int,
        sparsity: Sequence[float],
        epochs: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._population, self._terms, self._factors = population, terms, factors
        self._power, self._sparsity, self._epochs = power, tuple(sparsity), epochs

    def error_of_mean(self, y: Array) -> float:
        """Return the error of a constant."""
        return float(np.var(y) * len(y))

    def run(self, X: Array, y: Array, send: Callable[[Found], None]) -> None:
        """Search, and send all equations."""
        seed = self.seed % 2**32
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the package draws from
        torch.manual_seed(seed)
        torch.set_num_threads(self.threads)
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nothing,  # for its progress
            contextlib.redirect_stdout(nothing),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            search = self._started(X, y)
            for epoch in count(1):
                levels = search.equations(only_print=False, num=self._population)
                equations = [one for level in levels for one in level]
                send(
                    [
                        (text, float(one.obj_fun[0]))
                        for one in equations
                        for constant in (True, False)
                        if (text := explicit(one.text_form, constant=constant))
                    ]
                )
                if epoch >= self._epochs:
                    return
                search.optimizer.optimize(epochs=1)

    def _started(self, X: Array, y: Array) -> Any:
        """Return the search after its first epoch."""
        search = EpdeSearch(
            coordinate_tensors=[np.arange(float(len(y)))],
            boundary=0,
            function_form=lambda grids: np.ones_like(grids[0]),
            verbose_params={"show_iter_idx": False},
        )
        search.set_moeadd_params(population_size=self._population, training_epochs=1)
        others = {f"x{place}": X[:, place].copy() for place in range(1, X.shape[1])}
        tokens = CacheStoredTokens(
            "columns",
            list(others),
            others,
            params_ranges={"power": (1, self._power)},
            params_equality_ranges={"power": 0},
            dimensionality=0,
            unique_specific_token=False,
            unique_token_type=False,
            meaningful=True,
        )
        search.fit(
            data=[X[:, 0].copy()],
            variable_names=[_FIRST],
            max_deriv_order=(1,),
            derivs=[y[:, None].copy()],
            additional_tokens=[tokens],
            equation_terms_max_number=self._terms,
            equation_factors_max_number=self._factors,
            data_fun_pow=self._power,
            eq_sparsity_interval=self._sparsity,
        )
        return search


def explicit(form: str, *, constant: bool = True) -> str | None:
    """Solve an equation for the target, and write its right-hand side.

    Parameters
    ----------
    form
        As the package writes it, ``2.0 * x1{power: 1.0} + 0.5 = dx0/dx0{power: 1.0}``.
    constant
        Whether its constant is written, which the package always fits.

    Returns
    -------
    str or None
        The right-hand side, ``2.0*x1**1+0.5``; None where the target is in no term, in several, or
        in a product or a power.

    Examples
    --------
    >>> explicit("-2.0 * dx0/dx0{power: 1.0} + 1.0 = x0{power: 1.0} * x1{power: 2.0}")
    '-0.5*x0*x1**2+0.5'
    >>> explicit("2.0 * dx0/dx0{power: 1.0} * x0{power: 1.0} + 1.0 = x1{power: 1.0}") is None
    True
    """
    left, _, right = form.partition("\n")[0].partition(" = ")
    *written, last = left.split(" + ")
    terms = [(-1.0, _FACTOR.findall(right))]
    for one in written:
        weight, _, product = one.partition(" * ")
        terms.append((float(weight), _FACTOR.findall(product)))
    terms = [(weight, product) for weight, product in terms if weight]
    with_target = [one for one in terms if any(name == _TARGET for name, _ in one[1])]
    if len(with_target) != 1 or len(with_target[0][1]) > 1 or float(with_target[0][1][0][1]) != 1:
        return None
    divisor = -with_target[0][0]
    parts = [
        f"{weight / divisor!r}*{'*'.join(_power(name, float(power)) for name, power in product)}"
        for weight, product in terms
        if (weight, product) != with_target[0]
    ]
    if (offset := float(last) / divisor) and constant:
        parts.append(repr(offset))
    return "+".join(parts) or "0.0"


def _power(name: str, power: float) -> str:
    return name if power == 1 else f"{name}**{power:g}"
