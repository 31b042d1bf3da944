"""Questions to a language model without a job: probes of what it knows, and a judge of answers."""

from __future__ import annotations

import hashlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mdbench import __version__
from mdbench.datatypes.base import NO_OPTIONS
from mdbench.datatypes.facts import Protocol
from mdbench.errors import UsageError
from mdbench.extensions.language_models.chat_requests import RefusedError
from mdbench.extensions.language_models.connection import LlmConnection
from mdbench.extensions.language_models.contamination import (
    ProbeReport,
    ProbeTarget,
    closest,
    probe,
)
from mdbench.extensions.language_models.conversation import Conversation
from mdbench.extensions.language_models.exchanges import SUFFIX, ExchangeLog, ExchangeReplay
from mdbench.extensions.language_models.judge import RULE, JudgeReport, chosen_answers, judge
from mdbench.extensions.language_models.question_report import (
    JUDGE_FOLDER,
    PROBE_FOLDER,
    QuestionReport,
)
from mdbench.extensions.language_models.responder import LiveResponder
from mdbench.installation import page
from mdbench.runs.plan import select_names
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from mdbench.datatypes.base import DataType, Source
    from mdbench.extensions.language_models.accounts import LlmSettings
    from mdbench.extensions.language_models.contamination import ProbeResult
    from mdbench.extensions.language_models.judge import Judgement
    from mdbench.extensions.language_models.options import JudgeOptions, ProbeOptions
    from mdbench.records import Record
    from mdbench.runs.catalog import Catalog

Report = TypeVar("Report", bound=QuestionReport)

_TABLE: Final = "table"
_HELP: Final = f"See {page('language-models')}."


@dataclass(frozen=True)
class _Session:
    """A conversation without a job, and the file that its report is written to."""

    talk: LlmSettings
    conversation: Conversation
    file: Path

    @contextmanager
    def question(self, where: str, remedy: str) -> Iterator[None]:
        """Refuse, in words of the command, what the model cannot be asked any more.

        Parameters
        ----------
        where
            How far it has come, before the reason.
        remedy
            What to type if the budget has ended.

        Raises
        ------
        UsageError
            If the budget or the endpoint ends, or an answer is missing from a log.
        """
        try:
            yield
        except RefusedError as refused:
            hint = _HELP if self.conversation.asked().ended else remedy
            raise UsageError(f"{where}: {refused}.", hint) from None
        asked = self.conversation.asked()
        if trouble := (asked.ended or asked.trouble or asked.missed):
            raise UsageError(f"{where}: {trouble}.", _HELP)

    def write(self, kind: type[Report], seed: int, **fields: Any) -> tuple[Report, Path]:
        """Write the report, with what was asked for and what it cost."""
        asked = self.conversation.asked()
        report = kind(
            mdbench=__version__,
            model=self.talk.model,
            answered_by=asked.models,
            seed=seed,
            settings=self.talk.settings,
            calls=asked.calls,
            failed=asked.failed,
            prompt_tokens=asked.prompt_tokens,
            completion_tokens=asked.completion_tokens,
            money=asked.money,
            **fields,
        )
        text = report.model_dump_json(indent=1).encode() + b"\n"
        write_whole(self.file, lambda stream: stream.write(text))
        return report, self.file


def run_probes(
    options: ProbeOptions,
    catalog: Catalog,
    report: Callable[[ProbeResult], None],
) -> tuple[ProbeReport, Path]:
    """Ask about all problems that are named, and write the results into files.

    Parameters
    ----------
    report
        Called with the result of each problem, as soon as it is known.

    Raises
    ------
    UsageError
        If something is missing, or if the budget ends before the last question.
    """
    talk, access = _named_connection(options, "probes ask in all views")
    seed = options.seed[0]
    data_type = catalog.data_type(options.data_type)
    if _TABLE not in data_type.views:
        raise UsageError(f"{data_type.name} has no tables to ask about.", "E.g. --data-type srsd")
    source = catalog.source(data_type.name, None)
    chosen = select_names(source.names(), options.datasets, source.groups())
    what = talk.model, options.llm_settings, options.samples, options.seed, chosen
    stem = _stem(options.data_type, what)
    results: list[ProbeResult] = []
    with _session(access, talk, options.result_dir / PROBE_FOLDER, stem) as session:
        answer = session.conversation.answer
        subjects = [_subject(data_type, source, name, seed) for name in chosen]
        for subject in subjects:
            if subject.task.dataset.truth is None:
                continue
            other = closest(subject, subjects)
            with session.question(subject.name, "Give a larger --llm-calls, or fewer datasets."):
                one = probe(subject, other, answer, samples=options.samples, seed=seed)
            results.append(one)
            report(one)
        kind, protocol = data_type.name, str(Protocol.STRICT)
        return session.write(ProbeReport, seed, data_type=kind, protocol=protocol, problems=results)


def run_judge(
    options: JudgeOptions, records: Sequence[Record], report: Callable[[int, int], None]
) -> tuple[JudgeReport, Path]:
    """Ask a model about answers that the rule has decided, and write both verdicts into a file.

    Parameters
    ----------
    records
        Of which answers are drawn.
    report
        Called with the number of answers that have been judged, and of all.

    Raises
    ------
    UsageError
        If something is missing, or if the budget ends before the last question.
    """
    talk, access = _named_connection(options, "a judge is shown equations")
    seed = options.seed[0]
    chosen = chosen_answers(records, options.answers, seed)
    if not chosen:
        raise UsageError(
            f"No record has equations, a truth and the metric {RULE}.",
            "Give results of a data type with true equations: --records results",
        )
    questions = [each.question for each in chosen]
    stem = _stem("judge", (talk.model, options.llm_settings, seed, questions))
    judgements: list[Judgement] = []
    with _session(access, talk, options.result_dir / JUDGE_FOLDER, stem) as session:
        for answered in chosen:
            remedy = f"Give a larger --llm-calls, or --answers {len(judgements)}."
            with session.question(f"{len(judgements)} were judged", remedy):
                one = judge(answered, session.conversation.answer, seed)
            judgements.append(one)
            report(len(judgements), len(chosen))
        return session.write(JudgeReport, seed, judgements=judgements)


def _subject(data_type: DataType, source: Source, name: str, seed: int) -> ProbeTarget:  # type: ignore[type-arg]
    loaded = source.load(name, snr_db=None, seed=seed, protocol=Protocol.STRICT, options=NO_OPTIONS)
    return ProbeTarget(
        name, data_type.task(loaded, _TABLE, Protocol.STRICT), source.background(name)
    )


def _stem(what: str, asked: tuple[object, ...]) -> str:
    """Name the files of questions: with the same questions they have the same name."""
    return f"{what}-{hashlib.sha256(repr(asked).encode()).hexdigest()[:12]}"


def _named_connection(
    options: ProbeOptions | JudgeOptions, reason: str
) -> tuple[LlmSettings, LlmConnection]:
    """Return the model and the connection that were named.

    Raises
    ------
    UsageError
        If one is missing, or a view of prompts was named, which the reason is against.
    """
    talk = options.talk
    if talk is None:
        raise UsageError("--llm-model is missing.", "Name the model: --llm-model NAME")
    if options.prompt is not None:
        raise UsageError(f"--prompt is of runs: {reason}.", "Leave it out.")
    access = LlmConnection.from_options(options)
    if access is None:
        raise UsageError(
            f"No endpoint of {talk.model} was named.",
            "Give its address, e.g. --llm-url http://localhost:8000/v1, or --llm-replay FILE.",
        )
    return talk, access


@contextmanager
def _session(
    access: LlmConnection, talk: LlmSettings, folder: Path, stem: str
) -> Iterator[_Session]:
    """Ask without a job, or answer from a log of that; the exchanges are written to a folder."""
    responder = (
        LiveResponder(access.endpoint, breaker=access.breaker)
        if access.endpoint is not None
        else ExchangeReplay(_recording(access.replay, folder.name, stem))
    )
    log = ExchangeLog(folder / f"{stem}{SUFFIX}")
    with closing(access), closing(Conversation(responder, talk, log)) as conversation:
        yield _Session(talk, conversation, folder / f"{stem}.json")


def _recording(path: Path | None, folder: str, stem: str) -> Path:
    if path is not None and path.is_dir():
        found = (path / folder / f"{stem}{SUFFIX}", path / f"{stem}{SUFFIX}")
        path = next((each for each in found if each.exists()), None)
    if path is None:
        raise UsageError(
            f"--llm-replay has no {stem}{SUFFIX}.",
            "A log is replayed for the same model, settings, samples, seed and datasets.",
        )
    return path
