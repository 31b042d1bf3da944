"""The command line: the only part of mdbench that prints."""

import os

from mdbench.startup import drop_foreign_modules, use_common_arithmetic

drop_foreign_modules()
use_common_arithmetic()  # NumPy reads it when it is loaded, just below
# Pydantic would look through all installed packages for plugins: 7 % of the time of `mdbench list`.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from mdbench.cli.main import main  # noqa: E402 - see above

__all__ = ["main"]
