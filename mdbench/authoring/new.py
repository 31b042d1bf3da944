"""Makes the folder of a new method."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def make_method(name: str, algorithms: Path) -> Path:
    """Make a folder with a method that runs as it stands, and give its path.

    Raises
    ------
    UsageError
        If the name is not allowed, or taken.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a method.",
            "Small letters, digits, - and _, beginning with a letter, at most 40: e.g. my-method",
        )
    folder = algorithms / name
    if folder.exists():
        raise UsageError(f"{folder} exists already.", "Choose another name, or edit that folder.")
    unfinished = algorithms / f".{name}.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        for file, text in _files(name):
            (unfinished / file).write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise UsageError(f"{folder} cannot be made: {error.strerror}.") from None
    return folder


def _files(name: str) -> Iterator[tuple[str, str]]:
    for file in sorted(_TEMPLATE.iterdir()):
        if file.is_file():
            yield file.name, file.read_text(encoding="utf-8").replace("@NAME@", name)
