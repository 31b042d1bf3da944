"""Under which conditions a job runs: how busy the machine is, and what it uses."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["Energy", "load"]

POWERCAP: Final = Path("/sys/class/powercap")


def load() -> float | None:
    """Give the processes that wanted a core, the mean of the last minute."""
    with suppress(OSError):
        return os.getloadavg()[0]
    return None


class Energy:
    """What the processor's packages use from now on, by their own counters (RAPL).

    The counters are the whole machine's, count in steps of microjoules and begin anew at a range
    that they name.  Of most machines only root may read them, and of virtual ones nobody.

    Parameters
    ----------
    place
        The folder of the counters.
    """

    def __init__(self, place: Path = POWERCAP) -> None:
        self._counters = _counters(place)
        self._before = [_number(counter / "energy_uj") for counter in self._counters]

    def joules(self) -> float | None:
        """Give what has been used; None where the machine does not tell."""
        if not self._counters:
            return None
        total = 0
        for counter, before in zip(self._counters, self._before, strict=True):
            now = _number(counter / "energy_uj")
            if before is None or now is None:
                return None
            if now < before:  # it began anew
                now += _number(counter / "max_energy_range_uj") or 0
            total += now - before
        return total / 1e6 if total >= 0 else None


@cache
def _counters(place: Path) -> tuple[Path, ...]:
    """Find the packages' counters that may be read; parts of a package are in it."""
    found = sorted(place.glob("intel-rapl:[0-9]*"))
    packages = [path for path in found if path.name.count(":") == 1]
    return tuple(path for path in packages if _number(path / "energy_uj") is not None)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
