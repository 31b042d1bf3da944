"""The methods' own environments: made by uv, each from its hashed lock, once."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from uv import find_uv_bin

from mdbench.errors import MethodError, NotFetchedError, UnavailableError
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments.contents import Skeleton, remove_bytecode
from mdbench.runtimes.environments.locks import (
    UV_FILE,
    check_lock,
    lock_content,
    read_pins,
    uv_file,
)
from mdbench.runtimes.environments.subprocesses import (
    read_pip_settings,
    redact,
    uv_settings,
    with_package_count,
)
from mdbench.runtimes.environments.uv import (
    STAMP,
    build_once,
    compile_bytecode,
    find_made,
    is_whole,
    run_uv,
    sealed_mb,
)
from mdbench.runtimes.job_folder import Scratch, remove_tree
from mdbench.runtimes.usage import can_make, make_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mdbench.runtimes.environments.subprocesses import UvSettings

_ANSWER_SECONDS = 10.0
_FOR_UV = ("UV_", "SSL_")
_NAMES = ("/etc/resolv.conf", "/etc/hosts", "/etc/ca-certificates")
"""Files of the machine that the network needs."""

BUILD_LOCK = "build.lock"
"""In the lock's folder: what builds need, pinned with hashes; made from ``build.in``."""
_BUILD_MB = 4096
"""Memory that the builds of an environment may use together."""
_BUILD_PROCESSES = 4096
_REMOVAL_SECONDS = 300.0
_EACH_LIMITED = f'ulimit -v {4 * _BUILD_MB * 1024}; exec "$@"'
"""Where the kernel does not count them together: each by its addresses, of which uv takes many."""

Wrap: TypeAlias = "Callable[[list[str], dict[str, str]], list[str]]"


@dataclass(frozen=True)
class Environment:
    """A virtual environment that is whole.

    Attributes
    ----------
    prefix
        Its folder.
    python
        Its interpreter.
    lock_sha256
        SHA-256 of the lock that it was made from.
    python_version
        The version of its interpreter, such as ``3.11.7``.
    packages
        The versions of all installed packages, by name.
    """

    prefix: Path
    python: Path
    lock_sha256: str
    python_version: str
    packages: dict[str, str] = field(repr=False)


def prepare(
    method_name: str,
    lock: Path,
    requires_python: str,
    home: Path,
    *,
    build: bool = False,
    fetch: Path | None = None,
    sources: Sequence[Path] = (),
    on_line: Callable[[str], None] | None = None,
) -> Environment:
    """Make a method's environment, or find it made.

    It lies at ``<home>/envs/env-<hash>``, where the hash covers the lock and the Python: methods
    with one lock share it, a lock that was edited gets a new environment, and the old one stays as
    it is.  It is read-only, and made again if it is no longer what was made.

    Parameters
    ----------
    method_name
        The method's name.
    lock
        Its ``requirements.lock``.
    requires_python
        The Pythons that it runs on, such as ``>=3.11``.
    home
        Folder below which environments are made.
    build
        Whether packages may be built from their sources, which runs code of theirs: in a sandbox.
        Else only wheels are installed.
    fetch
        A program that the environment's Python then runs, with the network, in a sandbox, too.
    sources
        Files that this program reads, next to it.
    on_line
        Called with each line on what is being done; not called where there is nothing to do.

    Raises
    ------
    MethodError
        If the lock is missing, has no hashes or lacks NumPy, which the worker needs, if
        `requires_python` cannot be read, or if there is no such program.
    UnavailableError
        If the environment cannot be made on this machine; holds uv's output.
    """
    content = lock_content(method_name, lock)
    plan = _plan(
        *(method_name, lock, content, requires_python, home),
        build=build,
        fetch=fetch,
        sources=sources,
    )
    prefix, config, build_lock = plan.prefix, plan.config, plan.build_lock
    if not is_whole(prefix, plan.key):  # else it was made of these very locks
        check_lock(method_name, lock, content)
        if build and build_lock.is_file():
            read_pins(method_name, build_lock, build_lock.read_bytes())

    def make(report: Callable[[str], None]) -> None:
        report(f"making the environment of {method_name} in {prefix}")
        settings = user_settings()
        if build and build_lock.is_file():
            constraint = {"UV_BUILD_CONSTRAINT": str(build_lock)}
            settings = replace(settings, environment=settings.environment | constraint)

        def uv(arguments: list[str], failure: str, wrap: Wrap | None = None) -> None:
            run_uv(
                find_uv_bin(),
                arguments,
                settings=settings,
                cwd=prefix,
                failure=failure,
                on_line=report,
                wrap=wrap,
            )

        found = running_python() if plan.here_fits else _find_python(plan.wanted)
        # Only the path of a real interpreter is safe: uv gives up at a pyenv shim on PATH.
        choice = ["--python", str(found)] if found else ["--managed-python", "-p", requires_python]
        uv(
            ["venv", "--quiet", "--no-project", "--allow-existing", *choice, str(prefix)],
            f"{method_name} needs Python {requires_python}: put one on PATH. It cannot be fetched",
        )
        skeleton = Skeleton.read(prefix)
        siblings = (lock.absolute().with_name(name) for name in (lock.name, UV_FILE, BUILD_LOCK))
        sandbox = partial(
            build_sandbox,
            method_name,
            [skeleton.base.parent.parent, *(file for file in siblings if file.is_file())],
            writable={str(prefix): prefix},
            read_only={str(prefix / STAMP): prefix / STAMP},
            report=report,
        )
        # Copied, or what changes a file here would change the cache and other environments, too.
        # Not compiled by uv, which would run the interpreter with the packages in.
        options = ["--require-hashes", "--link-mode", "copy", "--no-compile-bytecode"]
        options += ["--python", str(_python(prefix))]
        options += [] if config is None else ["--config-file", str(config)]
        options += ["--require-build-hashes"] if build and build_lock.is_file() else []
        sync = ["pip", "sync", *options, str(lock.absolute())]
        failure = f"The environment of {method_name} cannot be made"
        if build:
            with sandbox([Path(find_uv_bin())]) as wrap:
                uv(sync, failure, wrap)
        else:
            try:
                uv([*sync, "--no-build"], failure)
            except UnavailableError as error:
                raise _with_build_hint(error, prefix) from None
        skeleton.check(method_name)
        if fetch is not None:
            report(f"{method_name} gets what no index has: {fetch.name}")
            program = [file.absolute() for file in (fetch, *sources)]
            with sandbox(program) as wrap:
                try:
                    run_uv(
                        _python(prefix),
                        [fetch.absolute()],
                        settings=replace(settings, arguments=()),
                        cwd=prefix,
                        failure=f"What {method_name} needs besides packages cannot be fetched",
                        on_line=report,
                        wrap=wrap,
                        who=fetch.name,
                        most_lines=1,
                    )
                except UnavailableError as error:
                    raise NotFetchedError(
                        error.message, error.hint, passing=error.passing
                    ) from None
            skeleton.check(method_name)
        _compile(method_name, skeleton, sandbox)

    report = on_line or _ignore
    telling = with_package_count(
        make, f"making the environment of {method_name}", prefix, lock, report
    )
    build_once(prefix, plan.key, telling, report, sealed=True)
    return Environment(
        prefix=prefix,
        python=_python(prefix),
        lock_sha256=plan.lock_sha256,
        python_version=_python_version(prefix),
        packages=_packages(prefix),
    )


def _compile(
    method_name: str,
    skeleton: Skeleton,
    sandbox: Callable[..., AbstractContextManager[Wrap]],
) -> None:
    """Compile what is in an environment; nothing of it is run, with a sandbox or without."""
    prefix = skeleton.prefix
    remove_bytecode(prefix)
    if bubblewrap.why_unavailable():
        compile_bytecode(skeleton.base, [prefix / "lib"])
        return
    with sandbox([], network=False) as wrap:
        compile_bytecode(skeleton.base, [prefix / "lib"], wrap)
    skeleton.check(method_name)


@dataclass(frozen=True)
class _Plan:
    """What an environment is made from, and where."""

    prefix: Path
    key: str
    lock_sha256: str
    config: Path | None
    build_lock: Path
    wanted: SpecifierSet
    here_fits: bool


def _plan(
    method_name: str,
    lock: Path,
    content: bytes,
    requires_python: str,
    home: Path,
    *,
    build: bool,
    fetch: Path | None,
    sources: Sequence[Path],
) -> _Plan:
    lock_sha256 = hashlib.sha256(content).hexdigest()
    config = uv_file(lock)
    build_lock = lock.absolute().with_name(BUILD_LOCK)
    wanted = python_range(method_name, requires_python)
    here_fits = wanted.contains(platform.python_version())
    if fetch is not None and not fetch.is_file():
        raise MethodError(f"{fetch} is missing.", "method.toml names it: fetch.")
    minor = sysconfig.get_python_version() if here_fits else "another"
    given = (config, build_lock, fetch, *sources)
    files = [file for file in given if file is not None and file.is_file()]
    key = " ".join(
        [
            *(lock_sha256, requires_python, minor, sysconfig.get_platform()),
            *(["built"] if build else []),  # methods that take wheels alone do not share it
            *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files),
        ]
    )
    short_hash = hashlib.sha256(key.encode()).hexdigest()[:12]
    prefix = find_made(home, f"env-{short_hash}", key)
    return _Plan(prefix, key, lock_sha256, config, build_lock, wanted, here_fits)


def describe_making() -> str:
    """Return where environments are made on this machine, for people."""
    unpacked = "wheels are unpacked and compiled, and nothing of them is run"
    if trouble := bubblewrap.why_unavailable():
        return f"{unpacked}; no builds and no programs that fetch: {trouble}"
    limits = "a cgroup" if "memory" in can_make() else "each process by its addresses"
    return f"{unpacked}; builds and programs that fetch are in bubblewrap, limited by {limits}"


def installed_mb(
    method_name: str,
    lock: Path,
    requires_python: str,
    home: Path,
    *,
    build: bool = False,
    fetch: Path | None = None,
    sources: Sequence[Path] = (),
) -> float | None:
    """Return the size of a method's environment in MB, or None if it is not made.

    Parameters
    ----------
    method_name, lock, requires_python, home, build, fetch, sources
        As of `prepare`.
    """
    try:
        content = lock.read_bytes()  # not validated: of a wrong one no environment was made
        plan = _plan(
            *(method_name, lock, content, requires_python, home),
            build=build,
            fetch=fetch,
            sources=sources,
        )
    except (MethodError, OSError):
        return None
    return sealed_mb(plan.prefix)


@contextmanager
def build_sandbox(
    method_name: str,
    always: Sequence[Path],
    shown: Sequence[Path],
    *,
    writable: Mapping[str, Path],
    read_only: Mapping[str, Path],
    report: Callable[[str], None],
    network: bool = True,
) -> Iterator[Wrap]:
    """Yield a wrapper for a sandbox with what packages need to be built, and no user files.

    Parameters
    ----------
    always, shown
        What is run, and what it reads: an interpreter, locks; uv, or a program of the method's.
    writable, read_only
        Further files and folders, by what they are called inside.
    network
        Whether it has the network, and what uv needs for it.

    Raises
    ------
    UnavailableError
        If there are no sandboxes here.
    """
    if trouble := bubblewrap.why_unavailable():
        raise UnavailableError(
            f"{method_name} is to be built, which needs bubblewrap: {trouble}.",
            "Install it (on Debian and Ubuntu: apt install bubblewrap), or pin versions that have "
            "wheels and leave build = true out of method.toml.",
        )
    scratch = Scratch(report)
    inside = f"{bubblewrap.INSIDE}/build"
    (scratch.path / "build").mkdir()
    group = make_group()
    limited = group is not None and group.limit(_BUILD_MB)
    if group is not None:
        group.limit_processes(_BUILD_PROCESSES)

    def wrap(command: list[str], environment: dict[str, str]) -> list[str]:
        variables = {
            name: value
            for name, value in environment.items()
            if network
            and (name.startswith(_FOR_UV) or name.lower().endswith("_proxy") or name == "PATH")
        }
        if secrets := [name for name, value in variables.items() if _is_secret(name, value)]:
            raise UnavailableError(
                f"{method_name} is built from source, and its packages' code could read the "
                f"password in {', '.join(sorted(secrets))} (for uv, or from pip's settings).",
                "Use an index and a proxy without a password.  Or build wheels once, name their "
                "folder in PIP_FIND_LINKS, and remove build = true from method.toml.",
            )
        places = [*always, *shown]
        named = (*_NAMES, *_named_files(variables)) if network else ()
        places += [Path(each) for each in named if Path(each).exists()]
        if not limited:
            command = ["/bin/sh", "-c", _EACH_LIMITED, "sh", *command]
        wrapped = bubblewrap.wrap(
            command,
            read_only=read_only,
            writable={**writable, inside: scratch.path / "build"},
            environment=variables
            | dict.fromkeys(("HOME", "TMPDIR"), inside)
            | {"UV_CACHE_DIR": f"{inside}/cache", "UV_LINK_MODE": "copy"},
            same_place=[place for place in places if not place.is_relative_to("/usr")],
            network=network,
        )
        return wrapped if group is None else group.joining(wrapped)

    try:
        yield wrap
    finally:
        if group is not None:
            group.remove()
        # A cache of many thousand files takes longer than what a job leaves is given.
        remove_tree(scratch.path / "build", _REMOVAL_SECONDS)
        scratch.remove()


def _is_secret(name: str, value: str) -> bool:
    return redact(value) != value or name.endswith(("_PASSWORD", "_TOKEN"))


def _named_files(environment: Mapping[str, str]) -> list[str]:
    """Return the certificates and the folders of packages that uv gets."""
    found = [value for name, value in environment.items() if name.startswith("SSL_")]
    links = map(urlsplit, filter(None, environment.get("UV_FIND_LINKS", "").split(",")))
    return [*found, *(unquote(link.path) for link in links if link.scheme in {"", "file"})]


def _with_build_hint(error: UnavailableError, prefix: Path) -> UnavailableError:
    """Return what to do where only wheels are installed and one is missing."""
    if "wheel" not in error.message or "wheel is invalid" in error.message:
        return error
    return UnavailableError(
        error.message.partition(" hint: ")[0],  # of uv, on its own options
        f"Only wheels are installed, here of Python {_python_version(prefix)}. If an older one "
        "has them, install mdbench with that. In a method of yours, pin versions that have wheels, "
        "or write build = true into method.toml, for a sandbox.",
        passing=error.passing,
    )


def user_settings() -> UvSettings:
    """Return what pip's settings and the environment of this process say to uv."""
    return uv_settings(read_pip_settings(sys.executable), os.environ)


def python_range(method_name: str, requires_python: str) -> SpecifierSet:
    """Read the Pythons that a method runs on.

    Raises
    ------
    MethodError
        If they cannot be read.
    """
    try:
        return SpecifierSet(requires_python, prereleases=True)
    except InvalidSpecifier:
        raise MethodError(
            f"{method_name}: python = {requires_python!r} is no range of Pythons.",
            "Write it like '>=3.11' or '>=3.9,<3.12' in method.toml.",
        ) from None


def running_python() -> Path:
    """Return the interpreter below the environment that we run in.

    Links are resolved, so that an environment notices when its interpreter is replaced by one
    of another version.
    """
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _find_python(wanted: SpecifierSet) -> Path | None:
    """Return the newest fitting interpreter on PATH that answers; None without any."""
    for minor in range(20, 7, -1):
        for folder in os.get_exec_path():
            candidate = Path(folder) / f"python3.{minor}"
            if candidate.is_file() and os.access(candidate, os.X_OK):
                version, _, path = _ask(candidate).partition(" ")
                if path and wanted.contains(version):
                    return Path(path).resolve()
    return None


def _ask(candidate: Path) -> str:
    question = "import platform, sys; print(platform.python_version(), sys._base_executable)"
    try:
        return subprocess.run(
            [candidate, "-I", "-c", question],
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _python(prefix: Path) -> Path:
    return prefix / "bin" / "python"


def _python_version(prefix: Path) -> str:
    text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8")
    found = re.search(r"^version(?:_info)?\s*=\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else ""


def _packages(prefix: Path) -> dict[str, str]:
    """Read names and versions off the names of the ``dist-info`` folders."""
    names = [path.name for path in prefix.glob("lib/python*/site-packages/*.dist-info")]
    pairs = [name.removesuffix(".dist-info").rpartition("-") for name in names]
    return {name.replace("_", "-").lower(): version for name, _, version in sorted(pairs)}


def _ignore(_line: str) -> None:
    pass
