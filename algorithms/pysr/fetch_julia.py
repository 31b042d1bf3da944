"""Fetches Julia and PySR's Julia packages into the environment that runs this, when it is made."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    home = Path(sys.prefix) / "fetched"
    os.environ["JULIA_DEPOT_PATH"] = str(home / "depot")
    os.environ["PYTHON_JULIAPKG_PROJECT"] = str(home)
    try:
        import pysr  # fetches, and compiles
    except Exception as error:  # noqa: BLE001 - whatever it is, this is what it means
        sys.exit(
            "PySR needs Julia 1.10.3 or 1.11 and its package SymbolicRegression, from Julia's "
            f"servers, which could not be had: {error}"
        )
    sys.stdout.write(f"PySR {pysr.__version__} has its Julia in {home}\n")
