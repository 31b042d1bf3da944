"""Letters to authors: each method of somebody else has one, made from its folder and records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import author_pages
import pytest
from author_pages import letter_text, letters
from edition_results import Results
from effort import not_measured
from findings import known
from harness import ROOT
from reporting import EXAMPLE, result
from settings_page import is_of_others

if TYPE_CHECKING:
    from mdbench.records import Record


def ended(method: str, system: str, count: int, found: float) -> Record:
    return result(
        method,
        system,
        status="partial",
        scores={"identified": found},
        budget=EXAMPLE["budget"] | {"work_s": 2.0},
        measured=EXAMPLE["measured"] | {"evaluations": count, "work_s": 2.0},
    )


def text_of(name: str, records: list[Record]) -> str:
    letter = next(one for one in letters(known()) if one.method.name == name)
    results = Results(records)
    counts = {one.suite: not_measured(results, one) for one in results.shown}
    return letter_text(letter, results, counts)


def test_each_method_of_others_is_in_one_letter() -> None:
    found = letters(known())
    named = [each.name for one in found for each in (one.method, *one.variants)]
    assert sorted(named) == sorted(one.name for one in known() if is_of_others(one))
    variants = {one.method.name: [each.name for each in one.variants] for one in found}
    assert variants["weakident"] == ["weakident_ode"]
    assert variants["afp"] == ["afp_searched"]
    assert variants["afp_fe"] == ["afp_fe_searched"]  # of another paper than afp
    assert variants["sindy"] == []


def test_a_letter_has_the_settings_the_numbers_and_three_questions() -> None:
    ones = [ended("operon", f"s{n}", 500 if n else 20_000, float(n == 0)) for n in range(6)]
    text = text_of("operon", ones)
    method = next(one for one in known() if one.name == "operon")
    assert method.spec.paper in text
    shown = re.findall(r"^\| ([a-z, ]+) \| (?!functions|:--)", text, re.MULTILINE)
    kinds = [kind for line in shown for kind in line.split(", ")]
    assert sorted(kinds) == sorted(method.spec.data_types)  # each in one line
    assert "| ODEBench (6) | not measured (≥ 17%), 5 of 6 | 100% | 500 | – |" in text
    assert "earlier settings" in text  # the records are of no file that is here
    assert len(re.findall(r"^\d\. .*\?", text, re.MULTILINE)) == 3
    assert "is your package" in text
    assert "{" not in text


def test_our_own_code_says_so_and_contradicts_nobody() -> None:
    text = text_of("dsr", [])
    assert "neither confirms nor contradicts a number of yours" in text
    assert "Not measured: edition 1 has no record of it" in text


def test_every_letter_is_short_and_in_short_sentences() -> None:
    for letter in letters(known()):
        text = text_of(letter.method.name, [])
        prose = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
        assert len(prose.split()) < 400
        for sentence in re.split(r"(?<=[.?!:;])\s+", " ".join(prose.split())):
            assert len(sentence.split()) <= 45, sentence  # names of a paper's authors are one


@pytest.mark.slow
def test_the_pages_are_what_folders_and_records_give() -> None:
    stale = author_pages.stale_pages(ROOT)
    assert not stale, f"{stale}: run scripts/results"
