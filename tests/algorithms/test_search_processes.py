"""Searches in processes of their own, and the two methods that use them, with stand-ins."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stand_ins import adapter, made, module, problem, values
from torch_methods import folders, modules

from mdbench.worker import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

Send = Callable[[Any], None]
X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))


@pytest.fixture(scope="module")
def search_process() -> Iterator[Any]:
    with modules(*folders("eggp")) as imported:
        yield imported("search_process").SearchProcess


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_a_search_finds_arrives_and_what_it_changes_does_not(search_process: Any) -> None:
    changed: list[int] = []

    def search(send: Send) -> None:
        for number in range(3):
            changed.append(number)
            send((number, "x" * 100_000 * number))  # more than a pipe holds

    process = search_process(search, Budget(), float("inf"), 1)
    assert list(process) == [(0, ""), (1, "x" * 100_000), (2, "x" * 200_000)]
    assert (changed, process.stopped) == ([], False)


@pytest.mark.parametrize("work", [None, 0.2])
def test_a_search_that_does_not_end_is_ended_by_the_budget(
    search_process: Any, work: float | None
) -> None:
    def search(send: Send) -> None:
        send(os.getpid())
        while True:
            pass

    budget = Budget(None if work else 0.2, work=work)
    process = search_process(search, budget, 0.2, 1)
    [pid] = process
    assert process.stopped
    assert not _alive(pid)
    assert budget.spent() >= 0.2  # with the CPU time of the process, now that it has ended


def test_a_work_limit_does_not_count_a_search_s_waiting(search_process: Any) -> None:
    def search(send: Send) -> None:
        time.sleep(0.1)
        send("done")

    process = search_process(search, Budget(work=1e9), 0.05, 1)
    begun = time.monotonic()
    assert list(process) == ["done"]
    assert time.monotonic() - begun >= 0.1
    assert not process.stopped


def _raises(_: Send) -> None:
    raise ArithmeticError("no such number")


def _exits(_: Send) -> None:
    os._exit(3)


@pytest.mark.parametrize(
    ("end", "said"),
    [(_raises, "ArithmeticError: no such number"), (_exits, "ended with status 3")],
)
def test_a_search_that_fails_is_an_error_unless_it_has_found_something(
    search_process: Any,
    capsys: pytest.CaptureFixture[str],
    end: Callable[[Send], None],
    said: str,
) -> None:
    with pytest.raises(RuntimeError, match=said):
        list(search_process(end, Budget(), float("inf"), 1))

    def late(send: Send) -> None:
        send("x0")
        end(send)

    assert list(search_process(late, Budget(), float("inf"), 1)) == ["x0"]
    assert said in capsys.readouterr().out


def test_a_search_ends_with_the_one_that_asks(search_process: Any) -> None:
    def search(send: Send) -> None:
        while True:
            send(os.getpid())

    found = iter(search_process(search, Budget(), float("inf"), 1))
    pid = next(found)
    found.close()
    assert not _alive(pid)


# -------------------------------------------------------------------------------- eggp and symregg


class _Frame(dict[str, Any]):
    """As much of a DataFrame as is used."""


def package(name: str, fit: Callable[[Any], tuple[Sequence[str], Sequence[float]]]) -> ModuleType:
    class Estimator:
        def __init__(self, gen: int = 1, nPop: int = 1, **parameters: Any) -> None:
            self.gen, self.nPop, self.parameters = gen, nPop, parameters

        def get_params(self) -> dict[str, Any]:
            names = ("nonterminals", "maxSize", "optIter", "optRepeat", "alg")
            return dict.fromkeys(("gen", "nPop", *names))

        def fit(self, inputs: Any, target: Any) -> None:
            self.shape = inputs.shape, target.shape
            texts, losses = fit(self)
            self.results = _Frame(Expression=list(texts), loss_train=np.array(losses))

    return module(name, **{"eggp": {"EGGP": Estimator}, "symregg": {"SymRegg": Estimator}}[name])


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHCRTS", "")
        yield


@pytest.mark.parametrize("name", ["eggp", "symregg"])
def test_searches_get_longer_until_one_is_exact(name: str) -> None:
    law = 2.5 * X[:, 0] ** 2 / X[:, 1]

    def fit(search: Any) -> tuple[list[str], list[float]]:
        if search.gen < 4 * first:
            return [f"(x0 * {search.gen}.0)", "0.0"], [1.0, 2.0]
        return ["((2.5 * Square(x0)) * Recip(x1))", "Log(x0)"], [1e-31, 3.0]

    with adapter(name, **{name: package(name, fit)}) as found:
        method = made(name, found)
        first = method._generations
        question = problem(X, law)
        method.fit(question)
        offered = [each.equations[0] for each in method.candidates()]
        [equation] = method.equations()
        predictions = method.predict(question)
    np.testing.assert_allclose(values(equation, question), law)
    np.testing.assert_allclose(predictions[:, 0], law)
    assert offered[0] == repr(float(law.mean()))
    assert [f"(v0 * {gen})" in offered for gen in (first, 2 * first, 4 * first)] == [1, 1, 0]
    assert not method.stopped_early


def test_a_search_that_hangs_costs_a_part_of_the_budget(tmp_path: Path) -> None:
    mark = tmp_path / "hung"

    def fit(_: Any) -> tuple[list[str], list[float]]:
        if not mark.exists():
            mark.touch()
            time.sleep(60)
        return ["x0"], [1e-31]

    with adapter("eggp", eggp=package("eggp", fit)) as found:
        method = made("eggp", found)
        method.fit(problem(X, X[:, 0], time_limit=2.0))
        assert method.equations() == ["v0"]
        assert not method.stopped_early


def test_what_ends_all_searches_leaves_the_mean() -> None:
    def fit(_: Any) -> tuple[list[str], list[float]]:
        time.sleep(60)
        return [], []

    with adapter("symregg", symregg=package("symregg", fit)) as found:
        method = made("symregg", found, rounds=3)
        method.fit(problem(X, X[:, 0], time_limit=0.2))
        assert method.equations() == [repr(float(X[:, 0].mean()))]
        assert method.stopped_early
        with pytest.raises(ValueError, match="not finite"):
            made("symregg", found).fit(problem(X * np.nan, X[:, 0]))
        with pytest.raises(TypeError, match="no_such"):
            made("symregg", found, no_such=1)
