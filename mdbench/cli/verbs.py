"""The verbs: where each is, and its line on the first page of the help.

A verb is a function whose parameters are its options, as Typer reads them.  It is named here, or by
an extension or a package in the group ``mdbench.verbs`` of its entry points.  A name of two words,
such as ``lab fresh``, is a verb of a group.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from mdbench.doors import Door
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_COMMANDS = "mdbench.cli.commands"
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Run": {
        "run": ("run:run", "Run methods on datasets."),
        "plan": ("run:plan", "Show what run would do, and its cost."),
        "study": ("run:study_", "Write or check a study file."),
        "list": ("run:list_", "Show the methods and the datasets."),
        "data": ("run:data", "Write datasets as files, or look at yours."),
        "install": ("run:install", "Prepare the environments of methods."),
        "probe": ("run:probe", "Show how well methods are isolated here."),
    },
    "Look at results": {
        "report": ("report:report", "Compare methods: an HTML page, or text."),
        "show": ("results:show", "Print the best equations, as text or code."),
        "predict": ("results:predict", "Integrate or evaluate these equations."),
        "compare": ("report:compare", "Show what changed between two results."),
        "rescore": ("results:rescore", "Score the answers of records again."),
        "reproduce": ("results:reproduce", "Run the jobs of results again."),
    },
    "Your method": {
        "new": ("methods:new", "Make a method's folder that can be run."),
        "check": ("methods:check", "Check that methods keep their contract."),
        "score": ("results:score", "Compare an equation with the true one."),
    },
    "Share": {
        "combine": ("report:combine", "Write all records as one table."),
        "bundle": ("report:bundle", "Put results into one archive to cite."),
    },
    "More": {
        "help": ("run:help_", "Show all verbs."),
    },
}
"""The core's verbs, by the headings of the help: the function in ``cli/commands``, and a line."""
REMOVED: Mapping[str, str] = {
    "why": "mdbench plan --why, with the same options",
    "claims": "mdbench export --markdown --published, with papers' numbers next to yours",
}
"""Verbs of earlier versions, and what is typed instead."""
MORE = "More"
"""The heading of verbs that are not the core's."""
_LINE = 46
"""Characters of a list of verbs on the first page."""
FURTHER = {
    *("study", "probe", "watch", "predict", "rescore", "reproduce", "combine", "export", "help"),
    *("fit", "refit"),
}
"""Verbs that are not on the first page of the help."""
VERBS = Door(
    "mdbench.verbs",
    "verb",
    {
        name: f"{_COMMANDS}.{function}"
        for verbs in GROUPS.values()
        for name, (function, _) in verbs.items()
    },
)
MOVED_OPTIONS = Door("mdbench.moved_options", "moved option", {})
"""Options of earlier versions, and the verbs that do now what they did."""


def verbs_of(group: str = "") -> list[str]:
    """Return the verbs of a group by their last words; of the program, and its groups, of none."""
    start = f"{group} " if group else ""
    names = (name.removeprefix(start) for name in VERBS.names() if name.startswith(start))
    return list(dict.fromkeys(name.partition(" ")[0] for name in names))


def moved_to(name: str) -> str | None:
    """Return the verb of a group that had a name without its group once, or is typed so."""
    words = name.replace("-", " ").split()
    for full in VERBS.names():
        of_group = full.partition(" ")[2]
        if of_group and (of_group == name or full.replace("-", " ").split() == words):
            return full
    return None


def option_moved_to(words: Sequence[str]) -> str | None:
    """Return the verb that does what an option of another verb did once; None for none.

    A package names it in the group ``mdbench.moved_options``: ``show --old = new verb``.
    """
    moved = (old for old in MOVED_OPTIONS.names() if {*old.split()} <= {*words})
    return next(map(MOVED_OPTIONS.reference, moved), None)


def _listed(verbs: Sequence[str]) -> str:
    """Return the verbs of a group for one line of 60 characters."""
    text = ", ".join(verbs)
    return text if len(text) <= _LINE else f"{text[:_LINE].rpartition(',')[0]}, ..."


def first_page() -> dict[str, list[tuple[str, str]]]:
    """Return the headings of the first page of the help, with names and lines of verbs below."""
    page = _core_page(FURTHER)
    for name in verbs_of():
        if name not in VERBS.core and name not in FURTHER:
            line = line_of(name) if name in VERBS else _listed(verbs_of(name))
            page.setdefault(MORE, []).append((name, line))
    return {heading: rows for heading, rows in page.items() if rows}


def all_verbs() -> dict[str, list[tuple[str, str]]]:
    """Return the headings of all verbs, with their names and lines below."""
    page = _core_page()
    for name in VERBS.names():
        if name not in VERBS.core:
            heading = name.partition(" ")[0] if " " in name else MORE
            page.setdefault(heading, []).append((name, line_of(name)))
    return page


def _core_page(left_out: Collection[str] = ()) -> dict[str, list[tuple[str, str]]]:
    return {
        heading: [(name, line) for name, (_, line) in verbs.items() if name not in left_out]
        for heading, verbs in GROUPS.items()
    }


def line_of(name: str) -> str:
    """Return the first line of the docstring of an extension's verb."""
    try:
        return (inspect.getdoc(VERBS.load(name)) or "").partition("\n")[0]
    except MdbenchError as error:  # the other verbs are shown nevertheless
        return error.message
