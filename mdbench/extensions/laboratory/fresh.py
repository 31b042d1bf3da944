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
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.workspace import Workspace


def draw_fresh(
    seed: str,
    workspace: Workspace,
    console: Console,
    *,
    wanted: Sequence[str],
    count: int | None,
    published: Path | None,
    grammar: int | None,
) -> None:
    """Draw problems and print where they are; first compare the seed with a commitment."""
    able = [kind.name for kind in datatypes.classes() if kind.fresh_problems]
    for name in wanted:
        if name not in able:
            raise UsageError(f"Problems of {name} are not drawn.", did_you_mean(name, able))
    if published is not None:
        grammar, changed = check_commitment(seed, published, workspace, grammar)
        console.print(f"The seed is that of {escape(str(published))}.", soft_wrap=True)
        if changed:
            names = ", ".join(changed)
            console.print(f"[yellow]Changed or new since:[/] {escape(names)}", soft_wrap=True)

    def report(name: str, done: int, of: int) -> None:
        if console.is_terminal and done % 10 == 0:
            console.print(f"{name}: {done} of {of}", style="dim")

    number = grammar or _published_grammar(seed, workspace) or GRAMMARS[-1]
    drawn = draw(seed, workspace, list(wanted) or able, count, report, grammar=number)
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
        published = json.loads(path.read_text(encoding="utf-8"))["commitment"]
        if published in known:
            return known[published]
    return None


def print_commitment(seed: str, grammar: int | None, workspace: Workspace) -> None:
    """Print what is to be published before the seed, as JSON."""
    print(json.dumps(commit(seed, grammar or GRAMMARS[-1], workspace), indent=1))
