"""A record's key: a hash of all that could change its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.runtimes.base import OUTPUT_MB, PROCESSES

if TYPE_CHECKING:
    from mdbench.datatypes.base import Dataset
    from mdbench.methods import Method
    from mdbench.runs.plan import Job
    from mdbench.runtimes.base import Runtime

__all__ = ["SCORING", "key_parts", "method_parts"]

SCORING = "2"
"""Version of all that lies between a method's answer and its score.

To be raised whenever a change in `data`, `datatypes`, `expressions`, `metrics`, `runs` or
`worker` can change a number in a record of an unchanged method on unchanged data.
"""


def method_parts(method: Method, runtime: Runtime) -> dict[str, str]:
    """Give the parts of a key that all jobs of a method share under a runtime.

    Raises
    ------
    MethodError
        If the method has no lock.
    """
    parts = {"adapter": method.fingerprint(), "environment": method.lock_sha256()}
    return parts | runtime.identity(method)


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
    # Not there unless they were asked for: what nobody limits changes nothing.
    if job.memory_mb is not None:
        parts["memory_mb"] = str(job.memory_mb)
    if job.processes != PROCESSES:
        parts["processes"] = str(job.processes)
    if job.output_mb != OUTPUT_MB:
        parts["output_mb"] = str(job.output_mb)
    if job.variant is not None:
        parts["variant"] = job.variant
    if job.max_rows is not None:
        parts["max_rows"] = str(job.max_rows)
    return parts
