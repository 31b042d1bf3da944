"""A language model as the judge of answers, compared with the rule of `eqverdict`.

SurfaceBench has its symbolic accuracy judged by GPT-4o: whether some choice of the constants makes
an equation the true one.  Here a rule decides that (the metric ``skeleton``).  A judge is asked
the same question about the same answers, and counted is how often both say the same.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from mdbench.extensions.language_models.answers import without_thoughts
from mdbench.extensions.language_models.chat_requests import RefusedError
from mdbench.extensions.language_models.question_report import QuestionReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mdbench.records import Record

RULE: Final = "skeleton"
"""The metric that decides by rule what the judge is asked."""
_TOKENS = 16_384
"""A model that thinks takes thousands before its answer."""
_ANSWER = re.compile(
    r"^[^\w\n]{0,20}(?:(?:so|the|my|final) ){0,3}answer\b\W{0,20}(yes|no)\b(?! or\b|/)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of the form asked for; not the sentence that asks for it, which names both."""
_SYSTEM = """\
You judge equations. Given are the true equations and predicted ones, output by output. Say \
whether some choice of the numbers in the predicted equations makes them the true ones, for all \
values of the variables. The numbers themselves do not matter, nor how an equation is written. \
The predicted equations must have no term that the true ones lack, unless it can be written \
away, and lack none.
End your answer with a line that has "Answer: yes" or "Answer: no"."""


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer that the judge is asked about, with the verdict of the rule."""

    record: Record
    by_rule: bool

    @property
    def question(self) -> str:
        """The question: both sets of equations."""
        lines = []
        for title, texts in (("True", self.record.truth or ()), ("Predicted", self.equations)):
            lines.append(f"{title} equations:")
            names = self.record.targets or [f"y{n}" for n in range(len(texts))]
            lines += [f"{name} = {text}" for name, text in zip(names, texts, strict=True)]
        return "\n".join(lines)

    @property
    def equations(self) -> Sequence[str]:
        """The predicted right-hand sides."""
        return self.record.equations or ()


class Judgement(BaseModel):
    """Both verdicts on one answer.

    Attributes
    ----------
    by_rule, by_model
        Whether the answer has the skeleton of the truth; of the model None where it does not say.
    """

    model_config = ConfigDict(extra="forbid")

    key: str
    method: str
    dataset: str
    truth: tuple[str, ...]
    equations: tuple[str, ...]
    by_rule: bool
    by_model: bool | None


class JudgeReport(QuestionReport):
    """The answers of a judge: the file that the command writes."""

    judgements: list[Judgement]

    def count(self, *, by_rule: bool, by_model: bool | None) -> int:
        """Return how many answers have these two verdicts."""
        return sum((e.by_rule, e.by_model) == (by_rule, by_model) for e in self.judgements)

    @property
    def decided(self) -> int:
        """How many answers have a verdict of the model."""
        return sum(each.by_model is not None for each in self.judgements)

    @property
    def agreeing(self) -> int:
        """On how many answers both agree."""
        return sum(each.by_rule == each.by_model for each in self.judgements)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the decided answers: 0 is what chance gives; None where undefined."""
        known = [each for each in self.judgements if each.by_model is not None]
        if not known:
            return None
        rule, model = (
            Counter(getattr(each, name) for each in known) for name in ("by_rule", "by_model")
        )
        by_chance = (
            sum(rule[verdict] * model[verdict] for verdict in (True, False)) / len(known) ** 2
        )
        if by_chance == 1:
            return None
        return (self.agreeing / len(known) - by_chance) / (1 - by_chance)


def chosen_answers(records: Iterable[Record], most: int, seed: int) -> list[JudgedAnswer]:
    """Draw answers that the rule has decided: half of them with the skeleton, if there are so many.

    Of answers with the same equations to the same truth one is asked about.
    """
    answers: dict[tuple[Any, ...], JudgedAnswer] = {}
    for record in sorted(records, key=lambda one: (one.method, one.dataset, one.key)):
        verdict = record.metrics.get(RULE)
        known = record.truth and record.equations and len(record.truth) == len(record.equations)
        if known and verdict in {0.0, 1.0}:
            answers.setdefault((record.truth, record.equations), JudgedAnswer(record, verdict == 1))
    draw = random.Random(f"judge:{seed}")  # noqa: S311 - no secret
    kinds = [
        [each for each in answers.values() if each.by_rule is verdict] for verdict in (True, False)
    ]
    right, wrong = (draw.sample(each, len(each)) for each in kinds)
    share = min(len(right), max(most // 2, most - len(wrong)))
    chosen = right[:share] + wrong[: most - share]
    return draw.sample(chosen, len(chosen))


def judge(answered: JudgedAnswer, answer: Callable[[bytes], bytes], seed: int) -> Judgement:
    """Ask about one answer.

    Parameters
    ----------
    answer
        Answers a request, as `mdbench.extensions.language_models.conversation.Conversation.answer`.

    Raises
    ------
    RefusedError
        If nobody answers any more, or the budget is used up.
    """
    asked = {
        "messages": [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": answered.question},
        ],
        "temperature": 0.0,
        "max_tokens": _TOKENS,
        "seed": seed,
    }
    verdict = None
    try:
        reply = json.loads(answer(json.dumps(asked).encode()))
        verdict = verdict_of(reply["choices"][0]["message"]["content"])
    except RefusedError as refused:
        if refused.code != "no_completion":
            raise
    record = answered.record
    return Judgement(
        key=record.key,
        method=record.method,
        dataset=record.dataset,
        truth=tuple(record.truth or ()),
        equations=tuple(answered.equations),
        by_rule=answered.by_rule,
        by_model=verdict,
    )


def verdict_of(text: str) -> bool | None:
    """Return what the last line of the form asked for says; None where there is none."""
    found = _ANSWER.findall(without_thoughts(text))
    return found[-1].lower() == "yes" if found else None
