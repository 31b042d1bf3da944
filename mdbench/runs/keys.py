"""A record's key: a hash of all that could change its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdbench.datatypes.base import Dataset
    from mdbench.methods import Method
    from mdbench.runs.plan import Job

__all__ = ["SCORING", "key_parts", "method_parts"]

SCORING = "1"
"""Version of all that lies between a method's answer and its score.

To be raised whenever a change in `data`, `datatypes`, `expressions`, `metrics`, `runs` or
`worker` can change a number in a record of an unchanged method on unchanged data.
"""


def method_parts(method: Method) -> dict[str, str]:
    """Give the parts of a key that all jobs of a method share.

    Raises
    ------
    MethodError
        If the method has no lock.
    """
    return {"adapter": method.fingerprint(), "environment": method.lock_sha256()}


def key_parts(job: Job, method: Method, shared: dict[str, str], dataset: Dataset) -> dict[str, str]:
    """Give what the key is made of, by name: what differs says why a job is run again."""
    parts = {
        **shared,
        "data_type": job.data_type,
        "name": job.dataset,
        "dataset": dataset.fingerprint,
        "target_source": dataset.target_source,
        "view": method.spec.view,
        "protocol": job.protocol.value,
        "snr_db": "clean" if job.snr_db is None else f"{job.snr_db:g}",
        "seed": str(job.seed),
        "timeout_s": f"{job.timeout_s:g}",
        "threads": str(job.threads),
        "scoring": SCORING,
    }
    # Only where they are asked for, so that the keys of all other records stay what they are.
    if job.variant is not None:
        parts["variant"] = job.variant
    if job.max_rows is not None:
        parts["max_rows"] = str(job.max_rows)
    return parts
