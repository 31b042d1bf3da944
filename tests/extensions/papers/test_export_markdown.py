from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from reporting import boards, compare, data, many, texts, write

from mdbench.cli import main
from mdbench.extensions.papers.export import (
    leaderboard_markdown,
    markdown_tables,
    marks_table,
    published_table,
    systems_table,
)
from mdbench.extensions.papers.published import Mark, Published
from mdbench.reports.tables import text_table, to_markdown

if TYPE_CHECKING:
    from pathlib import Path

SIGNS = {"identified": "✓", "one term off": "±1", "none": "✗"}
PAPER = Published(
    "Paper",
    "a table",
    "✓",
    {
        "ode": {
            "a": {"sindy": Mark.of("identified", SIGNS), "operon": Mark.of("none", SIGNS)},
            "b": {"sindy": Mark.of("identified", SIGNS)},
            "c": {"sindy": Mark.of("1e-2 (17)", SIGNS)},
        }
    },
)


def rows(table: str) -> dict[str, list[str]]:
    """Read a table back: by the first cell the others; escaped bars are no border."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines()]
    assert len({len(line) for line in lines}) == 1
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in lines}


def test_cells_are_shown_next_to_the_papers() -> None:
    made = compare(
        [
            data("sindy", "a", verdict="identified", floor=2e-5),
            data("sindy", "b", verdict="one_term_off", nmse=2e-4, complexity=7),
            data("sindy", "c", nmse=30.0, complexity=12),
            data("operon", "a", status="timeout"),
            data("operon", "b", nmse=None),
            data("operon", "c", nmse=None, verdict="one_term_off"),
            data("sindy", "a", snr_db=10.0),
        ]
    )
    table = rows(systems_table(made, "ode", None, PAPER))
    assert table["system"] == ["floor", "sindy", "Paper", "operon", "Paper"]
    assert table["`a`"] == ["2.0e-5", "✓", "✓", "✗ timeout", "✗"]
    assert table["`b`"] == ["–", "2.0e-4 (7) ±1", "✓", "?", ""]
    assert table["`c`"] == ["–", "30 (12)", "1e-2 (17)", "? (18) ±1", ""]
    # The paper's tables are of clean data.
    noisy = rows(systems_table(made, "ode", 10.0, PAPER))
    assert noisy["system"] == ["floor", "sindy"]


def test_what_has_the_first_mark_is_counted_where_both_have_it() -> None:
    made = compare(
        [
            data("sindy", "a", verdict="identified"),
            data("sindy", "b"),
            data("sindy", "c", verdict="identified"),
            data("sindy", "only here", verdict="identified"),
            data("sindy", "b", verdict="identified", snr_db=20.0),
            data("operon", "a", status="timeout"),
            data("zero", "a"),
        ]
    )
    assert rows(published_table(made, "ode", PAPER)) == {
        "method": ["systems", "here", "Paper", "both", "only here", "only in Paper"],
        ":--": ["--:", "--:", "--:", "--:", ":--", ":--"],
        "sindy": ["3", "2", "2", "1", "`c`", "`b`"],
        "operon": ["1", "0", "0", "0", "", ""],
    }
    assert not published_table(made, "pde", PAPER)


def test_here_is_not_measured_where_most_jobs_were_ended_too_early() -> None:
    budget = {"timeout_s": 60.0, "threads": 1, "work_s": 2.0}
    ended = [data("sindy", name, status="timeout", budget=budget) for name in ("b", "c")]
    made = compare([data("sindy", "a", verdict="identified", budget=budget), *ended])
    assert rows(published_table(made, "ode", PAPER))["sindy"][:2] == ["3", "not measured (1)"]


def test_marks_are_counted_by_noise_with_failures() -> None:
    made = compare(
        [
            data("sindy", "a", verdict="identified"),
            data("sindy", "b", verdict="one_term_off"),
            data("sindy", "c", status="failed"),
            data("sindy", "d", status="interrupted"),
            data("sindy", "e", scores={"identified": None, "one_term_off": None}),
            data("sindy", "a", snr_db=10.0),
        ]
    )
    table = rows(marks_table(made))
    assert table["method"] == ["clean", "10 dB"]
    assert table["sindy"] == ["1 + 1 of 4", "0 + 0 of 1"]
    assert marks_table(compare(texts(), "texts")) == ""


def test_columns_that_say_nothing_are_left_out() -> None:
    scores = {"accuracy": 0.125, "verbosity": "wordy", "likelihood": None}
    made = compare([data("afp", "force", data_type="texts", scores=scores)], "texts")
    head, _, line, _, note = leaderboard_markdown(made).splitlines()
    cells = dict(zip(head.split(" | "), line.split(" | "), strict=True))
    assert (cells["accuracy"], cells["verbosity"]) == ("0.125\xa0⚠", "1\xa0wordy")
    assert not {"identified", "likelihood", "ratio to truth", "family", "not ok"} & cells.keys()
    assert note.endswith("likelihood 1.")


def test_a_newline_in_a_name_splits_no_row() -> None:
    (board,) = boards([data("a", "x\n| y"), data("b", "x\n| y")]).values()
    (line,) = [line for line in systems_table(board, "ode", None).splitlines() if "`" in line]
    assert line.startswith("| `x \\| y` |")


def test_every_table_is_whole() -> None:
    text = markdown_tables(boards(many()), PAPER)
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 8  # of each class the leaderboard, and three noise levels
    for block in blocks:
        assert len(rows(block)) > 2
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        heading
        for protocol in ("strict", "published")
        for heading in (
            f"## ode, limit 60 s, {protocol}",
            *(f"### {noise}" for noise in ("clean", "20 dB", "10 dB")),
        )
    ]


def test_export_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "r", [data("sindy", "rc-circuit", verdict="identified")]))
    assert main(["export", folder, "--markdown", "--published"]) == 0
    printed = capsys.readouterr().out
    assert rows(printed.split("\n\n")[-1])["`rc-circuit`"] == ["–", "✓", "✓"]
    assert main(["export", folder, "--markdown", "--out", str(tmp_path / "t.md")]) == 0
    assert "MDBench" not in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_protocols_are_kept_apart() -> None:
    ones = [
        data("sindy", "a", verdict="identified", protocol="published"),
        data("sindy", "a", nmse=0.25, complexity=5),
    ]
    tables = dict(
        re.findall(
            "## ode, limit 60 s, ([a-z]+)(.*?)(?=\n## |$)", markdown_tables(boards(ones)), re.DOTALL
        )
    )
    assert "| ✓ |" in tables["published"]
    assert "| ✓ |" not in tables["strict"]
    assert "| 0.25 (5) |" in tables["strict"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<IMG src=x onerror=y>", "&lt;IMG src=x onerror=y>"),
        ("<!-- hidden", "&lt;!-- hidden"),
        ("1 < 2 | 3", "1 < 2 \\| 3"),
        ("two\nlines", "two lines"),
    ],
)
def test_what_others_write_is_shown_and_not_run(text: str, shown: str) -> None:
    table = text_table(["method", "reason"], [["m", text]], {"method", "reason"})
    assert to_markdown(table).splitlines()[-1] == f"| m | {shown} |"
