"""Solutions of sums of terms on segments of time, and their responses to what is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from exponential_steps import ExponentialStep
from scipy.fft import irfft, rfft

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from summands import Product

    Array = NDArray[np.float64]
    Spectra = NDArray[np.complex128]
    Place = tuple[int, Product]
    """The number of an equation, and a term in it."""
    Feature = tuple[int, int]
    """A state, and the order of its derivative."""

__all__ = ["FieldSamples", "Flow", "Responses"]

_FEWEST_NODES = 64
_NODES_OF_A_WAVE = 6
"""Nodes in the shortest wave above the noise, of the grid that is solved on."""
_MODES = 12, 32
"""The fewest and the most waves of a start that are fitted."""
_GROWTH = 50.0
"""A linear part that grows by the exponential of this in a step is not solved."""
_BLOWN = 100.0
"""A solution so many times as large as the samples has blown up."""


@dataclass(frozen=True)
class FieldSamples:
    """Samples of a periodic field along one axis, as averages of neighbouring nodes.

    A segment of time has the samples from its start to before the start of the next.

    Attributes
    ----------
    measured, smoothed
        (times, d, nodes)
    starts
        Smoothed spectra at the first time of each segment, up to `modes`, (segments, d, waves).
    seen
        The share of each wave that the averages have, with their place as its phase, (waves,).
    wave
        The wave numbers times the imaginary unit, (waves,).
    interval
        Intervals in a segment.
    modes
        Waves of a start that are fitted, besides the mean.
    averaged
        Nodes in an average.
    step
        Time between samples.
    """

    measured: Array
    smoothed: Array
    starts: Spectra
    seen: Spectra
    wave: Spectra
    interval: int
    modes: int
    averaged: int
    step: float

    @classmethod
    def of(
        cls,
        states: tuple[Array, Array],
        period: float,
        step: float,
        highest: int,
        interval: int,
    ) -> FieldSamples:
        """Make them of what was measured and what was smoothed, (nodes, times, d) each.

        Parameters
        ----------
        period, step
            The length of the axis, and the time between samples.
        highest
            The number of the shortest wave that is above the noise.
        interval
            Intervals in a segment.
        """
        y, u = (np.moveaxis(values, (1, 2), (0, 1)) for values in states)
        fine = y.shape[-1]
        fewest = max(_FEWEST_NODES, _NODES_OF_A_WAVE * highest)
        group = max(
            g for g in range(1, fine + 1) if fine % g == 0 and (g == 1 or fine // g >= fewest)
        )
        nodes = fine // group
        waves = np.arange(nodes // 2 + 1)
        angle = np.pi * waves / fine
        share = np.ones(len(waves))
        share[1:] = np.sin(group * angle[1:]) / (group * np.sin(angle[1:]))
        modes = min(int(np.clip(1.5 * highest + 6, *_MODES)), nodes // 3)
        cuts = np.arange(0, max(len(y) - 1, 1), interval)
        return cls(
            measured=_averaged(y, group),
            smoothed=_averaged(u, group),
            starts=rfft(u[cuts])[..., : len(waves)] / group * (waves <= modes),
            seen=share * np.exp(1j * (group - 1) * angle),
            wave=2j * np.pi / period * waves * (waves <= nodes // 3),
            interval=interval,
            modes=modes,
            averaged=group,
            step=step,
        )

    def average(self, values: Array) -> Array:
        """Return averages of values (nodes, times, d) as those of the samples."""
        return _averaged(np.moveaxis(values, (1, 2), (0, 1)), self.averaged)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Segments, states and nodes."""
        return len(self.starts), self.measured.shape[1], self.measured.shape[2]

    @property
    def unknowns(self) -> int:
        """Numbers in the start of a segment."""
        return self.shape[1] * (2 * self.modes + 1)

    def times(self, offset: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the segments that have a sample at this offset, and its time."""
        segments = np.arange(len(self.starts))
        times = segments * self.interval + offset
        own = times < len(self.measured)
        if offset == self.interval:  # the next segment's first; the last time is the last one's
            own &= segments == len(segments) - 1
        return segments[own], times[own]

    def averages(self, v: Spectra) -> Array:
        """Return what spectra show."""
        return np.asarray(irfft(v * self.seen, self.shape[2]))

    def basis(self) -> Spectra:
        """Return the spectra of each number of a start, (unknowns, d, waves)."""
        _, d, nodes = self.shape
        made = np.zeros((d, 2 * self.modes + 1, d, len(self.wave)), complex)
        for state in range(d):
            made[state, 0, state, 0] = nodes
            for mode in range(1, self.modes + 1):
                made[state, 2 * mode - 1, state, mode] = nodes / 2
                made[state, 2 * mode, state, mode] = 0.5j * nodes
        return made.reshape(-1, d, len(self.wave))


@dataclass(frozen=True)
class Responses:
    """How the solution responds at one offset from the starts.

    Attributes
    ----------
    spectra
        (segments, d, waves)
    tangents
        To the start's numbers, then to coefficients, (segments, unknowns + columns, d, waves).
    """

    spectra: Spectra
    tangents: Spectra


class Flow:
    """Solutions of a sum of terms from the starts of all segments.

    Parameters
    ----------
    places
        The terms of the equations.
    substeps
        Steps between two samples, an even number.
    """

    def __init__(
        self,
        samples: FieldSamples,
        places: Sequence[Place],
        coefficients: Sequence[float] | Array,
        substeps: int,
    ) -> None:
        self._samples, self._substeps = samples, substeps
        _, d, self.nodes = samples.shape
        wave = samples.wave
        self._linear = np.zeros((d, d, len(wave)), complex)
        self.others: list[tuple[int, Product, float]] = []
        for (equation, term), c in zip(places, coefficients, strict=True):
            factors = _factors(term)
            if not term.function and sum(factors.values()) == 1:
                ((state, order),) = factors
                self._linear[equation, state] += c * wave**order
            else:
                self.others.append((equation, term, float(c)))
        self.features = sorted({key for _, term, _ in self.others for key in _factors(term)})
        self._solved = np.arange(len(wave)) <= self.nodes // 3
        self._linear *= self._solved
        self._h = samples.step / substeps

    def solve(self, starts: Spectra) -> Spectra | None:
        """Return spectra at each step, (steps + 1, segments, d, waves); None if they blow up."""
        growth = float(np.linalg.norm(np.maximum(self._linear.real, 0.0), axis=(0, 1)).max())
        if not growth * self._h < _GROWTH:
            return None
        samples = self._samples
        step = ExponentialStep.of(self._linear, self._h)
        bound = _BLOWN * self.nodes * float(np.abs(samples.measured).max())
        solved = np.empty((samples.interval * self._substeps + 1, *starts.shape), complex)
        solved[0] = starts
        with np.errstate(over="ignore", invalid="ignore"):
            for number in range(1, len(solved)):
                solved[number] = step.advance(solved[number - 1], *[self._rest] * 3)
                if not number % self._substeps and not np.abs(solved[number]).max() < bound:
                    return None
        return solved

    def responses(self, solved: Spectra, columns: Sequence[Place]) -> Iterator[Responses]:
        """Yield the responses at each sample of the segments, from their starts on.

        A step is twice as long as that of the solution, which is known in its middle.
        """
        samples = self._samples
        begin = samples.basis()
        tangents = np.zeros(
            (len(samples.starts), len(begin) + len(columns), *begin.shape[1:]), complex
        )
        tangents[:, : len(begin)] = begin
        step = ExponentialStep.of(self._linear, 2 * self._h)
        yield Responses(solved[0], tangents)
        first = _Linearised(self, solved[0], columns)
        for number in range(0, len(solved) - 1, 2):
            middle = _Linearised(self, solved[number + 1], columns)
            last = _Linearised(self, solved[number + 2], columns)
            tangents = step.advance(tangents, first, middle, last)
            first = last
            if not (number + 2) % self._substeps:
                yield Responses(solved[number + 2], tangents)

    def values(self, v: Spectra, features: Sequence[Feature]) -> dict[Feature, Array]:
        """Return derivatives of states at the nodes, (segments, nodes) each."""
        wave = self._samples.wave
        return {
            (state, order): irfft(v[..., state, :] * wave**order, self.nodes)
            for state, order in features
        }

    def spectrum(self, values: Array) -> Spectra:
        """Return the spectrum of values at the nodes, without its upper third."""
        return np.asarray(rfft(values)) * self._solved

    def _rest(self, v: Spectra) -> Spectra:
        """Return the right-hand side that is not linear."""
        if not self.others:
            return np.zeros_like(v)
        known = self.values(v, self.features)
        total = np.zeros((*v.shape[:-1], self.nodes))
        for equation, term, c in self.others:
            total[..., equation, :] += c * _value(term, known)
        return self.spectrum(total)


class _Linearised:
    """The right-hand side about a solution, without its linear part, for tangents."""

    def __init__(self, flow: Flow, v: Spectra, columns: Sequence[Place]) -> None:
        self._flow, self._columns = flow, columns
        wanted = {key for _, term in columns for key in _factors(term)} | set(flow.features)
        known = flow.values(v, sorted(wanted))
        ones = np.ones((len(v), flow.nodes))
        self._slopes: dict[tuple[int, Feature], Array] = {}
        for equation, term, c in flow.others:
            for key in _factors(term):
                slope = c * _slope(term, key, known)
                before = self._slopes.get((equation, key), 0.0)
                self._slopes[equation, key] = before + slope
        self._terms = {term: flow.spectrum(_value(term, known) * ones) for _, term in columns}

    def __call__(self, tangents: Spectra) -> Spectra:
        """Return the rates of change of tangents (segments, unknowns + columns, d, waves)."""
        flow = self._flow
        made = np.zeros_like(tangents)
        if self._slopes:
            known = flow.values(tangents, sorted({key for _, key in self._slopes}))
            for equation in {number for number, _ in self._slopes}:
                values = np.zeros((*tangents.shape[:2], flow.nodes))
                for (number, key), slope in self._slopes.items():
                    if number == equation:
                        values += slope[:, None] * known[key]
                made[:, :, equation] = flow.spectrum(values)
        first = tangents.shape[1] - len(self._columns)
        for number, (equation, term) in enumerate(self._columns):
            made[:, first + number, equation] += self._terms[term]
        return made


def _averaged(values: Array, group: int) -> Array:
    return np.asarray(values.reshape(*values.shape[:2], -1, group).mean(axis=-1))


@cache
def _factors(term: Product) -> dict[Feature, int]:
    """Return how often a term has each state and derivative."""
    counted: dict[Feature, int] = {}
    keys = [(state, 0) for state in term.states]
    for key in [*keys, *((each.state, each.order) for each in term.derivatives)]:
        counted[key] = counted.get(key, 0) + 1
    return counted


def _value(term: Product, known: dict[Feature, Array]) -> Array:
    if term.function:
        u = known[term.states[0], 0]
        return np.sin(u) if term.function == "sin" else np.cos(u)
    return _product(_factors(term), known)


def _slope(term: Product, key: Feature, known: dict[Feature, Array]) -> Array:
    """Return the derivative of a term by one of its factors."""
    if term.function:
        u = known[key]
        return np.cos(u) if term.function == "sin" else -np.sin(u)
    factors = _factors(term)
    return factors[key] * _product({**factors, key: factors[key] - 1}, known)


def _product(factors: dict[Feature, int], known: dict[Feature, Array]) -> Array:
    made: Array = np.ones(())
    for key, power in factors.items():
        for _ in range(power):
            made = made * known[key]
    return made
