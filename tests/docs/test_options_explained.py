"""Every verb and every option is on a page of the documentation that a person has written."""

from __future__ import annotations

import re

import options_page
import pytest
import typer
from harness import ROOT

from mdbench import datatypes
from mdbench.cli.main import app
from mdbench.cli.options import METHODS
from mdbench.cli.verbs import VERBS

PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
AS_RUN = {"fit", "plan", "study"}
"""Verbs that have the options of `run`, which are explained once."""
SCRIPTS = {"run": "./run.sh", "install": "./install.sh"}
SHARED = {METHODS}
"""Options that many verbs have, and that are explained once for all."""


def pages_of(verb: str) -> list[str]:
    """Return the pages that name a verb."""
    names = {verb, "run"} if verb in AS_RUN else {verb}
    words = [word for name in names for word in (f"mdbench {name}", f"`{name}", SCRIPTS.get(name))]
    pattern = "|".join(rf"{re.escape(word)}(?![\w-])" for word in filter(None, words))
    return [text for text in PAGES.values() if re.search(pattern, text)]


def is_named(option: str, pages: list[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) for text in pages)


@pytest.mark.parametrize("verb", sorted(VERBS.names()))
def test_every_option_of_a_verb_is_on_a_page_that_names_the_verb(verb: str) -> None:
    commands = dict(options_page.commands(typer.main.get_command(app)))
    pages = pages_of(verb)
    assert pages, f"no page names mdbench {verb}"
    unexplained = [
        name
        for parameter in commands[verb].params
        if not getattr(parameter, "hidden", False)
        for name in parameter.opts
        if name.startswith("--") and name != "--help"
        if not is_named(name, [*PAGES.values()] if name in SHARED else pages)
    ]
    assert not unexplained, f"explain them on a page that names mdbench {verb}"


@pytest.mark.parametrize("kind", datatypes.names())
def test_every_option_of_a_data_type_is_on_a_page(kind: str) -> None:
    names = [option.name for option in datatypes.facts_of(kind).options]
    assert [name for name in names if not is_named(name, [*PAGES.values()])] == []


def test_an_option_that_no_page_has_is_seen() -> None:
    assert not is_named("--seed", ["only --seeds, and --no--seed"])
    assert is_named("--seed", ["with `--seed`."])
