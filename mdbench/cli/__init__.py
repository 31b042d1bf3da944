"""The command line: the only part of mdbench that prints."""

import os

# The last digits of smoothed data and of scores hang on how many threads the BLAS adds up with: a
# machine's cores must not be part of a result.  It is read when NumPy is loaded, just below; what
# somebody has set counts, and methods have threads of their own (--threads).
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
# Pydantic would look through all installed packages for plugins: 7 % of the time of `mdbench list`.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from mdbench.cli.main import main  # noqa: E402 - see above

__all__ = ["main"]
