"""The sentences at the head of a report, held against records that were made up."""

from __future__ import annotations

from typing import Any

import pytest
from report_pages import html
from reporting import DROPPED, boards, data

from mdbench.records import Record
from mdbench.reports.findings import findings


def say(records: list[dict[str, Any]]) -> str:
    (board,) = boards(records).values()
    return findings(board, [Record.model_validate(record) for record in records])


def jobs(method: str, right: int, of: int, **more: Any) -> list[dict[str, Any]]:
    verdicts = ["identified"] * right + [""] * (of - right)
    return [data(method, f"s{n:02}", verdict=v, **more) for n, v in enumerate(verdicts)]


def test_who_identified_most_and_that_it_is_more_than_chance() -> None:
    text = say([*jobs("sindy", 12, 20), *jobs("operon", 2, 20)])
    assert text.startswith("2 methods were run on 20 systems of ode (clean), with 1 seed (limit")
    assert "sindy identified most: the true equations in 12 of 20 jobs (60\xa0%; of 20" in text
    assert "Next is operon with 10\xa0%; sindy is ahead on 10 systems and behind on 0, " in text
    assert "which is more than chance (sign test, p = 0.0020)" in text
    assert text.endswith("All 40 jobs gave an answer.")


def test_a_lead_that_may_be_chance_is_called_so() -> None:
    text = say([*jobs("sindy", 3, 6), *jobs("operon", 2, 6)])
    assert "ahead on 1 system and behind on 0, which may be chance (sign test, p = 1.0)" in text


def test_equals_are_named_together_and_nobody_is_next() -> None:
    text = say([*jobs("sindy", 3, 6), *jobs("operon", 3, 6)])
    assert "operon and sindy identified most" in text
    assert "Next is" not in text


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (["sindy"], "sindy has identified the true equations of none of them."),
        (["sindy", "operon"], "No method has identified the true equations of any of them."),
    ],
)
def test_nothing_that_was_identified_is_said(methods: list[str], words: str) -> None:
    assert words in say([one for name in methods for one in jobs(name, 0, 4)])


def test_what_failed_is_counted_with_the_most_frequent_reason() -> None:
    late: dict[str, Any] = {"status": "timeout", "reason": "60 s are over"}
    failed = [data("operon", f"s{n:02}", **late) for n in range(3)]
    failed += [data("operon", "s03", status="out_of_memory", reason="2 GB are full")]
    text = say([*jobs("sindy", 1, 4), *failed])
    assert text.endswith(
        "4 of 8 jobs gave no answer (3 timeout, 1 out of memory), most often operon, 3 times: "
        "60 s are over."
    )


def test_answers_to_own_data_are_not_called_right() -> None:
    scores = {"identified": DROPPED, "one_term_off": DROPPED, "nmse": 15.0}
    text = say([data("sindy", scores=scores, dataset_path="mine.csv", truth=None)])
    assert "The true equations are not known, so no answer is called right" in text
    assert "The NMSE is 15, of sindy. 1 answer of 1: worse than no equation." in text
    assert text.endswith("Its job gave an answer.")


def test_few_systems_are_open_above_the_board_and_many_below_it() -> None:
    few, many = html([data("sindy", f"s{n}") for n in range(3)]), html(jobs("sindy", 1, 4))
    first = '<details class="system" open'
    assert few.count(first) == 3
    assert few.index("finding") < few.index(first) < few.index('<table class="board')
    assert few.index("</table>") < few.index("How it was run</h2>")
    assert many.count(first) == 0
    assert many.index('<table class="board') < many.index('<details class="system"')


def test_nothing_is_drawn_that_compares_nothing() -> None:
    text = html([data("sindy", "s")])
    assert "<h3>Figures</h3>" not in text
    assert "<h3>Methods and systems</h3>" not in text
    text = html([*jobs("sindy", 1, 4), *jobs("operon", 2, 4)])
    assert "NMSE against nodes" in text
    assert "<h3>Methods and systems</h3>" in text
