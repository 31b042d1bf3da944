"""What a method proposes, on its way to the data type that chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT

from mdbench.datatypes import find
from mdbench.datatypes.base import Candidate, ScoredCandidate, Selection
from mdbench.datatypes.facts import Protocol
from mdbench.runs import scoring
from mdbench.runs.scoring import CandidatePool
from mdbench.runtimes.protocol import CandidateItem

if TYPE_CHECKING:
    from mdbench.datatypes.base import DataType

TRUTH = ("u0*(1.84 - 1.45*u1)", "1.62*u0*u1 - 3*u1")


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def ode(tmp_path_factory: pytest.TempPathFactory) -> DataType[Any, Any]:
    return find("ode", ROOT / "datasets" / "ode", tmp_path_factory.mktemp("cache"))


def pool(ode: DataType[Any, Any], protocol: Protocol = Protocol.STRICT) -> CandidatePool:
    source = ode.source()
    data = source.load("lotka-volterra-simple", snr_db=None, seed=0, protocol=protocol)
    task = ode.task(data, "table", protocol)
    fitted, compared = ode.fit_and_validation(task, "grid")
    assert compared is task.validation
    assert fitted is task.train
    return CandidatePool(ode, task, compared, compared)


def item(*equations: str, target: int | None = None, **hyperparameters: Any) -> CandidateItem:
    return CandidateItem(equations=equations, hyperparameters=hyperparameters, target=target)


def test_the_fittest_of_all_that_may_win_is_chosen(ode: DataType[Any, Any]) -> None:
    heard = pool(ode)
    heard.add(item("u0", "u1", a=1), None)
    heard.add(item(*TRUTH, a=2), None)
    heard.add(item("u0"), None)
    heard.add(item("log(-u0)", "u1"), None)
    heard.add(item("u0", "import os"), None)
    assert (heard.count, heard.n_invalid) == (5, 1)
    heard.evaluate(60.0, never)
    assert (heard.count, heard.n_invalid) == (5, 3)
    assert heard.first_reason == "1 equation; 2 expected"
    choice = heard.select()
    assert choice is not None
    assert (choice.equations, choice.indices, choice.hyperparameters) == (TRUTH, [1], {"a": 2})
    assert choice.loss < 1e-3


def test_a_mistake_in_weighing_costs_one_candidate(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = pool(ode)
    weigh = type(ode).evaluate_candidate

    def slip(self: Any, task: Any, part: Any, candidate: Any) -> Any:
        if candidate.equations[0] == "u0":
            raise OverflowError("out of range")
        return weigh(self, task, part, candidate)

    monkeypatch.setattr(type(ode), "evaluate_candidate", slip)
    heard.add(item("u0", "u1"), None)
    heard.add(item(*TRUTH), None)
    heard.evaluate(60.0, never)
    assert (heard.count, heard.n_invalid) == (2, 1)
    assert heard.first_reason == "could not evaluate it: OverflowError: out of range"
    choice = heard.select()
    assert choice is not None
    assert choice.equations == TRUTH


def test_the_first_of_equals_wins_and_is_weighed_once(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = pool(ode)
    weighed = []
    weigh = type(ode).evaluate_candidate

    def count(self: Any, task: Any, part: Any, candidate: Any) -> Any:
        weighed.append(candidate.index)
        return weigh(self, task, part, candidate)

    monkeypatch.setattr(type(ode), "evaluate_candidate", count)
    for number in range(4):
        heard.add(item(*TRUTH, number=number), None)
    heard.evaluate(60.0, never)
    assert weighed == [0]
    assert [offer.candidate.index for offer in heard.scored] == [0, 1, 2, 3]
    choice = heard.select()
    assert choice is not None
    assert choice.hyperparameters == {"number": 0}


def test_each_target_may_have_a_front_of_its_own(ode: DataType[Any, Any]) -> None:
    heard = pool(ode)
    for target, text in (
        (0, "u0"),
        (0, TRUTH[0]),
        (1, TRUTH[1]),
        (1, "u1*u1"),
        (2, "u0"),
        (7, "0"),
    ):
        heard.add(item(text, target=target), None)
    heard.evaluate(60.0, never)
    assert (heard.count, heard.n_invalid) == (6, 2)
    assert heard.first_reason == "target 2; there are 2, counted from 0"
    choice = heard.select()
    assert choice is not None
    assert (choice.equations, choice.indices) == (TRUTH, [1, 2])


def test_settings_of_each_target_are_kept_where_they_differ() -> None:
    def chosen_of(*settings: dict[str, Any]) -> dict[str, Any]:
        offers = [
            ScoredCandidate(Candidate(place, ("u0",), given, place), 0.0, 1, 0.0)
            for place, given in enumerate(settings)
        ]
        return Selection(tuple(offers)).hyperparameters

    assert chosen_of({"cost": 1}) == {"cost": 1}
    assert chosen_of({"cost": 1}, {"cost": 1}) == {"cost": 1}
    assert chosen_of({"cost": 1}, {"cost": 2}) == {"by_target": [{"cost": 1}, {"cost": 2}]}


def test_a_front_that_lacks_a_target_wins_nothing(ode: DataType[Any, Any]) -> None:
    heard = pool(ode)
    heard.add(item(TRUTH[0], target=0), None)
    heard.evaluate(60.0, never)
    assert heard.select() is None


def test_under_published_it_is_the_predictions_that_are_compared(ode: DataType[Any, Any]) -> None:
    heard = pool(ode, Protocol.PUBLISHED)
    assert not heard.by_equations
    targets = heard.part.targets
    assert heard.shape(None) == targets.shape
    assert heard.shape(0) == targets.shape[:-1]
    heard.add(item("u0", "u1"), targets)  # says one thing and predicts another
    heard.add(item(*TRUTH), np.zeros_like(targets))
    heard.add(item("u0", "u1"), np.full_like(targets, np.inf))
    heard.evaluate(60.0, never)
    assert heard.n_invalid == 1
    choice = heard.select()
    assert choice is not None
    assert choice.indices == [0]


def test_what_is_not_read_in_time_cannot_win(ode: DataType[Any, Any]) -> None:
    for seconds, stopped in ((-1.0, never), (60.0, lambda: True)):
        heard = pool(ode)
        heard.add(item(*TRUTH), None)
        heard.evaluate(seconds, stopped)
        assert (heard.n_invalid, heard.select()) == (1, None)
        assert "not read within" in heard.first_reason


def test_a_job_can_send_so_many_candidates(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "MOST_CANDIDATES", 10)
    many = pool(ode)
    for number in range(20):
        many.add(item(f"{number}*u0", f"{number}*u1"), None)
        assert bool(many.overflow) is (number >= 10)
    assert (many.count, many.n_invalid) == (20, 10)
    many.evaluate(60.0, never)
    assert len(many.scored) == 10
    assert many.select() is not None


@pytest.mark.parametrize("more", [{}, {"note": "x" * 100}])
def test_a_job_can_send_so_much_text(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(scoring, "MOST_TEXT", 3_000)
    large = pool(ode)
    for _ in range(1000):
        large.add(item("u0", "u1", **more), None)
    assert "MiB of candidates" in large.overflow
    assert large.n_invalid == (1000 if more else 250)


def test_at_a_limit_a_flood_is_sampled_evenly_and_its_last_counts(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_FLOOD", 40)
    monkeypatch.setattr(scoring, "_SAMPLE", 5)
    flood, front = pool(ode), pool(ode)
    for number in range(50):
        for each in (flood, front)[: 1 + (number < 40)]:
            each.add(item(f"{number}*u0", f"{number}*u1"), None)
    for each in (flood, front):
        each.sample()
        each.evaluate(60.0, never)
    assert [one.candidate.index for one in flood.scored] == [9, 19, 29, 39, 49]
    assert flood.n_invalid == 45
    assert len(front.scored) == 40
