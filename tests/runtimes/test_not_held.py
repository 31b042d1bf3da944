"""What a record lists as not held between jobs, for every kind of isolation."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from mdbench.runtimes.base import not_held

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "isolation.md"
ALWAYS = ["inode numbers of pipes and memory files", "load, caches and free disk space"]


def ways(*, alone: bool, namespaces: bool, calls: bool, files: bool) -> list[str]:
    jobs = {"new_sandbox": alone, "namespaces": namespaces, "system_calls": calls}
    return not_held({"files": "hard" if files else "none"}, jobs)


def test_what_is_shared_by_the_machine_is_never_held() -> None:
    assert ways(alone=True, namespaces=False, calls=True, files=True) == ALWAYS
    assert all(ways_[-2:] == ALWAYS for ways_ in map(_each, product([False, True], repeat=4)))


def _each(flags: tuple[bool, ...]) -> list[str]:
    alone, namespaces, calls, files = flags
    return ways(alone=alone, namespaces=namespaces, calls=calls, files=files)


def test_more_isolation_never_leaves_more_open() -> None:
    for flags in product([False, True], repeat=4):
        for index in range(4):
            stronger = (*flags[:index], True, *flags[index + 1 :])
            assert set(_each(stronger)) <= set(_each(flags))


def test_plain_processes_without_anything_hold_nothing() -> None:
    everything = {way for flags in product([False, True], repeat=4) for way in _each(flags)}
    assert set(_each((False, False, False, False))) == everything
    assert set(not_held({}, {})) == everything  # what is not known is not held


def test_each_way_is_explained() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [way for way in not_held({}, {}) if f"*{way}*" not in text] == []
