"""AI Feynman's Fortran programs, and its front, in forks of a process that has the package."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ForkedPrograms", "recording"]

_MODULES = {
    "feynman_sr1": "1",
    "feynman_sr2": "2",
    "feynman_sr3": "3",
    "feynman_sr_mdl_mult": "_mdl3",
    "feynman_sr_mdl_plus": "_mdl2",
    "feynman_sr_mdl4": "_mdl4",
    "feynman_sr_mdl5": "_mdl5",
}
"""The package's programs, with the Fortran module of each."""
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class ForkedPrograms:
    """Replaces ``subprocess`` in the package's modules: a program is a fork, not a new Python.

    Parameters
    ----------
    first, others
        Parts of its limit that a program may use: the first two, which work on the target itself,
        and all others.
    cpu_time
        Whether they are seconds of CPU time; else of wall time.
    """

    def __init__(self, first: float, others: float, *, cpu_time: bool) -> None:
        self._parts = [first, first]
        self._others = others
        self._clock = (
            (signal.ITIMER_PROF, signal.SIGPROF)
            if cpu_time
            else (signal.ITIMER_REAL, signal.SIGALRM)
        )

    def call(self, command: Sequence[str], timeout: float) -> int:
        """Run a program of the package, at most so long; return its status."""
        seconds = timeout * (self._parts.pop() if self._parts else self._others)
        sys.stdout.flush()
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            status = 1
            try:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                timer, ended_by = self._clock
                signal.signal(ended_by, signal.SIG_DFL)
                if os.getppid() == parent:
                    signal.setitimer(timer, max(seconds, 1e-3))
                    import_module(f"aifeynman._symbolic_regress{_MODULES[command[0]]}").go()
                    status = 0
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def recording(pareto_set: Any, record: Callable[[str], None]) -> Any:
    """Return a class of Pareto fronts whose first instance records what is added to it.

    The others are of parts of the problem, in variables of their own.
    """
    made: list[Any] = []

    class Recording(pareto_set):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def add(self, point: Any) -> Any:
            new = super().add(point)
            if new and self is made[0]:
                record(str(point.data))
            return new

    return Recording
