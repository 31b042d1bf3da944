"""Runs a study in pieces that may end at any time, and keeps its records packed; see the script.

All jobs run on one core, one after the other.  A piece is the first jobs that are due of the order
of `balanced`, so that after each piece all methods have done the same cases; ``--first srsd ode``
runs all of these data types before others, so that a suite is whole early.  Several processes may
share a study, with ``--part 1/2`` and ``--part 2/2``: each has every second case, and a core.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import sys
from collections import defaultdict
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import mdbench.cli  # noqa: F401  # isort: skip - sets how NumPy adds up, before it is loaded
import numpy as np
from bundles import read_bundle, restore, write_bundle
from reference_runs import runs_of
from rich.console import Console

from mdbench.backends import open_backend
from mdbench.cli.main import complain
from mdbench.cli.run import Display
from mdbench.errors import MdbenchError, UsageError, counted
from mdbench.records import Status, read_folder
from mdbench.records.files import attached
from mdbench.runs.due import REPEATED, explain
from mdbench.runs.execute import execute
from mdbench.runs.forecast import forecast
from mdbench.runs.plan import balanced, environment_key, make_plan
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace
from results import check, write_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mdbench.records import Record
    from mdbench.runs.plan import Plan
    from mdbench.runtimes.base import Runtime


_FIRST = 1000
"""Jobs that are looked at first for those that are due, and then twice as many."""


@dataclass
class Edition:
    """A study whose records are kept in the repository.

    Attributes
    ----------
    name
        Of the bundle and of the run in `scripts/results`.
    part
        ``(k, n)``: of each n cases the k-th, from 1.  Others run the rest, into folders of their
        own.
    first
        Data types whose jobs come before those of others, in this order.
    lost
        Jobs whose environment could not be made; they are not tried again by this process.
    """

    study: Study
    name: str
    result_dir: Path
    workspace: Workspace
    part: tuple[int, int] = (1, 1)
    first: Sequence[str] = ()
    lost: set[JobSpec] = field(default_factory=set)

    @property
    def bundles(self) -> Path:
        """The folder of the bundles."""
        return self.workspace.root / "docs" / "results"

    def plan(self) -> Plan:
        """Plan the jobs of the part, in the balanced order."""
        plan = make_plan(self.study, self.workspace)
        number, parts = self.part
        cases: dict[tuple[object, ...], int] = {}
        jobs = []
        for job in balanced(plan.jobs):
            case = job.data_type, job.dataset_path, job.dataset, job.snr_db, job.seed
            if cases.setdefault(case, len(cases)) % parts == number - 1:
                jobs.append(job)
        order = dict(zip(self.first, range(-len(self.first), 0), strict=True))
        jobs.sort(key=lambda job: order.get(job.data_type, 0))
        return replace(plan, jobs=tuple(jobs), result_dir=self.result_dir, n_jobs=1)

    def records(self, plan: Plan) -> list[Record]:
        """Return the records of the bundle, and those of the plan's jobs in the results folder."""
        kept = read_bundle(self.bundles, self.name)
        there = read_folder(self.result_dir) if list(self.result_dir.glob("*.jsonl")) else []
        asked = {replace(job, study=None) for job in plan.jobs}
        ours = (one for _, one in there if replace(JobSpec.of(one), study=None) in asked)
        return [*kept, *ours]

    def due(self, plan: Plan, seconds: float) -> list[JobSpec]:
        """Return the first jobs that are due, in the plan's order, for so many seconds.

        One at least, where any is left.  Data are made of few more jobs than these.  Jobs that take
        the record of another seed come after them, and count nothing.
        """
        size = 0
        with closing(open_runtime(self.study.whole.runtime, self.workspace.home)) as runtime:
            while size < len(plan.jobs):
                size = min(max(_FIRST, 2 * size), len(plan.jobs))
                first = replace(plan, jobs=plan.jobs[:size])
                found = {one.job: one.wall_s.value for one in forecast(first, runtime).due}
                left = [job for job in first.jobs if job in found and job not in self.lost]
                ends = np.cumsum([found[job] for job in left])
                if left and ends[-1] > seconds:
                    break
            chosen = left[: max(1, int(np.searchsorted(ends, seconds)))]
            return chosen + self._repeats(plan, chosen, runtime)

    def _repeats(self, plan: Plan, jobs: Sequence[JobSpec], runtime: Runtime) -> list[JobSpec]:
        """Return the jobs that take a record, of one of these jobs or one that is there."""
        there = read_folder(self.result_dir) if list(self.result_dir.glob("*.jsonl")) else []
        done = _done((one for _, one in there), plan, runtime)
        questions = {replace(job, study=None, seed=0) for job in (*jobs, *done)}
        others = [
            job
            for job in plan.jobs
            if replace(job, study=None, seed=0) in questions
            and replace(job, study=None) not in done
            and job not in self.lost
        ]
        asked = replace(plan, jobs=tuple(dict.fromkeys([*jobs, *others])))
        return [job for job, why in explain(asked, runtime) if why == REPEATED]

    def run_piece(self, seconds: float, console: Console) -> bool:
        """Run the first jobs that are due, and return whether more may be run.

        Parameters
        ----------
        seconds
            How long the piece is expected to take; one job is run at least.
        """
        plan = self.plan()
        jobs = self.due(plan, seconds)
        if not jobs:
            return False
        piece = replace(plan, jobs=tuple(jobs))
        options = self.study.whole
        with (
            Display(console, piece) as display,
            closing(
                open_runtime(
                    options.runtime,
                    self.workspace.home,
                    display.message,
                    require=dict(options.require),
                )
            ) as runtime,
        ):
            piece.catalog.set_progress(display.message)
            result = execute(piece, runtime, display, open_backend(options))
        self.lost |= {JobSpec.of(one) for one in result.records if one.status == Status.UNAVAILABLE}
        return not result.interrupted

    def pack(self, console: Console) -> None:
        """Write the bundle, and the page where there is one."""
        plan = self.plan()
        with self._alone():
            self._pack(plan, console)

    def _pack(self, plan: Plan, console: Console) -> None:
        records = self.records(plan)
        if not records:
            raise UsageError(
                f"{self.result_dir} has no records of {self.study.name}.",
                "Name the folder that it was run into: --result-dir DIR",
            )
        # A job that could not be begun, or was stopped, says nothing, and is run again.
        attempted = [one for one in records if one.attempted]
        if not attempted:
            return
        kept = write_bundle(self.bundles, self.name, attempted)
        for one in kept:
            if path := attached([self.result_dir], one.answers):
                file = self.bundles / str(one.answers)
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, file)
        console.print(f"{counted(len(kept), 'record')} in docs/results/{self.name}.jsonl.xz")
        for run in runs_of(self.name):
            write_page(run, self.workspace)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no process of another part writes the bundle, and let none begin."""
        folder = self.workspace.home / "editions"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def show_left(self, console: Console) -> int:
        """Print how many jobs have no record yet, and their hours of work, by data type.

        A record of a method that has changed since is no record of its job.  One of data or scores
        that have changed is.

        Returns
        -------
        int
            How many jobs are left.
        """
        plan = self.plan()
        records = self.records(plan)
        with closing(open_runtime(self.study.whole.runtime, self.workspace.home)) as runtime:
            done = _done((one for one in records if one.attempted), plan, runtime)
        left = [job for job in plan.jobs if replace(job, study=None) not in done]
        for data_type in dict.fromkeys(job.data_type for job in plan.jobs):
            ours = [job for job in left if job.data_type == data_type]
            number = sum(job.data_type == data_type for job in plan.jobs)
            print_left(
                f"{data_type}: {len(ours)} of {counted(number, 'job')}", ours, records, console
            )
        every = counted(len(plan.jobs), "job")
        print_left(f"In all {len(left)} of {every}", left, records, console)
        return len(left)


def _done(records: Iterable[Record], plan: Plan, runtime: Runtime) -> set[JobSpec]:
    """Return the jobs that have a record of their method as it is now."""
    names = {job.algorithm for job in plan.jobs}
    now = {name: environment_key(plan.catalog.method(name), runtime) for name in names}
    return {
        replace(JobSpec.of(one), study=None)
        for one in records
        if one.algorithm in now and now[one.algorithm].items() <= one.key_parts.items()
    }


def print_left(
    what: str, jobs: Sequence[JobSpec], records: Sequence[Record], console: Console
) -> None:
    """Print how many hours are left: of the methods' work, and by the clock as it went so far."""
    work, known = hours_of(jobs, records, "work_s")
    clock, _ = hours_of(jobs, records, "wall_s")
    console.print(
        f"{what} left: {work:.2f} h of work, {clock:.2f} h by the clock "
        f"({counted(known, 'job')} estimated from records, "
        "the others counted with all their budget)",
        soft_wrap=True,
    )


def hours_of(
    jobs: Iterable[JobSpec], records: Iterable[Record], measured: str
) -> tuple[float, int]:
    """Return the hours that jobs take, and how many of them are estimated from records.

    A job takes the mean of its method's records on its data type; where there are none, its budget.

    Parameters
    ----------
    measured
        ``work_s``, in reference seconds, or ``wall_s``.
    """
    known: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in records:
        if (seconds := getattr(one.measured, measured)) is not None:
            known[one.algorithm, one.data_type].append(seconds)
    total, estimated = 0.0, 0
    for job in jobs:
        ones = known.get((job.algorithm, job.data_type))
        estimated += ones is not None
        total += sum(ones) / len(ones) if ones else (job.work_s or job.timeout_s)
    return total / 3600, estimated


def _part(text: str) -> tuple[int, int]:
    """Read ``K/N``."""
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 1/2: the first of two processes")
    return int(number), int(parts)


def main(arguments: list[str] | None = None) -> int:
    """Run pieces, or do what was asked for instead."""
    parser = argparse.ArgumentParser(description="Run a study in pieces on one core.")
    parser.add_argument("study", type=Path, help="a file of studies/")
    parser.add_argument("--name", help="of the bundle; default: the file's name")
    parser.add_argument("--result-dir", type=Path, help="default: results/NAME")
    parser.add_argument("--minutes", type=float, default=30.0, help="of a piece (default: 30)")
    parser.add_argument("--pieces", type=int, default=0, help="default: until all is done")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), metavar="K/N", help="the K-th of N processes"
    )
    parser.add_argument(
        "--first", nargs="+", default=(), metavar="TYPE", help="data types to run before others"
    )
    parser.add_argument("--core", type=int, help="the core to use; default: the K-th from the end")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--left", action="store_true", help="say what is left; run nothing")
    what.add_argument("--pack", action="store_true", help="pack the records that there are")
    what.add_argument("--check", action="store_true", help="check the page against the records")
    asked = parser.parse_args(arguments)
    name = asked.name or asked.study.stem
    cores = sorted(os.sched_getaffinity(0))
    number, parts = asked.part
    core = cores[-1 - (number - 1) % len(cores)] if asked.core is None else asked.core
    if core not in cores:
        parser.error(f"--core is {core}; there are: {', '.join(map(str, cores))}")
    if not asked.minutes > 0 or asked.pieces < 0:
        parser.error("--minutes has to be above 0, and --pieces 0 or more")
    console = Console(highlight=False)
    try:
        workspace = Workspace.find()
        of_part = f"-{number}-of-{parts}" * (parts > 1)
        folder = asked.result_dir or workspace.root / "results" / f"{name}{of_part}"
        edition = Edition(Study.read(asked.study), name, folder, workspace, asked.part, asked.first)
        if asked.check:
            if runs := runs_of(name):
                return check(runs, workspace)
            console.print(f"No page has the records of {name}: only what is left is checked.")
            return int(edition.show_left(console) > 0)
        if asked.left or asked.pack:
            edition.pack(console) if asked.pack else edition.show_left(console)
            return 0
        os.sched_setaffinity(0, {core})
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if added := restore(edition.bundles, name, folder):
            console.print(f"{counted(added, 'record')} taken from the bundle.")
        done, more = 0, True
        while more and (not asked.pieces or done < asked.pieces):
            more = edition.run_piece(60 * asked.minutes, console)
            edition.pack(console)
            edition.show_left(console)
            done += 1
    except MdbenchError as error:
        complain(error)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
