"""What an adapter is given, what it returns, and the language model that it may ask.

This is all of mdbench that a method ever sees.  Inside a method's environment it is
importable as ``mdbench.worker``, and nothing else of mdbench is.

A method with ``[access] llm`` reaches one endpoint: mdbench listens on a Unix socket in the job's
folder, adds the key, names the model, counts what is used, and records the exchange
(docs/language-models.md).
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .budget import Budget, excuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .noise import Noise

    Array = NDArray[np.float64]


paths: dict[str, Path] = {}
"""Folders and files of the user's, to be read only, by the names that ``method.toml`` lists.

They are there before the adapter is imported; a name that the user has set nothing for is missing.
"""


class Unavailable(Exception):  # noqa: N818 - it is an answer, not an error
    """Raised by an adapter that lacks what no lock brings, such as a program or weights.

    Its text is shown to the user: what is missing, and what to do.  It may be raised at import, by
    the constructor and by ``fit`` before the first candidate.
    """


class Unsupported(Exception):  # noqa: N818 - it is an answer, not an error
    """Raised by an adapter that cannot do this problem; its text is shown to the user."""


@dataclass(frozen=True)
class Problem:
    """The data of one problem, in the view that the method asked for.

    Attributes
    ----------
    view
        ``table``, ``trajectory`` or ``field``, or what else a data type has.
    variables
        The names that an equation may use, in the order of the columns of `X` or `u`.
    targets
        The names of the left-hand sides, in the order of the columns of `Y` or `du`.
    arrays
        The view's arrays by name, float64 or texts:

        - ``table``: ``X`` (n, len(variables)), ``Y`` (n, len(targets));
        - ``trajectory``: ``t`` (n,), ``u`` (n, d), ``du`` (n, d), ``measured`` (n, d), the states
          before they were smoothed; ``inputs`` (n, k), the last k of `variables`, for a method
          that takes inputs; ``trajectory`` (n,), the number of the trajectory that each sample
          is of, for one that takes several;
        - ``field``: ``t`` (n,), one 1-D array an axis (``x``, ``y``, ``z``),
          ``u`` (n_x[, n_y[, n_z]], n, d), ``du`` (n_x[, n_y[, n_z]], n, len(targets));
          ``periods``, the length of each periodic axis and 0 for others; without ``periods``
          derivatives are plain second-order differences.

        They can be read as attributes too: ``problem.X``.  Where a method is to predict,
        ``Y`` or ``du`` is missing.
    time_limit
        Seconds of wall time for the job, or None; under a work limit those in which it is used up.
        Advice: mdbench enforces its limits itself.
    budget
        What the job may use, and what it has used, in reference seconds under a work limit and in
        seconds of wall time else: a method that shares or ends its search by it is the same on a
        busy machine.
    truth
        The true right-hand sides, for a reference whose ``method.toml`` has
        ``given = ["truth"]``; None for all others, and where they are unknown.
    units
        Of each variable and target, by name: the exponents of m, kg, s, A, K, mol and cd, for a
        method whose ``method.toml`` has ``given = ["units"]``; None for all others, and where
        none are given.  Columns come in units of any size: these are their dimensions.
    description
        Description of the problem for a prompt, beyond its data, for a method that asks a language
        model (``[access] llm``), as mdbench has chosen for all methods alike; else None.
    scaled
        Whether the values are in units of a user's, of any size and with any offset: a method may
        work in `Coordinates` of its own, and give its equations in the problem's.  False for
        the benchmark's own data, on which methods do what their papers say.
    held
        Whether ``inputs`` keep their values until the next sample; else they change evenly.
    """

    view: str
    variables: tuple[str, ...]
    targets: tuple[str, ...]
    arrays: Mapping[str, Array] = field(repr=False)
    time_limit: float | None = None
    truth: tuple[str, ...] | None = None
    units: Mapping[str, tuple[float, ...]] | None = None
    description: str | None = None
    scaled: bool = False
    held: bool = False
    budget: Budget = field(default_factory=Budget, repr=False, compare=False)

    @cached_property
    def noise(self) -> Noise | None:
        """The noise of `measured`, or of `u` where nothing was smoothed; None in a ``table``.

        It is found when it is first asked for, from the samples alone: its form, its size in each
        state, and the weights of samples that follow (see `mdbench.worker.noise`).
        """
        from .noise import noise_of_arrays  # noqa: PLC0415 - it needs NumPy, and few methods ask

        return noise_of_arrays(self.view, self.arrays)

    def __post_init__(self) -> None:
        if self.budget.time_limit != self.time_limit:
            object.__setattr__(self, "budget", Budget(self.time_limit))

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.arrays[name]
        except KeyError:
            raise AttributeError(
                f"this {self.view} problem has no array {name!r}; it has {sorted(self.arrays)}"
            ) from None


@dataclass(frozen=True)
class Candidate:
    """One proposal of a method: equations, and what they give on the selection data.

    Attributes
    ----------
    equations
        One right-hand side for each of the problem's targets, in the problem's names; or a
        single one where `target` is the number of its target.
    predictions
        What the candidate predicts on the selection inputs (validation data for a ``grid``
        method, the data of the fit for a ``front`` method), shaped like the targets; with
        `target`, shaped like one column of them.
    hyperparameters
        The setting that gave the candidate (``grid`` methods).
    target
        The index of the one target that the candidate is for.  A ``front`` method that treats
        the targets one by one gives a front for each, and mdbench picks from each by itself.
    """

    equations: tuple[str, ...]
    predictions: Array | None = field(default=None, repr=False)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    target: int | None = None


@dataclass(frozen=True)
class Alternative:
    """Another equation for one target that fits the data nearly as well as the answer's.

    An adapter may have a method ``alternatives``, which returns some after the answer is chosen.
    They are the method's own word: they are kept in the record and shown, and never scored.

    Attributes
    ----------
    target
        The index of its target.
    equation
        The right-hand side, in the problem's names.
    worse
        How much worse than the answer it is by the score that the method chooses by, in the units
        of that score; negative where it is better by it.
    log_likelihood
        Its log-likelihood less that of the answer, in nats, by the method's own model of the
        data; positive where it fits better.  None where the method has no such model.
    """

    target: int
    equation: str
    worse: float
    log_likelihood: float | None = None


SOCKET_VARIABLE = "MDBENCH_LLM_SOCKET"
"""The variable of a job's environment that names the socket."""

_PATH = "/v1/chat/completions"
_LONGEST_ANSWER = 2**26
_LONGEST_NAME = 100
"""Bytes of a socket's name; the kernel takes 107."""
_OK = 200
_SPENT = "budget_spent"


class LanguageModelError(Exception):
    """The endpoint gave no completion, after all that mdbench tried; its text has the reason."""


class BudgetSpent(Exception):  # noqa: N818 - it is an end, not an error
    """Nothing more can be asked: a search ends here, with the best that it has.

    The budget is used up, or the endpoint answers nobody any more, which its record then says.
    """


@dataclass(frozen=True)
class Reply:
    """One completion.

    Attributes
    ----------
    text
        The model's text; thinking aloud, where it does, is a part of it.  Empty where there is
        none, such as of a filter; of a refusal the model's words.
    finish_reason
        ``stop``; ``length`` where it was cut off; ``refusal``, ``content_filter``, ``tool_calls``,
        ``no_choices`` or ``unreadable``; or what else the endpoint says.
    prompt_tokens, completion_tokens
        What it has taken of the budget.
    number
        Its place among all completions that the job has asked for, from 1; 0 where it has none.  A
        line ``completion 3: TEXT`` that a method prints is shown with it in transcripts.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    number: int = 0


class LanguageModel:
    """The language model that the user of mdbench has named for this run.

    Parameters
    ----------
    path
        The socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._waited_s = 0.0

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        n: int = 1,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> list[Reply]:
        """Ask for completions of a conversation, and wait for them.

        Parameters
        ----------
        messages
            Each with ``role`` (``system``, ``user`` or ``assistant``) and ``content``.
        n
            How many completions; each counts as one call of the budget.
        temperature, max_tokens, seed
            As the endpoint understands them; None for mdbench's own.

        Returns
        -------
        list of Reply
            At least one, and fewer than `n` where the budget ended or some could not be had.

        Raises
        ------
        BudgetSpent
            If nothing is left of the budget, or the endpoint answers nobody any more.
        LanguageModelError
            If not one completion could be had.
        """
        asked: dict[str, Any] = {"messages": [dict(each) for each in messages], "n": n}
        given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        asked |= {name: value for name, value in given.items() if value is not None}
        status, answer = self._post(json.dumps(asked).encode())
        error = answer.get("error") or {}
        if error.get("code") == _SPENT:
            raise BudgetSpent(error.get("message", ""))
        if status != _OK:
            raise LanguageModelError(f"{error.get('message') or 'no answer'} (HTTP {status})")
        self._excuse(answer.get("waited_s", 0.0))
        return [
            Reply(
                text=choice["message"]["content"],
                finish_reason=choice["finish_reason"],
                prompt_tokens=choice["usage"]["prompt_tokens"],
                completion_tokens=choice["usage"]["completion_tokens"],
                number=choice.get("number", 0),
            )
            for choice in answer["choices"]
        ]

    def _excuse(self, waited_s: float) -> None:
        """Take the time of an endpoint's outages out of the budget."""
        excuse(waited_s - self._waited_s)
        self._waited_s = max(self._waited_s, waited_s)

    def _post(self, body: bytes) -> tuple[int, dict[str, Any]]:
        head = f"POST {_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            with _connected(self._path) as connection:
                with suppress(BrokenPipeError):  # it has refused already, with the reason
                    connection.sendall(head.encode() + body)
                data = _all_of(connection)
            head_text, _, content = data.partition(b"\r\n\r\n")
            return int(head_text.split(maxsplit=2)[1]), json.loads(content)
        except (OSError, ValueError, IndexError) as error:
            raise LanguageModelError(
                f"the bench did not answer: {type(error).__name__}: {error}"
            ) from error


def _connected(path: str) -> socket.socket:
    """Connect to the socket; how long an answer may take is mdbench's affair."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if len(os.fsencode(path)) <= _LONGEST_NAME:
            connection.connect(path)
            return connection
        folder = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{Path(path).name}")
        finally:
            os.close(folder)
    except BaseException:
        connection.close()
        raise
    return connection


def _all_of(connection: socket.socket) -> bytes:
    """Read to the end: mdbench answers one question a connection."""
    data = bytearray()
    while len(data) < _LONGEST_ANSWER and (block := connection.recv(2**16)):
        data += block
    return bytes(data)


def language_model() -> LanguageModel:
    """Return the language model of this job.

    Raises
    ------
    Unavailable
        If none was named for the run, or if mdbench cannot be reached from here.
    """
    path = os.environ.get(SOCKET_VARIABLE)
    if not path:
        raise Unavailable(
            "no language model was named for this run, or method.toml lacks [access] llm = true; "
            "give --llm-url and --llm-model"
        )
    try:
        _connected(path).close()
    except OSError as error:
        raise Unavailable(
            f"the bench's socket cannot be reached from this sandbox ({error}); an engine in a "
            "virtual machine does not share it: use --runtime venv"
        ) from error
    return LanguageModel(path)
