from __future__ import annotations

import pytest
from house import ROOT

from mdbench.datatypes import find
from mdbench.datatypes.base import Protocol
from mdbench.metrics.floor import above_floor, ranks


def test_the_rule() -> None:
    assert [ranks(floor) for floor in (None, 0.0, 0.99, 1.0, float("inf"))] == [
        *(True, True, True),
        *(False, False),
    ]
    assert above_floor(3.0, 1.5) == 2.0
    assert above_floor(None, 1.5) is above_floor(3.0, None) is None


@pytest.mark.parametrize(("snr_db", "unable"), [(None, 2), (20.0, 22), (10.0, 33)])
def test_cases_that_cannot_rank_are_as_many_as_are_known(
    snr_db: float | None, unable: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On the published noise, the true equation is known to score above 1 on so many systems."""
    cache = tmp_path_factory.getbasetemp() / "floors"
    source = find("ode", ROOT / "datasets" / "ode", cache).source()
    floors = {
        name: source.load(name, snr_db=snr_db, seed=0, protocol=Protocol.PUBLISHED).nmse_floor
        for name in source.names()
    }
    left_out = {name for name, floor in floors.items() if not ranks(floor)}
    assert len(left_out) == unable
    assert {"autocatalysis", "photons-in-a-laser"} <= left_out
