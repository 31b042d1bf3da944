"""Numbers in prose: each is what its records give, or on the list of what is no result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from prose import uncovered, value_of, with_numbers, wrong_numbers
from reporting import result

from mdbench.records import Record, Status

if TYPE_CHECKING:
    from pathlib import Path

ONES = [
    result("sindy", "a", scores={"identified": 1.0, "nmse": 0.5}),
    result("sindy", "b", scores={"identified": 1.0, "nmse": 0.25}, snr_db=40.0),
    result("sindy", "b", scores={"identified": 0.0, "nmse": 4.0}, snr_db=12.5),
    result("operon", "a", scores={"identified": None, "nmse": 2.0}),
]
ONES.append(ONES[-1].model_copy(update={"dataset": "c", "system": "c", "status": Status.TIMEOUT}))
ONES.append(ONES[-1].model_copy(update={"system": "d", "status": Status.INTERRUPTED}))


def find(name: str) -> list[Record]:
    return {"ode": ONES}[name]


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("ode jobs", "5"),
        ("ode systems", "3"),
        ("ode methods", "2"),
        ("ode snr=clean jobs", "3"),
        ("ode snr=40 identified", "1"),
        ("ode snr=12.5 identified", "0"),
        ("ode method=sindy identified", "2"),
        ("ode method=sindy,operon share:identified", "40 %"),
        ("ode method=sindy median:nmse:.2f", "0.50"),
        ("ode max:nmse:.1f", "4.0"),
        ("ode method=operon status=ok mean:nmse", "2"),
        ("ode status=timeout jobs", "1"),
    ],
)
def test_a_question_has_the_answer_of_the_records(query: str, value: str) -> None:
    assert value_of(query, find) == value


def test_a_papers_numbers_are_those_of_its_tables() -> None:
    # As printed: MDBench's Tables A5 and A6, SurfaceBench's Table 1, SRSD's Table 3.
    assert value_of("paper ode pysr", find) == "14"
    assert value_of("paper ode sindy", find) == "10"
    assert value_of("paper ode max", find) == "14"
    assert value_of("paper pde max", find) == "6"
    assert [
        value_of(f"paper surface {name} max skeleton", find)
        for name in ("explicit", "implicit", "parametric")
    ] == ["0.50", "0.13", "0.10"]
    for query in ("paper ode none", "paper surface explicit pysr nothing"):
        with pytest.raises(ValueError, match="have no"):
            value_of(query, find)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("ode method=none jobs", "no record fits"),
        ("ode colour=red jobs", "no condition"),
        ("ode method jobs", "no condition"),
        ("ode identifed", "no statistic, and no metric"),
        ("ode max:nmsee", "no record has"),
    ],
)
def test_what_is_no_question_is_said(query: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        value_of(query, find)
    page = tmp_path / "page.md"
    page.write_text(f"It is <!-- = {query} -->1<!-- / -->.\n", encoding="utf-8")
    assert says in " ".join(wrong_numbers(page, find))
    text = page.read_text(encoding="utf-8")
    assert with_numbers(text, find) == text


PAGE = """# Title

`sindy` identifies <!-- = ode method=sindy identified -->2<!-- / -->
of <!-- = ode method=sindy jobs -->3<!-- / --> at 40 dB, in 2D, `snr=20` ([there](page.md#at-20)).

<!-- found -->
| sindy | 17 |
<!-- end -->

    mdbench run --seeds 0-2

On 63 systems.
"""
LIST = """
everywhere = ['\\d+ dB', '\\b[1-3]D\\b']
[pages]
page = ["63 systems"]
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.md"
    file.write_text(PAGE, encoding="utf-8")
    (tmp_path / "not-results.toml").write_text(LIST, encoding="utf-8")
    return file


def test_a_page_whose_numbers_are_the_records_has_no_difference(page: Path) -> None:
    assert list(wrong_numbers(page, find)) == []
    assert with_numbers(PAGE, find) == PAGE


@pytest.mark.parametrize("number", list(re.finditer(r"-->(\d+)<!-- / -->", PAGE)))
def test_every_number_that_is_changed_is_found(number: re.Match[str], page: Path) -> None:
    start, end = number.span(1)
    for other in (str(int(number[1]) + 1), "7", ""):
        text = PAGE[:start] + other + PAGE[end:]
        page.write_text(text, encoding="utf-8")
        (line,) = wrong_numbers(page, find)
        assert f"is {number[1]}, and the page has {other}" in line
        assert with_numbers(text, find) == PAGE


@pytest.mark.parametrize(
    "more", ["It finds 12.", "Of 1,440 jobs", "a share of .5", "| 3 |", "**9**", "63 methods"]
)
def test_a_number_without_records_is_found(more: str, page: Path) -> None:
    page.write_text(f"{PAGE}\n{more}\n", encoding="utf-8")
    (line,) = wrong_numbers(page, find)
    assert line.endswith(f"a number that no record gives: {more}")


def test_a_marker_that_would_end_its_paragraph_is_found(page: Path) -> None:
    page.write_text(PAGE.replace("identifies <!-- =", "identifies\n<!-- ="), encoding="utf-8")
    (line,) = wrong_numbers(page, find)
    assert "identified --> begins a line" in line


def test_what_the_list_has_and_the_page_has_not_is_found(page: Path) -> None:
    page.write_text(PAGE.replace("63 systems", "all systems"), encoding="utf-8")
    (line,) = wrong_numbers(page, find)
    assert "has '63 systems', and the page has not" in line


def test_lines_are_counted_as_the_page_has_them() -> None:
    text = "<!-- found -->\n| 1 |\n<!-- end -->\n```\n5\n```\nHere are 6.\n"
    assert list(uncovered(text, ())) == [(7, "Here are 6.")]
