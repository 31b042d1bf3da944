"""Packages by their own example or defaults, beside our folders, on the same rows and work.

    bench_own_scripts.py                      all packages of own_scripts/, 12 drawn laws
    bench_own_scripts.py operon gplearn       these
    bench_own_scripts.py --work 10 --count 12

Each file of ``own_scripts/`` has ``solve(X, y, seconds)``, written after the package's README or
page of examples, and returns one equation.  It becomes a method of its own, which has the folder's
environment, limits and scorer.  A package without a limit of time is ended with the job's budget,
and has no answer then.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import mdbench
from mdbench.methods import more_folders
from mdbench.records.files import read_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.records import Record

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SCRIPTS = HERE / "own_scripts"
SEED = "own-scripts-2026"
"""Of the laws, which no method's author has seen."""
_ADAPTER = '''"""A package by its own example."""

import warnings

from own_example import solve
from written_fronts import WrittenFronts


class Adapter(WrittenFronts):
    package = "its own example"
    scaled = False

    def __init__(self, *, seed, threads):
        super().__init__(seed=seed, threads=threads, max_rows=10**9)

    def search(self, X, y, target, limit):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [solve(X, y, 1e9 if limit is None else limit)]
'''
_METHOD = """schema = 1
name = "{name}_own"
title = "{name} by its own example"
family = "{family}"
view = "table"
data_types = ["srsd"]
python = ">=3.11"
uses = ["expression_trees", "written_equations"]
tuning = "front"
seedable = false
repeatable = false
fork_safe = false
build = {build}
max_rows = 1000
licence = "{licence}"
"""


def write_methods(names: Sequence[str], folder: Path) -> None:
    """Make a method of each package's own example."""
    for name in names:
        original = ROOT / "algorithms" / name
        spec = tomllib.loads((original / "method.toml").read_text(encoding="utf-8"))
        own = folder / f"{name}_own"
        own.mkdir()
        for file in original.iterdir():
            if file.suffix in {".in", ".lock", ".toml", ".txt"}:
                shutil.copy(file, own)
        shutil.copy(SCRIPTS / f"{name}.py", own / "own_example.py")
        (own / "adapter.py").write_text(_ADAPTER, encoding="utf-8")
        values = {key: spec[key] for key in ("family", "licence")}
        text = _METHOD.format(name=name, build=str(spec.get("build", False)).lower(), **values)
        (own / "method.toml").write_text(text, encoding="utf-8")


def rows(names: Sequence[str], records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table for each package."""
    for name in names:
        yield (
            name,
            *_summary([record for record in records if record.algorithm == name]),
            *_summary([record for record in records if record.algorithm == f"{name}_own"]),
        )


def _summary(records: Sequence[Record]) -> tuple[str, str, str, str]:
    answered = [record for record in records if record.answered]
    identified = sum(record.metrics.get("identified") == 1 for record in answered)
    errors = [_number(record.metrics.get("nmse")) for record in answered]
    errors += [float("inf")] * (len(records) - len(answered))
    counts = [r.measured.evaluations for r in answered if r.measured.evaluations is not None]
    evaluations = f"{statistics.median(counts):.0f}" if counts else "–"
    median = statistics.median(errors) if errors else float("nan")
    return f"{len(answered)}", f"{identified}", f"{median:.2g}", evaluations


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("inf")


def main() -> int:
    """Run and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = sorted(file.stem for file in SCRIPTS.glob("*.py"))
    parser.add_argument("names", nargs="*", choices=[*known, []], help="packages; default: all")
    parser.add_argument("--work", type=float, default=10.0, help="reference seconds a job")
    parser.add_argument("--count", type=int, default=12, help="laws")
    parser.add_argument("--results", type=Path, help="a folder in which the records stay")
    asked = parser.parse_args()
    names = asked.names or known
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "methods"
        folder.mkdir()
        write_methods(names, folder)
        suite = ROOT / "datasets" / "srsd" / f"fresh-{SEED}"
        if not suite.is_dir():
            sys.exit(f"Draw the laws first: mdbench lab fresh --seed {SEED} --data-type srsd")
        results = asked.results or Path(temporary) / "results"
        with more_folders([str(folder)]):
            mdbench.run(
                [*names, *(f"{name}_own" for name in names)],
                "srsd",
                dataset=[f"fresh-{SEED}-{number + 1:03}" for number in range(asked.count)],
                work=asked.work,
                result_dir=str(results),
                say=print,
            )
        records = [record for _, record in read_folder(results)]
    print(
        "| package | answers | identified | NMSE | evaluations | own: answers | identified | NMSE |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows(names, records):
        print(f"| {' | '.join(row[:-1])} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
