"""The one address that is asked: an OpenAI-compatible server, over HTTP or HTTPS.

Connections are kept and used again.  Proxies are those of the environment (``https_proxy``,
``no_proxy``), certificates those that the system or the user trusts.  No redirect is followed: what
was named is what is asked.  What comes back is bounded in size and in time, whatever it is.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from mdbench.errors import UsageError
from mdbench.language_models.exchanges import NO_KEY, Completion, Usage, dumped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.language_models.exchanges import Exchange, Key

MOST_BYTES: Final = 2**22
"""Bytes of an answer."""
CALL_SECONDS: Final = 600.0
"""Seconds that one attempt may take: local models are slow."""
CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file with certificates to be trusted; the first that is set counts."""
_CONNECT_SECONDS = 20.0
_CHECK_SECONDS = 0.25
_LOOKS_IN_VAIN = 8
_MOST_IDLE = 8
_PIECE = 2**16
_PATH = "/chat/completions"
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""Errors of a connection that the server has closed while nobody used it."""


class EndpointError(Exception):
    """The endpoint did not answer at all; the message has the reason, without naming it."""


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

    def ask(self, body: bytes, *, owner: object = None, seconds: float | None = None) -> HttpReply:
        """Post a request, and read the answer.

        Parameters
        ----------
        owner
            Who asks; see `abort`.
        seconds
            How long it may take, where that is less than what any call may.

        Raises
        ------
        EndpointError
            If there is no answer, or too long a one.
        """
        most = self._seconds if seconds is None else min(self._seconds, seconds)
        end = time.monotonic() + most
        used = self._take()
        if used is not None:
            with suppress(*_STALE):
                return self._once(used, body, end, owner)
        return self._once(self._new(most), body, end, owner)

    def abort(self, owner: object) -> None:
        """End the calls of somebody who waits no more for their answers."""
        self._watch.cut(owner)

    def close(self) -> None:
        """Close all connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def _once(
        self, connection: http.client.HTTPConnection, body: bytes, end: float, owner: object
    ) -> HttpReply:
        reused = connection.sock is not None
        keep = False
        if connection.sock is not None:
            connection.sock.settimeout(max(0.01, end - time.monotonic()))
        try:
            with self._watch.over(connection, end, owner) as cut:
                try:
                    headers = {"Content-Type": "application/json", "Accept": "application/json"}
                    connection.request("POST", self._target, body, headers | self._told())
                    if connection.sock is not None:
                        connection.sock.settimeout(max(0.01, end - time.monotonic()))
                    response = connection.getresponse()
                    content = _read(response, end)
                    keep = not response.will_close
                except (OSError, http.client.HTTPException, ValueError) as error:
                    if reused and isinstance(error, _STALE) and not cut.is_set():
                        raise
                    raise EndpointError(_why(error, late=cut.is_set())) from None
            if cut.is_set():
                raise EndpointError(_why(None, late=True))
            return HttpReply(response.status, content, _pause(response.getheader("Retry-After")))
        finally:
            if keep:
                self._give_back(connection)
            else:
                connection.close()

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
        with self._lock:
            return self._idle.pop() if self._idle else None

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
    found = bytearray()
    while block := response.read1(_PIECE):
        found += block
        if len(found) > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    if response.length:
        raise ValueError("an answer that breaks off")
    response.close()  # else the connection could not be used again
    return bytes(found)


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


def _pause(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", text) else None


class _DeadlineWatch:
    """Cuts calls whose time is up: the clock of a socket starts again with each byte."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(
        self, connection: http.client.HTTPConnection, end: float, owner: object
    ) -> Iterator[threading.Event]:
        """Watch over a call until the context ends; return what is set where it was cut."""
        call = _Call(connection, end, owner)
        with self._lock:
            self._calls[id(call)] = call
            if self._thread is None:
                self._thread = threading.Thread(target=self._check, daemon=True)
                self._thread.start()
        try:
            yield call.was_cut
        finally:
            with self._lock:
                del self._calls[id(call)]

    def cut(self, owner: object) -> None:
        """Cut the calls of an owner."""
        with self._lock:
            for call in self._calls.values():
                if call.owner is owner:
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
    owner: object
    was_cut: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        self.was_cut.set()
        if self.connection.sock is not None:
            with suppress(OSError):
                # The plain socket's: TLS would send a message at its end.
                socket.socket.shutdown(self.connection.sock, socket.SHUT_RDWR)


_ATTEMPTS: Final = 4
"""Number of times that a request is sent: once, and again three times."""
PAUSES: Final = (0.5, 1.0, 2.0)
"""Seconds before each further attempt, at least."""
_LONGEST_PAUSE = 30.0
_AGAIN = {408, 425, 429, 500, 502, 503, 504, 529}
_NOT_OURS = {401, 402, 403, 404, 405, 410}
"""With these no request will ever be answered, whatever it asks."""
_EXPLAINS = {400, 404, 413, 422}
"""Statuses with which an endpoint reports what it does not accept."""
_LONGEST_REASON = 300
_LONGEST_NAME = 200
_LETTERS_A_TOKEN = 4
_MOST_COUNTED = 10**9


class LiveResponder:
    """Has the requests of one job answered by an endpoint.

    Parameters
    ----------
    pauses
        Seconds before each further attempt at a request, at least.

    Attributes
    ----------
    trouble
        Why the endpoint answers nobody; empty where it does, or did.
    missed
        Always empty: of a replay.
    """

    missed = ""

    def __init__(self, endpoint: Endpoint, *, pauses: tuple[float, ...] = PAUSES) -> None:
        self._endpoint = endpoint
        self._pauses = pauses
        self._over = threading.Event()
        self._answered = False
        self.trouble = ""

    def complete(self, begun: Exchange, left: Callable[[], float | None]) -> Exchange:
        """Return a request with its answer, or with the reason why there is none.

        Parameters
        ----------
        left
            Gives the seconds that the endpoint may take; None for no limit.
        """
        body = dumped(begun.request)
        found, attempt, took = begun, 0, 0.0
        while not self._over.is_set():
            attempt += 1
            most = left()
            start = time.monotonic()
            found, again, pause = self._try(begun, body, None if most is None else most - took)
            took += time.monotonic() - start
            found = found.model_copy(update={"latency_s": took, "attempts": attempt})
            if not again or attempt == _ATTEMPTS or (most is not None and took >= most):
                break
            least = self._pauses[min(attempt, len(self._pauses)) - 1]
            self._over.wait(min(_LONGEST_PAUSE, max(least, pause or 0.0)))
        if self._over.is_set() and found.reply is None:
            return found.model_copy(update={"error": "the job had ended"})
        return found

    def _try(
        self, begun: Exchange, body: bytes, seconds: float | None
    ) -> tuple[Exchange, bool, float | None]:
        """Ask once; return whether to ask again, and after how long."""
        try:
            reply = self._endpoint.ask(body, owner=self, seconds=seconds)
        except EndpointError as error:
            if not self._over.is_set():
                self._despair(f"the endpoint of --llm-url does not answer: {error}")
            return begun.model_copy(update={"error": f"no answer: {error}"}), True, None
        if reply.status == http.client.OK:
            return self._read(begun, reply), False, None
        reason = f"the endpoint answered {reply.status} {_phrase(reply.status)}".rstrip()
        if reply.status in _EXPLAINS and (why := _explanation(reply.body)):
            reason += f": {self._endpoint.key.hidden(why)}"
        if reply.status in _NOT_OURS:
            self._despair(reason)
        again = reply.status in _AGAIN
        return begun.model_copy(update={"error": reason}), again, reply.retry_after

    def _read(self, begun: Exchange, reply: HttpReply) -> Exchange:
        try:
            text = self._endpoint.key.hidden(reply.body.decode())
            found = _read_completion(begun, json.loads(text))
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            error = "the endpoint's answer is no chat completion"
            return begun.model_copy(update={"error": error})
        self._answered = True
        self.trouble = ""
        return found

    def _despair(self, why: str) -> None:
        if not self._answered:
            self.trouble = why

    def hang_up(self) -> None:
        """Cancel what is under way."""
        self._over.set()
        self._endpoint.abort(self)

    def close(self) -> None:
        """Do nothing: the connections serve other jobs."""


def _phrase(status: int) -> str:
    return http.client.responses.get(status, "")


def _explanation(body: bytes) -> str:
    try:
        error = json.loads(body)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return _encodable(" ".join(str(text).split()))[:_LONGEST_REASON]


def _read_completion(begun: Exchange, answer: dict[str, Any]) -> Exchange:
    """Read a chat completion; raises whatever a wrong shape causes."""
    choice = answer["choices"][0]
    content = choice["message"].get("content")
    text = "" if content is None else _text(content)
    usage = answer.get("usage") or {}
    counted: list[Any] = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    estimated = not all(isinstance(n, int) and 0 <= n <= _MOST_COUNTED for n in counted)
    if estimated:
        prompt = sum(len(each["content"]) for each in begun.request["messages"])
        counted = [-(-prompt // _LETTERS_A_TOKEN), -(-len(text) // _LETTERS_A_TOKEN)]
    return begun.model_copy(
        update={
            "reply": Completion(text=text, finish_reason=_name(choice.get("finish_reason")) or ""),
            "usage": Usage(
                prompt_tokens=int(counted[0]),
                completion_tokens=int(counted[1]),
                estimated=estimated,
            ),
            "model": _name(answer.get("model")),
            "fingerprint": _name(answer.get("system_fingerprint")),
        }
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return _encodable(value)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _name(value: Any) -> str | None:
    return None if value is None else _text(value)[:_LONGEST_NAME]
