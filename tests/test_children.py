from __future__ import annotations

import os
import resource
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mdbench import children
from mdbench.errors import EquationError
from mdbench.expressions import counter, parse

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

# SymPy sees the power of a power of 9 only after it has cancelled u0.
TOWER = "(u0-u0+9)**((u0-u0+9)**((u0-u0+9)**(u0-u0+9)))"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    hasty = children.Child(counter.__name__, seconds=1)
    monkeypatch.setattr(counter, "_child", hasty)
    yield
    hasty.end()


@pytest.mark.usefixtures("impatient")
def test_an_equation_that_keeps_sympy_busy_is_refused() -> None:
    with pytest.raises(EquationError, match="too long"):
        _ = parse(TOWER, ["u0"]).complexity
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5


@pytest.mark.usefixtures("impatient")
def test_an_equation_that_sympy_fails_on_is_refused() -> None:
    with pytest.raises(EquationError, match="OverflowError"):
        _ = parse("exp(exp(exp(u0 - u0 + 700.0)))", ["u0"]).complexity


def test_memory_is_limited_and_its_lack_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5
    assert counter._child.process is not None
    soft, _ = resource.prlimit(counter._child.process.pid, resource.RLIMIT_AS)
    assert soft == children.MAX_BYTES

    def greedy(_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("mdbench.expressions.symbolic.nodes", greedy)
    with pytest.raises(MemoryError):
        children._answer(counter.answer, {"text": "u0", "variables": ["u0"]})


def test_a_child_that_died_is_replaced() -> None:
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5
    process = counter._child.process
    assert process is not None
    process.kill()
    process.wait()
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5


@pytest.mark.parametrize("times", [1, 2])
def test_a_question_that_somebody_kills_is_asked_once_more(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    exchange = children._exchange
    killed: list[int] = []

    def shot(process: subprocess.Popen[str], line: str) -> str:
        if len(killed) < times:
            killed.append(process.pid)
            process.kill()
            process.wait()
        return exchange(process, line)

    monkeypatch.setattr(children, "_exchange", shot)
    monkeypatch.setattr(children, "_AGAIN_S", 0.0)
    child = children.Child(counter.__name__, seconds=5)
    answer = child.ask({"text": "u0*(u0 + 1)", "variables": ["u0"]})
    child.end()
    assert len(set(killed)) == times
    if times == 1:
        assert "error" not in answer
    else:
        assert answer["error"] == "it ended with status -9"


def test_an_interrupted_question_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = children._exchange

    def interrupted(process: subprocess.Popen[str], line: str) -> str:
        assert process.stdin is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr(children, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = parse("u0*(u0 + 1)", ["u0"]).complexity
    monkeypatch.setattr(children, "_exchange", exchange)
    assert parse("u0/u0", ["u0"]).complexity == 1


def test_threads_get_their_own_answers() -> None:
    # A product of n different sines has 1 + 4 n nodes.
    texts = ["*".join(f"sin(u0 + {k}.5)" for k in range(n)) for n in range(2, 20)]
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda text: parse(text, ["u0"]).complexity, texts))
    assert counts == [1 + 4 * n for n in range(2, 20)]


def test_a_forked_process_asks_a_child_of_its_own() -> None:
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = parse("u0/(u0 + 1)", ["u0"]).complexity
        finally:
            os._exit(status)
    assert parse("u0/u0", ["u0"]).complexity == 1
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_starting_does_not_wait_for_the_answer_to_somebody_else() -> None:
    asked = children.Child(counter.__name__, seconds=1)
    with asked.lock:
        asked.start()
        meanwhile = asked.process
    assert meanwhile is None
    asked.start()
    assert asked.process is not None
    asked.end()
