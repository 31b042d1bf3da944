"""Turns on the cores: as many jobs compute at a time as there are turns, whatever they wait for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from mdbench.backends.local import JobQueue
from mdbench.backends.turns import CoreTurns, JobTurn
from mdbench.runs.forecast import Expectation


class Crowd:
    """Counts who computes at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("cores", [1, 3])
def test_no_more_compute_at_a_time_than_there_are_turns_and_all_may_wait(cores: int) -> None:
    turns, crowd, jobs = CoreTurns(cores), Crowd(), 12
    together = threading.Barrier(jobs, timeout=1800)  # broken unless all wait at the same time

    as_many = threading.Barrier(cores, timeout=1800)

    def work() -> None:
        turn = JobTurn(turns)
        as_many.wait()
        for _ in range(20):
            with crowd:
                pass
            with turn.lent():
                pass
        with turn.lent():
            together.wait()
        turn.end()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert crowd.most <= cores
    assert not together.broken
    assert not as_many.broken
    assert sum(turns.take() for _ in range(cores)) == cores  # all were given back


def test_a_job_that_ends_while_it_waits_for_its_turn_leaves_it_to_others() -> None:
    turns = CoreTurns(1)
    first = JobTurn(turns)
    begun, through = threading.Event(), threading.Event()

    def wait() -> None:
        with first.lent():
            begun.set()
            held.wait(60)
        through.set()

    held = threading.Event()
    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait(60)
    second = JobTurn(turns)  # the only turn, while the first job waits for an answer
    held.set()
    first.end()
    assert through.wait(60)
    thread.join(60)
    assert first.waited_s >= 0
    second.end()
    assert turns.take()
    turns.end()
    assert not turns.take()


def test_requests_at_the_same_time_hold_one_turn_or_none() -> None:
    turns = CoreTurns(1)
    turn = JobTurn(turns)
    with turn.lent(), turn.lent():
        assert turns.take()
        turns.give_back()
    done = threading.Event()
    threading.Thread(target=lambda: done.set() if turns.take() else None, daemon=True).start()
    assert not done.wait(0.05)
    turn.end()
    assert done.wait(60)


@dataclass(frozen=True)
class Asked:
    algorithm: str
    dataset: str = "x"
    data_type: str = "ode"
    dataset_path: None = None
    protocol: str = "published"


@dataclass(frozen=True)
class Spec:
    equations: bool = True
    service: str = ""


@dataclass(frozen=True)
class Folder:
    spec: Spec = Spec()


@dataclass(frozen=True)
class Waits:
    key: str
    job: Asked
    method: Folder


def test_jobs_that_ask_and_others_have_numbers_of_their_own() -> None:
    jobs: list[Any] = [Waits(f"a{i}", Asked("asks"), Folder(Spec(service="llm"))) for i in range(5)]
    jobs += [Waits(f"p{i}", Asked("plain"), Folder()) for i in range(5)]
    line = JobQueue(jobs, lambda _: Expectation(1.0), None, {True: 3, False: 2})
    taken: list[Any] = []
    while (one := line.take(wait=False)) is not None:
        taken.append(one)
    assert sorted(one.job.algorithm for one in taken) == ["asks"] * 3 + ["plain"] * 2
    first: Any = next(one for one in taken if one.job.algorithm == "asks")
    line.release(first)
    after: Any = line.take(wait=False)
    assert after.job.algorithm == "asks"
    assert line.take(wait=False) is None
