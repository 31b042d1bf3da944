"""A language model as a judge of answers in results: which are drawn, asked about and written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from mdbench import __version__
from mdbench.errors import UsageError
from mdbench.language_models.chat_requests import RefusedError
from mdbench.language_models.judge import RULE, JudgeReport, chosen_answers, judge
from mdbench.runs.llm import named_connection, open_conversation
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mdbench.language_models.judge import Judgement
    from mdbench.records import Record
    from mdbench.runs.study import JudgeOptions

JUDGEMENTS: Final = "llm-judgements"
"""The folder below the results in which those of judges lie."""


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
    talk, access = named_connection(options, "a judge is shown equations")
    seed = options.seed[0]
    chosen = chosen_answers(records, options.answers, seed)
    if not chosen:
        raise UsageError(
            f"No record has equations, a truth and the metric {RULE}.",
            "Give results of a data type with true equations: --records results",
        )
    questions = [each.question for each in chosen]
    what = repr((talk.model, options.llm_settings, seed, questions))
    stem = f"judge-{hashlib.sha256(what.encode()).hexdigest()[:12]}"
    folder = options.result_dir / JUDGEMENTS
    found: list[Judgement] = []
    with open_conversation(access, talk, folder, stem) as conversation:
        for each in chosen:
            try:
                found.append(judge(each, conversation.answer, seed))
            except RefusedError as refused:
                hint = f"Give a larger --llm-calls, or --answers {len(found)}."
                if conversation.asked().ended:
                    hint = "See docs/language-models.md."
                raise UsageError(f"{len(found)} were judged: {refused}.", hint) from None
            asked = conversation.asked()
            if trouble := (asked.ended or asked.trouble or asked.missed):
                raise UsageError(f"{trouble}.", "See docs/language-models.md.")
            report(len(found), len(chosen))
        asked = conversation.asked()
    judgements = JudgeReport(
        mdbench=__version__,
        model=talk.model,
        answered_by=asked.models,
        seed=seed,
        settings=talk.settings,
        calls=asked.calls,
        failed=asked.failed,
        prompt_tokens=asked.prompt_tokens,
        completion_tokens=asked.completion_tokens,
        money=asked.money,
        judgements=found,
    )
    file = folder / f"{stem}.json"
    text = judgements.model_dump_json(indent=1).encode() + b"\n"
    write_whole(file, lambda stream: stream.write(text))
    return judgements, file
