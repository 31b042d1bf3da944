"""The socket in a job's folder: one path, one method, one request a connection.

Of HTTP only the body of a request is taken from the sandbox: what is odd is refused, and
each connection is closed after its answer, so that nothing can be smuggled behind a request.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mdbench.extensions.language_models.chat_requests import MOST_BYTES, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

NAME: Final = "language-model"
"""The socket's name in a job's folder."""
_MOST_HEAD = 2**14
_AT_A_TIME = 16
"""Connections of a job that are served at once; others wait."""
_WAITING = 64
_READ_SECONDS = 10.0
"""Seconds that a request may take to arrive, and an answer to be read."""
_END_SECONDS = 2.0
"""Seconds for which the end of requests under way is waited for."""
_PAUSE_SECONDS = 0.05
_PIECE = 2**16
_REQUEST = re.compile(rb"([!-~]{1,32}) ([!-~]{1,2048}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([ -~\x80-\xff\t]*)")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_PATHS = (b"/v1/chat/completions",)
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


class Proxy:
    """Listens in a job's folder until it is closed.

    Parameters
    ----------
    folder
        The job's folder, open, in which nobody else is yet.
    answer
        Given the body of each request, gives that of the answer; raises `RefusedError`.

    Raises
    ------
    OSError
        If the socket cannot be made.
    """

    def __init__(self, folder: int, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False
        try:
            self._listening.bind(f"/proc/self/fd/{folder}/{NAME}")
            os.chmod(NAME, 0o666, dir_fd=folder)  # noqa: S103 - the folder is the job's alone
            self._listening.listen(_WAITING)
        except BaseException:
            self._listening.close()
            raise
        self._begin()

    def _begin(self) -> None:
        """Start one more thread that waits for connections, where the others are busy."""
        with self._lock:
            if self._idle or self._closed or len(self._threads) >= _AT_A_TIME:
                return
            self._idle += 1
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Listen no more, and end what is being served."""
        with self._lock:
            self._closed = True
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes all who wait for connections
        end = time.monotonic() + _END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._listening.close()

    def _work(self) -> None:
        """Serve one connection after the other."""
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(_PAUSE_SECONDS)  # this process may have too many open files for now
                continue
            with self._lock:
                self._idle -= 1
                self._open.add(connection)
                if self._closed:
                    connection.close()
                    return
            self._begin()
            try:
                self._serve(connection)
            finally:
                with self._lock:
                    self._open.discard(connection)
                    self._idle += 1
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            status, body = 200, self._answer(_body_of(connection))
        except RefusedError as refused:
            status, body = refused.status, _error(refused.code, str(refused))
        except (OSError, _GoneError):
            return
        except Exception:  # noqa: BLE001 - our own mistake, which must not hang a job
            status, body = 500, _error("mistake", "the bench made a mistake")
        _send(connection, status, body)


class _GoneError(Exception):
    """Nobody is there any more who would read an answer."""


def _body_of(connection: socket.socket) -> bytes:
    """Read a request; return its body.

    Raises
    ------
    RefusedError
        If it is not the one kind of request that is answered.
    """
    end = time.monotonic() + _READ_SECONDS
    data = bytearray()
    while (head := data.find(b"\r\n\r\n")) < 0:
        if len(data) > _MOST_HEAD:
            raise RefusedError(431, "malformed", "the head of the request is too long")
        if not (block := _receive(connection, end)):
            raise _GoneError
        data += block
    if head > _MOST_HEAD:
        raise RefusedError(431, "malformed", "the head of the request is too long")
    length = _length(bytes(data[:head]))
    del data[: head + 4]
    while len(data) < length:
        if not (block := _receive(connection, end)):
            raise _GoneError
        data += block
    if len(data) > length:
        raise RefusedError(400, "malformed", "something follows the request")
    return bytes(data)


def _length(head: bytes) -> int:
    """Read the head of a request; return the length of its body."""
    first, *lines = head.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None:
        raise RefusedError(400, "malformed", "that is no request of HTTP/1.1")
    if request[2] not in _PATHS:
        raise RefusedError(404, "not_allowed", "there is nothing but /v1/chat/completions")
    if request[1] != b"POST":
        raise RefusedError(405, "not_allowed", "there is nothing but POST")
    lengths = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise RefusedError(400, "malformed", "a header is malformed")
        name = header[1].lower()
        if name == b"transfer-encoding":
            raise RefusedError(411, "not_allowed", "give a Content-Length, and no chunks")
        if name == b"content-length":
            lengths.append(header[2].strip(b" \t"))
    if len(lengths) != 1 or not _LENGTH.fullmatch(lengths[0]):
        raise RefusedError(411, "malformed", "give one Content-Length")
    length = int(lengths[0])
    if length > MOST_BYTES:
        raise RefusedError(413, "too_large", f"a request has at most {MOST_BYTES} bytes")
    return length


def _receive(connection: socket.socket, end: float) -> bytes:
    seconds_left = end - time.monotonic()
    if seconds_left <= 0:
        raise RefusedError(408, "too_slow", "the request did not come in time")
    connection.settimeout(seconds_left)
    try:
        return connection.recv(_PIECE)
    except TimeoutError:
        raise RefusedError(408, "too_slow", "the request did not come in time") from None


def _send(connection: socket.socket, status: int, body: bytes) -> None:
    head = [
        f"HTTP/1.1 {status} {_PHRASES.get(status, 'Error')}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    if status != 200:  # noqa: PLR2004 - OK
        head.append("x-should-retry: false")  # to clients that would by themselves
    connection.settimeout(_READ_SECONDS)
    with suppress(OSError):
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        # Unread bytes would make the closing of the connection take the answer away.
        connection.shutdown(socket.SHUT_WR)
        end = time.monotonic() + 1.0
        while status != 200 and time.monotonic() < end and connection.recv(_PIECE):  # noqa: PLR2004
            pass


def _error(code: str, message: str) -> bytes:
    error = {"message": message, "type": code, "code": code}
    return json.dumps({"error": error}, separators=(",", ":")).encode()
