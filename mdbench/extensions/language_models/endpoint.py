"""The one address that is asked: an OpenAI-compatible server, over HTTP or HTTPS.

Connections are kept and used again.  Proxies are those of the environment (``https_proxy``,
``no_proxy``), certificates those that the system or the user trusts.  No redirect is followed: what
was named is what is asked.  What comes back is bounded in size and in time, whatever it is.
"""

from __future__ import annotations

import base64
import http.client
import os
import re
import select
import socket
import ssl
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from mdbench.errors import UsageError
from mdbench.extensions.language_models.keys import NO_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdbench.extensions.language_models.keys import Key

MOST_BYTES: Final = 2**22
"""Bytes of an answer."""
CALL_SECONDS: Final = 600.0
"""Seconds that one attempt may take: local models are slow."""
CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file with certificates to be trusted; the first that is set counts."""
_CONNECT_SECONDS = 20.0
_CHECK_SECONDS = 0.25
_LOOKS_IN_VAIN = 8
_MOST_IDLE = 64
_PIECE = 2**16
_PATH = "/chat/completions"


class EndpointError(Exception):
    """The endpoint did not answer at all; the message has the reason, without naming it.

    Attributes
    ----------
    sent
        Whether it has the request, and has not refused it, so that it may be paid all the same.
    """

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


@dataclass(frozen=True)
class HttpReply:
    """The answer of an endpoint.

    Attributes
    ----------
    retry_after
        Seconds that it asks to be left in peace; None where it names no time.
    """

    status: int
    body: bytes
    retry_after: float | None = None


class Endpoint:
    """An OpenAI-compatible server; may be used from several threads.

    Parameters
    ----------
    url
        Up to and with the version, such as ``http://localhost:8000/v1``.
    key
        Sent with each request.

    Raises
    ------
    UsageError
        If it is no address that can be asked.
    """

    def __init__(self, url: str, key: Key = NO_KEY, *, seconds: float = CALL_SECONDS) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in {"http", "https"} or not parts.hostname or port == -1:
            raise UsageError(
                f"--llm-url is {url!r}.", "E.g. --llm-url http://localhost:8000/v1, or https://..."
            )
        if parts.username or parts.query or parts.fragment:
            raise UsageError(
                "--llm-url has a user, a query or a fragment.",
                "Give the address alone; the key comes by --llm-key-env or --llm-key-file.",
            )
        self._host, self._tls = parts.hostname, parts.scheme == "https"
        self._port = port or (443 if self._tls else 80)
        path = parts.path.rstrip("/").removesuffix(_PATH)
        self._path = (path or "/v1") + _PATH
        if not re.fullmatch(r"[!-~]+", self._path):
            raise UsageError(f"--llm-url is {url!r}.", "Its path has letters that no path has.")
        self._key = key
        self._seconds = seconds
        self._context = _trusting() if self._tls else None
        self._proxy = _proxy_for(parts.scheme, self._host, self._port)
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._watch = _DeadlineWatch()

    def __repr__(self) -> str:
        return "Endpoint()"

    @property
    def key(self) -> Key:
        """The key, which shows itself to nobody."""
        return self._key

    def ask(
        self, body: bytes, *, over: threading.Event | None = None, seconds: float | None = None
    ) -> HttpReply:
        """Post a request, and read the answer.

        Parameters
        ----------
        over
            Set where nobody waits for the answer any more; see `abort`.
        seconds
            How long it may take, where that is less than what any call may.

        Raises
        ------
        EndpointError
            If there is no answer, or too long a one.
        """
        most = self._seconds if seconds is None else min(self._seconds, seconds)
        end = time.monotonic() + most
        connection = self._take() or self._new(most)
        sent = keep = False
        try:
            with self._watch.over(connection, end, over) as cut:
                try:
                    if connection.sock is None and not cut.is_set():
                        connection.connect()
                    if cut.is_set():
                        raise TimeoutError
                    connection.sock.settimeout(max(0.01, end - time.monotonic()))
                    headers = {"Content-Type": "application/json", "Accept": "application/json"}
                    connection.request("POST", self._target, body, headers | self._told())
                    sent = True
                    response = connection.getresponse()
                    sent = response.status < http.client.BAD_REQUEST  # errors are not paid
                    has_end = response.chunked or response.length is not None
                    content = _read(response, end)
                    if cut.is_set() and not has_end:
                        raise TimeoutError  # what was read may be a part
                    keep = not response.will_close and not cut.is_set()
                except (OSError, http.client.HTTPException, ValueError) as error:
                    raise EndpointError(_why(error, late=cut.is_set()), sent=sent) from None
            pause = _pause(response.getheader("Retry-After"), response.getheader("Date"))
            return HttpReply(response.status, content, pause)
        finally:
            if keep:
                self._give_back(connection)
            else:
                connection.close()

    def abort(self, over: threading.Event) -> None:
        """End the calls of somebody who waits no more for their answers, and has set `over`."""
        self._watch.cut(over)

    def close(self) -> None:
        """Close all connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    @property
    def _target(self) -> str:
        if self._proxy is None or self._tls:
            return self._path
        return f"http://{_bracketed(self._host)}:{self._port}{self._path}"

    def _told(self) -> dict[str, str]:
        headers = self._key.headers()
        if self._proxy is not None and not self._tls:
            headers |= {"Host": f"{_bracketed(self._host)}:{self._port}", **self._proxy.headers}
        return headers

    def _take(self) -> http.client.HTTPConnection | None:
        """Return a connection that was kept, and that the server has not closed meanwhile."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            watch = select.poll()
            watch.register(connection.sock, select.POLLIN)
            if not watch.poll(0):  # else its end is there to be read
                return connection
            connection.close()

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _new(self, seconds: float) -> http.client.HTTPConnection:
        timeout = min(_CONNECT_SECONDS, seconds)
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.host, self._proxy.port
        if self._context is None:
            return _Prompt(host, port, timeout=timeout)
        connection = _PromptTls(host, port, timeout=timeout, context=self._context)
        if self._proxy is not None:
            connection.set_tunnel(self._host, self._port, self._proxy.headers)
        return connection


class _Prompt(http.client.HTTPConnection):
    """Sends what it is given at once."""

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _PromptTls(http.client.HTTPSConnection):
    """The same, for HTTPS."""

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@dataclass(frozen=True)
class _HttpProxy:
    """A proxy of the user's network."""

    host: str
    port: int
    headers: dict[str, str]


def _proxy_for(scheme: str, host: str, port: int) -> _HttpProxy | None:
    address = urllib.request.getproxies().get(scheme)
    if not address or urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if not parts.hostname:
        raise UsageError(f"The environment names a proxy for {scheme} that is no address.")
    headers = {}
    if parts.username:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    return _HttpProxy(parts.hostname, parts.port or 80, headers)


def _trusting() -> ssl.SSLContext:
    named = next((os.environ[name] for name in CERTIFICATES if os.environ.get(name)), None)
    try:
        return ssl.create_default_context(cafile=named)
    except OSError as error:
        raise UsageError(
            f"The certificates of {named} cannot be read: {error}.",
            f"They are named by one of: {', '.join(CERTIFICATES)}.",
        ) from None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _read(response: http.client.HTTPResponse, end: float) -> bytes:
    data = bytearray()
    while block := response.read1(_PIECE):
        data += block
        if len(data) > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    if response.length:
        raise ValueError("an answer that breaks off")
    response.close()  # else the connection could not be used again
    return bytes(data)


def _why(error: Exception | None, *, late: bool) -> str:
    """Return why there is no answer; the message of a library may name the address."""
    if late or isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or 'unknown reason'}"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens at that address"
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return str(error)[:200]
    return f"the connection failed: {type(error).__name__}"


def _pause(text: str | None, now: str | None) -> float | None:
    """Read ``Retry-After``: seconds, or a time, which is compared with the server's own clock."""
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text.strip()):
        return float(text)
    until, since = _date(text), _date(now or "")
    if until is None:
        return None
    return max(0.0, (until - (since or datetime.now(UTC))).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


class _DeadlineWatch:
    """Cuts calls whose time is up: the clock of a socket starts again with each byte."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(
        self, connection: http.client.HTTPConnection, end: float, over: threading.Event | None
    ) -> Iterator[threading.Event]:
        """Watch over a call until the context ends; return what is set where it was cut."""
        call = _Call(connection, end, over)
        with self._lock:
            if over is not None and over.is_set():
                call.was_cut.set()
            self._calls[id(call)] = call
            if self._thread is None:
                self._thread = threading.Thread(target=self._check, daemon=True)
                self._thread.start()
        try:
            yield call.was_cut
        finally:
            with self._lock:
                del self._calls[id(call)]

    def cut(self, over: threading.Event) -> None:
        """Cut the calls for whose answers nobody waits any more."""
        with self._lock:
            for call in self._calls.values():
                if call.over is over:
                    call.cut()

    def _check(self) -> None:
        idle = 0
        while idle < _LOOKS_IN_VAIN:
            time.sleep(_CHECK_SECONDS)
            now = time.monotonic()
            with self._lock:
                idle = 0 if self._calls else idle + 1
                if idle == _LOOKS_IN_VAIN:
                    self._thread = None
                for call in self._calls.values():
                    if now > call.end:
                        call.cut()


@dataclass
class _Call:
    """A call that is under way."""

    connection: http.client.HTTPConnection
    end: float
    over: threading.Event | None
    was_cut: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        self.was_cut.set()
        if self.connection.sock is not None:
            with suppress(OSError):
                # The plain socket's: TLS would send a message at its end.
                socket.socket.shutdown(self.connection.sock, socket.SHUT_RDWR)
