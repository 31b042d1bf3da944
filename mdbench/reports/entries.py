"""Results reduced to what is counted: one `Entry` for each, its scores read by their specs."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from mdbench.drawing.numbers import ENDLESS
from mdbench.metrics.spec import MetricSpec
from mdbench.records import ANSWERED, RERUN_ALWAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.metrics.spec import Place, Value
    from mdbench.records import Record, Status


class Case(NamedTuple):
    """What is compared: a system at one noise level under one protocol; seeds are merged."""

    system: str
    snr_db: float | None
    protocol: str


class Entry(NamedTuple):
    """One result, reduced to what is counted; numbers are rounded to six digits.

    Attributes
    ----------
    values
        By name what the answer has, None where the scorer could not decide; without an answer
        None for all that one would have been judged by.
    floor
        What the truth scores by the primary metric, where that is known.
    speed
        What the calibration job of the run came to.
    so_far
        What the best answer up to a share of the budget scores by the primary metric: share and
        score.
    """

    method: str
    case: Case
    dim: int | None
    status: Status
    values: Mapping[str, Value]
    floor: float | None
    wall_s: float | None
    memory_mb: float | None
    speed: float | None = None
    so_far: tuple[tuple[float, Value], ...] = ()

    @property
    def attempted(self) -> bool:
        """Whether it says something about the method."""
        return self.status not in RERUN_ALWAYS

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self.status in ANSWERED

    def alarms(self, specs: Iterable[MetricSpec]) -> list[MetricSpec]:
        """Return the metrics whose values are to be marked."""
        return [spec for spec in specs if spec.alarming(self.values.get(spec.name))]


class Counted(NamedTuple):
    """The values of a metric over several jobs, failures included where they count."""

    values: list[float | str]
    undecided: int


def entry(result: Record, specs: Iterable[MetricSpec]) -> Entry:
    """Reduce a result to what is counted."""
    judged = result.metrics if result.answered else result.judged_by
    return Entry(
        method=result.method,
        case=Case(result.system, result.snr_db, result.protocol),
        dim=result.dim,
        status=result.status,
        values={spec.name: _read(spec, result) for spec in specs if spec.name in judged},
        floor=_six_digits(result.floor),
        wall_s=_six_digits(result.measured.wall_s),
        memory_mb=_six_digits(result.measured.peak_memory_mb),
        speed=result.measured.speed,
        so_far=_so_far(result),
    )


def counted(entries: Iterable[Entry], spec: MetricSpec) -> Counted:
    """Gather the values of a metric."""
    values: list[float | str] = []
    undecided = 0
    for one in entries:
        if not one.attempted or spec.name not in one.values:
            continue
        value = one.values[spec.name] if one.answered else spec.failed
        if value is not None:
            values.append(value)
        undecided += one.answered and value is None
    return Counted(values, undecided)


def marked(specs: Iterable[MetricSpec]) -> list[MetricSpec]:
    """Return the flags that have a mark; the first is the best that can be said of an answer."""
    return [spec for spec in specs if spec.mark]


def best_mark(
    specs: Iterable[MetricSpec], values: Mapping[str, Value]
) -> tuple[MetricSpec | None, bool]:
    """Return the first flag with a mark that holds, and whether nobody knows of one of them."""
    flags = marked(specs)
    held = (spec for spec in flags if values.get(spec.name) == 1)
    return next(held, None), any(values.get(spec.name, 0) is None for spec in flags)


def best_first(specs: Sequence[MetricSpec]) -> Callable[[Record], tuple[bool | float, ...]]:
    """Return the key that sorts answers: those known to be right first, then by primary metric."""
    primary, flags = specs[0], marked(specs)

    def key(one: Record) -> tuple[bool | float, ...]:
        values = entry(one, specs).values
        score = values.get(primary.name)
        loss = primary.loss(score) if isinstance(score, int | float) else math.inf
        return *(values.get(flag.name) != 1 for flag in flags), loss

    return key


def specs_of(
    results: Iterable[Record], known: Mapping[str, Sequence[MetricSpec]]
) -> dict[str, tuple[MetricSpec, ...]]:
    """Return the metrics of each data type, the primary one first.

    Of a data type that nobody knows here they are made of the names that are found: the lower
    the better, and the first is primary.
    """
    found: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for one in results:
        names = found[one.data_type]
        for name in (*one.metrics, *one.judged_by):
            value = one.metrics.get(name)
            names.setdefault(name, set()).update([value] if isinstance(value, str) else [])
    return {
        data_type: tuple(known.get(data_type, ()))
        or tuple(_plain(name, labels) for name, labels in (names or {"score": set()}).items())
        for data_type, names in found.items()
    }


def _plain(name: str, labels: set[str]) -> MetricSpec:
    title = name.replace("_", " ")
    if labels:
        return MetricSpec(
            name=name,
            title=title,
            explanation="",
            kind="label",
            labels=tuple(sorted(labels)),
            on_failure=None,
            aggregate="counts",
        )
    places: frozenset[Place] = frozenset({"board", "answer"})
    return MetricSpec(name=name, title=title, explanation="", digits=3, places=places)


def _so_far(result: Record) -> tuple[tuple[float, Value], ...]:
    return tuple(
        (each.share, _six_digits(each.score) if isinstance(each.score, float) else each.score)
        for each in result.measured.anytime
    )


def _read(spec: MetricSpec, result: Record) -> Value:
    value = result.metrics.get(spec.name) if result.answered else None
    if spec.kind == "label":
        return value if value in spec.labels else None
    if value is None or isinstance(value, str):
        return None
    return _six_digits(max(-ENDLESS, min(ENDLESS, value)))  # sums of several stay finite


def _six_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5e}")
