"""From what was typed to `RunOptions`, refusing what makes no sense."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mdbench.datatypes.base import Protocol
from mdbench.errors import UsageError, did_you_mean
from mdbench.records import Status
from mdbench.runs.plan import RunOptions
from mdbench.runtimes.base import OUTPUT_MB, PROCESSES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["parse_n_jobs", "parse_protocol", "run_options"]

SMALLEST_MEMORY_MB = 64
"""A worker that has imported NumPy takes half of that."""
_MAX_SEEDS = 10_000
_MAX_SEED = 2**32 - 1


def run_options(
    *,
    algorithm: list[str],
    data_type: str,
    dataset: list[str],
    dataset_path: Path | None,
    result_dir: Path,
    with_noise: bool,
    snr: list[str],
    n_jobs: str | None,
    timeout: str | None,
    seed: str | None,
    seeds: list[str],
    save_pareto: bool,
    protocol: str,
    threads: str | None,
    memory: str | None,
    max_processes: str | None,
    max_output: str | None,
    rerun: list[str],
    special: list[str],
    variant: str | None = None,
    max_rows: str | None = None,
) -> RunOptions:
    """Check and combine the options of ``mdbench run``.

    Raises
    ------
    UsageError
        If a value is not one of those allowed.
    """
    return RunOptions(
        algorithms=tuple(dict.fromkeys(algorithm)),
        data_type=data_type,
        datasets=tuple(dataset),
        dataset_path=dataset_path,
        result_dir=result_dir,
        with_noise=with_noise,
        snr=tuple(_snr(text) for text in snr),
        n_jobs=parse_n_jobs(n_jobs),
        timeout=_timeout(timeout),
        seeds=_seeds(seed, seeds),
        save_pareto=save_pareto,
        protocol=parse_protocol(protocol),
        threads=_count("--threads", threads),
        memory_mb=_size_mb("--memory", memory, least=SMALLEST_MEMORY_MB),
        processes=_count("--max-processes", max_processes) or PROCESSES,
        output_mb=_size_mb("--max-output", max_output, least=1) or OUTPUT_MB,
        rerun=_statuses(rerun),
        special=tuple(special),
        variant=variant,
        max_rows=_max_rows(max_rows),
    )


def parse_protocol(text: str) -> Protocol:
    """Read the value of ``--protocol``.

    Raises
    ------
    UsageError
        If there is no such protocol.
    """
    if text not in list(Protocol):
        raise UsageError(f"--protocol is {text!r}.", "It is strict (the default) or published.")
    return Protocol(text)


def _snr(text: str) -> float | None:
    if text == "clean":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--snr is {text!r}.", "Give a number of dB, e.g. 40, or clean.")
    return value


def parse_n_jobs(text: str | None) -> int | None:
    """Read the value of ``--n-jobs``; None for one a core.

    Raises
    ------
    UsageError
        If it is no number of jobs.
    """
    if text is None or text == "-1":
        return None
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise UsageError(
            f"--n-jobs is {text!r}.", "Give the number of jobs at a time, or -1 for one a core."
        )
    return int(text)


def _count(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise UsageError(f"{option} is {text!r}.", "Give a whole number from 1 on.")
    return int(text)


def _size_mb(option: str, text: str | None, *, least: int) -> int | None:
    """Read a size such as ``512M`` or ``4G`` (powers of 1024), in MiB."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([MGT])i?B?", text, re.IGNORECASE)
    if match is None:
        raise UsageError(f"{option} is {text!r}.", "Give a size with its unit, e.g. 512M or 4G.")
    size = int(float(match[1]) * {"M": 1, "G": 2**10, "T": 2**20}[match[2].upper()])
    if size < least:
        raise UsageError(f"{option} is {text!r}.", f"It must be at least {least}M.")
    return size


def _timeout(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"--timeout is {text!r}.", "Give a number of seconds above 0, e.g. 600.")
    return seconds


def _max_rows(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) == 0:
        raise UsageError(
            f"--max-rows is {text!r}.", "Give a number of training samples, e.g. 10000."
        )
    return int(text)


def _seeds(seed: str | None, texts: list[str]) -> tuple[int, ...]:
    if seed is not None and texts:
        raise UsageError("--seed and --seeds were both given.", "Use one: --seeds 0,1,2.")
    if seed is not None:
        texts = [seed]
    found: list[int] = []
    for text in texts or ["0"]:
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", text)
        if match is None:
            raise UsageError(
                f"The seed {text!r} is no whole number from 0 on.", "E.g. --seeds 0,1,2 or 0-9."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last > _MAX_SEED or last - first >= _MAX_SEEDS:
            raise UsageError(
                f"The seeds {text!r} cannot be used.",
                f"A range rises, has at most {_MAX_SEEDS} seeds and ends below 2^32.",
            )
        found.extend(range(first, last + 1))
    return tuple(dict.fromkeys(found))


def _statuses(texts: list[str]) -> frozenset[Status]:
    if "all" in texts:
        return frozenset(Status)
    for text in texts:
        if text not in list(Status):
            raise UsageError(
                f"--rerun {text!r} is no status.",
                f"{did_you_mean(text, [*Status, 'all'])} All: {', '.join(Status)}, or all.",
            )
    return frozenset(Status(text) for text in texts)
