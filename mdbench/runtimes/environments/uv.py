"""Folders that are made once and sealed, and uv.

The set-up of the core environment (scripts/bootstrap.py) uses this module, too, before anything is
installed, so it needs the standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections import deque
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdbench.errors import UnavailableError, printable
from mdbench.runtimes.environments.contents import find_trap
from mdbench.runtimes.environments.subprocesses import check_stopped, redact, running
from mdbench.workspace import PREPARED, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mdbench.runtimes.environments.subprocesses import UvSettings


STAMP = ".mdbench-stamp"
"""Marks an environment as ours; holds what it was made for once it is whole."""
_TAIL_LINES = 12
_CHECK_SECONDS = 0.2
_HIDDEN_FROM_UV = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "UV_PYTHON"),
    "UV_COMPILE_BYTECODE",
)
"""Variables by which another environment that is active would get in the way, or uv would run what
it has installed."""
_HELD: ContextVar[tuple[int, ...]] = ContextVar("locks", default=())
"""Open files of the locks that this thread holds."""
_PLAIN_OUTPUT = {"UV_NO_PROGRESS": "1", "UV_NO_WRAP": "1", "NO_COLOR": "1"}


def build_once(
    prefix: Path,
    key: str,
    make: Callable[[], None],
    on_line: Callable[[str], None],
    *,
    sealed: bool = False,
) -> None:
    """Fill a folder with a virtual environment, unless that was done for the same key before.

    What an interrupted attempt left is cleared away.  Of several processes one makes the
    environment, and the others wait for it.

    Parameters
    ----------
    prefix
        The folder.
    key
        All that the content depends on; a different key makes it again.
    make
        Fills the folder, which is empty but for the stamp.
    on_line
        Called with a message that another process is being waited for, or why it is made again.
    sealed
        Whether nobody is to change what was made: it is read-only, and made again if it is not what
        it was.

    Raises
    ------
    UnavailableError
        If the folder cannot be written, or is there and was not made by us.
    """

    def usable(report: Callable[[str], None]) -> bool:
        if not is_whole(prefix, key):
            return False
        if change := sealed and (detect_change(prefix, but=STAMP) or find_trap(prefix)):
            report(printable(f"{prefix.name} is made again: {change}"))
        return not change

    try:
        if usable(_ignore):
            return
        prefix.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(prefix, on_line):
            if not usable(on_line):
                _make(prefix, key, make, sealed=sealed)
    except OSError as error:
        raise UnavailableError(
            f"{prefix} cannot be made: {error}.",
            "See to it that the disk has space and that the folder may be written.",
        ) from error


def discard(prefix: Path, on_line: Callable[[str], None]) -> bool:
    """Remove an environment that `build_once` made, whole or not; return whether it was one."""
    if not (prefix / STAMP).is_file():
        return False
    with file_lock(prefix, on_line):
        _write_stamp(prefix, "")  # cut short, it is not whole
        _empty(prefix)
        shutil.rmtree(prefix)
        _list_file(prefix).unlink(missing_ok=True)
        _size_file(prefix).unlink(missing_ok=True)
        _lock_file(prefix).unlink()
    return True


def method_environments(home: Path) -> Path:
    """Return the folder below a home folder where the methods' environments are."""
    return home.absolute() / "envs"


def find_made(home: Path, name: str, key: str) -> Path:
    """Return where an environment is, or is to be made.

    An administrator may have made it in a clone that the user cannot write: see `Workspace.find`.

    Parameters
    ----------
    home
        The user's home folder.
    name
        The environment's folder.
    key
        All that its content depends on.
    """
    own = method_environments(home) / name
    prepared = method_environments((home / PREPARED).resolve()) / name
    return prepared if is_whole(prepared, key) and not is_whole(own, key) else own


def run_uv(
    uv: str | Path,
    arguments: Sequence[str | Path],
    *,
    settings: UvSettings,
    cwd: Path,
    failure: str,
    on_line: Callable[[str], None] | None = None,
    wrap: Callable[[list[str], dict[str, str]], list[str]] | None = None,
    who: str = "uv",
    most_lines: int = _TAIL_LINES,
) -> None:
    """Run uv, or another program as it is run.

    Parameters
    ----------
    uv
        The program.
    arguments
        Its arguments.
    settings
        Further settings.
    cwd
        The working directory; relative names in `arguments` start here.
    failure
        What it means if uv fails, for the error.
    on_line
        Called with each line that uv prints, without passwords.
    wrap
        Returns the command that runs it in a sandbox, from its own and its environment.
    who
        What the program is called in errors.
    most_lines
        Of what it prints at the end, so many lines are shown in errors.

    Raises
    ------
    UnavailableError
        If uv fails; holds the last lines that it printed.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _HIDDEN_FROM_UV}
    command = [str(uv), *map(str, arguments)]
    if command[1] == "pip":
        command += settings.arguments
    environment = cache_for_uv(inherited) | inherited | settings.environment | _PLAIN_OUTPUT
    if wrap is not None:
        command = wrap(command, environment)
    tail: deque[str] = deque(maxlen=most_lines)
    with running(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=() if wrap is not None else _HELD.get(),
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for the type checker
        for line in process.stdout:
            shown = printable(redact(line.rstrip()))
            if shown:
                tail.append(shown)
                if on_line:
                    on_line(shown)
    if process.returncode != 0:
        raise UnavailableError(
            "\n    ".join([f"{failure}; {who} reports:", *tail]),
            _advice(tail),
            passing=not any(map(_FINAL.search, tail)),
        )


_FINAL = re.compile(
    r"no solution found|not found in the package registry|no matching distribution|hash"
    r"|no wheels? |no-build|building .* is disabled|requires-python|no interpreter found"
    r"|failed to build|returned an error|exit (?:status|code)"
    r"|reserved name|wheel is invalid|unacceptable",
    re.IGNORECASE,
)
"""Output of uv after which another try would fail in the same way."""


def _advice(output: Iterable[str]) -> str:
    """Return advice by uv's output."""
    text = "\n".join(output)
    if "No space left" in text:
        what = "Free some space on the disk"
    elif re.search(r"initialize cache|Permission denied|Read-only file system", text):
        what = "See to it that the folder named above may be written (UV_CACHE_DIR sets another)"
    elif re.search(r"parse requirement|start of a requirement|Distribution not found", text):
        what = "Write a package of the index a line, such as numpy>=2, into the file named above"
    elif re.search(r"reserved name|wheel is invalid|unacceptable filename", text):
        what = "The package is not as wheels are to be: pin another version of it"
    elif re.search(r"not found in the package registry|there is no version of", text):
        what = (
            "Mend the name or version, or name an index that has it in pip's settings (python3 -m "
            "pip config list)"
        )
    else:
        what = "Check the network and pip's settings (python3 -m pip config list)"
    return f"{what}, then run the same command again."


def cache_for_uv(environ: Mapping[str, str]) -> dict[str, str]:
    """Return where uv keeps what it fetched: usually nothing, which is in the home folder.

    Where that cannot be written, or there is none, it is a folder of the workspace's home.
    """
    if environ.get("UV_CACHE_DIR") or environ.get("UV_NO_CACHE"):
        return {}
    home = environ.get("HOME", "")
    usual = Path(environ.get("XDG_CACHE_HOME") or (Path(home) / ".cache" if home else "/"), "uv")
    there = next(folder for folder in (usual, *usual.parents) if folder.exists())
    if home and os.access(there, os.W_OK | os.X_OK) and _takes_files(there):
        return {}
    return {"UV_CACHE_DIR": str(Workspace.find().home / "uv-cache")}


def _takes_files(folder: Path) -> bool:
    """Try it: for root all may be written, /proc included."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def compile_bytecode(
    python: Path,
    folders: Sequence[Path],
    wrap: Callable[[list[str], dict[str, str]], list[str]] | None = None,
) -> None:
    """Write the bytecode of all that is in some folders, without running any of it.

    Workers write none, nor does a user who has set PYTHONDONTWRITEBYTECODE, and without it
    SymPy alone takes 2 s to import instead of 0.5 s.  Tests, half of what there is to compile,
    are left out, which uv's own option cannot do.

    Parameters
    ----------
    python
        An interpreter of the machine: that of an environment reads what packages have put there
        (``*.pth``, ``sitecustomize``, ``pyvenv.cfg``) before it does anything else.
    folders
        The folders.
    wrap
        As of `run_uv`.
    """
    processes = min(8, len(os.sched_getaffinity(0)))
    options = ["-q", "-j", str(processes), "-x", "/site-packages/.*/tests?/"]
    # Isolated, so that PYTHONPYCACHEPREFIX does not put it elsewhere.  A package may ship a file
    # that is no valid Python, so the exit status means nothing.
    command = [str(python), "-I", "-S", "-m", "compileall", *options, *map(str, folders)]
    with running(
        command if wrap is None else wrap(command, dict(os.environ)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=() if wrap is not None else _HELD.get(),
    ) as process:
        process.wait()


def _make(prefix: Path, key: str, make: Callable[[], None], *, sealed: bool) -> None:
    if prefix.is_dir() and any(prefix.iterdir()) and not (prefix / STAMP).is_file():
        raise UnavailableError(
            f"{prefix} is in the way: it was not made by mdbench.",
            "Move it away or remove it, then run the same command again.",
        )
    prefix.mkdir(exist_ok=True)
    _write_stamp(prefix, "")
    _empty(prefix)
    if sealed:
        prefix.chmod(0o700)  # until it is known that nothing in it has rights of another user
    make()
    if sealed:
        prefix.chmod(0o700 | stat.S_IMODE(prefix.parent.stat().st_mode) & 0o755)
        seal(prefix, but=STAMP)
    _write_stamp(prefix, key)


def _write_stamp(prefix: Path, text: str) -> None:
    """Write the stamp whole or not at all, and through no link that somebody has put there."""
    new = prefix / f"{STAMP}.new"
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        file.write(text)
    new.replace(prefix / STAMP)


def is_whole(prefix: Path, key: str) -> bool:
    """Return whether an environment was made for a key, and is all there."""
    try:
        made_for = (prefix / STAMP).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return False
    # A dangling link: the interpreter that it was made with has gone.
    return made_for == key and (prefix / "bin" / "python").exists()


@contextmanager
def file_lock(prefix: Path, on_line: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of what is made at `prefix`, waiting for another process that has it."""
    with _lock_file(prefix).open("a", encoding="utf-8") as file:
        waiting = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waiting:
                    on_line(f"waiting for another process that makes {prefix.name}")
                waiting = True
                check_stopped()
                time.sleep(_CHECK_SECONDS)
        # Programs that outlive this process, when it is killed, go on holding the lock.
        before = _HELD.set((*_HELD.get(), file.fileno()))
        try:
            yield
        finally:
            _HELD.reset(before)


def _lock_file(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.lock")


def _empty(prefix: Path) -> None:
    """Remove all but the stamp, so that a removal that is cut short can be taken up again."""
    unseal(prefix)
    for path in prefix.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != STAMP:
            path.unlink()


def _ignore(_line: str) -> None:
    pass


def seal(prefix: Path, *, but: str) -> None:
    """Make all in an environment read-only, and list it.

    Parameters
    ----------
    prefix
        The environment.
    but
        The name of a file at its top that does not count.
    """
    for _, entry in _entries(prefix, but, folders=True):
        if not entry.is_symlink():
            mode = entry.stat().st_mode
            os.chmod(entry.path, stat.S_IMODE(mode) & ~0o222)  # noqa: PTH101 - of a DirEntry
    contents = {name: [*_status_of(entry), _hash(entry)] for name, entry in _entries(prefix, but)}
    _write(prefix, contents)


@cache
def sealed_mb(prefix: Path) -> float | None:
    """Return the size of a sealed environment in MB (1e6 bytes); None if there is none.

    It was noted when the environment was made: nothing walks over its files.
    """
    if not prefix.is_dir():
        return None
    try:
        return int(_size_file(prefix).read_text(encoding="utf-8")) / 1e6
    except (OSError, ValueError):  # an environment of an earlier version has its list alone
        pass
    try:
        listed: dict[str, list[Any]] = json.loads(_list_file(prefix).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return _note_size(prefix, listed) / 1e6


def detect_change(prefix: Path, *, but: str) -> str:
    """Return how an environment differs from what was made; empty if it does not."""
    try:
        listed: dict[str, list[Any]] = json.loads(_list_file(prefix).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "there is no list of what was made"
    touched = False
    missing = set(listed)
    for name, entry in _entries(prefix, but):
        if name not in listed:
            return f"{name} was added"
        missing.discard(name)
        *known, content = listed[name]
        now = _status_of(entry)
        if now != known:
            if _hash(entry) != content:
                return f"{name} was changed"
            touched = True
            listed[name] = [*now, content]
    if missing:
        return f"{min(missing)} is missing"
    if touched:
        with suppress(OSError):
            _write(prefix, listed)
    return ""


def unseal(prefix: Path) -> None:
    """Make the folders of an environment writable again, so that it can be removed."""
    for folder, _, _ in os.walk(prefix):
        with suppress(OSError):
            os.chmod(folder, os.stat(folder).st_mode | 0o700)  # noqa: PTH101, PTH116


def _list_file(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.files")


def _size_file(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.size")


def _write(prefix: Path, contents: dict[str, list[Any]]) -> None:
    new = _list_file(prefix).with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(contents), encoding="utf-8")
    new.replace(_list_file(prefix))
    _note_size(prefix, contents)


def _note_size(prefix: Path, listed: dict[str, list[Any]]) -> int:
    """Keep the bytes of all files that are listed next to the list, and return them."""
    total: int = sum(size for _, size, *_ in listed.values())
    with suppress(OSError):  # it is an administrator's
        _size_file(prefix).write_text(str(total), encoding="utf-8")
    return total


def _entries(
    prefix: Path, but: str, *, folders: bool = False
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Return the files below a folder, and their names there; also the folders if asked for."""
    pending = [str(prefix)]
    start = len(str(prefix)) + 1
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name == but and os.path.dirname(entry.path) == str(prefix):  # noqa: PTH120
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder:
                    pending.append(entry.path)
                if folders or not is_folder:
                    # A slice, as all paths begin alike: an environment may have 20,000 files.
                    yield entry.path[start:].encode("utf-8", "replace").decode(), entry


def _status_of(entry: os.DirEntry[str]) -> list[int]:
    status = entry.stat(follow_symlinks=False)
    return [status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _hash(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"-> {os.readlink(entry.path)}"  # noqa: PTH115
    if not entry.is_file(follow_symlinks=False):
        return "no file"
    with Path(entry.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
