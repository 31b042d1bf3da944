"""Scores of the true equations of the 14 PDE systems on clean data: as published, and today.

Run as ``python benchmarks/pde_floors.py [SYSTEM ...]``, with OMP_NUM_THREADS=1 to count one thread.
The floor is the NMSE of the true right-hand sides on what is scored of the last fifth of the
times.  *Published* takes the published way to make the data, and second-order differences; *today*
what `strict` has.  The weakest term is the part of the squared derivatives that the smallest of
the true terms has, in the equation where it is least.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eqverdict import parse
from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde.data_type import Pde
from mdbench.datatypes.pde.tasks import clean_test, inner_samples
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.datatypes.base import Source
    from mdbench.datatypes.pde.tasks import PdeDataset

ROOT = Path(__file__).resolve().parents[1]
REMEDIES = {
    "burgers": "periodic axis by Fourier, u_t of the solver",
    "kdv": "start summed over images, periodic axis, u_t of the solver",
    "kuramoto_sivishinky": "periodic axis by Fourier, u_t of the solver",
    "advection1d": "a whole number of waves in the period, u_t in closed form",
    "nls": "solved on the nodes that are kept, periodic axis, u_t of the solver",
    "advection_diffusion_2d": "differences of sixth order, scored off the ends, u_t in closed form",
    "reaction_diffusion_2d": "periodic axes by Fourier, u_t of the solver",
    "heat_soil_uniform_1d_p1": "the same",
    "heat_soil_uniform_2d_p1": "the same, and two waves across",
    "heat_soil_uniform_3d_p1": "the same, and two waves along x and y, dz = 0.015",
    "navier_stokes_channel": "stirred, the pressure a feature, waves and Stokes modes",
    "navier_stokes_cylinder": "the pressure a feature, second order in time, local averages",
    "heat_laser": "by modes, u_t of the solver, its cooling in the equation",
    "reaction_diffusion_cylinder": "the same, and quadratic elements",
}


def main() -> None:
    """Print the table of docs/datasets.md."""
    with tempfile.TemporaryDirectory() as name:
        kind = datatypes.find("pde", ROOT / "datasets" / "pde", Path(name))
        assert isinstance(kind, Pde)
        source = kind.source()
        print(
            "| system | published | today | of each state | weakest term | CPU s | what was done |"
        )
        print("|---|--:|--:|---|--:|--:|---|")
        for system in sys.argv[1:] or source.names():
            started = time.process_time()
            today = load(source, system, Protocol.STRICT)
            seconds = time.process_time() - started
            published = load(source, system, Protocol.PUBLISHED)
            each, weakest = states(today)
            of_states = ", ".join(f"{one:.1e}" for one in each) if len(each) > 1 else ""
            cells = [
                f"`{system}`", f"{published.floor:.1e}", f"{today.floor:.1e}", of_states,
                f"{weakest:.0e}", f"{seconds:.1f}", REMEDIES[system],
            ]  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


def load(source: Source[PdeDataset], system: str, protocol: Protocol) -> PdeDataset:
    """Load a clean dataset."""
    return source.load(system, snr_db=None, seed=0, protocol=protocol)


def states(data: PdeDataset) -> tuple[list[float], float]:
    """Return the floor of each state, and the least part that a true term has of a derivative."""
    columns, targets = clean_test(data, Protocol.STRICT)
    scored = inner_samples(targets.shape[:-1], data.clean)

    def values(text: str) -> NDArray[np.float64]:
        return parse(text, tuple(columns)).evaluate(columns).reshape(-1)[scored]

    floors, weakest = [], np.inf
    for i, text in enumerate(data.truth or ()):
        du = targets[..., i].reshape(-1)[scored]
        floors.append(nmse(values(text), du))
        for monomial, coefficient in expand(text, tuple(columns)).items():
            term = values(monomial_text(monomial, coefficient))
            weakest = min(weakest, float(np.square(term).sum() / np.square(du).sum()))
    return floors, weakest


if __name__ == "__main__":
    main()
