"""Results for the tests of reports: made up, with metrics of every kind, floors and failures."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.metrics.spec import MetricSpec, flag
from mdbench.records import Record, key_of
from mdbench.reports import leaderboard
from mdbench.reports.leaderboard import MethodFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mdbench.reports.leaderboard import Leaderboard

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "schema-1.jsonl"
EXAMPLE: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8").splitlines()[0])
EXAMPLE |= {"options": {}, "answers": None, "alternatives": [], "weighted": None}
EXAMPLE["budget"] |= {"work_s": None}
EXAMPLE["measured"] |= {"work_s": None, "evaluations": None, "speed": None, "anytime": []}
EXAMPLE["measured"]["smaller_budgets"] = []
EXAMPLE["measured"] |= {"speed_before": None, "speed_after": None}
METHODS = ("sindy", "operon", "linear", "zero", "truth")
KINDS = {
    "truth": MethodFacts("baseline", reference=True),
    "zero": MethodFacts("baseline"),
    "forest": MethodFacts("predictor"),
    "sindy": MethodFacts("linear"),
    "linear": MethodFacts("linear"),
    "operon": MethodFacts("genetic"),
}
MOTION = (
    MetricSpec(
        name="nmse",
        title="NMSE",
        explanation="squared error over squared targets",
        scale="log",
        resolution=1e-12,
        nothing=1.0,
        places=frozenset({"board", "answer", "brief", "figure"}),
    ),
    flag(
        "identified",
        "identified",
        "all true terms and no other",
        mark="✓",
        places={"board", "brief", "figure"},
    ),
    flag("one_term_off", "one term off", "one term missing or extra", mark="±1", places={"board"}),
    MetricSpec(
        name="f1", title="F1", explanation="of terms", better="higher", on_failure=0.0, digits=2
    ),
    MetricSpec(
        name="r2_test",
        title="R²",
        explanation="of the trajectory",
        better="higher",
        digits=3,
        places=frozenset({"answer"}),
    ),
    flag("follows", "R² test", "jobs with R² above 0.9", places={"board", "brief"}),
    MetricSpec(
        name="ended",
        title="broke off",
        explanation="simulations that ended early",
        kind="label",
        labels=("whole", "blew_up", "stiff"),
        aggregate="counts",
    ),
    MetricSpec(
        name="complexity",
        title="nodes",
        explanation="size of the equations",
        unit="nodes",
        on_failure=None,
        scale="log",
        digits=0,
        weighs=True,
        places=frozenset({"board", "answer", "brief", "figure"}),
    ),
    MetricSpec(
        name="agreement",
        title="agreement",
        explanation="how far predictions are from the equations",
        scale="log",
        on_failure=None,
        aggregate="max",
        alarm=1e-4,
        places=frozenset({"board", "answer"}),
    ),
)
"""Like those of a data type with equations that are integrated."""
TEXTS = (
    MetricSpec(
        name="accuracy",
        title="accuracy",
        explanation="share of right labels",
        better="higher",
        on_failure=0.0,
        aggregate="mean",
        digits=3,
        alarm=0.25,
        places=frozenset({"board", "answer", "brief", "figure"}),
    ),
    MetricSpec(
        name="verbosity",
        title="verbosity",
        explanation="words beside the label",
        better="neither",
        kind="label",
        labels=("terse", "wordy"),
        aggregate="counts",
        places=frozenset({"board", "answer"}),
    ),
    MetricSpec(
        name="likelihood",
        title="likelihood",
        explanation="of the right labels",
        better="higher",
        scale="log",
        places=frozenset({"board", "answer", "figure"}),
    ),
)
"""Of answers that are labels: higher is better, no equations, nothing to weigh, no floor."""
POINTS = (
    flag("hit", "hit", "whether the surface is met", places={"board", "brief", "figure"}),
    MetricSpec(
        name="chamfer",
        title="Chamfer",
        explanation="distance of the clouds",
        unit="m",
        digits=3,
        places=frozenset({"board", "answer"}),
    ),
    MetricSpec(
        name="worst",
        title="worst point",
        explanation="largest distance",
        aggregate="max",
        on_failure=None,
        digits=0,
        alarm=5e6,
    ),
    flag("closed", "closed", "no holes", mark="○", places={"board"}, failed=False),
)
"""Of point clouds: the primary metric is a flag, and failures of others count or do not."""
SPECS = {"ode": MOTION, "texts": TEXTS, "points": POINTS}
SCORES = {
    "nmse": 1e-3,
    "identified": 0.0,
    "one_term_off": 0.0,
    "f1": 1.0,
    "r2_test": 0.999,
    "follows": 1.0,
    "ended": "whole",
    "complexity": 18,
    "agreement": 0.0,
}
DROPPED = "not judged by it"


def data(
    algorithm: str = "sindy",
    dataset: str = "lorenz",
    *,
    scores: Mapping[str, Any] | None = None,
    verdict: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """Make a record as JSON values.

    `scores` change those of an ode, or are all that there is of another data type; a `verdict` is
    the name of the flag that holds; ``nmse`` and so on are short for their score.
    """
    short = {name: changes.pop(name) for name in SCORES if name in changes}
    base = SCORES if changes.get("data_type", "ode") == "ode" else {}
    metrics = {**base, **short, **(scores or {})} | ({verdict: 1.0} if verdict else {})
    metrics = {name: value for name, value in metrics.items() if value != DROPPED}
    measured = {
        name: changes.pop(name)
        for name in ("wall_s", "started", "peak_memory_mb")
        if name in changes
    }
    made = {**EXAMPLE, "algorithm": algorithm, "dataset": dataset, "floor": None, "system": dataset}
    made |= {"metrics": metrics, "judged_by": list(metrics), "notes": {}}
    made["measured"] = {**EXAMPLE["measured"], **measured}
    if changes.get("status", "ok") not in {"ok", "partial"}:
        made |= {"equations": None, "metrics": {}, "selection": None, "front": None}
        made["reason"] = "it went wrong"
    made |= changes
    parts = {k: str(made[k]) for k in ("algorithm", "system", "seed", "protocol")}
    parts["snr_db"] = "clean" if made["snr_db"] is None else f"{made['snr_db']:g}"
    return {**made, "key": key_of(parts), "key_parts": parts | changes.get("key_parts", {})}


def result(*arguments: Any, **changes: Any) -> Record:
    """Make a result."""
    return Record.model_validate(data(*arguments, **changes))


def boards(
    records: Iterable[dict[str, Any]], kinds: Mapping[str, MethodFacts] = KINDS
) -> dict[str, Leaderboard]:
    """Compare the methods of each data type."""
    results = [Record.model_validate(one) for one in records]
    return leaderboard.boards(results, kinds, SPECS)


def compare(records: Iterable[dict[str, Any]], data_type: str = "ode") -> Leaderboard:
    """Compare the methods of one data type, in the class that has most results."""
    found = boards(records)
    return found[data_type] if found else leaderboard.board([], KINDS, SPECS[data_type])


def _jobs(systems: int, seeds: int) -> Iterable[tuple[int, float | None, int, str, int, str]]:
    for system in range(systems):
        for snr_db in (None, 20.0, 10.0):
            for place, method in enumerate(METHODS):
                for seed in range(seeds if method in {"operon", "sindy"} else 1):
                    for protocol in ("strict", "published") if system < 4 else ("strict",):
                        yield system, snr_db, place, method, seed, protocol


def _status(generator: random.Random, method: str) -> str:
    """Draw a status: `linear` lacks seeds, and some of its jobs were interrupted."""
    if generator.random() < 0.06 and method == "linear":
        return "interrupted"
    return "timeout" if generator.random() < 0.15 else "ok"


def many(systems: int = 9, seeds: int = 2) -> list[dict[str, Any]]:
    """Make the records of five methods, at three noise levels and under two protocols."""
    generator = random.Random(1)
    floors = [
        {None: 0.0, 20.0: 10 ** generator.uniform(-3, 0.5), 10.0: 10 ** generator.uniform(-2, 0.5)}
        for _ in range(systems)
    ]
    made = []
    for system, snr_db, place, method, seed, protocol in _jobs(systems, seeds):
        dim, floor = system % 3 + 1, floors[system][snr_db]
        status = _status(generator, method)
        scores = {
            "nmse": floor * generator.uniform(0.8, 3) + 10 ** generator.gauss(place - 5, 1),
            "identified": generator.choice((0.0, 0.0, 1.0, None)),
            "one_term_off": generator.choice((0.0, 1.0)),
            "f1": generator.random(),
            "r2_test": generator.choice((None, 1 - 10 ** generator.gauss(0, 2))),
            "follows": generator.choice((0.0, 1.0, None)),
            "ended": generator.choice(("whole", "whole", "blew_up", "stiff", None)),
            "complexity": generator.randint(3, 40),
            "agreement": generator.choice((0.0, 1e-9, 10 ** generator.gauss(-6, 1))),
        }
        if system == 1:
            scores["follows"] = DROPPED
        if generator.random() < 0.04:
            scores["nmse"] = None
        if method == "zero":
            scores["nmse"] = 1.7976931348623157e308 if system == 2 else 1.0
        made.append(
            data(
                method,
                f"system {system}",
                scores=scores,
                status=status,
                floor=floor,
                dim=dim,
                targets=[f"u{i}_t" for i in range(dim)],
                truth=[f"1.5*u{i} - 0.25*u{i}**2" for i in range(dim)],
                equations=None
                if status != "ok"
                else [f"1.5*u{i} - {generator.random()!r}*u{i}**2" for i in range(dim)],
                snr_db=snr_db,
                seed=seed,
                protocol=protocol,
                wall_s=min(10 ** generator.gauss(0, 1), 60.0),
                peak_memory_mb=generator.uniform(20, 200),
            )
        )
    return made


def texts(systems: int = 6, seeds: int = 2) -> list[dict[str, Any]]:
    """Make records whose answers are labels."""
    generator = random.Random(2)
    made = []
    for system, snr_db, place, method, seed, protocol in _jobs(systems, seeds):
        status = _status(generator, method)
        scores = {
            "accuracy": None if generator.random() < 0.1 else generator.random() ** (1 + place),
            "verbosity": generator.choice(("terse", "wordy", None)),
            "likelihood": 10 ** generator.gauss(-3, 3),
        }
        made.append(
            data(
                method,
                f"text {system}",
                data_type="texts",
                scores=scores,
                status=status,
                dim=system % 2 + 1,
                targets=["label"],
                truth=None,
                equations=None,
                snr_db=snr_db,
                seed=seed,
                protocol=protocol,
                wall_s=min(10 ** generator.gauss(0, 1), 60.0),
                peak_memory_mb=generator.uniform(20, 200),
            )
        )
    return made


def points(systems: int = 4, seeds: int = 3) -> list[dict[str, Any]]:
    """Make records of point clouds, whose truth may say nothing itself."""
    generator = random.Random(3)
    made = []
    for system, snr_db, place, method, seed, protocol in _jobs(systems, seeds):
        scores = {
            "hit": generator.choice((0.0, 1.0, 1.0, None)),
            "chamfer": place + generator.random(),
            "worst": 10 ** generator.gauss(5, 1),
            "closed": generator.choice((0.0, 1.0, None)),
        }
        made.append(
            data(
                method,
                f"cloud {system}",
                data_type="points",
                scores=scores,
                status=_status(generator, method),
                floor=generator.choice((0.0, 1.0)),
                dim=system % 2 + 1,
                targets=["x"],
                truth=None,
                equations=None,
                snr_db=snr_db,
                seed=seed,
                protocol=protocol,
                wall_s=min(10 ** generator.gauss(0, 1), 60.0),
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
