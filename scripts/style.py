"""Plain English of the pages and of what the code says: checked by `scripts/lint`.

A sentence of a page or a docstring has at most `MOST` words; no page, docstring or message has a
word of `WORDS`.  Headings, tables, code, addresses and parts that are made from records are no
prose.  Each column of a table has a head, which a screen reader reads with every cell.  Docstrings
of methods may have longer sentences: their bytes are in the keys of records.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/results/*.md")
CODE: Final = (
    "eqverdict/**/*.py",
    "mdbench/**/*.py",
    "scripts/*.py",
    "algorithms/*/*.py",
    "algorithms/*/*.toml",
)
MOST: Final = 30
"""Words of a sentence."""
WORDS: Final[dict[str, str]] = {
    "anew": "again, new",
    "is told": "is given",
    "was told": "was given",
    "told by": "estimated from",
    "came of it": "result",
    "said of": "reported about",
    "says of": "reports about",
    "is said": "is stated",
    "rooms": "sandbox",
    "hangs on": "depends on",
    "of one's own": "your own",
    "beside": "next to, besides, or compared with",
    "what it is worth": "value",
}
"""Words that a reader whose second language English is stumbles over, and what to write."""
NOT_IN_METHODS: Final = "'beside'"
"""A word that is not looked for in methods, which had it before it was in the list."""

_FORBIDDEN: Final = re.compile(rf"\b(?:{'|'.join(map(re.escape, WORDS))})\b", re.IGNORECASE)
_NO_PROSE: Final = (
    re.compile(r"<!-- [a-z-]+ -->\n.*?<!-- end -->", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE),
    re.compile(r"^ {4,}\S.*$", re.MULTILINE),
    re.compile(r"^(?:\||#).*$", re.MULTILINE),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<[^>]*>"),
)
_HEAD: Final = re.compile(r"^\|(.*)\|[ ]*\n\|[-:| ]+\|[ ]*$", re.MULTILINE)
"""The heads of a table's columns, and the rule below them."""
_CODE_SPAN: Final = re.compile(r"``[^`]*``|`[^`\n]*`")
_NO_DOCSTRING: Final = re.compile(
    r"::\n\n(?:[ ]+.*\n|\n)+|^[ ]*>>> .*(?:\n[ ]*\S.*)*"
    r"|^={4,}.*\n(?:.*\n)*?^={4,}.*$|^[\w ]+\n-{3,}$",
    re.MULTILINE,
)
"""What is no prose of a docstring: examples with what they print, tables, and headings."""
_INDENTED: Final = re.compile(r"^((?P<before>[ ]*)\S.*\n(?!(?P=before)\S)[ ]*)(?=\S)", re.MULTILINE)
"""A line that is indented otherwise than the one before it: a parameter's text, or the next one."""
_PARAGRAPH: Final = re.compile(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. )")
_SENTENCE: Final = re.compile(r"(?<=[.!?:;])[\"')*_]*\s+")


def _blank(match: re.Match[str]) -> str:
    """Return as many lines without text as the match has, so that line numbers stay."""
    return " " + "\n" * match[0].count("\n")


def faults_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each fault of a page."""
    for table in _HEAD.finditer(text):
        if not all(head.strip() for head in table[1].split("|")):
            yield text.count("\n", 0, table.start()) + 1, "a column without a head"
    for part in _NO_PROSE:
        text = part.sub(_blank, text)
    text = _CODE_SPAN.sub("code", text)
    yield from _forbidden(text, 1)
    yield from _long(text)


def _long(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each sentence that is too long."""
    begin = 0
    for end in [*_PARAGRAPH.finditer(text), None]:
        stop = len(text) if end is None else end.start()
        place = begin
        paragraph = text[begin:stop]
        for sentence in _SENTENCE.split(paragraph):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST:
                place = text.find(sentence, begin)
                line = text.count("\n", 0, place + len(sentence) - len(sentence.lstrip())) + 1
                start = " ".join(words[:8])
                yield line, f"a sentence of {len(words)} words, {MOST} at most: {start} ..."
        begin = stop


def faults_of_code(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each forbidden word in a docstring or message."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from _forbidden(node.value, node.lineno)


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each sentence of a docstring that is too long."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and (docstring := ast.get_docstring(node)):
            prose = _INDENTED.sub(r"\1- ", _NO_DOCSTRING.sub(_blank, docstring))
            first = node.body[0].lineno
            for line, fault in _long(_CODE_SPAN.sub("code", prose)):
                yield first + line - 1, fault


def _forbidden(text: str, first: int) -> Iterator[tuple[int, str]]:
    for found in _FORBIDDEN.finditer(text):
        line = first + text.count("\n", 0, found.start())
        yield line, f"{found[0]!r}: write {WORDS[found[0].lower()]}"


def faults(root: Path) -> Iterator[str]:
    """Yield each fault of the pages and the code below a folder, with file and line."""
    for file in _files(root, PAGES):
        for line, fault in faults_of_page(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(root)}:{line}: {fault}"
    own = Path(__file__).name
    for file in _files(root, CODE):
        text = file.read_text(encoding="utf-8")
        found = _forbidden(text, 1) if file.suffix == ".toml" else faults_of_code(text)
        if "algorithms" in file.relative_to(root).parts:
            found = (each for each in found if not each[1].startswith(NOT_IN_METHODS))
        else:
            found = chain(found, long_sentences(text))
        for line, fault in () if file.name == own else found:
            yield f"{file.relative_to(root)}:{line}: {fault}"


def _files(root: Path, patterns: Iterable[str]) -> list[Path]:
    return [file for pattern in patterns for file in sorted(root.glob(pattern))]


def main() -> int:
    """Print all faults; 1 if there are any."""
    found = list(faults(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
