"""Many records, made of the few that are in `docs/results`: copies with other seeds or methods.

Run as ``python tests/support/multiplied.py RECORDS FOLDER [METHODS]``: of each method so many
copies (one by default), and of each of these as many seeds as it takes.  Copies of an answer have
the same equations with slightly different constants, so that nothing is there twice.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import lzma
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
SEEDS_APART = 1000
_DECIMAL = re.compile(r"\d+\.\d+")


def originals(*names: str) -> list[dict[str, Any]]:
    """Return the records of `docs/results`, or of some bundles there."""
    found = []
    for path in sorted(file for name in names or "*" for file in RESULTS.glob(f"{name}.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def copy_of(record: dict[str, Any], number: int, methods: int) -> dict[str, Any]:
    """Return a copy by another method, or with another seed, and other constants."""
    if number == 0:
        return record
    made = dict(record)
    made["key"] = hashlib.sha256(f"{record['key']}{number}".encode()).hexdigest()
    seed, method = divmod(number, methods)
    made["algorithm"] += f"-{method}" if method else ""
    made["seed"] += SEEDS_APART * seed
    generator = random.Random(made["key"])

    def other(constant: re.Match[str]) -> str:
        return repr(float(constant[0]) * (1 + 1e-3 * generator.random()))

    if made.get("equations") and made["equations"] != made.get("truth"):
        made["equations"] = [_DECIMAL.sub(other, text) for text in made["equations"]]
    return made


def multiplied(number: int, methods: int = 1) -> Iterator[dict[str, Any]]:
    """Generate so many records: first those that there are, then copies of all of them."""
    ones = originals()
    rounds = range(-(-number // len(ones)))
    copies = (copy_of(one, each, methods) for each in rounds for one in ones)
    return itertools.islice(copies, number)


def main() -> int:
    """Write the records into a file."""
    number, folder = int(sys.argv[1]), Path(sys.argv[2])
    methods = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "multiplied.jsonl").open("w", encoding="utf-8") as file:
        for one in multiplied(number, methods):
            file.write(json.dumps(one) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
