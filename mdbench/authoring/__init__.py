"""A method's folder, made so that it can be run as it is, and checked."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench import methods
from mdbench.errors import UsageError
from mdbench.installation import resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TEMPLATE = Path(__file__).parent / "template"
_PROGRAM = "linear_c"
"""The example in `examples/methods` that a program begins with."""
STARTS: Mapping[str, str] = {
    "": "a linear fit",
    "front": "a random search with a front of candidates",
    "trajectory": "sparse polynomials of the states",
    "scikit_learn": "a random forest",
    "torch": "a linear fit",
    "program": "a linear fit in C",
}
"""What a new method can be at first, and what that is."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def make_method(name: str, algorithms: Path, start: str = "") -> Path:
    """Make a folder with a method that can be run as it is, and return its path.

    Parameters
    ----------
    name
        The method's name.
    algorithms
        The folder that it is made in.
    start
        What it is at first, one of `STARTS`.

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
    if name == methods.SHARED:
        raise UsageError(
            f"{name!r} is no name for a method: code that methods share is in the folder {name}.",
            "Choose another name.",
        )
    folder = algorithms / name
    if folder.exists():
        raise UsageError(f"{folder} exists already.", "Choose another name, or edit that folder.")
    unfinished = algorithms / f".{name}.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        for file, text in _files(name, start):
            (unfinished / file).write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise UsageError(
            f"{folder} cannot be made: {error.strerror}.",
            "To keep your methods in a folder of your own: export MDBENCH_METHODS=~/methods",
        ) from None
    return folder


def _files(name: str, start: str) -> Iterator[tuple[str, str]]:
    if start == "program":
        for file in sorted(resource(f"examples/methods/{_PROGRAM}").iterdir()):
            yield file.name, file.read_text(encoding="utf-8").replace(_PROGRAM, name)
        return
    for file in sorted(_TEMPLATE.iterdir()):
        other = _TEMPLATE / start / file.name
        if file.is_file():
            text = (other if other.is_file() else file).read_text(encoding="utf-8")
            yield file.name, text.replace("@NAME@", name)
