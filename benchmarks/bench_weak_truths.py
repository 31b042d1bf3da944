"""Which landed answers fit the noisy field better, in weak form, than its true equations do.

Run as ``python benchmarks/bench_weak_truths.py``, or with levels of noise: ``... clean 20``.  The
loss is that by which the bench chooses among candidates, so an answer is compared with the truth on
the data that it was fitted to.  Answers are those of edition 1, and of its two methods at further
levels; the answer 0 has a loss of 1.  It takes minutes, and longer where fields are not made yet.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.drawing.numbers import noise_name
from mdbench.records import PACKED, read_folder
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.datatypes.equations.base import EquationTask

ROOT = Path(__file__).resolve().parents[1]
LEVELS = (None, 40.0, 30.0, 20.0, 10.0)
BUNDLES = ("edition-1", "edition-1.*", "seed-rows")
MARGIN = 0.01
"""Least difference of a loss from the truth's, relative to that."""


def loss_of(task: EquationTask[Any], equations: Sequence[str]) -> float:
    """Return the weak loss of equations, the mean over the targets."""
    evidence = task.evidence
    assert evidence is not None
    read = [parse(text, task.variables).evaluate(evidence.columns) for text in equations]
    return float(np.mean([evidence.loss(values, target) for target, values in enumerate(read)]))


def main() -> None:
    """Print a line for each level and field, and how many truths are beaten."""
    asked = [None if text == "clean" else float(text) for text in sys.argv[1:]] or LEVELS
    landed = [
        record
        for bundle in BUNDLES
        for file in sorted((ROOT / "docs" / "results").glob(f"{bundle}{PACKED}"))
        for _, record in read_folder(file)
        if record.data_type == "pde" and not record.options
    ]
    place = Workspace.find()
    kind = datatypes.find("pde", place.datasets / "pde", place.arrays / "pde")
    source = kind.source()
    for level in asked:
        beaten, by_zero = 0, 0
        for system in source.names():
            data = source.load(system, snr_db=level, seed=0, protocol=Protocol.STRICT)
            task = kind.task(data, "field", Protocol.STRICT)
            truth = loss_of(task, data.truth)
            losses = {
                record.algorithm: loss_of(task, record.equations)
                for record in landed
                if (record.dataset, record.snr_db) == (system, level)
                and record.equations
                and not record.metrics.get("identified")
            }
            better = {
                name: f"{loss:.2g}" for name, loss in losses.items() if loss < truth * (1 - MARGIN)
            }
            beaten += bool(better)
            by_zero += truth > 1 + MARGIN
            print(f"{noise_name(level):<6} {system:<28} truth {truth:.2g}  {better or ''}")
        print(
            f"{noise_name(level)}: {beaten} beaten by a wrong answer, {by_zero} by 0",
            flush=True,
        )


if __name__ == "__main__":
    main()
