"""What came of a run, in numbers; and a command of the user's that is told of it at the end.

The command is a program and its arguments, split as a POSIX shell would split them; no shell runs
it, and nothing in it is expanded.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mdbench.errors import MdbenchError, UsageError
from mdbench.records import ANSWERED, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mdbench.runs.execute import Summary
    from mdbench.runs.plan import Plan

__all__ = ["News", "notifying", "outcome"]

SECONDS: Final = 60.0
"""How long the command may take."""
_TOLD = ("event", "reason", "folder", "jobs", "answered", "failed", "left", "seconds")
"""What stands in the environment, too, as ``MDBENCH_EVENT`` and so on."""


def outcome(plan: Plan, summary: Summary, seconds: float) -> dict[str, Any]:
    """Count what came of the jobs of a plan.

    Returns
    -------
    dict
        JSON values: ``folder`` and ``files``, the jobs by what happened to them in this run
        (``ran``, ``skipped``, ``left``), by what their records say (``statuses``, of which
        ``answered`` and ``failed``), whether it was ``interrupted``, and the ``seconds`` it took.
    """
    statuses = Counter(record.status for record in summary.records)
    answered = sum(statuses[status] for status in ANSWERED)
    return {
        "folder": str(plan.result_dir.absolute()),
        "files": [str(path.absolute()) for path in plan.files.values()],
        "jobs": len(plan.jobs),
        "ran": summary.ran,
        "skipped": summary.skipped,
        "left": summary.left,
        "answered": answered,
        "failed": statuses.total() - answered - statuses[Status.INTERRUPTED],
        "statuses": {str(status): statuses[status] for status in sorted(statuses)},
        "interrupted": summary.interrupted,
        "seconds": round(seconds, 3),
    }


@dataclass
class News:
    """What there is to tell at the end of a run; its maker fills it in as it becomes known."""

    folder: Path
    start: float = field(default_factory=time.monotonic)
    found: dict[str, Any] | None = None

    def ended(self, plan: Plan, summary: Summary) -> dict[str, Any]:
        """Take down what came of the run; give it as `outcome` does."""
        self.found = outcome(plan, summary, time.monotonic() - self.start)
        return self.found

    def told(self, error: BaseException | None) -> dict[str, Any]:
        """Give all of it as the command is told: with ``event`` and ``reason``."""
        found = self.found or {
            "folder": str(self.folder.absolute()),
            **dict.fromkeys(("jobs", "answered", "failed", "left")),
            "seconds": round(time.monotonic() - self.start, 3),
        }
        event, reason = "finished", ""
        if isinstance(error, KeyboardInterrupt) or found.get("interrupted"):
            event = "interrupted"
        elif error is not None:
            event = "failed"
            reason = error.message if isinstance(error, MdbenchError) else type(error).__name__
        return {"schema": 1, "event": event, "reason": reason, **found}


@contextmanager
def notifying(
    command: Sequence[str], folder: Path, say: Callable[[str], None], seconds: float = SECONDS
) -> Iterator[News]:
    """Run a command when the work within has ended, in whatever way.

    What comes of the command changes nothing but what is said.

    Parameters
    ----------
    command
        A program and its arguments; nothing is run where it is empty.
    folder
        Where the results go.
    say
        Told why the command failed, if it did.
    seconds
        It may take; then it is killed with all that it has started.

    Raises
    ------
    UsageError
        At once, if there is no such program.
    """
    if command and shutil.which(command[0]) is None:
        raise UsageError(
            f"--notify: there is no program {command[0]!r}.",
            "Name one that is on PATH, or its path; it has to be executable.",
        )
    news = News(folder)
    failure: BaseException | None = None
    try:
        yield news
    except BaseException as error:
        failure = error
        raise
    finally:
        if command and (trouble := _run(command, news.told(failure), seconds)):
            say(f"--notify {shlex.join(command)}: {trouble}")


def _run(command: Sequence[str], told: dict[str, Any], seconds: float) -> str:
    """Run the command; say what went wrong, if anything did."""
    variables = {f"MDBENCH_{name.upper()}": told[name] for name in _TOLD}
    environment = {name: "" if value is None else str(value) for name, value in variables.items()}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=2,  # whoever reads our standard output wants the run's
            env=os.environ
            | {name: value.replace("\0", " ") for name, value in environment.items()},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"it cannot be run: {error}"
    try:
        process.communicate(json.dumps(told, allow_nan=False).encode() + b"\n", timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"it was ended after {seconds:g} s"
    except OSError as error:
        return str(error)
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode < 0:
        return f"it was ended by signal {-process.returncode}"
    return f"it ended with exit status {process.returncode}" if process.returncode else ""
