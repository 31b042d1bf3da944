"""``mdbench data``: the project's datasets as files, or what those of one's own are like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape

from mdbench import datatypes
from mdbench.drawing.numbers import counted
from mdbench.errors import UsageError
from mdbench.protocols import Protocol
from mdbench.runs.advising import of_dataset
from mdbench.runs.catalog import Inventory
from mdbench.runs.options import read_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from mdbench.workspace import Workspace

__all__ = ["FilesAsked", "export"]


class FilesAsked(NamedTuple):
    """What is to be done: datasets written below `out`, or the user's at `path` looked at.

    `words` are options that only the data type has.
    """

    out: Path | None
    path: Path | None
    words: Sequence[str]


def export(
    workspace: Workspace,
    console: Console,
    data_type: str,
    asked: FilesAsked,
    *,
    with_noise: bool,
    seed: int,
    protocol: Protocol,
) -> None:
    """Write all datasets of a data type, or say what those of the user's are like.

    Raises
    ------
    UsageError
        If it is asked for neither, or for both.
    """
    if (asked.out is None) == (asked.path is None):
        raise UsageError(
            "data was told neither --out nor --dataset-path."
            if asked.out is None
            else "data was told both --out and --dataset-path.",
            f"To write the project's datasets: mdbench data --data-type {data_type} --out DIR\n"
            f"  To look at your own: mdbench data --data-type {data_type} --dataset-path FILE\n"
            "  To see all options: mdbench data --help",
        )
    if not with_noise and (seed or protocol is not Protocol.STRICT):
        raise UsageError(
            "--seed and --protocol say which noise, and no noise was asked for.",
            "Add --with-noise." if asked.path is None else "Leave them out.",
        )
    if asked.path is not None:
        if with_noise:
            raise UsageError("--with-noise goes with --out.", "Leave it out.")
        _look(workspace, console, data_type, asked.path, asked.words)
        return
    kind = datatypes.find(data_type, workspace.datasets / data_type, workspace.arrays / data_type)
    options = read_words(asked.words, kind.options, data_type)
    kind.say = lambda text: console.print(escape(text), style="dim", soft_wrap=True)
    assert asked.out is not None  # noqa: S101 - for the type checker
    count = kind.write_all(
        asked.out, with_noise=with_noise, seed=seed, protocol=protocol, options=options
    )
    console.print(f"{counted(count, 'file')} in {escape(str(asked.out))}", soft_wrap=True)


def _look(
    workspace: Workspace, console: Console, data_type: str, path: Path, words: Sequence[str]
) -> None:
    inventory = Inventory(workspace)
    kind, source = inventory.data_type(data_type), inventory.source(data_type, path)
    given = read_words(words, kind.options, data_type)
    seen = set()
    for name, options in kind.asked(list(source.names()), given):
        if name in seen:  # a part of the same data
            continue
        seen.add(name)
        dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options)
        lines = list(of_dataset(kind, dataset, kind.views[0], Protocol.STRICT))
        for line in lines or [f"{name}: nothing is known of it beforehand; it can be read."]:
            console.print(escape(line), soft_wrap=True)
