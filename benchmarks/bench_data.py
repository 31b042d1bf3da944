"""The datasets of the 63 ODE systems: CPU seconds to make, write, load and cut them.

Run as ``python benchmarks/bench_data.py``.  Imports are counted apart, as a run shares them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]


def cpu_seconds(what: str, act: Callable[[], object]) -> float:
    """Print and return the CPU time of an act."""
    started = time.process_time()
    act()
    seconds = time.process_time() - started
    print(f"{what:<44}{seconds:6.2f}")
    return seconds


def imports() -> None:
    """Import what making datasets and cutting tasks needs."""
    import findiff  # noqa: F401, PLC0415
    import scipy.integrate  # noqa: F401, PLC0415

    from mdbench.datatypes.ode import data_type as ode  # noqa: F401, PLC0415


def main() -> None:
    """Print a line for each step."""
    total = cpu_seconds("imports", imports)
    from mdbench import datatypes  # noqa: PLC0415
    from mdbench.datatypes.facts import Protocol  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ode = datatypes.find("ode", ROOT / "datasets" / "ode", folder / "cache")

        def load(*levels: float | None) -> None:
            source = ode.source()
            for system in source.names():
                for snr_db in levels:
                    dataset = source.load(system, snr_db=snr_db, seed=0, protocol=Protocol.STRICT)
                    ode.task(dataset, "table", Protocol.STRICT)

        total += cpu_seconds("63 clean: make, keep, cut", lambda: load(None))
        total += cpu_seconds(
            "63 x 5: write as files", lambda: ode.write_all(folder, with_noise=True)
        )
        print(f"{'63 x 5 from nothing, imports included':<44}{total:6.2f}")
        cpu_seconds("63 clean, kept: load and cut", lambda: load(None))
        cpu_seconds(
            "63 x 5, kept: load, add noise, cut", lambda: load(None, 40.0, 30.0, 20.0, 10.0)
        )


if __name__ == "__main__":
    main()
