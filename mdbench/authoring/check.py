"""A method's contract, which its author must get right, tried point by point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdbench import datatypes, methods
from mdbench.authoring.trials import Trials, missing_modules
from mdbench.datatypes.facts import Protocol
from mdbench.errors import (
    MdbenchError,
    MethodError,
    NotFetchedError,
    UnavailableError,
    UsageError,
)
from mdbench.installation import command, page
from mdbench.records import ANSWERED, Status
from mdbench.runs.job import NO_GPU, gpus
from mdbench.runs.plan import folder_options

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from mdbench.datatypes.base import DataType, Source, Split, Task
    from mdbench.methods import Method
    from mdbench.runs.scoring import ScoredResult
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

SECONDS = 20.0
"""Time for each try, unless another is asked for."""
WORK_S = 2.0
"""Reference seconds of work of the try that says whether the method has answers by then: those of a
job of an edition."""
_NOISE_DB = 20.0
"""The noise under which two seeds are compared: without noise they may find the same law."""
_NO_ARGUMENT = "no argument"
"""The value of `seedable` for a package that draws random numbers and takes no seed."""
_NO_BETTER = 0.9
"""The share of a constant's error from which on an answer is no better than no equation."""
_AT_ONCE = 2
"""Tries of a data type besides those of its datasets: data with NaN, an unknown hyperparameter."""
_REFUSALS = (Status.FAILED, Status.UNSUPPORTED, Status.INVALID_OUTPUT)


@dataclass(frozen=True)
class Finding:
    """One point of the contract, and whether the method keeps it.

    Attributes
    ----------
    note
        ``warning`` for what breaks no contract and is worth a look; ``skipped`` for a point that
        does not apply, and ``unavailable`` for what this machine lacks, with the reason in
        `explanation`; else empty.
    """

    point: str
    passed: bool
    explanation: str = ""
    note: Literal["", "warning", "skipped", "unavailable"] = ""


def check_method(
    name: str,
    workspace: Workspace,
    runtime: Runtime,
    report: Callable[[str], None] = print,
    *,
    seconds: float = SECONDS,
    used: Callable[[float], None] = lambda _: None,
) -> Generator[Finding, None, None]:
    """Try the method on small problems of every data type that it claims.

    Parameters
    ----------
    report
        Called with the problem that is tried, before that takes its time.
    seconds
        Time for each try.
    used
        Called with the CPU seconds of each try, where they are measured.

    Yields
    ------
    Finding
        One a point, as soon as it is known; after a broken foundation no more come.
    """
    point = "method.toml is valid"
    try:
        method = methods.find(name, workspace.algorithms)
        yield Finding(point, passed=True)
        point = "the environment can be made"
        method.lock_sha256()
        if missing := method.not_locked():
            yield Finding(
                "requirements.lock has all of requirements.in",
                passed=False,
                explanation=f"it lacks {', '.join(missing)}. To lock again: "
                f"{command(f'scripts/lock {name}')}",
            )
        if method.spec.gpu and not gpus():
            yield _not_here(UnavailableError(NO_GPU))
            return
        prepared = runtime.prepare(method)
        yield Finding(point, passed=True)
    except UsageError:
        raise
    except NotFetchedError as error:
        yield _not_here(error)
        return
    except MdbenchError as error:
        yield Finding(point, passed=False, explanation=str(error))
        return
    with Trials(method, runtime, prepared, seconds, used) as trials:
        try:
            trials.worker()
        except MethodError as error:
            lacks = not method.spec.program and "No module named" in str(error)
            missing = missing_modules(method, prepared) if lacks else []
            also = f"\n{_missing(name, missing)}" if missing else ""
            yield Finding(_begins(method), passed=False, explanation=f"{error}{also}")
            return
        except UnavailableError as error:
            yield _not_here(error)
            return
        yield Finding(_begins(method), passed=True)
        report(_duration(method, workspace, seconds))
        for kind in method.spec.data_types:
            try:
                data_type = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind)
            except UsageError as error:
                yield Finding(f"data type {kind} exists", passed=False, explanation=str(error))
                continue
            yield from _check_data_type(trials, data_type, report)


def _not_here(error: UnavailableError) -> Finding:
    return Finding(
        "declared as unavailable here", passed=True, explanation=str(error), note="unavailable"
    )


def _begins(method: Method) -> str:
    return "the program is there" if method.spec.program else "adapter.py can be imported"


def _duration(method: Method, workspace: Workspace, seconds: float) -> str:
    """Return how long the check may take: most methods need a small part of it."""
    repeats = 1 + method.spec.repeatable
    tries = 0
    for kind in filter(datatypes.is_known, {*method.spec.data_types}):
        data_type = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind)
        seeds = 2 * (method.spec.seedable != _NO_ARGUMENT)
        tries += (repeats + 1) * len(data_type.check_datasets) + seeds + _AT_ONCE
    time = tries * min(method.spec.timeout, seconds)
    return f"at most {tries} tries of {seconds:g} s: {time / 60:.0f} min if all of it is used"


_PACKAGES = {
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "PyYAML",
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
}
"""Packages that are called otherwise than their modules."""


def _missing(name: str, modules: Sequence[str]) -> str:
    texts = [f"{one} (of {_PACKAGES[one]})" if one in _PACKAGES else one for one in modules]
    return (
        f"All modules that are missing: {', '.join(texts)}.  Add the packages that bring them to "
        f"requirements.in, then: {command(f'scripts/lock {name}')}"
    )


def _check_data_type(
    trials: Trials, data_type: DataType[Any, Any], report: Callable[[str], None]
) -> Iterator[Finding]:
    if (breach := _cannot_be_given(trials.method, data_type)) is not None:
        yield breach
        return
    source, options = data_type.source(), folder_options(trials.method, data_type)
    works: Task[Any] | None = None
    for dataset in data_type.check_datasets:
        where = f"{data_type.name} {dataset}"
        report(f"trying {where} (at most {trials.seconds:g} s)")
        loaded = source.load(
            dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options
        )
        task = trials.task(data_type, loaded)
        answer = trials.run(data_type, task, dataset)
        first = answer.outcome
        if first.status is Status.UNSUPPORTED:
            yield Finding(
                f"{where}: declared as unsupported", passed=True, explanation=first.reason
            )
            continue
        if first.status is Status.UNAVAILABLE:
            yield Finding(
                f"{where}: declared as unavailable here",
                passed=True,
                explanation=first.reason,
                note="unavailable",
            )
            return
        # The limit is the check's own: an answer that it has cut is no fault of the method.
        is_cut = first.status is Status.PARTIAL and trials.seconds < trials.method.spec.timeout
        works_here = first.status is Status.OK or is_cut
        yield Finding(
            f"{where}: fit, predict and equations work",
            passed=works_here,
            explanation=f"{first.status}: {first.reason}{trials.more_time(first.status)}",
            note="warning" if is_cut else "",
        )
        if not works_here:
            continue
        works = task
        yield from _alarms(trials, where, data_type, answer)
        if is_cut:
            yield _not_repeated(where, "the time has cut the answer, and may cut it elsewhere")
        else:
            yield from _whole_answer(trials, data_type, task, dataset, answer)
    # Where no fit works, a refusal proves nothing.
    if works is not None:
        if trials.method.spec.seedable != _NO_ARGUMENT:
            report(f"trying two seeds on {data_type.name} data")
            yield from _two_seeds(trials, data_type, source)
        if works.refit.targets.dtype.kind == "f":
            report(f"trying {data_type.name} data with NaN")
            yield _refuses_nan(trials, data_type, works)
        yield _refuses_unknown(trials, data_type, works)
        report(f"trying {data_type.name} data with {WORK_S:g} reference seconds of work")
        yield _answers_in_time(trials, data_type, source)


def _answers_in_time(trials: Trials, data_type: DataType[Any, Any], source: Source[Any]) -> Finding:
    """Count the problems with an answer after little work, with the settings of `method.toml`.

    It is no breach to have none: a warning says what counts at a limit.
    """
    options = folder_options(trials.method, data_type)
    reasons = {}
    for dataset in data_type.check_datasets:
        loaded = source.load(
            dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options
        )
        task = trials.task(data_type, loaded)
        outcome = trials.run(data_type, task, dataset, work_s=WORK_S).outcome
        if outcome.status in {Status.UNSUPPORTED, Status.UNAVAILABLE}:
            continue
        answered = outcome.status in ANSWERED
        reasons[dataset] = "" if answered else f"{outcome.status}: {outcome.reason}"
    without = {dataset: reason for dataset, reason in reasons.items() if reason}
    have = f"{len(reasons) - len(without)} of {len(reasons)} problems have an answer"
    point = f"{data_type.name}: answers within {WORK_S:g} reference seconds of work, as in editions"
    if not reasons:
        return Finding(point, passed=True, note="skipped", explanation="work is not measured here")
    why = "; ".join(f"{dataset}: {reason}" for dataset, reason in without.items())
    return Finding(
        f"{point}: {have}",
        passed=True,
        note="warning" if without else "",
        explanation=f"{why}.  At a limit only candidates count that were sent by then: "
        f'{page("adding-a-method")}, "What counts at the limit", has the lines that send them',
    )


def _whole_answer(
    trials: Trials,
    data_type: DataType[Any, Any],
    task: Task[Any],
    dataset: str,
    answer: ScoredResult,
) -> Iterator[Finding]:
    """Look at an answer that had the time it needs, and at a second one of the same seed."""
    where = f"{data_type.name} {dataset}"
    yield from _no_better(where, data_type, answer)
    if trials.method.spec.repeatable:
        yield _repeatable(where, answer, trials.run(data_type, task, dataset))
    else:
        yield _not_repeated(where, _WHY_NOT_REPEATED[trials.method.spec.seedable == _NO_ARGUMENT])


def _not_repeated(where: str, why: str) -> Finding:
    point = f"{where}: the same seed gives the same answer"
    return Finding(point, passed=True, note="skipped", explanation=why)


def _cannot_be_given(method: Method, data_type: DataType[Any, Any]) -> Finding | None:
    """Return why no problem of a data type can be given to a method; None where some can."""
    name, view = data_type.name, method.spec.view
    if view not in data_type.views:
        return Finding(
            f"{name} can be given as {view}",
            passed=False,
            explanation=f"the views of {name} are: {', '.join(data_type.views)}",
        )
    if not (method.spec.equations or data_type.of_predictions):
        return Finding(
            f"{name} scores predictions without equations",
            passed=False,
            explanation=f"it scores equations alone: leave {name} out of data_types",
        )
    return None


def _alarms(
    trials: Trials, where: str, data_type: DataType[Any, Any], answer: ScoredResult
) -> Iterator[Finding]:
    """Return a finding for each score that reports would mark."""
    for spec in data_type.metrics:
        value = answer.scores.metrics.get(spec.name)
        if spec.alarm is not None and isinstance(value, float):
            yield Finding(
                f"{where}: {spec.title} is no worse than {spec.alarm:g}",
                passed=not spec.alarming(value),
                explanation=f"it is {value:.1e} ({spec.explanation}): write coefficients with all "
                f"their digits ({trials.advice.digits}), and mind scaling",
            )


def _no_better(
    where: str, data_type: DataType[Any, Any], answer: ScoredResult
) -> Iterator[Finding]:
    """Warn of an answer that scores as a constant does, on problems that are simple laws."""
    primary = data_type.metrics[0]
    value = answer.scores.metrics.get(primary.name)
    if primary.nothing is None or not isinstance(value, float):
        return
    if primary.better == "lower" and value >= _NO_BETTER * primary.nothing:
        yield Finding(
            f"{where}: the answer is better than no equation",
            passed=True,
            note="warning",
            explanation=f"{primary.title} is {value:.2g}, and {primary.nothing:g} without any "
            "equation, on a law that is simple: look at the scales of inputs and targets, and at "
            "the sign of what is minimised",
        )


_WHY_NOT_REPEATED = {
    False: "repeatable = false in method.toml",
    True: 'the package has no argument for a seed (seedable = "no argument" in method.toml)',
}


def _two_seeds(
    trials: Trials, data_type: DataType[Any, Any], source: Source[Any]
) -> Iterator[Finding]:
    """Compare the answers of two seeds, as ``seedable`` has it.

    Where a seed is to change them and does not, that is a warning; the data are noisy, since in
    others a law may be found exactly by each.  Where it is to change nothing and does, the contract
    is broken: of several seeds one alone would be run (`mdbench.runs.due.SeedRepeats`).
    """
    dataset, deterministic = data_type.check_datasets[-1], trials.method.spec.seedable is False
    options = folder_options(trials.method, data_type)
    where = f"{dataset} at {_NOISE_DB:g} dB"
    try:
        loaded = source.load(
            dataset, snr_db=_NOISE_DB, seed=0, protocol=Protocol.STRICT, options=options
        )
    except MdbenchError:  # this kind of problem has no such noise
        if not deterministic:
            return
        where = dataset
        loaded = source.load(
            dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options
        )
    task = trials.task(data_type, loaded)
    changes = "no seed changes the answer" if deterministic else "the seed changes the answer"
    point = f"{data_type.name}: {changes}"
    runs = []
    for seed in (0, 1):
        runs.append(trials.run(data_type, task, dataset, seed=seed).outcome)
        if (status := runs[-1].status) is not Status.OK:
            why = f"on {where} its status is {status}: {runs[-1].reason}"
            yield Finding(point, passed=True, note="skipped", explanation=why)
            return
    draws = [
        (one.answer.equations or one.answer.predictions.tolist(), one.n_candidates)
        for one in runs
        if one.answer is not None and one.answer.predictions is not None
    ]
    if len(draws) != len(runs):
        return
    if deterministic and trials.method.spec.repeatable:
        yield Finding(
            point,
            passed=draws[0] == draws[1],
            explanation=f"seeds 0 and 1 give other answers on {where}, and method.toml has "
            "seedable = false, by which one seed alone is run on clean data: set seedable = true",
        )
    elif not deterministic and draws[0] == draws[1]:
        yield Finding(
            point,
            passed=True,
            note="warning",
            explanation=f"seeds 0 and 1 give the same answer on {where}, to "
            "the last digit: pass the seed on to all that draws numbers, or set seedable = false "
            'in method.toml ("no argument" where the package takes none)',
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


def _refuses_nan(trials: Trials, data_type: DataType[Any, Any], task: Task[Any]) -> Finding:
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
        explanation=f"its status is {outcome.status}: {trials.advice.refuse}",
    )


def _refuses_unknown(trials: Trials, data_type: DataType[Any, Any], task: Task[Any]) -> Finding:
    tried = trials.run(data_type, task, "unknown", {"no_such_hyperparameter": 1})
    outcome = tried.outcome
    return Finding(
        f"{data_type.name}: an unknown hyperparameter is refused",
        passed=outcome.status in _REFUSALS,
        explanation=f"its status is {outcome.status}: {trials.advice.unknown}, so "
        "that a slip in method.toml is noticed",
    )


def _with_nan(part: Split) -> Split:
    inputs = {
        name: np.full_like(array, np.nan) if array.ndim > 1 and array.dtype.kind == "f" else array
        for name, array in part.inputs.items()
    }
    return replace(part, inputs=inputs, targets=np.full_like(part.targets, np.nan))
