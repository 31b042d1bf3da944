"""The verbs: where each is, and its line on the first page of the help.

A verb is a function whose parameters are its options, as Typer reads them.  It is named here, or by
an extension or a package in the group ``mdbench.verbs`` of its entry points.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from mdbench.doors import Door
from mdbench.errors import MdbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMANDS = "mdbench.cli.commands"
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Run": {
        "run": ("run:run", "Run methods on datasets."),
        "plan": ("run:plan", "Show what run would do, and its cost."),
        "study": ("run:study_", "Write or check a study file."),
        "list": ("workspace:list_", "Show the methods and the datasets."),
        "data": ("workspace:data", "Write datasets as files, or look at yours."),
        "install": ("workspace:install", "Prepare the environments of methods."),
        "probe": ("workspace:probe", "Show how well methods are isolated here."),
    },
    "Look at results": {
        "report": ("report:report", "Compare methods: an HTML page, or text."),
        "watch": ("report:watch", "Serve the report of a run that goes on."),
        "show": ("results:show", "Print the best equations, as text or code."),
        "predict": ("results:predict", "Integrate or evaluate these equations."),
        "compare": ("report:compare", "Show what changed between two results."),
        "rivals": ("laboratory:rivals", "Show which other equations fit as well."),
        "rescore": ("results:rescore", "Score the answers of records again."),
        "reproduce": ("results:reproduce", "Run the jobs of results again."),
    },
    "Your method": {
        "new": ("methods:new", "Make a method's folder that can be run."),
        "check": ("methods:check", "Check that methods keep their contract."),
        "score": ("score:score", "Compare an equation with the true one."),
    },
    "Share": {
        "combine": ("report:combine", "Write all records as one table."),
        "export": ("report:export", "Write tables for a paper."),
        "bundle": ("report:bundle", "Put results into one archive to cite."),
        "submit": ("community:submit", "Add a bundle to a registry."),
        "audit": ("community:audit", "Run a sample of a bundle's jobs again."),
        "board": ("community:board", "Make a site of all bundles of a registry."),
        "certify": ("community:certify", "Write proofs of verdicts."),
        "verify": ("community:verify", "Check proofs of verdicts."),
    },
    "More": {
        "fresh": ("laboratory:fresh", "Draw problems that nobody has seen."),
        "why-not": ("laboratory:why_not", "Show whether noise hides an equation."),
        "similarity": ("laboratory:similarity", "Show how alike two collections are."),
        "llm-probe": ("language_models:llm_probe", "Ask a model what it knows of problems."),
        "llm-judge": ("language_models:llm_judge", "Ask a model whether answers are right."),
        "llm-stub": ("language_models:llm_stub", "Run a mock language-model server."),
    },
}
"""The core's verbs, by the headings of the help: the function in ``cli/commands``, and a line."""
REMOVED: Mapping[str, str] = {
    "why": "mdbench plan --why, with the same options",
    "claims": "mdbench export --markdown --published, with papers' numbers next to yours",
}
"""Verbs of earlier versions, and what is typed instead."""
EXTENSIONS = "Extensions"
"""The heading of verbs that are not the core's."""
VERBS = Door(
    "mdbench.verbs",
    "verb",
    {
        name: f"{_COMMANDS}.{function}"
        for verbs in GROUPS.values()
        for name, (function, _) in verbs.items()
    },
)


def first_page() -> dict[str, list[tuple[str, str]]]:
    """Return the headings of the first page of the help, with names and lines of verbs below."""
    page = {
        heading: [(name, line) for name, (_, line) in verbs.items()]
        for heading, verbs in GROUPS.items()
    }
    more = [name for name in VERBS.names() if name not in VERBS.core]
    return page | ({EXTENSIONS: [(name, _line_of(name)) for name in more]} if more else {})


def _line_of(name: str) -> str:
    """Return the first line of the docstring of an extension's verb."""
    try:
        return (inspect.getdoc(VERBS.load(name)) or "").partition("\n")[0]
    except MdbenchError as error:  # the other verbs are shown nevertheless
        return error.message
