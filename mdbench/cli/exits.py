"""How a command ends."""

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """Exit statuses, the same for all verbs."""

    DONE = 0
    """Whatever the jobs came to."""
    NOT_AS_WISHED = 1
    """An environment could not be made, a check failed, or a record was not reproduced."""
    ERROR = 2
    """The command could not be done; the message says why."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C or SIGTERM; records are whole, and the same command goes on."""
