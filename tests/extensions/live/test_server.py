"""The live page: made when there is something new, and shown to nobody who may not see it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
from browser import PROGRAM, Browser
from harness import ROOT, wait_until
from report_pages import html
from reporting import many

from mdbench.cli import main
from mdbench.errors import RecordsError, UsageError
from mdbench.extensions.live.server import AWAY_SECONDS, MOST_CLIENTS, LivePage, LiveServer, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN_LETTERS = 43
"""Of 32 random bytes."""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Making:
    """Makes pages that take a while by a clock, or fails with the given error."""

    def __init__(self, clock: Clock, seconds: float = 0.0) -> None:
        self.count = 0
        self.clock = clock
        self.seconds = seconds
        self.error: Exception | None = None

    def __call__(self) -> str:
        self.count += 1
        self.clock.now += self.seconds
        if self.error is not None:
            raise self.error
        return f"<body><p>page {self.count}</p></body>"


@pytest.fixture
def clock() -> Clock:
    return Clock()


def add(folder: Path, name: str = "a.jsonl", text: str = "{}\n") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(text)


def test_made_only_when_the_records_change(tmp_path: Path, clock: Clock) -> None:
    making = Making(clock)
    live = LivePage(tmp_path, making, title="t", clock=clock)
    add(tmp_path)
    assert live.look()
    versions = [json.loads(live.ask()[1])["version"]]
    for _ in range(5):
        clock.now += 10
        live.ask()
        assert not live.look()
    add(tmp_path)
    assert live.look()
    versions.append(json.loads(live.ask()[1])["version"])
    assert making.count == 2
    assert versions[0] != versions[1]
    assert b"page 2" in live.ask()[0]


@pytest.mark.parametrize(("seconds", "pause"), [(0.0, 3.0), (0.5, 3.0), (5.0, 20.0)])
def test_making_takes_a_fifth_of_the_time_at_most(
    tmp_path: Path, clock: Clock, seconds: float, pause: float
) -> None:
    making = Making(clock, seconds)
    live = LivePage(tmp_path, making, title="t", clock=clock)
    assert live.look()
    add(tmp_path)
    clock.now += pause - 0.01
    live.ask()
    assert not live.look()
    clock.now += 0.02
    live.ask()
    assert live.look()


def test_a_page_that_nobody_looks_at_is_not_made(tmp_path: Path, clock: Clock) -> None:
    making = Making(clock)
    live = LivePage(tmp_path, making, title="t", clock=clock)
    clock.now += AWAY_SECONDS + 1
    add(tmp_path)
    assert not live.look()
    live.ask()
    assert live.look()


def test_it_shows_why_there_is_no_page_and_keeps_the_last_one(tmp_path: Path, clock: Clock) -> None:
    making = Making(clock)
    live = LivePage(tmp_path / "none", making, title="<t>", clock=clock)
    making.error = UsageError("There are <no> records.", "Run.")
    assert live.look()
    page, state = live.ask()
    assert b"There are &lt;no&gt; records." in page
    assert b"&lt;t&gt;" in page
    assert json.loads(state)["trouble"] == ""
    waiting = json.loads(state)["version"]

    making.error = None
    clock.now += 10
    add(tmp_path / "none")
    assert live.look()
    good, state = live.ask()
    assert json.loads(state)["version"] != waiting

    for number, error in enumerate([RecordsError("line 2 is no record"), OSError("gone")]):
        making.error = error
        clock.now += 10
        add(tmp_path / "none")
        live.ask()
        assert live.look(), number
        assert live.ask()[0] == good
        assert json.loads(live.ask()[1])["trouble"] == str(error)
    making.error = None
    clock.now += 10
    add(tmp_path / "none")
    assert live.look()
    assert json.loads(live.ask()[1])["trouble"] == ""


@pytest.mark.extension("language_models")
def test_stamp_follows_what_sections_read(tmp_path: Path) -> None:
    before = stamp(tmp_path)
    add(tmp_path, "llm-probes/x.json")
    assert stamp(tmp_path) != before


def test_stamp_follows_the_records_and_nothing_else(tmp_path: Path) -> None:
    assert stamp(tmp_path / "none") == ""
    seen = [stamp(tmp_path)]
    for name, counts in [
        ("a.jsonl", True),
        ("a.jsonl", True),
        ("below/b.jsonl", True),
        ("logs/c.jsonl", False),
        ("report.html", False),
        ("other/x.json", False),
    ]:
        add(tmp_path, name)
        assert (stamp(tmp_path) != seen[-1]) == counts, name
        seen.append(stamp(tmp_path))
    one = stamp(tmp_path / "a.jsonl")
    add(tmp_path)
    assert one
    assert stamp(tmp_path / "a.jsonl") != one


WATCH = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from mdbench.cli import main
sys.exit(main(["watch", "results"]))
"""


@cache
def small_page() -> str:
    return html(many(2))


@pytest.fixture
def page(tmp_path: Path) -> LivePage:
    live = LivePage(tmp_path, small_page, title="t")
    assert live.look()
    return live


@pytest.fixture
def server(page: LivePage) -> Iterator[LiveServer]:
    with LiveServer(page) as served:
        yield served


@pytest.fixture
def open_server(page: LivePage) -> Iterator[LiveServer]:
    with LiveServer(page, host="0.0.0.0") as served:
        yield served


class Got(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str


def get(server: LiveServer, path: str, host: str | None = None, method: str = "GET") -> Got:
    with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)) as there:
        there.putrequest(method, path, skip_host=True)
        if host != "":
            there.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        there.endheaders()
        found = there.getresponse()
        return Got(found.status, found.headers, found.read().decode())


def test_it_serves_the_page_and_its_state(server: LiveServer, page: LivePage) -> None:
    assert server.loopback
    assert server.token == ""
    assert server.url == f"http://127.0.0.1:{server.server_port}/"
    found = get(server, "/?noise=2")
    assert found.status == 200
    assert found.text.encode() == page.ask()[0]
    assert found.headers["Content-Type"] == "text/html; charset=utf-8"
    assert found.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in found.headers
    # The page may ask for its state, and for nothing elsewhere.
    assert "default-src 'none'" in found.text
    assert "connect-src 'self'" in found.text
    assert json.loads(get(server, "/state").text) == json.loads(page.ask()[1])
    head = get(server, "/", method="HEAD")
    assert (head.status, head.text) == (200, "")


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/state/../../secret.txt",
        "/secret.txt",
        "/./",
        "/state/",
        "/%00",
        "/\xff",
        "secret.txt",
        "http://127.0.0.1/secret.txt",
        "*",
        "",
    ],
)
def test_no_path_leads_to_a_file(server: LiveServer, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("sesame", encoding="utf-8")
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as there:
        there.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
        there.shutdown(socket.SHUT_WR)
        found = b"".join(iter(lambda: there.recv(65536), b""))
    assert b"There is nothing here." in found or b"Error code: 400" in found
    assert b"sesame" not in found
    assert b"root:" not in found


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_it_can_only_be_read(server: LiveServer, method: str) -> None:
    assert get(server, "/", method=method).status == 501


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1:1", "[::1]", "127.1.2.3:9"])
def test_names_of_this_machine(server: LiveServer, host: str) -> None:
    # Another port is that of a tunnel.
    assert get(server, "/state", host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
        ),
        *("192.168.1.7", "[2001:db8::1]", "a@localhost", "localhost/evil", "localhost:80:80"),
        *("localhost evil.example", "evil.example\tlocalhost", "127.1", "0x7f000001", "[::1"),
    ],
)
def test_a_name_that_was_pointed_here_is_refused(server: LiveServer, host: str) -> None:
    # DNS rebinding: a web page elsewhere reads what it takes for its own server.
    found = get(server, "/", host)
    assert found.status == 403
    assert "<body>" not in found.text


def test_two_names_are_refused(server: LiveServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as there:
        there.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert b" 403 " in there.recv(64)


def test_another_address_takes_the_token(open_server: LiveServer) -> None:
    token = open_server.token
    assert len(token) == TOKEN_LETTERS
    assert open_server.url.endswith(f":{open_server.server_port}/{token}/")
    for path in (f"/{token}/", f"/{token}/state", f"/{token}/?x=1"):
        assert get(open_server, path).status == 200
        assert get(open_server, path, "192.168.1.7:80").status == 200
        assert get(open_server, path, socket.gethostname()).status == 200
        assert get(open_server, path, "evil.example").status == 403
    assert get(open_server, f"/{token}/etc/passwd").status == 404
    for path in (
        *("/", "/state", "//", f"/{token[:-1]}/", f"/{token}x/", f"/x{token}/", f"/?{token}"),
        *(f"/?token={token}", f"/%{ord(token[0]):02x}{token[1:]}/", f"/{token.swapcase()}/", "/é/"),
        f"/x/../{token}/",
    ):
        sent = path.encode().decode("latin-1")
        with socket.create_connection(("127.0.0.1", open_server.server_port), timeout=60) as there:
            there.sendall(f"GET {sent} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
            answer = b"".join(iter(lambda: there.recv(65536), b""))
        assert b" 403 " in answer[:30], path
        assert token.encode() not in answer


def test_tokens_are_not_repeated(page: LivePage) -> None:
    found = set()
    for _ in range(3):
        with LiveServer(page, host="0.0.0.0") as server:
            found.add(server.token)
    assert len(found) == 3


def test_silent_clients_give_way_to_one_that_asks(server: LiveServer) -> None:
    idle = [
        socket.create_connection(("127.0.0.1", server.server_port), timeout=60)
        for _ in range(2 * MOST_CLIENTS)
    ]
    try:
        assert wait_until(lambda: server._room._value == 0)
        for _ in range(3):
            assert get(server, "/").status == 200
    finally:
        for each in idle:
            each.close()
    assert wait_until(lambda: server._room._value == MOST_CLIENTS)
    assert get(server, "/").status == 200


def test_a_port_that_is_taken_is_said(server: LiveServer, page: LivePage) -> None:
    with pytest.raises(UsageError, match=r"Nothing can listen at 127\.0\.0\.1, port"):
        LiveServer(page, port=server.server_port)
    with pytest.raises(UsageError, match="Nothing can listen at no such name"):
        LiveServer(page, host="no such name")


def test_the_verb_ends_with_ctrl_c(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WATCH],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "results is not there yet.\n"
        line = process.stdout.readline()
        where = urlsplit(line.partition(": ")[2].split()[0])
        assert where.hostname == "127.0.0.1"
        with closing(http.client.HTTPConnection("127.0.0.1", where.port or 0, timeout=60)) as there:
            there.request("GET", "/")
            assert "This page fills by itself" in there.getresponse().read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_the_verb_reports_a_bad_address(capsys: pytest.CaptureFixture[str]) -> None:
    nice = os.nice(0)
    assert main(["watch", "--host", "203.0.113.1"]) == 2
    assert os.nice(0) == nice  # else all that is started from here would be slow
    assert "Nothing can listen at 203.0.113.1" in capsys.readouterr().err


def holds(browser: Browser, expression: str) -> bool:
    """Evaluate on the page; while another one is loaded there is nothing to evaluate on."""
    with suppress(AssertionError):
        return bool(browser.run(f"Boolean({expression})"))
    return False


@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")
def test_a_reader_stays_where_they_are(tmp_path: Path) -> None:
    shown = {"records": many(2)}
    live = LivePage(tmp_path / "results", lambda: html(shown["records"]), title="t")
    with LiveServer(live) as server, Browser(tmp_path / "profile") as browser:
        unlimited = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.ask("Network.emulateNetworkConditions", offline=False, **unlimited)
        browser.ask("Page.navigate", url=server.url)
        waiting = (
            "document.querySelector('form#filters') === null && document.querySelector('#live')"
        )
        assert wait_until(lambda: holds(browser, f"Boolean({waiting})"), 60)
        # The empty page fills.
        add(tmp_path / "results")
        live.ask()
        assert live.look()
        assert wait_until(
            lambda: holds(browser, "Boolean(document.querySelector('form#filters #filtered'))"), 60
        )
        assert wait_until(lambda: holds(browser, "Boolean(document.querySelector('#live'))"), 60)
        browser.run(
            """(() => {
            for (const fold of document.querySelectorAll("details")) fold.open = true;
            const form = document.querySelector("form#filters");
            form.noise.selectedIndex = 1;
            form.noise.dispatchEvent(new Event("change", {bubbles: true}));
            document.querySelector("table.board th button").click();
            document.querySelectorAll("details.system")[1].scrollIntoView();
            window.mine = true;
            })()"""
        )
        state = """JSON.stringify([
            [...document.querySelectorAll("details.system")].slice(0, 2).map((one) => one.open),
            document.querySelector("form#filters").noise.selectedOptions[0].textContent,
            document.querySelector("table.board th").getAttribute("aria-sort"),
        ])"""
        before = browser.run(state)
        assert json.loads(before)[0] == [True, True]
        assert json.loads(before)[2] == "ascending"
        top = "document.querySelectorAll('details.system')[1].getBoundingClientRect().top"
        height = browser.run(top)
        shown["records"] = many(6)
        add(tmp_path / "results")
        live._not_before = 0.0
        live.ask()
        assert live.look()
        assert wait_until(
            lambda: holds(browser, "!window.mine && Boolean(document.querySelector('#live'))"), 60
        )
        assert wait_until(lambda: holds(browser, "document.readyState === 'complete'"), 60)
        assert browser.run("document.querySelectorAll('details.system').length") == 6
        assert browser.run(state) == before
        assert abs(browser.run(top) - height) < 2
        assert browser.problems == []
    assert {urlsplit(each).netloc for each in browser.requests} <= {
        urlsplit(server.url).netloc,
        "",
    }
