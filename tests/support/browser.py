"""A headless browser, driven over a pipe by the DevTools protocol; nothing to install but it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)
SECONDS = 240.0
LOOK_SECONDS = 0.05


class Browser:
    """One page, offline, whose messages and requests are remembered.

    Attributes
    ----------
    problems
        Errors and warnings of the console, and exceptions.
    requests
        The addresses that the page asked for.
    """

    def __init__(
        self, profile: Path, *, width: int = 1400, height: int = 900, dark: bool = False
    ) -> None:
        assert PROGRAM is not None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._buffer = b""
        self._loaded: set[str] = set()  # the loader of each page whose load event has fired
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # DevTools reads from descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        # bash, as dash knows no descriptors above 9.
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, *options],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)
        offline = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.ask("Network.emulateNetworkConditions", offline=True, **offline)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)  # the browser ends with its pipe
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def open(self, path: Path, *, place: str = "", script: bool = True) -> None:
        """Open a file, and wait until it is loaded.

        The page before may still send its own load event: each event names its loader.
        """
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        opened = self.ask("Page.navigate", url=path.as_uri() + place)
        assert "errorText" not in opened, opened
        # A new fragment alone has no loader: the page stays.
        while "loaderId" in opened and opened["loaderId"] not in self._loaded:
            self._take()

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript on the page; what it throws fails the test."""
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true on the page.

        Between two looks the page has time for its own timers: some starve without.
        """
        end = time.monotonic() + SECONDS
        while not self.run(condition):
            assert time.monotonic() < end, condition
            time.sleep(LOOK_SECONDS)

    def picture(self, path: Path) -> None:
        """Save what is seen."""
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    def _take(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        given = message.get("params", {})
        match message.get("method"):
            case "Page.lifecycleEvent" if given["name"] == "load":
                self._loaded.add(given["loaderId"])
            case "Runtime.exceptionThrown":
                self.problems.append(str(given["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if given["type"] in {"error", "warning", "assert"}:
                self.problems.append(str(given["args"]))
            case "Log.entryAdded" if given["entry"]["level"] in {"error", "warning"}:
                self.problems.append(given["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
        return message
