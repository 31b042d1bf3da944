"""``python -m mdbench`` is the command ``mdbench``."""

import sys


def start() -> int:
    """Run the command line; Ctrl-C ends it without a traceback while it is imported, too."""
    try:
        from mdbench.cli import main  # noqa: PLC0415 - all that is imported is imported by it
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Nothing was done.\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(start())
