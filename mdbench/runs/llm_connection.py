"""How the jobs of a run reach a language model: an endpoint, or logs of an earlier run."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mdbench.errors import UnavailableError, UsageError
from mdbench.language_models.conversation import Conversation
from mdbench.language_models.endpoint import Endpoint
from mdbench.language_models.exchanges import SUFFIX, ExchangeLog, ExchangeReplay
from mdbench.language_models.live import PAUSES, Live
from mdbench.language_models.proxy import Proxy
from mdbench.language_models.secrets import read_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mdbench.language_models.conversation import Answerer
    from mdbench.runs.model_terms import ModelRoute
    from mdbench.runs.spec import JobSpec

__all__ = ["ModelAccess", "exchanges_beside"]


def exchanges_beside(log: Path) -> Path:
    """Give the log of exchanges that lies beside a job's log."""
    return log.with_name(log.name.removesuffix(".log") + SUFFIX)


@dataclass(frozen=True)
class ModelAccess:
    """How a run reaches a language model.

    Attributes
    ----------
    endpoint
        Who is asked; None for a replay.
    replay
        The log that answers, or a folder of results with such logs.
    replays
        The log that answers each job.
    pauses
        Seconds before each further attempt at a request, at least.
    """

    endpoint: Endpoint | None = None
    replay: Path | None = None
    replays: Mapping[JobSpec, Path] = field(default_factory=dict, repr=False)
    pauses: tuple[float, ...] = PAUSES

    @classmethod
    def of(cls, route: ModelRoute) -> ModelAccess | None:
        """Read what was asked for; None where nothing was.

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
            return cls(replay=route.llm_replay)
        if route.llm_url is None:
            return None
        return cls(Endpoint(route.llm_url, key))

    def close(self) -> None:
        """Close the connections."""
        if self.endpoint is not None:
            self.endpoint.close()

    @contextmanager
    def talking(self, job: JobSpec, folder: int, log: Path) -> Iterator[Conversation]:
        """Let the job that gets a folder ask, as long as the context lasts.

        Parameters
        ----------
        folder
            The job's folder, open, in which nobody else is yet.
        log
            The job's log, beside which its exchanges are written.

        Raises
        ------
        UsageError
            If there is no log to replay.
        OSError
            If the socket cannot be made.
        """
        talk = job.talk
        if talk is None:
            raise UsageError("No language model was named.", "Say which: --llm-model NAME")
        answerer = self._answerer(job, exchanges_beside(log))
        conversation = Conversation(answerer, talk, ExchangeLog(exchanges_beside(log)))
        with closing(conversation):
            proxy = Proxy(folder, conversation.answer)
            try:
                yield conversation
            finally:
                conversation.hang_up()
                proxy.close()

    def _answerer(self, job: JobSpec, log: Path) -> Answerer:
        if self.endpoint is not None:
            return Live(self.endpoint, pauses=self.pauses)
        place = self.replays.get(job, self.replay)
        if place is None:
            raise UnavailableError(f"there is no log of exchanges of {job}")
        if place.is_dir():
            place = _log_in(place, log)
        if place.exists() and log.exists() and place.samefile(log):
            raise UnavailableError(
                f"--llm-replay {place} is the log that this run would write.",
                "Give another folder for its results: --result-dir DIR",
            )
        return ExchangeReplay(place)


def _log_in(folder: Path, log: Path) -> Path:
    found = [folder / "logs" / log.parent.name / log.name, folder / log.parent.name / log.name]
    found += [folder / log.name]
    for each in found:
        if each.exists():
            return each
    raise UnavailableError(
        f"--llm-replay {folder} has no {log.name}.",
        "A log is replayed for the job that left it: with the same method, data, model and budget.",
    )
