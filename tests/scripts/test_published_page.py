"""Numbers of papers stand next to what records of the same method, data and metric have."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import published_page
import pytest
from harness import ROOT
from reporting import result

from mdbench import datatypes
from mdbench.records import Status
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.records import Record

NUMBER = {"method": "a", "data_type": "ode", "data": "odebench", "metric": "identified"}


def test_every_number_is_whole() -> None:
    seen = set()
    for number in published_page.numbers():
        assert float(number["value"]) == pytest.approx(float(number["value"]))
        assert number["source"]
        assert number["paper"]
        key = tuple(number[name] for name in ("paper", "method", "data", "metric"))
        assert key not in seen, key
        seen.add(key)
        # What can be compared names data of this benchmark; else the file says why it cannot.
        if not number["differs"]:
            assert number["data_type"] in datatypes.names()
            assert published_page.datasets_of(number, Workspace.find()), key
    assert len(seen) > 50


@pytest.mark.parametrize(
    ("metric", "records", "shown"),
    [
        ("identified", [result("a", "x", scores={"identified": 1.0})], "1 (1 jobs)"),
        (
            "identified",  # what failed counts as 0
            [
                result("a", "x", scores={"identified": 1.0}),
                result("a", "y", status=Status.FAILED.value),
            ],
            "0.5 (2 jobs)",
        ),
        ("identified", [result("a", "x", status=Status.TIMEOUT.value)], "no answer (1 jobs)"),
        ("identified", [result("b", "x"), result("a", "z"), result("a", "x", snr_db=20.0)], ""),
        ("identified", [result("a", "x", protocol="published")], ""),
        ("skeletons", [result("a", "x")], ""),
        (
            "r2",  # one fold of three without sense does not decide
            [result("a", "x", seed=n, scores={"fvu": x}) for n, x in enumerate((0.1, 0.2, 1e9))],
            "0.8 (3 jobs)",
        ),
    ],
)
def test_only_what_is_alike_stands_next_to_a_number(
    metric: str, records: list[Record], shown: str
) -> None:
    assert published_page.here(NUMBER | {"metric": metric}, records, {"x", "y"}) == shown


def short(system: str, *, found: float = 0.0, count: int = 500) -> Record:
    """Return a record of a job that its limit of work ended after so many evaluations."""
    one = result("a", system, status=Status.PARTIAL.value, scores={"identified": found})
    budget = one.budget.model_copy(update={"work_s": 2.0})
    measured = one.measured.model_copy(update={"evaluations": count, "work_s": 2.0})
    return one.model_copy(update={"budget": budget, "measured": measured})


def test_a_share_of_mostly_unmeasured_jobs_is_none() -> None:
    ones = [short("x"), short("y"), short("y", count=20_000)]
    text = published_page.here(NUMBER, ones, {"x", "y"})
    assert text == "not measured (2 of 3 jobs)"
    ones.append(short("x", found=1.0))
    assert published_page.here(NUMBER, ones, {"x", "y"}) == "0.25 (4 jobs)"


def test_own_code_and_other_settings_neither_confirm_nor_contradict_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = {"paper": "p", "source": "s", "value": "0.5", "differs": "", "cases": ""}
    names = {"afp": "our own code", "theirs": "not the author’s", "whole": "", "nobody": ""}
    specs = [
        ("afp", "own", "author"),
        ("theirs", "package", "upstream"),
        ("whole", "package", "author"),
    ]
    known = [
        SimpleNamespace(spec=SimpleNamespace(name=name, implementation=code, settings=whose))
        for name, code, whose in specs
    ]
    monkeypatch.setattr(published_page, "known", lambda: known)
    numbers = [NUMBER | row | {"method": name} for name in names]
    monkeypatch.setattr(published_page, "numbers", lambda: iter(numbers))
    monkeypatch.setattr(published_page, "read_bundle", lambda *_: [])
    lines = published_page.table().splitlines()[2:]
    for line, (name, differs) in zip(lines, names.items(), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == f"`{name}`" + " §" * (name == "afp")
        assert differs in cells[5]
        assert (cells[5] == "–") == (differs == "")
    assert "neither confirms nor contradicts" in lines[0]


def test_no_page_says_that_a_paper_is_contradicted() -> None:
    # Nothing here is the authors' code with the authors' settings and budget, on their data.
    for page in (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        for sentence in re.findall(r"[^.|]*\bcontradicted\b[^.|]*", text):
            assert re.search(r"\b(not|neither|nor|no)\b[^.|]*contradicted", sentence), page.name


def test_the_table_has_a_row_for_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_page, "read_bundle", lambda *_: [])
    text = published_page.filled("# A\n\n<!-- numbers -->\n\n<!-- end -->\nThe end.\n")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == len(list(published_page.numbers()))
    assert text.endswith("<!-- end -->\nThe end.\n")
