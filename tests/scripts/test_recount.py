"""The long table is the same when it is computed a second time, by code that shares nothing."""

from __future__ import annotations

import ast
import json
import lzma
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import recount
from long_table import PARTS, LongTable
from reporting import EXAMPLE

from mdbench.records import Record
from mdbench.reports.statistics import wilson

if TYPE_CHECKING:
    from collections.abc import Iterator

METHODS = ["afp", "bingo", "gplearn", "operon", "screening", "udsr", "truth", "hroch", "eggp"]
WORK = {part.data_type: part.work_s for part in PARTS}


def drawn(seed: int, data_type: str) -> Iterator[Record]:
    """Draw records of all that a table counts, and of much that it does not."""
    draw = random.Random(seed)
    for k, method in enumerate(METHODS):
        for law in range(24):
            changes: dict[str, Any] = {"status": "ok", "metrics": {"identified": 0.0}}
            kind = draw.random()
            if kind < 0.9 - k / len(METHODS):
                changes["metrics"]["identified"] = 1.0
            elif kind < 0.93:
                changes["status"] = draw.choice(["timeout", "failed", "partial", "invalid_output"])
            elif law == 3:
                changes["metrics"]["identified"] = None
            limit = WORK[data_type]
            measured = {
                **EXAMPLE["measured"],
                "work_s": draw.uniform(0.2, 1.0) * limit,
                "evaluations": draw.choice([None, 500, 20_000]),
            }
            data = {
                **EXAMPLE,
                **changes,
                "key": f"{draw.getrandbits(256):064x}",
                "algorithm": method,
                "data_type": data_type,
                "dataset": f"law-{law}",
                "system": f"law-{law}",
                "seed": 0,
                "protocol": "strict",
                "snr_db": None,
                "measured": measured,
                "budget": {**EXAMPLE["budget"], "work_s": limit},
            }
            yield Record.model_validate(data)
            for other in ({"seed": 1}, {"snr_db": 20.0}):
                extra = {**data, **other, "key": f"{draw.getrandbits(256):064x}"}
                yield Record.model_validate({**extra, "metrics": {"identified": 1.0}})


@pytest.mark.parametrize("data_type", recount.PARTS)
@pytest.mark.parametrize("seed", range(5))
def test_both_ways_give_the_same_table(
    data_type: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = list(drawn(seed, data_type))
    [page] = LongTable(records).compared
    lines = [record.to_line() for record in records]
    path = tmp_path / "records.jsonl.xz"
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))
    [(part, rows)] = recount.recount([json.loads(line) for line in lines]).items()
    assert part == data_type
    assert list(rows) == list(page.verdicts)
    for method, row in rows.items():
        verdicts = [*page.verdicts[method].values()]
        assert row["jobs"] == len(verdicts)
        assert row["share"] == pytest.approx(sum(verdicts) / len(verdicts))
        assert row["interval"] == pytest.approx(wilson(row["share"], row["jobs"]))
        assert row["short"] == page.hides(method)
        assert row["group"] == page.group.get(method, 0)
    assert len({row["group"] for row in rows.values()}) > 2
    recount.main(str(path))
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{data_type}: {page.jobs} jobs"
    assert len(shown) == 1 + len(rows)


def test_nothing_of_mdbench_is_imported_and_nothing_that_python_does_not_bring() -> None:
    tree = ast.parse(Path(recount.__file__).read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "__future__"}
