"""Errors that are caused by something that a person gave us, and how their texts are made.

::

    ExplainedError
    ├── UsageError          a name or an option that does not exist
    ├── EquationError       an equation that may not be read
    │   └── AmbiguousError  ... because it could mean two things
    └── ScorerError         a machine that answers cannot be scored on
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_MESSAGE = 20_000
"""Characters of an error's message that are kept."""
MOST_SHOWN = 20
"""Number of allowed names that an error lists."""


class ExplainedError(Exception):
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


class UsageError(ExplainedError):
    """A name, an option or a combination of options that does not exist."""


class EquationError(ExplainedError):
    """A text that is no equation, or one that is not allowed."""


class AmbiguousError(EquationError):
    """An equation that could mean two things, or something that cannot be kept."""


class ScorerError(ExplainedError):
    """A machine on which answers cannot be scored as on others; no answer is to blame."""


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
        letter
        if letter.isprintable() or letter in "\n\t" or category(letter) == "Zs"
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def counted(number: int, thing: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> counted(1, "job"), counted(0, "job"), counted(12000, "record")
    ('1 job', '0 jobs', '12,000 records')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


def did_you_mean(typed: str, allowed: Iterable[str]) -> str:
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
    if same := [name for name in names if name.lower() == typed.lower()]:
        return f"Did you mean {same[0]}?"
    near = get_close_matches(typed, names, n=3, cutoff=0.5)
    near += [name for name in names if name not in near and shares_a_word(typed, name)]
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    if not names:
        return "There are none."
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return f"There are: {', '.join(names[:MOST_SHOWN])}{more}."


def shares_a_word(typed: str, name: str) -> bool:
    """Whether a part of a long name is what was meant: lorentz, lorenz-equations."""
    words = name.replace("_", "-").split("-")
    return bool(typed) and (typed in name or bool(get_close_matches(typed, words, cutoff=0.75)))
