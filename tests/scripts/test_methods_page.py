"""The table of methods compares what is alike: one suite has the same jobs for all its methods."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from bundles import read_bundle
from edition_results import FEWEST
from findings import known
from methods_page import FURTHER_RUNS, MORE_RUNS, ROOT, row, small_sets

_COUNT = re.compile(r"(?P<suite>.+) (?P<found>\d+)/(?P<jobs>\d+)")
_SHARE = re.compile(r"(unexplained|labels) \d+\.\d\d|no answer")


@pytest.mark.parametrize(("name", "mark"), [("afp", " §"), ("integral", " ‡"), ("operon", "")])
def test_names_have_the_marks_of_their_folders(name: str, mark: str) -> None:
    method = next(one for one in known() if one.name == name)
    first, *_ = row(method, {}, {}, {}, {name: f"#{name}"})
    assert first == f"[`{name}`](#{name}){mark}"


@pytest.mark.slow
def test_methods_of_a_suite_are_counted_on_the_same_jobs() -> None:
    found = small_sets(MORE_RUNS)
    assert found
    jobs: dict[str, set[int]] = defaultdict(set)
    for sets in found.values():
        for text in sets.counts:
            if _SHARE.fullmatch(text):
                continue
            match = _COUNT.fullmatch(text)
            assert match is not None, text
            assert int(match["found"]) <= int(match["jobs"])
            jobs[match["suite"]].add(int(match["jobs"]))
    few = set(FURTHER_RUNS.values())
    assert all(
        len(each) == 1 and (suite in few or min(each) >= FEWEST) for suite, each in jobs.items()
    ), jobs


@pytest.mark.slow
def test_no_method_is_said_to_identify_what_no_record_has() -> None:
    identified = {
        one.method
        for run in (*MORE_RUNS, *FURTHER_RUNS)
        for one in read_bundle(ROOT / "docs" / "results", run)
        if one.metrics.get("identified") == 1 or one.data_type == "real"
    }
    for method, sets in small_sets(MORE_RUNS).items():
        if any(_COUNT.fullmatch(text) and " 0/" not in text for text in sets.counts):
            assert method in identified
