"""``python -m mdbench`` is the command ``mdbench``."""

import sys

from mdbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
