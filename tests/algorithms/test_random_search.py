"""Searches of hyperparameters: their draws, their shares, and what becomes of trials that fail."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from genetic_methods import evaluate_text, law, specification, table
from harness import ROOT, imported

from mdbench.worker import Candidate, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.worker import Problem

ALGORITHMS = ROOT / "algorithms"
SEARCHED = sorted(
    folder.parent.name
    for folder in ALGORITHMS.glob("*/method.toml")
    if "random_search" in tomllib.loads(folder.read_text(encoding="utf-8")).get("uses", ())
)
SPACE = {
    "whole": {"whole": [3, 5]},
    "uniform": {"uniform": [-1.0, 1.0]},
    "log": {"log": [1e-10, 1e-2]},
    "choices": {"choices": [["a"], ["b"], None]},
}


@pytest.fixture(scope="module")
def search() -> Iterator[Any]:
    with imported("afp_searched"):
        yield sys.modules["random_search"]
    sys.modules.pop("afp_adapter", None)


class Fake:
    """A method whose answer is the number that it was given; it notes what its budget was."""

    made: ClassVar[list[Fake]] = []
    fails: ClassVar[Sequence[int]] = ()
    uses_up: ClassVar[float] = 0.0
    clock: ClassVar[dict[str, float]] = {}

    def __init__(self, *, seed: int, threads: int, x: float, fixed: str) -> None:
        assert (threads, fixed) == (1, "as it is")
        self.seed, self.x = seed, x
        self.made.append(self)

    def fit(self, problem: Problem) -> None:
        self.limit = problem.budget.limit
        self.evaluations = 7
        if len(self.made) - 1 in self.fails:
            raise ValueError("no luck")
        if self.uses_up:
            self.clock["wall"] += self.uses_up * self.limit
            self.stopped_early = self.uses_up >= 1

    def equations(self) -> list[str]:
        return [repr(round(self.x, 1))]


@pytest.fixture
def fake(search: Any, monkeypatch: pytest.MonkeyPatch) -> type[Fake]:
    monkeypatch.setattr(search, "_adapter_of", lambda _: Fake)
    monkeypatch.setattr(search, "_values_of", lambda _: {"fixed": "as it is", "x": 0.0})
    monkeypatch.setattr(Fake, "made", [])
    return Fake


def searching(search: Any, trials: int = 10, **space: Any) -> Any:
    return search.RandomSearch(seed=3, threads=1, method="m", trials=trials, space=space)


def test_draws_are_within_their_space_and_cover_it(search: Any) -> None:
    drawn = [search.draw(SPACE, 5, trial) for trial in range(400)]
    assert {one["whole"] for one in drawn} == {3, 4, 5}
    assert all(isinstance(one["whole"], int) for one in drawn)
    assert {str(one["choices"]) for one in drawn} == {"['a']", "['b']", "None"}
    for name, values in {
        "uniform": [one["uniform"] for one in drawn],
        "log": [(np.log10(one["log"]) + 6) / 4 for one in drawn],
    }.items():
        assert np.abs(values).max() <= 1 + 1e-12, name
        counts, _ = np.histogram(values, 4, (-1, 1))
        assert counts.min() > 60, name  # 100 of each are expected


def test_draws_follow_from_the_seed_and_the_number_of_the_trial_alone(search: Any) -> None:
    drawn = {(seed, n): str(search.draw(SPACE, seed, n)) for seed in range(4) for n in range(10)}
    assert len(set(drawn.values())) == len(drawn)
    assert drawn[2, 7] == str(search.draw(SPACE, 2, 7))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"normal": [0, 1]}, r"space.x has \['normal'\]; it has one of choices, log"),
        ({"log": [1, 2], "whole": [1, 2]}, r"space.x has \['log', 'whole'\]"),
        ({}, r"space.x has \[\]"),
        ({"choices": []}, "space.x has no choices"),
        ({"whole": [1]}, "give the lowest and the highest"),
        ({"uniform": [2, 1]}, "give the lowest and the highest"),
        ({"log": [0, 1]}, "needs values above 0"),
    ],
)
def test_a_wrong_space_is_refused_before_the_first_trial(
    fake: type[Fake], search: Any, entry: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        searching(search, x=entry)
    assert not fake.made


@pytest.mark.usefixtures("fake")
def test_what_the_method_does_not_have_is_refused(search: Any) -> None:
    with pytest.raises(ValueError, match=r"has no hyperparameter 'y'; it has \['fixed', 'x'\]"):
        searching(search, y={"whole": [1, 2]})
    with pytest.raises(ValueError, match="trials is 0"):
        searching(search, trials=0)


def test_each_trial_has_a_seed_and_a_draw_of_its_own_and_equal_answers_count_once(
    fake: type[Fake], search: Any
) -> None:
    X, Y = law("product")
    one = searching(search, trials=40, x={"uniform": [0, 1]})
    one.fit(table(X, Y))
    assert len({made.seed for made in fake.made}) == len({made.x for made in fake.made}) == 40
    assert one.evaluations == 280
    found = list(one.candidates())
    firsts: dict[float, tuple[int, float]] = {}
    for trial, made in enumerate(fake.made):
        firsts.setdefault(round(made.x, 1), (trial, made.x))
    assert [
        (float(each.equations[0]), (each.hyperparameters["trial"], each.hyperparameters["x"]))
        for each in found
    ] == list(firsts.items())
    one.choose([3])
    assert one.equations() == list(found[3].equations)
    assert (one.predict(table(X)) == float(found[3].equations[0])).all()


@pytest.mark.parametrize("used", [0.0, 0.5, 1.0])
def test_what_is_left_is_shared_by_the_trials_that_are_left(
    fake: type[Fake], search: Any, monkeypatch: pytest.MonkeyPatch, used: float
) -> None:
    clock = {"wall": 0.0}
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: clock["wall"])
    monkeypatch.setattr(fake, "clock", clock)
    monkeypatch.setattr(fake, "uses_up", used)
    one = searching(search, trials=5, x={"uniform": [0, 1]})
    X, Y = law("product")
    one.fit(table(X, Y, time_limit=100.0))
    limits = [made.limit for made in fake.made]
    left, expected = 95.0, []  # a twentieth is kept
    for trial in range(5):
        expected.append(left / (5 - trial))
        left -= used * expected[-1]
    assert limits == pytest.approx(expected)
    assert clock["wall"] <= 95.0 + 1e-9
    assert one.stopped_early == (used == 1.0)


def test_no_trial_begins_when_nothing_is_left(
    fake: type[Fake], search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = {"wall": 0.0}
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: clock["wall"])
    monkeypatch.setattr(fake, "clock", clock)
    monkeypatch.setattr(fake, "uses_up", 3.0)  # a method that does not look at its budget
    one = searching(search, trials=5, x={"uniform": [0, 1]})
    one.fit(table(*law("product"), time_limit=100.0))
    assert len(fake.made) == 3  # of which each takes three times its share
    assert one.stopped_early


def test_a_trial_that_fails_is_left_out_and_only_all_of_them_are_a_failure(
    fake: type[Fake], search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake, "fails", (0, 2))
    one = searching(search, trials=4, x={"uniform": [0, 1]})
    one.fit(table(*law("product")))
    assert {each.hyperparameters["trial"] for each in one.candidates()} <= {1, 3}
    monkeypatch.setattr(fake, "made", [])
    monkeypatch.setattr(fake, "fails", range(4))
    with pytest.raises(RuntimeError, match="all 4 trials failed, the first with: no luck"):
        one.fit(table(*law("product")))


def test_what_was_found_before_the_time_was_up_is_there(
    search: Any, monkeypatch: pytest.MonkeyPatch, fake: type[Fake]
) -> None:
    class TimeUpError(BaseException):
        pass

    class Slow(fake):  # type: ignore[misc, valid-type]
        def fit(self, problem: Problem) -> None:
            super().fit(problem)
            if len(self.made) == 3:
                raise TimeUpError

        def candidates(self) -> Iterator[Candidate]:
            yield Candidate((f"{len(self.made)} + u0",))

    monkeypatch.setattr(search, "_adapter_of", lambda _: Slow)
    one = searching(search, trials=5, x={"uniform": [0, 1]})
    with pytest.raises(TimeUpError):
        one.fit(table(*law("product")))
    found = [each.equations for each in one.candidates()]
    assert found == [("1 + u0",), ("2 + u0",), ("3 + u0",)]


@pytest.mark.usefixtures("fake")
def test_several_targets_are_refused(search: Any) -> None:
    X, Y = law("product")
    with pytest.raises(Unsupported, match="for one target; there are 2"):
        searching(search).fit(table(X, np.hstack([Y, Y])))


def test_afp_is_searched_for_real(search: Any) -> None:
    X, Y = law("quotient")
    given = specification("afp_searched")["check"]["hyperparameters"]
    one = search.RandomSearch(seed=0, threads=1, method="afp", **given)
    one.fit(table(X, Y))
    found = list(one.candidates())
    errors = [np.mean((evaluate_text(each.equations[0], X) - Y[:, 0]) ** 2) for each in found]
    assert one.equations() == list(found[int(np.argmin(errors))].equations)
    for place, each in enumerate(found):
        one.choose([place])
        assert one.predict(table(X))[:, 0] == pytest.approx(evaluate_text(each.equations[0], X))
        assert 20 <= each.hyperparameters["population_size"] <= 40


@pytest.mark.parametrize("name", SEARCHED)
def test_a_searched_method_is_the_method_in_all_that_is_not_drawn(name: str) -> None:
    own = specification(name)
    base = specification(method := own["hyperparameters"]["method"])
    assert name == f"{method}_searched"
    assert {method, *base.get("uses", ())} <= {*own["uses"]}
    known = base["hyperparameters"].keys() | base.get("grid", {}).keys()
    for table_ in (own, own["check"]):
        assert table_["hyperparameters"].get("space", {}).keys() <= known
    alike = ("view", "licence", "paper", "threads", "python", "family", "implementation")
    assert {key: own.get(key) for key in alike} == {key: base.get(key) for key in alike}
    for file in ("requirements.in", "requirements.lock"):
        assert (ALGORITHMS / name / file).read_bytes() == (ALGORITHMS / method / file).read_bytes()


def test_there_are_searched_methods() -> None:
    assert SEARCHED == ["afp_fe_searched", "afp_searched", "gplearn_searched"]
