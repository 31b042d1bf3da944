"""The language model of a run: an endpoint, or logs of an earlier run; and the use of it."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError, UsageError
from mdbench.extensions.language_models import PROMPTS
from mdbench.extensions.language_models.accounts import LlmLimits, Purse
from mdbench.extensions.language_models.availability import PATIENCE_S, CircuitBreaker
from mdbench.extensions.language_models.conversation import Conversation
from mdbench.extensions.language_models.endpoint import Endpoint
from mdbench.extensions.language_models.exchanges import (
    BEFORE,
    SUFFIX,
    ExchangeLog,
    ExchangeReplay,
    forget_attempts,
    set_aside,
)
from mdbench.extensions.language_models.keys import (
    NO_KEY,
    hidden_variable,
    read_key,
    remove_left_keys,
)
from mdbench.extensions.language_models.options import asked_of
from mdbench.extensions.language_models.proxy import NAME, Proxy
from mdbench.extensions.language_models.responder import LiveResponder
from mdbench.extensions.language_models.use import ModelUse, loss_curve
from mdbench.extensions.language_models.views import prompt_view
from mdbench.runs.services import Connection, RemoteConnection, ServiceSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from mdbench.datatypes.base import Background, ScoredCandidate, Task
    from mdbench.extensions.language_models.conversation import Responder
    from mdbench.extensions.language_models.options import LlmEndpointOptions
    from mdbench.runs.services import TaskView, Turn
    from mdbench.runs.spec import JobSpec


@dataclass(frozen=True)
class LlmConnection(Connection):
    """The connection of a run with a language model.

    Attributes
    ----------
    endpoint
        Who is asked; None for a replay.
    replay
        The log that answers, or a folder of results with such logs.
    replays
        The log that answers each job.
    breaker
        Whether the endpoint answers, for all jobs.
    purse
        The money of all jobs; None for no limit.
    restarted
        Jobs that are not to go on from logs of earlier attempts.
    url
        The address of `endpoint`, for connections of other machines.
    key_variable
        The variable of the environment that has the key; None for none.
    """

    endpoint: Endpoint | None = None
    replay: Path | None = None
    replays: Mapping[JobSpec, Path] = field(default_factory=dict, repr=False)
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker, compare=False)
    purse: Purse | None = None
    restarted: Collection[JobSpec] = ()
    url: str | None = None
    key_variable: str | None = None

    @classmethod
    def from_options(
        cls, route: LlmEndpointOptions, price: tuple[float, float] | None = None
    ) -> LlmConnection | None:
        """Return the connection that was asked for; None where nothing was.

        Parameters
        ----------
        price
            Of a million tokens of prompts, and of completions.

        Raises
        ------
        UsageError
            If it cannot be used.
        """
        key = read_key(route.llm_key_env, route.llm_key_file)
        if route.llm_replay is not None:
            if not route.llm_replay.exists():
                raise UsageError(
                    f"--llm-replay {route.llm_replay} does not exist.",
                    f"Give a file *{SUFFIX}, or the folder of results that a run has left.",
                )
            return cls(replay=route.llm_replay, key_variable=route.llm_key_env)
        if route.llm_url is None:
            return None
        patience = PATIENCE_S if route.llm_patience is None else route.llm_patience
        purse = None
        if route.llm_money_total is not None:
            if price is None:
                raise UsageError(
                    "--llm-money-total was given without --llm-price.",
                    "Give the price of tokens, e.g. --llm-price 0.15/0.60.",
                )
            purse = Purse(route.llm_money_total, LlmLimits(price=price))
        return cls(
            Endpoint(route.llm_url, key),
            breaker=CircuitBreaker(patience),
            purse=purse,
            url=route.llm_url,
            key_variable=route.llm_key_env,
        )

    def check(self, jobs: Sequence[JobSpec], *, in_this_process: bool) -> None:
        """Refuse jobs that could cost more together than a run may, where nobody counts for all."""
        if self.purse is None or in_this_process:
            return
        total = self.purse.total
        most = [asked_of(job).llm_money for job in jobs]
        if None in most:
            raise UsageError(
                "--llm-money-total needs --llm-money where jobs run on other machines.",
                "Each job keeps its own limit there, and all of them together may not pass the "
                f"total: e.g. --llm-money {total / len(jobs):.3g}",
            )
        cost = sum(money for money in most if money is not None)
        if cost > total:
            raise UsageError(
                f"{len(jobs)} jobs may cost {cost:g} together, and --llm-money-total is {total:g}.",
                f"Give each less, e.g. --llm-money {total / len(jobs):.3g}, or name fewer jobs.",
            )

    def observed(
        self, report: Callable[[str], None], restarted: Collection[JobSpec]
    ) -> LlmConnection:
        """Return it with whom its breaker reports to, and the jobs that forget their logs."""
        self.breaker.report = report
        return replace(self, restarted={*restarted, *self.restarted})

    @contextmanager
    def shared(self, home: Path, *, in_this_process: bool) -> Iterator[NodeConnection | None]:
        """Keep the key from processes that are started meanwhile; return what nodes need.

        Files of keys that killed commands have left are removed.
        """
        remove_left_keys(home)
        with hidden_variable(self.key_variable):
            if in_this_process:
                yield None
            else:
                with self.for_nodes(home) as connection:
                    yield connection

    @contextmanager
    def for_nodes(self, folder: Path) -> Iterator[NodeConnection]:
        """Return what other processes need for the same connection, as long as the context lasts.

        Parameters
        ----------
        folder
            Where the file is made that holds the key; only the user can read it.

        Raises
        ------
        UsageError
            If the file cannot be made.
        """
        key = NO_KEY if self.endpoint is None else self.endpoint.key
        with ExitStack() as stack:
            file = None
            if key:
                try:
                    file = stack.enter_context(key.in_file(folder.absolute()))
                except OSError as error:
                    raise UsageError(
                        f"The key cannot be written for the nodes into {folder}: {error.strerror}.",
                        "The folder has to be one that all nodes see.",
                    ) from None
            yield NodeConnection(
                url=self.url,
                key_file=file,
                replay=None if self.replay is None else self.replay.absolute(),
                patience_s=self.breaker.patience_s,
                restarted=frozenset(self.restarted),
            )

    def exchanges(self, log: Path) -> Path:
        """Return the log of exchanges that goes with a job's log."""
        return log.with_name(log.name.removesuffix(".log") + SUFFIX)

    def begin(self, job: JobSpec, log: Path) -> ModelUse | None:
        """Get ready for a job; return the use of one that need not be begun, as it is ended.

        Where nobody is answered any more, a job still has the answers of its earlier attempts.
        """
        if self.endpoint is None:
            return None
        path = self.exchanges(log)
        if job in self.restarted:
            path.unlink(missing_ok=True)
            forget_attempts(path)
        before = path.with_name(path.name + BEFORE)
        if path.exists() or before.exists() or not self.breaker.gone:
            return None
        return ModelUse(ended=self.breaker.gone)

    def finish(self, log: Path) -> None:
        """Forget the earlier attempts at a job that has ended for good."""
        forget_attempts(self.exchanges(log))

    def close(self) -> None:
        """Close the connections."""
        if self.endpoint is not None:
            self.endpoint.close()

    @contextmanager
    def session(
        self,
        job: JobSpec,
        task: Task[Any],
        background: Background,
        *,
        folder: int,
        log: Path,
        turn: Turn | None,
    ) -> Iterator[ModelSession]:
        """Open the session of a job, which may ask as long as the context lasts.

        Its exchanges are written to a file next to its log.

        Raises
        ------
        UsageError
            If there is no log to replay.
        OSError
            If the socket cannot be made.
        """
        asked = asked_of(job)
        if asked.talk is None:
            raise UsageError("No language model was named.", "Name it: --llm-model NAME")
        path = self.exchanges(log)
        conversation = Conversation(self._responder(job, path), asked.talk, ExchangeLog(path), turn)
        with closing(conversation):
            proxy = Proxy(folder, conversation.answer)
            try:
                view = prompt_view(asked.prompt or PROMPTS[0], task, background, job.seed)
                yield ModelSession(view, conversation)
            finally:
                conversation.end()
                proxy.close()

    def _responder(self, job: JobSpec, log: Path) -> Responder:
        if self.endpoint is not None:
            before = set_aside(log)
            return LiveResponder(
                self.endpoint,
                breaker=self.breaker,
                earlier=None if before is None else ExchangeReplay(before),
                purse=self.purse,
            )
        replay = self.replays.get(job, self.replay)
        if replay is None:
            raise UnavailableError(f"there is no log of exchanges of {job}")
        if replay.is_dir():
            replay = _log_in(replay, log)
        if replay.exists() and log.exists() and replay.samefile(log):
            raise UnavailableError(
                f"--llm-replay {replay} is the log that this run would write.",
                "Give another folder for its results: --result-dir DIR",
            )
        return ExchangeReplay(replay)


class ModelSession(ServiceSession):
    """The conversation of one job with its model, and how the problem is shown to both."""

    order = MappingProxyType({"language_model": NAME})

    def __init__(self, view: TaskView, conversation: Conversation) -> None:
        self.view = view
        self.conversation = conversation

    @property
    def waited_s(self) -> float:
        """Seconds in which the job waited for a failing endpoint, or for its turn."""
        return self.conversation.waited_s

    def use(self, candidates: Sequence[ScoredCandidate]) -> ModelUse:
        """End the conversation; return what was asked for, with the loss over the calls."""
        self.conversation.end()
        return replace(self.conversation.asked(), curve=loss_curve(candidates))


@dataclass(frozen=True)
class NodeConnection(RemoteConnection):
    """What a node needs to reach a language model; it can be pickled, and has no key.

    Attributes
    ----------
    key_file
        The file that holds the key; None for an endpoint without one.
    """

    url: str | None
    key_file: Path | None
    replay: Path | None
    patience_s: float
    restarted: frozenset[JobSpec] = frozenset()

    def open(self) -> LlmConnection:
        """Return the connection on this node.

        Raises
        ------
        UsageError
            If the key's file cannot be read here.
        """
        if self.url is None:
            return LlmConnection(replay=self.replay)
        return LlmConnection(
            Endpoint(self.url, read_key(None, self.key_file)),
            breaker=CircuitBreaker(self.patience_s),
            restarted=self.restarted,
            url=self.url,
        )


def _log_in(folder: Path, log: Path) -> Path:
    below = (Path("logs", log.parent.name), Path(log.parent.name), Path())
    for path in (folder / part / log.name for part in below):
        if path.exists():
            return path
    raise UnavailableError(
        f"--llm-replay {folder} has no {log.name}.",
        "A log is replayed for the job that left it: with the same method, data, model and budget.",
    )
