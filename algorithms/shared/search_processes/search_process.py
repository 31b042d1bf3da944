"""Searches in a process of their own, which is ended when their share of the budget is used up."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from mdbench.worker import Budget

Found = TypeVar("Found")

__all__ = ["SearchProcess", "spent_with"]

_LOOKS = 0.02
"""Seconds between two looks at the budget."""
_TICKS = os.sysconf("SC_CLK_TCK")


class SearchProcess(Generic[Found]):
    """What a search sends, until it ends or has used up its share.

    For packages that keep to no limit, or whose runtime may end the process that they are in.  The
    process is a fork, so that what was imported is there; what the search changes stays in it.

    Parameters
    ----------
    search
        Is given a function that sends what it is called with, through a pipe (pickle).
    budget, end
        The problem's, and how much of it will have been spent when the process is ended.
    threads
        Of the search.

    Attributes
    ----------
    stopped
        Whether the budget has ended it.

    Examples
    --------
    >>> from mdbench.worker import Budget
    >>> list(SearchProcess(lambda send: send(["x0", "2*x1"]), Budget(), float("inf"), 1))
    [['x0', '2*x1']]
    """

    def __init__(
        self,
        search: Callable[[Callable[[Found], None]], None],
        budget: Budget,
        end: float,
        threads: int,
    ) -> None:
        self._search = search
        self._budget, self._end, self._threads = budget, end, threads
        self.stopped = False

    def __iter__(self) -> Iterator[Found]:
        """Run the search, and yield what it sends.

        Raises
        ------
        RuntimeError
            If it fails, or its process ends in another way, before it has sent anything; what ends
            it later is printed.
        """
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_send_all, args=(self._search, here, there), daemon=True)
        process.start()
        there.close()
        count = 0
        failure: str | None = None
        try:
            while not (late := self._is_used_up(process.pid)) or here.poll():
                if not here.poll(_LOOKS):
                    continue
                try:
                    found, error = here.recv()
                except (EOFError, OSError):
                    break
                if error:
                    failure = error
                    continue
                count += 1
                yield found
            self.stopped = late
        finally:
            process.kill()
            process.join()
            here.close()
        if failure is None and not self.stopped and process.exitcode not in (0, -9):
            failure = f"its process ended with status {process.exitcode}"
        if failure is not None and not count:
            raise RuntimeError(failure)
        if failure is not None:
            print(f"the search ended after it had found something: {failure}")  # noqa: T201 - for the log

    def _is_used_up(self, pid: int | None) -> bool:
        return spent_with(self._budget, pid, self._threads) >= self._end


def _send_all(
    search: Callable[[Callable[[Any], None]], None], parents: Connection, own: Connection
) -> None:
    parents.close()
    try:
        search(lambda found: own.send((found, "")))
    except Exception as error:  # noqa: BLE001 - it is told to the parent
        traceback.print_exc()
        own.send((None, f"{type(error).__name__}: {error}"))
    own.close()
    os._exit(0)  # at once: a package's runtime may hang when it is asked to end


def spent_with(budget: Budget, pid: int | None, threads: int) -> float:
    """Return what of a budget has been used, a child that is running included.

    A budget of work has the CPU time of children only when they have ended.

    Parameters
    ----------
    pid
        Of the child.
    threads
        Of the job.
    """
    if not budget.in_work:
        return budget.spent()
    return budget.spent() + _cpu_seconds(pid) / (budget.seconds(1.0) * threads)


def _cpu_seconds(pid: int | None) -> float:
    """Return the CPU seconds of a process, its threads and its children that have ended.

    0 when it is gone.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS
