"""Golden files of scored answers: a score that changes needs another scorer version.

See ``scripts/golden-scores``.  A file has a line with the scorer version of its scores,
then a line for each answer: what is asked, what is answered, and all that it scores.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from golden_answers import DATASETS, chosen

from eqverdict.limited_process import LimitedProcess
from mdbench.data.columns import OwnNames
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.records import Status
from mdbench.runs.catalog import Catalog
from mdbench.runs.record import score_fields
from mdbench.runs.scoring import JobResult, score_result
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mdbench.datatypes.base import DataType, Task

CLOSE: Final = 1e-9
"""The relative difference up to which two numbers are the same: other processors round otherwise.
Below a metric's resolution, or below 1e-12, all numbers are the same."""
SIMULATED: Final = 1e-4
"""The same of what an integrator gives, whose steps amplify how a processor rounds."""
_SIMULATED = frozenset({"r2_test", "r2_unseen"})
_TINY = 1e-12
NAMED: Final = ("missing", "extra", "negligible", "unseen")
"""The notes that name terms, which are scores; of the others only whether there are any is kept."""
_SLOW_S = 2.0
"""CPU seconds of an answer from which on only the nightly lane scores it."""

_ASKED = ("dataset", "snr_db", "seed", "protocol", "options")
_loaded: dict[str, Any] = {}

Entry = dict[str, Any]


@dataclass(frozen=True)
class Golden:
    """The scored answers of a data type, and the scorer version that scored them."""

    data_type: str
    version: int
    entries: list[Entry]


def path_of(root: Path, data_type: str) -> Path:
    """Return the golden file of a data type."""
    return root / "tests" / "golden" / "scores" / f"{data_type}.jsonl"


def read(path: Path) -> Golden:
    """Read a golden file."""
    head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return Golden(head["data_type"], head["scorer"], lines)


def write(golden: Golden, path: Path) -> None:
    """Write a golden file."""
    head = {"data_type": golden.data_type, "scorer": golden.version}
    lines = [json.dumps(each, ensure_ascii=False) for each in (head, *golden.entries)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def scores_of(entry: Mapping[str, Any], kind: DataType[Any, Any]) -> dict[str, Any]:
    """Score an answer: its status, its floor, all its metrics, and the terms that its notes name.

    Parameters
    ----------
    entry
        With what is asked (``dataset``, ``snr_db``, ``seed``, ``protocol``, ``view``, ``options``)
        and what is answered: ``equations``, each so many ``times``, or ``labels`` as `labels_of`
        has them.
    """
    dataset, protocol = load(entry, kind), Protocol(entry["protocol"])
    with np.errstate(all="ignore"):
        task = kind.task(dataset, entry["view"], protocol)
    if "labels" in entry:
        raw = Answer((), labels_of(entry["labels"], task))
    else:
        texts = [text * entry.get("times", 1) for text in entry["equations"]]
        raw = Answer(OwnNames(dataset.names).all_internal(texts))
    with np.errstate(all="ignore"):  # of answers whose errors no float holds
        found = score_fields(kind, task, score_result(kind, task, JobResult(Status.OK, answer=raw)))
    notes = {name: list(found["notes"].get(name, ())) for name in NAMED}
    return {
        "status": found["status"].value,
        "floor": found["floor"],
        "metrics": found["metrics"],
        "notes": {name: terms for name, terms in notes.items() if terms}
        | {"further": sorted(found["notes"].keys() - {*NAMED, "data"})},
    }


def load(entry: Mapping[str, Any], kind: DataType[Any, Any]) -> Any:
    """Make the data that an answer is for; those of the last answer are kept."""
    asked = [kind.name, *(entry[name] for name in _ASKED)]
    if _loaded.get("asked") != asked:
        dataset = kind.source(None).load(
            entry["dataset"],
            snr_db=entry["snr_db"],
            seed=entry["seed"],
            protocol=Protocol(entry["protocol"]),
            options=entry["options"],
        )
        _loaded.update(asked=asked, dataset=dataset)
    return _loaded["dataset"]


def labels_of(recipe: Mapping[str, Any], task: Task[Any]) -> Any:
    """Make the labels of an answer: those of the truth, of which a seeded share is wrong.

    The key ``value`` gives all rows one value instead, and ``broken`` the first row.
    """
    found = task.test.targets.copy()
    if "value" in recipe:
        found[:] = recipe["value"]
    else:
        generator = np.random.default_rng(recipe["seed"])
        wrong = generator.random(found.shape) < recipe["wrong"]
        found = np.where(wrong, 1.0 - found, found)
    if "broken" in recipe:
        found[0] = float(recipe["broken"])
    return found


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], resolutions: Mapping[str, float]
) -> dict[str, tuple[Any, Any]]:
    """Return the scores of an answer that differ, old and new, by name.

    Parameters
    ----------
    resolutions
        By metric: numbers below it are round-off.
    """
    flat_old, flat_new = (_flat(each) for each in (old, new))
    missing = "(none)"
    found = {}
    for name in dict.fromkeys([*flat_old, *flat_new]):
        pair = flat_old.get(name, missing), flat_new.get(name, missing)
        if not _same(*pair, name=name, resolution=resolutions.get(name, 0.0)):
            found[name] = pair
    return found


def _flat(scores: Mapping[str, Any]) -> dict[str, Any]:
    notes = {f"note {name}": terms for name, terms in scores["notes"].items()}
    return {"status": scores["status"], "floor": scores["floor"], **scores["metrics"], **notes}


def _same(old: Any, new: Any, *, name: str, resolution: float) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (old, new)]
    if not all(numbers):
        return type(old) is type(new) and bool(old == new)
    if math.isnan(old) or math.isnan(new):
        return math.isnan(old) and math.isnan(new)
    close = SIMULATED if name in _SIMULATED else CLOSE
    return math.isclose(old, new, rel_tol=close, abs_tol=max(resolution, _TINY))


def resolutions_of(kind: DataType[Any, Any]) -> dict[str, float]:
    """Return the values below which metrics are round-off; the floor is as the first metric."""
    found = {spec.name: spec.resolution for spec in kind.metrics}
    return found | {"floor": kind.metrics[0].resolution}


def compared(golden: Golden, kind: DataType[Any, Any]) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Score each answer again; return it, and the scores that differ.

    A metric that no answer of the file has is a new one, which changes no score of before.
    """
    resolutions = resolutions_of(kind)
    known = {name for entry in golden.entries for name in _flat(entry["scores"])}
    for entry in golden.entries:
        different = differences(entry["scores"], scores_of(entry, kind), resolutions)
        yield entry, {name: pair for name, pair in different.items() if name in known}


def refusal(golden: Golden, version: int, different: int) -> str:
    """Return why a file may not be written; empty where it may."""
    if version < golden.version:
        return f"scorer_version is {version}, and the file is of version {golden.version}: raise it"
    if different and version == golden.version:
        return (
            f"{different} of {len(golden.entries)} answers have other scores under scorer version "
            f"{version}: raise {golden.data_type}'s scorer_version to {version + 1} "
            "(see CONTRIBUTING.md), or undo what changed them"
        )
    return ""


def line_of(entry: Entry, changes: Mapping[str, Any]) -> str:
    """Return a line on an answer, and which of its scores differ."""
    pairs = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in changes.items())
    noise = "" if entry["snr_db"] is None else f" {entry['snr_db']:g} dB"
    return f"{entry['case']} · {entry['dataset']}{noise}: {pairs}"


def main(arguments: list[str]) -> int:
    """Compare, or write; return the exit status."""
    parser = argparse.ArgumentParser(description="Golden files of scored answers.")
    parser.add_argument("data_types", nargs="*", default=list(DATASETS))
    for name in ("write", "choose"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.data_types) - DATASETS.keys():
        parser.error(f"there is no {min(unknown)}; there are: {', '.join(DATASETS)}")
    workspace = Workspace.find()
    catalog = Catalog(workspace)
    status = 0
    for name in asked.data_types:
        kind, path = catalog.data_type(name), path_of(workspace.root, name)
        golden = read(path) if path.exists() else Golden(name, kind.scorer_version, [])
        found = [(entry, changes) for entry, changes in compared(golden, kind) if changes]
        for entry, changes in found:
            print(line_of(entry, changes))
        print(f"{name}: {len(found)} of {len(golden.entries)} answers have other scores")
        if not (asked.write or asked.choose):
            status = status or bool(found)
        elif why := refusal(golden, kind.scorer_version, len(found)):
            print(f"{name}: not written: {why}")
            status = 1
        else:
            entries = chosen(name, workspace, kind) if asked.choose else golden.entries
            again = list(_scored(entries, kind))
            write(Golden(name, kind.scorer_version, again), path)
            print(f"{name}: {len(again)} answers by scorer version {kind.scorer_version}")
    return int(status)


def _scored(entries: Iterable[Entry], kind: DataType[Any, Any]) -> Iterator[Entry]:
    spent = [0.0]
    ask = LimitedProcess.ask

    def counted(child: LimitedProcess, *question: Any, **more: Any) -> dict[str, Any]:
        answer = ask(child, *question, **more)
        spent[0] += answer.get("cpu_s", 0.0)
        return answer

    LimitedProcess.ask = counted  # type: ignore[method-assign, assignment]
    for entry in entries:
        load(entry, kind)
        begin = time.process_time() + spent[0]
        scores = scores_of(entry, kind)
        taken = time.process_time() + spent[0] - begin
        # Kept from one writing to the next, so that the file is the same on each machine.
        yield {**entry, "slow": entry.get("slow", taken > _SLOW_S), "scores": scores}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
