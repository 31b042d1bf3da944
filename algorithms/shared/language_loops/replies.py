"""What is taken out of a language model's reply: code, lists, sections.  Nothing of it is run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdbench.worker import Reply

__all__ = ["ReplyError", "code_of", "said", "section", "text_list"]

_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_BEGINS = re.compile(r"^[ \t]*(?:def|class)[ \t]+\w+", re.MULTILINE)
_LONGEST = 200_000
_MOST_LISTS = 50


class ReplyError(ValueError):
    """A reply holds nothing that can be used; the text says why."""


def said(reply: Reply) -> str:
    """Give the text of a reply, without what the model has thought before it.

    Raises
    ------
    ReplyError
        If it was cut off, or is empty.
    """
    if reply.finish_reason == "length":
        raise ReplyError("the reply was cut off")
    text = reply.text[:_LONGEST]
    end = text.rfind("</think>")
    if end >= 0:
        text = text[end + len("</think>") :]
    text = text.partition("<think>")[0]
    if not text.strip():
        raise ReplyError("the reply is empty")
    return text


def code_of(text: str) -> str:
    """Give the code of a reply: the last block between fences that has some, or what is indented.

    Raises
    ------
    ReplyError
        If there is none.
    """
    blocks = [found[2] for found in _FENCE.finditer(text) if _BEGINS.search(found[2])]
    if blocks:
        return _outdented(blocks[-1])
    begins = _BEGINS.search(text)
    if begins is None:
        raise ReplyError("there is no function in the reply")
    lines = text[begins.start() :].lstrip("\n").splitlines()
    depth = _indent(lines[0])
    kept = [lines[0]]
    for line in lines[1:]:
        closes = line.lstrip().startswith(")")  # of arguments that stand below each other
        if line.strip() and _indent(line) <= depth and not closes:
            break
        kept.append(line)
    return _outdented("\n".join(kept) + "\n")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _outdented(code: str) -> str:
    lines = code.splitlines()
    least = min((_indent(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[least:] for line in lines) + "\n"


def text_list(text: str) -> list[str]:
    """Give the last JSON list of texts in a reply.

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
    """Give what stands below a heading, up to the next heading or fence; empty if nothing does."""
    found = re.search(
        rf"^[#*\s]*{re.escape(title)}[*:\s]*$(.*?)(?=^\s*(?:#+\s|```|~~~|\*\*)|\Z)",
        text,
        re.DOTALL | re.MULTILINE | re.IGNORECASE,
    )
    return found[1].strip() if found else ""
