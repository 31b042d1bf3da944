"""Results of several places: folders, files and bundles of several people read as one."""

from __future__ import annotations

import lzma
from datetime import timedelta
from hashlib import sha256
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from reporting import result

from mdbench.errors import UsageError
from mdbench.records import Status
from mdbench.reports.bundle import opened_all, write_bundle
from mdbench.reports.classes import latest
from mdbench.reports.joining import conflicts, other_scorers, read_places, versions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.records import Record

SYSTEMS = ("a", "b", "c")


def records(
    adapter: str = "1", *, later: float = 0, scorer: str = "1", value: float = 1.0
) -> list[Record]:
    """Return the records of one method as a clone writes them."""
    made = []
    for system in SYSTEMS:
        one = result("sindy", system, scores={"identified": value, "nmse": 0.5})
        started = one.measured.started + timedelta(hours=later)
        key_parts = {**one.key_parts, "adapter": adapter, "environment": "e", "dataset": system}
        made.append(
            one.model_copy(
                update={
                    "key_parts": key_parts,
                    "key": sha256(f"{adapter} {system} {later}".encode()).hexdigest(),
                    "measured": one.measured.model_copy(update={"started": started}),
                    "provenance": one.provenance.model_copy(update={"scorer": scorer}),
                }
            )
        )
    return made


def write(folder: Path, ones: Sequence[Record], name: str = "sindy-ode.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    text = "".join(f"{one.to_line()}\n" for one in ones)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def counted(places: Sequence[Path]) -> list[tuple[str, str, object]]:
    found = latest(record for _, record in read_places(places))
    ones = [(one.method, one.dataset, one.metrics["identified"]) for one in found]
    return sorted(ones, key=str)


def test_the_same_version_of_two_people_is_one_method(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", records()[:2])
    yours = write(tmp_path / "yours", records(later=1, value=0.0)[1:])
    assert counted([mine, yours]) == [("sindy", "a", 1), ("sindy", "b", 0), ("sindy", "c", 0)]
    assert counted([yours, mine]) == counted([mine, yours])


def test_two_versions_are_two_methods_in_any_order_and_form(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", records())
    yours = write(tmp_path / "yours", records("2", later=1, value=0.0))
    bundle = tmp_path / "bundles" / "yours.zip"
    bundle.parent.mkdir()
    write_bundle([yours], bundle, methods={})
    # By hand into one folder, as people do.
    by_hand = write(tmp_path / "by-hand", records())
    write(by_hand, records("2", later=1, value=0.0), "yours.jsonl")

    found = counted([mine, yours])
    assert len(found) == 2 * len(SYSTEMS)
    names = {method for method, _, _ in found}
    assert len(names) == 2
    assert all(name.startswith("sindy @") for name in names)
    assert len({(method, value) for method, _, value in found}) == 2  # none replaces the other's
    for places in permutations([mine, bundle]):
        assert counted(places) == found
    assert counted([mine, bundle.parent]) == found  # a folder of bundles
    assert counted([by_hand]) == found
    assert counted([mine, mine, yours, yours]) == found
    lines = versions(read_places([mine, yours]))
    assert lines == sorted(lines)
    assert {line.partition(" is of ")[0] for line in lines} == names
    assert {line.partition(" is of ")[2] for line in lines} == {
        str(place / "sindy-ode.jsonl") for place in (mine, yours)
    }
    both = tmp_path / "both.zip"
    write_bundle([mine, yours], both, methods={})
    assert counted([both]) == found


def test_in_one_file_the_newer_version_replaces_the_older(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", [*records(), *records("2", later=1, value=0.0)])
    assert counted([mine]) == [("sindy", system, 0) for system in SYSTEMS]
    # A half of it: what has not been run again counts as it is, as in every run that goes on.
    mine = write(tmp_path / "half", [*records(), *records("2", later=1, value=0.0)[:1]])
    assert counted([mine]) == [("sindy", "a", 0), ("sindy", "b", 1), ("sindy", "c", 1)]
    yours = write(tmp_path / "yours", records("2", later=2, value=0.0))
    assert {method for method, _, _ in counted([mine, yours])} == {"sindy"}


def test_parts_of_a_packed_bundle_are_one_file(tmp_path: Path) -> None:
    older, newer = records(scorer="1"), records("2", later=1, scorer="2", value=0.0)
    for name, ones in (("all.jsonl.xz", older), ("all.2.jsonl.xz", newer[:1])):
        lines = "".join(f"{one.to_line()}\n" for one in ones)
        (tmp_path / name).write_bytes(lzma.compress(lines.encode()))
    parts = [tmp_path / "all.2.jsonl.xz", tmp_path / "all.jsonl.xz"]
    assert counted(parts) == [("sindy", "a", 0), ("sindy", "b", 1), ("sindy", "c", 1)]
    assert len(other_scorers(record for _, record in read_places(parts))) == 1
    (tmp_path / "all.2.jsonl.xz").rename(tmp_path / "other.jsonl.xz")
    with pytest.raises(UsageError, match="different versions of the scorer"):
        counted([tmp_path / "other.jsonl.xz", tmp_path / "all.jsonl.xz"])


def test_scores_of_two_scorers_are_refused_with_what_to_type(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", records())
    yours = write(tmp_path / "yours", records(scorer="2"))
    with pytest.raises(UsageError) as caught:
        read_places([mine, yours])
    assert "mine/sindy-ode.jsonl by 1" in caught.value.message
    assert "yours/sindy-ode.jsonl by 2" in caught.value.message
    assert "mdbench rescore" in caught.value.hint
    assert len(read_places([mine])) == len(SYSTEMS)


def test_scores_of_two_scorers_in_one_file_are_named() -> None:
    assert other_scorers(records()) == []
    (line,) = other_scorers([*records(), *records(scorer="2")[:2]])
    assert f"1 ({len(SYSTEMS)}), 2 (2)" in line
    assert "mdbench rescore" in line
    crashed = [one.model_copy(update={"status": Status.CRASHED}) for one in records(scorer="2")]
    assert other_scorers([*records(), *crashed]) == []


def test_records_made_from_other_data_are_named() -> None:
    mine, yours = records(), records("2")
    assert conflicts([*mine, *yours]) == []
    parts = {**yours[1].key_parts, "dataset": "another"}
    other = yours[1].model_copy(update={"key_parts": parts})
    (line,) = conflicts([*mine, yours[0], other])
    assert line.endswith(": b.")


def test_files_of_bundles_are_named_by_the_bundle(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine", records())
    bundle = tmp_path / "b.zip"
    write_bundle([mine], bundle, methods={})
    assert {path for path, _ in read_places([bundle])} == {bundle / "sindy-ode.jsonl"}
    assert {path for path, _ in read_places([mine])} == {mine / "sindy-ode.jsonl"}
    with opened_all([bundle, bundle]) as found:
        assert list(found) == [bundle]


def test_a_record_of_a_version_is_written_as_it_was() -> None:
    (one, *_) = records()
    assert one.as_version("abc").method == "sindy @abc"
    assert one.as_version("abc").to_line() == one.to_line()
    assert one.method == "sindy"
