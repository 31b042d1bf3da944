"""Whether a system can be identified from noisy samples at all, from the files that say so.

``datasets/ode/information.json`` and ``datasets/pde/information.json`` have for each system what
`mdbench.datatypes.ode.information` and `mdbench.datatypes.pde.information` compute;
``scripts/identifiability`` makes them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mdbench.errors import DataError
from mdbench.workspace import Workspace, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

WORTH = 10.0
"""The least misfit at which a rival is worse than the truth.

The difference of two log-likelihoods, times two, has a mean of the misfit m and a standard
deviation of 2 sqrt(m): at 10 the truth is the likelier one in 94 % of all draws of the noise."""
FLOOR = 1e-3
"""Noise is at least what it is at this share of a state's largest value: else a sample of a state
that crosses zero says everything."""
FAR = 30.0
"""Misfits above this are left as the linear model has them: at 10 dB they are three hundred."""
NEAREST = 2
"""Others that are fitted in the place of a term, with the least misfits in the linear model."""
LEFT_SIDES = {"ode": "u{}'", "pde": "u{}_t"}
"""The data types of which something was computed, and how their equations' left-hand sides are
written."""
_FILE = "information.json"
_WITHIN = 0.05
"""Identified answers have each constant within this share."""
_DRAWS = 20_000


@dataclass(frozen=True)
class Finding:
    """What the samples say of one term of the truth, at noise of standard deviation 1.

    Attributes
    ----------
    equation
        The number of its equation.
    term
        Without its coefficient.
    coefficient
        Its coefficient.
    error
        The largest standard error, as a share of its constant, of the coefficient and of the
        constants inside the term.
    misfit
        The misfit of the best rival without the term; infinite where none has a solution.
    rival
        The equation of this rival.
    """

    equation: int
    term: str
    coefficient: float
    error: float
    misfit: float
    rival: str


class Limits(NamedTuple):
    """The noise levels in dB at which the most likely constants are near enough.

    At `half` all constants are within 5 % of the true ones in half of all draws of the noise, where
    the terms are known; at `ten` in 10 %, at `ninety` in 90 % of them.
    """

    ten: float
    half: float
    ninety: float


@dataclass(frozen=True)
class Findings:
    """What the samples say of a system: of each of its terms, and of all constants together."""

    terms: tuple[Finding, ...]
    limits: Limits


@dataclass(frozen=True)
class Identifiability:
    """Whether a system can be identified at a noise level, and what is in the way most.

    Attributes
    ----------
    hidden
        The term with the nearest rival, where noise hides the difference.
    vague
        The term with the largest error, where constants are not known well enough.
    """

    hidden: Finding | None
    vague: Finding | None

    @property
    def is_possible(self) -> bool:
        """Whether nothing is in the way."""
        return self.hidden is None and self.vague is None


def identifiability(findings: Findings, snr_db: float | None) -> Identifiability:
    """Return whether a system can be identified in at least half of all draws of the noise.

    Each rival has a misfit of `WORTH` or more, and the constants are near enough in half of them.

    Parameters
    ----------
    snr_db
        The signal-to-noise ratio; clean data (None) hide nothing.
    """
    if snr_db is None:
        return Identifiability(None, None)
    nearest = min(findings.terms, key=lambda each: each.misfit)
    largest = max(findings.terms, key=lambda each: each.error)
    return Identifiability(
        nearest if nearest.misfit * 10.0 ** (snr_db / 10) < WORTH else None,
        largest if snr_db < findings.limits.half else None,
    )


def limits_of(covariance: NDArray[np.float64]) -> Limits:
    """Return the noise levels at which constants with such a covariance are near enough.

    Parameters
    ----------
    covariance
        Of the constants, each as a share of its size, at s = 1; (m, m).
    """
    errors = np.sqrt(np.diag(covariance))
    sizes, directions = np.linalg.eigh(covariance / np.outer(errors, errors))
    normal = np.random.default_rng(0).standard_normal((_DRAWS, len(errors)))
    drawn = (normal * np.sqrt(np.maximum(sizes, 0.0))) @ directions.T * errors
    largest = np.quantile(np.max(np.abs(drawn), axis=1), (0.1, 0.5, 0.9))
    return Limits(*(20 * np.log10(largest / _WITHIN)).tolist())


@cache
def all_findings(data_type: str) -> Mapping[str, Findings]:
    """Return the findings of all of the project's systems of a data type, by name."""
    return read_findings(Workspace.find().root / "datasets" / data_type)


def read_findings(folder: Path) -> dict[str, Findings]:
    """Return the findings of each system of a folder; none where the file is not there.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    path = folder / _FILE
    if not path.is_file():
        return {}
    try:
        return {
            name: Findings(
                tuple(_finding(**each) for each in found["terms"]), Limits(**found["limits"])
            )
            for name, found in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: {error}", "It belongs to the datasets: get it again, with them."
        ) from error


def _finding(*, misfit: float | None, **others: object) -> Finding:
    return Finding(misfit=math.inf if misfit is None else misfit, **others)  # type: ignore[arg-type]


def write_findings(folder: Path, findings: Mapping[str, Findings]) -> None:
    """Write the findings of all systems, in the order of their names, a term a line."""
    parts = []
    for name in sorted(findings):
        limits = {key: round(value, 2) for key, value in findings[name].limits._asdict().items()}
        lines = [json.dumps(_rounded(each), ensure_ascii=False) for each in findings[name].terms]
        key, inside = json.dumps(name, ensure_ascii=False), ",\n  ".join(lines)
        parts.append(f' {key}: {{"limits": {json.dumps(limits)}, "terms": [\n  {inside}\n ]}}')
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    write_whole(folder / _FILE, lambda file: file.write(text.encode()))


def _rounded(finding: Finding) -> dict[str, object]:
    values = asdict(
        replace(
            finding,
            coefficient=float(f"{finding.coefficient:.6g}"),
            error=float(f"{finding.error:.3g}"),
        )
    )
    known = math.isfinite(finding.misfit)
    return values | {"misfit": float(f"{finding.misfit:.3g}") if known else None}
