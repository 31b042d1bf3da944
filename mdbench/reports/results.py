"""What reports need of all their records together: order, studies, kind of data."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mdbench.drawing.numbers import cleanest_first, duration, fixed
from mdbench.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from mdbench.records import Machine, Record


def studies(results: Iterable[Record]) -> list[tuple[str, int]]:
    """Return the SHA-256 of the studies that asked for results, with how many; most first.

    An empty name stands for the results that a command line asked for; where all are so, there
    is nothing to name.
    """
    counts = Counter(result.study or "" for result in results)
    return counts.most_common() if any(counts) else []


def measurements(results: Iterable[Record]) -> bool:
    """Return whether all results without added noise are of the user's own measurements."""
    plain = [one for one in results if one.snr_db is None]
    return bool(plain) and all(one.dataset_path and one.truth is None for one in plain)


def report_order(result: Record) -> tuple[str, str, float, str, str, int, str]:
    """Sort results as reports do: by data type and system, the cleanest first.

    The order is part of the numbers, as it says which systems the bootstrap draws.
    """
    noise = cleanest_first(result.snr_db)
    return (
        result.data_type,
        result.system,
        noise,
        result.protocol,
        result.method,
        result.seed,
        result.part,
    )


MOST_VALUES = 6
"""Values that are listed; more are counted."""
UNKNOWN = "unknown"


class Circumstance(NamedTuple):
    """What was the same for all results, or which values there are of it."""

    name: str
    says: str


def circumstances(
    results: Iterable[Record], options: Mapping[str, Collection[str]] | None = None
) -> list[Circumstance]:
    """Gather limits, seeds, machines, versions, runtimes, protocols, what was given, and studies.

    Where results differ, each value stands with the number of results that have it, the most
    frequent first; results whose records do not tell are counted as unknown.

    Parameters
    ----------
    results
        Those of a report, of any age.
    options
        The keys of the options that each data type has.
    """
    known = list(results)
    readers: dict[str, Callable[[Record], str]] = {
        "time limit of a job": _limit,
        "threads of a job": lambda one: _text(one.budget.threads),
        "seeds": lambda one: str(one.seed),
        "protocol": lambda one: one.protocol,
        "machine": lambda one: _machine(one.provenance.machine),
        "mdbench": lambda one: one.mdbench,
        "Python": _python,
        "runtime": lambda one: one.runtime.name,
        "study (SHA-256)": lambda one: one.study or "none",
    }
    found = []
    for name, read in readers.items():
        counts = Counter(read(one) or UNKNOWN for one in known)
        if set(counts) - {UNKNOWN, "none"}:
            found.append(Circumstance(name, _listed(counts, numbers=name == "seeds")))
        if name == "protocol":
            found += as_given(known, options or {})
    return found


def as_given(
    results: Sequence[Record], options: Mapping[str, Collection[str]]
) -> list[Circumstance]:
    """Say how methods were given their data: options of which each protocol has a usual value.

    Results of data types without such an option are left out.
    """
    counts: dict[str, Counter[str]] = {}
    for one in results:
        with suppress(ValueError):  # a protocol of a later version
            for key, usual in Protocol(one.protocol).usual.items():
                if key in options.get(one.data_type, ()):
                    counts.setdefault(key, Counter())[str(one.options.get(key, usual))] += 1
    return [Circumstance(key, _listed(each, numbers=False)) for key, each in counts.items()]


def _listed(counts: Counter[str], *, numbers: bool) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    if numbers:  # by value, and without counts where all have as many
        values = sorted(counts, key=lambda text: (len(text), text))
        if len({*counts.values()}) == 1 and len(values) <= MOST_VALUES:
            return f"{', '.join(values)} (each {_many(counts[values[0]])})"
    # In a fixed order, whatever that of the records.
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{text} ({_many(count)})" for text, count in ordered[:MOST_VALUES]]
    rest = len(ordered) - len(shown)
    return "; ".join([*shown, *[f"and {rest} more"] * (rest > 0)])


def _many(count: int) -> str:
    return f"{count:,} {'result' if count == 1 else 'results'}"


def _limit(one: Record) -> str:
    return "" if one.budget.timeout_s is None else duration(one.budget.timeout_s)


def _machine(machine: Machine) -> str:
    """Describe a machine, as far as it is known."""
    parts = [machine.cpu]
    if machine.cores:
        parts.append(f"{machine.cores} {'core' if machine.cores == 1 else 'cores'}")
    if machine.memory_mb:
        parts.append(f"{fixed(machine.memory_mb / 1024)} GiB")
    return ", ".join(filter(None, [*parts, machine.os]))


def _python(one: Record) -> str:
    core, method = one.provenance.core.get("python", ""), one.provenance.python or ""
    if not core or not method or core == method:
        return core or method
    return f"{core}, methods {method}"


def _text(value: object) -> str:
    return "" if value is None else str(value)
