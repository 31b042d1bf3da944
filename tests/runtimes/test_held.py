"""The table of what each way of isolation holds is that of the tests."""

from __future__ import annotations

import re
from pathlib import Path

from held import DOCUMENT, HELD, with_table


def test_the_document_has_the_table_as_it_is() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_table(text), "type: .venv-dev/bin/python tests/support/held.py"


def test_each_line_has_its_tests() -> None:
    files = Path(__file__).parent.glob("test_isolation*.py")
    known = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {test for each in HELD for test in each.tests} <= known
    assert all(each.tests for each in HELD)
