"""The verbs: where each is, and its line on the first page of the help.

A verb is a function whose parameters are its options, as Typer reads them.  It is named here, or by
an extension or a package in the group ``mdbench.verbs`` of its entry points.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from mdbench.doors import Door, extensions, packages
from mdbench.errors import MdbenchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMMANDS = "mdbench.cli.commands"
GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Run": {
        "run": ("run:run", "Run methods on datasets."),
        "plan": ("run:plan", "Show what run would do, and its cost."),
        "why": ("run:why", "Show why run would run a job again, or not."),
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
        "claims": ("laboratory:claims", "Show which claims of papers hold."),
    },
}
"""The core's verbs, by the headings of the help: the function in ``cli/commands``, and a line."""
EXTENSIONS = "Extensions"
"""The heading of verbs that are not the core's."""


class VerbGroup:
    """A verb that has verbs of its own, as ``mdbench llm probe``.

    Parameters
    ----------
    title
        Their heading on the first page of the help.
    name
        The verb; others may add to its verbs in the group ``mdbench.verbs.NAME``.
    module
        Where the functions are.
    functions
        Their names, which those of the verbs follow.
    """

    def __init__(self, title: str, name: str, module: str, functions: Sequence[str]) -> None:
        self.title = title
        self.verbs = Door(
            f"mdbench.verbs.{name}",
            f"verb of {name}",
            {
                function.strip("_").replace("_", "-"): f"{module}:{function}"
                for function in functions
            },
        )


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
    for name in VERBS.names():
        if name in VERBS.core:
            continue
        try:
            verb = VERBS.load(name)
        except MdbenchError as error:  # the other verbs are shown nevertheless
            page.setdefault(EXTENSIONS, []).append((name, error.message))
            continue
        if isinstance(verb, VerbGroup):
            rows = [(f"{name} {own}", _line_of(verb.verbs.load(own))) for own in verb.verbs.names()]
            page.setdefault(verb.title, []).extend(rows)
        else:
            page.setdefault(EXTENSIONS, []).append((name, _line_of(verb)))
    return page


def _line_of(verb: Any) -> str:
    """Return the first line of a verb's docstring."""
    return (inspect.getdoc(verb) or "").partition("\n")[0]


OLD_SPELLINGS = "mdbench.old_spellings"
"""The group in which a package names what its verbs were called before: ``show --old = new``."""


def renamed(given: Sequence[str]) -> UsageError | None:
    """Return the error of a verb, or an option of one, that is called otherwise now; else None."""
    for old, new in {**packages(OLD_SPELLINGS), **extensions(OLD_SPELLINGS)}.items():
        verb, *options = old.split()
        if given[:1] == [verb] and {*options} <= {*given}:
            return UsageError(f"There is no mdbench {old} any more.", f"It is now: mdbench {new}")
    return None
