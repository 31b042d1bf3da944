"""The order of jobs: longest first, fair between methods, within the memory of the machine."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from harness import HereRuntime, Quiet, add_method, execute, make_workspace
from hypothesis import given
from hypothesis import strategies as st

from mdbench.backends.local import JobQueue, longest_first
from mdbench.datatypes.facts import Protocol
from mdbench.runs.forecast import Expectation, expect
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Asked:
    algorithm: str
    dataset: str = "x"
    data_type: str = "ode"
    dataset_path: None = None
    protocol: Protocol = Protocol.STRICT


@dataclass(frozen=True)
class Spec:
    equations: bool = True
    service: str = ""


@dataclass(frozen=True)
class Folder:
    spec: Spec = Spec()


@dataclass(frozen=True)
class Waits:
    """All that the line looks at of a job that is ready."""

    key: str
    job: Asked
    wall_s: float
    memory_mb: float | None = None
    method: Folder = Folder()


def line(jobs: list[Waits], memory_mb: int | None = None) -> JobQueue:
    return JobQueue(jobs, expected, memory_mb)  # type: ignore[arg-type]


def expected(one: Any) -> Expectation:
    return Expectation(one.wall_s, one.memory_mb)


def jobs(*seconds: float, method: str = "a", memory_mb: float | None = None) -> list[Waits]:
    names = (f"{method}{number}" for number in range(len(seconds)))
    return [
        Waits(key, Asked(method), each, memory_mb) for key, each in zip(names, seconds, strict=True)
    ]


def all_of(waiting: JobQueue, held: str | None = None) -> list[Any]:
    found = []
    while (one := waiting.take(held)) is not None:
        found.append(one)
        waiting.release(one)
    return found


def test_the_longest_go_first_and_equal_ones_in_the_order_of_the_plan() -> None:
    taken = all_of(line(jobs(1.0, 3.0, 2.0, 3.0)))
    assert [one.key for one in taken] == ["a1", "a3", "a2", "a0"]


def test_methods_get_the_same_share_whatever_they_take() -> None:
    waiting = line([*jobs(*[100.0] * 8, method="slow"), *jobs(*[0.1] * 4, method="quick")])
    taken = [one.job.algorithm for one in all_of(waiting)]
    for number in range(1, 13):
        slow, quick = (taken[:number].count(name) for name in ("slow", "quick"))
        assert abs(slow / 8 - quick / 4) <= 1 / 4


def test_whoever_holds_a_worker_keeps_to_its_method_for_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("mdbench.backends.local.time.monotonic", lambda: now[0])
    waiting = line([*jobs(*[1.0] * 9, method="a"), *jobs(*[1.0] * 9, method="b")])
    held: str | None = None
    taken = ""
    while (one := waiting.take(held)) is not None:
        held = one.job.algorithm
        taken += held
        waiting.release(one)
        now[0] += 25.0
    assert taken == "aaabbbaaabbbaaabbb"


def test_memory_is_respected_and_what_is_too_large_runs_alone() -> None:
    large, small = jobs(9.0, method="large", memory_mb=600), jobs(1.0, 1.0, memory_mb=300)
    waiting = line([*large, *small], memory_mb=1000)
    first, second = waiting.take(), waiting.take()
    assert {one.key for one in (first, second) if one} == {"large0", "a0"}
    assert waiting.take(wait=False) is None
    assert first is not None
    waiting.release(first)
    third = waiting.take(wait=False)
    assert third is not None
    giant = line([*jobs(9.0, memory_mb=5000), *jobs(1.0, method="b", memory_mb=10)], 1000)
    alone = giant.take()
    assert alone is not None
    assert (alone.key, giant.take(wait=False)) == ("a0", None)


def test_a_job_that_nobody_knows_runs_alone_where_memory_is_counted() -> None:
    waiting = line(jobs(2.0, 1.0), memory_mb=1000)
    first = waiting.take()
    assert first is not None
    assert waiting.take(wait=False) is None
    waiting.release(first)
    assert waiting.take(wait=False) is not None


def test_who_waits_for_memory_is_woken() -> None:
    waiting = line(jobs(2.0, 1.0, memory_mb=600), memory_mb=1000)
    first = waiting.take()
    assert first is not None
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(waiting.take()))
    thread.start()
    waiting.release(first)
    thread.join(30)
    assert [one.key for one in found] == ["a1"]


def test_the_end_lets_nobody_wait() -> None:
    waiting = line(jobs(2.0, 1.0, memory_mb=600), memory_mb=1000)
    waiting.take()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(waiting.take()))
    thread.start()
    waiting.end()
    thread.join(30)
    assert found == [None]


def test_what_is_put_back_is_next() -> None:
    waiting = line(jobs(3.0, 2.0, 1.0))
    first = waiting.take()
    assert first is not None
    waiting.requeue(first)
    assert waiting.take() is first


@pytest.mark.extension("clusters")
@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=40), st.integers(1, 9))
def test_pieces_have_every_job_once_and_take_about_as_long(
    seconds: list[float], pieces: int
) -> None:
    from mdbench.extensions.clusters.shards import partition  # noqa: PLC0415 - it may be taken away

    given_ = jobs(*seconds)
    dealt = partition([(one.job, one.key) for one in given_], seconds, pieces)  # type: ignore[misc]
    keys = [key for each in dealt for _, key in each]
    assert sorted(keys) == sorted(one.key for one in given_)
    assert len(dealt) == min(pieces, len(seconds))
    took = {one.key: one.wall_s for one in given_}
    loads = [sum(took[key] for _, key in each) for each in dealt]
    # Of any list scheduling (Graham 1966): the mean load, and a job more.
    assert max(loads) <= (sum(seconds) / pieces + max(seconds)) * (1 + 1e-9)


def test_expectations_come_from_records_else_from_budgets(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "zero")
    names = ("rc-circuit", "velocity-falling-object")
    options = RunOptions(
        ("zero",),
        "ode",
        names,
        n_jobs=1,
        seeds=(1, 2, 3),
        timeout_s=50.0,
        result_dir=tmp_path / "results",
    )
    seen: list[float] = []

    class Looks(Quiet):
        def prepared(self, to_run: int, done: int) -> None:
            super().prepared(to_run, done)

    def keep(past: Any) -> Callable[[Any], Expectation]:
        tell = expect(past)

        def told(one: Any) -> Expectation:
            seen.append(tell(one).wall_s)
            return tell(one)

        return told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdbench.runs.execute.expect", keep)
        execute(make_plan(options, workspace), HereRuntime(), Looks())
        assert set(seen) == {50.0}
        seen.clear()
        more = RunOptions(
            ("zero",),
            "ode",
            names,
            n_jobs=1,
            seeds=(4,),
            timeout_s=50.0,
            result_dir=tmp_path / "results",
        )
        execute(make_plan(more, workspace), HereRuntime(), Looks())
    assert seen
    assert all(0 < each < 50.0 for each in seen)


def test_longest_first_is_stable() -> None:
    ones = jobs(1.0, 1.0, 2.0)
    assert [one.key for one in longest_first(ones, expected)] == ["a2", "a0", "a1"]  # type: ignore[arg-type]


def predictors(*datasets: str) -> list[Waits]:
    return [
        Waits(f"p{number}", Asked("forest", dataset=dataset), 1.0, method=Folder(Spec(False)))
        for number, dataset in enumerate(datasets)
    ]


def test_jobs_that_only_predict_come_when_no_fit_of_their_case_is_left() -> None:
    fits = [Waits(f"f{name}", Asked("a", dataset=name), 1.0) for name in ("x", "y+noise=0.1")]
    waiting = line([*predictors("y", "y+samples=20", "x", "y"), *fits])
    first, second = waiting.take(), waiting.take()
    assert {first, second} == set(fits)  # type: ignore[comparison-overlap]
    assert waiting.take(wait=False) is None  # a fit of each case runs
    by_case = {one.job.dataset: one for one in (first, second) if one is not None}
    waiting.release(by_case["y+noise=0.1"])
    one: Any = waiting.take(wait=False)
    assert one.job.dataset.startswith("y")
    rest: list[Any] = waiting.take_case_of(one)
    assert {each.key for each in (one, *rest)} == {"p0", "p1", "p3"}
    assert waiting.take(wait=False) is None
    waiting.release(by_case["x"])
    last: Any = waiting.take(wait=False)
    assert last.key == "p2"
    assert not waiting.take_case_of(last)
    assert len(waiting) == 0


def test_under_published_what_only_predicts_is_as_all_others() -> None:
    own = replace(predictors("x")[0].job, protocol=Protocol.PUBLISHED)
    waiting = line([replace(predictors("x")[0], job=own), *jobs(1.0)])
    assert len(all_of(waiting)) == 2
