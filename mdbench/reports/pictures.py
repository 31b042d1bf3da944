"""Draws systems whose arrays are at hand: trajectories and fields."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mdbench.data.splits import chronological
from mdbench.datatypes.base import Protocol
from mdbench.datatypes.ode import OdeDataset
from mdbench.datatypes.pde import PdeDataset
from mdbench.errors import MdbenchError
from mdbench.drawing.fields import field_pictures
from mdbench.drawing.numbers import r_squared, scientific
from mdbench.drawing.trajectories import Found, simulate, trajectory_pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mdbench.datatypes.base import DataType, Source
    from mdbench.reports.results import Result

    Array = NDArray[np.float64]

__all__ = ["Drawn", "Pictures"]

MOST_DRAWN = 3
"""Methods in a picture: those that are identified on clean data, then those with small errors."""
ALL_EVALUATIONS = 600_000
"""What all simulations of a page may take together, 5 s or so; pictures after that have none.

Unlike a limit in seconds it gives the same page for the same records.
"""
DRAWN_VIEWS = frozenset({"trajectory", "field"})
"""Of data types with such a view there are pictures."""


class Drawn(NamedTuple):
    """What there is to see of a system.

    Attributes
    ----------
    html
        Figures; empty where there are none.
    note
        Why there are none, where the reader can do something about it.
    """

    html: str = ""
    note: str = ""


class Pictures:
    """Draws systems, and makes no arrays that take long.

    Parameters
    ----------
    find
        Gives a data type by its name, a new one each time; None where there is none of the name.
    """

    def __init__(self, find: Callable[[str], DataType | None]) -> None:
        self.find = find
        self.left = ALL_EVALUATIONS
        self._sources: dict[tuple[str, str | None, str | None], Source | None] = {}

    def draw(self, results: Sequence[Result], numbers: Mapping[str, int]) -> Drawn:
        """Draw the system that results are of.

        Parameters
        ----------
        results
            All of one system, in the order of reports.
        numbers
            The number of each method, which sets its colour.
        """
        first = results[0]
        name, variant = first.dataset, first.key_parts.get("variant")
        source = self._source(first.data_type, variant, first.dataset_path)
        if source is None or name not in source.names():
            return Drawn()
        if source.at_hand(name):
            return self._draw(source, results, numbers)
        command = f"mdbench data --data-type {first.data_type} --out DIR"
        command += f" --variant {variant}" if variant else ""
        return Drawn(
            note="No picture, as its arrays are not on this machine. Those of all systems are "
            f"made, in some minutes, by: {command}"
        )

    def _draw(self, source: Source, results: Sequence[Result], numbers: Mapping[str, int]) -> Drawn:
        first = results[0]
        try:
            dataset = source.load(first.dataset, snr_db=None, seed=0, protocol=Protocol.STRICT)
            if first.dataset_path and _changed(results, dataset.fingerprint):
                return Drawn(note=f"No picture, as {first.dataset_path} has changed since.")
            match dataset:
                case OdeDataset():
                    return Drawn(self._trajectories(dataset, results, numbers))
                case PdeDataset():
                    return Drawn(self._field(dataset, results))
        except MdbenchError as error:
            return Drawn(note=f"No picture: {error.message}")
        return Drawn()

    def _source(self, data_type: str, variant: str | None, path: str | None) -> Source | None:
        place = data_type, variant, path
        if place not in self._sources:
            self._sources[place] = None
            kind = self.find(data_type)
            if kind is not None and DRAWN_VIEWS & set(kind.views):
                try:
                    kind.use_variant(variant)
                    self._sources[place] = kind.source(None if path is None else Path(path))
                except MdbenchError:  # files that are no longer there
                    pass
        return self._sources[place]

    def _trajectories(
        self, dataset: OdeDataset, results: Sequence[Result], numbers: Mapping[str, int]
    ) -> str:
        seen, unseen = dataset.clean, dataset.unseen() if dataset.unseen else None
        first = chronological(len(seen.t)).test.start
        found = []
        for one in _best(results, dataset.dim):
            right_hand_sides = one.equations or ()
            ways: list[Array | None] = [
                self._simulate(right_hand_sides, series.t[begin:], series.u[begin])
                for series, begin in ((seen, first), (unseen, 0))
                if series is not None
            ]
            if any(states is not None for states in ways):
                words = " and ".join(map(r_squared, _r2(one)))
                found.append(Found(one.algorithm, numbers[one.algorithm], words, ways))
        return trajectory_pictures(dataset.name, seen, unseen, found)

    def _field(self, dataset: PdeDataset, results: Sequence[Result]) -> str:
        strict = [one for one in results if one.protocol == Protocol.STRICT]
        found = (
            [("the truth", scientific(dataset.nmse_floor), dataset.truth)] if dataset.truth else []
        )
        for one in _best(strict, dataset.dim):
            residual = one.fidelity.residual if one.fidelity else one.nmse
            found.append((one.algorithm, scientific(residual), one.equations or ()))
        return field_pictures(dataset.clean, found)

    def _simulate(self, equations: Sequence[str], t: Array, start: Array) -> Array | None:
        if self.left <= 0:
            return None
        states, used = simulate(equations, t, start)
        self.left -= used
        return states


def _best(results: Sequence[Result], dim: int) -> list[Result]:
    """Choose who is drawn, by answers on clean data; who is told the truth need not be."""
    best: dict[str, Result] = {}
    for one in results:
        if one.snr_db is None and one.answered and len(one.equations or ()) == dim:
            best.setdefault(one.algorithm, one)
    chosen = [one for one in best.values() if one.equations != one.truth]
    chosen.sort(key=lambda one: (one.verdict != "identified", one.nmse))
    return chosen[:MOST_DRAWN]


def _changed(results: Sequence[Result], fingerprint: str) -> bool:
    """Tell whether results on clean data are of other arrays."""
    clean = [one.key_parts.get("dataset") for one in results if one.snr_db is None]
    return any(known not in {None, fingerprint} for known in clean)


def _r2(one: Result) -> list[float | None]:
    motion = one.motion
    if motion is None:
        return []
    return [motion.r2] if motion.only_seen else [motion.r2, motion.r2_unseen]
