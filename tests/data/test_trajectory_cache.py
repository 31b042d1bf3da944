"""A file in the cache is whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import numpy as np
import pytest

import mdbench
from mdbench.data.trajectory import Trajectory, load_or_make, read_npz
from mdbench.errors import DataError
from mdbench.workspace import write_whole


def make(value: float = 1.0, n: int = 40) -> Trajectory:
    return Trajectory(np.arange(float(n)), np.full((n, 2), value), np.zeros((n, 2)))


def never() -> Trajectory:
    pytest.fail("it was there already")


def test_arrays_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.npz"
    assert load_or_make(path, make).u[0, 0] == 1.0
    assert load_or_make(path, never).u[0, 0] == 1.0
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_damaged_arrays_are_made_again(tmp_path: Path, share: float) -> None:
    path = tmp_path / "a.npz"
    load_or_make(path, make)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert load_or_make(path, make).u[0, 0] == 1.0
    assert path.read_bytes() == whole


def test_a_failure_in_mid_write_leaves_nothing(tmp_path: Path) -> None:
    def write(file: IO[bytes]) -> Path:
        file.write(b"half")
        raise ZeroDivisionError

    (tmp_path / "old.npz").write_bytes(b"old")
    for name in ("new.npz", "old.npz"):
        with pytest.raises(ZeroDivisionError):
            write_whole(tmp_path / name, write)
    assert [path.name for path in tmp_path.iterdir()] == ["old.npz"]
    assert (tmp_path / "old.npz").read_bytes() == b"old"


def test_a_process_killed_in_mid_write_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    script = f"""
import os, signal
from pathlib import Path
from typing import IO
from mdbench.workspace import write_whole
def write(file):
    file.write(b"PK half of an archive")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_whole(Path({str(path)!r}), write)
"""
    root = str(Path(mdbench.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": root}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    left = list(tmp_path.iterdir())
    assert [file.suffix for file in left] == [".tmp"]
    assert load_or_make(path, make).u[0, 0] == 1.0


def test_concurrent_makers_all_get_whole_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    start = threading.Barrier(8)
    got: list[float] = []

    def maker() -> None:
        start.wait()
        got.extend(load_or_make(path, make).u[0, 0] for _ in range(5))

    threads = [threading.Thread(target=maker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [1.0] * 40
    assert read_npz(path).u[0, 0] == 1.0
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"a\.npz cannot be written"):
        load_or_make(tmp_path / "file" / "a.npz", make)


def test_readers_of_other_accounts_may_read(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        load_or_make(tmp_path / "a.npz", make)
    finally:
        os.umask(old)
    assert (tmp_path / "a.npz").stat().st_mode & 0o777 == 0o644
