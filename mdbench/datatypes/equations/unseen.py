"""Terms of a truth that nobody can see in the data, taken out before an answer is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.errors import EquationError
from mdbench.expressions.atoms import monomial_text
from mdbench.expressions.expand import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.expressions.atoms import Monomial

__all__ = ["without_unseen"]

_OFF = 1
"""A coefficient that is further off than this share is one that the data would show to be wrong."""
_DIGITS = 6


def without_unseen(
    truth: Sequence[str],
    answer: Sequence[str],
    targets: Sequence[str],
    unseen: Sequence[tuple[str, str]],
    names: tuple[str, ...],
) -> tuple[list[str], list[str], list[str]]:
    """Take the unseen terms out of the truth, and out of an answer that has them about right.

    Parameters
    ----------
    truth, answer
        A right-hand side for each of the targets.
    unseen
        Terms by target and text; coefficients in the text are of no account.
    names
        That the equations may use.

    Returns
    -------
    truth, answer
        Without these terms, but as they were where they are too large to be multiplied out.
    named
        The terms that the answer lacks or has with another coefficient, after their targets.

    Examples
    --------
    >>> without_unseen(["2*a + b"], ["b"], ["a_t"], [("a_t", "a")], ("a", "b"))
    (['2*a + b - (2*a)'], ['b'], ['a_t: 2*a'])
    """
    true, given, named = list(truth), list(answer), []
    for i, target in enumerate(targets):
        texts = [text for each, text in unseen if each == target]
        if not texts:
            continue
        try:
            t, p = expand(truth[i], names), expand(answer[i], names)
        except EquationError:
            continue
        terms: list[Monomial] = [one for text in texts for one in expand(text, names) if one in t]
        for term in terms:
            true[i] += f" - ({monomial_text(term, t[term])})"
            if term in p and abs(p[term] / t[term] - 1) <= _OFF:
                given[i] += f" - ({monomial_text(term, p[term])})"
            if p.get(term) != t[term]:
                named.append(f"{target}: {monomial_text(term, t[term], _DIGITS)}")
    return true, given, named
