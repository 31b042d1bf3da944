"""From samples to equations: starts in weak form, steps by likelihood, constants inside."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from dynamics import Segments
from exchange import OneEquation, Sum
from library import Term, inner_terms, plain_terms
from likelihood import Fit, Model, Noise, Shooting
from starts import WeakForm
from steps import Search

from mdbench.worker import Alternative

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Discovery", "Recording"]

_STATE = re.compile(r"\bu(\d+)\b")
_POWERS = re.compile(r"1|u\d+(\*u\d+)*")
_SHORT = 3
"""Sums of so many products of states are left as they are where they fit."""
_LENGTH = 8
"""Intervals of a segment."""
_LEAST_FLOOR = 0.03
"""Until equations are known, noise is at least this share of that at a state's largest value:
near zero a smoothed curve is farther off than proportional noise."""
_MORE_NOISE = 1.1
_WIDTHS, _NARROW = (8, 16, 32), (8,)
"""Widths of test functions, in intervals, on smoothed curves and on the samples themselves."""
_WEIGHTS = (0.15, 0.5)
"""Decades that a term has to gain in an equation to begin with, by natural logarithms."""
_BRIEFLY = 6
_LOOSE, _TIGHT = 0.3, 0.1
"""Jumps between segments, as a share of the noise, in the first search and in the last."""
_SIMPLE, _ALL = 2, 3
"""Searches from the best starts of cheap terms, and of all."""
_TRIED_FIRST = 3
"""Steps that are tried before a first search ends."""
_ROUNDS = 3
_AS_BEFORE = 0.05
"""A change of the noise by a smaller share changes nothing."""
_GRID, _FAMILIES, _DEGREE = 16, 12, 4
"""Constants of a family's grid, models with families that are fitted, and the highest power under a
bar."""
_INNER_ENDS, _INNER_TRIED = 4, 4
"""Fits with families that are searched from, and steps that are tried before that ends."""
_LENT, _LENT_HOPE = 2, 20.0
"""Sums with another equation's constants that are fitted, and by how much their predicted score may
be worse."""
_JOINED, _OF_FAMILY = 40.0, 2
"""By how much a sum's score may be worse for its constants to be tried in other equations, too; and
the sums of a family that are."""
_PASSES = 3
_WIDE = 150
"""Terms of the last searches."""
_FINE, _MOST_SUBSTEPS = 0.05, 16
"""Steps are halved while that moves a solution by more of the noise."""
_RIVAL = 6.0
"""Twice the logarithm of the likelihood by which a rival that is named may be worse."""


@dataclass(frozen=True)
class Recording:
    """Samples of trajectories: times (n,), states (n, d) as measured and smoothed."""

    t: Array = field(repr=False)
    y: Array = field(repr=False)
    u: Array = field(repr=False)
    trajectory: Array | None = field(default=None, repr=False)


class Discovery:
    """The search for all equations of a recording.

    Parameters
    ----------
    data
        The recording.
    terms
        Largest number of terms without constants inside.
    substeps
        Steps of integration for each interval, at least.
    late
        Whether the time is over.
    soon
        Whether it is so soon that no more terms are to be looked for.
    library
        The terms that are tried, in place of all up to some cost; then no others are looked for.
    """

    def __init__(
        self,
        data: Recording,
        terms: int,
        substeps: int,
        late: Callable[[], bool],
        soon: Callable[[], bool],
        *,
        library: Sequence[Term] | None = None,
    ) -> None:
        self._data, self._late, self._soon = data, late, soon
        self._dim = data.y.shape[1]
        self._segments = Segments.of(data.t, data.y, data.trajectory, _LENGTH, substeps)
        self._library = plain_terms(data.u, terms) if library is None else list(library)
        self._wide = plain_terms(data.u, _WIDE, sets=True) if library is None else self._library
        products = (self._dim + 1) * (self._dim + 2) / 2
        self._few = [t for t in self._library if t.price <= 2 * math.log(products) + 1e-9]
        self._groups = inner_terms(data.u, _DEGREE) if library is None else []
        self._rivals: list[Fit] = []
        self._noise: Noise | None = None

    def search(self, begin: Sequence[tuple[int, Term, float]] = ()) -> Fit:
        """Return the equations of the best score.

        Parameters
        ----------
        begin
            Equations, terms and coefficients to begin with; none for those in weak form.
        """
        first = self._first() if not begin else self._near(begin)
        best = first if self._late() else self._fine_enough(first)
        for _ in range(_ROUNDS):
            before, noise = best.model.key, self._noise
            best = self._again(best)
            if self._late() or (best.model.key == before and self._is_as(noise)):
                break
        for _ in range(_PASSES if self._groups else 0):
            try:
                inner = None if self._soon() else self._with_inner(best)
            except np.linalg.LinAlgError:
                break
            if inner is None:
                break
            best = self._again(inner)
        return best

    def _first(self) -> Fit:
        """Search from several starts, under the noise that smoothing takes away."""
        data = self._data
        noise = Noise.of(data.u, data.y - data.u, least=_LEAST_FLOOR)
        shooting = Shooting(self._segments, _MORE_NOISE * noise.deviation(data.u), _LOOSE)
        search = Search(shooting, self._library, self._late)
        ways: list[tuple[Fit, list[Term]]] = []
        for tier, most in ((self._few, _SIMPLE), (self._library, _ALL)):
            found = self._begun(search, tier)
            ways += [(one, tier) for one in found[:most]]
        if not ways:
            none = Model((), np.zeros(0), {}, self._starts(data.u))
            return shooting.fit(none) or Fit(none, math.inf, np.zeros(0), math.inf)
        ends = [one for one, _ in ways]
        for one, tier in ways:
            if not self._late():
                ends.append(search.improved(one, tier, _TRIED_FIRST))
        return search.improved(min(ends, key=lambda one: one.score))

    def _near(self, begin: Sequence[tuple[int, Term, float]]) -> Fit:
        """Search near equations, under the noise that smoothing takes away."""
        data = self._data
        noise = Noise.of(data.u, data.y - data.u, least=_LEAST_FLOOR)
        shooting = Shooting(self._segments, _MORE_NOISE * noise.deviation(data.u), _LOOSE)
        search = Search(shooting, self._library, self._late)
        support = tuple((i, term) for i, term, _ in begin)
        model = Model(support, np.array([c for _, _, c in begin]), {}, self._starts(data.u))
        fit = search.fitted(model, _BRIEFLY)
        if fit is None:
            return Fit(model, math.inf, np.zeros(len(begin)), math.inf)
        return search.improved(fit)

    def _starts(self, curves: Array) -> Array:
        return curves[self._segments.rows[:, 0]].T.copy()

    def _begun(self, search: Search, tier: Sequence[Term]) -> list[Fit]:
        """Return fits of equations in weak form, the best first."""
        data = self._data
        found: dict[frozenset[tuple[int, str]], Fit] = {}
        for curves, widths in ((data.u, _WIDTHS), (data.y, _NARROW)):
            starts = self._starts(curves)
            for width in widths:
                form = WeakForm.of(data.t, curves, data.trajectory, width)
                for weight in _WEIGHTS:
                    if self._late() and found:
                        break
                    sums = [form.chosen(curves, tier, i, weight) for i in range(self._dim)]
                    support = tuple((i, t) for i, (several, _) in enumerate(sums) for t in several)
                    coefficients = np.concatenate([c for _, c in sums])
                    fit = search.fitted(Model(support, coefficients, {}, starts), _BRIEFLY)
                    if fit is not None:
                        found[fit.model.key] = fit
        return sorted(found.values(), key=lambda one: one.score)

    def _fine_enough(self, best: Fit) -> Fit:
        """Halve the steps of integration until that changes little."""
        curves = self._curves(best.model)
        sigma = Noise.of(curves, self._data.y - curves).deviation(curves)
        while self._segments.substeps < _MOST_SUBSTEPS:
            finer = replace(self._segments, substeps=2 * self._segments.substeps)
            before, after = (
                Shooting(each, sigma, _TIGHT).solved(best.model) for each in (self._segments, finer)
            )
            if float(np.sqrt(np.mean((before - after) ** 2))) < _FINE:
                break
            self._segments = finer
        return best

    def _again(self, best: Fit) -> Fit:
        """Search near a model, under the noise that it leaves."""
        curves = self._curves(best.model)
        self._noise = Noise.of(curves, self._data.y - curves)
        shooting = Shooting(self._segments, self._noise.deviation(curves), _TIGHT)
        search = Search(shooting, self._wide, self._late)
        refit = search.fitted(best.model)
        if refit is None:
            return best
        inner = [t for _, t in refit.model.support if t.slot >= 0]
        further = search.improved(refit, [*self._wide, *inner])
        self._rivals = search.others(further, _RIVAL)
        return further

    def _is_as(self, before: Noise | None) -> bool:
        """Return whether the noise that is supposed now is nearly that before."""
        now = self._noise
        if before is None or now is None or now.floor != before.floor:
            return False
        return bool(np.abs(now.size / before.size - 1.0).max() < _AS_BEFORE)

    def _with_inner(self, best: Fit) -> Fit | None:
        """Try terms with constants inside, all terms of an equation being chosen again."""
        if self._noise is None:
            return None
        curves = self._curves(best.model)
        shooting = Shooting(self._segments, self._noise.deviation(curves), _TIGHT)
        search = Search(shooting, self._few, self._late)
        again = search.fitted(best.model)
        if again is None:
            return None
        found: list[tuple[Fit, int]] = []
        for several in self._joined(shooting, again):
            if self._late():
                break
            model = again.model
            for one in several:
                model = _exchanged(model, one.state, one.terms, one.coefficients)
            fit = search.fitted(model, 12, again.score)
            if fit is not None:
                found.append((fit, several[0].state))
        found.sort(key=lambda one: one[0].score)
        ends = [self._ended(search, fit, state) for fit, state in found[:_INNER_ENDS]]
        best_end = min(ends, key=lambda one: one.score, default=None)
        return best_end if best_end is not None and best_end.score < again.score - 1e-3 else None

    def _joined(self, shooting: Shooting, fit: Fit) -> list[tuple[Sum, ...]]:
        """Return equations with terms of a family, and others with the same constants inside."""
        base = [*self._few, *(t for _, t in fit.model.support if t.slot < 0)]
        base += self._inside(fit.model)
        base = list({t.name: t for t in base}.values())
        near = [OneEquation(shooting, fit, i, base) for i in range(self._dim)]
        open_ = [one for one in near if not self._is_settled(one, fit.model)]
        found: list[tuple[float, tuple[Sum, ...]]] = []
        for each in open_:
            found += [(one.score, (one,)) for one in each.sums(self._wide)[:_OF_FAMILY]]
        for group in self._groups:
            for each in open_:
                if self._soon():
                    break
                for first in each.best(group, _stride(group))[:_OF_FAMILY]:
                    found.append((first.score, (first,)))
                    if first.score < fit.score + _JOINED:
                        found += _shared(first, group, open_, fit.score)
        found.sort(key=lambda one: one[0])
        once: dict[frozenset[tuple[int, str]], tuple[Sum, ...]] = {}
        for _, several in found:
            once.setdefault(frozenset((s.state, t.name) for s in several for t in s.terms), several)
        return list(once.values())[:_FAMILIES]

    def _is_settled(self, near: OneEquation, model: Model) -> bool:
        """Return whether an equation is so short and fits so well that others hardly win."""
        own = [t for i, t in model.support if i == near.state]
        plain = all(_POWERS.fullmatch(t.name) for t in own) or any(
            t.slot >= 0 for _, t in model.support
        )
        return len(own) <= _SHORT and plain and near.settled(self._library)

    def _ended(self, search: Search, fit: Fit, state: int) -> Fit:
        """Try the constants of an equation in the others, then take steps."""
        for j in range(self._dim):
            if j == state or self._late():
                continue
            inside = self._inside(fit.model)
            near = OneEquation(search.shooting, fit, j, [*self._few, *inside])
            slots = sorted({t.slot for t in inside})
            sums = [
                one for slot in slots for one in near.best([t for t in inside if t.slot == slot])
            ]
            for one in sums[:_LENT]:
                if one.score > fit.score + _LENT_HOPE:
                    continue
                model = _exchanged(fit.model, j, one.terms, one.coefficients)
                further = search.fitted(model, 12, fit.score)
                if further is not None and further.score < fit.score:
                    fit = further
        return search.improved(fit, [*self._few, *self._inside(fit.model)], _INNER_TRIED)

    def _inside(self, model: Model) -> list[Term]:
        """Return all terms of the families of a model, with its constants inside."""
        slots = {t.slot for _, t in model.support if t.slot >= 0}
        return [
            replace(t, start=model.inner[t.slot])
            for group in self._groups
            for t in group
            if t.slot in slots
        ]

    def _curves(self, model: Model) -> Array:
        """Return a model's states at the samples, (n, d)."""
        at = Shooting(self._segments, np.ones_like(self._data.y), _TIGHT).at_samples(model)
        curves = np.empty_like(self._data.y)
        curves[self._segments.rows[self._segments.own]] = at[self._segments.own]
        return curves

    def equations(self, fit: Fit, variables: Sequence[str]) -> list[str]:
        """Write a model's right-hand sides in a problem's names, with all digits."""
        parts: list[list[str]] = [[] for _ in range(self._dim)]
        model = fit.model
        for (i, _), c, one in zip(model.support, model.coefficients, model.summands(), strict=True):
            number = repr(float(c))
            parts[i].append(number if one.text == "1" else f"{number}*{one.text}")
        texts = [" + ".join(one).replace("+ -", "- ") or "0" for one in parts]
        return [_STATE.sub(lambda found: variables[int(found[1])], text) for text in texts]

    def report(self, fit: Fit, variables: Sequence[str]) -> None:
        """Print the noise, standard errors, and the structures that fit nearly as well."""
        if self._noise is not None:
            form = "constant" if math.isinf(self._noise.floor) else "proportional to a state"
            sizes = ", ".join(f"{size:.2g}" for size in self._noise.size)
            print(f"noise: {form}, {sizes} of it")  # noqa: T201
        errors = zip(fit.model.support, fit.model.coefficients, fit.errors, strict=True)
        for (i, term), c, error in errors:
            print(f"    {variables[i]}: {term.name}: {c:.8g} +- {error:.1g}")  # noqa: T201
        for one in self._rivals:
            texts = "; ".join(self.equations(one, variables))
            behind = one.score - fit.score
            print(f"    fits nearly as well (score {behind:+.1f}): {texts}")  # noqa: T201

    def alternatives(self, fit: Fit, variables: Sequence[str]) -> Iterator[Alternative]:
        """Yield the equations in which structures that fit nearly as well differ."""
        for one in self._rivals:
            gain = (fit.square - one.square) / 2
            for target, text in enumerate(self.equations(one, variables)):
                if _terms(one.model, target) != _terms(fit.model, target):
                    yield Alternative(target, text, one.score - fit.score, gain)


def _shared(
    first: Sum, group: Sequence[Term], near: Sequence[OneEquation], score: float
) -> list[tuple[float, tuple[Sum, ...]]]:
    """Return a sum together with sums of other equations that have its constants inside, too."""
    constants = next(t.start for t in first.terms if t.slot == group[0].slot)
    total, several = first.score, [first]
    for other in near:
        if other.state != first.state:
            more = other.best(group, given=constants)[:1]
            if more and more[0].score < score:
                several.append(more[0])
                total += more[0].score - score
    return [(total, tuple(several))] if len(several) > 1 else []


def _stride(group: Sequence[Term]) -> int:
    """Return the step through the grid of a family."""
    family = group[0].family
    many = 0 if family is None else len(family.grid)
    return max(many // _GRID, 1)


def _terms(model: Model, state: int) -> set[str]:
    return {term.name for i, term in model.support if i == state}


def _exchanged(model: Model, state: int, several: Sequence[Term], c: Array) -> Model:
    """Return a model with another sum of terms for a state."""
    pairs = zip(model.support, model.coefficients, strict=True)
    kept = [(i, term, value) for (i, term), value in pairs if i != state]
    slots = {term.slot for _, term, _ in kept}
    inner = {slot: one for slot, one in model.inner.items() if slot in slots}
    inner |= {t.slot: np.array(t.start) for t in several if t.start is not None}
    return Model(
        (*((i, term) for i, term, _ in kept), *((state, term) for term in several)),
        np.array([*(value for _, _, value in kept), *c]),
        inner,
        model.starts,
    )
