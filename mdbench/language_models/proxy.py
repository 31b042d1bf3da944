"""The socket in a job's folder: one path, one method, one request a connection.

Nothing of HTTP is taken over from the room but the body of a request: what is odd is refused, and
each connection is closed after its answer, so that nothing can be smuggled behind a request.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mdbench.language_models.question import MOST_BYTES, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NAME", "Proxy"]

NAME: Final = "language-model"
"""The socket's name in a job's folder."""
_MOST_HEAD = 2**14
_AT_A_TIME = 16
"""Connections of a job that are served at once; others wait."""
_WAITING = 64
_READ_SECONDS = 10.0
"""How long a request may take to come, and an answer to be taken."""
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
        self._over = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._free = threading.Semaphore(_AT_A_TIME)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._serving: set[threading.Thread] = set()
        self._closed = False
        try:
            place = f"/proc/self/fd/{folder}/{NAME}"
            self._listening.bind(place)
            os.chmod(NAME, 0o666, dir_fd=folder)  # noqa: S103 - the folder is the job's alone
            self._listening.listen(_WAITING)
            self._listening.setblocking(False)  # who waited may have gone again
        except BaseException:
            self._listening.close()
            os.close(self._over)
            raise
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more, and end what is being served; once."""
        self._closed = True
        os.eventfd_write(self._over, 1)
        self._free.release()
        self._thread.join()
        self._listening.close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            serving = list(self._serving)
        for thread in serving:
            thread.join()
        os.close(self._over)

    def _accept(self) -> None:
        while True:
            self._free.acquire()
            heard: list[socket.socket | int] = [self._listening, self._over]
            ready = select.select(heard, [], [])[0]
            if self._closed:
                return
            try:
                connection, _ = self._listening.accept()
            except OSError:
                self._free.release()
                if not ready:
                    return
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._open.add(connection)
                self._serving.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            try:
                status, body = 200, self._answer(_body_of(connection))
            except RefusedError as refused:
                status, body = refused.status, _error(refused.code, str(refused))
            except (OSError, _GoneError):
                return
            except Exception:  # noqa: BLE001 - our own mistake, which must not hang a job
                status, body = 500, _error("mistake", "the bench made a mistake")
            _send(connection, status, body)
        finally:
            with self._lock:
                self._open.discard(connection)
                self._serving.discard(threading.current_thread())
            connection.close()
            self._free.release()


class _GoneError(Exception):
    """Nobody is there any more who would read an answer."""


def _body_of(connection: socket.socket) -> bytes:
    """Read a request; give its body.

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
    """Read the head of a request; give the length of its body."""
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
    left = end - time.monotonic()
    if left <= 0:
        raise RefusedError(408, "too_slow", "the request did not come in time")
    connection.settimeout(left)
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
