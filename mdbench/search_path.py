"""Modules of another Python that an environment variable puts before our own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
VARIABLE = "PYTHONPATH"


def drop_foreign_modules() -> None:
    """Take folders of ``PYTHONPATH`` off the search path, but for one that holds this package.

    On clusters a module system sets it for another Python, whose NumPy ours cannot load.
    """
    text = os.environ.pop(VARIABLE, "")
    folders = {os.path.abspath(each) for each in text.split(os.pathsep) if each}  # noqa: PTH100
    own = {each for each in folders if Path(each, _PACKAGE.name).resolve() == _PACKAGE}
    if own:
        os.environ[VARIABLE] = os.pathsep.join(sorted(own))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) not in folders - own]  # noqa: PTH100
