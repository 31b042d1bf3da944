"""Where jobs run, and the choice of a backend by the options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.doors import BACKENDS
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from mdbench.runs.execute import Backend
    from mdbench.runs.study import RunOptions

LOCAL = "local"
"""The name of the backend that a run has unless another is asked for."""
_SCHEDULED = "dask"
"""The name of the backend that ``--scheduler`` alone asks for."""


def open_backend(options: RunOptions) -> Backend:
    """Return the backend that a run asks for.

    Raises
    ------
    UsageError
        If options do not go together, or if what the backend needs is not installed.
    """
    name = options.backend
    if options.scheduler is not None:
        if name not in {LOCAL, _SCHEDULED}:
            raise UsageError(
                f"--scheduler does not go with --backend {name}.",
                "It is the address of a Dask scheduler: leave out one of the two.",
            )
        name = _SCHEDULED
    if options.slurm and name != "slurm":
        raise UsageError(f"--slurm does not go with --backend {name}.", "Give --backend slurm.")
    backend: Backend = BACKENDS.load(name).for_run(options)
    return backend
