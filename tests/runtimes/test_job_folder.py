from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, nest

from mdbench.runtimes import job_folder
from mdbench.runtimes.job_folder import (
    LOCK_FILE,
    PREFIX,
    QUARANTINE_PREFIX,
    JobDirectory,
    Scratch,
    folder_mb,
    remove_left_over,
    remove_tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_folder_lives_as_long_as_it_is_needed(tmp_path: Path) -> None:
    made = Scratch()
    assert remove_left_over() == []
    assert made.path.is_dir()
    made.remove()
    made.remove()
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_what_the_killed_have_left_is_removed() -> None:
    code = "import os; from mdbench.runtimes.job_folder import Scratch; s = Scratch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    (gone,) = remove_left_over()
    assert not gone.exists()


def test_another_run_never_sees_a_claim_that_is_not_locked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    removed: list[Path] = []
    original: dict[str, Callable[..., object]] = {"flock": fcntl.flock, "rename": Path.rename}

    def another_run_starts() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(fcntl, "flock", original["flock"])
            removed.extend(remove_left_over())

    def between(name: str) -> Callable[..., object]:
        def call(*args: object) -> object:
            another_run_starts()
            result = original[name](*args)
            another_run_starts()
            return result

        return call

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", between("flock"))
        patch.setattr(Path, "rename", between("rename"))
        scratch = Scratch()
    assert removed == []
    assert scratch.is_there()
    scratch.remove()


def test_a_folder_that_is_just_being_made_is_left_alone(tmp_path: Path) -> None:
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    assert remove_left_over() == []
    os.utime(young, (time.time() - 7200,) * 2)
    assert remove_left_over() == [young]


def test_links_are_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x", encoding="ascii")
    (tmp_path / f"{PREFIX}link").symlink_to(precious)
    assert remove_left_over() == []
    made = Scratch()
    (made.path / "link").symlink_to(precious)
    made.remove()
    assert (precious / "file").exists()


def test_folders_without_rights_go_too(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "deeper" / "file").write_text("x", encoding="ascii")
    (folder / "deep" / "deeper").chmod(0)
    (folder / "deep").chmod(0o500)
    remove_tree(folder)
    assert not folder.exists()
    remove_tree(folder)


def test_sizes_are_those_on_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_bytes(os.urandom(3 * 2**20))
    with (folder / "sparse").open("wb") as file:
        file.truncate(2**30)
    (folder / "link").symlink_to("/usr")
    assert folder_mb(folder) == pytest.approx(3.0, abs=0.1)
    assert folder_mb(tmp_path / "nowhere") == 0.0


def test_no_depth_is_too_deep_to_remove(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    nest(folder, 2500)  # a path of 5,000 letters, where the longest has 4,096
    assert remove_tree(folder)
    assert not folder.exists()


def test_what_one_run_has_left_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("deep", "stuck"):
        left = tmp_path / f"{PREFIX}{name}"
        (left / name).mkdir(parents=True)
        (left / LOCK_FILE).touch()
    nest(tmp_path / f"{PREFIX}deep" / "deep", 2500)
    honest = os.rmdir

    def rmdir(path: str, *, dir_fd: int | None = None) -> None:
        if path == "stuck":
            raise PermissionError
        honest(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir)
    said: list[str] = []
    assert remove_left_over(said.append) == [tmp_path / f"{PREFIX}deep"]
    (aside,) = tmp_path.glob(f"{QUARANTINE_PREFIX}*")
    assert (aside / "stuck").is_dir()
    assert len(said) == 1
    assert str(aside) in said[0]
    assert remove_left_over(said.append) == []
    assert len(said) == 1


def test_a_removal_takes_a_limited_time(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    nest(folder, 100)
    assert not remove_tree(folder, seconds=0.0)
    assert remove_tree(folder)


def test_scratch_is_one_users_and_one_checkouts(tmp_path: Path) -> None:
    (tmp_path / "mdbench-scratch-another").mkdir()
    assert f"-{os.getuid()}-" in PREFIX
    assert remove_left_over() == []
    assert (tmp_path / "mdbench-scratch-another").is_dir()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[JobDirectory]:
    made = JobDirectory(tmp_path / "job", tmp_path / "bin", lambda _: None)
    yield made
    made.close()


def test_each_job_has_a_new_folder(tmp_path: Path, place: JobDirectory) -> None:
    names = set()
    for _ in range(3):
        name, folder = place.begin()
        job = tmp_path / "job" / name
        names.add(name)
        assert os.path.samestat(os.fstat(folder), job.stat())
        assert job.stat().st_mode & 0o777 == 0o700
        assert [path.name for path in job.iterdir()] == ["scratch"]
        os.setxattr(job, "user.left", b"x")
        (job / "file").write_text("x", encoding="ascii")
        (job / "locked").mkdir(mode=0)
        (job / "scratch" / "file").write_text("x", encoding="ascii")
        assert os.listxattr(job) == ["user.left"]
        job.chmod(0)
        assert place.end()
        assert list((tmp_path / "job").iterdir()) == list((tmp_path / "bin").iterdir()) == []
    assert len(names) == 3


def test_folders_are_given_to_the_jobs_user_by_descriptor(tmp_path: Path) -> None:
    given: list[str] = []

    def give(folder: int) -> None:
        given.append(str(Path(f"/proc/self/fd/{folder}").readlink()))

    place = JobDirectory(tmp_path / "job", tmp_path / "bin", give)
    name, _ = place.begin()
    place.close()
    assert given == [f"{tmp_path}/job/{name}", f"{tmp_path}/job/{name}/scratch"]


def test_a_folder_that_was_exchanged_serves_no_other_job(
    tmp_path: Path, place: JobDirectory
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x", encoding="ascii")
    job = tmp_path / "job" / place.begin()[0]
    job.rename(tmp_path / "elsewhere")
    job.symlink_to(precious)
    assert not place.end()
    assert [path.name for path in precious.iterdir()] == ["file"]


def test_what_cannot_be_cleared_away_serves_no_other_job(
    tmp_path: Path, place: JobDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_folder, "_REMOVAL_SECONDS", 0.0)
    job = tmp_path / "job" / place.begin()[0]
    for number in range(20):
        (job / str(number)).touch()
    assert not place.end()


def test_a_folder_that_cannot_be_made_is_reported_where_it_is_needed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        JobDirectory(tmp_path / "nowhere" / "job", tmp_path / "bin", lambda _: None)
