"""Compares the forms that FastSRB accepts of a law with the law, by our rule.

FastSRB's file is its authors' and not here; a clone of its repository has it::

    .venv-dev/bin/python scripts/curated_forms.py FastSRB/src/expressions.yaml
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]  # it has no types of its own

from eqverdict import parse
from eqverdict.errors import EquationError
from eqverdict.fidelity.compare import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def verdicts(laws: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the law's label, an accepted form and the verdict of `mdbench.compare`."""
    for name, law in laws.items():
        columns = sorted(column for column in law["vars"] if column != "v0")
        domain = {column: _ends(law["vars"][column]) for column in columns}
        truth = str(law["prepared"]).replace("^", "**").replace("neg(", "-(")
        for form in law["accept"]:
            try:
                answer = parse(str(form).replace("^", "**").replace("neg(", "-("), columns).text
                verdict = str(compare([truth], [answer], columns, domain=domain).verdict)
            except EquationError as error:
                verdict = f"unreadable: {error.message}"
            yield name, str(form), verdict


def _ends(variable: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the largest value of a variable."""
    low, high = (float(end) for end in variable["sample_range"][:2])
    signs = str(variable["sample_type"])
    if "pos_neg" in signs:
        return -high, high
    return (-high, -low) if "neg" in signs else (low, high)


def main(path: str) -> None:
    """Print the forms that are not the law, and how many are."""
    counts: Counter[str] = Counter()
    for name, form, verdict in verdicts(yaml.safe_load(Path(path).read_text(encoding="utf-8"))):
        counts[verdict.partition(":")[0]] += 1
        if verdict != "identified":
            print(f"{name}: {form}: {verdict}")
    print(", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common()))


if __name__ == "__main__":
    main(*sys.argv[1:])
