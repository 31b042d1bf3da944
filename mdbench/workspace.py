"""Where things are: methods, systems, what is made from them, and the user's settings.

The folder that `FOLDER_VARIABLE` names has a file ``<method>.toml`` with a table ``[paths]``: the
checkouts and weights that no lock brings.  A method can read each path, and finds it by the name
that its ``method.toml`` lists; a record has only a hash of the content.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import eqverdict
from mdbench.errors import DataError, MethodError, UsageError, did_you_mean
from mdbench.installation import BUNDLED, CLONE, PACKAGE, command, is_clone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType


@dataclass(frozen=True)
class Workspace:
    """The folders that a run reads and writes.

    Attributes
    ----------
    root
        The repository, or any folder with ``algorithms/`` and ``datasets/``.
    home
        Where environments and generated arrays are kept; nothing in it is irreplaceable.
    """

    root: Path
    home: Path

    @property
    def algorithms(self) -> Path:
        """The folder of methods."""
        return self.root / "algorithms"

    @property
    def datasets(self) -> Path:
        """The folder of systems, one folder a data type."""
        return self.root / "datasets"

    @property
    def arrays(self) -> Path:
        """The folder of generated arrays, one folder a data type."""
        return self.home / "data"

    @classmethod
    def find(cls) -> Workspace:
        """Find the workspace.

        Its root is ``$MDBENCH_ROOT``, or the clone whose code runs, or for an installed package the
        clone that the current folder is in, or what the package brings.
        Its home is ``$MDBENCH_HOME``, or ``.mdbench`` in the root.  Where the user may not write
        there it is a folder of the user's cache; environments that were made in the root are used
        as they are.

        Raises
        ------
        UsageError
            If there is none.
        """
        named = os.environ.get("MDBENCH_ROOT")
        root = (Path(named) if named else CLONE or _clone_around(Path.cwd()) or BUNDLED).resolve()
        if not ((root / "algorithms").is_dir() and (root / "datasets").is_dir()):
            raise UsageError(
                f"No folder with algorithms/ and datasets/ at {named or root}.",
                "Name the folder of the mdbench repository: export MDBENCH_ROOT=/path/to/mdbench",
            )
        home = os.environ.get("MDBENCH_HOME")
        return cls(root, Path(home) if home else _home_of(root))


PREPARED = "prepared"
"""The link in a user's home folder to that of a clone which the user may not write."""


def _clone_around(folder: Path) -> Path | None:
    """Return the clone that a folder is in, if it is in one."""
    return next((above for above in (folder, *folder.parents) if is_clone(above)), None)


def _home_of(root: Path) -> Path:
    """Return where environments and arrays are kept if the user has named no folder."""
    own = root / ".mdbench"
    if root != BUNDLED and os.access(own if own.is_dir() else root, os.W_OK):
        return own
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    home = base / "mdbench" / hashlib.sha256(str(root).encode()).hexdigest()[:12]
    with suppress(OSError):  # another process made it, or what is tried next gives the reason
        home.mkdir(parents=True, exist_ok=True)
        (home / PREPARED).symlink_to(own)
    return home


def refuse_copied_environment(
    script: str, prefix: str | None, *, clone: Path | None = CLONE
) -> None:
    """Refuse an environment in a copy of a clone, whose code would be that of the original.

    Parameters
    ----------
    script
        The program that was typed, as ``sys.argv[0]``.
    prefix
        The environment of the interpreter, for a program that lies in none; None for unknown.

    Raises
    ------
    UsageError
        If the environment lies in another clone than the one whose code runs.
    """
    folder = Path(script).absolute().parent.parent
    typed = (folder / "pyvenv.cfg").is_file()
    if not typed:
        if prefix is None:
            return
        folder = Path(prefix)
    copy = folder.parent
    if clone is not None and is_clone(copy) and copy.resolve() != clone.resolve():
        raise UsageError(
            f"{folder} was copied: this environment belongs to {clone}, where it would work."
            if typed
            else f"The environment is {folder}, and the code that runs is that of {clone}.",
            f"To make one for {copy}, type there: {command('./install.sh', clone=copy)}"
            + ("" if typed else f".  For the code of {clone}, use the environment in it."),
        )


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name, and rename it when it is complete.

    Raises
    ------
    DataError
        If the folder cannot be made or written to.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("xb") as file:
            write(file)
        unfinished.replace(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}",
            "Name a folder that can be written to, with space on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


LARGEST_TOML = 2**20
"""Bytes of a TOML file."""
FOLDER_VARIABLE = "MDBENCH_SETTINGS"
"""The variable that names the folder of the settings files."""


def read_paths(method: str, allowed: Sequence[str]) -> dict[str, Path]:
    """Return the paths that the user has set for a method, by name; none where there is no file.

    Parameters
    ----------
    allowed
        The names that the method's ``method.toml`` lists.

    Raises
    ------
    MethodError
        If the file cannot be read, has another key, or names what does not exist.
    """
    file, content = _settings(method)
    entries = content.get("paths", {})
    if not isinstance(entries, dict):
        raise MethodError(f"{file}: key 'paths' is {entries!r}.", "It is a table, [paths].")
    paths = {name: _path(file, name, value, allowed) for name, value in sorted(entries.items())}
    if len(set(paths.values())) < len(paths):
        raise MethodError(f"{file}: two names have one path.", "Docker can show each only once.")
    return paths


def is_trusted(method: str) -> bool:
    """Return whether the user has set ``trusted = true`` for a method.

    Raises
    ------
    MethodError
        If the file cannot be read, or has another key or value.
    """
    file, content = _settings(method)
    trusted = content.get("trusted", False)
    if not isinstance(trusted, bool):
        raise MethodError(f"{file}: key 'trusted' is {trusted!r}.", "It is true or false.")
    return trusted


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of somebody's.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is no TOML, is larger than `LARGEST_TOML`, or nests too deep.
    """
    with path.open("rb") as file:
        content = file.read(LARGEST_TOML + 1)
    if len(content) > LARGEST_TOML:
        raise ValueError(f"it has more than {LARGEST_TOML // 2**20} MiB")
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise ValueError("it nests tables or lists too deep") from None


def _settings(method: str) -> tuple[Path, dict[str, Any]]:
    """Return the user's file for a method, and what is in it."""
    folder = os.environ.get(FOLDER_VARIABLE)
    file = Path(folder or "") / f"{method}.toml"
    try:
        content = read_toml(file) if folder else {}
    except FileNotFoundError:
        return file, {}
    except (OSError, ValueError) as error:
        raise MethodError(f"{file} cannot be read: {error}.") from None
    if unknown := content.keys() - {"paths", "trusted"}:
        raise MethodError(
            f"{file}: unknown key {min(unknown)!r}.", "It has 'trusted', and one table, [paths]."
        )
    return file, content


def _path(file: Path, name: str, value: object, allowed: Sequence[str]) -> Path:
    if name not in allowed:
        raise MethodError(f"{file}: unknown key 'paths.{name}'.", did_you_mean(name, allowed))
    if not isinstance(value, str) or not Path(value).expanduser().is_absolute():
        raise MethodError(
            f"{file}: key 'paths.{name}' is {value!r}.",
            "It is the absolute path of a folder or file.",
        )
    path = Path(value).expanduser()
    if not path.exists():
        raise MethodError(f"{file}: key 'paths.{name}' is {value!r}, which does not exist.")
    return path.resolve()


def fingerprint(paths: Mapping[str, Path]) -> str:
    """Return the SHA-256 of all that lies at paths: names, and what files and links contain.

    Where it lies makes no difference.  A file is read again when its size or time differs.

    Raises
    ------
    MethodError
        If something cannot be read.
    """
    digest = hashlib.sha256()
    for name, path in sorted(paths.items()):
        digest.update(f"{name}\0".encode())
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            relative = file.relative_to(path).as_posix()
            try:
                if file.is_symlink():
                    content = f"-> {file.readlink()}"
                elif file.is_file():
                    stat = file.stat()
                    content = _sha256(file, stat.st_size, stat.st_mtime_ns)
                else:
                    continue
            except OSError as error:
                raise MethodError(f"{file} cannot be read: {error.strerror}.") from None
            digest.update(f"{relative}\0{content}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def code_fingerprint(*packages: ModuleType) -> str:
    """Return the SHA-256 of the Python files of packages."""
    files = {}
    for package in packages:
        (folder,) = map(Path, package.__path__)
        for path in folder.rglob("*.py"):
            files[f"{folder.name}/{path.relative_to(folder).as_posix()}"] = path
    return fingerprint(files)


@lru_cache(maxsize=10_000)
def _sha256(file: Path, _size: int, _time: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_PROCESSOR_LINES = ("model name", "flags", "Features")
_SETTINGS = ("BLIS_", "MKL_", "NPY_", "NUMPY_", "OMP_", "OPENBLAS_")


@cache
def bench_hash() -> str:
    """Hash the bench's code, the installed packages, and what else numbers may depend on.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    import numpy as np  # noqa: PLC0415 - much that finds a workspace needs no numbers

    digest = hashlib.sha256()
    for package in (PACKAGE, Path(eqverdict.__file__).parent):
        for file in sorted(package.rglob("*.py")):
            if file.is_relative_to(BUNDLED):
                continue  # methods, each with a key of its own
            content = file.read_bytes()
            digest.update(f"{file.relative_to(package.parent)}\0{len(content)}\0".encode())
            digest.update(content)
    others = [f"{platform.python_version()} {platform.machine()} {platform.libc_ver()}"]
    # Names of packages' folders have the versions.
    others += sorted(each.name for each in Path(np.__file__).parent.parent.iterdir())
    others += sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(_SETTINGS))
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        others += sorted({line for line in lines if line.startswith(_PROCESSOR_LINES)})
    for other in others:
        digest.update(other.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()
