"""Advice before a run on somebody's own data: what they are like, and what a constant scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.data_checks import Advising
from mdbench.errors import AnswerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.datatypes.base import Dataset, DataType
    from mdbench.protocols import Protocol
    from mdbench.runs.plan import Plan

__all__ = ["advice", "constant_score", "of_dataset"]

MOST = 3
"""Datasets of which something is said."""


def advice(plan: Plan) -> Iterator[str]:
    """Say what the user's own data are like, a few lines for each of the first datasets."""
    own = {job.data: job for job in plan.jobs if job.dataset_path is not None}
    first = {(job.data_type, job.dataset): job for job in reversed(own.values())}
    jobs = list(reversed(first.values()))
    for job in jobs[:MOST]:
        kind = plan.inventory.data_type(job.data_type)
        if not isinstance(kind, Advising):
            continue
        dataset = plan.inventory.load(job)
        view = plan.inventory.method(job.algorithm).spec.view
        yield from of_dataset(kind, dataset, view, job.protocol)
    if len(jobs) > MOST:
        yield f"... and {len(jobs) - MOST} more."


def of_dataset(
    kind: DataType[Any, Any], dataset: Dataset, view: str, protocol: Protocol
) -> Iterator[str]:
    """Say what one dataset is like; nothing where its data type has nothing to say."""
    if not isinstance(kind, Advising):
        return
    try:
        with np.errstate(all="ignore"):  # of values too large to be squared
            first, *lines = kind.advice(dataset)
    except (ArithmeticError, ValueError, MemoryError, np.linalg.LinAlgError) as error:
        # What cannot be said in advance is no reason not to run.
        first, lines = f"nothing can be said of it beforehand: {error}", []
    yield f"{dataset.name}: {first}"
    score = constant_score(kind, dataset, view, protocol)
    if score is not None:
        title = kind.metrics[0].title
        lines.append(f"a constant scores {title} {score:.2g}: an answer has to be better")
    yield from (f"  {line}" for line in lines)


def constant_score(
    kind: DataType[Any, Any], dataset: Dataset, view: str, protocol: Protocol
) -> float | None:
    """Score the means of the training targets as if they were an answer; None for no score."""
    try:
        with np.errstate(all="ignore"):
            task = kind.task(dataset, view, protocol)
            targets = task.refit.targets
            if not task.has_equations or targets.dtype.kind != "f":
                return None
            means = np.mean(targets.reshape(-1, targets.shape[-1]), axis=0)
            answer = kind.read_answer(task, Answer(tuple(repr(float(mean)) for mean in means)))
            score = kind.primary_score(task, answer)
    except (AnswerError, UsageError):
        return None
    return float(score) if isinstance(score, int | float) else None
