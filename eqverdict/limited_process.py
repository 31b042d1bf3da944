"""Work that may never end, in a process of its own that can be killed.

Some short texts keep SymPy busy without end, and some equations an integrator, or ask for all
memory there is, inside native code that no thread can interrupt.  So they work in child processes
with limits that the kernel keeps: a child that exceeds one ends, and the question has no answer.
One that somebody else kills is replaced, and asked once more.  A child is started at the first
question, serves all further ones, and ends with its parent.

Whether there is an answer must follow from the question, and from no machine.  So whoever asks sets
the limits; memory is counted from what a process has once it is loaded, which is another amount on
each machine; and where a machine cannot give a process its limits, nothing is answered at all.

One line as soon as the process can be asked, a JSON object: with the key ``refused`` if it cannot
be.  Then one question a line, an object with the key ``seconds``; one answer a line, an object too:
with the key ``error`` where there is none, and the CPU time that it took in ``cpu_s``.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import subprocess
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGXCPU
from typing import TYPE_CHECKING, Any, NoReturn

from eqverdict.errors import ScorerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_STACK_BYTES = 8 << 20
"""Bytes that calls within calls may take, in native code, too."""
_GROWN = 4
"""A process that has grown by this part of its memory is replaced: memory that it has freed would
give the next question more than its limit."""
_SWITCHES = "SYMPY_"
"""Prefix of variables that change what SymPy keeps, and so what a question needs."""
_KILLED = {-SIGKILL, -SIGTERM}
_AGAIN_S = 2.0
"""Seconds to wait before a child that somebody has killed is asked again."""
_NEVER = "the process that scores ended before it could be asked"


class LimitedProcess:
    """The process that works; it is asked one question at a time.

    Parameters
    ----------
    module
        The name of the module whose function ``answer`` the child calls with each question, and
        ``prepare``, if there is one, before the first; its time does not count for a question.
    seconds
        CPU time for one question; the kernel counts in whole seconds, and may give one more.
    memory
        Bytes of address space for one question, beyond what the process has when it is asked.  A
        constant of the module that asks: where it changes a score, `DataType.scorer_version` is
        raised.
    environment
        Variables that it is given besides those of this process.
    in_work
        Whether seconds are those of a reference core: where a core is slower by some factor a
        question may take so many more, and each machine has the same answers.
    """

    def __init__(
        self,
        module: str,
        seconds: int,
        memory: int,
        environment: Mapping[str, str] | None = None,
        *,
        in_work: bool = False,
    ) -> None:
        self.module = module
        self.in_work = in_work
        self.seconds = seconds
        self.memory = memory
        self.environment = dict(environment or {})
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.greeted = False
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self.forget)

    def ask(self, question: dict[str, Any], seconds: int | None = None) -> dict[str, Any]:
        """Return the answer to a question; without an answer the key ``error`` has the reason.

        Parameters
        ----------
        question
            A JSON object.
        seconds
            CPU time for this question; default: the child's own.

        Returns
        -------
        dict
            The answer, with ``cpu_s``, the CPU time that it took.
        """
        line = json.dumps(question | {"seconds": seconds or self.seconds})
        with self.lock:
            answer, status = self._put(line)
            if status in _KILLED:
                # It was not killed by its own limits, so the question has no answer yet.  If all
                # processes here are being killed, this one does not live to ask again.
                time.sleep(_AGAIN_S)
                answer, status = self._put(line)
            if status in _KILLED:
                raise ScorerError(
                    f"The process that scores was killed twice (signal {-status}) at one question.",
                    f"It needs up to {_mib(self.memory)} of memory: free some, or allow the job "
                    "more, and give the same command again.",
                )
            if answer is not None:
                if answer.pop("grown", False):
                    self.end()
                return answer
            late = status == -SIGXCPU
            reason = "it took too long" if late else f"it ended with status {status}"
            return {"error": reason, "cpu_s": float(seconds or self.seconds)}

    def _put(self, line: str) -> tuple[dict[str, Any] | None, int]:
        """Ask once; return the answer, or how the process ended instead."""
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process = self._start()
        try:
            fresh = not self.greeted
            if fresh:
                hello = self.process.stdout.readline() if self.process.stdout else ""
                if not hello and (status := self.process.wait()) in _KILLED:
                    return None, status
                greeting = json.loads(hello) if hello else {"refused": _NEVER}
                if "refused" in greeting:
                    _refuse(greeting["refused"])
                self.greeted = True
            text = _exchange(self.process, line)
        except BaseException:
            # An answer that nobody waits for would be taken for that to the next question.
            self.end()
            raise
        if not text:
            return None, self.process.wait()
        answer: dict[str, Any] = json.loads(text)
        if "refused" in answer:
            self.end()
            if fresh:
                _refuse(answer["refused"])
            return self._put(line)  # to a process that has used up nothing yet
        return answer, 0

    def start(self) -> None:
        """Start the process, without waiting for it; a question would do so, too."""
        if not self.lock.acquire(blocking=False):
            return  # somebody asks it
        try:
            if self.process is None:
                self.process = self._start()
        finally:
            self.lock.release()

    def _start(self) -> subprocess.Popen[str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(_SWITCHES)}
        environment = {**kept, **self.environment}
        # The child finds this very package, installed or not, and nothing in the working directory.
        package = str(Path(__file__).parents[1])
        environment["PYTHONPATH"] = os.pathsep.join(
            [package, *filter(None, [environment.get("PYTHONPATH")])]
        )
        environment["OPENBLAS_NUM_THREADS"] = "1"
        call = f"serve({self.module!r}, {self.memory}, in_work={self.in_work})"
        return subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import serve; {call}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            # Ctrl-C is for mdbench, which ends its child itself.
            start_new_session=True,
        )

    def end(self) -> None:
        """Kill the process, if there is one."""
        self.greeted = False
        if self.process is None:
            return
        self.process.kill()
        self.process.communicate()
        self.process = None

    def forget(self) -> None:
        """Leave the process to the parent that we were forked from."""
        self.lock = threading.Lock()
        self.process = None
        self.greeted = False


def _refuse(why: str) -> NoReturn:
    raise ScorerError(
        f"Nothing can be scored here: {why}.",
        "Scores must not depend on it.  Raise the limits (ulimit -a shows them) in the "
        "shell or the job script, and give the same command again.",
    )


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """Send a line and wait for one; empty if the process ended instead."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the process was started with pipes")
    with suppress(BrokenPipeError):
        process.stdin.write(line + "\n")
        process.stdin.flush()
    return process.stdout.readline()


def serve(module: str, memory: int, *, in_work: bool = False) -> None:
    """Answer the questions on standard input until it ends: the child's side."""
    slowness = 1.0
    # Libraries print, too, such as FLINT before it aborts: that is no answer.
    sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        _set(resource.RLIMIT_CORE, 0)
        _set(resource.RLIMIT_STACK, _STACK_BYTES)
        for kind in _MEMORY:
            _set(kind, None)  # loading is no question
        gc.disable()
        work = import_module(module)
        getattr(work, "prepare", _nothing)()
        gc.freeze()  # what is loaded is used until the end: no question has to look through it
        gc.enable()
        slowness = _slowness() if in_work else 1.0
        loaded = _limit_memory(memory)
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody can be asked
        _write_line({"refused": _why(error)})
        return
    _write_line({})
    for line in sys.stdin:
        question = json.loads(line)
        seconds = max(1, round(slowness * question.pop("seconds")))
        # Each question has its own time and memory, whatever the process has used so far.
        begin = time.process_time()
        try:
            _set(resource.RLIMIT_CPU, int(begin) + 1 + seconds)
            _limit_memory(memory)
        except _HardLimitError as error:
            _write_line({"refused": _why(error)})
            continue
        answer = _answer(work.answer, question)
        answer["cpu_s"] = time.process_time() - begin
        answer["grown"] = any(size > loaded[kind] + memory // _GROWN for kind, size in _sizes())
        _write_line(answer)


_REFERENCE_S = 2.75e-3
"""Seconds of CPU time that `_some_work` takes on the reference core of mdbench's budgets."""


def _some_work() -> None:
    counts: dict[int, int] = {}
    total = Fraction(0)
    for number in range(1, 400):
        total += Fraction(1, number)
    for number in range(20_000):
        counts[number & 63] = counts.get(number & 63, 0) + number % 7


def _slowness() -> float:
    """Return by what factor the core is slower than the reference core."""
    times = []
    for _ in range(3):
        begin = time.thread_time()
        _some_work()
        times.append(time.thread_time() - begin)
    return min(times) / _REFERENCE_S


def _nothing() -> None:
    """Prepare nothing: to be imported is enough."""


def _write_line(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _why(error: Exception) -> str:
    text = str(error)[:200]
    return text if isinstance(error, _HardLimitError) else f"{type(error).__name__}: {text}"


def _answer(answer: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(answer(question))
    except MemoryError:
        raise  # ends the child, so that the next question gets a new one
    except Exception as error:  # noqa: BLE001 - whatever SymPy runs into, mdbench goes on
        return {"error": f"{type(error).__name__}: {str(error)[:200]}"}


class _HardLimitError(Exception):
    """A limit that a process needs is more than the machine lets it have."""


def _limit_memory(memory: int) -> dict[int, int]:
    """Allow the process to grow by some bytes; return its size of each kind."""
    sizes = dict(_sizes())
    for kind, size in sizes.items():
        _set(kind, size + memory)
    return sizes


_MEMORY = (resource.RLIMIT_AS, resource.RLIMIT_DATA)


def _sizes() -> Iterator[tuple[int, int]]:
    """Return what the process has of all addresses, and of those that it can write to."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    for kind, number in zip(_MEMORY, (pages[0], pages[5]), strict=True):
        yield kind, int(number) * resource.getpagesize()


_NAMES = {
    resource.RLIMIT_AS: ("address space", "v"),
    resource.RLIMIT_DATA: ("data", "d"),
    resource.RLIMIT_STACK: ("stack", "s"),
}


def _set(kind: int, most: int | None) -> None:
    """Set a soft limit; None is all that the hard one allows.

    Raises
    ------
    _HardLimitError
        If it allows less.
    """
    _, hard = resource.getrlimit(kind)
    most = hard if most is None else most
    if hard != resource.RLIM_INFINITY and not 0 <= most <= hard:
        if kind == resource.RLIMIT_CPU:
            needs, has = f"{most} s of CPU time", f"{hard} s (ulimit -Ht)"
        else:
            what, letter = _NAMES[kind]
            needs, has = f"{_mib(most)} of {what}", f"{_mib(hard)} (ulimit -H{letter})"
        raise _HardLimitError(f"the process that scores needs {needs}, and may have {has}")
    resource.setrlimit(kind, (most, hard))


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"


PARSER_LOCK = threading.RLock()
"""Held while text is turned into Python's syntax tree, by whichever library.

NumPy reads the header of an ``.npy`` or ``.npz`` file as a Python literal, packaging so reads
the strings in a requirement's markers, and the systems' equations are parsed by ``ast``.  Two
threads that do so at once may both get a SystemError (CPython issue 106905, fixed in 3.11.8 and
3.12.2).
"""
