"""An environment that somebody has changed is noticed, and one that nobody has is not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mdbench.runtimes.environments import uv
from mdbench.runtimes.environments.uv import STAMP, build_once

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path) -> Path:
    prefix = tmp_path / "environment"
    make(prefix)
    return prefix


def make(prefix: Path) -> list[str]:
    said: list[str] = []

    def fill() -> None:
        site = prefix / "lib" / "site-packages"
        site.mkdir(parents=True)
        (site / "numpy.py").write_text("pi = 3\n", encoding="utf-8")
        (site / "other.py").write_text("e = 2\n", encoding="utf-8")
        (prefix / "bin").mkdir()
        (prefix / "bin" / "python").symlink_to("/bin/sh")

    build_once(prefix, "key", fill, said.append, sealed=True)
    return said


def test_what_was_made_is_found_again(made: Path) -> None:
    assert uv.detect_change(made, but=STAMP) == ""
    assert make(made) == []
    assert not (made / "lib" / "site-packages" / "numpy.py").stat().st_mode & 0o222
    assert not (made / "lib" / "site-packages").stat().st_mode & 0o222


def test_what_was_only_touched_is_no_change(made: Path) -> None:
    os.utime(made / "lib" / "site-packages" / "numpy.py")
    before = made.with_name("environment.files").read_bytes()
    assert uv.detect_change(made, but=STAMP) == ""
    assert made.with_name("environment.files").read_bytes() != before
    assert make(made) == []


def plant(site: Path) -> None:
    (site / "spy.pth").write_text("import os\n", encoding="utf-8")


def edit_and_hide(site: Path) -> None:
    file = site / "numpy.py"
    times = file.stat()
    file.chmod(0o644)
    file.write_text("pi = 4\n", encoding="utf-8")
    file.chmod(0o444)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def exchange(site: Path) -> None:
    (site / "numpy.py").unlink()
    (site / "numpy.py").symlink_to(site / "other.py")


def remove(site: Path) -> None:
    (site / "other.py").unlink()


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (plant, "spy.pth was added"),
        (edit_and_hide, "numpy.py was changed"),
        (exchange, "numpy.py was changed"),
        (remove, "other.py is missing"),
    ],
)
def test_what_was_changed_is_made_again(made: Path, deed: object, words: str) -> None:
    site = made / "lib" / "site-packages"
    site.chmod(0o755)
    assert callable(deed)
    deed(site)
    assert words in uv.detect_change(made, but=STAMP)
    (said,) = make(made)
    assert words in said
    assert sorted(path.name for path in site.iterdir()) == ["numpy.py", "other.py"]
    assert (site / "numpy.py").read_text(encoding="utf-8") == "pi = 3\n"
    assert make(made) == []
