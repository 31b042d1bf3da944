"""Bundles of records in the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bundles
import pytest
from bundles import parts_of, read_bundle, restore, write_bundle
from reporting import result

from mdbench.records import RecordStore, read_latest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mdbench.records import Record


def made(number: int, minute: int | None = None, **changes: object) -> Record:
    started = f"2026-11-26T08:{number if minute is None else minute:02}:00Z"
    return result("sindy" if number % 2 else "zero", f"s{number}", started=started, **changes)


ONES = [made(number) for number in range(7)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "PART", 3)


def test_a_bundle_has_parts_and_is_read_in_order(tmp_path: Path) -> None:
    assert write_bundle(tmp_path, "a", ONES) == ONES
    names = [file.name for file in parts_of(tmp_path, "a")]
    assert names == ["a.jsonl.xz", "a.2.jsonl.xz", "a.3.jsonl.xz"]
    assert [one.dataset for one in read_bundle(tmp_path, "a")] == [one.dataset for one in ONES]
    assert read_bundle(tmp_path, "b") == []


def test_full_parts_stay_when_records_are_added_in_whatever_order(tmp_path: Path) -> None:
    write_bundle(tmp_path, "a", ONES[:4])
    first = (tmp_path / "a.jsonl.xz").read_bytes()
    write_bundle(tmp_path, "a", reversed(ONES))
    assert (tmp_path / "a.jsonl.xz").read_bytes() == first
    write_bundle(tmp_path, "b", ONES)
    for one, other in zip(parts_of(tmp_path, "a"), parts_of(tmp_path, "b"), strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_of_a_question_the_newest_record_stays_and_parts_too_many_go(tmp_path: Path) -> None:
    write_bundle(tmp_path, "a", ONES)
    newer = made(0, 59, scores={"nmse": 0.125})
    kept = write_bundle(tmp_path, "a", [newer, *ONES])
    assert [one.dataset for one in kept] == ["s1", "s2", "s3", "s4", "s5", "s6", "s0"]
    assert kept[-1].metrics["nmse"] == 0.125
    write_bundle(tmp_path, "a", ONES[:3])
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl.xz"]


def test_a_run_goes_on_from_a_bundle(tmp_path: Path) -> None:
    write_bundle(tmp_path / "kept", "a", ONES)
    folder = tmp_path / "results"
    with RecordStore(folder / "zero-ode.jsonl").open_for_writing() as writer:
        writer.append(ONES[0])
    assert restore(tmp_path / "kept", "a", folder) == 6
    assert restore(tmp_path / "kept", "a", folder) == 0
    assert sorted(file.name for file in folder.iterdir()) == ["sindy-ode.jsonl", "zero-ode.jsonl"]
    assert {one.key for one in read_latest(folder)} == {one.key for one in ONES}


def test_what_was_scored_again_replaces_what_was_packed(tmp_path: Path) -> None:
    write_bundle(tmp_path / "kept", "a", ONES)
    folder = tmp_path / "results"
    restore(tmp_path / "kept", "a", folder)

    def score(records: Sequence[Record]) -> Iterator[Record]:
        for place, one in enumerate(records):
            # As another version of the scorer does: other values under another key.
            key = f"{'0' if place % 2 else 'f'}{one.key[1:]}"
            yield one.model_copy(update={"key": key, "metrics": {**one.metrics, "nmse": 0.75}})

    for file in folder.iterdir():
        RecordStore(file).rewrite(score)
    assert restore(tmp_path / "kept", "a", folder) == 0
    again = read_latest(folder)
    write_bundle(tmp_path / "kept", "a", [*read_bundle(tmp_path / "kept", "a"), *again])
    kept = read_bundle(tmp_path / "kept", "a")
    assert [one.dataset for one in kept] == [one.dataset for one in ONES]
    assert {one.metrics["nmse"] for one in kept} == {0.75}
