"""Random derivations: how many a CPU second, with negatives, LaTeX and text that can be read back.

Run as ``python benchmarks/bench_derivations.py``, or with how many of each are to be made:
``python benchmarks/bench_derivations.py 1000``.  With names of configurations their whole sets are
made, and the CPU time of all processes is printed: ``python benchmarks/bench_derivations.py
structured-2 integrate``.
"""

from __future__ import annotations

import resource
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.datatypes.derivation.library import (
    GeneratorSettings,
    calculation,
    generate,
    make_all,
    read_settings,
    record,
    replay,
    texts,
    variable_renaming,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def rate(what: str, count: int, make: Callable[[int], object]) -> float:
    """Print and give how many are made in a CPU second."""
    make(count)  # imports and first uses
    begin = time.process_time()
    for index in range(count):
        make(index)
    found = count / (time.process_time() - begin)
    print(f"{what:<54}{found:8.1f} /s", flush=True)
    return found


def whole(name: str) -> None:
    """Make all that a configuration asks for, perturbed sets included, and print what it took."""
    file = Path(__file__).parents[1] / "datasets" / "derivation" / f"{name}.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    begin = _cpu_seconds()
    made = make_all(read_settings({k: v for k, v in content.items() if k not in _NO_SETTINGS}))
    taken = _cpu_seconds() - begin
    print(f"{name}: {len(made.rows)} sequences, {taken:.1f} CPU s, {len(made.skipped)} skipped")


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of all children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


_NO_SETTINGS = {"title", "group"}


def main() -> None:
    """Print a line for each kind of examples, or for each configuration that is named."""
    if names := [each for each in sys.argv[1:] if not each.isdigit()]:
        for name in names:
            whole(name)
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for steps in (2, 3, 4):
        for negatives in ("symmetric", "authors"):
            settings = GeneratorSettings(steps=steps, negatives=negatives)

            def one(index: int, settings: GeneratorSettings = settings) -> None:
                record(generate(settings, "benchmark", index), settings)

            rate(f"structured, {steps} steps, {negatives} negatives, records", count, one)
    settings = GeneratorSettings(steps=3)
    made = [generate(settings, "benchmark", index) for index in range(count + 1)]
    rate("replay of 3 steps and a negative", count, lambda index: replay(made[index]))
    rate("VR and its texts", count, lambda i: texts(variable_renaming(made[i], 0) or made[i]))
    cut = GeneratorSettings(steps=3, mode="prefix", negatives="authors")
    rate("the first 3 of 6 steps", count // 10, lambda i: generate(cut, "benchmark", i))
    for task in ("differentiate", "integrate"):
        direct = GeneratorSettings(task=task, premise_size=3)

        def calculated(index: int, direct: GeneratorSettings = direct) -> None:
            record(calculation(direct, "benchmark", index), direct)

        rate(f"{task}, records, the first {count}", count, calculated)


if __name__ == "__main__":
    main()
