"""PySINDy's optimizers over their settings, and the models that they give for each target."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pysindy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from terms import PackageTerms

    Array = NDArray[np.float64]

__all__ = ["OPTIMIZERS", "OptimizerSettings", "PackageModel", "explicit", "implicit"]

OPTIMIZERS = {
    "stlsq": "thresholded",
    "sr3": "thresholded",
    "ssr": "greedy",
    "frols": "greedy",
    "sindy_pi": "implicit",
}
"""Search strategy of each optimizer."""
_NOTHING = 1e-4
"""Coefficients of SINDy-PI below this count as zero; every column has the norm 1."""


@dataclass(frozen=True)
class OptimizerSettings:
    """Settings that are tried with each library; see the adapter."""

    thresholds: tuple[float, ...]
    alphas: tuple[float, ...]
    nu: float
    penalties: tuple[float, ...]


@dataclass(frozen=True)
class PackageModel:
    """A right-hand side of one target: a sum of terms, or for SINDy-PI a quotient of two sums.

    Attributes
    ----------
    numerator, denominator
        (p,); no denominator is 1.
    fitted
        The model's values on the data of the fit, (n,).
    """

    target: int
    terms: PackageTerms
    numerator: Array
    denominator: Array | None
    fitted: Array
    equation: str

    @classmethod
    def of(
        cls, target: int, terms: PackageTerms, numerator: Array, denominator: Array | None = None
    ) -> PackageModel:
        """Make one, and write it."""
        equation = terms.write(numerator, target)
        if denominator is not None:
            equation = f"({equation})/({terms.write(denominator, None)})"
        fitted = _values(terms.values, numerator, denominator) * terms.rate(target)
        return cls(target, terms, numerator, denominator, fitted, equation)

    def predict(self, u: Array) -> Array:
        """Evaluate on states (n, d); return (n,)."""
        values = _values(self.terms.evaluate(u), self.numerator, self.denominator)
        return values * self.terms.rate(self.target)


def explicit(
    name: str, terms: PackageTerms, du: Array, settings: OptimizerSettings
) -> Iterator[list[PackageModel]]:
    """Fit sums of terms to all targets (n, d); yield the models of each fit.

    STLSQ and SR3 give the model of each setting.  SSR and FROLS go from many terms to few, or from
    few to many, and give a model for each step, fitted to its terms by least squares: they do not
    choose the best step.
    """
    for optimizer in _optimizers(name, terms, settings):
        optimizer.fit(terms.values, du)
        if OPTIMIZERS[name] == "greedy":
            # SSR writes into the first step's coefficients later on.
            for step in optimizer.history_[1:]:
                yield [
                    PackageModel.of(
                        target, terms, _refitted(terms.values, du[:, target], _there(row))
                    )
                    for target, row in enumerate(step)
                ]
        else:
            yield [
                PackageModel.of(target, terms, np.where(_there(row), row, 0.0))
                for target, row in enumerate(optimizer.coef_)
            ]


def _optimizers(name: str, terms: PackageTerms, settings: OptimizerSettings) -> Iterator[Any]:
    """Make a new optimizer for each setting: some remember what they have fitted."""
    p = len(terms.texts)
    if name == "stlsq":
        for threshold in settings.thresholds:
            for alpha in settings.alphas:
                yield pysindy.STLSQ(threshold=threshold, alpha=alpha)
    elif name == "sr3":
        for threshold in settings.thresholds:
            weight = pysindy.SR3.calculate_l0_weight(threshold, settings.nu)
            yield pysindy.SR3(reg_weight_lam=weight, relax_coeff_nu=settings.nu, unbias=True)
    elif name == "ssr":
        yield pysindy.SSR(alpha=settings.alphas[0], max_iter=p, unbias=False)
    else:
        yield pysindy.FROLS(
            alpha=settings.alphas[0], max_iter=min(p - 1, 20), normalize_columns=True, unbias=False
        )


def implicit(
    terms: PackageTerms, du: Array, settings: OptimizerSettings
) -> Iterator[list[PackageModel]]:
    """Fit SINDy-PI to each target, whose library has the terms, and the terms times du.

    Each model explains one product ``du*term`` by all others; solved for du it is a quotient of two
    sums.  PySINDy minimises ``|x_i - X w|^2 + penalty |w|_1``; the non-zero ones are then fitted by
    least squares.
    """
    p = len(terms.texts)
    for target in range(du.shape[1]):
        columns = np.hstack([terms.values, terms.values * du[:, [target]]])
        norms = np.linalg.norm(columns, axis=0)
        if not np.isfinite(norms).all() or not norms.all():
            continue  # a target or a term that is always zero
        columns = columns / norms
        # The same sum of squares, from p rows instead of n.
        rows = np.asarray(np.linalg.qr(columns, mode="r"))
        for penalty in settings.penalties:
            for product in range(p, 2 * p):
                optimizer = pysindy.SINDyPI(reg_weight_lam=penalty, model_subset=[product])
                optimizer.fit(rows, rows[:, product : product + 1])
                found = optimizer.coef_[product]
                others = np.abs(found) > _NOTHING
                others[product] = False
                if not np.isfinite(found).all() or not others[:p].any():
                    yield []
                    continue
                weights = _refitted(columns, columns[:, product], others)
                weights[product] = -1.0
                weights /= norms
                numerator, denominator = weights[:p], -weights[p:]
                yield _quotient(target, terms, numerator, denominator)


def _quotient(
    target: int, terms: PackageTerms, numerator: Array, denominator: Array
) -> list[PackageModel]:
    """Make a model whose first coefficient below is 1, or which has nothing below.

    There is none where a single term below divides all above: it is a sum, weighed oddly.
    """
    below = np.flatnonzero(denominator)
    if len(below) == 1 and terms.texts[below[0]] != "1":
        divisor = _factors(terms.texts[below[0]])
        if all(divisor <= _factors(terms.texts[place]) for place in np.flatnonzero(numerator)):
            return []
    scale = denominator[np.flatnonzero(denominator)[0]]
    numerator, denominator = numerator / scale, denominator / scale
    if terms.texts[0] == "1" and np.flatnonzero(denominator).tolist() == [0]:
        return [PackageModel.of(target, terms, numerator)]
    return [PackageModel.of(target, terms, numerator, denominator)]


def _factors(text: str) -> Counter[str]:
    """Count the factors of a term."""
    found: Counter[str] = Counter()
    for factor in text.replace("**", "^").split("*"):
        base, _, power = factor.partition("^")
        found[base] += int(power or 1)
    return found


def _there(coefficients: Array) -> NDArray[np.bool_]:
    """Return which terms a row of coefficients (p,) has; what is not finite is none."""
    return np.asarray(np.isfinite(coefficients) & (coefficients != 0))


def _refitted(columns: Array, target: Array, support: NDArray[np.bool_]) -> Array:
    """Fit a target (n,) by some of the columns (n, p); return (p,), zero for the others."""
    coefficients = np.zeros(columns.shape[1])
    if support.any():
        used = columns[:, support]
        norms = np.linalg.norm(used, axis=0)
        norms[norms == 0] = 1.0
        coefficients[support] = np.linalg.lstsq(used / norms, target, rcond=None)[0] / norms
    return coefficients


def _values(columns: Array, numerator: Array, denominator: Array | None) -> Array:
    above = np.asarray(columns[:, numerator != 0] @ numerator[numerator != 0])
    if denominator is None:
        return above
    with np.errstate(all="ignore"):
        return np.asarray(above / (columns[:, denominator != 0] @ denominator[denominator != 0]))
