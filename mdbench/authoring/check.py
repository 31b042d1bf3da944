"""Checks for authors: of a method's contract, and of the truths; and the folder of a new method.

The contract is what an author must get right, tried point by point.  The truths are right where on
every dataset the true equations are the best answer there is.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mdbench import datatypes, methods
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.errors import (
    AnswerError,
    MdbenchError,
    MethodError,
    RecordsError,
    UnavailableError,
    UsageError,
)
from mdbench.records import Status, read_latest, results_files
from mdbench.runs.plan import ResolvedJob
from mdbench.runs.scoring import ScoredResult, score_result
from mdbench.runs.session import JobSession
from mdbench.runs.spec import JobSpec
from mdbench.runtimes.base import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mdbench.datatypes.base import DataType, Scores, Source, Split, Task
    from mdbench.methods import Method
    from mdbench.metrics.spec import MetricSpec
    from mdbench.runtimes.base import Prepared, Runtime
    from mdbench.runtimes.worker import Worker
    from mdbench.workspace import Workspace

_SECONDS = 120.0
"""Time for each try; a method that needs more gives [check.hyperparameters]."""
_REFUSALS = (Status.FAILED, Status.UNSUPPORTED, Status.INVALID_OUTPUT)


@dataclass(frozen=True)
class Finding:
    """One point of the contract, and whether the method keeps it."""

    point: str
    passed: bool
    explanation: str = ""


def check_method(
    name: str, workspace: Workspace, runtime: Runtime, report: Callable[[str], None] = print
) -> Iterator[Finding]:
    """Try the method on small problems of every data type that it claims.

    Parameters
    ----------
    report
        Called with the problem that is tried, before that takes its time.

    Yields
    ------
    Finding
        One a point, as soon as it is known; after a broken foundation no more come.
    """
    try:
        method = methods.find(name, workspace.algorithms)
        yield Finding("method.toml is valid", passed=True)
        method.lock_sha256()
        if missing := method.not_locked():
            yield Finding(
                "requirements.lock has all of requirements.in",
                passed=False,
                explanation=f"it lacks {', '.join(missing)}. To lock again: scripts/lock {name}",
            )
        prepared = runtime.prepare(method)
        yield Finding("the environment can be made", passed=True)
    except UsageError:
        raise
    except MdbenchError as error:
        point = (
            "method.toml is valid"
            if isinstance(error, MethodError)
            else "the environment can be made"
        )
        yield Finding(point, passed=False, explanation=str(error))
        return
    with _Trials(method, runtime, prepared) as trials:
        try:
            trials.worker()
        except MethodError as error:
            yield Finding("adapter.py can be imported", passed=False, explanation=str(error))
            return
        except UnavailableError as error:
            yield Finding("declared as unavailable here", passed=True, explanation=str(error))
            return
        yield Finding("adapter.py can be imported", passed=True)
        for kind in method.spec.data_types:
            try:
                data_type = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind)
            except UsageError as error:
                yield Finding(f"data type {kind} exists", passed=False, explanation=str(error))
                continue
            yield from _check_data_type(trials, data_type, report)


def _check_data_type(
    trials: _Trials, data_type: DataType[Any, Any], report: Callable[[str], None]
) -> Iterator[Finding]:
    view = trials.method.spec.view
    if view not in data_type.views:
        yield Finding(
            f"{data_type.name} can be given as {view}",
            passed=False,
            explanation=f"the views of {data_type.name} are: {', '.join(data_type.views)}",
        )
        return
    source = data_type.source()
    works: Task[Any] | None = None
    for dataset in data_type.check_datasets:
        where = f"{data_type.name} {dataset}"
        report(f"trying {where} (at most {_SECONDS:g} s)")
        loaded = source.load(dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options={})
        task = data_type.task(loaded, view, Protocol.STRICT)
        answer = trials.run(data_type, task, dataset)
        first = answer.outcome
        if first.status is Status.UNSUPPORTED:
            yield Finding(
                f"{where}: declared as unsupported", passed=True, explanation=first.reason
            )
            continue
        if first.status is Status.UNAVAILABLE:
            yield Finding(
                f"{where}: declared as unavailable here", passed=True, explanation=first.reason
            )
            return
        yield Finding(
            f"{where}: fit, predict and equations work",
            passed=first.status is Status.OK,
            explanation=f"{first.status}: {first.reason}",
        )
        if first.status is not Status.OK:
            continue
        works = task
        yield from _alarms(where, data_type, answer)
        if trials.method.spec.repeatable:
            yield _repeatable(where, answer, trials.run(data_type, task, dataset))
    # Where no fit works, a refusal proves nothing.
    if works is not None:
        if works.refit.targets.dtype.kind == "f":
            report(f"trying {data_type.name} data with NaN")
            yield _refuses_nan(trials, data_type, works)
        yield _refuses_unknown(trials, data_type, works)


def _alarms(where: str, data_type: DataType[Any, Any], answer: ScoredResult) -> Iterator[Finding]:
    """Return a finding for each score that reports would mark."""
    for spec in data_type.metrics:
        value = answer.scores.metrics.get(spec.name)
        if spec.alarm is not None and isinstance(value, float):
            yield Finding(
                f"{where}: {spec.title} is no worse than {spec.alarm:g}",
                passed=not spec.alarming(value),
                explanation=f"it is {value:.1e} ({spec.explanation}): write coefficients with all "
                "their digits (repr), and mind scaling",
            )


def _repeatable(where: str, first: ScoredResult, second: ScoredResult) -> Finding:
    before, after = (
        each.equations if each.equations is not None else each.scores.metrics
        for each in (first, second)
    )
    return Finding(
        f"{where}: the same seed gives the same answer",
        passed=before == after,
        explanation=f"first {before}, then {after}: pass the seed on to all that draws numbers",
    )


def _refuses_nan(trials: _Trials, data_type: DataType[Any, Any], task: Task[Any]) -> Finding:
    broken = replace(
        task,
        train=_with_nan(task.train),
        validation=_with_nan(task.validation),
        refit=_with_nan(task.refit),
    )
    outcome = trials.run(data_type, broken, "nan").outcome
    return Finding(
        f"{data_type.name}: data with NaN are refused",
        passed=outcome.status in _REFUSALS,
        explanation=f"its status is {outcome.status}: raise an error, or Unsupported and why",
    )


def _refuses_unknown(trials: _Trials, data_type: DataType[Any, Any], task: Task[Any]) -> Finding:
    tried = trials.run(data_type, task, "unknown", {"no_such_hyperparameter": 1})
    outcome = tried.outcome
    return Finding(
        f"{data_type.name}: an unknown hyperparameter is refused",
        passed=outcome.status in _REFUSALS,
        explanation=f"its status is {outcome.status}: name each hyperparameter in __init__ (and in "
        "sweep), so that a slip in method.toml is noticed",
    )


def _with_nan(part: Split) -> Split:
    inputs = {
        name: np.full_like(array, np.nan) if array.ndim > 1 and array.dtype.kind == "f" else array
        for name, array in part.inputs.items()
    }
    return replace(part, inputs=inputs, targets=np.full_like(part.targets, np.nan))


class _Trials:
    """Runs small jobs of one method in a warm worker, leaving no records."""

    def __init__(self, method: Method, runtime: Runtime, prepared: Prepared) -> None:
        self.method = method
        self._runtime = runtime
        self._prepared = prepared
        self._held: Worker | None = None
        self._logs = Path(tempfile.mkdtemp(prefix="mdbench-check-"))
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            self._held.close()
        shutil.rmtree(self._logs, ignore_errors=True)

    def worker(self) -> Worker:
        """Return a worker that can serve a job."""
        if self._held is not None and not self._held.alive:
            self._held.close()
            self._held = None
        if self._held is None:
            limits = Limits(self.method.spec.threads, self.method.spec.memory_mb)
            self._held = self._runtime.start(self.method, self._prepared, limits)
        return self._held

    def run(
        self,
        data_type: DataType[Any, Any],
        task: Task[Any],
        dataset: str,
        more: dict[str, object] | None = None,
    ) -> ScoredResult:
        """Do one job under the check's own budget."""
        spec = self.method.spec
        job = JobSpec(
            algorithm=self.method.name,
            data_type=data_type.name,
            dataset=dataset,
            snr_db=None,
            seed=0,
            protocol=Protocol.STRICT,
            timeout_s=min(spec.timeout, _SECONDS),
            threads=spec.threads,
            save_pareto=False,
            memory_mb=spec.memory_mb,
        )
        self._count += 1
        parts = {"check": str(self._count)}
        one = ResolvedJob(job, self.method, data_type, data_type.source(), parts)
        worker = self.worker()
        folder = worker.make_folder()
        worker.begin_log(self._logs / str(self._count), one.key)
        try:
            outcome = JobSession(
                one,
                task,
                worker=worker,
                folder=folder,
                hyperparameters={**spec.check.hyperparameters, **(more or {})},
            ).run()
        finally:
            worker.end_log()
            worker.remove_folder(folder)
        return score_result(data_type, task, outcome)


_TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def make_method(name: str, algorithms: Path) -> Path:
    """Make a folder with a method that can be run as it is, and return its path.

    Raises
    ------
    UsageError
        If the name is not allowed, or taken.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a method.",
            "Small letters, digits, - and _, beginning with a letter, at most 40: e.g. my-method",
        )
    folder = algorithms / name
    if folder.exists():
        raise UsageError(f"{folder} exists already.", "Choose another name, or edit that folder.")
    unfinished = algorithms / f".{name}.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        for file, text in _files(name):
            (unfinished / file).write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise UsageError(f"{folder} cannot be made: {error.strerror}.") from None
    return folder


def _files(name: str) -> Iterator[tuple[str, str]]:
    for file in sorted(_TEMPLATE.iterdir()):
        if file.is_file():
            yield file.name, file.read_text(encoding="utf-8").replace("@NAME@", name)


_MORE = 1.01
"""An answer beats the truth if the truth's error is more than this many times its own."""
_PERFECT = 1e-3
"""The most that a perfect truth leaves unexplained, of what an answer without information leaves:
beyond it an R2 would not count as accurate."""
_NOT_FOR_TRUTHS = frozenset({"one_term_off"})
"""Flags that are 0 for the truth."""


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer of some method.

    Attributes
    ----------
    method
        Whose it is.
    equations
        One a target.
    """

    method: str
    equations: tuple[str, ...]


WrongAnswers = dict[tuple[str, str, float | None], list[WrongAnswer]]
"""Wrong answers by data type, dataset and noise level."""


@dataclass(frozen=True)
class TruthCheck:
    """The check of one dataset at one noise level.

    Attributes
    ----------
    known
        Whether somebody knows the truth; where not, nothing else is there.
    score
        Of the truth, by the data type's primary metric; None where it is no answer.
    floor
        What the truth scores according to the dataset, through the bench's own features.
    rival
        The best wrong answer, and its score; None where there is none.
    beaten
        Whether the rival is better by more than 1 %, round-off apart.
    faults
        Why the truth is not perfect, if it is not.
    notes
        What the dataset's own file has about it.
    """

    data_type: str
    dataset: str
    snr_db: float | None
    known: bool
    score: float | None = None
    floor: float | None = None
    rival: tuple[str, float] | None = None
    beaten: bool = False
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wins(self) -> bool:
        """Whether the truth is known, perfect and not beaten."""
        return self.known and not self.beaten and not self.faults


def check_truths(
    kind: DataType[Any, Any],
    source: Source[Any],
    names: Sequence[str],
    levels: Sequence[float | None],
    wrong_answers: WrongAnswers,
) -> Iterator[TruthCheck]:
    """Score the truth of each dataset at each noise level, and compare it with wrong answers.

    The rules are those of `strict`; what is drawn is drawn from seed 0.

    Yields
    ------
    Checked
        One a dataset and level, as soon as it is known.
    """
    for name in names:
        for snr_db in levels:
            dataset = source.load(name, snr_db=snr_db, seed=0, protocol=Protocol.STRICT, options={})
            if dataset.truth is None:
                yield TruthCheck(kind.name, name, snr_db, known=False)
                continue
            task = kind.task(dataset, kind.views[0], Protocol.STRICT)
            spec, faults = kind.metrics[0], []
            score = None
            try:
                scores = kind.score(task, kind.read_answer(task, Answer(dataset.truth)))
                score, faults = _score(scores, spec), list(_faults(scores, kind, spec))
            except AnswerError as error:
                faults = [f"it is no answer: {error}"]
            given = wrong_answers.get((kind.name, name, snr_db), [])
            rival = _best(kind, task, given, spec)
            yield TruthCheck(
                kind.name,
                name,
                snr_db,
                known=True,
                score=score,
                floor=dataset.floor,
                rival=rival,
                beaten=rival is not None and beats(rival[1], score, spec),
                faults=tuple(faults),
                notes=tuple(source.notes(name)),
            )


def _score(scores: Scores, spec: MetricSpec) -> float | None:
    value = scores.metrics.get(spec.name)
    return float(value) if isinstance(value, int | float) else None


def _faults(scores: Scores, kind: DataType[Any, Any], spec: MetricSpec) -> Iterator[str]:
    """Return what keeps the truth from being perfect."""
    value = _score(scores, spec)
    if value is None:
        yield f"it has no {spec.title}"
    elif spec.nothing is not None and spec.loss(value) > _PERFECT * spec.loss(spec.nothing):
        yield f"its {spec.title} is {value:.2g}"
    for each in kind.metrics:
        found = scores.metrics.get(each.name, 1.0)
        shown = each.kind == "flag" and each.places  # others' rules, such as SRBench's, are not
        if shown and each.name not in _NOT_FOR_TRUTHS and found != 1.0:
            yield f"{each.name} is {'undecided' if found is None else '0'}"


def _best(
    kind: DataType[Any, Any],
    task: Task[Any],
    wrong_answers: Iterable[WrongAnswer],
    spec: MetricSpec,
) -> tuple[str, float] | None:
    """Return the best of wrong answers, on this version's data."""
    best: tuple[str, float] | None = None
    for method, texts in {(each.method, each.equations) for each in wrong_answers}:
        try:
            value = kind.primary_score(task, kind.read_answer(task, Answer(texts)))
        except AnswerError:
            continue
        if isinstance(value, int | float) and (
            best is None or (spec.loss(value), method) < (spec.loss(best[1]), best[0])
        ):
            best = method, float(value)
    return best


def beats(rival: float, truth: float | None, spec: MetricSpec) -> bool:
    """Return whether a score is better than the truth's by more than 1 %, round-off apart."""
    if truth is None:
        return True
    if spec.better == "lower":  # what is below the resolution is round-off
        return max(truth, spec.resolution) > _MORE * max(rival, spec.resolution)
    return spec.loss(rival) < spec.loss(truth) - (_MORE - 1) * abs(truth)


def read_wrong_answers(path: Path) -> WrongAnswers:
    """Read the wrong answers of a results folder, of a results file, or of tables of ``combine``.

    An answer is wrong if it is not `identified` in its record; where that is undecided it
    is left out.  Answers under `published`, and those to the user's own data, are none of ours.

    Raises
    ------
    UsageError
        If there are neither records nor tables.
    RecordsError
        If a file cannot be read.
    """
    tables = sorted(path.glob("*.csv")) if path.is_dir() else [path] * (path.suffix == ".csv")
    records: Iterable[tuple[str, str, float | None, WrongAnswer]] = chain.from_iterable(
        map(_of_table, tables)
    )
    if not tables or (path.is_dir() and any(path.rglob("*.jsonl"))):
        results_files(path)
        records = chain(records, _of_records(path))
    found: WrongAnswers = {}
    for data_type, dataset, snr_db, wrong_answer in records:
        found.setdefault((data_type, dataset, snr_db), []).append(wrong_answer)
    return found


def _of_records(path: Path) -> Iterator[tuple[str, str, float | None, WrongAnswer]]:
    for one in read_latest(path):
        wrong = one.metrics.get("identified", 0.0) == 0.0 and one.protocol == Protocol.STRICT
        if wrong and one.equations and one.dataset_path is None:
            wrong_answer = WrongAnswer(one.algorithm, one.equations)
            yield one.data_type, one.dataset, one.snr_db, wrong_answer


def _of_table(path: Path) -> Iterator[tuple[str, str, float | None, WrongAnswer]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if wrong := _wrong(row):
                    yield wrong
    except (OSError, ValueError, KeyError) as error:
        raise RecordsError(
            f"{path} is no table of records: {error!r}", "Tables come from: mdbench combine"
        ) from None


def _wrong(row: Mapping[str, str]) -> tuple[str, str, float | None, WrongAnswer] | None:
    ours = row["protocol"] == Protocol.STRICT and not row["dataset_path"]
    # A table in which nothing is an equation has no such column.
    if not ours or not row["equations"] or row.get("metrics.identified") != "0.0":
        return None
    snr_db = float(row["snr_db"]) if row["snr_db"] else None
    wrong_answer = WrongAnswer(row["algorithm"], tuple(json.loads(row["equations"])))
    return row["data_type"], row["dataset"], snr_db, wrong_answer
