"""Curves that are kept equal those that are made, bit by bit, whatever lies on the disk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.data.smoothing import smooth
from mdbench.datatypes.ode import curve_cache
from mdbench.datatypes.ode.curve_cache import CurveCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.data.smoothing import Smoothed


class Making:
    """Smooths series, and counts how often."""

    def __init__(self, seed: int, shapes: Sequence[tuple[int, int]]) -> None:
        draw = np.random.default_rng(seed)
        self.series = [
            (np.sort(draw.uniform(0, 5, n)), draw.standard_normal((n, d)).cumsum(axis=0))
            for n, d in shapes
        ]
        self.between = [(t[1:] + t[:-1]) / 2 for t, _ in self.series]
        self.count = 0

    def __call__(self) -> list[Smoothed]:
        self.count += 1
        return [smooth(t, u) for t, u in self.series]

    def asked(self, cache: CurveCache, how: object = ()) -> list[Smoothed]:
        return cache.get(self.series, self.between, how, self)


def are_equal(
    found: Sequence[Smoothed], expected: Sequence[Smoothed], between: Sequence[np.ndarray]
) -> bool:
    return (
        len(found) == len(expected)
        and all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for one, other in zip(found, expected, strict=True)
            for name in ("t", "u", "du", "variances", "remarks")
        )
        and all(
            np.array_equal(one.at(times), other.at(times))
            for one, other, times in zip(found, expected, between, strict=True)
        )
    )


@pytest.mark.parametrize("shapes", [[(30, 1)], [(40, 3)], [(12, 2), (50, 2), (9, 2)]])
def test_curves_are_the_same_from_the_disk_and_are_made_once(
    tmp_path: Path, shapes: list[tuple[int, int]]
) -> None:
    making = Making(1, shapes)
    expected = making()
    made, read = (making.asked(CurveCache(tmp_path)) for _ in range(2))
    assert making.count == 2
    for found in (made, read):
        assert are_equal(found, expected, making.between)
    assert making.count == 2  # the times in between are kept, too
    elsewhere = [times[2:5] + 1e-3 for times in making.between]
    assert are_equal(read, expected, elsewhere)
    assert making.count > 2


def _smoothed(one: tuple[np.ndarray, np.ndarray]) -> list[Smoothed]:
    return [smooth(*one)]


def test_other_samples_times_or_ways_are_other_curves(tmp_path: Path) -> None:
    making = Making(2, [(30, 2)])
    (t, u), between = making.series[0], making.between[0]
    asked = [((t, u), between, 0)]
    asked += [((t, np.nextafter(u, 9)), between, 0), ((np.nextafter(t, 9), u), between, 0)]
    asked += [((t, u), between[1:], 0), ((t, u), between, 1)]
    asked += [((t, u[:, :1]), between, 0), ((t[:-1], u[:-1]), between[:-1], 0)]
    for number, (one, times, how) in enumerate(asked, start=1):
        for _ in range(2):
            CurveCache(tmp_path).get([one], [times], how, partial(_smoothed, one))
        assert len(list(tmp_path.rglob("*.curves"))) == number


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    making = Making(3, [(20, 2)])
    expected = making.asked(CurveCache(tmp_path))
    (file,) = tmp_path.rglob("*.curves")
    whole = file.read_bytes()
    place = len(whole) // 2
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for damaged in (b"", b"\n", whole[:7], whole[:place], whole + b"0" * 8, flipped, b"x" * 200):
        file.write_bytes(damaged)
        making.count = 0
        assert are_equal(making.asked(CurveCache(tmp_path)), expected, making.between)
        assert making.count == 1
        assert file.read_bytes() == whole


def test_where_nothing_can_be_written_curves_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = Making(4, [(20, 1)])
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert are_equal(making.asked(CurveCache(in_the_way)), making(), making.between)
    monkeypatch.setattr(curve_cache, "_ALL_TOGETHER", 100)
    making.asked(CurveCache(tmp_path / "full"))
    monkeypatch.undo()
    monkeypatch.setattr(curve_cache, "_LARGEST", 100)
    making.asked(CurveCache(tmp_path / "large"))
    assert not list(tmp_path.rglob("*.curves"))


def test_curves_of_other_code_are_others_and_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = Making(5, [(20, 1)])
    for code in "abcdefg":
        monkeypatch.setattr(curve_cache, "bench_hash", lambda code=code: code * 64)
        before = making.count
        making.asked(CurveCache(tmp_path))
        assert making.count == before + 1
    assert "g" * 32 in {each.name for each in tmp_path.iterdir()}
    assert len(list(tmp_path.iterdir())) == curve_cache._KEPT
