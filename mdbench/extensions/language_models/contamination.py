"""Probes of what a language model knows of a law before it has seen data, scored by our scorer.

Five ways of asking about one problem, each with several completions of one question:

``closed``
    Names, units and what the problem is about; no data.  A law that is answered so is known.
``anon``, ``named``
    Some rows of the data, without and with the names: what the names add is the gap.
``swapped``
    The names of one problem, the rows of another.  Whoever answers the law of the names recalls;
    whoever answers that of the rows reads.
``rescaled``
    Names without meaning, and rows in units that were drawn, so that other constants hold.

An answer is right if some choice of its constants makes it the law
(`eqverdict.fidelity.skeleton`), and exact if its own constants do, to 5 %
(`eqverdict.fidelity.compare`).
No data type and no metric is named here: whatever has variables, targets and a true law can be
asked about.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pydantic import BaseModel, ConfigDict

from eqverdict import parse
from eqverdict.fidelity.limited import same_skeleton, score_terms
from mdbench.errors import EquationError
from mdbench.extensions.language_models.answers import without_thoughts
from mdbench.extensions.language_models.chat_requests import RefusedError
from mdbench.extensions.language_models.question_report import QuestionReport
from mdbench.extensions.language_models.views import prompt_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mdbench.datatypes.base import Background, Task
    from mdbench.extensions.language_models.views import PromptView

PROBES: Final = ("closed", "anon", "named", "swapped", "rescaled")
"""The probes, in the order in which they are asked."""
_ROWS = 20
_SCALES = (0.1, 10.0)
_TOKENS = 1024
_TEMPERATURE = 0.8
_FENCED = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
_SYSTEM = (
    "You find laws. Answer with one line for each output, as: name = expression. Use + - * / ** "
    "( ), numbers, the inputs, and sin cos tan exp log sqrt abs tanh asin acos atan sinh cosh; "
    "write a number where you do not know a constant. After the lines write nothing."
)


@dataclass(frozen=True)
class ProbeTarget:
    """A problem that is asked about."""

    name: str
    task: Task[Any] = field(repr=False)
    background: Background = field(repr=False)


class ProbeResult(BaseModel):
    """The results of the questions about one problem: how many completions were right.

    Attributes
    ----------
    samples
        Completions of each question.
    right
        By the name of the probe; of ``swapped`` those that answer the law of the rows.
    recalled
        Those of ``swapped`` that answer the law of the names.
    exact
        By the name of the probe, those that are the law with their own constants, to 5 %.
    answered
        By the name of the probe, those that could be read.
    other
        The problem whose rows were shown in ``swapped``; None where there was none of its size.
    """

    model_config = ConfigDict(extra="forbid")

    dataset: str
    samples: int
    right: dict[str, int]
    recalled: int | None = None
    exact: dict[str, int]
    answered: dict[str, int]
    other: str | None = None


class ProbeReport(QuestionReport):
    """The questions to a model and their results: the file that the command writes."""

    data_type: str
    protocol: str
    problems: list[ProbeResult]

    def share(self, name: str) -> float | None:
        """Return the share of right completions of a probe; None if none was asked."""
        asked = [each for each in self.problems if name in each.right]
        if not asked:
            return None
        return sum(each.right[name] for each in asked) / sum(each.samples for each in asked)

    @property
    def recalled(self) -> float | None:
        """The share of completions that answer the law of the names to the rows of another."""
        asked = [each for each in self.problems if each.recalled is not None]
        if not asked:
            return None
        return sum(each.recalled or 0 for each in asked) / sum(each.samples for each in asked)

    @property
    def known(self) -> list[str]:
        """The problems of which a law was answered without data."""
        return [each.dataset for each in self.problems if each.right.get("closed")]


@dataclass(frozen=True)
class _Question:
    """A question, and how an answer to it is read into the task's own names."""

    text: str
    view: PromptView
    read: Callable[[str, int], str]


def closest(subject: ProbeTarget, others: Sequence[ProbeTarget]) -> ProbeTarget | None:
    """Choose the next problem, around the circle, with as many inputs and outputs."""
    names = [other.name for other in others]
    place = names.index(subject.name) + 1 if subject.name in names else 0
    size = len(subject.task.variables), len(subject.task.targets)
    for other in [*others[place:], *others[:place]]:
        same = len(other.task.variables), len(other.task.targets)
        if same == size and other.name != subject.name and other.task.dataset.truth is not None:
            return other
    return None


def probe(
    subject: ProbeTarget,
    other: ProbeTarget | None,
    answer: Callable[[bytes], bytes],
    *,
    samples: int,
    seed: int,
) -> ProbeResult:
    """Ask about one problem in all ways.

    Parameters
    ----------
    other
        The problem whose rows are shown with this one's names.
    answer
        Answers a request, as `mdbench.extensions.language_models.conversation.Conversation.answer`.
    samples
        Completions of each question.
    """
    right, exact, answered = {}, {}, {}
    recalled = None
    for name, question in _questions(subject, other, seed):
        texts = list(_replies(answer, question.text, samples, seed))
        read = [found for text in texts if (found := _equations(text, question)) is not None]
        answered[name] = len(read)
        if name == "swapped" and other is not None:
            recalled = sum(_is_law(each, subject.task) for each in read)
            read = [_renamed(each, subject, other) for each in read]
        asked = other.task if name == "swapped" and other is not None else subject.task
        right[name] = sum(_is_law(each, asked) for each in read)
        exact[name] = sum(_is_exact(each, asked) for each in read)
    return ProbeResult(
        dataset=subject.name,
        samples=samples,
        right=right,
        recalled=recalled,
        exact=exact,
        answered=answered,
        other=None if other is None else other.name,
    )


def _questions(
    subject: ProbeTarget, other: ProbeTarget | None, seed: int
) -> Iterator[tuple[str, _Question]]:
    task, background = subject.task, subject.background
    anon = prompt_view("anon", task, background, seed)
    named = prompt_view("named", task, background, seed)
    yield "closed", _Question(_told(named), named, lambda text, _: named.equation(text))
    for name, view in (("anon", anon), ("named", named)):
        rows = _rows(view, task, seed)
        yield name, _Question(f"{_told(view)}\n{rows}", view, _reading(view))
    if other is not None:
        rows = _rows(named, other.task, seed)
        yield "swapped", _Question(f"{_told(named)}\n{rows}", named, _reading(named))
    scales = _scales(task, seed)
    rows = _rows(anon, task, seed, scales)
    yield "rescaled", _Question(f"{_told(anon)}\n{rows}", anon, _rescaled(anon, task, scales))


def _told(view: PromptView) -> str:
    if view.description is not None:
        return view.description
    return f"Inputs: {', '.join(view.variables)}\nOutputs: {', '.join(view.targets)}"


def _rows(
    view: PromptView,
    task: Task[Any],
    seed: int,
    scales: tuple[list[float], list[float]] | None = None,
) -> str:
    part = view.reordered(task.refit)
    x, y = part.inputs["X"], part.targets
    picked = sorted(np.random.default_rng([seed, *b"probe rows"]).permutation(len(x))[:_ROWS])
    inputs, outputs = scales or ([1.0] * x.shape[1], [1.0] * y.shape[1])
    factors = [inputs[column] for column in view.order]
    lines = [f"Data, as ({', '.join((*view.variables, *view.targets))}):"]
    for row in picked:
        numbers = [*(x[row] * factors), *(y[row] * outputs)]
        lines.append(f"({', '.join(f'{number:.6g}' for number in numbers)})")
    return "\n".join(lines)


def _scales(task: Task[Any], seed: int) -> tuple[list[float], list[float]]:
    """Draw a unit for each input, and for each output, by its logarithm."""
    low, high = np.log(_SCALES)
    draw = np.random.default_rng([seed, *b"probe scales"])
    found = np.exp(draw.uniform(low, high, len(task.variables) + len(task.targets)))
    exact = [float(f"{value:.3g}") for value in found]
    return exact[: len(task.variables)], exact[len(task.variables) :]


def _reading(view: PromptView) -> Callable[[str, int], str]:
    return lambda text, _: view.equation(text)


def _rescaled(
    view: PromptView, task: Task[Any], scales: tuple[list[float], list[float]]
) -> Callable[[str, int], str]:
    """Read an answer in drawn units as one in the task's own."""
    inputs, outputs = scales
    units = dict(zip(task.variables, inputs, strict=True))
    words = re.compile(rf"(?<![A-Za-z0-9_.])({'|'.join(map(re.escape, units))})\b")

    def read(text: str, target: int) -> str:
        own = words.sub(lambda word: f"({units[word[0]]!r}*{word[0]})", view.equation(text))
        return f"({own})/{outputs[target]!r}"

    return read


def _renamed(equations: Sequence[str], subject: ProbeTarget, other: ProbeTarget) -> list[str]:
    """Return equations in the names of another problem of the same size."""
    names = dict(zip(subject.task.variables, other.task.variables, strict=True))
    words = re.compile(rf"(?<![A-Za-z0-9_.])({'|'.join(map(re.escape, names))})\b")
    return [words.sub(lambda word: names[word[0]], text) for text in equations]


def _replies(answer: Callable[[bytes], bytes], text: str, samples: int, seed: int) -> Iterator[str]:
    asked = {
        "messages": [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": text},
        ],
        "n": samples,
        "temperature": _TEMPERATURE,
        "max_tokens": _TOKENS,
        "seed": seed,
    }
    try:
        reply = json.loads(answer(json.dumps(asked).encode()))
    except RefusedError as refused:
        if refused.code != "no_completion":
            raise
        return  # none of them could be had, which is counted
    for choice in reply["choices"]:
        yield choice["message"]["content"]


def _equations(text: str, question: _Question) -> list[str] | None:
    """Read the equations of a reply, one a target, in the task's own names; None without."""
    text = without_thoughts(text)
    view = question.view
    written = []
    for target in view.targets:
        lines = re.findall(rf"^[ \t*`$]*{re.escape(target)}\s*=\s*([^=\n`$]+)", text, re.MULTILINE)
        if not lines:
            break
        written.append(lines[-1])
    if len(written) < len(view.targets):
        fenced = _FENCED.findall(text)
        written = fenced[-1].strip().splitlines() if fenced else []
        if len(written) != len(view.targets):
            return None
    own = [question.read(each.strip(), number) for number, each in enumerate(written)]
    names = set(view.own.values())
    try:
        for each in own:
            parse(each, names)
    except EquationError:
        return None
    return own


def _is_law(equations: Sequence[str], task: Task[Any]) -> bool:
    """Return whether some choice of its constants makes each equation the true one."""
    truth = task.dataset.truth
    if truth is None:
        return False
    ranges = tuple((name, *ends) for name, ends in _domain(task).items())
    try:
        return all(
            same_skeleton(true, each, task.variables, task.variables, ranges)
            for true, each in zip(truth, equations, strict=True)
        )
    except EquationError:
        return False


def _is_exact(equations: Sequence[str], task: Task[Any]) -> bool:
    """Return whether equations are the true ones, with constants that are right to 5 %."""
    truth = task.dataset.truth
    if truth is None:
        return False
    try:
        comparison = score_terms(truth, equations, task.variables, domain=_domain(task))
    except EquationError:
        return False
    return bool(comparison.identified)


def _domain(task: Task[Any]) -> dict[str, tuple[float, float]]:
    columns = task.refit.columns
    return {
        name: (float(np.min(columns[name])), float(np.max(columns[name])))
        for name in task.variables
        if name in columns
    }
