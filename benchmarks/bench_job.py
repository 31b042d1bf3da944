"""What whole runs cost, next to another version and to a yardstick.

    bench_job.py                    beside the version of the last tag
    bench_job.py --against COMMIT   beside that of a commit
    bench_job.py --check            beside the committed ratios to the yardstick; 1 if too slow
    bench_job.py --write            writes these ratios

CPU seconds of all processes: workers, jobs and the processes that score.  Environments and arrays
are made before.  Runs use the runtime venv.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from typing import TYPE_CHECKING

from versions import (
    HERE,
    Version,
    arguments_of,
    check,
    checkout,
    command,
    cpu_s,
    in_turn,
    write,
    yardstick,
)

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = {
    "zero, all done": ("zero", "ode"),
    "zero, 63 systems": ("zero", "ode"),
    "sindy, 63 systems": ("sindy", "ode"),
    "truth, 14 fields": ("truth", "pde"),
}
"""The runs, the method and the data type of each: a job of zero costs nothing but the bench itself,
one of sindy is a grid of 256 settings, and a field is large."""
_CHECKED = ("zero, all done", "zero, 63 systems")


def main() -> int:
    """Measure and print."""
    given = arguments_of(__doc__, pairs=3)
    names = _CHECKED if given.check or given.write else tuple(METHODS)
    for method in sorted({METHODS[name][0] for name in names}):
        cpu_s(command("install", method, "--runtime", "venv"), HERE.environment())
    if given.check or given.write:
        taken: dict[str, float] = {}
        measured: dict[str, Callable[[], float]] = {
            name: partial(_to_yardstick, name, given.pairs, taken) for name in names
        }
        if given.write:
            write(measured)
            return 0
        return check(measured)
    with checkout(given.against) as other:
        for name in names:
            _show(name, other, given.pairs)
    return 0


def _runs(name: str, version: Version) -> tuple[float, float]:
    """Return the CPU seconds of a run into a new folder, and of the same once more."""
    with tempfile.TemporaryDirectory() as folder:
        method, data_type = METHODS[name]
        line = command("run", "--algorithm", method, "--data-type", data_type)
        line += ["--runtime", "venv", "--result-dir", folder]
        return cpu_s(line, version.environment()), cpu_s(line, version.environment())


def _run(name: str, version: Version) -> float:
    return _runs(name, version)[name.endswith("all done")]


def _to_yardstick(name: str, pairs: int, measured: dict[str, float]) -> float:
    """Return a ratio to the yardstick; both are of the same runs, of which the other waits."""
    if name not in measured:
        ruler = partial(cpu_s, yardstick(), HERE.environment())
        ruler(), _runs(name, HERE)
        taken = [(ruler(), *_runs(name, HERE)) for _ in range(pairs)]
        measured["zero, 63 systems"] = statistics.median(run / by for by, run, _ in taken)
        measured["zero, all done"] = statistics.median(again / by for by, _, again in taken)
    return measured.pop(name)


def _show(name: str, other: Version | None, pairs: int) -> None:
    here = partial(_run, name, HERE)
    if other is None:
        here()
        print(f"{name:20} {statistics.median(here() for _ in range(pairs)):6.2f} CPU s")
        return
    found = in_turn(here, partial(_run, name, other), pairs)
    print(
        f"{name:20} {statistics.median(found.first):6.2f} CPU s, {other.name} "
        f"{statistics.median(found.second):6.2f}: {found.ratio:.2f} x",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
