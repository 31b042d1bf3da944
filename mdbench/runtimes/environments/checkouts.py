"""Commits of git repositories, which are a part of methods' environments.

A commit's name is a SHA-1.  Its files are hashed by SHA-256 here, too, so that somebody who can
make two commits of one name still cannot change the code of a method.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, TypeAlias

from mdbench.errors import MethodError, UnavailableError
from mdbench.installation import page
from mdbench.runtimes.environments.contents import find_trap
from mdbench.runtimes.environments.subprocesses import redact, running
from mdbench.runtimes.job_folder import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.method_spec import Checkout
    from mdbench.methods import Method

Files: TypeAlias = dict[tuple[str, str], bytes]
"""Contents by path and git's mode."""
_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"
_MOST_BYTES = 2**30
"""Bytes of a checkout: weights are no code, and have `paths`."""


_PROTOCOLS = "file:git:http:https:ssh"
"""The protocols that git may use: others are programs on PATH that an address could choose."""
_OF_ANOTHER = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
"""Variables that would make git work on another repository, as in a hook."""


def get_checkouts(
    method: Method, home: Path, on_line: Callable[[str], None] | None = None
) -> dict[str, Path]:
    """Return the folders of a method's checkouts by name, each fetched once and never changed.

    Nothing of a repository is run: its files are written as they are, without filters or hooks.

    Parameters
    ----------
    home
        Folder below which they are kept, in ``checkouts``.
    on_line
        Called with each line on what is being done.

    Raises
    ------
    MethodError
        If the files are not those of the SHA-256, or are none that can be written.
    UnavailableError
        If there is no git here, or the commit cannot be fetched.
    """
    return {
        name: _get(f"{method.name}: checkouts.{name}", wanted, home, on_line or _ignore)
        for name, wanted in method.spec.checkouts.items()
    }


def _get(who: str, wanted: Checkout, home: Path, report: Callable[[str], None]) -> Path:
    folder = home.absolute() / "checkouts" / (wanted.sha256[:24] or "unknown")
    if folder.is_dir() and sha256_of(_read(folder)) == wanted.sha256:
        return folder
    report(f"{who}: fetching {wanted.commit[:12]} of {redact(wanted.url)}")
    scratch = Scratch(report)
    try:
        repository = _Repository(who, scratch.path / "repository")
        files = repository.files(wanted)
        _check(who, wanted, files)
        _write_folder(who, folder, files)
    except OSError as error:
        raise UnavailableError(f"{who} cannot be written to {folder}: {error}.") from None
    finally:
        scratch.remove()
    return folder


def _check(who: str, wanted: Checkout, files: Files) -> None:
    sha256 = sha256_of(files)
    if sha256 != wanted.sha256:
        given = f"sha256 is {wanted.sha256!r}" if wanted.sha256 else "sha256 is empty"
        raise MethodError(
            f"{who}: {given}, and the files of commit {wanted.commit[:12]} have {sha256}.",
            f'If you have looked at these files and mean them: sha256 = "{sha256}"',
        )


def sha256_of(files: Files) -> str:
    """Return the SHA-256 of a checkout's files: of path, mode, size and content of each."""
    digest = hashlib.sha256()
    for (path, mode), data in sorted(files.items()):
        digest.update(os.fsencode(f"{path}\0{mode}\0{len(data)}\0"))
        digest.update(data)
    return digest.hexdigest()


def _read(folder: Path) -> Files:
    """Read what lies in a folder as git would."""
    files: Files = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            files[name, _LINK] = os.fsencode(path.readlink())
        elif path.is_file():
            mode = _PROGRAM if path.stat().st_mode & 0o100 else _FILE
            files[name, mode] = path.read_bytes()
    return files


def _write_folder(who: str, folder: Path, files: Files) -> None:
    """Write files into a folder that is there whole or not at all, to be read only."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}-{os.getpid()}")
    _remove(new)
    new.mkdir()
    try:
        for (path, mode), data in files.items():
            _write(who, new, path, mode, data)
        for path, below, _ in os.walk(new):
            for each in (path, *(os.path.join(path, name) for name in below)):  # noqa: PTH118
                if not os.path.islink(each):  # noqa: PTH114 - names of os.walk
                    Path(each).chmod(0o755)
        if trouble := find_trap(new, {}):
            raise MethodError(f"{who}: {trouble}.")
        _remove(folder)
        new.rename(folder)
    finally:
        _remove(new)


def _write(who: str, folder: Path, path: str, mode: str, data: bytes) -> None:
    file_path = folder / path
    file_path.parent.mkdir(parents=True, exist_ok=True)
    if not file_path.parent.resolve().is_relative_to(folder.resolve()):
        raise MethodError(f"{who}: {path} lies behind a link.")
    if mode != _LINK:
        file_path.write_bytes(data)
        file_path.chmod(0o555 if mode == _PROGRAM else 0o444)
        return
    target = file_path.parent / os.fsdecode(data)
    if not Path(os.path.normpath(target)).is_relative_to(folder):
        raise MethodError(f"{who}: {path} is a link that leads out of it.")
    file_path.symlink_to(os.fsdecode(data))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


class _Repository:
    """A bare repository that holds one commit, until its files are read."""

    def __init__(self, who: str, folder: Path) -> None:
        self._who = who
        self._folder = folder
        self._git("init", "--quiet", "--bare", str(folder))

    def files(self, wanted: Checkout) -> Files:
        """Fetch a commit, and return its files."""
        fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]
        try:
            self._git(*fetch, "--depth=1", "--", wanted.url, wanted.commit)
        except UnavailableError:  # a server that hands out branches and tags alone
            all_ = [f"+refs/{kind}/*:refs/{kind}/*" for kind in ("heads", "tags")]
            self._git(*fetch, "--", wanted.url, *all_)
        entries = list(self._entries(wanted.commit))
        asked = "".join(f"{blob}\n" for _, _, blob in entries).encode()
        sizes = self._git("cat-file", "--batch-check=%(objectsize)", stdin_data=asked).split()
        if (size := sum(map(int, sizes))) > _MOST_BYTES:
            raise MethodError(
                f"{self._who} has {size >> 20} MiB; {_MOST_BYTES >> 20} are allowed.",
                f"Data and weights are named in 'paths' ({page('adding-a-method')}).",
            )
        data = self._git("cat-file", "--batch", stdin_data=asked)
        contents, start = {}, 0
        for path, mode, _ in entries:
            line = data.index(b"\n", start)
            end = line + 1 + int(data[start:line].split()[2])
            contents[path, mode] = data[line + 1 : end]
            start = end + 1
        return contents

    def _entries(self, commit: str) -> Iterator[tuple[str, str, str]]:
        """Yield path, mode and the name of the content of each file."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        for line in filter(None, listed.split(b"\0")):
            facts, _, name = line.partition(b"\t")
            mode, _, blob = facts.decode().split()
            path = os.fsdecode(name)
            if mode not in {_FILE, _PROGRAM, _LINK}:
                raise MethodError(
                    f"{self._who}: {path} is a submodule, which a checkout cannot have.",
                    "Name the submodule's commit as a checkout of its own.",
                )
            if path.startswith("/") or {"..", ".git", ""} & {*path.split("/")}:
                raise MethodError(f"{self._who}: {path!r} is no name that can be written.")
            yield path, mode, blob

    def _git(self, *arguments: str, stdin_data: bytes = b"") -> bytes:
        """Run git and return what it prints; it asks nobody anything."""
        program = shutil.which("git")
        if program is None:
            raise UnavailableError(f"{self._who} needs git.", "Install it: apt install git")
        where = [] if arguments[0] == "init" else [f"--git-dir={self._folder}"]
        environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
        with TemporaryFile() as stdin, TemporaryFile() as stdout:
            stdin.write(stdin_data)
            stdin.seek(0)
            with running(
                [program, *where, *arguments],
                env=environment
                | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": _PROTOCOLS},
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
            ) as process:
                _, said = process.communicate()
            stdout.seek(0)
            printed = stdout.read()
        if process.returncode:
            raise UnavailableError(
                f"{self._who} cannot be fetched: {redact(' '.join(said.split()))[-300:]}",
                "Check the address, the commit and the network; then run the same command again.",
                passing=True,
            )
        return printed


def _ignore(_line: str) -> None:
    pass
