"""How results are cited: a ``CITATION.cff`` (Citation File Format 1.2.0)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["citation"]


def citation(told: Mapping[str, Any], authors: Sequence[str]) -> str:
    """Write what a bundle tells of itself in the Citation File Format.

    Parameters
    ----------
    told
        The bundle's ``title``, ``mdbench``, ``last``, ``methods``, ``data_types``, ``results``.
    authors
        ``Family, Given`` for a person, any other text for a group; none for those of mdbench.

    Raises
    ------
    UsageError
        If an author's name is empty.
    """
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these results, please cite them and the methods behind them.",
        "type: dataset",
        f"title: {_text(told['title'])}",
        "authors:",
        *(line for author in authors or ["The users of mdbench"] for line in _author(author)),
        f"version: {_text(told['mdbench'])}",
    ]
    if told["last"]:
        lines.append(f"date-released: {told['last']}")
    what = f"{counted(told['results'], 'result')} on {', '.join(told['data_types'])}"
    lines.append(f"abstract: {_text(what + ' of ' + ', '.join(told['methods']))}")
    lines += ["keywords:", *(f"  - {each}" for each in ("equation discovery", "benchmark"))]
    return "\n".join(lines) + "\n"


def _author(author: str) -> list[str]:
    family, comma, given = (part.strip() for part in author.partition(","))
    if not family or (comma and not given):
        raise UsageError(
            f"--author {author!r} is no name.", "A person is 'Family, Given'; a group any text."
        )
    if not comma:
        return [f"  - name: {_text(family)}"]
    return [f"  - family-names: {_text(family)}", f"    given-names: {_text(given)}"]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a double-quoted scalar of YAML, too
