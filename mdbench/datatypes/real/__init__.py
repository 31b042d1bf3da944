"""Measured tables, the laws that people found in them, folds, and dimensions."""

from __future__ import annotations

from mdbench.datatypes.equations.options import IGNORE, MISSING_VALUES, NA_VALUES, SKIP
from mdbench.datatypes.facts import Option, TypeFacts
from mdbench.errors import UsageError


def _fold_numbers(text: str) -> list[int]:
    if text == "none":
        return [WHOLE]
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise UsageError(
            f"--fold is {text!r}.", "Give numbers from 1 on, such as 1 or 1,2,3, or none."
        )
    return numbers


WHOLE = 0
"""The number of the fold that holds no row out."""


OWN_TABLES = (IGNORE, SKIP, MISSING_VALUES, NA_VALUES)
"""How tables of the user's are read that have no description."""
FACTS = TypeFacts(
    views=("table",),
    options=(
        Option(
            "--fold",
            "Only these folds of each table; default: all, one after the other.  With none no row "
            "of the user's table is held out: all are fitted, and scores are of them.",
            metavar="NUMBERS|none",
            parse=_fold_numbers,
            changes_system=False,
            is_fold=True,
        ),
        *OWN_TABLES,
    ),
    order=lambda name, _: (name,),
    alone=(".csv",),
)
