"""Files that go with records: found inside their folder only, and unpacked up to a limit."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING

import pytest

from mdbench.errors import RecordsError
from mdbench.records import files as module
from mdbench.records.files import attached, pack_answers, unpack_answers

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "answers").mkdir(parents=True)
    (two / "answers" / "a.xz").write_bytes(b"x")
    assert attached([one, two], "answers/a.xz") == (two / "answers" / "a.xz").resolve()
    assert attached([one], "answers/a.xz") is None
    assert attached([one, two], None) is None


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "link"])
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    assert attached([folder], name) is None


def test_what_is_packed_comes_back_and_is_the_same_each_time(tmp_path: Path) -> None:
    content = b'{"set":"static"}\n' * 1000
    assert pack_answers(content) == pack_answers(content)
    file = tmp_path / "a.xz"
    file.write_bytes(pack_answers(content))
    assert len(file.read_bytes()) < len(content) / 10
    assert unpack_answers(file) == content


def test_what_is_damaged_cut_off_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.xz"
    whole = pack_answers(b"0123456789" * 10_000)
    for bad in (b"", b"nothing", whole[:-8], whole[:40] + b"!" + whole[41:]):
        file.write_bytes(bad)
        with pytest.raises(RecordsError, match=r"a\.xz"):
            unpack_answers(file)
    monkeypatch.setattr(module, "_LARGEST", 1000)
    file.write_bytes(lzma.compress(b"0" * 1001))
    with pytest.raises(RecordsError, match="holds more"):
        unpack_answers(file)
    with pytest.raises(RecordsError, match="cannot be read"):
        unpack_answers(tmp_path / "none")


def test_a_file_that_asks_for_too_much_memory_is_refused(tmp_path: Path) -> None:
    """A file of a few bytes may ask for a dictionary of any size."""
    wanted = 2 * module.UNPACKING_MEMORY
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": wanted}]
    file = tmp_path / "a.xz"
    file.write_bytes(lzma.compress(b"x", filters=filters))
    with pytest.raises(RecordsError, match="cannot be read"):
        unpack_answers(file)
