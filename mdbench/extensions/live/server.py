"""The report of a run that goes on, served to a browser on this machine.

Nothing but the page and its state is served, both from memory: no address names a file.  A page
that nobody looks at is not made again, and one that is looked at takes a fifth of a core at most.

Who may read it: on a loopback address whoever is on this machine; on any other whoever has the
token, which is in the address.  Either way the name in the Host header has to be one of this
machine's.  So no web page elsewhere reads the report through a name that it points here (DNS
rebinding).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
import socket
import threading
import time
from contextlib import suppress
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any, Self

from mdbench.errors import MdbenchError, UsageError
from mdbench.reports.sections import folders_read

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_SECONDS = 1.0
"""Seconds between two checks for new records."""
PAUSE_SECONDS = 3.0
"""The least time between the making of two pages."""
IDLE = 4.0
"""Pause after a page was made, as a multiple of the time that it took."""
AWAY_SECONDS = 15.0
"""A page that nobody has asked for so long is not made again; an open one asks every 2 s."""
REQUEST_SECONDS = 10.0
"""Seconds that a client may be silent within its request, or while it is answered."""
MOST_CLIENTS = 32
"""Requests that are served at a time; of more, those that have asked for nothing yet give way."""
_GIVE_WAY_SECONDS = 0.5

_POLICY = re.compile(r'(<meta http-equiv="Content-Security-Policy" content="[^"]*)(">)')
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_WAITING = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; \
padding: 0 1rem; overflow-wrap: anywhere; }}</style>
</head>
<body>
<h1>{title}</h1>
<p>{text}</p>
<p>This page fills by itself as jobs end.</p>
</body>
</html>
"""


def stamp(folder: Path) -> str:
    """Return the state of the files of records: where the text differs, there is something new.

    Parameters
    ----------
    folder
        Of results, or one file; need not exist.
    """
    states, others = [], folders_read()
    with suppress(OSError):
        if folder.is_file():
            states.append(_state_of(folder))
    for folder_below, below, names in os.walk(folder):
        if "logs" in below:  # as many files as jobs
            below.remove("logs")
        read = Path(folder_below).name in others
        for name in names:
            if name.endswith(".jsonl") or (read and name.endswith(".json")):
                with suppress(OSError):
                    states.append(_state_of(Path(folder_below, name)))
    return "\n".join(sorted(states))


def _state_of(path: Path) -> str:
    status = path.stat()
    return f"{path} {status.st_ino} {status.st_size} {status.st_mtime_ns}"


class LivePage:
    """The newest page of a folder of results, made again when its records have changed.

    Parameters
    ----------
    folder
        Of results; need not exist yet.
    make
        Makes the page; raises `MdbenchError` where it cannot, such as before there are records.
    title
        The heading until there is a page.
    clock
        Seconds, of which only differences count.
    """

    def __init__(
        self,
        folder: Path,
        make: Callable[[], str],
        *,
        title: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._make = make
        self._clock = clock
        self._wanted_until = clock() + AWAY_SECONDS
        self._not_before = clock()
        self._stamp: str | None = None
        self._title = title
        self._trouble = ""
        self._made = False
        self._take(self._waiting("Nothing has been read yet."))

    def ask(self) -> tuple[bytes, str]:
        """Return the page and its state, a JSON object, as they are now."""
        self._wanted_until = self._clock() + AWAY_SECONDS
        return self._shown

    def look(self) -> bool:
        """Make the page again if it is time to and there is something new; return whether."""
        now = self._clock()
        if now > self._wanted_until or now < self._not_before:
            return False
        # Taken before: what is written meanwhile is for the next one.
        stamp_now = stamp(self._folder)
        if stamp_now == self._stamp:
            return False
        try:
            html, self._trouble = self._make(), ""
            self._made = True
        except (MdbenchError, OSError) as error:
            self._trouble = error.message if isinstance(error, MdbenchError) else str(error)
            html = "" if self._made else self._waiting(self._trouble)
        self._stamp = stamp_now
        end = self._clock()
        self._not_before = end + max(PAUSE_SECONDS, IDLE * (end - now))
        self._take(html)
        return True

    def follow(self) -> None:
        """Look again and again, until an exception ends it."""
        while True:
            self.look()
            time.sleep(LOOK_SECONDS)

    def _waiting(self, text: str) -> str:
        return _WAITING.format(title=escape(self._title), text=escape(text))

    def _take(self, html: str) -> None:
        """Show a page from now on, or with an empty text the one of before."""
        if html:
            version = hashlib.sha256(html.encode()).hexdigest()[:16]
            self._version, self._page = version, _live(html, version).encode()
        state = {"version": self._version, "trouble": self._trouble if self._made else ""}
        self._shown = self._page, json.dumps(state)


def _live(html: str, version: str) -> str:
    """Return the page with code that asks for its successor, and looks as before then."""
    script = (files("mdbench.extensions.live") / "templates" / "live.js").read_text(
        encoding="utf-8"
    )
    html = _POLICY.sub(r"\1; connect-src 'self'\2", html, count=1)
    head, end, tail = html.rpartition("</body>")
    return f'{head}<script data-version="{version}">\n{script}</script>\n{end}{tail}'


class LiveServer(ThreadingHTTPServer):
    """Server of a live page, which is a context: it ends when that is left.

    Parameters
    ----------
    host
        The address, or name, to listen at.
    port
        0 for a free one.

    Attributes
    ----------
    token
        What has to be in the address; empty on a loopback address.
    url
        Where the page is.

    Raises
    ------
    UsageError
        If nobody can listen there.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False
    request_queue_size = MOST_CLIENTS

    def __init__(self, page: LivePage, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.page = page
        self._room = threading.BoundedSemaphore(MOST_CLIENTS)
        self._silent: dict[socket.socket, None] = {}
        self._given = host
        try:
            where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family, address = where[0], where[4]
            super().__init__((str(address[0]), int(address[1])), _Handler)
        except (OSError, UnicodeError, OverflowError) as error:
            raise UsageError(
                f"Nothing can listen at {host}, port {port}: {error}.",
                "Leave --port out for a free one; --host is an address of this machine, and by "
                "default 127.0.0.1.",
            ) from None
        bound = ipaddress.ip_address(str(self.server_address[0]).partition("%")[0])
        self.loopback = bound.is_loopback
        self.token = "" if self.loopback else secrets.token_urlsafe(32)
        shown = socket.gethostname() if bound.is_unspecified else host
        shown = f"[{shown}]" if ":" in shown else shown
        self.url = f"http://{shown}:{self.server_address[1]}/" + (self.token and f"{self.token}/")
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def server_bind(self) -> None:
        """Bind, without asking anybody for this machine's name, which may take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self._given, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a request in a thread of its own, up to their largest number."""
        if not self._room.acquire(blocking=False):
            # The one that has been silent for longest gives way.
            oldest = next(iter(self._silent.copy()), None)
            if oldest is not None:
                self.heard(oldest)
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            if not self._room.acquire(timeout=_GIVE_WAY_SECONDS):
                self.shutdown_request(request)
                return
        self._silent[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.heard(request)
            self._room.release()

    def heard(self, request: socket.socket) -> None:
        """Note that a client has asked for something, or has gone."""
        self._silent.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing of clients that hang up."""

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this machine, and no name that others point here."""
        match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\s]+)(?::[0-9]{1,5})?", host)
        if match is None:
            return False
        name = match[1].strip("[]").rstrip(".").lower()
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            names = {"localhost"}
            if not self.loopback:
                names |= {self._given.lower(), socket.gethostname().lower()}
            return name in names
        return address.is_loopback or not self.loopback


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = REQUEST_SECONDS
    server_version = "mdbench"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Print nothing: neither requests nor the token."""

    def _answer(self, *, body: bool) -> None:
        self.server.heard(self.connection)
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.server.knows(hosts[0]):
            self._send(HTTPStatus.FORBIDDEN, "This name is none of this machine's.", body=body)
            return
        path = self.path.partition("?")[0]
        if self.server.token:
            token = path.removeprefix("/").partition("/")[0]
            if not hmac.compare_digest(token.encode(), self.server.token.encode()):
                self._send(
                    HTTPStatus.FORBIDDEN, "The token of the printed address is missing.", body=body
                )
                return
            path = path.removeprefix(f"/{token}")
        match path:
            case "/":
                self._send(HTTPStatus.OK, self.server.page.ask()[0], "text/html", body=body)
            case "/state":
                state = self.server.page.ask()[1]
                self._send(HTTPStatus.OK, state, "application/json", body=body)
            case _:
                self._send(HTTPStatus.NOT_FOUND, "There is nothing here.", body=body)

    def _send(
        self, status: HTTPStatus, content: bytes | str, kind: str = "text/plain", *, body: bool
    ) -> None:
        content = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)
