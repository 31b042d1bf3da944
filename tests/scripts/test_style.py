"""The checker of plain English: what it counts as a sentence, and the words that it refuses."""

from __future__ import annotations

import pytest
from style import MOST, WORDS, faults_of_code, faults_of_page, long_sentences

LONG = " ".join(["word"] * (MOST + 1))
SHORT = " ".join(["word"] * MOST)


@pytest.mark.parametrize(
    "text",
    [
        f"{SHORT}.",
        f"{SHORT}. {SHORT}.",
        f"{SHORT}: {SHORT}; {SHORT}!",
        f"{SHORT}\n\n{SHORT}",  # no full stop, but another paragraph
        f"- {SHORT}\n- {SHORT}",
        f"1. {SHORT}\n2. {SHORT}",
        f"# {SHORT}\n{SHORT}",
        f"({SHORT}.) {SHORT}",
        f"| {LONG} |",
        f"    {LONG}",
        f"```\n{LONG}\n```",
        f"<!-- table -->\n{LONG}\n<!-- end -->",
        f"`{LONG}`",
        f"[{SHORT}]({LONG})",
        f"{SHORT} · – =",  # signs are no words
    ],
)
def test_sentences_that_are_short_enough(text: str) -> None:
    assert list(faults_of_page(text)) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("| a | b |\n|---|--:|\n| | 1 |", []),
        ("| | b |\n|---|--:|\n| a | 1 |", [1]),
        ("Text\n\n| a | | b |\n|---|---|:-:|\n| a | 1 | 2 |", [3]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n| | |\n|---|---|\n| 1 | 2 |", [5]),
    ],
)
def test_each_column_of_a_table_has_a_head(text: str, lines: list[int]) -> None:
    assert [line for line, _ in faults_of_page(text)] == lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LONG, 1),
        (f"# Title\n\nShort.\n{LONG}.", 4),
        (f"- short\n- {LONG}", 2),
        (f"{SHORT},\n{SHORT}", 1),
        (f"```\n{LONG}\n```\n\n{LONG}", 5),
        (f"| {LONG} |\n{LONG}", 2),
        (f"**{LONG}**", 1),
    ],
)
def test_sentences_that_are_too_long(text: str, line: int) -> None:
    ((found, fault),) = faults_of_page(text)
    assert found == line
    assert f"{MOST} at most" in fault


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_refused_wherever_a_reader_meets_it(word: str) -> None:
    assert list(faults_of_page(f"Data {word} it.")) == [(1, f"{word!r}: write {WORDS[word]}")]
    assert list(faults_of_page(f"| {word} |")) == []  # a table may be a program's
    code = (
        f'"""Doc."""\n\ndef f():\n    """Return {word} it."""\n    raise ValueError("x {word}")\n'
    )
    assert [line for line, _ in faults_of_code(code)] == [4, 5]
    assert list(faults_of_code(f"x = 1  # {word}\n")) == []


@pytest.mark.parametrize(
    ("text", "long"),
    [
        (LONG, True),
        (f"{SHORT}. {SHORT}.", False),
        (f"Return one.\n\n    >>> print('{LONG}')\n    {LONG}", False),
        (f"Return one.\n\n====  ====\na  {LONG}\nb  {SHORT}\n====  ====", False),
        (f"Return one.\n\nNotes\n-----\n{LONG}", True),
        (f"`{LONG}`", False),
    ],
)
def test_sentences_of_docstrings_are_short(text: str, long: bool) -> None:
    code = f'def one():\n    """{text}"""\n'
    assert bool(list(long_sentences(code))) is long
    assert not list(long_sentences(f"x = {text!r}\n"))  # no docstring
