"""Methods: finds and validates their folders, in ``algorithms/`` and elsewhere."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mdbench.errors import MethodError, UsageError, did_you_mean
from mdbench.installation import BUNDLED, command, page
from mdbench.method_spec import MethodSpec, read_spec
from mdbench.workspace import read_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.metadata import EntryPoint


FOLDERS_VARIABLE = "MDBENCH_METHODS"
"""The variable that names more folders of methods."""
ENTRY_POINTS = "mdbench.methods"
"""The group of entry points by which installed packages bring methods."""
SHARED = "shared"
"""The folder, next to those of the methods, with folders of code that several methods use."""
_LOCKED = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
_REQUIRED = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:==\s*(?P<version>[\w.+!-]+)(?![\w.*]))?"
)
_IGNORED = {"__pycache__", ".mypy_cache", ".ruff_cache", ".git"}


@dataclass(frozen=True)
class Method:
    """A method under test: its folder and the content of ``method.toml``.

    Attributes
    ----------
    used
        The folders of code that it shares with other methods, or of other methods.
    """

    folder: Path
    spec: MethodSpec
    used: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.spec.name

    @property
    def adapter(self) -> Path:
        """The file with the class ``Adapter``; the folder, for a method of another language."""
        return self.folder if self.spec.program else self.folder / "adapter.py"

    @property
    def fetch(self) -> Path | None:
        """The program that the environment's Python runs when the environment is made.

        It has the network, and what it puts into the folder ``fetched`` of the environment stays.
        """
        return self.folder / self.spec.fetch if self.spec.fetch else None

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that `fetch` reads."""
        return tuple(self.folder / name for name in self.spec.sources)

    @property
    def lock(self) -> Path:
        """The hashed requirements of the method's environment."""
        return self.folder / "requirements.lock"

    def place_of(self, folder: Path) -> str:
        """Return where its folder, or one that it uses, is among methods, such as ``shared/fits``.

        Shared code of the project is there for methods of other folders, too.
        """
        methods = self.folder.parent
        inside = folder.relative_to(methods) if folder.is_relative_to(methods) else None
        return (inside or Path(SHARED, folder.name)).as_posix()

    @property
    def paths(self) -> dict[str, Path]:
        """The folders and files of the user's that it may read, by name.

        Raises
        ------
        MethodError
            If the user's settings file is not right.
        """
        return read_paths(self.name, self.spec.paths)

    def lock_sha256(self) -> str:
        """Return the SHA-256 of the lock.

        Raises
        ------
        MethodError
            If there is none.
        """
        try:
            return hashlib.sha256(self.lock.read_bytes()).hexdigest()
        except FileNotFoundError:
            raise MethodError(
                f"{self.lock} is missing.",
                f"To make it from requirements.in: {command(f'scripts/lock {self.name}')}",
            ) from None

    def not_locked(self) -> list[str]:
        """Name the lines of ``requirements.in`` that the lock does not hold, or in another version.

        A lock is made of them, and is older than what it lacks.
        """
        asked = self.lock.with_suffix(".in")
        if not asked.is_file() or not self.lock.is_file():
            return []
        pinned: dict[str, set[str]] = defaultdict(set)  # by platform there may be several
        for name, version in _LOCKED.findall(self.lock.read_text(encoding="utf-8")):
            pinned[_canonical(name)].add(version)
        missing = []
        for line in asked.read_text(encoding="utf-8").splitlines():
            match = _REQUIRED.match(line)
            if match is None:
                continue
            versions = pinned.get(_canonical(match["name"]))
            if versions is None or (match["version"] and match["version"] not in versions):
                missing.append(line.partition("#")[0].strip())
        return missing

    def fingerprint(self) -> str:
        """Return the SHA-256 of all files of the method.

        These are the files of its folder and of the shared code that it uses.  The lock has a
        key of its own.

        Raises
        ------
        MethodError
            If a link leaves the folder that it is in.
        """
        digest = hashlib.sha256()
        for folder in (self.folder, *self.used):
            for path in files_of(folder):
                if path == self.lock:
                    continue
                content = path.read_bytes()
                relative = path.relative_to(folder)
                digest.update(f"{relative.as_posix()}\0{len(content)}\0".encode())
                digest.update(content)
        return digest.hexdigest()


def _used_folder(file: Path, name: str, algorithms: Path) -> Path:
    """Return the folder that a method names in ``uses``.

    It is shared code next to the method, or another method there, or shared code of the project.

    Raises
    ------
    MethodError
        If there is none.
    """
    methods = file.parent.parent
    places = [methods / SHARED / name, methods / name, algorithms.resolve() / SHARED / name]
    if name != file.parent.name:
        for place in places:
            if place.is_dir():
                return place
    shared = list(dict.fromkeys((methods / SHARED, algorithms.resolve() / SHARED)))
    names = sorted({one.name for each in shared if each.is_dir() for one in each.iterdir()})
    raise MethodError(
        f"{file}: uses names {name!r}, and {' or '.join(map(str, shared))} has no such folder.",
        f"{did_you_mean(name, names)} Name folders of {shared[-1]}, or other methods of {methods}.",
    )


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def files_of(folder: Path) -> list[Path]:
    """Return the files that a folder of code consists of, in order.

    Raises
    ------
    MethodError
        If a link leads out of the folder: its target would be read, copied into images and shown to
        the method.
    """
    home = folder.resolve()
    files = []
    for path in sorted(folder.rglob("*")):
        if _IGNORED & set(path.relative_to(folder).parts):
            continue
        if path.is_symlink():
            _refuse_if_it_leaves(path, home)
        if path.is_file():
            files.append(path)
    return files


def _refuse_if_it_leaves(link: Path, home: Path) -> None:
    try:
        target = link.resolve()
    except (OSError, RuntimeError):  # a loop, which older Pythons call a RuntimeError
        target = None
    if target is None or not target.is_relative_to(home):
        raise MethodError(
            f"{link} is a link to {link.readlink()}, which is not in {home}.",
            "Put the file itself into the method's folder, or code that methods share into the "
            f"folder {SHARED} next to theirs.",
        )


def folders(algorithms: Path) -> dict[Path, str]:
    """Return the folders of methods, and where each comes from.

    They are the project's own, those that ``$MDBENCH_METHODS`` names (separated as in ``$PATH``),
    and those of installed packages. Such a package has an entry point of the group
    ``mdbench.methods``, which names a package with methods' folders in it; nothing of such a
    package is imported.  Where mdbench itself is an installed package, the folder ``algorithms`` of
    the current folder is one, too.

    Parameters
    ----------
    algorithms
        The project's own folder.

    Raises
    ------
    UsageError
        If a folder that is named is none.
    """
    names = {algorithms.resolve(): ""}
    for text in filter(None, os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)):
        folder = Path(text).resolve()
        if not folder.is_dir():
            raise UsageError(
                f"{FOLDERS_VARIABLE} or --methods names {text}, which is no folder.",
                f"Make it (mkdir -p {text}), or name folders with methods' folders in them, "
                f"separated by {os.pathsep!r}, or: unset {FOLDERS_VARIABLE}",
            )
        names.setdefault(folder, text)
    if _are_bundled(algorithms) and (here := Path.cwd() / algorithms.name).is_dir():
        names.setdefault(here, algorithms.name)
    for entry in _entry_points(tuple(sys.path)):
        package = entry.dist.name if entry.dist else entry.name
        folder = _folder_of(entry.value, package)
        names.setdefault(folder, f"package {package}")
    return names


@lru_cache(maxsize=1)
def _entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001 - the key
    """Return the entry points of the packages on a path, which is `sys.path`.

    To find them two files of each package are read, and a plan asks once for each method.
    """
    return tuple(entry_points(group=ENTRY_POINTS))


@contextmanager
def more_folders(texts: Sequence[str]) -> Iterator[None]:
    """Add folders of methods before those of ``$MDBENCH_METHODS``, until the block ends.

    They are added to the variable, so that the processes of a cluster know them, too.
    """
    before = os.environ.get(FOLDERS_VARIABLE)
    named = [str(Path(one).absolute()) for text in texts for one in text.split(os.pathsep) if one]
    if named:
        os.environ[FOLDERS_VARIABLE] = os.pathsep.join([*named, *filter(None, [before])])
    try:
        yield
    finally:
        if before is not None:
            os.environ[FOLDERS_VARIABLE] = before
        elif named:
            os.environ.pop(FOLDERS_VARIABLE, None)


def own_folder(algorithms: Path) -> Path:
    """Return the folder that a user's new methods are made in.

    That is the first of ``$MDBENCH_METHODS`` where it is set, else the project's own; where that is
    of an installed package, ``algorithms`` in the current folder.

    Raises
    ------
    UsageError
        If the first is no folder.
    """
    named = [folder for folder, text in folders(algorithms).items() if text]
    if os.environ.get(FOLDERS_VARIABLE) and named:
        return named[0]
    return Path.cwd() / algorithms.name if _are_bundled(algorithms) else algorithms


def _are_bundled(algorithms: Path) -> bool:
    """Return whether methods are those of an installed package, whose folder is no user's."""
    return algorithms.is_relative_to(BUNDLED)


def _folder_of(module: str, package: str) -> Path:
    """Find the folder of a package without importing it."""
    first, *parts = module.split(".")
    try:
        spec = find_spec(first)
    except (ImportError, ValueError):
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place, *parts)
        if folder.is_dir():
            return folder.resolve()
    raise UsageError(
        f"The package {package} declares methods in {module!r}, and there is no such folder.",
        f"Its entry point of the group {ENTRY_POINTS!r} names a package with methods' folders in "
        f"it. To go on without: pip uninstall {package}",
    )


def discover(algorithms: Path) -> dict[str, Method | MethodError]:
    """Find all methods' folders; a broken one is listed with its error.

    Parameters
    ----------
    algorithms
        The project's own folder of methods; each folder in it, and in the others of `folders`,
        with a ``method.toml`` is one.

    Raises
    ------
    UsageError
        As `folders`.
    """
    by_name: dict[str, Method | MethodError] = {}
    for name, places in _places(algorithms).items():
        try:
            by_name[name] = load(_only(name, places), algorithms)
        except MethodError as error:
            by_name[name] = error
    return by_name


def find(name: str, algorithms: Path) -> Method:
    """Find one method.

    Raises
    ------
    UsageError
        If there is no such method; as `folders`.
    MethodError
        If its folder is broken, or there are two of its name.
    """
    places = _places(algorithms)
    if name not in places:
        hint = did_you_mean(name, places)
        raise UsageError(
            f"There is no method {name!r} in {' or '.join(map(str, folders(algorithms)))}.",
            f"{hint} To see them: mdbench list. To add it: mdbench new {name}",
        )
    return load(_only(name, places[name]), algorithms)


def _places(algorithms: Path) -> dict[str, list[Path]]:
    """Return the methods' folders by name: the project's own, then the others, each by name."""
    places_by_name: dict[str, list[Path]] = {}
    for folder in folders(algorithms):
        for file in sorted(folder.glob("*/method.toml")):
            places_by_name.setdefault(file.parent.name, []).append(file.parent)
    return places_by_name


def refuse_taken(name: str, algorithms: Path) -> None:
    """Refuse a name that a method has already, in whatever folder or package.

    Raises
    ------
    UsageError
        If there is a method of that name; as `folders`.
    """
    if places := _places(algorithms).get(name):
        raise UsageError(
            f"There is a method {name!r} already: {places[0]}.",
            "Choose another name, or edit that folder.",
        )


def _only(name: str, places: list[Path]) -> Path:
    if len(places) > 1:
        raise MethodError(
            f"There are {len(places)} methods {name!r}: {', '.join(map(str, places))}.",
            "Rename one of the folders, and the name in its method.toml.",
        )
    return places[0]


def load(folder: Path, algorithms: Path | None = None) -> Method:
    """Read and validate one method's folder.

    Parameters
    ----------
    algorithms
        The project's own folder of methods, whose shared code it may use; that which it is in, if
        none is given.

    Raises
    ------
    MethodError
        If a file is missing or a key is wrong; names the file, the key, the value given and
        the values allowed.
    """
    file = folder / "method.toml"
    spec = read_spec(file)
    if spec.name != folder.name:
        raise MethodError(
            f"{file}: name is {spec.name!r}, but the folder is {folder.name!r}.",
            "Give both the same name.",
        )
    _refuse_missing_files(folder, spec)
    used = tuple(_used_folder(file, name, algorithms or folder.parent) for name in spec.uses)
    return Method(folder, spec, used)


def _refuse_missing_files(folder: Path, spec: MethodSpec) -> None:
    if not (spec.program or (folder / "adapter.py").is_file()):
        raise MethodError(
            f"{folder / 'adapter.py'} is missing.",
            "It holds the class Adapter of the method; a method in another language has the key "
            f"'program' instead ({page('adding-a-method')}).",
        )
    for name in spec.sources:
        if not (folder / name).is_file():
            raise MethodError(f"{folder / name} is missing.", "method.toml names it: sources.")
