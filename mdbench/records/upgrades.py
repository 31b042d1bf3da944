"""How records of older formats are read: one step from each schema number to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mdbench import __version__
from mdbench.errors import RecordsError
from mdbench.records.schema import SCHEMA

__all__ = ["UPGRADES", "upgrade"]

Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def _limits_in_the_budget(data: dict[str, Any]) -> dict[str, Any]:
    """From 1 to 2: a budget says what a job may use besides time and threads; nothing was kept."""
    none = {"memory_mb": None, "processes": None, "output_mb": None}
    budget = data.get("budget")
    return {**data, "budget": {**budget, **none}} if isinstance(budget, dict) else data


UPGRADES: Mapping[int, Step] = {1: _limits_in_the_budget}
"""By schema number, what makes the next number's record of it; ``schema`` itself is seen to."""


def upgrade(
    data: dict[str, Any], *, steps: Mapping[int, Step] = UPGRADES, current: int = SCHEMA
) -> dict[str, Any]:
    """Bring a record's data to the current schema.

    Parameters
    ----------
    data
        A record as it was read.
    steps
        For each older schema number the step to the next.
    current
        The schema number to arrive at.

    Raises
    ------
    RecordsError
        If there is no schema number, or if it is newer than `current`.
    """
    found = data.get("schema")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RecordsError(
            f"this is no record of mdbench: its schema number is {found!r}",
            "Is this a results file? Choose another folder with --result-dir if it is not.",
        )
    if found > current:
        raise RecordsError(
            f"this record has schema {found} (mdbench {data.get('mdbench', 'unknown')}), "
            f"and mdbench {__version__} knows schemas up to {current}",
            "Update mdbench, or choose another folder with --result-dir. The file was not changed.",
        )
    for number in range(found, current):
        data = {**steps[number](data), "schema": number + 1}
    return data
