from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mdbench.datatypes import classes
from mdbench.errors import RecordsError
from mdbench.records import SCHEMA, Record, key_of
from mdbench.records.schema import LARGEST
from mdbench.records.upgrades import UPGRADES, upgrade


def rename_colour(data: dict[str, Any]) -> dict[str, Any]:
    return {("colour" if name == "color" else name): value for name, value in data.items()}


def colour_in_lower_case(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "colour": data["colour"].lower()}


STEPS = {1: rename_colour, 2: colour_in_lower_case}


GOLDEN = Path(__file__).parents[1] / "golden" / "records"


def test_records_of_every_older_schema_are_read() -> None:
    for number in range(1, SCHEMA):
        lines = (GOLDEN / f"schema-{number}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines:
            record = Record.model_validate(upgrade(json.loads(line)))
            assert record.schema_number == SCHEMA
            assert number > 1 or record.budget.memory_mb is None


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


def test_a_newer_schema_states_what_was_found_and_what_is_known() -> None:
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


def fourth(**changes: Any) -> dict[str, Any]:
    """Bring a record of schema 4 up to date."""
    line = (GOLDEN / "schema-4.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return upgrade({**json.loads(line), **changes})


def test_a_hash_of_the_scorer_becomes_version_1_in_parts_and_key() -> None:
    found = fourth()
    assert found["key_parts"]["scorer"] == "1"
    assert found["key"] == key_of(found["key_parts"])
    assert found["provenance"]["scorer"] == "4d" * 32  # as it was


def test_a_key_that_is_not_that_of_its_parts_stays() -> None:
    found = fourth(key="0" * 64)
    assert (found["key"], found["key_parts"]["scorer"]) == ("0" * 64, "1")


@pytest.mark.parametrize("parts", [{}, {"scoring": "2"}, {"scorer": "2"}])
def test_what_was_no_hash_stays(parts: dict[str, str]) -> None:
    found = fourth(key="0" * 64, key_parts=parts)
    assert (found["key"], found["key_parts"]) == ("0" * 64, parts)


def second(**changes: Any) -> dict[str, Any]:
    """Bring a record of schema 2 up to date."""
    line = (GOLDEN / "schema-2.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return upgrade({**json.loads(line), **changes})


def motion(r2: float | None, unseen: float | None, ended: str) -> dict[str, Any]:
    """Return the metrics of simulations that schema 2 had."""
    told = {"r2": r2, "r2_unseen": unseen, "ended": ended}
    found = second(fidelity={"verdict": "different", "simulation": told})["metrics"]
    names = ("r2_test", "follows", "r2_unseen", "follows_unseen", "simulation_ended")
    return {name: found[name] for name in names if name in found}


def test_simulations_become_flags_a_label_and_what_is_undecided() -> None:
    whole = {"r2_test": 0.95, "follows": 1, "r2_unseen": 0.5, "follows_unseen": 0}
    assert motion(0.95, 0.5, "whole") == {**whole, "simulation_ended": "whole"}
    only_seen = {"r2_test": 0.95, "follows": 1, "simulation_ended": "whole"}
    assert motion(0.95, None, "whole") == only_seen
    broke_off = {"r2_test": 0.95, "follows": 1, "follows_unseen": 0, "simulation_ended": "stiff"}
    assert motion(0.95, None, "stiff") == broke_off
    late = {"r2_test": None, "follows": None, "r2_unseen": 0.95, "follows_unseen": 1}
    assert motion(None, 0.95, "late") == {**late, "simulation_ended": None}


def test_a_verdict_becomes_flags_which_may_be_undecided() -> None:
    for verdict in ("identified", "one_term_off", "different"):
        found = second(fidelity={"verdict": verdict})["metrics"]
        for name in ("identified", "one_term_off"):
            assert found[name] == (name == verdict)
    found = second(fidelity={"verdict": "undecided"})["metrics"]
    names = ("identified", "one_term_off", "f1", "coefficient_error")
    assert [found[name] for name in names] == [None] * 4


def test_what_was_infinite_had_become_null() -> None:
    found = second(metrics={"nmse": None, "r2": None, "nmse_floor": None}, complexity=None)
    assert (found["metrics"]["nmse"], found["metrics"]["r2"]) == (LARGEST, -LARGEST)
    assert "complexity" not in found["metrics"]
    assert found["floor"] is None


def test_a_failure_is_judged_by_what_an_answer_would_have_been() -> None:
    failed: dict[str, Any] = {
        "status": "timeout",
        "metrics": {},
        "fidelity": None,
        "equations": None,
    }
    for data_type, name in (("ode", "follows"), ("pde", "residual"), ("srsd", "solution")):
        found = second(**failed, data_type=data_type)
        assert name in found["judged_by"]
        assert name not in second(**failed, data_type=data_type, truth=None)["judged_by"]
        assert found["metrics"] == {}


def test_a_variant_asks_another_question_and_fewer_rows_do_not() -> None:
    parts = {"variant": "released", "max_rows": "500"}
    found = second(key_parts=parts)
    assert found["system"] == "lotka-volterra (released)"
    assert found["options"] == {"variant": "released", "max_rows": 500}


def landed(data_type: str) -> list[dict[str, Any]]:
    """Make records of schema 2 of a part of version 0.1.0's results, as far as its tables go."""
    path = GOLDEN / "landed-0.1.0" / f"{data_type}.csv"
    example = json.loads((GOLDEN / "schema-2.jsonl").read_text(encoding="utf-8").splitlines()[0])
    made = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            record = {name: example[name] for name in ("budget", "runtime", "provenance")}
            record |= {"measured": example["measured"], "key_parts": {}, "metrics": {}}
            fidelity: dict[str, Any] = {}
            for name, text in row.items():
                value = _read(text)
                group, _, inner = name.partition(".")
                if group == "metrics" and text:
                    record["metrics"][inner] = value
                elif group == "fidelity":
                    fidelity[inner] = value
                elif not inner and group not in {"file", "runtime"}:
                    record[name] = value
            text_keys = ("algorithm", "dataset", "status", "reason", "mdbench", "key")
            record |= {name: row[name] for name in text_keys}
            record["fidelity"] = fidelity if fidelity.get("verdict") else None
            made.append(record)
    return made


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text or None


@pytest.mark.parametrize("data_type", ["ode", "pde", "srsd"])
def test_the_landed_results_keep_their_verdicts_and_have_the_metrics_of_their_type(
    data_type: str,
) -> None:
    old = landed(data_type)
    assert {record["schema"] for record in old} == {2}
    new = [Record.model_validate(upgrade(dict(record))) for record in old]
    verdicts = Counter((record["fidelity"] or {}).get("verdict") for record in old)
    for name in ("identified", "one_term_off"):
        assert sum(record.metrics.get(name) == 1 for record in new) == verdicts[name]
    known = {spec.name: spec for kind in classes([data_type]) for spec in kind.metrics}
    for before, after in zip(old, new, strict=True):
        assert {*after.metrics, *after.judged_by} <= known.keys()
        assert after.metrics.get("nmse") == before["metrics"].get("nmse")
        for name, value in after.metrics.items():
            assert value is None or (known[name].kind == "label") == isinstance(value, str)
    answered = [record for record in new if record.equations is not None]
    assert answered
    shared = set.intersection(*(set(record.metrics) for record in answered))
    assert {"nmse", "complexity", "identified", "f1"} <= shared
