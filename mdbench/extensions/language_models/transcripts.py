"""Transcripts of jobs that asked a language model, from their logs, for people to read.

A log is whatever an endpoint and a method have written, perhaps another person's: files are read up
to a limit, texts are made printable, and long texts are cut, with the number of letters left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from mdbench.errors import counted, printable
from mdbench.extensions.language_models.accounts import LlmLimits
from mdbench.extensions.language_models.exchanges import Exchange
from mdbench.records.files import attached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mdbench.records import Record
    from mdbench.records.schema import LlmPoint

MOST_READ: Final = 2**26
"""Bytes of a log of exchanges that are read."""
_MOST_LOG: Final = 2**23
"""Bytes of a job's log in which outcomes are looked for."""
_VERDICT: Final = re.compile(r"completion (\d{1,7}): (.{1,300})")
MOST_TURNS: Final = 24
"""Turns of a job that are shown: the first, the last, and those that found the best so far."""
MOST_LETTERS: Final = 4000
"""Letters of a text that are shown."""
PAGE_LETTERS: Final = 1_000_000
"""Letters of all transcripts of a page."""


@dataclass(frozen=True)
class Limits:
    """What is shown of a transcript.

    Attributes
    ----------
    turns
        How many; None for all.
    letters
        The most letters of each text; None for all.
    read
        Bytes of the log that are read; None for all.
    """

    turns: int | None = MOST_TURNS
    letters: int | None = MOST_LETTERS
    read: int | None = MOST_READ


EVERYTHING: Final = Limits(None, None, None)


@dataclass(frozen=True)
class ShownText:
    """A text of which the end may be left out.

    Attributes
    ----------
    left_out
        Letters that are not shown.
    """

    text: str
    left_out: int = 0

    @property
    def note(self) -> str:
        """What is left out, in words; empty for nothing."""
        return f"{self.left_out:,} more letters" if self.left_out else ""


@dataclass(frozen=True)
class ShownAnswer:
    """One completion.

    Attributes
    ----------
    verdict
        The method's own words on it; empty where it has none.
    error
        Why there was no completion; empty where there was one.
    cut
        Whether the endpoint cut it off.
    cost
        In whatever currency the price was given; None without one.
    """

    number: int
    text: ShownText
    verdict: str
    error: str
    cut: bool
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int | None
    estimated: bool
    seconds: float
    cost: float | None

    @property
    def facts(self) -> str:
        """Its tokens, seconds and cost, in words."""
        about = "about " if self.estimated else ""
        tokens = f"{about}{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        if self.reasoning_tokens:
            tokens += f" ({self.reasoning_tokens:,} of thinking)"
        parts = [tokens, f"{self.seconds:.1f} s"]
        if self.cost is not None:
            parts.append(f"cost {self.cost:.3g}")
        return ", ".join(parts + ["cut off"] * self.cut)


@dataclass(frozen=True)
class Turn:
    """One prompt and its answers.

    Attributes
    ----------
    prompt
        The role and the text of each message.
    same_as
        The number of the first completion that was asked for with the same prompt; None for none.
    known
        What the search had before, in words.
    best
        The loss of the best candidate so far, if it was found here; None if it was not.
    """

    prompt: tuple[tuple[str, ShownText], ...]
    same_as: int | None
    answers: tuple[ShownAnswer, ...]
    known: str
    best: float | None

    @property
    def title(self) -> str:
        """The numbers of its completions, in words."""
        first, last = self.answers[0].number, self.answers[-1].number
        return f"completion {first}" if first == last else f"completions {first} to {last}"

    @property
    def letters(self) -> int:
        """How many letters are shown."""
        prompt = 0 if self.same_as else sum(len(text.text) for _, text in self.prompt)
        return prompt + sum(len(each.text.text) for each in self.answers)


@dataclass(frozen=True)
class Transcript:
    """The transcript of a job.

    Attributes
    ----------
    turns
        The turns that are shown.
    left_out
        How many are not.
    unread
        Bytes at the end of the log that were not read.
    damaged
        Lines before them that are no exchanges.
    """

    record: Record
    turns: tuple[Turn, ...]
    left_out: int
    unread: int = 0
    damaged: int = 0

    @property
    def title(self) -> str:
        """The job, in words."""
        one = self.record
        noise = "" if one.snr_db is None else f", {one.snr_db:g} dB"
        return f"{printable(one.method)} · {printable(one.dataset)}{noise}, seed {one.seed}"

    @property
    def note(self) -> str:
        """What is left out, in words; empty for nothing."""
        parts = [
            f"{counted(self.left_out, 'prompt')} with their answers left out" * bool(self.left_out),
            f"the last {max(1, self.unread >> 20):,} MiB of the log not read" * bool(self.unread),
        ]
        return "; ".join(filter(None, parts))

    @property
    def warning(self) -> str:
        """What is damaged, in words; empty for nothing."""
        return f"{counted(self.damaged, 'line')} of the log cannot be read" * bool(self.damaged)

    @property
    def letters(self) -> int:
        """How many letters are shown."""
        return sum(turn.letters for turn in self.turns)


def transcripts(
    records: Iterable[Record], folders: Sequence[Path], limits: Limits = Limits()
) -> Iterator[Transcript]:
    """Yield the transcripts of the records whose logs of exchanges are in one of some folders.

    Parameters
    ----------
    folders
        Those that the names of logs in records are relative to.
    """
    for record in records:
        path = attached(folders, record.exchanges)
        if path is None:
            continue
        outcomes = _outcomes(attached(folders, record.log))
        exchanges, unread, damaged = _exchanges(path, limits.read)
        found = transcript(record, exchanges, outcomes, limits)
        if found.turns or unread or damaged:
            yield replace(found, unread=unread, damaged=damaged)


def transcript_lines(transcript: Transcript) -> Iterator[str]:
    """Yield the lines of a transcript, for a terminal."""
    if transcript.record.equations:
        yield f"answer: {printable(' ; '.join(transcript.record.equations))}"
    if transcript.note:
        yield f"{transcript.note} (all of it: --all)"
    if transcript.warning:
        yield transcript.warning
    for turn in transcript.turns:
        found = "" if turn.best is None else f"; here: best loss {turn.best:.4g}"
        yield ""
        yield f"== {turn.title} ({turn.known}{found})"
        if turn.same_as is not None:
            yield f"-- the prompt of completion {turn.same_as}"
        else:
            for role, text in turn.prompt:
                yield f"-- {role}:"
                yield from _indented(text)
        for answer in turn.answers:
            said = f"no completion: {answer.error}" if answer.error else answer.verdict
            yield f"-- answer {answer.number}: {'; '.join(filter(None, [said, answer.facts]))}"
            if not answer.error:
                yield from _indented(answer.text)


def _indented(text: ShownText) -> Iterator[str]:
    yield from (f"   {line}" for line in text.text.split("\n"))
    if text.note:
        yield f"   ... {text.note} (all of them: --all)"


def limit_letters(
    all_transcripts: Iterable[Transcript], letters: int
) -> tuple[list[Transcript], int]:
    """Return as many transcripts as have so many letters together, and how many are left out."""
    chosen: list[Transcript] = []
    left_out = 0
    for transcript in all_transcripts:
        letters -= transcript.letters
        if letters >= 0 and not left_out:
            chosen.append(transcript)
        else:
            left_out += 1
    return chosen, left_out


def transcript(
    record: Record,
    exchanges: Sequence[Exchange],
    outcomes: dict[int, str],
    limits: Limits = Limits(),
) -> Transcript:
    """Return the transcript of a job.

    Parameters
    ----------
    outcomes
        The method's own words on each completion, by its number.
    """
    exchanges = sorted(exchanges, key=lambda exchange: exchange.number)
    turns = list(_turns(record, exchanges, outcomes, limits))
    places = _chosen(turns, limits.turns)
    turns_shown = tuple(turns[place] for place in places)
    shown: set[int] = set()
    for index, turn in enumerate(turns_shown):  # the turn with the same prompt may be left out
        first = turn.answers[0].number
        if turn.same_as is not None and turn.same_as not in shown:
            turns_shown = (
                *turns_shown[:index],
                replace(turn, same_as=None),
                *turns_shown[index + 1 :],
            )
        shown.add(first if turn.same_as is None else turn.same_as)
    return Transcript(record, turns_shown, len(turns) - len(turns_shown))


def _chosen(turns: Sequence[Turn], most: int | None) -> list[int]:
    """Return the places of the turns that are shown: the first, the last, and the best ones."""
    if most is None or len(turns) <= most:
        return list(range(len(turns)))
    best = [place for place, turn in enumerate(turns) if turn.best is not None]
    wanted = dict.fromkeys([*best[-most // 2 :], len(turns) - 1])
    for index in range(len(turns)):
        if len(wanted) >= most:
            break
        wanted[index] = None
    return sorted(wanted)


def _turns(
    record: Record, exchanges: Sequence[Exchange], outcomes: dict[int, str], limits: Limits
) -> Iterator[Turn]:
    price = None if record.llm is None or record.llm.price is None else record.llm.price
    cost = None if price is None else LlmLimits(price=(price[0], price[1])).cost
    curve = () if record.llm is None else record.llm.curve or ()
    first_with: dict[str, int] = {}
    asked = [exchange for exchange in exchanges if exchange.number > 0]
    spent = sum(
        exchange.usage.prompt_tokens + exchange.usage.completion_tokens
        for exchange in exchanges[: len(exchanges) - len(asked)]  # of earlier attempts at the job
    )
    for _, group in groupby(asked, key=lambda one: repr(one.request.get("messages"))):
        group_exchanges = list(group)
        first, last = group_exchanges[0].number, group_exchanges[-1].number
        before = [point for point in curve if point.calls < first]
        here = [point for point in curve if first <= point.calls <= last]
        messages = _messages(group_exchanges[0], limits.letters)
        key = repr(group_exchanges[0].request.get("messages"))
        yield Turn(
            prompt=messages,
            same_as=first_with.get(key),
            answers=tuple(
                _answer(each, outcomes.get(each.number, ""), limits.letters, cost)
                for each in group_exchanges
            ),
            known=_known(before, first - 1, spent),
            best=here[-1].loss if here else None,
        )
        first_with.setdefault(key, first)
        spent += sum(
            one.usage.prompt_tokens + one.usage.completion_tokens for one in group_exchanges
        )


def _known(before: Sequence[LlmPoint], calls: int, spent: int) -> str:
    """Write what a search had before a prompt: completions, tokens, and its best candidate."""
    if not calls:
        return "nothing was asked before"
    text = f"before: {counted(calls, 'completion')}, {spent:,} tokens"
    if before and before[-1].loss is not None:
        found = before[-1].calls
        of = f"found by completion {found}" if found else "of the start"
        text += f"; best loss {before[-1].loss:.4g}, {of}"
    return text


def _messages(one: Exchange, letters: int | None) -> tuple[tuple[str, ShownText], ...]:
    given = one.request.get("messages")
    messages = []
    for message in given if isinstance(given, list) else []:
        if isinstance(message, dict):
            role = printable(str(message.get("role", "")), 20)
            messages.append((role, _printable(str(message.get("content", "")), letters)))
    return tuple(messages)


def _answer(
    exchange: Exchange, verdict: str, letters: int | None, cost: Callable[[int, int], float] | None
) -> ShownAnswer:
    used = exchange.usage
    text = "" if exchange.reply is None else exchange.reply.text
    return ShownAnswer(
        number=exchange.number,
        text=_printable(text, letters),
        verdict=verdict,
        error=printable(exchange.error, 300),
        cut=exchange.reply is not None and exchange.reply.finish_reason == "length",
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        reasoning_tokens=used.reasoning_tokens,
        estimated=used.estimated,
        seconds=exchange.latency_s,
        cost=None if cost is None else cost(used.prompt_tokens, used.completion_tokens),
    )


def _printable(text: str, letters: int | None) -> ShownText:
    """Make a text printable, and cut it."""
    kept = text if letters is None else text[:letters]
    lines = kept.replace("\r\n", "\n").replace("\r", "\n")
    return ShownText(printable(lines), len(text) - len(kept))


def _exchanges(path: Path, most: int | None) -> tuple[list[Exchange], int, int]:
    """Read a log, up to a limit of bytes.

    Returns
    -------
    exchanges
        The exchanges that could be read.
    unread
        Bytes of the log beyond the limit, and of the line that goes beyond it.
    damaged
        Lines that are no exchanges.
    """
    exchanges: list[Exchange] = []
    damaged = 0
    size = path.stat().st_size
    with path.open("rb") as file:
        read = 0
        while read < size and (line := file.readline(-1 if most is None else most - read + 1)):
            if most is not None and read + len(line) > most:
                break
            read += len(line)
            try:
                exchanges.append(Exchange.model_validate_json(line))
            except ValidationError:
                damaged += 1
    return exchanges, size - read, damaged


def _outcomes(path: Path | None) -> dict[int, str]:
    if path is None:
        return {}
    with path.open("rb") as file:
        text = file.read(_MOST_LOG).decode("utf-8", "replace")
    outcomes: dict[int, str] = {}
    for line in text.splitlines():
        if match := _VERDICT.fullmatch(line.strip()):
            outcomes.setdefault(int(match[1]), printable(match[2]))
    return outcomes
