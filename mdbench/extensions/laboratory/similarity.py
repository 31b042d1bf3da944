"""``mdbench lab similarity``: how alike the laws of two collections are."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from eqverdict.similarity import similarity
from mdbench import datatypes
from mdbench.cli.options import Exit
from mdbench.errors import UsageError, counted
from mdbench.runs.plan import select_names
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from rich.console import Console

    from eqverdict.similarity import Similarity

_MOST_SAME = 12


def compare_collections(first: str, second: str, console: Console, *, json_: bool) -> int:
    """Print how alike two collections are.

    Parameters
    ----------
    first, second
        A data type, or one and its datasets after a colon: ``srsd:easy``.

    Raises
    ------
    UsageError
        If there is no such data type or dataset, or its equations are not known.
    """
    laws, others = laws_of(first), laws_of(second)
    compared = similarity(laws, others)
    if not compared.nearest:
        raise UsageError(
            f"{first} and {second} are one and the same law.", "Name more datasets of either."
        )
    if json_:
        text = {
            "schema": 1,
            "one": first,
            "other": second,
            "shared_operators": compared.shared,
            **asdict(compared),
        }
        sys.stdout.write(json.dumps(text, allow_nan=False) + "\n")
        return Exit.DONE
    _show(first, second, compared, console)
    return Exit.DONE


def laws_of(collection: str) -> dict[str, str]:
    """Return the right-hand sides of a collection by the names of their datasets.

    Where a dataset has several, their numbers stand in brackets.

    Raises
    ------
    UsageError
        If there is no such data type or dataset, or its equations are not known.
    """
    kind_name, _, pattern = collection.partition(":")
    place = Workspace.find()
    kind = datatypes.find(kind_name, place.datasets / kind_name, place.arrays / kind_name)
    source = kind.source()
    patterns = [each for each in pattern.split(",") if each]
    laws: dict[str, str] = {}
    for name in select_names(source.names(), patterns, source.groups()):
        texts = source.laws(name)
        for number, text in enumerate(texts, 1):
            laws[name if len(texts) == 1 else f"{name}[{number}]"] = text
    if not laws:
        raise UsageError(
            f"The equations of {collection} are not known.",
            "Give a data type with true equations: ode, pde, srsd or surface.",
        )
    return laws


def _show(first: str, second: str, compared: Similarity, console: Console) -> None:
    both = sorted({*compared.operators} & {*compared.other_operators})
    console.print(
        f"{escape(first)}: {counted(compared.laws, 'equation')}; {escape(second)}: "
        f"{counted(compared.others, 'equation')}",
        soft_wrap=True,
    )
    for title, names in (
        ("operators of both", both),
        (f"of {first} alone", sorted({*compared.operators} - {*both})),
        (f"of {second} alone", sorted({*compared.other_operators} - {*both})),
    ):
        console.print(f"{escape(title)}: {escape(', '.join(names)) or 'none'}", soft_wrap=True)
    console.print(f"share of operators that both have: {compared.shared:.2f}")
    table = Table(box=box.SIMPLE_HEAD)
    for column in (f"equations of {first}, nearest of {second}", "10 %", "median", "90 %"):
        table.add_column(escape(column), justify="left" if " of " in column else "right")
    for title, of in (("operators in common", "operators"), ("likeness of trees", "trees")):
        table.add_row(title, *(f"{value:.2f}" for value in compared.quantiles(of)))
    console.print(table)
    same = compared.same
    share = len(same) / len(compared.nearest)
    console.print(
        f"{len(same)} of {len(compared.nearest)} ({share:.0%}) have the tree of an equation of "
        f"{escape(second)}" + (":" if same else "."),
        soft_wrap=True,
    )
    for each in same[:_MOST_SAME]:
        console.print(f"  {escape(each.law)} as {escape(each.other)}", soft_wrap=True)
    if len(same) > _MOST_SAME:
        console.print(f"  and {len(same) - _MOST_SAME} more (--json has all)")
