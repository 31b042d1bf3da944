from __future__ import annotations

import math

import pytest
from harness import ROOT

from mdbench.datatypes import find
from mdbench.datatypes.facts import Protocol
from mdbench.metrics.spec import MetricSpec, above_floor, raised, ranks

ERROR = MetricSpec(
    name="error", title="", explanation="", scale="log", nothing=1.0, resolution=1e-12
)
SHARE = MetricSpec(name="share", title="", explanation="", better="higher", nothing=0.5)


def test_a_case_ranks_nobody_where_the_truth_is_no_better_than_nothing() -> None:
    floors = (None, 0.0, 0.99, 1.0, math.inf)
    assert [ranks(floor, ERROR) for floor in floors] == [True, True, True, False, False]
    assert [ranks(floor, SHARE) for floor in (None, 0.9, 0.5, 0.1)] == [True, True, False, False]
    unbounded = MetricSpec(name="length", title="", explanation="")
    assert ranks(math.inf, unbounded)


def test_what_is_better_than_the_truth_counts_as_the_truth() -> None:
    assert raised(0.1, 0.2, ERROR) == 0.2
    assert raised(0.3, 0.2, ERROR) == 0.3
    assert raised(0.0, 0.0, ERROR) == raised(1e-20, None, ERROR) == 1e-12
    assert raised(0.9, 0.8, SHARE) == 0.8
    assert raised(-1.0, None, SHARE) == -1.0
    assert above_floor(3.0, 1.5, ERROR) == 2.0
    assert above_floor(None, 1.5, ERROR) is above_floor(3.0, None, ERROR) is None
    assert above_floor(3.0, 1e-20, ERROR) is None


@pytest.mark.parametrize(("snr_db", "unable"), [(None, 2), (20.0, 22), (10.0, 33)])
def test_cases_that_cannot_rank_are_as_many_as_are_known(
    snr_db: float | None, unable: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On the published noise, the true equation is known to score above 1 on so many systems."""
    cache = tmp_path_factory.getbasetemp() / "floors"
    ode = find("ode", ROOT / "datasets" / "ode", cache)
    source = ode.source()
    floors = {
        name: source.load(name, snr_db=snr_db, seed=0, protocol=Protocol.PUBLISHED).floor
        for name in source.names()
    }
    left_out = {name for name, floor in floors.items() if not ranks(floor, ode.metrics[0])}
    assert len(left_out) == unable
    assert {"autocatalysis", "photons-in-a-laser"} <= left_out
