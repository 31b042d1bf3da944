"""The choice among a method's candidates, and a guess, by the likelihood of the data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict.printers import rounded_to
from mdbench.errors import MdbenchError, UsageError
from mdbench.extensions.estimators.answers import as_written
from mdbench.extensions.estimators.experiments import Motion
from mdbench.extensions.estimators.shapes import violation
from mdbench.extensions.estimators.structures import Structure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.extensions.estimators.experiments import Experiment, Fitted
    from mdbench.extensions.estimators.shapes import Shape
    from mdbench.records import FrontEntry, Record

    Array = NDArray[np.float64]

__all__ = ["Choice", "Option", "choose"]
_MOST = 8
"""Candidates of a front that are fitted, those that the bench prefers."""
_NEAREST = 3
"""Of these, trajectories are integrated for the ones whose slopes fit best."""
_DIGITS = 4
"""Of numbers, where options are shown."""
ANSWER, FRONT, GUESS = "the method’s answer", "a candidate", "the guess"
OTHER = "another in one term"


class Option(NamedTuple):
    """One that might be chosen.

    Attributes
    ----------
    origin
        Where it comes from.
    equations
        Right-hand sides, with the constants of the first run.
    fitted
        None where it could not be fitted.
    refused
        Why it cannot be the answer; empty where it can.
    """

    origin: str
    equations: tuple[str, ...]
    fitted: Fitted | None
    refused: str


@dataclass(frozen=True)
class Choice:
    """Options, the most likely first, then those that are refused.

    Attributes
    ----------
    options
        The first one is the answer.
    """

    options: tuple[Option, ...]

    @property
    def fitted(self) -> Fitted:
        """The answer, fitted."""
        answer = self.options[0].fitted
        assert answer is not None  # noqa: S101 - see `choose`
        return answer

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        least = self.fitted.misfit
        for option in self.options:
            worse = "" if option.fitted is None else f"{option.fitted.misfit - least:.4g}"
            why = f" ({option.refused})" if option.refused else ""
            texts = [rounded_to(text, _DIGITS) for text in option.equations]
            yield worse, f"{option.origin}{why}", "; ".join(texts)

    def __repr__(self) -> str:
        """Write a line for each: how much worse it is, where it comes from, the equations."""
        return "\n".join(f"{worse:>10}  {origin}: {text}" for worse, origin, text in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(part)}</td>" for part in row) + "</tr>"
            for row in self._rows()
        )
        head = "<tr><th>misfit beyond the best</th><th>from</th><th>equations</th></tr>"
        return f"<table>{head}{rows}</table>"


def choose(
    records: Sequence[Record],
    targets: Sequence[str],
    experiment: Experiment,
    *,
    names: Sequence[str],
    guess: Mapping[str, str] | None = None,
    others: Sequence[Sequence[str]] = (),
    shapes: Sequence[Shape] = (),
    by_run: bool = False,
) -> Choice:
    """Fit the candidates of records and a guess to an experiment, and choose the most likely one.

    Candidates that were proposed for single targets are tried in the place of the answer's, target
    after target.

    Parameters
    ----------
    records
        Of a method on the data; the first one has the answer.
    targets
        The names of the left-hand sides, as a guess has them.
    names
        The variables.
    guess
        Right-hand sides by target; targets that it has not are those of the answer.
    others
        More systems that are to be compared.
    shapes
        What the answer has to have.
    by_run
        Whether runs may have constants for themselves.

    Raises
    ------
    UsageError
        If no candidate can be fitted, or none has the shape.
    """
    columns = {
        name: np.concatenate([run.columns[name] for run in experiment.runs]) for name in names
    }
    options: dict[tuple[str, ...], Option] = {}

    experiment = experiment.suited(Structure.of(records[0].equations or (), names))

    def tried(origin: str, texts: Sequence[str]) -> Option:
        try:
            structure = Structure.of(texts, names, guessed=origin == GUESS)
            if structure.skeleton not in options:
                options[structure.skeleton] = fit(origin, structure)
            return options[structure.skeleton]
        except MdbenchError as error:
            if origin == GUESS:
                raise
            return options.setdefault(tuple(texts), Option(origin, tuple(texts), None, error.message))

    def fit(origin: str, structure: Structure) -> Option:
        fitted = experiment.fit_free(structure) if by_run else experiment.fit(structure)
        written = tuple(as_written(text, names) for text in fitted.texts())
        refused = (
            violation(shape, lambda at, c=constants: structure.values(at, c), columns)  # type: ignore[misc]
            for shape in shapes
            for constants in fitted.constants
        )
        return Option(origin, written, fitted, next(filter(None, refused), ""))

    def nearest(several: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """Return those that a quick look finds the most likely ones."""
        if not isinstance(experiment, Motion):
            return list(several)
        misfits = []
        for texts in several:
            try:
                misfits.append(experiment.slopes.fit(Structure.of(texts, names)).misfit)
            except MdbenchError:
                misfits.append(np.inf)
        return [several[place] for place in np.argsort(misfits)[:_NEAREST]]

    if guess:
        answer = list(records[0].equations or ())
        texts = [guess.get(name, own) for name, own in zip(targets, answer, strict=True)]
        tried(GUESS, texts)
    for record in records:
        answer = list(record.equations or ())
        tried(ANSWER, answer)
        whole, single = _front(record, len(targets))
        for texts in nearest(whole):
            tried(FRONT, texts)
        for target, texts in single.items():
            ways = [[*answer[:target], text, *answer[target + 1 :]] for text in texts]
            fits = [(tried(FRONT, way), way) for way in [answer, *nearest(ways)]]
            best, way = min(fits, key=lambda pair: _rank(pair[0]))
            if not best.refused:
                answer = way
    for texts in others:
        tried(OTHER, texts)
    ranked = sorted(options.values(), key=_rank)
    if ranked[0].refused:
        raise UsageError(
            f"None of {len(ranked)} candidates can be the answer; the nearest: "
            f"{'; '.join(rounded_to(text, _DIGITS) for text in ranked[0].equations)}: "
            f"{ranked[0].refused}.",
            "Give the method more work, or leave out a shape.",
        )
    return Choice(tuple(ranked))


def _rank(option: Option) -> tuple[bool, float]:
    return bool(option.refused), np.inf if option.fitted is None else option.fitted.misfit


def _front(record: Record, count: int) -> tuple[list[tuple[str, ...]], dict[int, list[str]]]:
    """Return the candidates that the bench prefers: for all targets, and for single ones."""

    def preferred(entries: Sequence[FrontEntry]) -> list[FrontEntry]:
        return sorted(entries, key=lambda entry: -(entry.fitness or 0.0))[:_MOST]

    front = record.front or ()
    whole = [entry for entry in front if len(entry.equations) == count and entry.target is None]
    single = {
        target: [entry.equations[0] for entry in preferred(of_target)]
        for target in range(count)
        if (of_target := [entry for entry in front if entry.target == target])
    }
    return [entry.equations for entry in preferred(whole)], single
