"""``mdbench run``, ``plan`` and ``study``: a run as it goes on, or what it would do."""

from __future__ import annotations

import ctypes
import json
import threading
from collections import Counter
from contextlib import closing, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from mdbench.backends import open_backend
from mdbench.cli.options import Exit
from mdbench.errors import UsageError, counted
from mdbench.records import Measured, Provenance, Record, Status
from mdbench.reports.tables import ALARM, beaten, format_score
from mdbench.reports.terminal import answers, failures, run_table, summary
from mdbench.runs.due import REPEATED, explain
from mdbench.runs.execute import execute, notify_at_end
from mdbench.runs.forecast import COVERAGE, Interval, forecast
from mdbench.runs.plan import describe_own_data, make_plan, seed_remarks
from mdbench.runs.services import services
from mdbench.runs.study import Study, write_study
from mdbench.runtimes.registry import open_runtime
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from mdbench.cli.options import ParsedArgs
    from mdbench.metrics.spec import MetricSpec
    from mdbench.runs.forecast import CostEstimate, Forecast
    from mdbench.runs.plan import Plan
    from mdbench.runs.spec import JobSpec

ESTIMATE_SECONDS = 24 * 3600.0
"""Seconds whose jobs the remaining time is estimated from; a single job may take hours."""
FEW = 12
"""Records whose equations are shown whole below a table too narrow for them."""
WIDEST = 1_000_000
RULE = 100
"""Characters of a line below the heads of a table in a pipe."""
"""Columns of a table in a pipe or a file, where nothing need be cut."""
FORMAT = 1
"""The number of the JSON's format."""
LARGEST_TABLE = 400
"""Records beyond which the end of a run shows only the summary."""
_MALLOC = {-3: 32 << 20, -1: 64 << 20, -8: 1}
"""Settings of glibc's malloc.h: arrays above 32 MB have memory of their own, which is returned when
they are freed (``M_MMAP_THRESHOLD``); up to 64 MB that nobody uses are kept (``M_TRIM_THRESHOLD``);
all threads share one heap (``M_ARENA_MAX``)."""


def _keep_some_freed_memory() -> None:
    """Keep freed memory for the next array, and return it to the system if it is much (glibc).

    Without this each array of a few MB is fresh memory, whose pages the kernel has to fill with
    zeros: a third of the time of a run on fields.
    """
    with suppress(OSError, AttributeError):  # another C library, which has no such settings
        for setting, value in _MALLOC.items():
            ctypes.CDLL(None).mallopt(setting, value)


def run_study(study: Study, *, console: Console, json_: bool = False) -> int:
    """Plan, execute and show; return the exit status.

    Parameters
    ----------
    console
        Where people read; with `json_` not the standard output, which has the JSON alone.
    """
    options = study.whole
    _keep_some_freed_memory()
    with notify_at_end(
        options.notify, options.result_dir, lambda text: console.print(escape(text), soft_wrap=True)
    ) as news:
        workspace = Workspace.find()
        plan = make_plan(study, workspace)
        backend = open_backend(options)
        for line in (*seed_remarks(study), *describe_own_data(plan)):
            console.print(escape(line), style="dim", soft_wrap=True)
        with (
            Display(console, plan) as display,
            closing(
                open_runtime(
                    options.runtime, workspace.home, display.message, require=dict(options.require)
                )
            ) as runtime,
        ):
            plan.catalog.set_progress(display.message)
            result = execute(plan, runtime, display, backend)
        summary = news.ended(plan, result)
        if json_:
            print(json.dumps(run_json(summary, result.records), allow_nan=False))
        else:
            many = len(result.records) > LARGEST_TABLE
            records = [_light(record) if many else record for record in result.records]
            _show_end(records, plan, console)
        for name in plan.connections:
            if line := services()[name].summary(result.records):
                console.print(line, soft_wrap=True)
        for file in plan.files.values():
            console.print(f"Results: {escape(str(file))}", soft_wrap=True)
        if result.left:
            console.print(
                f"[yellow]{result.left} of {counted(len(plan.jobs), 'job')} left.[/] "
                "The same command goes on from here.",
                soft_wrap=True,
            )
    if result.interrupted:
        return Exit.INTERRUPTED
    return Exit.NOT_AS_WISHED if Status.UNAVAILABLE in summary["statuses"] else Exit.DONE


_SAID_OF_EACH = {
    *("key", "algorithm", "data_type", "dataset", "system", "part", "options", "snr_db", "seed"),
    *("protocol", "status", "reason", "log", "equations", "names", "metrics", "notes", "floor"),
}


def run_json(summary: Mapping[str, Any], records: Iterable[Record]) -> dict[str, Any]:
    """Return the results of a run and of each of its jobs, as in its JSON (docs/report.md)."""
    lines = [
        record.model_dump(mode="json", include=_SAID_OF_EACH) | {"wall_s": record.measured.wall_s}
        for record in records
    ]
    return {"schema": FORMAT, **summary, "records": lines}


class Display:
    """The live view of a run: a line for each job that ends, and a bar below them."""

    def __init__(self, console: Console, plan: Plan) -> None:
        self._catalog = plan.catalog
        self._many_levels = len({job.snr_db for job in plan.jobs}) > 1
        self._many_seeds = len({job.seed for job in plan.jobs}) > 1
        self._running: list[JobSpec] = []
        self._shown: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._ended = 0
        self._to_run = 0
        self._task: TaskID | None = None
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn(
                "{task.description}",
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=console,
            expand=True,
            speed_estimate_period=ESTIMATE_SECONDS,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task("getting ready", total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def message(self, text: str) -> None:
        """Show a line that a person should see."""
        self._progress.console.print(escape(text), style="dim", soft_wrap=True)

    def prepared(self, to_run: int, done: int) -> None:
        """Show how much there is to do."""
        self._to_run = to_run
        if done:
            self.message(f"{done} of {counted(done + to_run, 'job')} with a record already.")
        if self._task is not None:
            self._progress.update(self._task, total=to_run, description="")

    def job_started(self, job: JobSpec) -> None:
        """Show the job's name next to the bar."""
        with self._lock:
            self._running.append(job)
        self._describe()

    def job_ended(self, job: JobSpec, record: Record) -> None:
        """Show the job's result."""
        with self._lock:
            self._running.remove(job)
            self._ended += 1
            count = self._ended
            remarks = [(job.dataset, remark) for remark in record.notes.get("data", ())]
            new = [each for each in remarks if each not in self._shown]
            self._shown.update(new)
        metrics = self._catalog.data_type(job.data_type).metrics
        parts = [job.algorithm, job.dataset]  # and what sets it apart from others of the run
        parts += [job.noise] * self._many_levels + [f"seed {job.seed}"] * self._many_seeds
        name = " · ".join(parts)
        self._progress.console.print(
            f"[dim]{count:>{len(str(self._to_run))}}/{self._to_run}[/] "
            f"{escape(name)}  {_result(record, metrics)}",
            soft_wrap=True,
        )
        for dataset, remark in new:
            self.message(f"  {ALARM} {dataset}: {remark}")
        if self._task is not None:
            self._progress.advance(self._task)
        self._describe()

    def _describe(self) -> None:
        if self._task is None:
            return
        with self._lock:
            running = list(self._running)
        text = escape(", ".join(f"{job.algorithm} {job.dataset}" for job in running))
        self._progress.update(self._task, description=text)


def _result(record: Record, metrics: Sequence[MetricSpec]) -> str:
    seconds = record.measured.wall_s or 0.0
    if record.answered:
        shown = [spec for spec in metrics if spec is metrics[0] or spec.weighs]
        scores = "".join(
            f"{spec.title} {format_score(spec, value)} "
            for spec in shown
            if (value := record.metrics.get(spec.name)) is not None
        )
        sign, meaning = beaten(metrics[0], metrics, record)
        fine = record.status is Status.OK and sign != ALARM
        mark = f"[yellow]{sign} {meaning}[/] " if sign else ""
        colour = "green" if fine else "yellow"
        others = (
            f"[yellow]{counted(n, 'alternative')}[/] " if (n := len(record.alternatives)) else ""
        )
        return f"[{colour}]{record.status.word}[/] {escape(scores)}{mark}{others}{seconds:.1f} s"
    first = escape(record.reason.splitlines()[0] if record.reason else "")
    return f"[red]{record.status.word}[/] {first} {seconds:.1f} s"


def _show_table(
    records: Sequence[Record], order: Sequence[str], specs: Sequence[MetricSpec], console: Console
) -> None:
    """Show a row for each job; equations are never cut where there are few, nor in a pipe."""
    wide = Console(file=console.file, width=WIDEST, highlight=False)
    if not console.is_terminal:
        with wide.capture() as captured:
            wide.print(run_table(records, order, specs, cut=False))
        # Lines end where their text ends, not where the longest equation does.
        lines = (line.rstrip() for line in captured.get().splitlines())
        text = "\n".join(line[:RULE] if not line.strip(" ─") else line for line in lines)
        console.print(text, markup=False, soft_wrap=True)
        return
    console.print(run_table(records, order, specs))
    if len(records) <= FEW:
        whole = run_table(records, order, specs, cut=False)
        if wide.measure(whole).maximum > console.width:
            console.print(answers(records))


def _light(record: Record) -> Record:
    """Return a record with what the summary of many shows; equal values are shared."""
    same = {
        name: _SHARED.setdefault(value, value)
        for name in _SAME_IN_MANY
        for value in [getattr(record, name)]
    }
    measured = Measured.model_construct(
        started=record.measured.started,
        wall_s=record.measured.wall_s,
        peak_memory_mb=record.measured.peak_memory_mb,
    )
    machine = record.provenance.machine
    provenance = _SHARED.setdefault(repr(machine), Provenance.model_construct(machine=machine))
    return Record.model_construct(
        key="",
        dim=record.dim,
        provenance=provenance,
        status=record.status,
        snr_db=record.snr_db,
        seed=record.seed,
        floor=record.floor,
        metrics={_SHARED.setdefault(name, name): v for name, v in record.metrics.items()},
        log=None if record.answered else record.log,
        options=_SHARED.setdefault(repr(record.options), record.options),
        measured=measured,
        **same,
    )


_SAME_IN_MANY = (
    *("algorithm", "data_type", "dataset", "system", "part", "protocol", "reason", "judged_by"),
)
_SHARED: dict[Any, Any] = {}


def _show_end(all_: Sequence[Record], plan: Plan, console: Console) -> None:
    for data_type in dict.fromkeys(record.data_type for record in all_):
        records = [record for record in all_ if record.data_type == data_type]
        specs = plan.catalog.data_type(data_type).metrics
        if len(records) <= LARGEST_TABLE:
            jobs = (job for job in plan.jobs if job.data_type == data_type)
            order = list(dict.fromkeys(job.dataset for job in jobs))
            _show_table(records, order, specs, console)
        console.print(summary(records, specs))
        if found := failures(records):
            console.print(found)


FORMAT = 1
"""The number of the JSON's format."""


def show_plan(
    study: Study, console: Console, *, json_: bool = False, each_job: bool = False
) -> None:
    """Print what would be done; nothing is written but what is made of data on first use.

    Parameters
    ----------
    each_job
        Print for each job why it would be run, or that it would not, instead of the cost.
    """
    workspace = Workspace.find()
    plan = make_plan(study, workspace)
    with closing(open_runtime(study.whole.runtime, workspace.home)) as runtime:
        if each_job and not json_:  # the JSON has the reasons in any case
            _show_reasons(explain(plan, runtime), console)
            return
        expected = forecast(plan, runtime)
    if json_:
        print(json.dumps(plan_json(expected, study.sha256), allow_nan=False))
        return
    for line in (*seed_remarks(study), *map(_cost_line, expected.costs)):
        console.print(escape(line), soft_wrap=True)
    for reason, count in expected.reasons.items():
        decision = "not to run" if reason == REPEATED else "to run"
        console.print(f"{count} {decision}: {escape(reason)}", soft_wrap=True)
    due = len(expected.due)
    done = expected.jobs - due - expected.repeated
    repeated = (
        f", {expected.repeated} that take the record of another seed" if expected.repeated else ""
    )
    console.print(
        f"{counted(expected.jobs, 'job')}: {done} done, {due} to run{repeated}. Nothing was done.",
        soft_wrap=True,
    )
    for service in services().values():
        if line := service.forecast([one.job for one in expected.due]):
            console.print(line, soft_wrap=True)
    if due:
        unknown = sum(one.basis == BUDGET for one in expected.due)
        sizes = f"memory {_size(expected.memory_mb)}, disk {_size(expected.disk_mb)}"
        at_a_time = f"at {min(expected.n_jobs, due)} at a time"
        takes = f"{_time(expected.wall_s)} {at_a_time}, CPU {_time(expected.cpu_s)}, {sizes}"
        if unknown:
            takes = f"unknown, at most {_most(expected.wall_s)} {at_a_time}; {sizes}"
        console.print(f"Expected: {takes}.", soft_wrap=True)
        notes = ["Environments that have to be made come on top."]
        if unknown:
            what = "The times" if unknown == due else f"The times of {counted(unknown, 'job')}"
            notes.insert(0, f"{what} are unknown, as there are no records: the most is the limit.")
        else:
            notes.insert(0, f"In brackets: the interval that holds in {COVERAGE:.0%} of cases.")
        console.print(" ".join(notes), soft_wrap=True)


def _show_reasons(jobs: Iterable[tuple[JobSpec, str]], console: Console) -> None:
    due = total = 0
    for job, reason in jobs:
        total += 1
        decision = "not run" if reason in {"", REPEATED} else "run"
        due += decision == "run"
        line = f"{job}  {decision}: {reason or 'its record is up to date'}"
        console.print(escape(line), soft_wrap=True)
    console.print(f"{due} of {counted(total, 'job')} would be run.")


def plan_json(expected: Forecast, study: str | None) -> dict[str, Any]:
    """Return all of it as JSON has it; the keys are explained in docs/studies.md."""
    return {
        "schema": FORMAT,
        "study": study,
        "jobs": expected.jobs,
        "done": expected.jobs - len(expected.due) - expected.repeated,
        "repeated": expected.repeated,
        "to_run": len(expected.due),
        "n_jobs": expected.n_jobs,
        "coverage": COVERAGE,
        "reasons": dict(expected.reasons),
        "wall_s": _plain(expected.wall_s),
        "cpu_s": _plain(expected.cpu_s),
        "memory_mb": _plain(expected.memory_mb),
        "disk_mb": _plain(expected.disk_mb),
        "methods": [_cost_json(cost) for cost in expected.costs],
        "due": [
            {
                **{n: getattr(pending.job, n) for n in ("algorithm", "data_type", "dataset")},
                "snr_db": pending.job.snr_db,
                "seed": pending.job.seed,
                "options": dict(pending.job.options),
                "why": pending.why,
                "told_by": pending.basis,
                "records": pending.records,
                "wall_s": asdict(pending.wall_s),
            }
            for pending in expected.due
        ],
    }


def _cost_json(cost: CostEstimate) -> dict[str, Any]:
    values = asdict(cost)
    values["told_by"] = values.pop("basis")
    return {**values, "to_run": cost.to_run}


def _plain(one: Interval | None) -> dict[str, float] | None:
    return None if one is None else asdict(one)


def _cost_line(cost: CostEstimate) -> str:
    counts = f"{counted(cost.jobs, 'job')}, {cost.done:,} done"
    if cost.repeated:
        counts += f", {cost.repeated:,} that take the record of another seed"
    if not cost.to_run:
        return f"{cost.algorithm} · {cost.data_type}: {counts}"
    start = f"{cost.algorithm} · {cost.data_type}: {counts}, {cost.to_run:,} to run; "
    size = f"memory {_size(cost.memory_mb)}, disk {_size(cost.disk_mb)}"
    words = {BUDGET: "the time limit", "dataset": "records of the dataset"}
    words |= {"size": "records of the size", "method": "records of the method"}
    sources = ", ".join(
        f"{words.get(name, name)}: {count:,}" for name, count in Counter(cost.basis).most_common()
    )
    if BUDGET in cost.basis:
        most = f"{_most(cost.job_s)} a job, {_most(cost.wall_s)} in all"
        return f"{start}time unknown, at most {most}; {size}; estimated from {sources}"
    return (
        f"{start}a job {_time(cost.job_s)}, all {_time(cost.wall_s)}, CPU {_time(cost.cpu_s)}, "
        f"{size}; estimated from {sources}"
    )


BUDGET = "budget"
"""The source of an estimate without records: only the upper limit is known then."""
_TIMES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _time(one: Interval | None) -> str:
    return _with_interval(one, _TIMES)


def _most(one: Interval | None) -> str:
    return "any time" if one is None else _with_unit(one.high, _TIMES)


def _size(one: Interval | None) -> str:
    return _with_interval(one, ((2**20, "TB"), (1024, "GB"), (1, "MB")))


def _with_interval(interval: Interval | None, units: tuple[tuple[float, str], ...]) -> str:
    """Write a quantity and its interval, each in the largest unit below it."""
    if interval is None:
        return "unknown"
    found = [_with_unit(part, units) for part in (interval.value, interval.low, interval.high)]
    return f"{found[0]} ({found[1]} to {found[2]})"


def _with_unit(value: float, units: tuple[tuple[float, str], ...]) -> str:
    size, unit = next((each for each in units if value >= each[0]), units[-1])
    return f"{value / size:.3g} {unit}"


def write_or_check_study(args: ParsedArgs, init: Path | None, console: Console) -> None:
    """Write what was typed into a new study, or read one; print what it asks for.

    Raises
    ------
    mdbench.errors.MdbenchError
        As ``mdbench run`` with the same options; nothing is written then.
    """
    if (init is None) == (args.file is None):
        raise UsageError(
            "study got neither --init nor --study."
            if init is None
            else "study got both --init and --study.",
            "Give --init FILE with the options of a run, or --study FILE.",
        )
    workspace = Workspace.find()
    if init is None:
        study = args.study()
        plan = make_plan(study, workspace)
    else:
        plan = make_plan(Study((args.options(),)), workspace)
        study = write_study(init, args.as_typed())
        console.print(f"Wrote {escape(study.name)}.", soft_wrap=True)
    console.print(f"{counted(len(plan.jobs), 'job')}, study {study.sha256}", soft_wrap=True)
    if init is not None:
        console.print(f"To run it: mdbench run --study {escape(study.name)}", soft_wrap=True)
