"""One job, seen from inside the method's environment, and its messages.

The order is the host's: fit (a grid, a front or once), perhaps a refit of the chosen setting,
then a prediction on inputs that come only now.
"""

from __future__ import annotations

import encodings.cp437  # noqa: F401 - for zipfile
import io
import json
import math
import os
import random
import signal
import tempfile
import threading
import time
import traceback
import zipfile  # noqa: F401 - for NumPy's .npz files
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.ma  # NumPy imports it when it is first used: 20 ms
import numpy.random

from .api import SOCKET_VARIABLE, Candidate, Problem, Unavailable, Unsupported
from .budget import SPEED_FILE, Budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Channel:
    """The worker's end of the protocol.

    Reads and writes plain descriptors, so that a forked child goes on exactly where its
    parent stopped: nothing is read ahead of the line that is asked for, because the host
    never sends a message before the last one is answered.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = b""

    @property
    def descriptors(self) -> tuple[int, int]:
        """The two ends: to read from, and to write to."""
        return self.read_fd, self._write_fd

    def send(self, **message: Any) -> None:
        """Write one message; NaN is no JSON and raises ValueError."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        view = memoryview(line)
        while view:
            view = view[os.write(self._write_fd, view) :]

    def receive(self) -> dict[str, Any] | None:
        """Read one message; None when the host has gone."""
        while b"\n" not in self._buffer:
            block = os.read(self.read_fd, 65536)
            if not block:
                return None
            self._buffer += block
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def hand_over(self) -> None:
        """Make the two ends the standard streams, for a program that takes this one's place."""
        os.dup2(self.read_fd, 0)
        os.dup2(self._write_fd, 1)


_MOST_COUNTED = 2**62
_MOST_ALTERNATIVES, _LONGEST_ALTERNATIVE, _MOST_TARGETS = 100, 10_000, 10_000
"""Equations other than the answer's that are sent, characters of one, and targets."""
_MOST_ITEMS, _MOST_TEXT, _MOST_NUMBERS = 1000, 2**20, 2**24
"""Candidates of one message, characters of their texts, and bytes of their predictions."""
_FLUSH_SECONDS = 0.25
"""Candidates are sent at least this often, so that a job that is stopped has most of them."""


class TimeUp(BaseException):
    """The job's time is up: not an error that a method may catch."""


class _Alarm:
    """Raises `TimeUp` in the main thread, but never in the middle of a message."""

    def __init__(self) -> None:
        self._held = 0
        self._rang = False

    def ring(self, _number: int, _frame: object) -> None:
        """Take the signal."""
        self._rang = True
        if not self._held:
            raise TimeUp

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise nothing until the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._rang and not self._held:
            raise TimeUp

    def disable(self) -> None:
        """Raise nothing any more: what is done now is done because it rang."""
        self._held += 1


_alarm = _Alarm()


class Connection:
    """A job's connection to the host: its messages, and arrays as files in its folder."""

    def __init__(self, channel: Channel, message: dict[str, Any]) -> None:
        self._channel = channel
        self.order = message
        self.folder = Path(message["folder"])
        self._budget = self._open_budget()

    def _open_budget(self) -> Budget:
        """Return the job's budget, which begins now."""
        work, speed_file = self.order.get("work"), None
        if work is not None:
            with suppress(OSError):
                speed_file = os.open(self.folder / SPEED_FILE, os.O_RDONLY | os.O_CLOEXEC)
        return Budget(
            self.order["time_limit"],
            work=work,
            speed=self.order.get("speed") or 1.0,
            threads=self.order["threads"],
            speed_file=speed_file,
        )

    def send(self, type_: str, **content: Any) -> None:
        """Send a message of this job."""
        with _alarm.held():
            self._channel.send(type=type_, job=self.order["job"], **content)

    def receive(self) -> dict[str, Any] | None:
        """Wait for the host's next message."""
        return self._channel.receive()

    def hand_over(self) -> None:
        """Make the connection the standard streams, for a program that takes this one's place."""
        self._channel.hand_over()

    def problem(self, file: str) -> Problem:
        """Read a problem from a file of the job's folder."""
        with np.load(self.folder / file, allow_pickle=False) as arrays:
            return Problem(
                view=self.order["view"],
                variables=tuple(self.order["variables"]),
                targets=tuple(self.order["targets"]),
                arrays={name: arrays[name] for name in arrays.files},
                time_limit=self.order["time_limit"],
                truth=None if self.order.get("truth") is None else tuple(self.order["truth"]),
                units=_units(self.order.get("units")),
                description=self.order.get("description"),
                scaled=bool(self.order.get("scaled")),
                held=bool(self.order.get("held")),
                budget=self._budget,
            )

    def save(self, file: str, array: Any) -> str:
        """Write an array of numbers into the job's folder; return the file's name."""
        np.save(self.folder / file, array, allow_pickle=False)
        return file


def _units(units: dict[str, list[float]] | None) -> dict[str, tuple[float, ...]] | None:
    return None if units is None else {name: tuple(powers) for name, powers in units.items()}


def run_job(adapter: type, host: Connection) -> None:
    """Do one job from the first order to the prediction; every failure is reported to the host."""
    order = host.order
    move_into(host.folder)
    if (socket := order.get("language_model")) is not None:
        os.environ[SOCKET_VARIABLE] = str(host.folder / socket)
    random.seed(order["seed"])
    np.random.seed(order["seed"] % 2**32)  # noqa: NPY002 - for methods that use it
    host.send("started", pid=os.getpid())
    signal.signal(signal.SIGUSR1, _alarm.ring)
    try:
        _answer(adapter, host)
    except TimeUp:
        pass  # the host has what was sent
    except Unsupported as reason:
        host.send("failed", kind="unsupported", error=error_line(reason))
    except Unavailable as reason:
        host.send("failed", kind="unavailable", error=error_line(reason))
    except MemoryError:
        traceback.print_exc()
        host.send("failed", kind="out_of_memory", error="MemoryError")
    except Exception as error:  # noqa: BLE001 - a method may raise anything
        traceback.print_exc()
        host.send("failed", kind="failed", error=describe(error))


def _answer(adapter: type, host: Connection) -> None:
    """Fit, and answer what the host asks, up to the prediction."""
    order = host.order
    fitted = _fit(adapter, host)
    while True:
        message = host.receive()
        if message is None:
            return
        if message["type"] == "refit":
            start = time.monotonic()
            fitted = _make(adapter, order, message["hyperparameters"])
            fitted.fit(host.problem("refit.npz"))
            host.send(
                "fitted",
                seconds=time.monotonic() - start,
                stopped_early=_stopped_early(fitted),
                evaluations=_evaluations(fitted),
                failed=0,
                failure="",
            )
        elif message["type"] == "describe":
            if message["choose"] is not None:
                fitted.choose(message["choose"])
            equations = _texts(fitted.equations()) if order["equations"] else []
            host.send("described", equations=equations, alternatives=_alternatives(fitted))
        elif message["type"] == "predict":
            start = time.monotonic()
            predictions = _array(fitted.predict(host.problem("test.npz")))
            seconds = time.monotonic() - start
            host.send(
                "predicted", predictions=host.save("predictions.npy", predictions), seconds=seconds
            )
            return


def move_into(folder: Path) -> None:
    """Make the job's folder the working directory, and its `scratch` the home of other files."""
    os.chdir(folder)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = None  # as if nobody had asked for it before


def warm_up() -> None:
    """Write and read arrays once, so that a fresh child has its pages before its job comes."""
    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, X=np.zeros((1, 1)))
    memory.seek(0)
    with np.load(memory, allow_pickle=False) as arrays:
        np.save(io.BytesIO(), arrays["X"], allow_pickle=False)


def _make(adapter: type, order: dict[str, Any], hyperparameters: dict[str, Any]) -> Any:
    return adapter(
        seed=order["seed"],
        threads=order["threads"],
        **{**order["hyperparameters"], **hyperparameters},
    )


def _fit(adapter: type, host: Connection) -> Any:
    """Fit by the order's tuning, sending candidates as they are found."""
    start = time.monotonic()
    order = host.order
    sender = _CandidateSender(host)
    fitted = None
    failures: list[str] = []
    counts: list[int] = []
    try:
        train = host.problem("train.npz")
        if order["tuning"] == "grid":
            sender.send_all(_sweep(adapter, host, train, failures, counts))
        else:
            fitted = _make(adapter, order, {})
            fitted.fit(train)
            if order["tuning"] == "front":
                sender.send_all(fitted.candidates())
    except TimeUp:
        _alarm.disable()
        _send_the_last(sender, fitted if order["tuning"] == "front" else None)
        raise
    if failures and not sender.sent:
        raise RuntimeError(f"all {len(failures)} settings failed, the first with: {failures[0]}")
    host.send(
        "fitted",
        seconds=time.monotonic() - start,
        stopped_early=_stopped_early(fitted),
        evaluations=sum(counts) if counts else _evaluations(fitted),
        failed=len(failures),
        failure=failures[0] if failures else "",
    )
    return fitted


def _send_the_last(sender: _CandidateSender, fitted: Any) -> None:
    """Send what there is; a front that was stopped half-way may have none to give."""
    with suppress(Exception):
        sender.send_all(() if fitted is None or sender.sent else fitted.candidates())


def _stopped_early(fitted: Any) -> bool:
    return bool(getattr(fitted, "stopped_early", False))


def _evaluations(fitted: Any) -> int | None:
    """Return how many expressions an adapter has evaluated, if it counts them."""
    count = getattr(fitted, "evaluations", None)
    try:
        return index(count) if count is not None and 0 <= index(count) <= _MOST_COUNTED else None
    except TypeError:
        return None


def _alternatives(fitted: Any) -> list[dict[str, Any]]:
    """Return the equations that fit nearly as well as the answer, if an adapter has some.

    What is no such equation is left out, and an error is printed: neither costs the answer.
    """
    listed = getattr(fitted, "alternatives", None)
    alternatives: list[dict[str, Any]] = []
    if not callable(listed):
        return alternatives
    try:
        for one in listed():
            target, text, worse = index(one.target), str(one.equation), float(one.worse)
            likely = None if one.log_likelihood is None else float(one.log_likelihood)
            finite = math.isfinite(worse) and math.isfinite(likely or 0.0)
            if finite and 0 <= target <= _MOST_TARGETS and len(text) <= _LONGEST_ALTERNATIVE:
                item = {"target": target, "equation": text, "worse": worse}
                alternatives.append({**item, "log_likelihood": likely})
            if len(alternatives) == _MOST_ALTERNATIVES:
                break
    except Exception:  # noqa: BLE001 - a method may raise anything
        traceback.print_exc()
    return alternatives


def _sweep(
    adapter: Any, host: Connection, train: Problem, failures: list[str], counts: list[int]
) -> Iterator[Candidate]:
    """Fit every setting of the grid, by the adapter's own sweep where it has one."""
    order = host.order
    validation = host.problem("validation.npz")
    if hasattr(adapter, "sweep"):
        yield from adapter.sweep(
            train,
            validation,
            order["grid"],
            seed=order["seed"],
            threads=order["threads"],
            **order["hyperparameters"],
        )
        return
    for setting in order["grid"]:
        try:
            model = _make(adapter, order, setting)
            model.fit(train)
            predictions = _array(model.predict(validation)) if order["compares"] else None
            equations = tuple(_texts(model.equations())) if order["equations"] else ()
        except (Unsupported, Unavailable):
            raise
        except Exception as error:  # noqa: BLE001 - one bad setting is no failed job
            traceback.print_exc()
            failures.append(f"{describe(error)} (with {setting})")
            continue
        if (count := _evaluations(model)) is not None:
            counts.append(count)
        yield Candidate(equations, predictions, setting)


class _CandidateSender:
    """Sends candidates in batches, a message each.

    Where it matters what they predict, a file goes with it; its predictions are of equal shape.
    A batch goes out when it is `_FLUSH_SECONDS` old, also where the method has stalled since.
    """

    def __init__(self, host: Connection) -> None:
        self._host = host
        self._compares = host.order["compares"]
        self._items: list[dict[str, Any]] = []
        self._predictions: list[Any] = []
        self._text = self._numbers = 0
        self._files = 0
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._error: BaseException | None = None
        self._flushed = time.monotonic()
        self.sent = 0

    def send_all(self, candidates: Iterable[Candidate]) -> None:
        """Send the candidates, waiting only a little for more before each batch."""
        for candidate in candidates:
            with _alarm.held(), self._lock:
                self._add(candidate)
        with _alarm.held(), self._lock:
            self._flush()
        if self._error is not None:
            raise self._error

    def _add(self, candidate: Candidate) -> None:
        if self._compares:
            predictions = _array(candidate.predictions)
            if self._predictions and predictions.shape != self._predictions[0].shape:
                self._flush()
            self._predictions.append(predictions)
            self._numbers += predictions.nbytes
        equations = _texts(candidate.equations)
        self._text += sum(map(len, equations)) + len(repr(candidate.hyperparameters))
        self._items.append(
            {
                "equations": equations,
                "hyperparameters": dict(candidate.hyperparameters),
                "target": candidate.target,
            }
        )
        large = self._text > _MOST_TEXT or self._numbers > _MOST_NUMBERS
        if large or len(self._items) == _MOST_ITEMS:
            self._flush()
        elif time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._flush()  # now, since the next setting may not let the timer's thread run
        elif self._timer is None:
            self._timer = threading.Timer(_FLUSH_SECONDS, self._flush_in_time)
            self._timer.daemon = True
            self._timer.start()

    def _flush_in_time(self) -> None:
        try:
            with self._lock:
                self._flush()
        except BaseException as error:  # noqa: BLE001 - raised where the method runs
            self._error = error

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._items:
            return
        file = None
        if self._compares:
            file = self._host.save(f"candidates-{self._files}.npy", np.stack(self._predictions))
        self._host.send("candidates", items=self._items, predictions=file)
        self._files += 1
        self.sent += len(self._items)
        self._items, self._predictions = [], []
        self._text = self._numbers = 0
        self._flushed = time.monotonic()


def _array(values: Any) -> Any:
    """Return an adapter's predictions as an array of floats or texts, of whatever shape."""
    if np.ma.isMaskedArray(values) or np.iscomplexobj(values):
        raise TypeError("predictions are real numbers without a mask, or texts")
    array = np.asarray(values)
    return array if array.dtype.kind == "U" else np.asarray(array, dtype=np.float64)


def _texts(equations: Sequence[str] | str) -> list[str]:
    if isinstance(equations, str):
        raise TypeError(
            f"equations() gave one string, {equations[:80]!r}; "
            "it must give a list, one for each target"
        )
    return [str(equation) for equation in equations]


def describe(error: BaseException) -> str:
    """Return an exception as one line of at most 500 characters."""
    text = error_line(error)
    name = type(error).__name__
    return f"{name}: {text}"[:500] if text else name


def error_line(error: BaseException) -> str:
    """Return an exception's text alone as one line of at most 500 characters."""
    return " ".join(str(error).encode("utf-8", "backslashreplace").decode().split())[:500]
