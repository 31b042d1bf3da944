"""The choice among a method's candidates, and a guess, by the likelihood of the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
    from mdbench.records import FrontEntry, Record, WeightedScores

    Array = NDArray[np.float64]

__all__ = ["Choice", "Option", "choose", "choose_each"]
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
    weighted
        Its scores by standard errors; None where these are unknown.
    """

    options: tuple[Option, ...]
    weighted: WeightedScores | None = None

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
        lines = [f"{worse:>10}  {origin}: {text}" for worse, origin, text in self._rows()]
        return "\n".join([*lines, *filter(None, [self._weighted()])])

    def _weighted(self) -> str:
        scores = self.weighted
        if scores is None:
            return ""
        r2 = "" if scores.r2 is None else f", weighted R² {scores.r2:.4g}"
        return f"chi-square per value {scores.chi2:.4g} ({scores.values} values){r2}"

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(part)}</td>" for part in row) + "</tr>"
            for row in self._rows()
        )
        head = "<tr><th>misfit beyond the best</th><th>from</th><th>equations</th></tr>"
        return f"<table>{head}{rows}</table>{self._weighted()}"


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
    structure = Structure.of(records[0].equations or (), names)
    options = _Options(experiment.suited(structure), names, shapes, by_run)
    for texts in others:
        options.tried(OTHER, texts)
    if guess:
        answer = list(records[0].equations or ())
        texts = [guess.get(name, own) for name, own in zip(targets, answer, strict=True)]
        options.tried(GUESS, texts)
    for record in records:
        options.add_record(record, len(targets))
    ranked = sorted(options.by_structure.values(), key=_rank)
    if ranked[0].refused:
        texts = [rounded_to(text, _DIGITS) for text in ranked[0].equations]
        raise UsageError(
            f"None of {len(ranked)} candidates can be the answer; the nearest: "
            f"{'; '.join(texts)}: {ranked[0].refused}.",
            "Give the method more work, or leave out a shape.",
        )
    _, texts, fitted, _ = ranked[0]
    weighted = None if fitted is None else options.experiment.weighted(fitted, texts)
    return Choice(tuple(ranked), weighted)


def choose_each(
    record: Record,
    experiments: Sequence[Experiment],
    *,
    guess: Mapping[str, str] | None = None,
    shapes: Sequence[Shape] = (),
) -> tuple[Choice, ...]:
    """Choose each equation for itself, as `choose` does, where each has an experiment of its own.

    Parameters
    ----------
    record
        Has the answer and its candidates, in the names of the experiments.
    """
    choices = []
    for number, experiment in enumerate(experiments):
        single = [
            entry.model_copy(update={"equations": (text,), "target": None})
            for entry in record.front or ()
            if entry.target in {None, number}
            for text in (entry.equations[number if entry.target is None else 0],)
        ]
        names = record.targets[number : number + 1]
        equations = (record.equations or ())[number : number + 1]
        own = record.model_copy(update={"equations": equations, "front": single})
        choices.append(
            choose(
                [own],
                names,
                experiment,
                names=list(experiment.runs[0].columns),
                guess=guess and {name: text for name, text in guess.items() if name in names},
                shapes=[shape._replace(target=0) for shape in shapes if shape.target == number],
            )
        )
    return tuple(choices)


class _Options:
    """Options, each structure once, fitted as they are added."""

    def __init__(
        self, experiment: Experiment, names: Sequence[str], shapes: Sequence[Shape], by_run: bool
    ) -> None:
        self.experiment, self._names = experiment, names
        self._shapes, self._by_run = shapes, by_run
        runs = experiment.runs
        self._columns = {n: np.concatenate([run.columns[n] for run in runs]) for n in names}
        self.by_structure: dict[tuple[str, ...], Option] = {}

    def add_record(self, record: Record, targets: int) -> None:
        """Add the answer of a record, and the candidates that it was chosen from."""
        answer = list(record.equations or ())
        self.tried(ANSWER, answer)
        whole, single = _front(record, targets)
        for texts in self._nearest(whole):
            self.tried(FRONT, texts)
        for target, equations in single.items():
            ways = [[*answer[:target], text, *answer[target + 1 :]] for text in equations]
            fits = [(self.tried(FRONT, way), way) for way in [answer, *self._nearest(ways)]]
            best, way = min(fits, key=lambda pair: _rank(pair[0]))
            if not best.refused:
                answer = list(way)

    def tried(self, origin: str, texts: Sequence[str]) -> Option:
        """Fit equations, unless their structure was fitted before."""
        try:
            structure = Structure.of(texts, self._names, guessed=origin == GUESS)
            if structure.skeleton not in self.by_structure:
                self.by_structure[structure.skeleton] = self._fitted(origin, structure)
            return self.by_structure[structure.skeleton]
        except MdbenchError as error:
            if origin == GUESS:
                raise
            failed = Option(origin, tuple(texts), None, error.message)
            return self.by_structure.setdefault(tuple(texts), failed)

    def _fitted(self, origin: str, structure: Structure) -> Option:
        fit = self.experiment.fit_free if self._by_run else self.experiment.fit
        fitted = fit(structure)
        written = tuple(as_written(text, self._names) for text in fitted.texts())
        refused = (
            violation(shape, partial(_values, structure, constants), self._columns)
            for shape in self._shapes
            for constants in fitted.constants
        )
        return Option(origin, written, fitted, next(filter(None, refused), ""))

    def _nearest(self, several: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """Return those that a quick look finds the most likely ones."""
        if not isinstance(self.experiment, Motion):
            return list(several)
        slopes, misfits = self.experiment.slopes, []
        for texts in several:
            try:
                misfits.append(slopes.fit(Structure.of(texts, self._names)).misfit)
            except MdbenchError:
                misfits.append(np.inf)
        return [several[place] for place in np.argsort(misfits)[:_NEAREST]]


def _values(structure: Structure, constants: Array, columns: Mapping[str, Array]) -> Array:
    return structure.values(columns, constants)


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
