"""KAN: networks of splines of growing size, whose edges are replaced by functions of a library."""

from __future__ import annotations

import contextlib
import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
import torch
import torch._dynamo  # an optimizer imports it when it is first made: 5 s in each search else
from kan import KAN
from search_process import SearchProcess
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_DECIMALS = 6
_LEAST_SQUARES = torch.linalg.lstsq
_FAILURES = RuntimeError, ValueError, IndexError, UnboundLocalError, TypeError
"""What the package raises where an edge has nothing left, or a spline's equations are singular."""


class Adapter(WrittenFronts):
    """One series of networks a target, in a process of its own; each gives formulas.

    Parameters
    ----------
    seed
        Of Python's, NumPy's and PyTorch's random numbers; each network has one more.
    threads
        Of PyTorch.
    hidden
        Hidden layers of each network, as pairs of sums and products.
    grid, order
        Intervals and degree of the splines.
    steps
        Of L-BFGS, before and after pruning; twice as many when all edges are functions.
    penalty
        Of the first training, which makes edges vanish.
    library
        Functions of the edges, by the package's names.
    simplicity
        How much a function's simplicity counts against its fit, 0 to 1.
    rounds
        How often all networks are tried, each time from new random numbers.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    """

    package = "KAN"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        hidden: Sequence[Sequence[Sequence[int]]],
        grid: int,
        order: int,
        steps: int,
        penalty: float,
        library: Sequence[str],
        simplicity: float,
        rounds: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._hidden = [[list(layer) for layer in layers] for layers in hidden]
        self._grid, self._order, self._steps = grid, order, steps
        self._penalty, self._simplicity = penalty, simplicity
        self._library, self._rounds = list(library), rounds
        self._formulas: list[str] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Train network after network; return the formulas of those that have ended."""
        del target, limit
        self._formulas = [repr(float(np.mean(y)))]
        process = SearchProcess(partial(self._run, X, y), self.budget, self.end, self.threads)
        self._formulas.extend(process)
        self.stopped_early |= process.stopped
        return self._formulas

    def found(self, target: int) -> Iterable[str]:
        """Return the formulas of the networks that have ended."""
        del target
        return self._formulas

    def _run(self, X: Array, y: Array, send: Callable[[str], None]) -> None:
        torch.set_num_threads(self.threads)
        torch.set_default_dtype(torch.float64)
        # PyTorch's own choice, gelsy, reads memory that nobody has set: no two runs are alike.
        torch.linalg.lstsq = partial(_LEAST_SQUARES, driver="gelsd")
        centre, spread = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        middle, size = float(y.mean()), float(y.std()) or 1.0
        inputs = torch.tensor((X - centre) / spread)
        targets = torch.tensor(((y - middle) / size)[:, None])
        data = {
            "train_input": inputs, "test_input": inputs,
            "train_label": targets, "test_label": targets,
        }  # fmt: skip
        names = [f"x{place}" for place in range(X.shape[1])]
        normal = centre.tolist(), spread.tolist()
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nothing,
            contextlib.redirect_stdout(nothing),
            contextlib.redirect_stderr(nothing),
        ):
            for number in range(self._rounds):
                for place, hidden in enumerate(self._hidden):
                    seed = (self.seed + 1000 * number + place) % 2**31
                    with contextlib.suppress(*_FAILURES):
                        model = self._trained([[X.shape[1], 0], *hidden, [1, 0]], data, seed)
                        [formula], _ = model.symbolic_formula(names, normal, ([middle], [size]))
                        send(str(formula))
                        send(str(_rounded(formula)))

    def _trained(self, width: list[list[int]], data: dict[str, torch.Tensor], seed: int) -> Any:
        """Train, prune, train again, put functions on all edges, and train their numbers."""
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what the package draws from
        model = KAN(
            width=width,
            grid=self._grid,
            k=self._order,
            seed=seed,
            ckpt_path=str(Path("scratch").resolve() / "kan"),  # it writes each of its states there
        )
        model.fit(data, opt="LBFGS", steps=self._steps, lamb=self._penalty)
        model = model.prune()
        model.fit(data, opt="LBFGS", steps=self._steps)
        model.auto_symbolic(lib=self._library, weight_simple=self._simplicity, verbose=0)
        model.fit(data, opt="LBFGS", steps=2 * self._steps, update_grid=False)
        return model


def _rounded(formula: sympy.Expr) -> sympy.Expr:
    """Expand a formula and round its numbers, as the package's own examples do."""
    whole = sympy.expand(formula)
    return whole.xreplace({each: each.round(_DECIMALS) for each in whole.atoms(sympy.Float)})
