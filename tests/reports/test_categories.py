"""Systems by category: each in the smallest of its groups, with a comparison of its own."""

from __future__ import annotations

import re

from reporting import boards, data

from mdbench.records import Record
from mdbench.reports.classes import Category, by_category, heading
from mdbench.reports.html import page

GROUPS = {
    "all": ["a", "b", "c", "d"],
    "hard-ones": ["c", "d"],
    "easy-ones": ["a"],
}


def results(*records: dict[str, object]) -> list[Record]:
    return [Record.model_validate(one) for one in records]


def test_a_dataset_belongs_to_the_smallest_group_that_it_is_in() -> None:
    ones = results(*(data("sindy", name) for name in ("d", "a+noise=0.1", "b", "c")))
    found = by_category(ones, GROUPS)
    told = {name: [one.dataset for one in each] for name, each in found.items()}
    assert told == {"all": ["b"], "hard-ones": ["d", "c"], "easy-ones": ["a+noise=0.1"]}
    assert list(found) == list(GROUPS)


def test_there_are_none_where_all_are_one_or_one_is_nobodys() -> None:
    ones = results(data("sindy", "c"), data("sindy", "d"))
    assert by_category(ones, GROUPS) == by_category(ones, {}) == {}
    own = results(data("sindy", "a"), data("sindy", "c"), data("sindy", "mine"))
    assert by_category(own, GROUPS) == {}


def test_the_page_has_a_table_and_the_systems_of_each_category() -> None:
    records = [
        data(method, name, scores={"nmse": 10.0 ** -(ord(name) - 90 + place)}, verdict=verdict)
        for place, (method, verdict) in enumerate([("sindy", "identified"), ("operon", "")])
        for name in "abcd"
    ]
    ones = results(*records)
    parts = by_category(ones, GROUPS)
    categories = [
        Category(
            name,
            frozenset(one.dataset for one in part),
            tuple(
                boards(
                    [one for one in records if one["dataset"] in {each.dataset for each in part}]
                ).values()
            ),
        )
        for name, part in parts.items()
    ]
    text = page(ones, boards(records), categories={"ode": categories})
    hard, easy = text.index("Hard ones <small>2 systems"), text.index("Easy ones <small>1 system<")
    assert hard < easy
    order = [match.start() for match in re.finditer('<details class="system"', text)]
    assert [(hard < each) + (easy < each) for each in order] == [0, 1, 1, 2]  # b, c, d and a
    table = re.sub(r"<[^>]+>", " ", text[hard:easy].partition("</table>")[0])
    assert re.search(r"sindy\s+5\.5e-10\s+2/2", table)
    # Data of one's own are of no category.
    own = [data("sindy", "mine", dataset_path="mine.csv"), data("sindy", "a", dataset_path="a.csv")]
    text = page(results(*records, *own), boards([*records, *own]), categories={"ode": categories})
    opened = re.findall('<details class="system" open id="([^"]*)"', text)
    assert opened == ["ode/own/a", "ode/own/mine"]  # above the categories, open
    assert text.index(opened[-1]) < text.index("Hard ones")
    plain = page(ones, boards(records))
    assert "of-category" not in plain.partition("<main")[2]
    assert plain.count('<details class="system"') == 4


def test_a_heading_is_no_name_of_a_group() -> None:
    assert heading("radially-decaying-surfaces") == "Radially decaying surfaces"
    assert heading("easy") == "Easy"
