"""A throw-away data type with a loss of its own: surfaces (x, y, z) over (u, v) as point clouds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import KDTree

from eqverdict import parse
from mdbench.datatypes.base import NO_OPTIONS, Dataset, Selection, Source, Split
from mdbench.datatypes.equations.base import AGREEMENT, COMPLEXITY, EquationTask, EquationType
from mdbench.datatypes.equations.terms import TERM_METRICS
from mdbench.errors import UsageError
from mdbench.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import ScoredCandidate
    from mdbench.datatypes.facts import Protocol

SURFACES = {
    "plane": ("u", "v", "0.5*u - v"),
    "saddle": ("u", "v", "u*v"),
    "tube": ("cos(u)", "sin(u)", "v"),
}
CHAMFER = MetricSpec(
    name="chamfer",
    title="Chamfer",
    explanation="mean distance from each cloud to the nearest point of the other",
    scale="log",
    resolution=1e-9,
    places=frozenset({"board", "answer", "brief", "figure"}),
)


@dataclass(frozen=True, eq=False)
class Cloud(Dataset):
    places: NDArray[np.float64] = field(repr=False)
    points: NDArray[np.float64] = field(repr=False)


class _Surfaces(Source[Cloud]):
    def names(self) -> list[str]:
        return list(SURFACES)

    def title(self, name: str) -> str:
        return f"the {name}"

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,  # noqa: ARG002 - the points are the same
        protocol: Protocol,  # noqa: ARG002 - likewise
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - there are none
    ) -> Cloud:
        if name not in SURFACES:
            raise UsageError(f"There is no dataset {name!r}.")
        places = np.random.default_rng(1).uniform(-1, 1, (100, 2))
        columns = {"u": places[:, 0], "v": places[:, 1]}
        points = np.stack([parse(t, columns).evaluate(columns) for t in SURFACES[name]], axis=-1)
        fingerprint = hashlib.sha256(places.tobytes() + points.tobytes()).hexdigest()
        truth = SURFACES[name]
        return Cloud(name, 3, snr_db, truth, "equations", fingerprint, places, points, floor=0.0)


class Clouds(EquationType[Cloud]):
    name = "clouds"
    views = ("table",)
    metrics = (CHAMFER, *TERM_METRICS, COMPLEXITY, AGREEMENT)
    check_datasets = ("saddle",)
    snr_levels = False

    def source(self, path: Path | None = None) -> Source[Cloud]:
        assert path is None
        return _Surfaces()

    def task(self, dataset: Cloud, view: str, protocol: Protocol) -> EquationTask[Cloud]:
        def part(rows: slice) -> Split:
            places = dataset.places[rows]
            columns = {"u": places[:, 0], "v": places[:, 1]}
            return Split({"X": places}, "Y", dataset.points[rows], columns)

        rows = slice(0, 60), slice(60, 80), slice(0, 80), slice(80, 100)
        parts = [part(each) for each in rows]
        names = ("u", "v"), ("x", "y", "z")
        return EquationTask(dataset, view, protocol, *names, *parts, any_order=True)

    def errors(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> dict[str, float]:
        return {CHAMFER.name: self.loss(values, targets)}

    def loss(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> float:
        near, _ = KDTree(values).query(targets)
        far, _ = KDTree(targets).query(values)
        return float(np.mean(near) + np.mean(far)) / 2

    def select(
        self, task: EquationTask[Cloud], candidates: Sequence[ScoredCandidate]
    ) -> Selection | None:
        """Take the simplest of those within twice the best."""
        del task
        if not candidates:
            return None
        good = [
            o for o in candidates if o.loss <= 2 * min(each.loss for each in candidates) + 1e-12
        ]
        return Selection((min(good, key=lambda one: one.complexity),))


DATA_TYPE = Clouds
