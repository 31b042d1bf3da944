"""Programs that make environments and images: how they are run, and pip's settings for them.

People behind a company's proxy or mirror have configured pip.  uv reads none of that, so its
environment variables are filled in from pip's settings; what the user has set for uv itself
is left alone.

Needs the standard library only, as the set-up of the core environment (scripts/bootstrap.py) runs
before anything is installed.

Sources: pip's user guide, "Configuration"; uv's reference, "Environment variables" and
"TLS certificates".
"""

from __future__ import annotations

import ast
import os
import re
import signal
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from eqverdict.limited_process import PARSER_LOCK
from mdbench.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class SubprocessRegistry:
    """The programs of one runtime, which can all be ended, whatever thread waits for them."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def track(self) -> Iterator[None]:
        """Register what this thread runs meanwhile."""
        before = _OURS.set(self)
        try:
            yield
        finally:
            _OURS.reset(before)

    def end(self) -> None:
        """Kill all programs and their children, and let no other program begin for now."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            kill_group(process)

    def resume(self) -> None:
        """Allow programs to start again."""
        with self._lock:
            self._stopped = False

    def check(self) -> None:
        """Refuse to go on once they were ended.

        Raises
        ------
        UnavailableError
            Then.
        """
        if self._stopped:
            raise UnavailableError("It was stopped.", "The same command goes on from here.")

    def start(self, command: Sequence[str], options: dict[str, Any]) -> subprocess.Popen[str]:
        """Start one, unless they were ended."""
        with self._lock:
            self.check()
            process = subprocess.Popen(command, start_new_session=True, text=True, **options)
            self._running.add(process)
        return process

    def forget(self, process: subprocess.Popen[str]) -> None:
        """Remove a program that has ended."""
        with self._lock:
            self._running.discard(process)


_OURS: ContextVar[SubprocessRegistry | None] = ContextVar("programs", default=None)


def check_stopped() -> None:
    """Refuse to go on where the programs of this thread were ended.

    Raises
    ------
    UnavailableError
        Then.
    """
    if (ours := _OURS.get()) is not None:
        ours.check()


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a session of its own; it has ended when the block has.

    Where the block ends by an exception, such as Ctrl-C, the program is killed with all that it
    has started.

    Parameters
    ----------
    command
        The program and its arguments.
    **options
        Of `subprocess.Popen`.

    Raises
    ------
    UnavailableError
        If the programs of this thread were ended (`SubprocessRegistry.track`).
    OSError
        If there is no such program.
    """
    ours = _OURS.get() or SubprocessRegistry()
    process = ours.start(command, {"encoding": "utf-8", "errors": "replace", **options})
    try:
        with process:
            try:
                yield process
            except BaseException as error:
                if not isinstance(error, Exception):
                    ours.end()
                kill_group(process)
                process.wait()
                raise
        check_stopped()
    finally:
        ours.forget(process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a program that `running` started, with all that it has started in its session."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


SILENCE = 4.0
"""Seconds after which a sign of life is given."""


@contextmanager
def with_heartbeat(
    report: Callable[[str], None], doing: Callable[[], str], silence: float | None = None
) -> Iterator[Callable[[str], None]]:
    """Report what is being done and for how long, whenever nothing was reported for a while.

    Parameters
    ----------
    report
        Called with lines of text; from another thread, too.
    doing
        Returns in a few words what is being done.
    silence
        Seconds; default: `SILENCE`.

    Yields
    ------
    callable
        To be used instead of `report` meanwhile.
    """
    longest = SILENCE if silence is None else silence
    start = last = time.monotonic()
    done = threading.Event()

    def report_now(text: str) -> None:
        nonlocal last
        last = time.monotonic()
        report(text)

    def beat() -> None:
        while not done.wait(max(last + longest - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now - last >= longest:
                report_now(f"{doing()}, {now - start:.0f} s so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield report_now
    finally:
        done.set()
        thread.join()


def with_package_count(
    make: Callable[[Callable[[str], None]], None],
    what: str,
    prefix: Path,
    lock: Path,
    report: Callable[[str], None],
) -> Callable[[], None]:
    """Return a function that makes a virtual environment and reports how many packages are in.

    A lock holds the packages of every platform, so that not all of them need come.
    """

    def telling() -> None:
        with with_heartbeat(report, doing) as report_now:
            make(report_now)

    locked = re.findall(r"^[A-Za-z0-9]\S*==", lock.read_text("utf-8", "replace"), re.MULTILINE)

    def doing() -> str:
        count = sum(1 for _ in prefix.glob("lib/python*/site-packages/*.dist-info"))
        return f"{what}: installed {count} of {len(set(locked))} packages"

    return telling


_SECTIONS = ("global", "install", ":env:")
"""Sections that ``pip install`` reads; a later one overrides an earlier one."""
_PIP_SECONDS = 60.0


@dataclass(frozen=True)
class UvSettings:
    """Settings for uv.

    Attributes
    ----------
    environment
        Environment variables to add.
    arguments
        Arguments of ``uv pip`` for what has no environment variable.
    """

    environment: dict[str, str]
    arguments: tuple[str, ...] = ()


def read_pip_settings(python: str | Path) -> dict[str, str]:
    """Ask the pip of an interpreter for the settings in force.

    Parameters
    ----------
    python
        The interpreter; without pip there are no settings.

    Returns
    -------
    dict
        The value of each key, such as ``index-url``; several values in one are separated by
        white space.

    Raises
    ------
    UnavailableError
        If pip refuses its own settings.
    """
    command = [str(python), "-P", "-m", "pip", "config", "list"]  # not that of the working folder
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        timeout=_PIP_SECONDS,
        check=False,
    )
    if "No module named pip" in done.stderr:
        return {}
    if done.returncode != 0:
        raise UnavailableError(
            f"pip cannot read its settings: {redact(done.stderr.strip())}",
            f"To see where they come from: {python} -m pip config debug",
        )
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for line in done.stdout.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.partition(".")
        if section in sections and (text := _literal(value)):
            sections[section][key] = text
    return {key: value for section in _SECTIONS for key, value in sections[section].items()}


def _literal(text: str) -> str:
    with PARSER_LOCK:
        return str(ast.literal_eval(text))


def uv_settings(pip: Mapping[str, str], environ: Mapping[str, str]) -> UvSettings:
    """Translate pip's settings for uv.

    Parameters
    ----------
    pip
        Settings as `read_pip_settings` gives them.
    environ
        The environment in which uv will run; its settings for uv go before pip's.
    """
    no_index = _is_true(pip.get("no-index"))
    settings = {} if no_index else _indexes(pip, environ)
    # uv separates these by commas, unlike the rest.
    links = [link.replace(",", "%2C") for link in _reachable(pip.get("find-links", ""))]
    settings["UV_FIND_LINKS"] = ",".join(links)
    settings["UV_INSECURE_HOST"] = " ".join(pip.get("trusted-host", "").split())
    settings["UV_HTTP_TIMEOUT"] = _whole_seconds(pip.get("timeout") or pip.get("default-timeout"))
    settings["SSL_CLIENT_CERT"] = _path(pip.get("client-cert"))
    settings |= _certificates(pip, environ) | _proxies(pip, environ)
    environment = {
        name: value for name, value in settings.items() if value and not environ.get(name)
    }
    return UvSettings(environment, ("--no-index",) if no_index else ())


def redact(text: str) -> str:
    """Hide user names and passwords in the URLs of a text.

    Examples
    --------
    >>> redact("cannot reach https://me:secret@mirror.example/simple")
    'cannot reach https://***@mirror.example/simple'
    """
    return re.sub(r"(?<=://)[^/\s]*@", "***@", text)


def _indexes(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    indexes: dict[str, str] = {}
    default = pip.get("index-url")
    if default and not _any_of(environ, "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        indexes["UV_DEFAULT_INDEX"] = default
    extra = _reachable(pip.get("extra-index-url", ""))
    if extra and not _any_of(environ, "UV_INDEX", "UV_EXTRA_INDEX_URL"):
        indexes["UV_INDEX"] = " ".join(extra)
        # pip takes the best of all indexes; uv by itself stops at the first with the package.
        indexes["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return indexes


def _certificates(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    if _any_of(environ, "SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS"):
        return {}
    bundle = pip.get("cert") or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    if bundle:
        path = _path(bundle)
        return {"SSL_CERT_DIR" if Path(path).is_dir() else "SSL_CERT_FILE": path}
    # Without a setting pip trusts the system's certificates, uv only those that it carries.
    system = ssl.get_default_verify_paths()
    return {"UV_SYSTEM_CERTS": "true"} if system.cafile or system.capath else {}


def _proxies(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    proxy = pip.get("proxy", "")
    if not proxy or _any_of(environ, "ALL_PROXY", "HTTPS_PROXY", "all_proxy", "https_proxy"):
        return {}
    url = proxy if "://" in proxy else f"http://{proxy}"
    return {"HTTP_PROXY": url, "HTTPS_PROXY": url}


def _reachable(locations: str) -> list[str]:
    """Return folders as file URLs, less those that are missing: pip only warns of them."""
    urls = []
    for location in locations.split():
        url = urlsplit(location)
        if url.scheme in {"", "file"}:
            path = Path(_path(unquote(url.path) if url.scheme else location))
            if path.is_dir():
                urls.append(path.as_uri())
        else:
            urls.append(location)
    return urls


def _path(text: str | None) -> str:
    return str(Path(text).expanduser().absolute()) if text else ""


def _whole_seconds(text: str | None) -> str:
    try:
        return str(max(1, round(float(text)))) if text else ""
    except ValueError:
        return ""


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() in {"1", "true", "t", "yes", "y", "on"}


def _any_of(environ: Mapping[str, str], *names: str) -> bool:
    return any(environ.get(name) for name in names)
