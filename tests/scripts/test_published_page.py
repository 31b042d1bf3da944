"""Numbers of papers stand next to what records of the same method, data and metric have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import published_page
import pytest
from reporting import result

from mdbench import datatypes
from mdbench.records import Status
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.records import Record

NUMBER = {"method": "a", "data_type": "ode", "data": "odebench", "metric": "identified"}


def test_every_number_is_whole() -> None:
    seen = set()
    for number in published_page.numbers():
        assert float(number["value"]) == pytest.approx(float(number["value"]))
        assert number["source"]
        assert number["paper"]
        key = tuple(number[name] for name in ("paper", "method", "data", "metric"))
        assert key not in seen, key
        seen.add(key)
        # What can be compared names data of this benchmark; else the file says why it cannot.
        if not number["differs"]:
            assert number["data_type"] in datatypes.names()
            assert published_page.datasets_of(number, Workspace.find()), key
    assert len(seen) > 50


@pytest.mark.parametrize(
    ("metric", "records", "shown"),
    [
        ("identified", [result("a", "x", scores={"identified": 1.0})], "1 (1 jobs)"),
        (
            "identified",  # what failed counts as 0
            [
                result("a", "x", scores={"identified": 1.0}),
                result("a", "y", status=Status.FAILED.value),
            ],
            "0.5 (2 jobs)",
        ),
        ("identified", [result("a", "x", status=Status.TIMEOUT.value)], "no answer (1 jobs)"),
        ("identified", [result("b", "x"), result("a", "z"), result("a", "x", snr_db=20.0)], ""),
        ("identified", [result("a", "x", protocol="published")], ""),
        ("skeletons", [result("a", "x")], ""),
        (
            "r2",  # one fold of three without sense does not decide
            [result("a", "x", seed=n, scores={"fvu": x}) for n, x in enumerate((0.1, 0.2, 1e9))],
            "0.8 (3 jobs)",
        ),
    ],
)
def test_only_what_is_alike_stands_next_to_a_number(
    metric: str, records: list[Record], shown: str
) -> None:
    assert published_page.here(NUMBER | {"metric": metric}, records, {"x", "y"}) == shown


def test_the_table_has_a_row_for_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_page, "read_bundle", lambda *_: [])
    text = published_page.filled("# A\n\n<!-- numbers -->\n\n<!-- end -->\nThe end.\n")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == len(list(published_page.numbers()))
    assert text.endswith("<!-- end -->\nThe end.\n")
