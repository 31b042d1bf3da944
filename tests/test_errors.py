"""What an error shows can be shown."""

from __future__ import annotations

import pytest

from mdbench.errors import LONGEST_MESSAGE, MdbenchError, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode and 日本語", "plain, ünïcode and 日本語"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x00\x07\x7f\x9b", "\\x00\\x07\\x7f\\x9b"),
        ("a\r\nb\x0bc", "a\\r\nb\\x0bc"),
        ("\u202eabc\u2066\u200f\u061c", "\\u202eabc\\u2066\\u200f\\u061c"),
        ("\u200b\ufeff\u2028\u2029", "\\u200b\\ufeff\\u2028\\u2029"),
        ("\U000e0041", "\\U000e0041"),
        ("half \ud800", "half ?"),
        ("a\u00a0b", "a\u00a0b"),
    ],
)
def test_what_changes_how_a_text_is_shown_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_errors_are_printable_and_of_bounded_length() -> None:
    error = MdbenchError("\x1b]0;x\x07" + "y" * 10**6, "\u202e")
    assert str(error).isprintable() or "\n" in str(error)
    assert len(error.message) < LONGEST_MESSAGE + 20
    assert error.hint == "\\u202e"
