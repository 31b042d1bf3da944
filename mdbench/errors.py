"""Errors that are caused by something that a person gave us.

::

    MdbenchError
    ├── UsageError          a name, option or combination that does not exist
    ├── DataError           a data file that cannot be used
    ├── MethodError         a method's folder that breaks its contract
    ├── EquationError       an equation that may not be read
    │   └── AmbiguousError  ... because it could mean two things
    ├── AnswerError         an answer of a method that may not be scored
    ├── RecordsError        a results file that cannot be read or written
    ├── ScorerError         a machine that answers cannot be scored on
    └── UnavailableError    an environment that cannot be made on this machine

An error names what was given, what is allowed, and what to do next.  Its text is shown to
the user as it is, without a traceback.  Anything else that is raised is our own mistake.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from eqverdict.errors import (
    LONGEST_MESSAGE,
    MOST_SHOWN,
    AmbiguousError,
    EquationError,
    ScorerError,
    UsageError,
    counted,
    did_you_mean,
    printable,
    shares_a_word,
)
from eqverdict.errors import ExplainedError as MdbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

__all__ = [
    "LONGEST_MESSAGE",
    "MOST_SHOWN",
    "AmbiguousError",
    "AnswerError",
    "DataError",
    "EquationError",
    "MdbenchError",
    "MethodError",
    "NotFetchedError",
    "RecordsError",
    "ScorerError",
    "UnavailableError",
    "UsageError",
    "counted",
    "did_you_mean",
    "families",
    "first_fault",
    "printable",
]


class DataError(MdbenchError):
    """A data file that cannot be used; names the file, the key and the value."""


class MethodError(MdbenchError):
    """A method's folder that breaks its contract; names the file and the key."""


class AnswerError(MdbenchError):
    """An answer of a method of which nothing may be scored; with the reason."""


class RecordsError(MdbenchError):
    """A results file that cannot be read or written."""


class UnavailableError(MdbenchError):
    """An environment that cannot be made on this machine.

    Parameters
    ----------
    message, hint
        As of every error.
    passing
        Whether it may pass by itself, as an engine that is started again or a network that was
        gone for a moment: another try may succeed.
    """

    def __init__(self, message: str, hint: str = "", *, passing: bool = False) -> None:
        super().__init__(message, hint)
        self.passing = passing


class NotFetchedError(UnavailableError):
    """What a method needs besides packages, such as a program, that cannot be fetched here."""


def families(typed: str, names: Sequence[str]) -> list[str]:
    """Return the names that have a word like the one given; several with one beginning as a glob.

    Examples
    --------
    >>> families("lorentz", ["lorenz-equations-chaotic", "lorenz-equations-periodic", "rossler"])
    ['lorenz-equations-*']
    >>> families("lorens-84", ["lorenz-84", "lorenz-63", "duffing"])
    ['lorenz-84']
    """
    close = get_close_matches(typed.lower(), names, n=1, cutoff=0.85)
    near = close or [name for name in names if shares_a_word(typed.lower(), name)]
    near_families: dict[str, None] = {}
    for name in near:
        words = name.split("-")
        beginnings = ("-".join(words[:count]) + "-" for count in range(len(words) - 1, 0, -1))
        shared = (b for b in beginnings if sum(other.startswith(b) for other in near) > 1)
        near_families[f"{family}*" if (family := next(shared, "")) else name] = None
    return list(near_families)


def first_fault(error: ValidationError, whole: str = "") -> str:
    """Return the key at which a model was first refused, and why.

    Parameters
    ----------
    whole
        What is named where the fault is of no key.
    """
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"
