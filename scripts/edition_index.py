"""Makes the index of what methods identified in the editions; see the script without ending."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from bundles import read_bundle
from edition_results import predictors
from findings import BASELINES, marks

from mdbench.extensions.standings.editions import INDEX, make_index
from mdbench.records import PACKED

_RESULTS: Final = Path(__file__).resolve().parent.parent / "docs" / "results"
_FILE: Final = Path("mdbench", "extensions", "standings", INDEX.name)
_NAME: Final = re.compile(r"edition-[0-9]+(-[a-z]+)?")
_GROWING: Final = frozenset({"edition-2-long"})
"""Editions that are still being run: a rank among some of their methods says nothing."""


def edition_names(results: Path = _RESULTS) -> list[str]:
    """Return the names of the bundles of editions, the oldest first."""
    stems = (path.name.removesuffix(PACKED) for path in results.glob(f"edition-*{PACKED}"))
    return sorted(stem for stem in stems if _NAME.fullmatch(stem) and stem not in _GROWING)


def index_text(results: Path = _RESULTS) -> str:
    """Return the text of the index that follows from the records."""
    names = edition_names(results)
    records = [record for name in names for record in read_bundle(results, name)]
    apart = BASELINES | predictors()
    return make_index(records, names, apart, lambda name: marks().get(name, "")).to_json()


def write_index(root: Path) -> None:
    """Write the index of a clone again, where it has one."""
    if (file := root / _FILE).is_file():
        file.write_text(index_text(root / "docs" / "results"), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the index, or compare it with the records."""
    text = index_text()
    if arguments != ["--check"]:
        INDEX.write_text(text, encoding="utf-8")
        return 0
    if INDEX.read_text(encoding="utf-8") == text:
        return 0
    print(f"{INDEX} is not that of the records: scripts/edition-index", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
