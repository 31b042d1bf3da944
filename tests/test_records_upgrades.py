from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdbench.errors import RecordsError
from mdbench.records import SCHEMA, Record, upgrade
from mdbench.records.upgrades import UPGRADES


def rename_colour(data: dict[str, Any]) -> dict[str, Any]:
    return {("colour" if name == "color" else name): value for name, value in data.items()}


def colour_in_lower_case(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "colour": data["colour"].lower()}


STEPS = {1: rename_colour, 2: colour_in_lower_case}


GOLDEN = Path(__file__).parent / "golden" / "records"


def test_records_of_every_older_schema_are_read() -> None:
    for number in range(1, SCHEMA):
        lines = (GOLDEN / f"schema-{number}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines:
            record = Record.model_validate(upgrade(json.loads(line)))
            assert record.schema_number == SCHEMA
            assert (record.budget.memory_mb is None) == (number == 1)


def test_there_is_a_step_from_every_older_schema() -> None:
    assert set(UPGRADES) == set(range(1, SCHEMA))


@pytest.mark.parametrize(
    "data",
    [
        {"schema": 1, "color": "RED"},
        {"schema": 2, "colour": "RED"},
        {"schema": 3, "colour": "red"},
    ],
)
def test_each_schema_is_brought_up_step_by_step(data: dict[str, Any]) -> None:
    before = dict(data)
    assert upgrade(data, steps=STEPS, current=3) == {"schema": 3, "colour": "red"}
    assert data == before


def test_a_newer_schema_says_what_was_found_and_what_is_known() -> None:
    with pytest.raises(RecordsError) as caught:
        upgrade({"schema": 4, "mdbench": "9.9"}, steps=STEPS, current=3)
    assert "schema 4 (mdbench 9.9)" in caught.value.message
    assert "up to 3" in caught.value.message
    assert "Update mdbench" in caught.value.hint


@pytest.mark.parametrize("number", [None, "1", 0, -1, True, 1.0])
def test_a_schema_number_that_is_none_is_refused(number: object) -> None:
    with pytest.raises(RecordsError, match="no record of mdbench"):
        upgrade({"schema": number}, steps=STEPS, current=3)
    with pytest.raises(RecordsError, match="schema number is None"):
        upgrade({})
