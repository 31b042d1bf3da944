"""Whether answers recover a table's law: by their form in a fold, by their errors over all folds.

A form is right where some choice of constants makes it an accepted law.  An intercept, or a slope
in a column, that an F test does not support on the rows is taken off first: linear scaling leaves
them.  Errors are compared with those of the reference by a paired bootstrap over all rows held out.
"""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from eqverdict.fidelity.limited import same_skeleton
from eqverdict.fidelity.parametric import parametrize
from eqverdict.grammar import read
from eqverdict.tree import Chain, Negation, Variable, text_of
from mdbench.data.columns import to_number
from mdbench.datatypes.real.fits import Fit, fit_constants
from mdbench.errors import EquationError
from mdbench.metrics.spec import flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from eqverdict.tree import Node
    from mdbench.datatypes.real.problem import Measurements
    from mdbench.metrics.spec import MetricSpec, Value

    Array = NDArray[np.float64]

LEVEL = 0.01
"""The level of both tests: so often a right answer may be refused by chance."""
SAME = 0.01
"""Mean errors that differ by this share are the same."""
FAR = 4.0
"""The most by which the mean squared error may exceed the reference's, whatever a test says."""
SINGLE = float(np.finfo(np.float32).eps)
"""No error below this share of the variance is asked for: rows have no more digits than that."""
ROW_ERRORS = "row_errors"
"""The note of the squared errors of independent units over the variance: the answer's, then the
reference's, with blanks between them."""
_DRAWS = 2000
_MOST_SUBSETS = 4
_PARTS = 12
"""Exponents of whole halves, thirds and quarters are meant as they are written."""


def _is_needless(text: str, law: int, table: Measurements) -> bool:
    """Whether rows do not support what an equation has besides a law, by the F test.

    ``F = (RSS0 - RSS1) / (k - k0) / (RSS1 / (n - k))`` with the sums of squares of the law and of
    the equation, in which the law is nested.  Their ``k0`` and ``k`` constants are fitted to all
    ``n`` rows (Seber and Wild, Nonlinear Regression, 1989, section 5.3).  Without a row to spare
    nothing is supported.  The residual variance is at least that of rounding.  An equation whose
    best fit is worse than the law's does not contain it.

    Parameters
    ----------
    law
        Its number among the forms that are accepted.
    """
    from scipy.stats import f as f_distribution  # noqa: PLC0415 - takes a moment to load

    reduced, full = _best_law(law, table), _best_fit(text, table, exponents=True)
    free = len(table.y) - full.rank
    if full.residual > (1 + SAME) * reduced.residual + len(table.y) * table.rounding:
        return False
    if free < 1:
        return True
    removed = max(full.rank - reduced.rank, 1)
    variance = max(full.residual / free, table.rounding, np.finfo(float).tiny)
    ratio = (reduced.residual - full.residual) / removed / variance
    return bool(f_distribution.sf(ratio, removed, free) >= LEVEL)


def _best_law(law: int, table: Measurements) -> Fit:
    if law >= len(table.laws):
        return _best_fit(table.accepted[law - len(table.laws)], table, exponents=False)
    if table.laws[law].start:
        return table.laws[law].best_fit(_columns(table), table.y)
    return _best_fit(table.laws[law].text, table, exponents=False)


def _best_fit(text: str, table: Measurements, *, exponents: bool) -> Fit:
    """Fit the numbers of an equation to all rows.

    Parameters
    ----------
    exponents
        Whether its exponents move, too, unless they are simple fractions.
    """
    equation = parametrize(read(text, table.columns), named=True)
    columns, whole = _columns(table), equation.start
    fixed = {
        k for k in equation.exponents if not exponents or float(_PARTS * whole[k]).is_integer()
    }
    moving = [k for k in range(len(whole)) if k not in fixed]

    def values(constants: Array) -> Array:
        every = whole.copy()
        every[moving] = constants
        return equation.values(columns, every)

    if 0 < len(moving) <= len(table.y):
        return fit_constants(values, whole[moving], table.y)
    residual = float(np.sum((values(whole[moving]) - table.y) ** 2))
    return Fit(whole[moving], residual, np.full(len(moving), np.inf), len(moving))


def _columns(table: Measurements) -> dict[str, Array]:
    return dict(zip(table.columns, table.x.T, strict=True))


def _summands(node: Node, scale: float = 1.0) -> Iterator[tuple[float, str, str]]:
    """Yield the terms of a sum: a factor, the text, and whose slope it is.

    The last is a variable's name, ``1`` of an intercept, and empty of all else.  Numbers before a
    sum in brackets are multiplied out.
    """
    if node.constant is not None:
        yield scale * float(node.constant), "1", "1"
        return
    match node:
        case Variable():
            yield scale, node.name, node.name
        case Negation():
            yield from _summands(node.operand, -scale)
        case Chain() if node.rest[0][0] in "+-":
            for sign, part in (("+", node.first), *node.rest):
                yield from _summands(part, scale if sign == "+" else -scale)
        case Chain():
            parts = [("*", node.first), *node.rest]
            for sign, part in parts:
                if part.constant is not None:
                    number = float(part.constant)
                    scale = scale * number if sign == "*" else scale / number if number else np.nan
            others = [(sign, part) for sign, part in parts if part.constant is None]
            if len(others) == 1 and others[0][0] == "*":
                yield from _summands(others[0][1], scale)
            else:
                text = "".join(f"{sign}({text_of(part)})" for sign, part in others)
                yield scale, text[1:] if text[0] == "*" else f"1{text}", ""
        case _:
            yield scale, text_of(node), ""


def _shortened(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield an equation without some of its intercept and its slopes, the longest first.

    Of more than `_MOST_SUBSETS` such terms single ones, and all, are left out.
    """
    terms = list(_summands(read(text, names)))
    removable = sorted({kind for *_, kind in terms if kind})
    sizes = range(1, len(removable) + 1) if len(removable) <= _MOST_SUBSETS else (1, len(removable))
    subsets = (combinations(removable, size) for size in sizes)
    for removed in chain.from_iterable(subsets):
        others = [(scale, part) for scale, part, kind in terms if kind not in removed]
        if others and all(np.isfinite(scale) for scale, _ in others):
            yield " + ".join(
                part if scale == 1 else f"({scale!r})*({part})" for scale, part in others
            )


class Form(NamedTuple):
    """What form an answer has.

    Attributes
    ----------
    same
        Whether it is an accepted one; None where that is not known.
    law
        The number of the law, the forms that are accepted besides behind the laws; None of others.
    shortened
        Whether it has constants that the law has not, and rows do not support.
    """

    same: bool | None
    law: int | None = None
    shortened: bool = False


def form_of(
    text: str, laws: Sequence[str], table: Measurements, *, identified: bool = False
) -> Form:
    """Compare an answer's form with the accepted ones.

    Parameters
    ----------
    text
        The answer.
    laws
        The laws, constants filled in; those of `table.accepted` are accepted, too.
    table
        All rows: what the answer has besides is tested on them.
    identified
        Whether it is known to be the first law.
    """
    accepted = (*laws, *table.accepted)
    whole = Form(same=True, law=0) if identified else _has_form(text, accepted, table)
    if whole.law is not None:
        more = _constants(text, table) > _constants(accepted[whole.law], table)
        return whole._replace(shortened=more and _is_needless(text, whole.law, table))
    for shorter in _shortened(text, table.columns):
        form = _has_form(shorter, accepted, table)
        if form.law is not None and _is_needless(text, form.law, table):
            return form._replace(shortened=True)
    return whole


def _has_form(text: str, laws: Sequence[str], table: Measurements) -> Form:
    """Whether some constants make an answer a law, or a law the answer.

    The second is so where the answer lacks a constant that is 1, and is not written.
    """
    ranges = tuple(
        (name, float(column.min()), float(column.max()))
        for name, column in zip(table.columns, table.x.T, strict=True)
    )
    unknown = False
    for number, law in enumerate(laws):
        known = False
        for truth, answer in ((law, text), (text, law)):
            try:
                same = same_skeleton(truth, answer, table.columns, table.columns, ranges)
            except EquationError:
                same = None
            if same:
                return Form(same=True, law=number)
            known = known or same is not None
            if _constants(text, table) >= _constants(law, table):
                break
        unknown = unknown or not known
    return Form(same=None if unknown else False)


def _constants(text: str, table: Measurements) -> int:
    return len(parametrize(read(text, table.columns), named=True).start)


def is_as_good(answer: Array, reference: Array) -> bool:
    """Whether errors are as small as the reference's, by a paired bootstrap.

    Pairs of squared errors are drawn again, as many as there are, and the mean difference of each
    draw is taken.  The answer is worse where less than `LEVEL` of these means are at most 0: the
    percentile interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
    Means that differ by `SAME` are equal; a mean `FAR` above the reference's is worse: a few rows
    can hide one that is quite wrong from the draws.

    Parameters
    ----------
    answer, reference
        Squared errors of independent units, over the variance of the target, (n,).
    """
    if not (np.isfinite(answer).all() and np.isfinite(reference).all()):
        return False
    mean, bar = float(np.mean(answer)), max(float(np.mean(reference)), SINGLE)
    if mean <= (1 + SAME) * bar:
        return True
    if mean > FAR * bar:
        return False
    n = len(answer)
    drawn = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
    differences = np.mean((answer - reference)[drawn], axis=1)
    return bool(np.quantile(differences, LEVEL) <= 0)


class Scored(Protocol):
    """What of a record of a fold is pooled."""

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""

    @property
    def floor(self) -> float | None:
        """The mean squared error of the reference over the variance."""

    @property
    def metrics(self) -> Mapping[str, Value]:
        """The scores by name."""

    @property
    def notes(self) -> Mapping[str, Sequence[str]]:
        """The remarks by word."""


class Pooled(NamedTuple):
    """A method on all folds of a table.

    Attributes
    ----------
    folds
        How many there are records of.
    as_good
        Whether its errors on all rows held out are as small as the reference's.
    same_law
        Whether more than half of its answers have an accepted form; None where the scorer could not
        decide on so many that it matters.
    """

    folds: int
    as_good: bool
    same_law: bool | None

    @property
    def recovered(self) -> bool | None:
        """Whether the table's law is recovered; None where nobody knows."""
        return self.same_law if self.as_good else False


def pool(parts: Sequence[Scored]) -> Pooled:
    """Pool the folds of one table that a method has tried.

    Pooled, one row held out by itself does not decide: in one fold the right law with its constants
    a little away from the best fit is better than the reference, in the next one worse.
    """
    verdicts = [part.metrics.get("same_law", 0.0) if part.answered else 0.0 for part in parts]
    right = sum(verdict == 1 for verdict in verdicts)
    unknown = sum(verdict is None for verdict in verdicts)
    half = len(parts) / 2
    same = True if right > half else False if right + unknown <= half else None
    if not all(part.answered for part in parts):
        return Pooled(len(parts), as_good=False, same_law=same)
    pairs = [[_numbers(text) for text in part.notes.get(ROW_ERRORS, ())] for part in parts]
    if not all(len(pair) == 2 and len(pair[0]) == len(pair[1]) for pair in pairs):  # noqa: PLR2004
        # Of an older scorer: each fold is one unit.
        pairs = [
            [_numbers(str(number)) for number in (part.metrics.get("fvu"), part.floor)]
            for part in parts
        ]
    answer, reference = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    return Pooled(len(parts), is_as_good(answer, reference), same)


def _numbers(text: str) -> Array:
    """Read numbers with blanks between them; what is none is NaN."""
    numbers = map(to_number, text.split())
    return np.array([np.nan if number is None else number for number in numbers])


def _as_good(parts: Sequence[Scored]) -> Value:
    return _as_flag(pool(parts).as_good)


def _recovered(parts: Sequence[Scored]) -> Value:
    return _as_flag(pool(parts).recovered)


def _as_flag(verdict: bool | None) -> Value:
    return None if verdict is None else float(verdict)


RECOVERED: Mapping[str, MetricSpec] = {
    kind: flag(
        name,
        title,
        "answers of tables whose law was found in most folds, and whose errors on the rows held "
        f"out, all folds together, are as small as those of the reference; {what}",
        mark=mark,
        places={"board", "brief"},
        pooled=_recovered,
    )
    for kind, name, title, mark, what in (
        ("reference", "recovered", "recovered", "✓", "rows with a law that people took for them"),
        (
            "accepted",
            "recovered_any",
            "any recovered",
            "✓any",
            "rows that several laws are good for",
        ),
        ("exact", "recovered_made", "made recovered", "✓made", "rows that were made by a law"),
        (
            "few",
            "recovered_few",
            "few rows recovered",
            "✓few",
            "rows so few that nobody can tell laws apart",
        ),
    )
}
PARTS = (
    flag(
        "matches_reference",
        "as good",
        "answers of tables whose errors on the rows held out, all folds together, are as small as "
        "those of the reference, fitted to the same rows, by a paired bootstrap",
        places={"board"},
        pooled=_as_good,
    ),
    flag(
        "same_law",
        "same law",
        "answers that some choice of their constants, none of which becomes idle, makes one of the "
        "accepted laws, once an intercept or slope that an F test does not support is taken off",
        places={"board"},
    ),
)
