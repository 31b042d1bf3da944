"""Julia, which no lock has: found in the environment, or reported as missing."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mdbench.worker import Unavailable

__all__ = ["HOME", "regressor"]

HOME = Path(sys.prefix) / "fetched"
"""Folder of Julia and its packages, from `fetch_julia.py`: in the method's environment."""


def regressor() -> Any:
    """Return PySR's class, with Julia started.

    Raises
    ------
    Unavailable
        If Julia or its packages are not there: a job has no network to fetch them.
    """
    depot = HOME / "depot"
    if not depot.is_dir():
        raise Unavailable(
            "PySR needs Julia 1.10.3 or 1.11 and its package SymbolicRegression, which come from "
            "Julia's servers when the environment is made, and are not in it. Where those can be "
            "reached: ./install.sh pysr"
        )
    # What Julia writes goes to a folder of the job's; what was fetched is only read.
    own = Path(tempfile.gettempdir()) / "julia"
    os.environ["JULIA_DEPOT_PATH"] = f"{own}:{depot}"
    os.environ["PYTHON_JULIAPKG_PROJECT"] = str(HOME)
    os.environ["PYTHON_JULIAPKG_OFFLINE"] = "yes"
    try:
        from pysr import PySRRegressor  # noqa: PLC0415 - it starts Julia
    except Exception as error:
        raise Unavailable(f"Julia does not start: {type(error).__name__}: {error}") from error
    return PySRRegressor
