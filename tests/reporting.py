"""Results for the tests of reports: made up, with all verdicts, noise floors and failures."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.records import key_of
from mdbench.reports.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

GOLDEN = Path(__file__).parent / "golden" / "records" / "schema-2.jsonl"
EXAMPLE = json.loads(GOLDEN.read_text(encoding="utf-8").splitlines()[0])
FIDELITY = {
    "verdict": "identified",
    "precision": 1.0,
    "recall": 1.0,
    "f1": 1.0,
    "coefficient_error": 1e-4,
    "edit_distance": 0.0,
    "missing": [],
    "extra": [],
    "negligible": [],
    "simulation": {"r2": 0.999, "r2_unseen": 0.98, "ended": "whole"},
    "residual": None,
}
FAILED = {"equations": None, "metrics": {}, "complexity": None, "selection": None, "front": None}
METHODS = ("sindy", "operon", "linear", "zero", "truth")


def data(algorithm: str = "sindy", dataset: str = "lorenz", **changes: Any) -> dict[str, Any]:
    """Make a record as JSON values; ``nmse``, ``verdict`` and so on are short for theirs."""
    made = {**EXAMPLE, "fidelity": FIDELITY, "algorithm": algorithm, "dataset": dataset}
    nmse, floor = changes.pop("nmse", 1e-3), changes.pop("floor", None)
    made["metrics"] = {"nmse": nmse} | ({} if floor is None else {"nmse_floor": floor})
    made["metrics"] |= changes.pop("scores", {})
    verdict = changes.pop("verdict", "different")
    told = {key: changes.pop(key) for key in ("simulation", "residual") if key in changes}
    made["fidelity"] = None if verdict is None else {**FIDELITY, "verdict": verdict, **told}
    measured = {
        name: changes.pop(name)
        for name in ("wall_s", "started", "peak_memory_mb")
        if name in changes
    }
    made["measured"] = {**EXAMPLE["measured"], **measured}
    if changes.get("status", "ok") not in {"ok", "partial"}:
        made |= FAILED | {"fidelity": None, "reason": "it went wrong"}
    made |= changes
    parts = {k: str(made[k]) for k in ("algorithm", "dataset", "snr_db", "seed", "protocol")}
    return {**made, "key": key_of(parts), "key_parts": parts | changes.get("key_parts", {})}


def result(*arguments: Any, **changes: Any) -> Result:
    """Make a result."""
    return Result.model_validate(data(*arguments, **changes))


def simulated(generator: random.Random) -> dict[str, Any]:
    """Draw how simulations ended: whole, broken off, or without a second initial condition."""
    ended = generator.choice(("whole", "whole", "whole", "blew_up", "stiff", "late"))
    r2, unseen = 1 - 10 ** generator.uniform(-3, 0), 1 - 10 ** generator.uniform(-3, 0.5)
    only_seen = generator.random() < 0.2
    return {
        "r2": r2 if ended in {"whole", "late"} else None,
        "r2_unseen": None if only_seen or ended != "whole" else unseen,
        "ended": ended,
    }


def table_scores(generator: random.Random) -> dict[str, float]:
    """Draw what a table's answer is scored by, besides its error."""
    return {
        "r2_accuracy": float(generator.random() < 0.5),
        "solution": float(generator.random() < 0.3),
        "normalized_edit_distance": generator.randint(0, 7) / 7,
    }


def many(systems: int = 9, seeds: int = 2) -> list[dict[str, Any]]:
    """Make the records of five methods, at three noise levels and under two protocols."""
    generator = random.Random(1)
    made = []
    for system in range(systems):
        dim = system % 3 + 1
        shape = {
            "dim": dim,
            "targets": [f"u{i}_t" for i in range(dim)],
            "truth": [f"1.5*u{i} - 0.25*u{i}**2" for i in range(dim)],
            "equations": [f"1.5*u{i} - {generator.random()!r}*u{i}**2" for i in range(dim)],
        }
        for snr_db in (None, 20.0, 10.0):
            floor = 0.0 if snr_db is None else 10 ** generator.uniform(-3, 0.5)
            for place, method in enumerate(METHODS):
                for seed in range(seeds if method == "operon" else 1):
                    for protocol in ("strict", "published") if system < 4 else ("strict",):
                        status = "timeout" if generator.random() < 0.15 else "ok"
                        if generator.random() < 0.03:
                            status = "interrupted"
                        changes = {**shape, "snr_db": snr_db, "seed": seed, "protocol": protocol}
                        if status != "ok":
                            changes["equations"] = None
                        made.append(
                            data(
                                method,
                                f"system {system}",
                                status=status,
                                nmse=floor * generator.uniform(0.8, 3)
                                + 10 ** generator.gauss(place - 5, 1),
                                floor=floor,
                                verdict=generator.choice(
                                    ("identified", "one_term_off", "different")
                                ),
                                wall_s=10 ** generator.gauss(0, 1),
                                peak_memory_mb=generator.uniform(20, 200),
                                complexity=generator.randint(3, 40) if status == "ok" else None,
                                simulation=simulated(generator),
                                scores=table_scores(generator),
                                residual=generator.choice((None, 10 ** generator.gauss(place, 2))),
                                **changes,
                            )
                        )
    return made


def write(folder: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records into a folder, a file for each method."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in records:
        name = f"{record['algorithm']}-{record['data_type']}.jsonl"
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    return folder
