"""ODEFormer: a pretrained transformer that reads a trajectory and writes a system of ODEs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from odeformer.model import SymbolicTransformerRegressor
from pretrained_models import byte_masks, device, given, in_calls, load_pickled, seed_all
from written_equations import in_names, values

from mdbench.worker import Candidate, Problem, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = NDArray[np.float64]


class Adapter:
    """One pass of the model; the candidates are its samples, as they are.

    A sample with more or fewer components than the system has, or with the time in it, is no answer
    and is left out: nothing is reshaped.

    Parameters
    ----------
    seed, threads
        Seed and number of threads of PyTorch and NumPy.
    beam_type, beam_size, beam_temperature
        Method that draws candidates: ``sampling`` or ``search``.
    rescale
        Whether time and states are brought to the range of the training, as published.
    max_rows
        Samples that are read at once; more are cut into parts, each with its own candidates.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        beam_type: str,
        beam_size: int,
        beam_temperature: float,
        rescale: bool,
        max_rows: int,
    ) -> None:
        self._seed, self._threads = seed, threads
        self._beam = {
            "beam_type": beam_type,
            "beam_size": beam_size,
            "beam_temperature": beam_temperature,
        }
        self._rescale, self._max_rows = rescale, max_rows
        self._weights = given("odeformer", "weights", "the file odeformer.pt of the authors'")

    def fit(self, problem: Problem) -> None:
        """Read the states as they were measured, and write systems.

        Raises
        ------
        Unavailable
            If the weights are not valid.
        Unsupported
            If the system has more states than the model supports.
        ValueError
            If the data are not finite.
        RuntimeError
            If no sample is an answer.
        """
        states = problem.arrays.get("measured", problem.u)
        if not (np.isfinite(problem.t).all() and np.isfinite(states).all()):
            raise ValueError("the data are not finite")
        seed_all(self._seed, self._threads)
        model = load_pickled(self._weights, device(), "env", "embedder", "encoder", "decoder")
        most = int(model.env.params.max_dimension)
        if len(problem.variables) > most:
            raise Unsupported(f"these weights support systems of at most {most} equations")
        regressor = SymbolicTransformerRegressor(
            model=model, rescale=self._rescale, max_input_points=self._max_rows
        )
        regressor.set_model_args(self._beam)
        begin = time.monotonic()
        with byte_masks():
            trees = regressor.fit(problem.t, states, sort_candidates=False)[0]
        print(f"{len(trees)} samples in {time.monotonic() - begin:.1f} s")  # noqa: T201
        self._problem = problem
        self._systems = list(dict.fromkeys(self._read(trees)))
        if not self._systems:
            raise RuntimeError(f"none of the {len(trees)} samples is a system of this size")
        errors = [self._error(system) for system in self._systems]
        self._chosen = self._systems[int(np.argmin(errors))]

    def candidates(self) -> Iterator[Candidate]:
        """Yield the samples, equal ones once."""
        for system in self._systems:
            yield Candidate(system, self._values(system, self._problem))

    def choose(self, indices: Sequence[int]) -> None:
        """Use this sample; before, the one that is nearest to the derivatives is used."""
        self._chosen = self._systems[indices[0]]

    def equations(self) -> list[str]:
        """Return the chosen system."""
        return list(self._chosen)

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen system, (n, targets)."""
        return self._values(self._chosen, problem)

    def _read(self, trees: Sequence[object]) -> Iterator[tuple[str, ...]]:
        names: dict[str, str | float] = {
            f"x_{place}": name for place, name in enumerate(self._problem.variables)
        }
        for tree in trees:
            if tree is None:
                continue
            try:
                texts = in_calls(tree.prefix())  # type: ignore[attr-defined]
                system = tuple(in_names(text, names) for text in texts)
            except ValueError as error:
                print(f"left out: {error}")  # noqa: T201
                continue
            finite = len(system) == len(self._problem.targets)
            if finite and np.isfinite(self._values(system, self._problem)).all():
                yield system

    def _error(self, system: tuple[str, ...]) -> float:
        with np.errstate(over="ignore"):
            off = self._values(system, self._problem) - self._problem.du
            return float(np.mean(np.square(off) / (np.mean(self._problem.du**2, axis=0) + 1e-10)))

    @staticmethod
    def _values(system: tuple[str, ...], problem: Problem) -> Array:
        columns = [values(text, problem.variables, problem.u) for text in system]
        return np.stack(columns, axis=1)
