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
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import ValidationError

LONGEST_MESSAGE = 20_000
"""Characters of an error's message that are kept."""
MOST_SHOWN = 20
"""Number of allowed names that an error lists."""


class MdbenchError(Exception):
    """Base of every error that is meant for the user.

    Parameters
    ----------
    message
        What was given and what is wrong with it.
    hint
        What is allowed, or what to type next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        message = printable(message, LONGEST_MESSAGE)  # what it names may be from anywhere
        super().__init__(message)
        self.message = message
        self.hint = printable(hint, LONGEST_MESSAGE)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows: IPython asks for them by this name."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(MdbenchError):
    """A name, an option or a combination of options that does not exist."""


class DataError(MdbenchError):
    """A data file that cannot be used; names the file, the key and the value."""


class MethodError(MdbenchError):
    """A method's folder that breaks its contract; names the file and the key."""


class EquationError(MdbenchError):
    """A text that is no equation, or one that is not allowed."""


class AmbiguousError(EquationError):
    """An equation that could mean two things, or something that cannot be kept."""


class AnswerError(MdbenchError):
    """An answer of a method of which nothing may be scored; with the reason."""


class RecordsError(MdbenchError):
    """A results file that cannot be read or written."""


class ScorerError(MdbenchError):
    """A machine on which answers cannot be scored as on others; no answer is to blame."""


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


def printable(text: str, longest: int | None = None) -> str:
    r"""Return a text without what changes how a terminal or a page shows it.

    Control characters but for line ends and tabs, marks that turn the direction of writing and
    other invisible ones are written as in Python's literals, halves of surrogate pairs as "?".

    Parameters
    ----------
    longest
        Characters that are kept; None for all.

    Examples
    --------
    >>> printable("\x1b[2Jx\u202e")
    '\\x1b[2Jx\\u202e'
    """
    if longest is not None and len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if text.isprintable():
        return text
    text = text.encode("utf-8", "replace").decode()
    return "".join(
        each
        if each.isprintable() or each in "\n\t" or category(each) == "Zs"
        else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def counted(number: int, thing: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> counted(1, "job"), counted(0, "job"), counted(12000, "record")
    ('1 job', '0 jobs', '12,000 records')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Return which of the allowed names are near the one given, or a list of them when none is.

    Examples
    --------
    >>> did_you_mean("sindi", ["operon", "sindy"])
    'Did you mean sindy?'
    >>> did_you_mean("xyz", ["operon", "sindy"])
    'There are: operon, sindy.'
    >>> did_you_mean("ODE", ["ode", "pde"])
    'Did you mean ode?'
    >>> did_you_mean("xyz", [])
    'There are none.'
    """
    names = sorted(allowed)
    if same := [name for name in names if name.lower() == given.lower()]:
        return f"Did you mean {same[0]}?"
    near = get_close_matches(given, names, n=3, cutoff=0.5)
    near += [name for name in names if name not in near and _shares_a_word(given, name)]
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    if not names:
        return "There are none."
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return f"There are: {', '.join(names[:MOST_SHOWN])}{more}."


def families(given: str, names: Sequence[str]) -> list[str]:
    """Return the names that have a word like the one given; several with one beginning as a glob.

    Examples
    --------
    >>> families("lorentz", ["lorenz-equations-chaotic", "lorenz-equations-periodic", "rossler"])
    ['lorenz-equations-*']
    >>> families("lorens-84", ["lorenz-84", "lorenz-63", "duffing"])
    ['lorenz-84']
    """
    close = get_close_matches(given.lower(), names, n=1, cutoff=0.85)
    near = close or [name for name in names if _shares_a_word(given.lower(), name)]
    found: dict[str, None] = {}
    for name in near:
        words = name.split("-")
        beginnings = ("-".join(words[:count]) + "-" for count in range(len(words) - 1, 0, -1))
        shared = (b for b in beginnings if sum(other.startswith(b) for other in near) > 1)
        found[f"{family}*" if (family := next(shared, "")) else name] = None
    return list(found)


def _shares_a_word(given: str, name: str) -> bool:
    """Whether a part of a long name is what was meant: lorentz, lorenz-equations."""
    words = name.replace("_", "-").split("-")
    return bool(given) and (given in name or bool(get_close_matches(given, words, cutoff=0.75)))


def first_fault(error: ValidationError, whole: str = "") -> str:
    """Return the key at which a model was first refused, and why.

    Parameters
    ----------
    whole
        What is named where the fault is of no key.
    """
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"
