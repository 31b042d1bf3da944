"""Upgrades of records of older formats: one step from each schema number to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from mdbench import __version__
from mdbench.errors import RecordsError
from mdbench.records.schema import LARGEST, SCHEMA, key_of

Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def _limits_in_the_budget(data: dict[str, Any]) -> dict[str, Any]:
    """From 1 to 2: a budget has more limits than time and threads; none of them was kept."""
    none = {"memory_mb": None, "processes": None, "output_mb": None}
    budget = data.get("budget")
    return {**data, "budget": {**budget, **none}} if isinstance(budget, dict) else data


def _metrics_by_name(data: dict[str, Any]) -> dict[str, Any]:
    """From 2 to 3: all scores are by name in ``metrics``, and null there means undecided.

    What schema 2 did not distinguish stays as it was: an edit distance of 1 may have been
    a step that took too long.
    """
    data = dict(data)
    parts = data.get("key_parts") or {}
    data["options"] = {
        name: int(value) if name == "max_rows" else value
        for name in ("variant", "max_rows")
        if (value := parts.get(name)) is not None
    }
    variant = parts.get("variant")
    data["system"] = f"{data.get('dataset')} ({variant})" if variant else data.get("dataset")
    old = dict(data.pop("metrics", None) or {})
    size, agrees = data.pop("complexity", None), data.pop("agreement", None)
    fidelity = data.pop("fidelity", None) or {}
    data["floor"] = old.pop("nmse_floor", None)
    answered = data.get("status") in {"ok", "partial"}
    found: dict[str, Any] = {}
    if answered:
        worst = {"r2": -LARGEST}  # what was infinitely bad had become null
        found = {n: worst.get(n, LARGEST) if value is None else value for n, value in old.items()}
        others = {"complexity": size, "agreement": agrees}
        found |= {name: value for name, value in others.items() if value is not None}
        found |= _fidelity_metrics(fidelity) if fidelity else {}
        of_type = _OF_A_TYPE.get(str(data.get("data_type")), ())
        if fidelity and "residual" in of_type and data.get("protocol") == "strict":
            found.setdefault("residual", LARGEST)  # undefined on clean data
    data["metrics"] = found
    data["judged_by"] = list(dict.fromkeys([*found, *_judged_by(data)]))
    terms_by_note = {name: fidelity.get(name) for name in ("missing", "extra", "negligible")}
    data["notes"] = {name: terms for name, terms in terms_by_note.items() if terms}
    return data


_FOLLOWED = 0.9
_OF_A_TRUTH = (
    "identified",
    "one_term_off",
    "precision",
    "recall",
    "f1",
    "coefficient_error",
    "term_edit_distance",
)
_OF_A_TYPE = {
    "ode": ("r2_test", "follows", "simulation_ended", "r2_unseen", "follows_unseen"),
    "pde": ("residual",),
    "srsd": ("normalized_edit_distance", "solution", "srbench_solution"),
}
_OF_A_TABLE = ("r2", "r2_accuracy", "relative_error")


def _judged_by(data: dict[str, Any]) -> list[str]:
    """Return the metrics by which an answer would have been scored, had there been one."""
    data_type = str(data.get("data_type"))
    names = ["nmse", "complexity", "agreement"]
    names += _OF_A_TABLE if data_type == "srsd" else ()
    if data.get("truth") is not None:
        names += [*_OF_A_TRUTH, *_OF_A_TYPE.get(data_type, ())]
    return names


def _fidelity_metrics(fidelity: dict[str, Any]) -> dict[str, Any]:
    verdict = fidelity.get("verdict")
    undecided = verdict == "undecided"
    found: dict[str, Any] = {
        name: None if undecided else float(verdict == name)
        for name in ("identified", "one_term_off")
    }
    found |= {name: fidelity.get(name) for name in ("precision", "recall", "f1")}
    if undecided or fidelity.get("coefficient_error") is not None:
        found["coefficient_error"] = fidelity.get("coefficient_error")
    found["term_edit_distance"] = fidelity.get("edit_distance")
    if fidelity.get("residual") is not None:
        found["residual"] = fidelity["residual"]
    motion = fidelity.get("simulation")
    if motion:
        ended = motion.get("ended", "whole")
        found["simulation_ended"] = None if ended == "late" else ended
        ways = {"r2_test": ("follows", motion.get("r2"))}
        if not (ended == "whole" and motion.get("r2_unseen") is None):
            ways["r2_unseen"] = ("follows_unseen", motion.get("r2_unseen"))
        for name, (follows, r2) in ways.items():
            unknown = r2 is None and ended == "late"
            if unknown or r2 is not None:
                found[name] = r2
            found[follows] = None if unknown else float(r2 is not None and r2 > _FOLLOWED)
    return found


def _whole_questions(data: dict[str, Any]) -> dict[str, Any]:
    """From 3 to 4: a question may have parts, such as folds; before it had none."""
    return {**data, "part": ""}


_HASH = re.compile("[0-9a-f]{64}")


def _scorer_versions(data: dict[str, Any]) -> dict[str, Any]:
    """From 4 to 5: a scorer has a version; all that were a hash of source text are version 1.

    A key that was not that of its parts stays, so that an edited record is still seen to be one.
    ``provenance.scorer`` keeps the hash.
    """
    parts = data.get("key_parts")
    if not isinstance(parts, dict) or not _HASH.fullmatch(str(parts.get("scorer", ""))):
        return data
    new = {**parts, "scorer": "1"}
    key = data.get("key")
    return {**data, "key_parts": new, "key": key_of(new) if key == key_of(parts) else key}


_OLD_SPEED = 860.0


def _reference_speed(data: dict[str, Any]) -> dict[str, Any]:
    """From 5 to 6: a speed is relative to the reference core; before, it was a rate.

    On the reference core the work of before was done `_OLD_SPEED` times a second.
    """
    measured = data.get("measured")
    if not isinstance(measured, dict) or not isinstance(measured.get("speed"), int | float):
        return data
    return {**data, "measured": {**measured, "speed": measured["speed"] / _OLD_SPEED}}


def _ends_of_language_models(data: dict[str, Any]) -> dict[str, Any]:
    """From 6 to 7: why an endpoint ended a job, and what a model thought; nobody noted either."""
    used = data.get("llm")
    if not isinstance(used, dict):
        return data
    return {**data, "llm": {**used, "reasoning_tokens": None, "ended": "", "found": None}}


def _kept_answers(data: dict[str, Any]) -> dict[str, Any]:
    """From 7 to 8: answers may be kept example by example; before, none were."""
    return {**data, "answers": None}


def _seeds_of_others(data: dict[str, Any]) -> dict[str, Any]:
    """From 8 to 9: a record may be that of another seed; before, each seed was run."""
    measured = data.get("measured")
    return {**data, "measured": {**measured, "of_seed": None}} if measured else data


UPGRADES: Mapping[int, Step] = {
    1: _limits_in_the_budget,
    2: _metrics_by_name,
    3: _whole_questions,
    4: _scorer_versions,
    5: _reference_speed,
    6: _ends_of_language_models,
    7: _kept_answers,
    8: _seeds_of_others,
}
"""By schema number, the function that makes the next one's record; ``schema`` is set after."""


def upgrade(
    data: dict[str, Any], *, steps: Mapping[int, Step] = UPGRADES, current: int = SCHEMA
) -> dict[str, Any]:
    """Return a record's data in the current schema.

    Parameters
    ----------
    data
        A record as it was read.
    steps
        For each older schema number the step to the next.
    current
        The schema number to arrive at.

    Raises
    ------
    RecordsError
        If there is no schema number, or if it is newer than `current`.
    """
    found = data.get("schema")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise RecordsError(
            f"this is no record of mdbench: its schema number is {found!r}",
            "Is this a results file? Choose another folder with --result-dir if it is not.",
        )
    if found > current:
        raise RecordsError(
            f"this record has schema {found} (mdbench {data.get('mdbench', 'unknown')}), "
            f"and mdbench {__version__} knows schemas up to {current}",
            "Update mdbench, or choose another folder with --result-dir. The file was not changed.",
        )
    for number in range(found, current):
        data = {**steps[number](data), "schema": number + 1}
    return data
