"""Compares what the pretraining drew with test laws: ``python leaks.py FOLDER [--pools N]``.

FOLDER has problem files of data type srsd.  For each pair of a drawn table and a test law of the
same form (up to the order of variables), the intersection over union of the ranges of each
variable, in decades, is averaged over variables, and is the largest over such orders (in the
manner of Matsubara et al. 2024, eq. S1).
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
import tomllib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / "shared" / "table_transformer"
sys.path.insert(0, str(SHARED))

from pretraining import Bigram, drawn_table  # noqa: E402
from skeletons import (  # noqa: E402
    ARITY,
    Form,
    FormError,
    form_of_prefix,
    prefix_of_form,
    read_form,
    read_laws,
    renumbered,
)

Ranges = list[tuple[float, float]]


def laws_of(folder: Path) -> dict[str, tuple[Form, Ranges]]:
    """Read the form of each law, and the decades of its variables in the order of their columns.

    Laws that the tokens cannot write, such as those with an arcsine, are left out: nothing that
    was drawn can have their form.
    """
    found = {}
    for file in sorted(folder.glob("*.toml")):
        spec = tomllib.loads(file.read_text(encoding="utf-8"))
        names = list(spec["variables"])
        formula = spec["formula"]
        for number in (*spec.get("constants", {}), "pi"):
            formula = re.sub(rf"\b{number}\b", "C", formula)
        used = [name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", formula))
                if name in names]  # fmt: skip
        try:
            form = read_form(formula.replace("ln(", "log("))
            prefix_of_form(form)
        except FormError:
            continue
        decades = []
        for name in used:
            low, high = (abs(float(spec["variables"][name][end])) for end in ("low", "high"))
            lowest = max(min(low, high), 1e-3 * max(low, high))
            decades.append((math.log10(lowest), math.log10(max(low, high))))
        found[spec["id"]] = form, decades
    return found


def overlap(one: Ranges, other: Ranges) -> float:
    """Return the mean over variables of the intersection over the union of two ranges."""
    shares = []
    for (a, b), (c, d) in zip(one, other, strict=True):
        union = max(b, d) - min(a, c)
        shares.append(max(0.0, min(b, d) - max(a, c)) / union if union > 0 else 1.0)
    return float(np.mean(shares)) if shares else 0.0


def orders(form: Form, variables: int) -> dict[Form, list[tuple[int, ...]]]:
    """Return each form that another order of the variables makes of this one, and those orders."""
    tokens = prefix_of_form(form)
    found: dict[Form, list[tuple[int, ...]]] = {}
    for order in itertools.permutations(range(variables)):
        found.setdefault(form_of_prefix(renumbered(tokens, order)), []).append(order)
    return found


def main() -> None:
    """Draw as the training did, and print what is alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pools", type=int, default=40, help="of 512 tables (default: 40)")
    asked = parser.parse_args()
    from train import BATCH, EACH_LAW, POOL, ROWS, SEED  # noqa: PLC0415 - loads PyTorch

    laws = laws_of(asked.folder)
    alike: dict[Form, list[tuple[str, Ranges, list[tuple[int, ...]]]]] = {}
    for name, (form, ranges) in laws.items():
        if len(ranges) <= 6:  # noqa: PLR2004 - 720 orders
            for other, ways in orders(form, len(ranges)).items():
                alike.setdefault(other, []).append((name, ranges, ways))
    bigram = Bigram(list(read_laws(SHARED / "laws.txt").values()))
    tables = 0
    forms: set[Form] = set()
    shares: list[float] = []
    names: set[str] = set()
    for pool in range(asked.pools):
        rng = np.random.default_rng([SEED, pool * POOL])
        drawn = 0
        while drawn < BATCH * POOL:
            tokens = bigram.draw(rng)
            form = form_of_prefix(tokens)
            for _ in range(EACH_LAW):
                dummies = int(rng.random() < 0.15)  # noqa: PLR2004
                table = drawn_table(tokens, ROWS, rng, dummies=dummies)
                if table is None:
                    continue
                drawn += 1
                forms.add(form)
                used = sorted({int(each[1:]) for each in table.tokens if each not in ARITY})
                own = [(float(low), float(high)) for low, high in table.ranges[used]]
                for name, ranges, ways in alike.get(form, []):
                    names.add(name)
                    shares.append(
                        max(overlap([own[place] for place in way], ranges) for way in ways)
                    )
        tables += drawn
    print(f"{tables} tables of {len(forms)} forms; {len(laws)} of the test laws can be written")
    print(f"{len(names)} test laws have the form of some table, {len(shares)} pairs")
    if shares:
        print(f"overlap of ranges: mean {np.mean(shares):.4f}, largest {np.max(shares):.3f}")


if __name__ == "__main__":
    main()
