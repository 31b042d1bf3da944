"""Asks the language model of a job: the one endpoint that a method with ``[access] llm`` reaches.

mdbench listens on a Unix socket in the job's folder and speaks for the method: it adds the key,
names the model, counts what is used, and records the exchange (docs/language-models.md).
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .api import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOCKET_VARIABLE = "MDBENCH_LLM_SOCKET"
"""The variable of a job's environment that names the socket."""

_PATH = "/v1/chat/completions"
_LONGEST_ANSWER = 2**26
_LONGEST_NAME = 100
"""Bytes of a socket's name; the kernel takes 107."""
_OK = 200
_SPENT = "budget_spent"


class LanguageModelError(Exception):
    """The endpoint gave no completion, after all that mdbench tried; its text says why."""


class BudgetSpent(Exception):  # noqa: N818 - it is an end, not an error
    """Nothing is left of the job's budget: a search ends here, with the best that it has."""


@dataclass(frozen=True)
class Reply:
    """One completion.

    Attributes
    ----------
    text
        The model's text; thinking aloud, where it does, is a part of it.
    finish_reason
        ``stop``, or ``length`` where it was cut off, by the endpoint.
    prompt_tokens, completion_tokens
        What it has taken of the budget.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


class LanguageModel:
    """The language model that the user of mdbench has named for this run.

    Parameters
    ----------
    path
        The socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path

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
            If nothing is left of the budget.
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
        return [
            Reply(
                text=choice["message"]["content"],
                finish_reason=choice["finish_reason"],
                prompt_tokens=choice["usage"]["prompt_tokens"],
                completion_tokens=choice["usage"]["completion_tokens"],
            )
            for choice in answer["choices"]
        ]

    def _post(self, body: bytes) -> tuple[int, dict[str, Any]]:
        head = f"POST {_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            with _connected(self._path) as connection:
                with suppress(BrokenPipeError):  # it has refused already, and says why
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
            "give --llm-url and --llm-model (docs/language-models.md)"
        )
    try:
        _connected(path).close()
    except OSError as error:
        raise Unavailable(
            f"the bench's socket cannot be reached from this room ({error}); an engine in a "
            "virtual machine does not share it: use --runtime venv"
        ) from error
    return LanguageModel(path)
