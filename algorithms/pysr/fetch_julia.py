"""Fetches Julia and PySR's Julia packages into the environment that runs this.

.mdbench/envs/pysr-.../bin/python algorithms/pysr/fetch_julia.py
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    home = Path(sys.prefix) / "julia_env"
    os.environ["JULIA_DEPOT_PATH"] = str(home / "depot")
    os.environ["PYTHON_JULIAPKG_PROJECT"] = str(home)
    import pysr  # fetches, and compiles

    sys.stdout.write(f"PySR {pysr.__version__} has its Julia in {home}\n")
