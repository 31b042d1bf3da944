"""AI Feynman: one process for each target, in its own folder, ended when its share is used up."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else

# PyTorch, SymPy and matplotlib are imported here, before any budget begins; a search is a fork.
from aifeynman import (
    S_brute_force,
    S_brute_force_comp,
    S_brute_force_gen_sym,
    S_brute_force_number,
    S_run_aifeynman,
)
from forked_programs import ForkedPrograms, recording
from search_process import SearchProcess
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_FIRST, _OTHERS = 2, 24
"""Runs of the brute force, for sums and for products: on the target, on twelve functions of it."""
_SHARE = 0.25
"""Part of the budget for the first, and the same for the others; half is for what follows."""


class Adapter(WrittenFronts):
    """The front that the package finds is sent at once, so that a limit loses nothing.

    Parameters
    ----------
    seed
        Seed of NumPy and PyTorch.
    threads
        Number of threads that PyTorch may use.
    brute_force_seconds
        Seconds of each run of the brute force; less where a limit is near.
    operations
        The package's file of operations: ``7ops.txt``, ``10ops.txt``, ``14ops.txt``, ``19ops.txt``.
    polynomial_degree
        Degree of the polynomials that are tried.
    epochs
        Of the network, as the package is asked for them.
    max_rows
        Largest number of samples; of more, a random part is drawn.
    """

    package = "AI Feynman"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        brute_force_seconds: float,
        operations: str,
        polynomial_degree: int,
        epochs: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._brute_force_seconds, self._operations = brute_force_seconds, operations
        self._degree, self._epochs = polynomial_degree, epochs
        self._texts: list[str] = []

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run the package in a fork; its end, or that of the share, ends all its processes."""
        seconds = math.inf if limit is None else _SHARE * limit * self.threads
        parts = [
            min(1.0, seconds / (runs * self._brute_force_seconds)) for runs in (_FIRST, _OTHERS)
        ]
        programs = ForkedPrograms(*parts, cpu_time=self.budget.in_work)
        folder = Path("scratch").resolve() / f"target{target}"
        folder.mkdir(parents=True)
        np.savetxt(folder / "data.txt", np.column_stack([X, y]))
        run = partial(self._run, folder, programs)
        process: SearchProcess[str] = SearchProcess(run, self.budget, self.end, self.threads)
        self._texts = []
        for text in process:
            self._texts.append(text)
        self.stopped_early |= process.stopped
        return self._texts

    def found(self, target: int) -> list[str]:
        """Return the front of the search that was stopped, as far as it has come."""
        del target
        return self._texts

    def _run(self, folder: Path, programs: ForkedPrograms, send: Callable[[str], None]) -> None:
        """Run the package: in a process of its own, as it writes into the working folder."""
        os.chdir(folder)
        np.random.seed(self.seed % 2**32)  # noqa: NPY002 - the package draws from it
        torch.manual_seed(self.seed % 2**32)
        torch.set_num_threads(self.threads)
        for module in (
            S_brute_force,
            S_brute_force_comp,
            S_brute_force_gen_sym,
            S_brute_force_number,
        ):
            module.subprocess = programs
        S_run_aifeynman.ParetoSet = recording(S_run_aifeynman.ParetoSet, send)
        S_run_aifeynman.run_aifeynman(
            "./",
            "data.txt",
            self._brute_force_seconds,
            self._operations,
            polyfit_deg=self._degree,
            NN_epochs=self._epochs,
        )
