"""``mdbench lab fresh``: problems newly drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench import datatypes
from mdbench.datatypes.facts import FRESH
from mdbench.errors import UsageError, did_you_mean
from mdbench.extensions.laboratory.drawing import (
    GRAMMARS,
    check_commitment,
    commit,
    commitment,
    draw,
    read_commitment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.workspace import Workspace


def draw_fresh(
    seed: str | None,
    workspace: Workspace,
    console: Console,
    *,
    wanted: Sequence[str],
    count: int | None,
    published: Path | None,
    number: str | None,
    grammar: int | None,
) -> None:
    """Draw problems and print where they are; first compare the seed with a commitment."""
    able = [kind.name for kind in datatypes.classes() if kind.fresh_problems]
    for name in wanted:
        if name not in able:
            raise UsageError(f"Problems of {name} are not drawn.", did_you_mean(name, able))
    if published is not None:
        seed, grammar, changed = check_commitment(seed, published, workspace, grammar, number)
        console.print(f"The seed is that of {escape(str(published))}.", soft_wrap=True)
        if changed:
            names = ", ".join(changed)
            console.print(f"[yellow]Changed or new since:[/] {escape(names)}", soft_wrap=True)
    elif seed is None or number is not None:
        raise UsageError(
            "--number is of an event that a commitment names." if seed else "There is no seed.",
            "Give --seed TEXT, or --commitment FILE.",
        )

    def report(name: str, done: int, of: int) -> None:
        if console.is_terminal and done % 10 == 0:
            console.print(f"{name}: {done} of {of}", style="dim")

    rules = grammar or _published_grammar(seed, workspace) or GRAMMARS[-1]
    drawn = draw(seed, workspace, list(wanted) or able, count, report, grammar=rules)
    for name, folder in drawn.items():
        console.print(
            f"{len(list(folder.glob('*.toml')))} problems of {name} in {escape(str(folder))}: "
            f"--data-type {name} --dataset {FRESH}{escape(seed)}",
            soft_wrap=True,
        )


def _published_grammar(seed: str, workspace: Workspace) -> int | None:
    """Return the grammar by which a study of the project has committed to a seed, or None."""
    known = {commitment(seed, grammar): grammar for grammar in GRAMMARS}
    for path in sorted((workspace.root / "studies").glob("*.commitment.json")):
        published = read_commitment(path).get("commitment")
        if published in known:
            return known[published]
    return None


def print_commitment(
    seed: str | None, grammar: int | None, workspace: Workspace, event: str | None
) -> None:
    """Print what is to be published before the seed, as JSON.

    Raises
    ------
    UsageError
        If there is neither a seed nor an event, or both.
    """
    if (seed is None) == (event is None):
        raise UsageError(
            "--commit needs a seed or an event.",
            "Give --seed TEXT, or --event TEXT: what the number that makes the seed comes from.",
        )
    print(json.dumps(commit(seed, grammar or GRAMMARS[-1], workspace, event), indent=1))
