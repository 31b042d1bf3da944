from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mdbench.datatypes import classes
from mdbench.records import (
    ANSWERED,
    RERUN_ALWAYS,
    SCHEMA,
    Measured,
    Record,
    Status,
    comparable,
    key_of,
)
from mdbench.records.schema import LARGEST

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "schema-1.jsonl"
DOCUMENT = Path(__file__).parents[2] / "docs" / "records.md"
EXAMPLE = json.loads(GOLDEN.read_text(encoding="utf-8").splitlines()[0])


def record(**changes: Any) -> Record:
    return Record.model_validate({**EXAMPLE, **changes})


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_the_golden_lines_are_read_and_written_byte_for_byte() -> None:
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        assert Record.model_validate_json(line).to_line() == line


def test_a_record_older_than_the_kernel_is_read() -> None:
    kernel = {"blas_kernel", "blas_threads"}
    older = {name: value for name, value in EXAMPLE["measured"].items() if name not in kernel}
    assert len(older) == len(EXAMPLE["measured"]) - 2
    assert record(measured=older).measured.blas_kernel is None


def test_a_line_begins_with_its_schema_and_ends_with_what_was_measured() -> None:
    names = list(json.loads(record().to_line()))
    assert names[:2] == ["schema", "mdbench"]
    order = [names.index(name) for name in ("dataset", "status", "equations", "provenance")]
    assert order == sorted(order)
    assert names[-1] == "measured"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)


@given(
    hyperparameters=st.dictionaries(st.text(), json_values, max_size=3),
    metrics=st.dictionaries(st.text(), st.floats() | st.text() | st.none(), max_size=3),
    floor=st.floats(),
    notes=st.dictionaries(st.text(), st.lists(st.text(alphabet=st.characters())), max_size=2),
    reason=st.text(alphabet=st.characters()),
    dataset=st.text(alphabet=st.characters(codec=None)),
)
def test_every_record_is_one_line_of_strict_json_and_comes_back_equal(**changes: Any) -> None:
    made = record(**changes)
    line = made.to_line()
    assert "\n" not in line
    json.loads(line.encode(), parse_constant=refuse_constant)
    assert Record.model_validate_json(line) == made


def test_numbers_that_json_cannot_hold_become_null() -> None:
    made = record(
        metrics={"nmse": float("nan"), "r2": -float("inf"), "mae": np.float64(0.5), "end": "late"},
        hyperparameters={"a": [float("inf"), {"b": float("nan")}], "c": 1.0},
    )
    assert made.metrics == {"nmse": None, "r2": -LARGEST, "mae": 0.5, "end": "late"}
    assert type(made.metrics["mae"]) is float
    assert made.hyperparameters == {"a": [None, {"b": None}], "c": 1.0}


def test_text_that_is_no_unicode_can_be_recorded() -> None:
    made = record(
        dataset_path="caf\udce9.npz", hyperparameters={"\ud800": ["\udfff"]}, reason="bad \ud800"
    )
    again = Record.model_validate_json(made.to_line())
    assert again.dataset_path == "caf?.npz"
    assert again.hyperparameters == {"?": ["?"]}
    assert again.reason == "bad ?"


def test_a_reason_is_one_line_of_bounded_length() -> None:
    assert record(reason="  a\n b\t\r\n c\u2028d ").reason == "a b c d"
    long = record(reason="x" * 1_000_000).reason
    assert len(long) == 500
    assert long.endswith("x…")
    assert record(reason="y" * 500).reason == "y" * 500


LIMITED = {"budget": {"timeout_s": 80.0, "work_s": 2.0, "threads": 1}}


@pytest.mark.parametrize(
    ("status", "evaluations", "work_s", "identified", "expected"),
    [
        ("timeout", None, 2.0, None, True),  # nothing by then
        ("timeout", 50_000, 2.0, None, True),  # a batch so large that none ended
        ("partial", 9_999, 2.0, 0.0, True),
        ("partial", 10_000, 2.0, 0.0, False),
        ("partial", 0, 2.0, None, True),  # and the scorer could not decide
        ("partial", 9_999, 2.0, 1.0, False),  # the right answer is a result
        ("partial", 500, 1.0, 0.0, True),  # it saw that no other batch fits
        ("partial", 500, 0.99, 0.0, False),  # who gives up at once is measured
        ("partial", None, 2.0, 0.0, False),  # nobody counts
        ("ok", 50, 0.1, 0.0, False),  # it ended by itself, as sindy does
        ("ok", 50, 2.0, 0.0, False),
        ("failed", None, 1.8, None, True),  # a front that is empty at the limit
        ("failed", None, 1.79, None, False),
        ("failed", None, None, None, False),
        ("crashed", None, 2.0, None, False),
        ("out_of_memory", None, 2.0, None, False),
        ("invalid_output", 10, 2.0, None, False),
        ("unsupported", None, None, None, False),
        ("interrupted", None, 2.0, None, False),
    ],
)
def test_what_a_limit_of_work_ends_too_early_is_not_measured(
    status: str,
    evaluations: int | None,
    work_s: float | None,
    identified: float | None,
    expected: bool,
) -> None:
    measured = EXAMPLE["measured"] | {"evaluations": evaluations, "work_s": work_s}
    changes = {"status": status, "measured": measured, "metrics": {"identified": identified}}
    assert record(**changes, **LIMITED).not_measured is expected
    # Seconds by the clock say nothing of the work.
    unlimited = {"budget": LIMITED["budget"] | {"work_s": None}}
    assert record(**changes, **unlimited).not_measured is False


def test_times_are_kept_in_utc() -> None:
    in_paris = datetime(2026, 7, 1, 14, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    measured = Measured(started=in_paris)
    assert measured.started.tzinfo is UTC
    assert json.loads(measured.model_dump_json())["started"] == "2026-07-01T12:00:00Z"
    with pytest.raises(ValidationError, match="timezone"):
        Measured.model_validate({"started": "2026-07-01T12:00:00"})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"colour": "red"}, "colour"),
        ({"budget": {**EXAMPLE["budget"], "colour": "red"}}, "budget.colour"),
        ({"status": "fine"}, "status"),
        ({"schema": SCHEMA + 1}, "schema"),
        ({"key": "abc"}, "key"),
        ({"seed": None}, "seed"),
        ({"equations": ["u0"]}, ""),
        ({"equations": "u0"}, "equations"),
    ],
)
def test_what_is_no_record_is_refused(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        record(**changes)
    (error,) = caught.value.errors()
    assert ".".join(map(str, error["loc"])) == where


def test_every_key_of_the_job_itself_must_be_given() -> None:
    required = {
        *("mdbench", "key", "key_parts", "algorithm", "data_type", "dataset", "system", "seed"),
        *("protocol", "view", "status", "budget", "runtime", "provenance", "measured"),
    }
    with pytest.raises(ValidationError) as caught:
        Record.model_validate({})
    assert {error["loc"][0] for error in caught.value.errors()} == required


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        record().status = Status.FAILED


def test_two_runs_of_a_job_compare_equal_but_for_what_was_measured() -> None:
    first = record()
    second = record(measured={"started": "2030-01-01T00:00:00Z", "wall_s": 99.0})
    assert first != second
    assert comparable(first) == comparable(second)
    assert comparable(first) != comparable(record(floor=0.5))
    assert {*comparable(first), "measured"} == set(EXAMPLE)


def test_the_key_depends_on_every_part_and_not_on_their_order() -> None:
    parts = {"seed": "0", "dataset": "ab"}
    key = key_of(parts)
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert key_of(dict(reversed(parts.items()))) == key
    others = [{"seed": "1", "dataset": "ab"}, {"seed": "0", "data": "ab"}, {"seed": "0"}]
    # Parts that would be alike if they were only strung together.
    others += [{"seed": '0","dataset":"ab'}, {"seed": "0", "dataset": "ab", "x": ""}]
    assert len({key, *map(key_of, others)}) == 6
    # printf '{"dataset":"ab","seed":"0"}' | sha256sum
    assert key == "b3dde2c4bceeb5784fc1eae5e2ea41e7750bc720dfe5b872e004808beae89e91"


def test_the_golden_keys_are_the_hashes_of_their_parts() -> None:
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        assert key_of(data["key_parts"]) == data["key"]


def test_only_what_is_not_the_methods_fault_is_run_again_unasked() -> None:
    assert {"interrupted", "unavailable"} == RERUN_ALWAYS
    assert not RERUN_ALWAYS & ANSWERED


# The document


def documented_rows(heading: str) -> list[list[str]]:
    """Read the first table under a heading: its cells, without the two lines of its head."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def keys_and_types(schema: dict[str, Any], models: dict[str, Any], prefix: str = "") -> list[Any]:
    """List ``[key, type]`` of a JSON schema in order, with the keys of objects inside it."""
    rows = []
    for name, value in schema["properties"].items():
        inner = None

        def word(part: dict[str, Any]) -> str:
            nonlocal inner
            if "anyOf" in part:
                return " or ".join(word(choice) for choice in part["anyOf"])
            if "$ref" in part:
                model = models[part["$ref"].rsplit("/", 1)[1]]
                inner = model if "properties" in model else None
                return str(model["type"])
            if part.get("type") == "array":
                return f"array of {word(part['items'])}s"
            return str(part["type"])

        kind = word(value)
        rows.append([f"{prefix}{name}", kind])
        if inner is not None:
            mark = "[]." if "array" in kind else "."
            rows += keys_and_types(inner, models, f"{prefix}{name}{mark}")
    return rows


def test_the_document_lists_every_key_with_its_type_in_order() -> None:
    schema = Record.model_json_schema(mode="serialization", by_alias=True)
    documented = [[row[0].strip("`"), row[1]] for row in documented_rows("Keys")]
    assert documented == keys_and_types(schema, schema["$defs"])
    assert all(row[3] for row in documented_rows("Keys"))


def test_the_document_lists_every_status() -> None:
    assert [row[0].strip("`") for row in documented_rows("Statuses")] == list(Status)
    again = {row[0].strip("`") for row in documented_rows("Statuses") if row[3] == "always"}
    assert again == RERUN_ALWAYS


def test_the_document_lists_every_metric() -> None:
    found: dict[str, list[str]] = {}
    for kind in classes():
        for spec in kind.metrics:
            values = {"number": "a number", "flag": "1 or 0"}.get(spec.kind)
            labels = " or ".join(f"`{label}`" for label in spec.labels)
            told = found.setdefault(
                spec.name, ["", values or labels, spec.better, spec.explanation]
            )
            told[0] += f", {kind.name}" if told[0] else kind.name
    rows = {row[0].strip("`"): row[1:] for row in documented_rows("Metrics")}
    assert rows == found
