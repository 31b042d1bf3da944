"""Metrics: all that a table, a figure, a rank or a filter has to know of one.

Data types declare their metrics as `MetricSpec`s.  Records hold values by name, reports read the
specs, and nothing else knows what any metric is called.

Candidates are selected by accuracy against simplicity: the rule is that of Ziaei Bideh et al.,
"MDBench", AAAI 2026, with the order of equals as in the code behind the published tables.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value: TypeAlias = float | str | None
"""A metric's value in a record; None: the scorer could not decide."""
Kind: TypeAlias = Literal["number", "flag", "label"]
Better: TypeAlias = Literal["lower", "higher", "neither"]
Aggregate: TypeAlias = Literal["median", "mean", "max", "share", "counts"]
Place: TypeAlias = Literal["board", "answer", "brief", "figure"]
_CLOSE = 1e-6
"""The share within which an answer is as good as a trivial one."""


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """One metric of a data type.

    The first that a data type declares is its primary one: methods are ranked by it.

    Attributes
    ----------
    name
        The key in a record's ``metrics``.
    title
        The head of a column.
    explanation
        What it is, in one sentence without a full stop.
    unit
        Of its values; empty where it has none.
    kind
        ``number``; ``flag``, 1 or 0; or ``label``, one of `labels`.
    labels
        The values of a label; the first is what is usual, and is not counted in tables.
    better
        Which values are better.
    on_failure
        What a job without an answer counts as; None where it does not count.
    aggregate
        How the values of several jobs become one: ``median``, ``mean``, ``max``, ``share`` (of a
        flag) or ``counts`` (of labels).
    scale
        Whether differences or ratios matter.
    digits
        Behind the point; 0 for whole numbers.  Other logarithmic ones are shown as powers of ten.
    resolution
        Values of a lower-is-better number below it are round-off, and count as this.
    nothing
        The score of a trivial answer, such as zero.  Where the truth scores no better
        the metric shows nothing, and such a case ranks no method.  None for no such score.
    alarm
        Values worse than this are marked in every table; None for no mark.
    mark
        The sign in a cell of systems against methods where a flag is 1, in place of
        the primary metric's value; flags that are declared earlier go first.
    places
        Where it is shown: ``board`` (the leaderboard), ``answer`` (the line of an answer),
        ``brief`` (narrow tables: terminal and LaTeX) and ``figure`` (by noise).
    weighs
        Whether it is what accuracy is traded for, such as the size of an equation.
    attainable
        Of a flag: whether the data of a dataset, by its name and its noise level in dB, allow a 1
        at all; None where that is not known.  Datasets whose clean data do not allow it are left
        out of its share.
    pooled
        Of what no part of a problem has by itself: gives the value of the records of all of its
        parts, such as folds, which reports count for each of them.
    """

    name: str
    title: str
    explanation: str
    unit: str = ""
    kind: Kind = "number"
    labels: tuple[str, ...] = ()
    better: Better = "lower"
    on_failure: float | None = math.inf
    aggregate: Aggregate = "median"
    scale: Literal["log", "linear"] = "linear"
    digits: int = 1
    resolution: float = 0.0
    nothing: float | None = None
    alarm: float | None = None
    mark: str = ""
    places: frozenset[Place] = frozenset({"board"})
    weighs: bool = False
    attainable: Callable[[str, float | None], bool | None] | None = field(
        default=None, repr=False, compare=False
    )
    pooled: Callable[[Sequence[Any]], Value] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = ("median", "mean", "max")
        wanted = {"flag": ("share",), "label": ("counts",)}.get(self.kind, numbers)
        if self.aggregate not in wanted:
            raise ValueError(f"{self.name}: a {self.kind} is aggregated by {' or '.join(wanted)}")
        if (self.kind == "label") != bool(self.labels):
            raise ValueError(f"{self.name}: labels belong to the kind label")

    def is_out_of_reach(self, dataset: str) -> bool:
        """Whether even the clean data of a dataset do not allow what a flag asks for."""
        return self.attainable is not None and self.attainable(dataset, None) is False

    @property
    def failed(self) -> float | None:
        """The value for a job without an answer; infinite is as bad as can be."""
        if self.kind == "label" or self.on_failure is None:
            return None
        return self.loss(math.inf) if math.isinf(self.on_failure) else self.on_failure

    def loss(self, value: float) -> float:
        """Turn a value so that lower is better."""
        return -value if self.better == "higher" else value

    def alarming(self, value: Value) -> bool:
        """Whether a value is to be marked."""
        known = isinstance(value, int | float) and self.alarm is not None
        return known and self.loss(float(value)) > self.loss(self.alarm)  # type: ignore[arg-type]

    def worse_than_nothing(self, value: Value) -> bool:
        """Whether a trivial answer, such as zero, would have been better."""
        if self.nothing is None or not isinstance(value, int | float):
            return False
        return self.loss(float(value)) - self.loss(self.nothing) > _CLOSE * abs(self.nothing)

    def why_impossible(self, value: Value) -> str:
        """Return why no scorer gives such a value; empty where one may.

        Examples
        --------
        >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", scale="log")
        >>> nmse.why_impossible(0.1), nmse.why_impossible(-1e9), nmse.why_impossible("0.1")
        ('', 'it is 0 or more', 'it is a number')
        """
        if value is None:
            return ""
        if self.kind == "label":
            return "" if value in self.labels else f"it is one of: {', '.join(self.labels)}"
        if isinstance(value, str):
            return "it is a number"
        if self.kind == "flag":
            return "" if 0.0 <= value <= 1.0 else "it is from 0 to 1"
        return "it is 0 or more" if self.scale == "log" and value < 0.0 else ""

    def as_json(self) -> dict[str, Any]:
        """Return all of it as strict JSON, for the page's script; infinite is the text ``inf``."""
        values = asdict(self) | {"places": sorted(self.places), "failed": self.failed}
        for function in ("attainable", "pooled"):
            del values[function]
        return {
            name: ("inf" if value > 0 else "-inf")
            if isinstance(value, float) and math.isinf(value)
            else value
            for name, value in values.items()
        }


def flag(
    name: str,
    title: str,
    explanation: str,
    *,
    mark: str = "",
    places: set[Place],
    failed: bool = True,
    pooled: Callable[[Sequence[Any]], Value] | None = None,
) -> MetricSpec:
    """Declare a metric that is 1 or 0; a job without an answer counts as 0, if it counts."""
    return MetricSpec(
        name=name,
        title=title,
        explanation=explanation,
        kind="flag",
        better="higher",
        on_failure=0.0 if failed else None,
        aggregate="share",
        mark=mark,
        places=frozenset(places),
        pooled=pooled,
    )


HIGH = 0.1
"""A floor above this share of what an empty answer scores is marked in tables."""

RESTS = "rest"
"""The note of an answer whose test is at a time when nothing changes any more."""
CONSTANT = "constant"
"""The note of an answer to a user's data that has equations no better than a constant's."""
ALL_SAMPLES, PARTLY = "all_samples", "partly"
"""The notes on how well an answer explains all samples of a user's data, and on what it does not
explain of them, or that its solution does not stay with them."""
LEVELS, FORM, PRINTED = "levels", "form", "printed"
"""Notes on columns of few values that an answer has: the values of each, whether its form in one
of two values is chance, and what the method printed where it is written otherwise."""


def ranks(floor: float | None, primary: MetricSpec) -> bool:
    """Whether a case may rank methods.

    Parameters
    ----------
    floor
        The score of the truth, infinite where it has none; None where it is not known, which is
        no reason to leave a case out.
    primary
        The metric that is ranked by.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", nothing=1.0)
    >>> [ranks(floor, nmse) for floor in (0.02, 1.7, float("inf"), None)]
    [True, False, False, True]
    """
    if floor is None or primary.nothing is None:
        return True
    return primary.loss(floor) < primary.loss(primary.nothing)


def is_high(floor: float | None, primary: MetricSpec) -> bool:
    """Whether the truth scores so badly that scores mean little: a tenth of a trivial answer's.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", nothing=1.0)
    >>> [is_high(floor, nmse) for floor in (None, 0.02, 0.2)]
    [False, False, True]
    """
    if floor is None or primary.nothing is None or primary.better != "lower":
        return False
    return floor > HIGH * primary.nothing


def raised(value: float, floor: float | None, primary: MetricSpec) -> float:
    """Return what a score counts as: better than the truth is luck, and counts as the truth.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", resolution=1e-12)
    >>> raised(0.1, 0.2, nmse), raised(1e-30, None, nmse)
    (0.2, 1e-12)
    >>> accuracy = MetricSpec(name="accuracy", title="accuracy", explanation="", better="higher")
    >>> raised(0.9, 0.8, accuracy)
    0.8
    """
    if floor is not None and primary.loss(value) < primary.loss(floor):
        value = floor
    return max(value, primary.resolution) if primary.better == "lower" else value


def above_floor(value: float | None, floor: float | None, primary: MetricSpec) -> float | None:
    """Return how many times the floor an error is; None where there is no error, or no floor.

    About 1 is as good as the truth; below 1, the noise happened to help.  A floor that is rounding
    is none.

    Examples
    --------
    >>> from mdbench.metrics.spec import MetricSpec
    >>> nmse = MetricSpec(name="nmse", title="NMSE", explanation="error", resolution=1e-12)
    >>> above_floor(0.5, 0.25, nmse), above_floor(0.3, 1e-30, nmse), above_floor(None, 0.1, nmse)
    (2.0, None, None)
    """
    if value is None or floor is None or floor <= primary.resolution:
        return None
    return value / floor


def fitness(nmse: float, complexity: int, *, weight: float = 1.0, length: float = 200.0) -> float:
    """Weigh accuracy against simplicity; higher is better.

    ``1 / (1 + nmse) + weight * exp(-complexity / length)``

    Parameters
    ----------
    nmse
        Normalised mean squared error, 0 or more; an infinite one earns nothing for accuracy.
    complexity
        Number of nodes, summed over the equations of a candidate.
    weight
        How much simplicity counts (the paper's lambda).
    length
        The complexity at which simplicity has lost a factor of e (the paper's L).

    Returns
    -------
    float
        Between 0 and ``1 + weight``.
    """
    return 1.0 / (1.0 + nmse) + weight * math.exp(-complexity / length)


def best_by_complexity(losses: Sequence[float], complexities: Sequence[int]) -> list[int]:
    """Keep the candidate of lowest loss at each complexity.

    Parameters
    ----------
    losses
        One loss a candidate, lower is better; candidates whose loss is not finite are left out.
    complexities
        One complexity a candidate.

    Returns
    -------
    list of int
        Indices of the candidates kept, in ascending order of complexity; of equal losses the
        first.

    Raises
    ------
    ValueError
        If there are not as many losses as complexities.
    """
    best: dict[int, int] = {}
    for index, (loss, complexity) in enumerate(zip(losses, complexities, strict=True)):
        if not math.isfinite(loss):
            continue
        if complexity not in best or loss < losses[best[complexity]]:
            best[complexity] = index
    return [best[complexity] for complexity in sorted(best)]
