"""Draws the cases of edition 2's long table and of a study next to it, and prints them as lists.

    python scripts/edition_draw.py

The seed is `SEED`, and the draw follows from it and from the files of ``datasets``: in strata of
size or difficulty, each with its share of the cases (largest remainders), in the order of a hash of
seed and name.  A case that is added to a suite moves the others of its stratum at most.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mdbench.datatypes.srsd.indistinguishable import indistinguishable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SEED: Final = "mdbench edition 2, long table"
_DATASETS: Final = Path(__file__).resolve().parent.parent / "datasets"
AGAIN: Final = ("systems", "laws", "surfaces", "fields", "tables")
"""Parts of which a third is run with a second seed."""
_FEW: Final = 2
"""Variables of a law that has few."""


def drawn(strata: Mapping[str, str], count: int) -> list[str]:
    """Draw cases in strata.

    Parameters
    ----------
    strata
        The stratum of each case.
    count
        How many cases; each stratum has the whole part of its share, and those of the largest
        remainders one more (of equal ones the first by name).
    """
    members: dict[str, list[str]] = defaultdict(list)
    for case in sorted(strata, key=_hash):
        members[strata[case]].append(case)
    shares = {stratum: count * len(cases) / len(strata) for stratum, cases in members.items()}
    sizes = {stratum: int(share) for stratum, share in shares.items()}
    by_remainder = sorted(shares, key=lambda stratum: (sizes[stratum] - shares[stratum], stratum))
    for stratum in by_remainder[: count - sum(sizes.values())]:
        sizes[stratum] += 1
    return sorted(case for stratum in members for case in members[stratum][: sizes[stratum]])


def _hash(case: str) -> bytes:
    return hashlib.sha256(f"{SEED}\n{case}".encode()).digest()


def _cases(folder: str, stratum: Callable[[dict[str, Any]], str]) -> Iterator[tuple[str, str]]:
    for file in sorted((_DATASETS / folder).glob("*.toml")):
        yield file.stem, stratum(tomllib.loads(file.read_text(encoding="utf-8")))


def _by_equations(system: dict[str, Any]) -> str:
    return f"{len(system['equations'])} equations"


def _by_difficulty(law: dict[str, Any]) -> str:
    few = "few" if len(law["variables"]) <= _FEW else "many"
    return f"{law['set']}, {few} variables"


def draws() -> dict[str, list[str]]:
    """Return the cases of each part of the table."""
    systems = dict(_cases("ode", _by_equations))
    laws = dict(_cases("srsd", _by_difficulty))
    for name in indistinguishable():
        del laws[name]
    # Each law of SRBench's other set is one of SRSD's: a law counts once.
    laws |= {
        name: "strogatz"
        for name, _ in _cases("srsd/srbench", lambda _: "")
        if name.startswith("srbench-strogatz")
    }
    surfaces = dict(_cases("surface", lambda surface: str(surface["category"])))
    fields = dict(_cases("pde", lambda field: f"{len(field['grid']) - 1} axes"))
    tables = dict(_cases("real", lambda table: f"{len(table['columns'])} inputs"))
    tables.pop("kepler-binaries")  # four rows of three inputs
    longest = drawn(laws, 30)
    parts = {
        "systems": drawn(systems, 20),
        "laws": longest,
        "laws with 300 reference seconds": drawn({name: laws[name] for name in longest}, 15),
        "surfaces": drawn(surfaces, 20),
        "fields": drawn(fields, 6),
        "tables": drawn(tables, 8),
    }
    parts |= {f"{name} with a second seed": third(parts[name]) for name in AGAIN}
    parts["laws for the order of SRBench"] = drawn(
        {
            name: ""
            for name, _ in _cases("srsd/srbench", lambda _: "")
            if name.startswith("srbench-feynman")
        },
        15,
    )
    return parts


def third(cases: Sequence[str]) -> list[str]:
    """Return a third of the cases, rounded up: the first by the hash that drew them."""
    return sorted(sorted(cases, key=_hash)[: -(-len(cases) // 3)])


def main() -> int:
    """Print the lists."""
    for what, cases in draws().items():
        names = ", ".join(f'"{case}"' for case in cases)
        print(f"# {len(cases)} {what}\ndataset = [{names}]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
