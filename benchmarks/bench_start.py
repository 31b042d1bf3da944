"""What commands that do little cost, next to another version and to a yardstick.

    bench_start.py                    beside the version of the last tag
    bench_start.py --against COMMIT   beside that of a commit
    bench_start.py --check            beside the committed ratios to the yardstick; 1 if too slow
    bench_start.py --write            writes these ratios

Ratios are of instructions of the command's own process where they can be counted (`perf`, or
`valgrind`): those do not depend on the machine. Elsewhere, and next to another version, they are of
CPU seconds of all processes.
"""

from __future__ import annotations

import math
import statistics
from functools import cache, partial
from typing import TYPE_CHECKING

from versions import (
    HERE,
    Version,
    arguments_of,
    can_count_instructions,
    check,
    checkout,
    command,
    count_instructions,
    cpu_s,
    in_turn,
    write,
    yardstick,
)

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {
    "mdbench --help": ("--help",),
    "mdbench list": ("list",),
    "mdbench run --help": ("run", "--help"),
    "mdbench score": ("score", "x0*2 + x1", "2.1*x0"),
}


def main() -> int:
    """Measure and print."""
    given = arguments_of(__doc__, pairs=5)
    if given.check or given.write:
        measured = _ratios(given.pairs)
        if given.write:
            write(measured)
            return 0
        return check(measured)
    with checkout(given.against) as other:
        for name, arguments in COMMANDS.items():
            _show(name, arguments, other, given.pairs)
    return 0


def _ratios(pairs: int) -> dict[str, Callable[[], float]]:
    """Return what measures each command's ratio to the yardstick."""
    if can_count_instructions():
        other = cache(partial(count_instructions, yardstick(), HERE.environment(bare=True)))
        return {
            f"{name}, instructions": partial(_instructions, arguments, other)
            for name, arguments in COMMANDS.items()
        }
    return {name: partial(_seconds, words, pairs) for name, words in COMMANDS.items()}


def _seconds(arguments: tuple[str, ...], pairs: int) -> float:
    run = partial(cpu_s, command(*arguments), HERE.environment(bare=True))
    return in_turn(run, partial(cpu_s, yardstick(), HERE.environment(bare=True)), pairs).ratio


def _instructions(arguments: tuple[str, ...], other: Callable[[], float | None]) -> float:
    cpu_s(command(*arguments), HERE.environment(bare=True))  # makes the bytecode
    own = count_instructions(command(*arguments), HERE.environment(bare=True))
    return (own or math.inf) / (other() or 1.0)


def _show(name: str, arguments: tuple[str, ...], other: Version | None, pairs: int) -> None:
    line = command(*arguments)
    here = partial(cpu_s, line, HERE.environment(bare=True))
    if other is None:
        here()
        print(f"{name:22} {statistics.median(here() for _ in range(pairs)):6.3f} CPU s")
        return
    found = in_turn(here, partial(cpu_s, line, other.environment(bare=True)), pairs)
    counts = [count_instructions(line, each.environment(bare=True)) for each in (HERE, other)]
    counted = ""
    million = [count / 1e6 for count in counts if count]
    if len(million) > 1:
        ratio = million[0] / million[1]
        counted = f"   instructions {million[0]:6.0f} and {million[1]:6.0f} million: {ratio:.2f} x"
    print(
        f"{name:22} {statistics.median(found.first):6.3f} CPU s, {other.name} "
        f"{statistics.median(found.second):6.3f}: {found.ratio:.2f} x{counted}",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
