"""The command line: the only part of mdbench that prints."""

import importlib
import os
import sys

# The last digits of smoothed data and of scores hang on how many threads the BLAS adds up with: a
# machine's cores must not be part of a result.  It is read when NumPy is loaded, just below; what
# somebody has set counts, and methods have threads of their own (--threads).
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status; Ctrl-C ends it while it is imported, too."""
    try:
        module = importlib.import_module("mdbench.cli.main")
    except KeyboardInterrupt:
        print("Interrupted. Nothing was done.", file=sys.stderr)
        return 130
    globals()["main"] = main  # the import has put the module there
    return int(module.main(arguments))


__all__ = ["main"]
