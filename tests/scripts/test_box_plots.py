"""Box plots and kinds of failure on pages of results."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from box_plots import box_figures, inside_and_outside, kinds_of_failure, quantile
from reporting import compare, data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mdbench.reports.leaderboard import Leaderboard

SYSTEMS = [f"system-{n}" for n in range(20)]


def test_a_quantile_is_one_of_the_values_and_failures_are_the_largest() -> None:
    values = [3.0, math.inf, 1.0, 2.0]
    assert [quantile(values, share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)] == [
        *(1.0, 1.0, 2.0, 3.0),
        math.inf,
    ]
    assert quantile([math.inf], 0.5) == math.inf


@pytest.fixture
def board() -> Leaderboard:
    ones = [
        data("sindy", system, snr_db=snr_db, nmse=10.0 ** -(n % 5), complexity=n + 1, wall_s=2.0)
        for n, system in enumerate(SYSTEMS)
        for snr_db in (None, 20.0, 10.0)
    ]
    ones += [
        data("operon", system, snr_db=snr_db, status="timeout" if n < 3 else "ok", nmse=0.1)
        for n, system in enumerate(SYSTEMS)
        for snr_db in (None, 20.0, 10.0)
    ]
    return compare(ones)


def test_errors_sizes_and_times_are_drawn_by_noise(board: Leaderboard) -> None:
    found = {each.title: each for each in box_figures(board)}
    assert list(found) == ["NMSE", "Nodes of the equations", "Time of a job (s)"]
    svg = found["NMSE"].svg
    ET.fromstring(svg)
    titles = re.findall(r"<title>(.*?)</title>", svg)
    assert "sindy, clean: median 0.01 of 20" in titles
    assert any(title.startswith("sindy, 20 dB") for title in titles)
    assert not any("10 dB" in title for title in titles)
    assert "operon, clean: median 0.1 of 20" in titles
    assert ">3</text>" in svg  # jobs of operon without an answer
    assert "clean, then 20 dB" in found["NMSE"].caption


def test_a_level_without_jobs_is_neither_drawn_nor_named() -> None:
    ones = [data(name, each, nmse=0.1) for name in ("sindy", "operon") for each in SYSTEMS]
    figure = box_figures(compare(ones))[0]
    assert "sindy, clean" in figure.svg
    assert "20 dB" not in figure.svg
    assert "20 dB" not in figure.caption
    assert "Data: clean." in figure.caption


def test_kinds_of_failure_are_shares_of_all_jobs() -> None:
    assert kinds_of_failure({"operon": [{"nmse": 0.1}]}) is None  # nothing has a kind
    kinds = ("none", "search", "search", "fitting")
    jobs: list[Mapping[str, object]] = [
        {"failure_kind": kinds[number % 4], "nmse": 0.1, "nmse_ood": 2.0} for number in range(48)
    ]
    jobs += [{"failure_kind": None, "nmse": None, "nmse_ood": None}] * 12
    figure = kinds_of_failure({"operon": jobs})
    assert figure is not None
    ET.fromstring(figure.svg)
    titles = re.findall(r"<title>operon: (\d+) of 60, (.*?)</title>", figure.svg)
    assert sum(int(count) for count, _ in titles) == 60
    assert ("12", "no answer") in titles
    assert ("24", "a family missing or too many") in titles
    boxes = inside_and_outside({"operon": jobs})
    assert boxes is not None
    assert "operon, outside: median 2 of 60" in boxes.svg
    assert "inside, then outside" in boxes.caption
