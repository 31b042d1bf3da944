"""Partial differential equations, known by a sampled field."""

from __future__ import annotations

import re

from mdbench.datatypes.equations.options import DERIVATIVES, OWN_FIELDS
from mdbench.datatypes.facts import Option, TypeFacts, by_number
from mdbench.errors import UsageError


def _whole_number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) == 0:
        raise UsageError(
            f"--max-rows is {text!r}.", "Give a number of training samples, e.g. 10000."
        )
    return int(text)


FACTS = TypeFacts(
    views=("table", "field"),
    options=(
        DERIVATIVES,
        Option.choice(
            "--variant", ("released",), "Data as they were published, with what is wrong in them."
        ),
        Option(
            "--max-rows",
            "Train on N samples at most, drawn by the seed.",
            metavar="N",
            parse=_whole_number,
            views=("table", "field"),
            changes_system=False,
            method_key="max_rows",
        ),
        *OWN_FIELDS,
    ),
    order=lambda _, head: by_number(head["id"]),
)
