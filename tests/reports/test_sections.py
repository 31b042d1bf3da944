"""A section of the report comes in by its door: one module, which page and terminal show."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from reporting import many, write

from mdbench import doors
from mdbench.cli import main
from mdbench.reports.sections import folders_read, sections

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION = """
from markupsafe import Markup
from rich.table import Table

from mdbench.reports.sections import Section


class Counted(Section):
    folders = ("counts",)

    def html(self, shown):
        return Markup("<section><h2>Counted</h2><p>{} of records</p></section>").format(
            len(shown.results)
        )

    def tables(self, shown):
        table = Table(title="Counted")
        table.add_column("records")
        table.add_row(str(len(shown.results)))
        yield table
"""


@pytest.fixture
def _counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "extensions" / "counting"
    folder.mkdir(parents=True)
    (folder / "section.py").write_text(SECTION, encoding="utf-8")
    entry = "[mdbench.report_sections]\ncounted = counting.section:Counted\n"
    (folder / doors.FILE).write_text(entry, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(doors.VARIABLE, str(folder.parent))
    sections.cache_clear()
    yield
    sections.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "counting"]:
        del sys.modules[name]


@pytest.mark.usefixtures("_counted")
def test_a_section_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = write(tmp_path / "r", many(3))
    number = len(many(3))
    page = tmp_path / "page.html"
    assert main(["report", str(results), "--out", str(page)]) == 0
    assert f"<p>{number} of records</p>" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", str(results), "--text"]) == 0
    below = capsys.readouterr().out.partition("Counted")[2]
    assert below.split("\n")[4].strip(" │") == str(number)
    assert "counts" in folders_read()
