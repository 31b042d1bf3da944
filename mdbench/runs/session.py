"""One job: the conversation with a worker, up to the method's answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Choice, Protocol
from mdbench.records import Status
from mdbench.runs.exchange import (
    END_SECONDS,
    JobExchange,
    JobStoppedError,
    PausedJob,
    result_of_lost,
    within_limits,
)
from mdbench.runs.scoring import SCORER_ERRORS, CandidatePool, JobResult
from mdbench.runs.services import TaskView, services
from mdbench.runtimes.array_exchange import ArrayExchangeError, reorder, test_order
from mdbench.runtimes.base import WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.protocol import (
    Describe,
    Described,
    Fitted,
    JobOrder,
    Predict,
    Predicted,
    ProtocolError,
    Refit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mdbench.datatypes.base import ScoredCandidate, Selection, Split, Task
    from mdbench.runs.calibration import SpeedGauge
    from mdbench.runs.plan import ResolvedJob
    from mdbench.runs.services import ServiceSession
    from mdbench.runtimes.base import JobFolder
    from mdbench.runtimes.protocol import CandidateItem, Candidates
    from mdbench.runtimes.worker import Worker

_NOT_MEASURED = (
    "the CPU time of a job cannot be measured on this machine, so that no work limit is kept; "
    "use --runtime venv, or give --timeout in place of --work"
)
_EVALUATION_SECONDS = 120.0
"""Time for reading all candidates of a job; usual ones take milliseconds."""
_MOST_PREDICTED = 2**26
"""Bytes of the predictions of one message, where it has several candidates."""


class JobSession:
    """One attempt at one job.

    Parameters
    ----------
    folder
        The job's own folder; empty.
    name
        The job's name in messages to the worker; it does not show the problem.
    access
        The access of a method to the service that it asks.
    gauge
        The speed of the job's cores; None where its work is not measured.
    hyperparameters
        Values that count more than those of the method's folder.
    interrupted
        Returns whether the user has stopped the run.
    before_test
        Called before a method that only predicts is sent the inputs of the test; returns when it
        may be, while the job and its clock are paused.
    """

    def __init__(
        self,
        resolved: ResolvedJob,
        task: Task[Any],
        *,
        worker: Worker,
        folder: JobFolder,
        name: str,
        access: ServiceSession | None = None,
        gauge: SpeedGauge | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        before_test: Callable[[], None] = lambda: None,
    ) -> None:
        self._interrupted = interrupted
        self._before_test = before_test
        job, spec, data_type = resolved.job, resolved.method.spec, resolved.data_type
        self._job = job
        self._spec = spec
        self._task = task
        self._key = name  # in messages: a key would say which dataset it is
        self._worker = worker
        self._folder = folder
        self._access = access
        self._view = TaskView.plain(task) if access is None else access.view
        fixed = spec.fixed(job.protocol, job.data_type)
        self._hyperparameters = {**fixed, **(hyperparameters or {})}
        if spec.control_of:
            for service in services().values():
                self._hyperparameters |= service.control_settings(job)
        self._fit_s = 0.0
        self._fitted = False
        self._stopped_early = False
        self._settings_failed = 0
        self._first_failure = ""
        self._evaluations: int | None = None
        self._exchange = JobExchange(
            worker,
            name,
            folder,
            job,
            self._collect,
            gauge=gauge,
            excused_s=lambda: 0.0 if access is None else access.waited_s,
        )
        self._own = job.choice is Choice.OWN
        tuned = data_type.tuned_by_error(task) if self._own else task
        self._first, self._compared = data_type.fit_and_validation(tuned, spec.tuning)
        if self._own and spec.tuning != "grid":  # then nothing is held out for a choice
            self._first = self._compared = task.refit
        predicted = self._compared if spec.tuning == "grid" else self._first
        clock = self._exchange.clock
        self._pool = CandidatePool(
            data_type, tuned, self._compared, predicted, clock, by_error=self._own
        )
        self._check = data_type.prediction_check(task, job.seed)
        self._order = None if self._check is not None else test_order(task, job.seed)

    @property
    def sends_test_inputs(self) -> bool:
        """Whether under `strict` the method is sent the inputs of the test, after its fit."""
        return self._check is None and self._task.protocol is Protocol.STRICT

    @property
    def candidates(self) -> Sequence[ScoredCandidate]:
        """All candidates that were evaluated up to now."""
        return self._pool.scored

    def run(self) -> JobResult:
        """Do the job; whatever happens, there is a result."""
        try:
            result = within_limits(self._result(), self._worker, self._job.memory_mb)
        finally:
            self._exchange.close()
        pool = self._pool
        result.costs = self._worker.meter.end()
        result.import_s = self._worker.meter.import_s
        result.isolation = self._worker.isolation()
        if (hello := self._worker.hello) is not None:
            result.blas_kernel, result.blas_threads = hello.blas_kernel, hello.blas_threads
        if (meter := self._exchange.meter) is not None:
            result.work_s = meter.update()
            result.speed, result.speed_before = meter.speed, meter.before
        result.evaluations = self._evaluations
        result.n_candidates = pool.count
        # The rule by which the curve of a job takes the best so far is the benchmark's.
        result.candidates = [] if self._own else pool.scored
        result.n_invalid = pool.n_invalid + self._settings_failed
        if result.fit_s is None and self._fit_s:
            result.fit_s = self._fit_s
        if self._job.save_pareto and self._spec.tuning != "none":
            result.front = pool.scored
        return result

    def _result(self) -> JobResult:
        try:
            result = self._converse()
            self._exchange.end(END_SECONDS)
        except JobStoppedError as stop:
            result = JobResult(stop.status, stop.reason, killed=stop.killed)
            if stop.status is Status.UNAVAILABLE and (self._pool.count or self._fitted):
                result.status = Status.FAILED
                result.reason = f"the method raised Unavailable after its fit: {stop.reason}"
            result.from_method = result.status is Status.UNAVAILABLE
            self._exchange.end(0.0 if stop.waits else END_SECONDS)
        except WorkerTimeoutError:
            late = self._exchange.late
            self._exchange.finish()
            result = self._best_candidate(late)
        except ProtocolError as error:
            sender = "program" if self._spec.program else "worker"
            result = JobResult(Status.INVALID_OUTPUT, f"the {sender} sent {error}")
            self._worker.interrupt()
        except WorkerGoneError as gone:
            result = result_of_lost(gone)
            if self._interrupted() and self._job.save_pareto:  # a user may take the best so far
                self._pool.evaluate(END_SECONDS, lambda: False)
        except SCORER_ERRORS as error:
            # A net below the checks: no answer of one method may end the run of the others.
            result = JobResult(
                Status.INVALID_OUTPUT,
                f"the answer cannot be used: {type(error).__name__}: {error}",
            )
            self._worker.interrupt()
        return result

    def _converse(self) -> JobResult:
        """Fit, select a candidate, and ask for its equations and predictions."""
        spec, exchange = self._spec, self._exchange
        self._send_fit()
        self._wait_for_fit()
        choice = None
        if spec.tuning == "grid" or (spec.tuning == "front" and not self._own):
            choice = self._choose()
            if choice is None:
                self._nothing_to_choose()
        elif spec.tuning == "front" and self._job.save_pareto:
            self._choose()  # the front has losses; the answer stays the method's
        if spec.tuning == "grid" and choice is not None:
            self._write("refit.npz", self._task.refit, with_targets=True)
            exchange.send(Refit(job=self._key, hyperparameters=choice.hyperparameters))
            self._wait_for_fit()
        indices = choice.indices if spec.tuning == "front" and choice is not None else None
        exchange.send(Describe(job=self._key, choose=indices))
        described = exchange.wait_for(Described)
        equations = tuple(map(self._view.equation, described.equations))
        if indices is not None and choice is not None and equations != choice.equations:
            reason = f"the answer is not the candidate chosen: {' ; '.join(choice.equations)}"
            raise JobStoppedError(Status.INVALID_OUTPUT, reason, waits=True)
        # The inputs of the test are sent only where predictions are scored.
        if self.sends_test_inputs:
            with PausedJob(self._worker) as paused:
                self._before_test()
            self._exchange.deadline += paused.seconds
        inputs = self._check or reorder(self._task.test, self._order)
        self._write("test.npz", inputs, with_targets=False)
        exchange.send(Predict(job=self._key))
        result = self._answer(equations, exchange.wait_for(Predicted))
        if self._stopped_early:
            result.status = Status.PARTIAL
            result.reason = f"the method ended its fit early, for the {self._job.limit_text}"
        result.alternatives = tuple(
            item.model_copy(update={"equation": self._view.equation(item.equation)})
            for item in described.alternatives
            if item.target < len(self._task.targets)
        )
        result.selection = choice
        result.hyperparameters = choice.hyperparameters if choice is not None else {}
        return result

    def _send_fit(self) -> None:
        spec = self._spec
        units = self._task.dataset.units if spec.asks_for_units else None
        meter = self._exchange.meter
        if self._job.work_s is not None:
            if not self._worker.alive:
                raise WorkerGoneError("the worker ended before its job began", lost=True)
            if meter is None or self._worker.cpu_s() is None:
                raise JobStoppedError(Status.UNAVAILABLE, _NOT_MEASURED, waits=True)
            self._exchange.share_speed(meter)
        self._write("train.npz", self._first, with_targets=True)
        if spec.tuning == "grid":
            self._write("validation.npz", self._compared, with_targets=False)
        self._exchange.send(
            JobOrder(
                job=self._key,
                folder=self._folder.inside,
                view=spec.view,
                variables=self._view.variables,
                targets=self._view.targets,
                equations=self._task.has_equations,
                compares=not self._pool.by_equations,
                tuning=spec.tuning,
                hyperparameters=self._hyperparameters,
                grid=spec.combinations(self._job.protocol, self._job.data_type),
                seed=self._job.seed,
                threads=self._job.threads,
                time_limit=self._time_limit(),
                work=self._job.work_s,
                speed=None if meter is None else meter.speed,
                truth=self._task.dataset.truth if "truth" in spec.given else None,
                units=None if units is None else dict(units),
                description=self._view.description,
                **({} if self._access is None else self._access.order),
                scaled=self._task.scaled,
                held=self._task.held,
            )
        )

    def _time_limit(self) -> float:
        """Return the seconds of wall time in which the budget is used up by all threads."""
        job, meter = self._job, self._exchange.meter
        if job.work_s is None or meter is None:
            return job.timeout_s
        return min(job.timeout_s, job.work_s / (meter.speed * job.threads))

    def _write(self, file: str, part: Split, *, with_targets: bool) -> None:
        arrays = dict(self._view.reordered(part).inputs)
        if with_targets:
            arrays[part.target_name] = part.targets
        self._exchange.write(file, arrays)

    def _wait_for_fit(self) -> None:
        message = self._exchange.wait_for(Fitted)
        self._fitted = True
        self._fit_s += self._exchange.seconds_taken(message.seconds)
        self._stopped_early |= message.stopped_early
        if message.evaluations is not None:
            self._evaluations = (self._evaluations or 0) + message.evaluations
        self._settings_failed += message.failed
        self._first_failure = self._first_failure or message.failure

    def _collect(self, message: Candidates) -> str:
        """Add candidates to the pool; return why it takes no more, or an empty text."""
        self._add(message)
        if self._pool.waits_large:
            self._evaluate()
        return self._pool.overflow

    def _add(self, message: Candidates) -> None:
        pool = self._pool
        if message.predictions is None or pool.by_equations:
            for item in self._translated(message.items):
                pool.add(item, None)
            return
        target = message.items[0].target if message.items else None
        shape = (len(message.items), *pool.shape(target))
        like = self._task.test.targets.dtype
        if len(message.items) > 1 and math.prod(shape) * like.itemsize > _MOST_PREDICTED:
            most = _MOST_PREDICTED // 2**20
            pool.reject(message.items, f"more than {most} MiB of predictions in a message")
            return
        try:
            predictions = self._exchange.read(message.predictions, shape, like, per_target=True)
        except ArrayExchangeError as error:
            pool.reject(message.items, str(error))
            return
        for item, values in zip(self._translated(message.items), predictions, strict=True):
            if (item.target is None) != (target is None):
                pool.reject([item], "candidates for one and for all targets, mixed")
            else:
                pool.add(item, values)

    def _translated(self, items: list[CandidateItem]) -> Iterator[CandidateItem]:
        """Return candidates in the names of the task, whatever names the method was given."""
        for item in items:
            equations = tuple(map(self._view.equation, item.equations))
            yield item.model_copy(update={"equations": equations})

    def _choose(self) -> Selection | None:
        """Evaluate the candidates and select the best."""
        self._evaluate()
        return self._pool.select()

    def _evaluate(self) -> None:
        """Evaluate the candidates, while the job and its clock are paused."""
        with PausedJob(self._worker) as paused:
            self._pool.evaluate(_EVALUATION_SECONDS, self._is_stopped)
        self._exchange.deadline += paused.seconds

    def _is_stopped(self) -> bool:
        """Whether the user has stopped the run, or the worker was lost."""
        return self._interrupted() or not (self._worker.alive or self._exchange.gave_up)

    def _nothing_to_choose(self) -> NoReturn:
        pool = self._pool
        if not pool.count:
            failure = self._first_failure or "no candidate arrived"
        else:
            failure = f"none of {pool.count} candidates is valid, the first: {pool.first_reason}"
        raise JobStoppedError(Status.INVALID_OUTPUT, failure, waits=True)

    def _answer(self, equations: tuple[str, ...], predicted: Predicted) -> JobResult:
        """Return an answer as it was given; its data type will read it."""
        like = (self._check or self._task.test).targets
        try:
            predictions = self._exchange.read(predicted.predictions, like.shape, like.dtype)
        except ArrayExchangeError as error:
            raise JobStoppedError(Status.INVALID_OUTPUT, str(error)) from None
        if self._order is not None:
            given, predictions = predictions, np.empty_like(predictions)
            predictions[self._order] = given
        answered_s, work_s = self._exchange.clock()
        return JobResult(
            Status.OK,
            answer=Answer(equations, predictions, asked=self._check),
            answered_s=answered_s,
            answered_work_s=work_s,
            fit_s=self._fit_s,
            predict_s=self._exchange.seconds_taken(predicted.seconds),
        )

    def _best_candidate(self, late: str) -> JobResult:
        """Return the best candidate as the answer of a job that has reached a limit."""
        self._pool.sample()
        choice = self._choose()
        if choice is None or not self._task.has_equations:
            flooded = bool(self._exchange.overflow)
            if self._spec.tuning != "none" and self._task.has_equations and not self._pool.count:
                late = f"{late}; no candidate had been sent"
            return JobResult(Status.INVALID_OUTPUT if flooded else Status.TIMEOUT, late)
        return JobResult(
            Status.PARTIAL,
            f"{late}; scored from the best of {self._pool.count} candidates",
            answer=Answer(choice.equations),
            timeout_reason=late,
            hyperparameters=choice.hyperparameters,
            selection=choice,
        )
