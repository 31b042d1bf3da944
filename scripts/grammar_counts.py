"""Counts what stands in what, in the equations of the suites and of outside lists.

It writes ``mdbench/datatypes/equations/grammar-2.json``, by which `mdbench lab fresh` draws
problems.  The outside lists are the rate laws of COPASI, the functions of lmfit and astropy, and
fields and surfaces of textbooks (``scripts/textbook_equations.toml``)::

    python -m pip install python-copasi==4.48.311 lmfit==1.3.4 astropy==8.0.2
    .venv-dev/bin/python scripts/grammar_counts.py --outside PYTHON

PYTHON is the interpreter that has the three; without it their counts stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqverdict.errors import EquationError
from eqverdict.grammar import read
from mdbench.datatypes.equations.counted import Counting, half_decade
from mdbench.datatypes.ode.systems import read_system as read_ode
from mdbench.datatypes.pde.systems import derivative_names
from mdbench.datatypes.pde.systems import read_system as read_pde
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.datatypes.surface.problem import read_surface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
DATASETS = ROOT / "datasets"
_NAMES = re.compile(r"[A-Za-z_]\w*")
FILE = ROOT / "mdbench/datatypes/equations/grammar-2.json"
_LARGEST = 4
"""Equations of the largest systems that are drawn."""
TEXTBOOKS = tomllib.loads((ROOT / "scripts/textbook_equations.toml").read_text(encoding="utf-8"))
LISTS = {
    "copasi": ("system", "rate laws of COPASI (python-copasi 4.48.311)"),
    "lmfit": ("law", "functions of lmfit 1.3.4"),
    "astropy": ("law", "functions of astropy 8.0.2"),
}


class Table:
    """Counts of one collection, and of the sizes of its problems."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.counts = Counting(lambda _: None)
        self.more: dict[str, Counter[str]] = defaultdict(Counter)
        self.left_out = 0

    def equation(self, text: str, leaf: Callable[[str], str | None], names: set[str]) -> None:
        """Count an equation; one that cannot be read is only counted as left out."""
        try:
            tree = read(text, tuple(sorted(names)))
        except EquationError:
            self.left_out += 1
            return
        self.counts.leaf = leaf
        self.counts.equation(tree)

    def written(self) -> dict[str, Any]:
        """Return the counts as they are written."""
        counts = self.counts.counts
        more = {name: dict(sorted(of.items())) for name, of in self.more.items()}
        by_context = {c: dict(sorted(parts.items())) for c, parts in sorted(counts.items())}
        return {"source": self.source, "left_out": self.left_out, **more, "counts": by_context}


def laws() -> Iterator[tuple[str, Table]]:
    """Yield the tables of the suites of laws."""
    suites = {
        "srsd": (DATASETS / "srsd").glob("*.toml"),
        "srbench": (DATASETS / "srsd/srbench").glob("*.toml"),
    }
    for suite, paths in suites.items():
        table = Table(f"datasets/srsd, {suite}")
        for path in sorted(paths):
            problem = read_problem(path)
            names = set(problem.spreads)
            table.equation(problem.law, lambda _: "@x", names)
            table.more["variables"][str(len(names))] += 1
            for spread in problem.spreads.values():
                if spread.distribution == "uniform":
                    sign = -1 if spread.sign == "negative" else 1
                    ends = sorted((sign * spread.low, sign * spread.high))
                    if max(map(abs, ends)) <= 100 and min(abs(e) for e in ends if e) >= 0.01:  # noqa: PLR2004
                        table.more["ranges"][f"{ends[0]:g} {ends[1]:g}"] += 1
        yield suite, table


def systems() -> Iterator[tuple[str, Table]]:
    """Yield the tables of the suites of systems, but for those that were written here."""
    folder = DATASETS / "ode"
    for suite, where in (
        ("odebench", folder),
        *((name, folder / name) for name in ("dysts", "llm-ode")),
    ):
        table = Table(f"datasets/ode, {suite}")
        for path in sorted(where.glob("*.toml")):
            system = read_ode(path)
            if system.dim <= _LARGEST:
                table.more["equations"][str(system.dim)] += 1
            for value in (x for start in system.initial_conditions for x in start if x):
                if (half := half_decade(value)) is not None:
                    table.more["starts"][f"{'-' if value < 0 else '+'} {half}"] += 1
            for own, text in zip(system.variables, system.truth, strict=True):
                states = set(system.variables)
                table.equation(
                    text,
                    lambda name, own=own, states=states: (  # type: ignore[misc]
                        None if name not in states else "@own" if name == own else "@other"
                    ),
                    states,
                )
        yield suite, table


def surfaces() -> Iterator[tuple[str, Table]]:
    """Yield the tables of SurfaceBench and of textbooks."""
    table = Table("datasets/surface")
    for path in sorted((DATASETS / "surface").glob("*.toml")):
        surface = read_surface(path)
        table.more["representation"][surface.representation] += 1
        for text in surface.truth:
            table.equation(text, lambda _: "@x", set(surface.inputs))
    yield "surfacebench", table
    table = Table("scripts/textbook_equations.toml")
    for texts in TEXTBOOKS["surfaces"].values():
        for text in texts:
            table.equation(text, lambda _: "@x", {"x", "y", "z", "u", "v"})
    yield "textbooks", table


def fields() -> Iterator[tuple[str, Table]]:
    """Yield the tables of MDBench's fields and of textbooks, all along one axis."""
    table = Table("datasets/pde")
    for path in sorted((DATASETS / "pde").glob("*.toml")):
        system = read_pde(path)
        names = {*system.variables, *derivative_names(tuple(system.variables), tuple(system.axes))}
        table.more["states"][str(min(len(system.equations), 2))] += 1
        for target, text in system.equations.items():
            own = target.removesuffix("_t")
            table.equation(
                text, _of_field(own), names | set(system.constants) | set(system.explicit)
            )
    yield "mdbench", table
    table = Table("scripts/textbook_equations.toml")
    names = {*"uv", *derivative_names(("u", "v"), ("x",))}
    for texts in TEXTBOOKS["fields"].values():
        table.more["states"][str(len(texts))] += 1
        for own, text in zip("uv", texts, strict=False):
            table.equation(text, _of_field(own), names)
    yield "textbooks", table


def _of_field(own: str) -> Callable[[str], str | None]:
    """Name a state or a derivative: ``@own_xx``, ``@other_x``; None for a constant."""

    def leaf(name: str) -> str | None:
        state, _, axes = name.partition("_")
        if not re.fullmatch(r"u\d*|v|p", state) or (axes and set(axes) - set("xyz")):
            return None
        whose = "own" if state == own else "other"
        return f"@{whose}{'_' * bool(axes)}{'x' * len(axes)}"

    return leaf


def outside(python: str) -> Iterator[tuple[str, str, Table]]:
    """Yield the kind, the name and the table of each outside list."""
    file = ROOT / "scripts/outside_equations.py"
    lines = subprocess.run([python, str(file)], check=True, capture_output=True, text=True).stdout
    tables = {name: Table(source) for name, (_, source) in LISTS.items()}
    for line in lines.splitlines():
        listed = json.loads(line)
        constants = {*listed["constants"], "s2pi", "s2"}
        names = {f"{name}_" for name in (*listed["variables"], *constants)}
        # With a bar at its end no name is that of a function or of a number.
        text = _with_bars(listed["text"], names)
        own = [f"{name}_" for name in listed["variables"]]
        kind = LISTS[listed["list"]][0]

        def leaf(name: str, own: list[str] = own, kind: str = kind) -> str | None:
            if name not in own:
                return None
            return "@x" if kind == "law" else "@own" if name == own[0] else "@other"

        tables[listed["list"]].equation(text, leaf, names)
    for name, table in tables.items():
        yield LISTS[name][0], name, table


def _with_bars(text: str, names: set[str]) -> str:
    return _NAMES.sub(lambda match: f"{match[0]}{'_' * (f'{match[0]}_' in names)}", text)


def main() -> None:
    """Count, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outside", metavar="PYTHON")
    known = json.loads(FILE.read_text())["kinds"] if FILE.exists() else {}
    asked = parser.parse_args()
    kinds: dict[str, dict[str, Any]] = {
        "law": dict(_written(laws())),
        "system": dict(_written(systems())),
        "surface": dict(_written(surfaces())),
        "field": dict(_written(fields())),
    }
    if asked.outside:
        for kind, name, table in outside(asked.outside):
            kinds[kind][name] = table.written()
    else:
        for kind, tables in known.items():
            for name, table in tables.items():
                kinds[kind].setdefault(name, table)
    text = json.dumps({"schema": 1, "grammar": 2, "kinds": kinds}, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
    for kind, tables in kinds.items():
        for name, table in tables.items():
            number = sum(table["counts"]["the whole"].values())
            print(f"{kind}: {name}: {number} equations, {table['left_out']} left out")


def _written(tables: Iterator[tuple[str, Table]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, table.written()) for name, table in tables)


if __name__ == "__main__":
    main()
