"""A column of the leaderboard is declared once, and whoever shows columns has it."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from browser import PROGRAM, Browser
from report_pages import html
from reporting import EXAMPLE, boards, data, many, write
from rich.console import Console

from mdbench.cli import main
from mdbench.reports import columns
from mdbench.reports.columns import BoardColumn
from mdbench.reports.leaderboard import MethodFacts
from mdbench.reports.tables import leaderboard_table
from mdbench.reports.terminal import leaderboards

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.records import Record


def length(record: Record) -> float | None:
    """Return the length of the name of a dataset: 1 or 4 of the records below."""
    return float(len(record.dataset)) if record.answered else None


NEW = BoardColumn(
    key="length",
    head="letters",
    meaning="longest name of a system",
    names=("letters_max",),
    form="tenths",
    amount=length,
    over="max",
    stays=None,
)
RECORDS = [
    data("sindy", "s"),
    data("sindy", "long"),
    data("operon", "s"),
    data("operon", "long", status="failed"),
]
WANTED = {"sindy": "4.0", "operon": "1.0"}


@pytest.fixture
def _new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "COLUMNS", [*columns.COLUMNS, NEW])


def shown_in(text: str, cells: str, names: str = r"\W*(\w+)") -> dict[str, str]:
    """Return by method the last cell of each line of a table that names one."""
    lines = (line for line in text.splitlines() if re.match(rf"{names}\b", line))
    found = [re.split(cells, line.strip(" |\\")) for line in lines]
    return {
        method: line[-1].strip(" *")
        for line in found
        for method in WANTED
        if any(re.search(rf"\b{method}\b", cell) for cell in line)
    }


@pytest.mark.extension("papers")
@pytest.mark.usefixtures("_new")
def test_a_new_column_is_one_entry_that_all_renderers_show() -> None:
    from mdbench.extensions.papers.export import csv_tables, latex_tables, markdown_tables  # noqa: PLC0415 - it may be taken away

    made = boards(RECORDS)
    table = leaderboard_table(made["ode"])
    place = [column.title for column in table.columns].index("letters")
    assert {row[1].value: row[place].text for row in table.rows} == WANTED

    page = html(RECORDS)
    assert '<th scope="col" class="more further" title="longest name of a system">' in page
    assert "<li><b>letters</b>: longest name of a system</li>" in page
    assert page.count(">4.0</td>") == 1
    embedded = re.search(r'id="data">(.*?)</script>', page)
    assert embedded
    values = json.loads(embedded[1])
    assert values["types"]["ode"]["columns"][-1] == "length"
    number = values["columns"]["length"]["amount"]
    assert sorted(map(str, values["types"]["ode"]["a"][number])) == ["1.0", "1.0", "4.0", "None"]

    console = Console(width=160, file=io.StringIO(), record=True)
    for each in leaderboards(made, 160):
        console.print(each)
    text = console.export_text()
    assert "letters" in text
    assert shown_in(text, r"\s+") == WANTED

    latex = latex_tables(made).partition(r"\end{tabular}")[0]
    assert "letters" in latex
    assert len({line.count("&") for line in latex.splitlines() if line.endswith(r"\\")}) == 1
    heads, *lines = [line for line in latex.splitlines() if line.endswith(r"\\")]
    place = heads.rstrip("\\").split("&").index(" letters ")
    assert [line.split("&")[place].strip() for line in lines] == ["4.0", "1.0"]

    markdown = markdown_tables(made).partition("###")[0]
    assert "letters |" in markdown
    assert shown_in(markdown, r"\|") == WANTED

    rows = csv.DictReader(io.StringIO(csv_tables(made)))
    assert {row["method"]: row["letters_max"] for row in rows} == WANTED
    assert {row.as_json()["letters_max"] for row in made["ode"].rows} == {4.0, 1.0}


@pytest.mark.usefixtures("_new")
@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")
def test_filters_compute_a_new_column_again(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html([*RECORDS, data("sindy", "longer", snr_db=20.0)]), encoding="utf-8")
    last = "[...document.querySelector('table.board').tBodies[0].rows]"
    last += ".map(r => [r.cells[1].dataset.v, r.cells[r.cells.length - 1].textContent])"
    with Browser(tmp_path / "profile") as page:
        page.open(path)
        assert dict(page.run(last))["sindy"] == "6.0"
        page.run("document.forms[0].elements.noise.value = '0'")
        page.run("document.forms[0].dispatchEvent(new Event('change'))")
        assert dict(page.run(last)) == WANTED
        assert page.problems == []


def ended(method: str, system: str, count: int, found: float, status: str) -> dict[str, Any]:
    """Return a record of two reference seconds, which a limit ended unless it is ok."""
    return data(
        method,
        system,
        status=status,
        identified=found,
        budget=EXAMPLE["budget"] | {"work_s": 2.0},
        measured=EXAMPLE["measured"] | {"evaluations": count, "work_s": 2.0},
    )


def of_little_work(short: int) -> list[dict[str, Any]]:
    """Return ten jobs each of two methods, of which one was ended too early in some."""
    return [
        *(
            ended("operon", f"s{n}", 500 if n < short else 20_000, float(n == 9), "partial")
            for n in range(10)
        ),
        *(ended("sindy", f"s{n}", 50, float(n < 5), "ok") for n in range(10)),
    ]


@pytest.mark.extension("papers")
@pytest.mark.parametrize(
    ("short", "shown"), [(5, "1/10 (10\xa0%)"), (6, "not measured (≥ 10\xa0%)")]
)
def test_a_share_of_jobs_that_are_mostly_not_measured_is_none(short: int, shown: str) -> None:
    from mdbench.extensions.papers.export import csv_tables, markdown_tables  # noqa: PLC0415 - it may be taken away

    made = boards(of_little_work(short))
    table = leaderboard_table(made["ode"])
    heads = [column.title for column in table.columns]
    cells = {
        row[1].value: dict(zip(heads, (cell.text for cell in row), strict=True))
        for row in table.rows
    }
    assert cells["operon"]["identified"] == shown
    assert cells["operon"]["not measured"] == str(short)
    assert (cells["operon"]["partial"], cells["sindy"]["partial"]) == ("100\xa0%", "0\xa0%")
    assert cells["sindy"]["identified"] == "5/10 (50\xa0%)"  # it ended by itself
    assert (cells["sindy"]["evaluations"], cells["sindy"]["not measured"]) == ("50", "0")
    at_once = [column.title for column in table.columns if not column.further]
    assert at_once == ["rank", "method", "NMSE", "95 %", "identified", "nodes", "answers", "time"]
    assert "not measured" in markdown_tables(made)
    (row,) = [
        row for row in csv.DictReader(io.StringIO(csv_tables(made))) if row["method"] == "operon"
    ]
    assert (row["identified"], row["not_measured"], row["partial"]) == ("0.1", f"{short}.0", "1.0")


@pytest.mark.extension("papers")
def test_no_lower_bound_stands_where_nothing_was_found_and_nothing_is_bold() -> None:
    from mdbench.extensions.papers.export import leaderboard_markdown  # noqa: PLC0415 - it may be taken away

    ones = [ended("operon", f"s{n}", 500, 0.0, "partial") for n in range(10)]
    ones += [ended("sindy", f"s{n}", 50, 0.0, "ok") for n in range(10)]
    text = leaderboard_markdown(boards(ones)["ode"])
    (line,) = [line for line in text.splitlines() if "| operon" in line]
    # Only what is identified stays so with more work: R² test, 100 % here, is no lower bound.
    assert line.count("| not measured ") == 3
    assert "≥" not in line
    console = Console(width=160, file=io.StringIO(), record=True)
    for each in leaderboards(boards(ones), 160):
        console.print(each)
    assert "not measured" in console.export_text()


@pytest.mark.extension("papers")
def test_marks_of_methods_stand_behind_their_names_and_are_explained() -> None:
    from mdbench.extensions.papers.export import latex_tables, markdown_tables  # noqa: PLC0415 - it may be taken away

    facts = {"operon": MethodFacts("genetic"), "sindy": MethodFacts("linear", mark="§")}
    made = boards(of_little_work(0), facts)
    for text, mark in (
        (markdown_tables(made), r"\s§"),
        (html(of_little_work(0), facts), r"\s§"),
        (latex_tables(made), r"~\\S{}"),
    ):
        assert re.search(rf"sindy{mark}", text)
        assert not re.search(rf"operon{mark}", text)
        assert "after somebody else" in text
        assert "was designed by" not in text  # of no method here
    assert "after somebody else" not in markdown_tables(boards(of_little_work(0)))


@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")
def test_filters_write_what_is_not_measured_again_and_the_box_shows_all(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    other = [ended("operon", "s0", 20_000, 0.0, "partial") | {"snr_db": 20.0}]
    facts = {"operon": MethodFacts("genetic", mark="‡"), "sindy": MethodFacts("linear")}
    path.write_text(html([*of_little_work(6), *other], facts), encoding="utf-8")
    cells = "[...document.querySelector('table.board').tBodies[0].rows]"
    cells += ".map(r => [...r.cells].map(c => c.textContent))"
    with Browser(tmp_path / "profile") as page:
        page.open(path)
        before = page.run(cells)
        page.run("document.forms[0].elements.noise.value = '0'")
        page.run("document.forms[0].dispatchEvent(new Event('change'))")
        after = page.run(cells)
        assert any("not measured (≥ 10\xa0%)" in line for line in after)
        assert (
            {line[1] for line in before}
            == {line[1] for line in after}
            == {"operon ‡ †".replace(" ", "\xa0"), "sindy"}
        )
        seen = "getComputedStyle(document.querySelector('th.further')).display"
        assert page.run(seen) == "none"
        page.run("document.querySelector('input.whole').click()")
        assert page.run(seen) == "table-cell"
        assert page.problems == []


@pytest.mark.extension("papers")
def test_all_boards_are_one_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "r", many(3)), tmp_path / "all.csv"
    assert main(["export", str(folder), "--csv", "--out", str(out)]) == 0
    made = {board.title: board for board in boards(many(3)).values()}
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [row["class"] for row in rows] == [b.title for b in made.values() for _ in b.rows]
    first = next(iter(made.values())).rows[0]
    assert rows[0]["method"] == first.method
    assert float(rows[0]["total_s"]) == first.amounts["total_s"]
    assert (rows[0]["answered"], rows[0]["jobs"]) == (str(first.answered), str(first.jobs))
    capsys.readouterr()
    assert main(["export", str(folder), "--csv", "--latex"]) == 2
    assert "export got --latex and --csv." in capsys.readouterr().err


def test_keys_and_names_of_columns_are_their_own() -> None:
    keys = [column.key for column in columns.COLUMNS]
    assert len(keys) == len({*keys})
    named = [column.names[0] for column in columns.COLUMNS if column.amount]
    assert len(named) == len({*named})
    for column in columns.COLUMNS:
        assert column.form in columns.FORMS
        assert column.over in columns.OVER
