"""Parts of a language model's reply: code, lists, sections.  Nothing of it is run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdbench.worker import Reply

__all__ = ["ReplyError", "changes", "code_of", "reply_text", "section", "text_list"]

_BEGINS = re.compile(r"^[ \t]*(?:def|class)[ \t]+\w+", re.MULTILINE)
_LONGEST = 60_000
_MOST_LISTS = 50
_FENCES = ("```", "~~~")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("×·∙⋅∗✕⨯", "*"),
        **dict.fromkeys("−–‒﹣－", "-"),
        **dict.fromkeys("÷∕", "/"),
        "²": "**2",
        "³": "**3",
        "π": "pi",
        "\u00a0": " ",
    }
)
"""What is written for the signs that a keyboard lacks."""
_LAMBDA = re.compile(r"\blambda\s+([\w\s,]+):(.+)")


class ReplyError(ValueError):
    """A reply has nothing that can be used; the message has the reason."""


def reply_text(reply: Reply) -> str:
    """Return the text of a reply, without the model's reasoning before it.

    Of a reply that was cut off it is what comes before the end of its last closed fence.

    Raises
    ------
    ReplyError
        If it is empty, or was cut off before a fence was closed.
    """
    text = reply.text[:_LONGEST]
    end = text.rfind("</think>")
    if end >= 0:
        text = text[end + len("</think>") :]
    text = text.partition("<think>")[0]
    if reply.finish_reason == "length":
        text = _closed_part(text)
        if not text:
            raise ReplyError("the reply was cut off")
    if not text.strip():
        raise ReplyError("the reply is empty")
    return text.translate(_SIGNS)


def code_of(text: str) -> str:
    """Return the code of a reply: its last fenced block with some, or what is indented.

    A lambda is returned as the function that it is.

    Raises
    ------
    ReplyError
        If there is none.
    """
    fenced = _blocks(text)
    blocks = [block for block in fenced if _BEGINS.search(block)]
    if blocks:
        return _outdented(blocks[-1])
    begins = _BEGINS.search(text)
    if begins is None:
        found = [match for block in (*fenced, text) if (match := _LAMBDA.search(block))]
        if not found:
            raise ReplyError("there is no function in the reply")
        return f"def equation({found[0][1].strip()}):\n    return {found[0][2].strip()}\n"
    lines = text[begins.start() :].lstrip("\n").splitlines()
    depth = _indent(lines[0])
    kept = [lines[0]]
    for line in lines[1:]:
        closes = line.lstrip().startswith(")")  # of arguments on several lines
        if line.strip() and _indent(line) <= depth and not closes:
            break
        kept.append(line)
    return _outdented("\n".join(kept) + "\n")


def _blocks(text: str) -> list[str]:
    """Return the fenced blocks of a text; the last one may be open.

    Line by line: a pattern that looks ahead could be made to search without end.
    """
    found: list[str] = []
    inside: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        begins = line.strip()[:3]
        if not fence and begins in _FENCES:
            fence, inside = begins, []
        elif fence and begins == fence:
            found.append("".join(inside))
            fence = ""
        elif fence:
            inside.append(line)
    return [*found, "".join(inside)] if fence else found


def _closed_part(text: str) -> str:
    """Return a text up to the end of its last closed fence; empty if there is none."""
    lines = text.splitlines(keepends=True)
    fence, kept = "", 0
    for number, line in enumerate(lines):
        begins = line.strip()[:3]
        if not fence and begins in _FENCES:
            fence = begins
        elif fence and begins == fence:
            fence, kept = "", number + 1
    return "".join(lines[:kept])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _outdented(code: str) -> str:
    lines = code.splitlines()
    least = min((_indent(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines) + "\n"


def text_list(text: str) -> list[str]:
    """Return the last JSON list of texts in a reply.

    Raises
    ------
    ReplyError
        If there is none.
    """
    decoder = json.JSONDecoder()
    places = [place for place, letter in enumerate(text) if letter == "["]
    for place in reversed(places[-_MOST_LISTS:]):
        try:
            found, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
            return found
    raise ReplyError("there is no JSON list of texts in the reply")


def section(text: str, title: str) -> str:
    """Return the text below a heading, up to the next heading or fence; empty if there is none."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.strip("#*: \t").lower() == title.lower():
            inside, kept = True, []
        elif inside and bare.startswith(("#", "**", *_FENCES)):
            break
        elif inside:
            kept.append(line)
    return "\n".join(kept).strip()


def changes(text: str) -> list[tuple[str, str]]:
    """Return the SEARCH/REPLACE blocks of a reply: the old text and the new text of each."""
    found: list[tuple[str, str]] = []
    old: list[str] = []
    new: list[str] = []
    part = None
    for line in text.splitlines(keepends=True):
        mark = line.strip()
        if mark.startswith("<<<<<") and mark.endswith("SEARCH"):
            old, new = [], []
            part = old
        elif part is old and set(mark) == {"="} and len(mark) >= 5:  # noqa: PLR2004
            part = new
        elif part is new and mark.startswith(">>>>>") and mark.endswith("REPLACE"):
            found.append(("".join(old), "".join(new)))
            part = None
        elif part is not None:
            part.append(line)
    return found
