"""``python -m mdbench`` is the command ``mdbench``."""

import gc
import sys

_GARBAGE = 10_000
"""Objects, more made than dropped, after which unused ones are looked for; 700 is the default.
What a start imports is all used, and looking through it again and again takes a tenth of it."""


def start() -> int:
    """Run the command line; Ctrl-C ends it without a traceback while it is imported, too."""
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])
    try:
        from mdbench.cli import main  # noqa: PLC0415 - all that is imported is imported by it
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Nothing was done.\n")
        return 130
    try:
        return main()
    finally:
        gc.freeze()  # the interpreter looks through all objects once more when it ends


if __name__ == "__main__":
    sys.exit(start())
