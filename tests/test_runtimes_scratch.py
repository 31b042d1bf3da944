from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import pytest
from house import ROOT, wait_until

from mdbench.runtimes.scratch import (
    PREFIX,
    JobFolders,
    Scratch,
    folder_mb,
    remove_left_over,
    remove_tree,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_folder_lives_as_long_as_it_is_needed(tmp_path: Path) -> None:
    scratch = Scratch()
    assert remove_left_over() == []
    assert scratch.jobs.is_dir()
    scratch.remove()
    scratch.remove()
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_what_the_killed_have_left_is_removed() -> None:
    code = "import os; from mdbench.runtimes.scratch import Scratch; s = Scratch(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    (gone,) = remove_left_over()
    assert not gone.exists()


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
    scratch = Scratch()
    (scratch.jobs / "link").symlink_to(precious)
    scratch.remove()
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


def test_each_job_has_a_folder_of_its_own(tmp_path: Path) -> None:
    given: list[Path] = []
    folders = JobFolders(tmp_path, given.append)
    first = folders.take()
    assert [path.name for path in first.iterdir()] == ["scratch"]
    (first / "scratch" / "file").write_text("x", encoding="ascii")
    folders.give_back(first)
    second = folders.take()
    assert second != first
    assert wait_until(lambda: not first.exists())
    assert {first, first / "scratch", second, second / "scratch"} <= set(given)
    folders.close()


def test_a_folder_that_cannot_be_made_is_told_where_it_is_needed(tmp_path: Path) -> None:
    folders = JobFolders(tmp_path / "nowhere", lambda _: None)
    with pytest.raises(FileNotFoundError):
        folders.take()
    folders.close()
