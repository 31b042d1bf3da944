"""Records that nobody here wrote: names, impossible scores, and who was given the truth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reporting import data, write

from mdbench.cli import main
from mdbench.cli.contradictions import contradictions
from mdbench.cli.options import Exit
from mdbench.cli.report import leaderboards_of
from mdbench.datatypes.ode.data_type import Ode
from mdbench.errors import RecordsError
from mdbench.records import Record
from mdbench.reports.coverage import attainable_note
from mdbench.reports.joining import read_places

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "an escape sequence": "\x1b[2Jsindy",
    "a newline": "sindy\nfake row",
    "a carriage return": "sindy\rx",
    "a backspace": "sindy\bx",
    "a link": "[x](javascript:alert(1))",
    "a tag": "<img src=x>",
    "a bar": "a | b",
    "another direction": "sindy\u202e",
    "a path": "../../etc/passwd",
    "nothing": "",
    "a space": "a b",
    "a long one": "a" * 100,
}


@pytest.mark.parametrize(
    "verb", ["report", "show", pytest.param("export", marks=pytest.mark.extension("papers"))]
)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_methods_name_is_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, verb: str
) -> None:
    folder = write(tmp_path / "r", [data("sindy"), data("sindy", "other")])
    file = next(folder.glob("*.jsonl"))
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    lines[0]["algorithm"] = name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    asked = {
        "report": ["report", str(folder), "--out", str(tmp_path / "x.html")],
        "show": ["show", "lorenz", "--result-dir", str(folder)],
        "export": ["export", str(folder), "--markdown"],
    }[verb]
    assert main(asked) == Exit.ERROR
    printed = "".join(capsys.readouterr())
    assert "line 1" in printed
    assert "algorithm" in printed
    assert not set(printed) & set("\x1b\r\b\u202e")


IMPOSSIBLE: dict[str, tuple[str, Any]] = {
    "a negative error": ("nmse", -1e9),
    "a little below zero": ("nmse", -1e-3),
    "minus infinity": ("nmse", -1.7976931348623157e308),
    "a number as text": ("nmse", "0.1"),
    "NaN as text": ("nmse", "NaN"),
    "a negative size": ("complexity", -18.0),
    "a share above one": ("identified", 24.0),
    "a negative flag": ("identified", -1.0),
    "a flag as text": ("identified", "1"),
    "no such label": ("ended", "perfect"),
    "a label as a number": ("ended", 1.0),
}


@pytest.mark.parametrize(("metric", "value"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_scores_that_no_scorer_gives_are_refused(tmp_path: Path, metric: str, value: Any) -> None:
    label = next(spec.name for spec in Ode.metrics if spec.kind == "label")
    name = label if metric == "ended" else metric
    one = data("sindy", scores={name: value})
    folder = write(tmp_path / "r", [one])
    with pytest.raises(RecordsError, match=f"sindy on lorenz has {name} = "):
        read_places([folder])
    faults = contradictions(Record.model_validate(one))
    assert any(f"metrics.{name}" in fault for fault in faults)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "NaN", "Infinity"])
def test_numbers_that_json_has_not_are_no_good_scores(tmp_path: Path, text: str) -> None:
    folder = write(tmp_path / "r", [data("sindy", nmse=0.125)])
    file = next(folder.glob("*.jsonl"))
    content = file.read_text("utf-8")
    assert '"nmse": 0.125' in content
    file.write_text(content.replace('"nmse": 0.125', f'"nmse": {text}'), "utf-8")
    try:
        [(_, record)] = read_places([folder])
    except RecordsError:
        return
    value = record.metrics["nmse"]
    assert value is None or value == 1.7976931348623157e308  # undecided, or as bad as can be


@pytest.mark.parametrize("value", [0.0, 1e-300, 1.7e308, None])
def test_scores_that_a_scorer_may_give_are_read(tmp_path: Path, value: float | None) -> None:
    folder = write(tmp_path / "r", [data("sindy", nmse=value)])
    [(_, record)] = read_places([folder])
    assert record.metrics["nmse"] == value


@pytest.mark.parametrize("name", ["winner", "sindy"])
def test_whoever_was_given_the_truth_is_a_reference(name: str) -> None:
    """Whatever family its folder names, and whether or not its folder is here."""
    systems = [f"s{number}" for number in range(6)]
    records = [data(name, system, nmse=1e-20, given=["truth"]) for system in systems]
    records += [data("operon", system, nmse=1e-3) for system in systems]
    results = [Record.model_validate(one) for one in records]
    board = leaderboards_of(results, None)["ode"]
    standing = {row.method: (row.standing, row.reference) for row in board.rows}
    assert standing[name] == ("reference", True)
    assert standing["operon"] == ("compared", False)


def test_what_is_identified_of_moved_laws_stands_below_the_board() -> None:
    records = []
    for number in range(8):
        for suffix, by_heart, honest in (("", 1.0, float(number < 5)), ("+moved=1", 0.0, 1.0)):
            for method, value in (("table", by_heart), ("honest", honest)):
                records.append(data(method, f"s{number}{suffix}", scores={"identified": value}))
    records.append(data("alone", "s0", scores={"identified": 1.0}))
    results = [Record.model_validate(one) for one in records]
    text = attainable_note(leaderboards_of(results, None)["ode"])
    assert "table 8 and 0 of 8" in text
    assert "honest 5 and 8 of 8" in text
    assert "alone" not in text
    plain = [one for one in results if "moved" not in one.dataset]
    assert "moved" not in attainable_note(leaderboards_of(plain, None)["ode"])
