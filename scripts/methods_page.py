"""Writes the table of docs/methods.md: all methods, from their folders and the records.

.venv/bin/python scripts/methods_page.py            # writes the table
.venv/bin/python scripts/methods_page.py --check    # fails where it is not what these give
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bundles import read_bundle
from findings import compared, to_table

from mdbench import datatypes, methods

if TYPE_CHECKING:
    from mdbench.methods import Method

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "methods.md"
SIZES: Final = ROOT / "benchmarks" / "environments.json"
"""MB of environments by the SHA-256 of their locks: see benchmarks/bench_environments.py."""
RUN: Final = "equal-work"
HEAD: Final = (
    *("method", "what it is", "data types", "code", "licence", "environment"),
    *("identified", "first candidate"),
)
RULE: Final = "| :-- | :-- | :-- | :-- | :-- | --: | --: | --: |"
_BLOCK: Final = re.compile(r"(<!-- methods -->\n\n).*?(\n<!-- end -->)", re.DOTALL)
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_NONE: Final = "–"


def table(sections: dict[str, str]) -> str:
    """Return the table of all methods, those of a family together.

    Parameters
    ----------
    sections
        By method, where it is described.
    """
    sizes: dict[str, Any] = json.loads(SIZES.read_text(encoding="utf-8"))
    results = results_of(RUN)
    parts = []
    found = [
        method
        for method in methods.discover(ROOT / "algorithms").values()
        if isinstance(method, methods.Method)
    ]
    families = dict.fromkeys(methods.FAMILIES) | {one.spec.family: None for one in found}
    for family in families:
        lines = [
            row(method, sizes, results, sections)
            for method in found
            if method.spec.family == family
        ]
        if lines:
            head, _, *rest = to_table(HEAD, lines).split("\n")
            parts.append("\n".join([f"### {family}", "", head, RULE, *rest, ""]))
    return "\n".join(parts)


def row(
    method: Method,
    sizes: dict[str, Any],
    results: dict[str, tuple[str, str]],
    sections: dict[str, str],
) -> list[str]:
    """Return the cells of a method."""
    spec = method.spec
    title = re.sub(r" \(our own \w+\)$", "", spec.title.partition(": ")[2] or spec.title)
    kinds = sorted(spec.data_types, key=datatypes.names().index)
    lock = hashlib.sha256(method.lock.read_bytes()).hexdigest()
    size = sizes.get(lock[:12])
    place = sections.get(spec.name) or sections.get(spec.control_of)
    return [
        f"[`{spec.name}`]({place or f'{kinds[0]}.md#methods'})",
        title[0].upper() + title[1:],
        " ".join(kinds),
        spec.implementation or _NONE,
        spec.licence,
        f"{size} MB" if size else _NONE,
        *results.get(spec.name, (_NONE, _NONE)),
    ]


def results_of(run: str) -> dict[str, tuple[str, str]]:
    """Return by method what it identified on clean data, and the work to its first candidate."""
    records = read_bundle(ROOT / "docs" / "results", run)
    found = {}
    for method, verdicts in compared(records).items():
        clean = [value for job, value in verdicts.items() if job.case.snr_db is None]
        first = [
            one.measured.anytime[0].work_s
            for one in records
            if one.method == method and one.measured.anytime and one.measured.anytime[0].work_s
        ]
        work = f"{median(first):.2f} s" if first else _NONE
        found[method] = (f"{sum(clean):.0f} of {len(clean)}", work)
    return found


def sections_of(text: str) -> dict[str, str]:
    """Return by method the link to its section: one with its name alone before one of several."""
    found: dict[str, str] = {}
    for heading in sorted(_SECTION.findall(text), key=len):
        anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for name in re.findall(r"[a-z][a-z0-9_]+", heading):
            found.setdefault(name, f"#{anchor}")
    return found


def page() -> str:
    """Return the page with its table as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    made = table(sections_of(text))
    return _BLOCK.sub(lambda match: f"{match[1]}{made}{match[2]}", text)


def main() -> int:
    """Write the table, or compare it."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"the table of {PAGE} is old; type: .venv/bin/python scripts/methods_page.py")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
