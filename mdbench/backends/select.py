"""Which backend does the jobs of a run: the one asked for, opened only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.backends.local import LocalBackend
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from mdbench.runs.execute import Backend
    from mdbench.runs.study import RunOptions

__all__ = ["open_backend"]


def open_backend(options: RunOptions) -> Backend:
    """Return the backend that a run asks for.

    Raises
    ------
    UsageError
        If options do not go together, or if what the backend needs is not installed.
    """
    if options.scheduler is not None and options.backend not in {"local", "dask"}:
        raise UsageError(
            f"--scheduler does not go with --backend {options.backend}.",
            "It is the address of a Dask scheduler: leave out one of the two.",
        )
    if options.slurm and options.backend != "slurm":
        raise UsageError(
            f"--slurm does not go with --backend {options.backend}.", "Give --backend slurm."
        )
    if options.backend == "dask" or options.scheduler is not None:
        from mdbench.backends.dask import DaskBackend  # noqa: PLC0415 - takes a second

        return DaskBackend(options.scheduler, require=options.require)
    if options.backend in {"slurm", "submitit-local"}:
        from mdbench.backends.slurm import SlurmBackend  # noqa: PLC0415 - an optional extra

        return SlurmBackend(
            local=options.backend == "submitit-local",
            options=dict(options.slurm),
            require=options.require,
        )
    return LocalBackend(calibrated=True)
