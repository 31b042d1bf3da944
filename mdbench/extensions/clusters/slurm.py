"""The backend of SLURM, through submitit: arrays whose tasks each do a piece of the plan.

One round is one array.  A piece that its time limit ends, that is requeued or that is lost goes on
where its records end: in the same files when SLURM begins it again, in the next round else.  What
submitit reports as a task's result is never used: a task that was killed gives nothing, and its
records are there.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mdbench.backends.local import ENDING_S
from mdbench.errors import MethodError, RecordsError, UnavailableError, UsageError, counted
from mdbench.extensions.clusters.node import NodeRequest
from mdbench.extensions.clusters.shards import (
    Shard,
    ShardCollector,
    ShardFiles,
    merge_earlier_round,
    partition,
    unmerged_rounds,
)
from mdbench.installation import command
from mdbench.records import Record
from mdbench.runs.execute import Backend
from mdbench.runs.job import lost_job
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mdbench.extensions.clusters.node import Opener
    from mdbench.runs.execute import Observer, Work
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.study import RunOptions
    from mdbench.runtimes.base import Level

POLL_SECONDS: Final = 5.0
"""Seconds between two checks of files and queue."""
MAX_ARRAY_SIZE: Final = 1001
"""SLURM's own default of ``MaxArraySize``, where it reports none."""
TASK_MINUTES: Final = 60
"""The time limit of a task, unless another is given or a job may take longer."""
FILLED: Final = 0.5
"""The share of a task's time that its jobs will probably fill."""
SIGNAL_SECONDS: Final = 90
"""Seconds before its end at which a task gets a signal, to leave its records whole."""
BEGIN_SECONDS: Final = 30.0
"""Seconds that a task takes before its first job."""
_NOT_THERE: Final = re.compile(r"invalid job id", re.IGNORECASE)


class SlurmBackend(Backend):
    """Tasks of a SLURM cluster, or processes of this machine that submitit starts in their place.

    Parameters
    ----------
    local
        Whether submitit starts processes here; for trying it out.
    options
        For ``sbatch``, by their long names with underscores; ``time`` in minutes.
    require
        What the runtime has to enforce on every node.
    opens
        Opens the runtime on a node.

    Raises
    ------
    UsageError
        If submitit is not installed, or if there is no SLURM here.
    """

    @classmethod
    def for_run(cls, options: RunOptions) -> SlurmBackend:
        """Return the backend ``slurm``, or ``submitit-local``, with the options for ``sbatch``."""
        return cls(
            local=options.backend == "submitit-local",
            options=dict(options.slurm),
            require=options.require,
        )

    def __init__(
        self,
        *,
        local: bool = False,
        options: Mapping[str, str] | None = None,
        require: tuple[tuple[str, Level], ...] = (),
        opens: Opener = open_runtime,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        try:
            import submitit  # noqa: F401, PLC0415 - an optional extra
        except ImportError:
            raise UsageError(
                "The backend slurm needs submitit, which is not installed.",
                f"Type: {command('./install.sh --cluster')} (in an environment of your own: "
                "pip install submitit)",
            ) from None
        if not local and not all(map(shutil.which, ("sbatch", "squeue", "srun"))):
            raise UsageError(
                "There is no SLURM here: sbatch, squeue or srun is not found.",
                "Type the command on a node from which jobs are submitted, or use another "
                "--backend.",
            )
        self._kind = "local" if local else "slurm"
        self._options = dict(options or {})
        self._minutes = self._given_minutes()
        self._require = require
        self._opens = opens
        self._poll_seconds = poll_seconds

    def _given_minutes(self) -> int | None:
        minutes = self._options.pop("time", None)
        if minutes is None:
            return None
        if not re.fullmatch(r"[1-9][0-9]{0,5}", minutes):
            raise UsageError(f"--slurm time is {minutes!r}.", "Give whole minutes, e.g. time=240.")
        return int(minutes)

    def prepare(self, result_dir: Path, observer: Observer) -> None:
        """Wait for tasks of earlier commands, and merge their records.

        Raises
        ------
        RecordsError
            If there are tasks of which this machine cannot find out whether they still run.
        """
        for files in unmerged_rounds(result_dir):
            kind, ids = files.tasks()
            reported = False
            while running := active(kind, ids):
                if not reported:
                    observer.message(
                        f"{counted(len(running), 'task')} of an earlier command still running "
                        f"({', '.join(sorted(running)[:3])}); the end is waited for."
                    )
                    reported = True
                time.sleep(self._poll_seconds)
            observer.message(merge_earlier_round(files, result_dir))

    def run(self, work: Work) -> bool:
        """Send the jobs in rounds, until each has its record.

        Raises
        ------
        UsageError
            If a task may not take as long as one job, or if SLURM refuses an option.
        UnavailableError
            If no task could do anything, such as on nodes without Docker; with the reason.
        """
        order = NodeRequest.of(
            work.plan,
            work.runtime,
            name=uuid.uuid4().hex,
            require=self._require,
            opens=self._opens,
            connections=work.connections,
        )
        minutes = self._task_minutes(work.jobs)
        self._make_environments(work)
        waiting = list(work.jobs)
        tries: Counter[str] = Counter()
        while waiting:
            files = self._cut(work, order, waiting, minutes)
            one_round = _Round(self._kind, files, work, self._poll_seconds)
            try:
                one_round.tasks = self._submit(files, work, waiting, minutes)
                one_round.follow()
            except KeyboardInterrupt:
                work.observer.message("Stopping: the tasks are cancelled.")
                one_round.cancel()
                return True
            missing = one_round.gathering.missing
            stalled = len(missing) == len(waiting)
            troubles = files.troubles()
            if stalled and troubles:
                host, message, hint = troubles[0]
                files.remove()
                raise UnavailableError(f"{host}: {message}", hint)
            for host, message, _ in troubles:
                work.observer.message(f"{host}: {message}")
            waiting = [one for one in waiting if one.key in missing]
            tries.update(one.key for one in waiting if stalled)
            waiting = self._give_up(work, waiting, tries, one_round.last_words())
            one_round.finish()
        return False

    def _give_up(
        self, work: Work, waiting: Sequence[ResolvedJob], tries: Counter[str], why: str
    ) -> list[ResolvedJob]:
        """Leave a record of jobs that no task began, round after round; return the others."""
        plan = work.plan
        again = []
        for job in waiting:
            if tries[job.key] <= plan.retries:
                again.append(job)
                continue
            reason = f"its tasks ended without it: {why}"
            retries = tries[job.key] - 1
            record = lost_job(job, plan.catalog, work.runtime, reason, retries)
            work.observer.job_started(job.job)
            work.leave(job.job, record)
        if again:
            work.observer.message(f"{counted(len(again), 'job')} left: sent once more.")
        return again

    def _task_minutes(self, jobs: Sequence[ResolvedJob]) -> int:
        longest = max(one.job.timeout_s for one in jobs)
        least = math.ceil((longest + ENDING_S + BEGIN_SECONDS + SIGNAL_SECONDS) / 60)
        if self._minutes is None:
            return max(TASK_MINUTES, 2 * least)
        if self._minutes < least:
            raise UsageError(
                f"--slurm time is {self._minutes} minutes, and a job may take {longest:g} s.",
                f"Give at least time={least}, or the jobs a shorter --timeout.",
            )
        return self._minutes

    def _make_environments(self, work: Work) -> None:
        """Make environments here, as nodes often have no network; containers are the nodes' own."""
        if self._kind == "local" or work.runtime.name != "venv":
            return
        for name, method in {one.job.algorithm: one.method for one in work.jobs}.items():
            try:
                work.runtime.prepare(method)
            except (UnavailableError, MethodError) as error:
                work.observer.message(f"{name}: {error.message}")

    def _cut(
        self, work: Work, order: NodeRequest, waiting: Sequence[ResolvedJob], minutes: int
    ) -> ShardFiles:
        seconds = [work.expected(one).wall_s for one in waiting]
        pieces = math.ceil(sum(seconds) / (60 * minutes * FILLED))
        at_a_time = work.plan.n_jobs
        most = at_a_time if self._kind == "local" else _most_tasks()
        pieces = min(max(pieces, at_a_time), most, len(waiting))
        dealt = partition([(one.job, one.key) for one in waiting], seconds, pieces)
        return ShardFiles.make(work.plan.result_dir, order, dealt)

    def _submit(
        self, files: ShardFiles, work: Work, waiting: Sequence[ResolvedJob], minutes: int
    ) -> Sequence[Any]:
        import submitit  # noqa: PLC0415

        threads = max(one.job.threads for one in waiting)
        path = os.pathsep.join(filter(None, sys.path))
        executor = submitit.AutoExecutor(
            folder=files.prints, cluster=self._kind, slurm_max_num_timeout=0
        )
        parameters: dict[str, Any] = {"timeout_min": minutes}
        if self._kind == "slurm":
            needs = [one.job.memory_mb for one in waiting]
            memory = [need for need in needs if need is not None]
            if len(memory) == len(needs) and not self._options.keys() & {"mem", "mem_per_cpu"}:
                parameters["slurm_mem"] = f"{max(memory) + BENCH_MB}MB"
            parameters |= {
                "name": "mdbench",
                "cpus_per_task": threads,
                "slurm_array_parallelism": work.plan.n_jobs,
                "slurm_signal_delay_s": SIGNAL_SECONDS,
                "slurm_setup": [f"export PYTHONPATH={_quoted(path)}"],
            }
            if self._options:
                parameters["slurm_additional_parameters"] = {
                    name.replace("_", "-"): value for name, value in self._options.items()
                }
        else:
            parameters["local_setup"] = [f"export PYTHONPATH={_quoted(path)}"]
        try:
            executor.update_parameters(**parameters)
            seconds = 60.0 * minutes - SIGNAL_SECONDS - BEGIN_SECONDS
            shards = [Shard(files.folder, number, seconds) for number in range(len(files.shards))]
            jobs = executor.map_array(_do, shards)
        except (
            submitit.core.utils.FailedJobError,
            submitit.core.utils.FailedSubmissionError,
        ) as error:
            files.remove()
            raise UsageError(
                f"SLURM refuses the tasks: {_last_line(error)}.",
                "Options for sbatch are given by --slurm, e.g. --slurm partition=long "
                "--slurm account=mine.",
            ) from None
        files.submitted(self._kind, [str(job.job_id) for job in jobs])
        work.observer.message(
            f"{counted(len(waiting), 'job')} in {counted(len(jobs), 'task')}, "
            f"{min(work.plan.n_jobs, len(jobs))} at a time ({jobs[0].job_id} ...); "
            f"what they print: {files.prints}"
        )
        found: Sequence[Any] = jobs
        return found


BENCH_MB: Final = 1024
"""Memory of a task beyond its job's: the bench, its data and its scores."""


def _do(shard: Shard) -> None:
    shard()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    found = [line for line in lines if "sbatch:" in line] or lines or [type(error).__name__]
    return found[-1]


class _Round:
    """The tasks of one round, followed by their files."""

    def __init__(self, kind: str, files: ShardFiles, work: Work, poll_seconds: float) -> None:
        self._kind = kind
        self._files = files
        self._work = work
        self._poll_seconds = poll_seconds
        self._jobs = {key: job for shard in files.shards for job, key in shard}
        self.gathering = ShardCollector(files)
        self._foreign = 0
        self.tasks: Sequence[Any] = ()

    def follow(self) -> None:
        """Collect records as they arrive, until all are there or no task is left."""
        _, ids = self._files.tasks()
        while self.gathering.missing:
            running = active(self._kind, ids)
            self._take()  # after the look: what a task has written at its end is there by now
            if not running:
                return
            if self.gathering.missing:
                time.sleep(self._poll_seconds)

    def _take(self) -> None:
        collected = self.gathering.poll()
        for lines in collected.lines.values():
            for key, line in lines:
                job = self._jobs[key]
                self._work.observer.job_started(job)
                self._work.leave(job, Record.model_validate_json(line))
        for number, count in collected.foreign.items():
            self._foreign += count
            self._work.observer.message(
                f"{count} records in {self._files.records(number)} are of other jobs than were "
                "sent there (other data or files on that node?): they stay there."
            )
        if collected.twice:
            self._work.observer.message(
                f"{len(collected.twice)} records were there twice: one counts."
            )

    def last_words(self) -> str:
        """Return the last line that any task has printed as an error."""
        for path in sorted(self._files.prints.glob("*.err"), reverse=True):
            with suppress(OSError):
                lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
                if found := [line.strip() for line in lines if line.strip()]:
                    return found[-1][:200]
        return "they left no word"

    def cancel(self) -> None:
        """End the tasks, take what they have done, and leave nothing behind."""
        _, ids = self._files.tasks()
        _cancel(self._kind, ids)
        for _ in range(int(CANCEL_SECONDS / self._poll_seconds) + 1):
            if not active(self._kind, ids):
                break
            time.sleep(self._poll_seconds)
        with suppress(RecordsError):
            self._take()
        if not active(self._kind, ids):
            self.finish()

    def finish(self) -> None:
        """Wait for the tasks to end, and remove the files, but for records nobody asked for."""
        _, ids = self._files.tasks()
        end = time.monotonic() + END_SECONDS
        while active(self._kind, ids) and time.monotonic() < end:
            time.sleep(min(self._poll_seconds, 1.0))
        if self._kind == "local":
            for task in self.tasks:
                task.done()  # or its process stays a zombie
        if not self._foreign:
            self._files.remove()


CANCEL_SECONDS: Final = 30.0
END_SECONDS: Final = 60.0
"""Seconds that tasks may take to end when all records are there."""


def active(kind: str, ids: Sequence[str]) -> set[str]:
    """Return the tasks that wait or run.

    Raises
    ------
    RecordsError
        If they are SLURM's, and there is no SLURM here.
    """
    if kind == "local":
        return {each for each in ids if _is_submitit(each)}
    arrays = ",".join(sorted({each.partition("_")[0] for each in ids}))
    if not arrays:
        return set()
    command = ["squeue", "--noheader", "--array", f"--jobs={arrays}", "--format=%i"]
    wait = 1.0
    while True:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        except FileNotFoundError:
            raise RecordsError(
                f"Tasks of an earlier command may still run (SLURM: {arrays}), and there is no "
                "squeue here to ask.",
                "Give the command where SLURM is.",
            ) from None
        except subprocess.TimeoutExpired:
            pass
        else:
            if done.returncode == 0:
                return set(done.stdout.split())
            if _NOT_THERE.search(done.stderr):
                return set()  # forgotten since it ended
        time.sleep(wait)  # the controller is busy, or starts again
        wait = min(2 * wait, 60.0)


def _cancel(kind: str, ids: Sequence[str]) -> None:
    if kind == "slurm":
        arrays = sorted({each.partition("_")[0] for each in ids})
        subprocess.run(["scancel", *arrays], check=False, capture_output=True)
        return
    for task in ids:
        if _is_submitit(task):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(task), 15)


def _is_submitit(pid: str) -> bool:
    """Return whether a process is one of submitit's; its number may be another's by now."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"submitit" in words and state.rpartition(")")[2].split()[0] not in "ZX"
    return False


def _most_tasks() -> int:
    """Ask how many tasks an array may have."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=True, timeout=60
        )
        if found := re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE):
            return max(1, int(found[1]))
    return MAX_ARRAY_SIZE
