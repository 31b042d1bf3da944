"""The loops that ask a language model, by the mock model that they ask, next to their controls."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from findings import to_table

from mdbench.drawing.numbers import scientific
from mdbench.records import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.records import Record

MODELS: Final = {
    "": "control",
    "mock-knows-nothing": "knows nothing",
    "mock-knows-the-law": "knows the law",
    "mock-small": "as small models answer",
}
"""What each column is called, by the name of the model."""
CONTROL: Final = "_nollm"
_SUITES: Final = {"ode": "ODEBench", "srsd": "SRSD", "surface": "SurfaceBench"}


def _model_of(one: Record) -> str:
    """Return the name of the model of a record; empty for a control, which asks none."""
    return "" if one.llm is None else one.llm.model or ""


def mock_table(records: Sequence[Record]) -> str:
    """Write how many laws each method identifies with each model, and the median of its NMSE."""
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for one in records:
        loop = one.algorithm.removesuffix(CONTROL)
        groups[one.data_type, loop][_model_of(one)].append(one)
    head = ["suite", "method", *MODELS.values()]
    lines = [
        [_SUITES[kind], f"`{loop}`", *(_cell(found[model]) for model in MODELS)]
        for (kind, loop), found in sorted(groups.items())
    ]
    return to_table(head, lines)


def _cell(ones: Sequence[Record]) -> str:
    """Write a cell: identified of all, and the median NMSE, in which no answer is the largest."""
    if not ones:
        return ""
    right = sum(one.metrics.get("identified") == 1 for one in ones)
    errors = [
        float(value)
        if one.status in {Status.OK, Status.PARTIAL}
        and isinstance(value := one.metrics.get("nmse"), int | float)
        else float("inf")
        for one in ones
    ]
    middle = median(errors)
    shown = "no answer" if middle == float("inf") else scientific(middle)
    return f"{right} of {len(ones)}, {shown}"


def mock_faults(records: Sequence[Record]) -> str:
    """Write how many completions each model was asked for, and how the jobs ended."""
    head = ["model", "jobs", "completions", "ok or partial", "failed"]
    lines = []
    for model, title in MODELS.items():
        own = [one for one in records if _model_of(one) == model]
        calls = sum(one.llm.calls or 0 for one in own if one.llm is not None)
        answered = sum(one.status in {Status.OK, Status.PARTIAL} for one in own)
        failed = len(own) - answered
        lines.append([title, str(len(own)), str(calls), str(answered), str(failed)])
    return to_table(head, lines)


def mock_tokens(records: Sequence[Record]) -> str:
    """Write what a job of each loop asks of the mock that knows nothing: means over the jobs.

    A mock counts tokens of texts as a server does; what a model thinks before it answers is not in
    them.
    """
    groups: dict[tuple[str, str], list[tuple[int, ...]]] = defaultdict(list)
    for one in records:
        if (use := one.llm) is not None and use.model == "mock-knows-nothing":
            used = use.calls or 0, use.prompt_tokens or 0, use.completion_tokens or 0
            groups[one.data_type, one.algorithm].append(used)
    head = ["suite", "method", "jobs", "completions", "tokens of prompts", "of completions"]
    lines = []
    for (kind, method), uses in sorted(groups.items()):
        means = [f"{fmean(column):,.0f}" for column in zip(*uses, strict=True)]
        lines.append([_SUITES[kind], f"`{method}`", str(len(uses)), *means])
    return to_table(head, lines, texts=(0, 1))


def mock_finding(records: Sequence[Record]) -> str:
    """Say which loops find laws that the model knows, and whether others beat their controls."""
    right: dict[tuple[str, str], int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for one in records:
        key = one.algorithm.removesuffix(CONTROL), _model_of(one)
        right[key] += one.metrics.get("identified") == 1
        total[key[0]] += key[1] == "mock-knows-the-law"
    by_count: dict[str, list[str]] = defaultdict(list)
    for loop, number in total.items():
        by_count[f"{right[loop, 'mock-knows-the-law']} of {number}"].append(f"`{loop}`")
    parts = [f"{', '.join(sorted(loops))} identify {count}" for count, loops in by_count.items()]
    others = [model for model in MODELS if model not in {"", "mock-knows-the-law"}]
    better = sorted(
        {loop for loop in total for model in others if right[loop, model] > right[loop, ""]}
    )
    rest = (
        f"With the other two {', '.join(f'`{loop}`' for loop in better)} identify more than their "
        "controls."
        if better
        else "With the other two no loop identifies more than its control."
    )
    return f"**With a model that knows the law, {'; '.join(parts)}. {rest}**"
