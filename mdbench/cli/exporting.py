"""``mdbench data``: the project's datasets as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from mdbench import datatypes
from mdbench.errors import UsageError
from mdbench.protocols import Protocol
from mdbench.runs.typed import read_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["export"]


def export(
    workspace: Workspace,
    console: Console,
    data_type: str,
    out: Path,
    *,
    with_noise: bool,
    seed: int,
    protocol: Protocol,
    words: Sequence[str] = (),
) -> None:
    """Write all datasets of a data type below `out`; `words` are options of its own."""
    if not with_noise and (seed or protocol is not Protocol.STRICT):
        raise UsageError(
            "--seed and --protocol say which noise, and no noise was asked for.",
            "Add --with-noise.",
        )
    kind = datatypes.find(data_type, workspace.datasets / data_type, workspace.arrays / data_type)
    options = read_words(words, kind.options, data_type)
    kind.say = lambda text: console.print(escape(text), style="dim", soft_wrap=True)
    count = kind.write_all(
        out, with_noise=with_noise, seed=seed, protocol=protocol, options=options
    )
    console.print(f"{count} files in {escape(str(out))}", soft_wrap=True)
