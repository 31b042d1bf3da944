"""Which measurement next: the experiment in which equations that fit alike differ most.

The difference that two laws predict is divided by the noise, and by what the errors of their
constants leave (Box and Hill, Technometrics 9, 57-71, 1967).
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eqverdict.printers import names_in, rounded_to
from eqverdict.structure import terms_of
from mdbench.errors import EquationError, UsageError, did_you_mean
from mdbench.extensions.estimators.answers import as_written
from mdbench.extensions.estimators.pictures import Curve, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.extensions.estimators.experiments import Fitted

    Array = NDArray[np.float64]
    Predict = Callable[[Fitted, "Setting", Array], Array]

__all__ = ["Proposal", "Setting", "alike", "propose", "settings_in"]

ALIKE = 10.0
"""Laws whose misfit is so near to that of the best one fit as well."""
_TRIED = 128
"""Settings that are tried, spread over the box."""
_REFINED = 8
"""Of these, the best ones are compared with the errors of constants."""
_DIGITS = 4
"""Of numbers, where laws are shown."""
_MOST = 1e3
"""A difference that counts as no larger, in units of the noise."""


class Setting(NamedTuple):
    """What an experimenter chooses.

    Attributes
    ----------
    point
        The start, or the row, by name.
    inputs
        The number of the inputs among those that are allowed; None without any.
    """

    point: Mapping[str, float]
    inputs: int | None = None


@dataclass(frozen=True)
class Proposal:
    """The experiment that tells laws apart best.

    Attributes
    ----------
    setting
        What to choose.
    separation
        How many standard deviations the two laws that it tells apart worst are apart; of a law and
        the same with more terms only where there are no others.
    equations
        Of each law, in the order of their likelihood.
    names
        Of what is measured.
    at
        Times, or None for a single row.
    predictions
        What each law predicts, (times or 1, names).
    """

    setting: Setting
    separation: float
    equations: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    at: Array | None
    predictions: tuple[Array, ...]

    def __str__(self) -> str:
        """Write the setting, and how far apart the laws are there."""
        chosen = ", ".join(f"{name} = {value:.4g}" for name, value in self.setting.point.items())
        if self.setting.inputs is not None:
            chosen += f", inputs number {self.setting.inputs}"
        lines = [f"Measure at {chosen}: laws differ by {self.separation:.3g} times the noise."]
        for equations, values in zip(self.equations, self.predictions, strict=True):
            last = ", ".join(f"{value:.4g}" for value in values[-1])
            texts = "; ".join(rounded_to(text, _DIGITS) for text in equations)
            lines.append(f"  {texts}  ->  {', '.join(self.names)} = {last}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = f"<pre>{escape(str(self))}</pre>"
        if self.at is None:
            return text
        curves = []
        for number, values in enumerate(self.predictions):
            whole = np.isfinite(values).all(axis=1)
            for place, name in enumerate(self.names):
                line = self.at[whole], values[whole, place]
                curves.append(Curve(f"law {number + 1}: {name}", *line, *line))
        return text + picture("what the laws predict", "t", curves)


def alike(fits: Sequence[Fitted]) -> list[Fitted]:
    """Return the laws that fit as well as the best one: two at least.

    Raises
    ------
    UsageError
        If there is one law only.
    """
    ordered = sorted(fits, key=lambda fitted: fitted.misfit)
    if len(ordered) < 2:  # noqa: PLR2004
        raise UsageError(
            "There is one law only, and so nothing to tell apart.",
            "Take a method with several candidates, or give a guess.",
        )
    near = [fitted for fitted in ordered if fitted.misfit - ordered[0].misfit < ALIKE]
    return near if len(near) > 1 else ordered[:2]


def settings_in(
    box: Mapping[str, tuple[float, float] | float], names: Sequence[str], inputs: int = 0
) -> list[Setting]:
    """Return settings that are spread over a box, and its corners.

    Parameters
    ----------
    box
        The lowest and the highest value of each name, or the only one.
    inputs
        How many inputs are allowed.

    Raises
    ------
    UsageError
        If a name is missing, or unknown.
    """
    from scipy.stats import qmc  # noqa: PLC0415 - takes a while to import

    if unknown := [name for name in box if name not in names]:
        raise UsageError(f"There is no {unknown[0]}.", did_you_mean(unknown[0], names))
    if missing := [name for name in names if name not in box]:
        raise UsageError(
            f"{missing[0]} is missing.", f"Give its range: {missing[0]}=(lowest, highest)."
        )
    ends = np.array([np.broadcast_to(np.asarray(box[name], float), 2) for name in names])
    if not (np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()):
        raise UsageError(f"A range is not from low to high: {dict(box)}.", "Give finite numbers.")
    inside = qmc.Sobol(len(names), rng=np.random.default_rng(0)).random(_TRIED)
    corners = np.array(list(_corners(len(names))))
    rows = ends[:, 0] + np.concatenate([corners, inside]) * (ends[:, 1] - ends[:, 0])
    chosen = [dict(zip(names, row.tolist(), strict=True)) for row in rows]
    return [Setting(values, k) for values in chosen for k in (range(inputs) if inputs else [None])]


def _corners(count: int) -> Iterator[tuple[float, ...]]:
    most = 6
    for number in range(2 ** min(count, most)):
        yield tuple(float(number >> k & 1) for k in range(count))


def _compared(fits: Sequence[Fitted]) -> list[tuple[int, int]]:
    """Return the pairs of laws that are to be told apart.

    A law and the same law with more terms are no such pair: the constants of these terms may be as
    small as they like.  All pairs count where there are only such.
    """
    terms = [[_terms(text) for text in fitted.texts()] for fitted in fits]
    every = [(i, j) for i in range(len(terms)) for j in range(i)]

    def nested(i: int, j: int) -> bool:
        return all(few <= many for few, many in zip(terms[i], terms[j], strict=True))

    return [(i, j) for i, j in every if not (nested(i, j) or nested(j, i))] or every


def _terms(text: str) -> set[str]:
    try:
        return terms_of(text, names_in(text))
    except EquationError:  # it cannot be multiplied out
        return {text}


def propose(
    fits: Sequence[Fitted],
    settings: Sequence[Setting],
    predict: Predict,
    noise: Array,
    *,
    names: tuple[str, ...],
    at: Array | None = None,
) -> Proposal:
    """Find the setting in which the laws that are told apart worst differ most.

    Parameters
    ----------
    fits
        Two at least; see `alike`.
    settings
        Those that are allowed.
    predict
        Gives what a law predicts in a setting with constants, (times, names); not finite where it
        has no solution.
    noise
        The standard deviation of a measurement, (names,).

    Raises
    ------
    UsageError
        If the best law has a solution in no setting.
    """

    def separation(setting: Setting, *, bands: bool) -> float:
        values = [predict(fitted, setting, fitted.constants[0]) for fitted in fits]
        if not np.isfinite(values[0]).all():
            return -np.inf
        doubts = [np.zeros_like(values[0]) for _ in fits]
        if bands:
            doubts = [
                fitted.band(lambda constants, f=fitted: predict(f, setting, constants))  # type: ignore[misc]
                for fitted in fits
            ]
        apart = []
        for i, j in pairs:
            spread = np.sqrt(
                noise**2 + np.nan_to_num(doubts[i]) ** 2 + np.nan_to_num(doubts[j]) ** 2
            )
            off = np.nan_to_num((values[i] - values[j]) / spread, nan=_MOST)
            apart.append(np.sqrt(np.sum(np.clip(off, -_MOST, _MOST) ** 2)))
        return float(min(apart))

    pairs = _compared(fits)
    rough = [separation(setting, bands=False) for setting in settings]
    best = [settings[place] for place in np.argsort(rough)[::-1][:_REFINED]]
    refined = [separation(setting, bands=True) for setting in best]
    first = int(np.argmax(refined))
    if not np.isfinite(refined[first]):
        raise UsageError(
            "The best law has no solution from any of these starts.", "Give a smaller range."
        )
    chosen = best[first]
    variables = [name for fitted in fits for text in fitted.texts() for name in names_in(text)]
    return Proposal(
        chosen,
        refined[first],
        tuple(tuple(as_written(text, variables) for text in fitted.texts()) for fitted in fits),
        names,
        at,
        tuple(predict(fitted, chosen, fitted.constants[0]) for fitted in fits),
    )
