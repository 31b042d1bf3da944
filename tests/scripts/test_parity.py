"""SINDy beside the authors' code and the paper: counts by hand."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from parity import UPSTREAM, parity_table
from reporting import result

if TYPE_CHECKING:
    from mdbench.records import Record


def as_upstream(system: str, nmse: str, complexity: str) -> Record:
    from mdbench.extensions.papers.published import read_published  # noqa: PLC0415 - it may be taken away

    ticked = system in read_published().found("ode", "sindy")
    scores = {"nmse": float(nmse), "complexity": int(complexity), "identified": float(ticked)}
    return result("sindy", system, scores=scores, protocol="published")


@pytest.mark.extension("papers")
def test_what_agrees_is_counted() -> None:
    with UPSTREAM.open(encoding="utf-8", newline="") as file:
        lines = [(one["system"], one["nmse"], one["complexity"]) for one in csv.DictReader(file)]
    ones = [as_upstream(*line) for line in lines]
    text = parity_table(ones)
    assert f"- {len(lines)} of {len(lines)} systems have upstream's" in text
    assert "- 10 of the 10 systems that the paper ticks are identified, and 0 others." in text
    rows = [line for line in text.splitlines() if line.startswith("| I") and "| ID |" not in line]
    assert len(rows) == len(lines) == 63
    close = int(text.split("Of the other 53, ")[1].split()[0])
    assert sum(row.endswith("* |") for row in rows) == 53 - close
    worse = [one.model_copy(update={"metrics": {**one.metrics, "nmse": 0.5}}) for one in ones]
    assert f"of {len(lines)} systems have" in parity_table([*ones[:-1], worse[-1]])
    assert f"- {len(lines) - 1} of" in parity_table([*ones[:-1], worse[-1]])
    missed = {**ones[0].metrics, "identified": 0.0}  # the first one is ticked
    ones[0] = ones[0].model_copy(update={"metrics": missed})
    assert "- 9 of the 10 systems" in parity_table(ones)
