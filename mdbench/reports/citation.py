"""How a bundle is to be cited, in the Citation File Format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def citation(about: Mapping[str, Any], authors: Sequence[str]) -> str:
    """Write a bundle's description of itself in the Citation File Format.

    Parameters
    ----------
    about
        The bundle's ``title``, ``mdbench``, ``last``, ``methods``, ``data_types``, ``results`` and
        ``jobs_left``.
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
        f"title: {_text(about['title'])}",
        "authors:",
        *(line for author in authors or ["The users of mdbench"] for line in _author(author)),
        f"version: {_text(about['mdbench'])}",
    ]
    if about["last"]:
        lines.append(f"date-released: {about['last']}")
    what = f"{counted(about['results'], 'result')} on {', '.join(about['data_types'])}"
    what += f" of {', '.join(about['methods'])}"
    if about["jobs_left"]:
        what += f"; {counted(about['jobs_left'], 'job')} of the study without a record"
    lines.append(f"abstract: {_text(what)}")
    lines += ["keywords:", *(f"  - {each}" for each in ("equation discovery", "benchmark"))]
    return "\n".join(lines) + "\n"


def _author(author: str) -> list[str]:
    family, comma, given_names = (part.strip() for part in author.partition(","))
    if not family or (comma and not given_names):
        raise UsageError(
            f"--author {author!r} is no name.", "A person is 'Family, Given'; a group any text."
        )
    if not comma:
        return [f"  - name: {_text(family)}"]
    return [f"  - family-names: {_text(family)}", f"    given-names: {_text(given_names)}"]


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a double-quoted scalar of YAML, too
