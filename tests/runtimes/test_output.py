from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness import nest

from mdbench.runtimes import processes
from mdbench.runtimes.processes import DEEPEST, DiskQuota

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


@contextmanager
def looking(folder: Path, most_mb: int) -> Iterator[DiskQuota]:
    descriptor = os.open(folder, os.O_RDONLY)
    made = DiskQuota(descriptor, most_mb)
    try:
        yield made
    finally:
        made.close()
        os.close(descriptor)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_too_much_is_said(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with looking(tmp_path, 2) as written:
        assert written.check() == ""
        (tmp_path / "inner" / "file").write_bytes(os.urandom(3 * 2**20))
        (tmp_path / "inner").chmod(0)
        assert "2 MiB are allowed" in written.check()


def test_links_and_holes_take_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    with looking(tmp_path, 1) as written:
        assert written.check() == written.check() == ""


def test_a_folder_in_place_of_the_jobs_is_not_looked_at(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    with looking(job, 1) as written:
        job.rename(tmp_path / "elsewhere")
        job.symlink_to("/")
        assert written.check() == ""
        # Nothing of "/" is counted, where there is more, and where a look would take several.
        assert written._found == 0
        (tmp_path / "elsewhere" / "file").write_bytes(os.urandom(2**21))
        assert written.check().startswith("wrote 2 MiB")


def test_many_empty_files_are_too_much_as_well(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / str(number)).touch()
    with looking(tmp_path, 1) as written:
        assert "1 MiB are allowed" in written.check()


def test_a_long_look_is_taken_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_CHECK_SECONDS", 0.0)
    for number in range(300):
        (tmp_path / str(number)).touch()
    with looking(tmp_path, 1) as written:
        said = [written.check() for _ in range(300)]
    assert said[0] == ""
    assert any(said)


def test_folders_may_not_be_nested_without_end(tmp_path: Path) -> None:
    before = descriptors()
    nest(tmp_path, DEEPEST)
    with looking(tmp_path, 100) as written:
        assert written.check() == ""
    with looking(tmp_path, 100) as written:
        (tmp_path / "more").mkdir()
        nest(tmp_path / "more", DEEPEST)
        assert "deep" in written.check()
    assert descriptors() == before
