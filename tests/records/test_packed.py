"""Packed results files: read by all that reads results, written by no run."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reporting import result

from mdbench.cli import main
from mdbench.errors import RecordsError
from mdbench.records import RecordStore, pack, parse_records, read_folder, read_latest
from mdbench.reports.bundle import opened, write_bundle

if TYPE_CHECKING:
    from mdbench.records import Record


@pytest.fixture
def records() -> list[Record]:
    return [result("sindy", name, metrics={"nmse": 0.5}) for name in ("a", "b", "rössler")]


def test_what_is_packed_is_read_back(records: list[Record], tmp_path: Path) -> None:
    pack(tmp_path / "one.jsonl.xz", records)
    assert RecordStore(tmp_path / "one.jsonl.xz").read() == records
    assert [one.dataset for one in read_latest(tmp_path)] == [one.dataset for one in records]
    assert list(tmp_path.iterdir()) == [tmp_path / "one.jsonl.xz"]
    # By another reader of the format: these are plain lines.
    lines = lzma.decompress((tmp_path / "one.jsonl.xz").read_bytes()).splitlines()
    assert [json.loads(line)["dataset"] for line in lines] == ["a", "b", "rössler"]


def test_the_same_records_give_the_same_bytes(records: list[Record], tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack(tmp_path / f"{name}.jsonl.xz", records)
    one, two = sorted(tmp_path.iterdir())
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "more", "plain"])
def test_damage_is_said(damage: str, records: list[Record], tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl.xz"
    pack(file, records)
    content = file.read_bytes()
    middle = len(content) // 2
    changed = {
        "cut": content[:-20],
        "flipped": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
        "empty": b"",
        "text": b"no archive",
        "more": content + b"x",
        "plain": records[0].to_line().encode(),
    }
    file.write_bytes(changed[damage])
    with pytest.raises(RecordsError, match=r"one\.jsonl\.xz is damaged") as caught:
        read_folder(tmp_path)
    assert caught.value.hint


def test_no_run_writes_one(records: list[Record], tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl.xz"
    pack(file, records)
    before = file.read_bytes()
    with (
        pytest.raises(RecordsError, match="is packed, and is only read") as caught,
        RecordStore(file).open_for_writing(),
    ):
        pass
    assert f"xz --decompress --keep {file}" in caught.value.hint
    assert file.read_bytes() == before


def test_scoring_again_keeps_what_has_no_dataset(records: list[Record], tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl.xz"
    pack(file, records)
    before = file.read_bytes()
    assert main(["rescore", str(file)]) == 0
    assert file.read_bytes() == before


def test_a_bundle_has_its_lines(records: list[Record], tmp_path: Path) -> None:
    pack(tmp_path / "in" / "one.jsonl.xz", records)
    write_bundle([tmp_path / "in"], tmp_path / "out.zip", methods={})
    with opened(tmp_path / "out.zip") as folder:
        (file,) = folder.iterdir()
        assert file.name == "one.jsonl"
        assert list(parse_records(file, file.read_bytes())) == records


def test_records_of_a_folder_share_what_is_equal_and_stay_as_they_were(tmp_path: Path) -> None:
    golden = Path(__file__).parents[1] / "golden" / "records" / "schema-1.jsonl"
    lines = golden.read_bytes()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "b.jsonl").write_bytes(lines)
    before = [one.model_copy(update={"front": None}) for one in parse_records(golden, lines)]
    newest = list({one.identity: one for one in before}.values())
    after = [record for _, record in read_folder(tmp_path)]
    assert after == newest * 2
    assert [one.to_line() for one in after] == [one.to_line() for one in newest] * 2
    pairs = list(zip(after, after[len(newest) :], strict=False))
    for one, other in pairs:
        assert one.measured.model_fields_set is other.measured.model_fields_set
        assert one.dataset is other.dataset
        assert all(one.key_parts[name] is other.key_parts[name] for name in one.key_parts)
