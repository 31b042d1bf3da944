from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import known
from sweeps import paired

from eqverdict import equation, limited_process, parse, srbench, sympy_worker
from eqverdict.srbench import POSITIVE, symbolic_solution
from mdbench.datatypes.ode import simulation
from mdbench.datatypes.ode.simulation import simulate
from mdbench.errors import EquationError, ScorerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUESTION: dict[str, Any] = {"ask": "complexity", "text": "u0*(u0 + 1)", "variables": ["u0"]}
# SymPy sees the power of a power of 9 only after it has cancelled u0.
TOWER = "(u0-u0+9)**((u0-u0+9)**((u0-u0+9)**(u0-u0+9)))"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    hasty = limited_process.LimitedProcess(equation.SYMPY_WORKER, 1, equation.MAX_BYTES)
    monkeypatch.setattr(equation, "_child", hasty)
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
    assert equation._child.process is not None
    pid = equation._child.process.pid
    soft, _ = resource.prlimit(pid, resource.RLIMIT_AS)
    peak = known(re.search(r"VmPeak:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("ascii")))
    assert 0 < soft - equation.MAX_BYTES <= int(peak[1]) * 1024

    def greedy(_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("eqverdict.sympy_worker.nodes", greedy)
    with pytest.raises(MemoryError):
        limited_process._answer(
            sympy_worker.answer, {"ask": "complexity", "text": "u0", "variables": ["u0"]}
        )


def test_a_child_that_died_is_replaced() -> None:
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5
    process = equation._child.process
    assert process is not None
    process.kill()
    process.wait()
    assert parse("u0*(u0 + 1)", ["u0"]).complexity == 5


@pytest.mark.parametrize("times", [1, 2])
def test_a_question_that_somebody_kills_is_asked_once_more(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    exchange = limited_process._exchange
    killed: list[int] = []

    def shot(process: subprocess.Popen[str], line: str) -> str:
        if len(killed) < times:
            killed.append(process.pid)
            process.kill()
            process.wait()
        return exchange(process, line)

    monkeypatch.setattr(limited_process, "_exchange", shot)
    monkeypatch.setattr(limited_process, "_AGAIN_S", 0.0)
    child = limited_process.LimitedProcess(equation.SYMPY_WORKER, 5, equation.MAX_BYTES)
    if times == 1:
        assert child.ask(QUESTION)["complexity"] == 5
    else:  # whoever kills, it is not the question
        with pytest.raises(ScorerError, match=r"killed twice \(signal 9\)"):
            child.ask(QUESTION)
    child.end()
    assert len(set(killed)) == times


def test_an_interrupted_question_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = limited_process._exchange

    def interrupted(process: subprocess.Popen[str], line: str) -> str:
        assert process.stdin is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr(limited_process, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = parse("u0*(u0 + 1)", ["u0"]).complexity
    monkeypatch.setattr(limited_process, "_exchange", exchange)
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
    asked = limited_process.LimitedProcess(equation.SYMPY_WORKER, 1, equation.MAX_BYTES)
    with asked.lock:
        asked.start()
        meanwhile = asked.process
    assert meanwhile is None
    asked.start()
    assert asked.process is not None
    asked.end()


def limited(*limits: str, into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes started below limits, each given as to a shell's ``ulimit``."""
    program = into / "python"
    lines = [*(f"ulimit {limit}" for limit in limits), f'exec {shlex.quote(sys.executable)} "$@"']
    program.write_text("\n".join(["#!/bin/bash", "set -e", *lines]) + "\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


T = np.linspace(0.0, 2.0, 50)
SCORED: dict[str, tuple[object, int, int, Callable[[], object], object]] = {
    "nodes": (
        equation,
        equation.MAX_SECONDS,
        equation.MAX_BYTES,
        lambda: parse("u0*(u0 + 1)", ["u0"]).complexity,
        5,
    ),
    "trajectory": (
        simulation,
        simulation.MAX_SECONDS,
        simulation.MAX_BYTES,
        lambda: simulate(["-u0"], T, np.exp(-T)[:, None]).r2,
        pytest.approx(1.0),
    ),
    "solution": (
        srbench,
        srbench.MAX_SECONDS,
        equation.MAX_BYTES,
        lambda: symbolic_solution("x0 + 1", "2*x0 + 2", {"x0": dict(POSITIVE)}).how,
        "ratio",
    ),
}
"""What is scored in a child process: the module that asks, its limits, a score, and the truth."""


@contextmanager
def nobody_asked(module: object, seconds: int, memory: int) -> Iterator[None]:
    """Let a module ask a process that is started for it, and remember no answer."""
    with pytest.MonkeyPatch.context() as patch:
        if module is srbench:
            name = srbench._children[0].module
            fresh = limited_process.LimitedProcess(name, seconds, memory)
            patch.setattr(srbench, "_children", (fresh, fresh))
            srbench._answer.cache_clear()
        else:
            fresh = limited_process.LimitedProcess(module._child.module, seconds, memory)  # type: ignore[attr-defined]
            patch.setattr(module, "_child", fresh)
        yield
        fresh.end()


@pytest.mark.parametrize(
    ("score", "limit"),
    paired(
        SCORED,
        [
            ((), ""),
            (("-Sv 500000", "-Sd 400000", "-Ss 1024"), ""),  # which a process may raise
            (("-v 8000000", "-t 1000"), ""),
            (("-v 1000000",), r"MiB of address space, and may have 976 MiB \(ulimit -Hv\)"),
            (("-v 100000",), "Nothing can be scored here"),  # it does not even load its modules
            (("-d 1000000",), r"ulimit -Hd"),
            (("-s 1024",), r"8 MiB of stack, and may have 1 MiB \(ulimit -Hs\)"),
            (("-t 1",), r"s of CPU time, and may have 1 s \(ulimit -Ht\)|could be asked"),
        ],
    ),
)
def test_below_any_limits_scores_are_the_same_or_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    score: str,
    limit: tuple[tuple[str, ...], str],
) -> None:
    limits, refused = limit
    module, seconds, memory, scored, truth = SCORED[score]
    limited(*limits, into=tmp_path, monkeypatch=monkeypatch)
    with nobody_asked(module, seconds, memory):
        if not refused:
            assert scored() == truth
        else:
            with pytest.raises(ScorerError, match=refused):
                scored()


@pytest.mark.parametrize(
    ("score", "memory"), paired(SCORED, [1 << 28, 1 << 34, 1 << 62, 1 << 63, 1 << 70])
)
def test_with_more_or_less_memory_scores_are_the_same_or_refused(score: str, memory: int) -> None:
    module, seconds, _, scored, truth = SCORED[score]
    with nobody_asked(module, seconds, memory):
        if memory < 1 << 63:
            assert scored() == truth
        else:  # no limit can be so large, which was taken for no answer to any question
            with pytest.raises(ScorerError, match="OverflowError"):
                scored()


TAKES = """
import mmap
import time

ballast = mmap.mmap(-1, BALLAST << 20) if BALLAST else None
kept = []

def answer(question):
    end = time.process_time() + question.get("work", 0.0)
    while time.process_time() < end:
        pass
    taken = bytearray(question.get("take", 0) << 20)
    if question.get("keep"):
        kept.append(taken)
    return {"took": len(taken) >> 20}
"""


@pytest.fixture
def taker(tmp_path: Path) -> Iterator[Callable[[int, int], limited_process.LimitedProcess]]:
    """Make a child that takes what it is asked to, and has some MiB beforehand."""
    made = []

    def make(ballast: int, memory: int) -> limited_process.LimitedProcess:
        text = TAKES.replace("BALLAST", str(ballast))
        (tmp_path / "taker.py").write_text(text, encoding="utf-8")
        made.append(
            limited_process.LimitedProcess("taker", 1, memory << 20, {"PYTHONPATH": str(tmp_path)})
        )
        return made[-1]

    yield make
    for child in made:
        child.end()


@pytest.mark.parametrize("ballast", [0, 1_000])
def test_memory_is_that_of_the_question_whatever_is_loaded(
    taker: Callable[[int, int], limited_process.LimitedProcess], ballast: int
) -> None:
    child = taker(ballast, 256)
    assert child.ask({"take": 200})["took"] == 200
    assert child.ask({"take": 300})["error"] == "it ended with status 1"
    assert child.ask({"take": 200})["took"] == 200


def test_memory_that_a_question_keeps_is_not_taken_from_the_next(
    taker: Callable[[int, int], limited_process.LimitedProcess],
) -> None:
    child = taker(0, 256)
    pids = []
    for take in (1, 1, 200, 200, 1):
        assert child.ask({"take": take, "keep": True})["took"] == take
        pids.append(None if child.process is None else child.process.pid)
    one, same, *after = pids
    assert one is not None
    assert one == same
    assert after[:2] == [None, None]  # it has grown, and the next question finds a fresh one
    assert after[2] not in {None, one}


def test_a_process_that_may_not_work_on_gives_way_to_a_fresh_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    taker: Callable[[int, int], limited_process.LimitedProcess],
) -> None:
    limited("-t 2", into=tmp_path, monkeypatch=monkeypatch)
    child = taker(0, 256)
    pids = set()
    for _ in range(3):  # each takes most of a second, and one process may take two in all
        assert child.ask({"work": 0.8})["took"] == 0
        assert child.process is not None
        pids.add(child.process.pid)
    assert len(pids) > 1


def test_a_process_that_cannot_be_asked_shows_why() -> None:
    child = limited_process.LimitedProcess("mdbench.no_such_module", 1, 1 << 30)
    for _ in range(2):
        with pytest.raises(ScorerError, match=r"No module named 'mdbench\.no_such_module'"):
            child.ask({})


def test_variables_of_sympys_do_not_reach_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPY_CACHE_SIZE", "none")
    child = limited_process.LimitedProcess(
        equation.SYMPY_WORKER, 5, equation.MAX_BYTES, {"SYMPY_USE_CACHE": "yes"}
    )
    assert child.ask(QUESTION)["complexity"] == 5
    assert child.process is not None
    words = Path(f"/proc/{child.process.pid}/environ").read_bytes().split(b"\0")
    child.end()
    assert [word for word in words if word.startswith(b"SYMPY_")] == [b"SYMPY_USE_CACHE=yes"]


def test_what_is_loaded_beforehand_is_no_time_of_a_question(tmp_path: Path) -> None:
    text = """
        import time

        def prepare():
            while time.process_time() < 1.3:
                pass

        def answer(question):
            return {}
    """
    (tmp_path / "slow.py").write_text(dedent(text), encoding="utf-8")
    child = limited_process.LimitedProcess("slow", 1, 1 << 28, {"PYTHONPATH": str(tmp_path)})
    assert child.ask({})["cpu_s"] < 1.0
    child.end()
    loaded = "import sys; from eqverdict import sympy_worker; sympy_worker.prepare(); "
    question = {"ask": "complexity", "text": "sin(u1)/u1 - 2", "variables": ["u1"]}
    done = f"{loaded}sympy_worker.answer({question}); "
    modules = [
        subprocess.check_output([sys.executable, "-c", f"{code}print(*sorted(sys.modules))"])
        for code in (loaded, done)
    ]
    assert len({*modules[1].split()} - {*modules[0].split()}) < 10


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    """FLINT prints a text before it aborts, and others print and go on."""
    (tmp_path / "chatty.py").write_text(
        dedent("""
            import os
            def answer(question):
                os.write(1, b"Flint exception (General error):\\n")
                if question["fails"]:
                    os.abort()
                return {"value": 1}
        """)
    )
    child = limited_process.LimitedProcess("chatty", 10, 1 << 28, {"PYTHONPATH": str(tmp_path)})
    assert child.ask({"fails": False})["value"] == 1
    assert child.ask({"fails": True})["error"] == "it ended with status -6"
    assert child.ask({"fails": False})["value"] == 1
    child.end()
