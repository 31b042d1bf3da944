"""Methods: finds and validates their folders, in ``algorithms/`` and elsewhere."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import sys
import tomllib
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mdbench import datatypes
from mdbench.errors import MethodError, UsageError, did_you_mean
from mdbench.workspace import is_trusted, read_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.metadata import EntryPoint

    from pydantic_core import ErrorDetails

FOLDERS_VARIABLE = "MDBENCH_METHODS"
"""The variable that names more folders of methods."""
ENTRY_POINTS = "mdbench.methods"
"""The group of entry points by which installed packages bring methods."""
_LARGEST_FILE = 2**18
"""Bytes of a ``method.toml``."""
_LONGEST_VALUE = 500
"""Characters of a value that an error shows."""
_MOST_SETTINGS = 100_000
"""Settings that a grid may have: a job fits each of them."""
_NAME = r"^[a-z][a-z0-9_-]{0,39}$"
_KEYS = "docs/adding-a-method.md lists all keys and the values allowed."
PREDICTOR = "predictor"
"""The family of methods that predict and have no equations."""
FAMILIES = (
    *("linear", "genetic", "neural", "pretrained", "llm", "bayesian", "baseline"),
    PREDICTOR,
)
"""Families of methods that all data types share."""
TABLE = "table"
SEQUENCE = "sequence"
"""The view of methods that ask a language model."""
SHARED = "shared"
"""The folder, next to those of the methods, with folders of code that several methods use."""
_LOCKED = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)
_REQUIRED = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:==\s*(?P<version>[\w.+!-]+)(?![\w.*]))?"
)
_IGNORED = {"__pycache__", ".mypy_cache", ".ruff_cache", ".git"}


Flag = Annotated[bool, Field(strict=True)]
"""true or false, and no text or number that could mean one."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limit(_Table):
    """Jobs that a method is known not to do; all keys given must match."""

    reason: str = Field(min_length=1)
    data_type: str | None = None
    dataset: str | None = None
    """A glob over names of datasets."""
    max_dim: int | None = None
    """The limit holds for systems of more equations than this."""

    def covers(self, data_type: str, dataset: str, dim: int) -> bool:
        """Return whether the limit holds for a job."""
        return (
            (self.data_type is None or self.data_type == data_type)
            and (self.dataset is None or fnmatchcase(dataset, self.dataset))
            and (self.max_dim is None or dim > self.max_dim)
        )


class Overrides(_Table):
    """Settings of a method that differ under one protocol."""

    hyperparameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}


class Smaller(_Table):
    """What `mdbench check` overrides, so that a costly method is checked in seconds."""

    hyperparameters: dict[str, Any] = {}


class Access(_Table):
    """What a method can reach from its sandbox beyond its own files."""

    llm: Flag = False
    """The language model that the user names: one endpoint, over a socket in the job's folder."""


class Checkout(_Table):
    """One commit of a git repository, which is part of a method's environment."""

    url: str = Field(pattern=r"^[^\s-]\S*$")
    """Anything that git fetches from: an address, or a folder."""
    commit: str = Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    sha256: str = Field(pattern=r"^([0-9a-f]{64})?$")
    """Of its files, as `mdbench.runtimes.environments.checkouts` computes it; empty while it is not
    known, which is an error that says it."""


class MethodSpec(_Table):
    """The content of a ``method.toml`` (docs/adding-a-method.md)."""

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=_NAME)
    title: str = Field(min_length=1)
    family: str
    """One of `FAMILIES`, or of those that its data types bring."""
    view: str
    """One of the views of its data types."""
    data_types: tuple[str, ...] = Field(min_length=1)
    python: str = ">=3.11"
    system_packages: tuple[str, ...] = ()
    uses: tuple[Annotated[str, Field(pattern=_NAME)], ...] = ()
    """Folders in `SHARED`, or other methods, whose modules its adapter imports."""
    equations: Flag = True
    """Whether its answers have equations where those of the data type do; else it is scored by its
    predictions alone."""
    tuning: Literal["grid", "front", "none"]
    seedable: Literal[True, False, "no argument"]
    """Whether the seed changes the answer; ``"no argument"`` where the package draws numbers and
    takes no seed."""
    repeatable: Flag = True
    """Whether the same seed gives the same answer on the same machine, where time is left."""
    paths: tuple[Annotated[str, Field(pattern=_NAME)], ...] = ()
    """Names of folders and files of the user's that it may read: see `mdbench.workspace`."""
    given: tuple[Literal["truth", "units"], ...] = ()
    """What it is given beyond the data: a reference may be given the true equations, and any method
    the units of variables and targets."""
    takes: tuple[Literal["trajectories", "inputs"], ...] = ()
    """What it can use beyond one trajectory of states, where its view is one of trajectories."""
    access: Access = Access()
    control_of: str = Field(default="", pattern=rf"{_NAME}|^$")
    """The method that asks a language model of which it is the control: the same without a model.

    Its hyperparameter ``control_budget`` has the limits of what the method may ask for.
    """
    build: Flag = False
    """Whether packages of its lock may be built from their sources."""
    fetch: str = Field(default="", pattern=r"^([a-z0-9_]+\.py)?$")
    """A program in its folder that fetches what no index of Python's has; see `Method.fetch`."""
    sources: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][\w.-]*$")], ...] = ()
    """Files in its folder that `fetch` reads, such as what it compiles."""
    program: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The command of a program that does its jobs in the place of ``adapter.py``, in any language;
    see `mdbench.worker.program`."""
    checkouts: dict[Annotated[str, Field(pattern=_NAME)], Checkout] = {}
    """Commits of git repositories that it may read, by name, as it does `paths`."""
    fork_safe: Flag = True
    gpu: Flag = False
    """Whether it needs a GPU: without one its jobs are `unavailable`."""
    threads: int = Field(default=1, ge=1)
    timeout: float = Field(default=43200.0, gt=0, allow_inf_nan=False, strict=True)
    work: float | None = Field(default=None, gt=0, allow_inf_nan=False, strict=True)
    """Reference seconds of work that a job may do, where neither these nor a time are asked for."""
    memory_mb: int | None = Field(default=None, ge=64)
    max_rows: int | None = Field(default=None, ge=1)
    """The most training samples that the method is given, where some can be left out."""
    paper: str = ""
    licence: str = Field(min_length=1)
    implementation: Literal["package", "own"] | None = None
    """Whether a public package does the work, or code written after the paper."""
    settings: Literal["upstream", "author", "ours"] | None = None
    """Whose hyperparameters these are: a published benchmark's, the method's author's, or ours."""
    hyperparameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    protocols: dict[Literal["strict", "published"], Overrides] = {}
    check: Smaller = Smaller()
    limits: tuple[Limit, ...] = ()

    @property
    def asks_for_units(self) -> bool:
        """Whether it is given the units of variables and targets, where there are some."""
        return "units" in self.given

    @property
    def origin(self) -> str:
        """Return who wrote the code and chose the settings, as far as that is known."""
        whose = {"ours": "our", "upstream": "upstream", "author": "the author’s"}
        settings = f"{whose[self.settings]} settings" if self.settings else ""
        code = {"own": "own code"}.get(self.implementation or "", self.implementation)
        return ", ".join(filter(None, [code, settings]))

    @property
    def chaotic(self) -> bool:
        """Whether a difference in the last digit may change all that follows."""
        return self.family in {"genetic", "neural", "pretrained", "llm"}

    @model_validator(mode="after")
    def _files_fit_together(self) -> MethodSpec:
        if self.sources and not self.fetch:
            raise ValueError("sources are files that the program 'fetch' reads; fetch is missing")
        if twice := self.checkouts.keys() & {*self.paths}:
            raise ValueError(f"paths and checkouts both have {min(twice)!r}; rename one")
        return self

    @model_validator(mode="after")
    def _grid_fits_tuning(self) -> MethodSpec:
        if (self.tuning == "grid") != bool(self.grid):
            raise ValueError(
                "tuning = 'grid' and a [grid] table belong together: "
                f"tuning is {self.tuning!r} and [grid] has "
                f"{len(self.grid) or 'no'} key{'s' * (len(self.grid) != 1)}"
            )
        for name, values in self.grid.items():
            if not values:
                raise ValueError(f"grid.{name} is empty; give at least one value")
        if self.seedable == "no argument":  # then nothing can be the same twice
            object.__setattr__(self, "repeatable", False)
        if self.equations == (self.family == PREDICTOR):
            raise ValueError(
                f"family = {PREDICTOR!r} and equations = false belong together: family is "
                f"{self.family!r} and equations is {str(self.equations).lower()}"
            )
        if not self.equations and (self.tuning == "front" or "truth" in self.given):
            raise ValueError(
                "equations = false goes with tuning = 'none' or 'grid', since the candidates of a "
                f"front are equations, and without the truth; tuning is {self.tuning!r}, given is "
                f"{list(self.given)}"
            )
        if self.access.llm and (self.view not in {TABLE, SEQUENCE} or self.given):
            raise ValueError(
                "access.llm = true goes with view = 'table' or 'sequence' and without 'given': "
                "what its prompts may show is set by --prompt; "
                f"view is {self.view!r}, given is {self.given!r}"
            )
        _refuse_what_is_no_json(self.check.hyperparameters)
        tables: list[MethodSpec | Overrides] = [self, *self.protocols.values()]
        for table in tables:
            _refuse_what_is_no_json(table.hyperparameters | table.grid)
            if (size := math.prod(map(len, (self.grid | table.grid).values()))) > _MOST_SETTINGS:
                raise ValueError(
                    f"[grid] has {size:.6g} settings; give at most {_MOST_SETTINGS:,}, "
                    "which is the product of the numbers of values"
                )
        return self

    def fixed(self, protocol: str) -> dict[str, Any]:
        """Return the fixed hyperparameters under a protocol."""
        overrides = self._overrides(protocol)
        return self.hyperparameters | overrides.hyperparameters

    def combinations(self, protocol: str) -> list[dict[str, Any]]:
        """Return all settings of the grid under a protocol: in order, the last key fastest."""
        grid = self.grid | self._overrides(protocol).grid
        if not grid:
            return []
        return [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]

    def _overrides(self, protocol: str) -> Overrides:
        return {str(name): value for name, value in self.protocols.items()}.get(
            protocol, Overrides()
        )


def _refuse_what_is_no_json(values: dict[str, Any]) -> None:
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"hyperparameter {name} is {value!r}; it must be made of finite numbers, texts, "
                "booleans, lists and tables"
            ) from None


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

    @property
    def is_trusted(self) -> bool:
        """Whether the user trusts it to pass nothing from job to job; see `mdbench.workspace`.

        Raises
        ------
        MethodError
            If the user's settings file is not right.
        """
        return is_trusted(self.name)

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
                f"To make it from requirements.in: scripts/lock {self.name}",
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
        """Return the SHA-256 of all files that it consists of.

        Its own folder's but the lock, which has a key of its own, and those of what it uses.

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


def _used(file: Path, name: str, algorithms: Path) -> Path:
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
        f"{_meant(name, names)}Name folders of {shared[-1]}, or other methods of {methods}.",
    )


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def files_of(folder: Path) -> list[Path]:
    """Return the files that a folder of code consists of, in order.

    Raises
    ------
    MethodError
        If a link in it leads out of it: a method is what is in its folder, and what a link points
        to would be read, copied into images and shown to the method.
    """
    home = folder.resolve()
    found = []
    for path in sorted(folder.rglob("*")):
        if _IGNORED & set(path.relative_to(folder).parts):
            continue
        if path.is_symlink():
            _refuse_if_it_leaves(path, home)
        if path.is_file():
            found.append(path)
    return found


def _refuse_if_it_leaves(link: Path, home: Path) -> None:
    try:
        target = link.resolve()
    except (OSError, RuntimeError):  # a loop, which older Pythons call a RuntimeError
        target = None
    if target is None or not target.is_relative_to(home):
        raise MethodError(
            f"{link} is a link to {link.readlink()}, which is not in {home}.",
            "Put the file itself into the method's folder, or code that methods share into "
            f"algorithms/{SHARED}.",
        )


def folders(algorithms: Path) -> dict[Path, str]:
    """Return the folders of methods, and where each comes from.

    They are the project's own, those that ``$MDBENCH_METHODS`` names (separated as in ``$PATH``),
    and those of installed packages. Such a package has an entry point of the group
    ``mdbench.methods``, which names a package with methods' folders in it; nothing of such a
    package is imported.

    Parameters
    ----------
    algorithms
        The project's own folder.

    Raises
    ------
    UsageError
        If a folder that is named is none.
    """
    found = {algorithms.resolve(): ""}
    for text in filter(None, os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)):
        folder = Path(text).resolve()
        if not folder.is_dir():
            raise UsageError(
                f"{FOLDERS_VARIABLE} or --methods names {text}, which is no folder.",
                f"Make it (mkdir -p {text}), or name folders with methods' folders in them, "
                f"separated by {os.pathsep!r}, or: unset {FOLDERS_VARIABLE}",
            )
        found.setdefault(folder, text)
    for entry in _entry_points(tuple(sys.path)):
        package = entry.dist.name if entry.dist else entry.name
        folder = _folder_of(entry.value, package)
        found.setdefault(folder, f"package {package}")
    return found


@lru_cache(maxsize=1)
def _entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001 - the key
    """Return the entry points of the packages on a path, which is `sys.path`.

    To find them two files of each package are read, and a plan asks once for each method.
    """
    return tuple(entry_points(group=ENTRY_POINTS))


@contextmanager
def more_folders(given: Sequence[str]) -> Iterator[None]:
    """Add folders of methods before those of ``$MDBENCH_METHODS``, until the block ends.

    They are added to the variable, so that the processes of a cluster know them, too.
    """
    before = os.environ.get(FOLDERS_VARIABLE)
    named = [str(Path(one).absolute()) for text in given for one in text.split(os.pathsep) if one]
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

    That is the first of ``$MDBENCH_METHODS`` where it is set, else the project's own.

    Raises
    ------
    UsageError
        If the first is no folder.
    """
    named = [folder for folder, text in folders(algorithms).items() if text]
    return named[0] if os.environ.get(FOLDERS_VARIABLE) and named else algorithms


def _folder_of(module: str, package: str) -> Path:
    """Find the folder of a package without importing it."""
    first, *rest = module.split(".")
    try:
        spec = find_spec(first)
    except (ImportError, ValueError):
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place, *rest)
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
    found: dict[str, Method | MethodError] = {}
    for name, places in _places(algorithms).items():
        try:
            found[name] = load(_only(name, places), algorithms)
        except MethodError as error:
            found[name] = error
    return found


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
    found: dict[str, list[Path]] = {}
    for folder in folders(algorithms):
        for file in sorted(folder.glob("*/method.toml")):
            found.setdefault(file.parent.name, []).append(file.parent)
    return found


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
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST_FILE + 1)
        if len(text) > _LARGEST_FILE:
            raise MethodError(
                f"{file} has more than {_LARGEST_FILE // 1024} KiB.", f"Make it shorter. {_KEYS}"
            )
        content = tomllib.loads(text.decode())
    except RecursionError:
        raise MethodError(f"{file} nests tables or lists too deep.", _KEYS) from None
    except FileNotFoundError:
        raise MethodError(
            f"{file} is missing.", f"To make a method's folder: mdbench new {folder.name}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MethodError(f"{file} is no valid TOML: {error}") from None
    try:
        spec = MethodSpec.model_validate(content)
    except ValidationError as error:
        raise _explain(file, error) from None
    if spec.name != folder.name:
        raise MethodError(
            f"{file}: name is {spec.name!r}, but the folder is {folder.name!r}.",
            "Give both the same name.",
        )
    _refuse_missing_files(folder, spec)
    used = tuple(_used(file, name, algorithms or folder.parent) for name in spec.uses)
    _refuse_what_no_data_type_has(file, spec)
    return Method(folder, spec, used)


def _refuse_missing_files(folder: Path, spec: MethodSpec) -> None:
    if not (spec.program or (folder / "adapter.py").is_file()):
        raise MethodError(
            f"{folder / 'adapter.py'} is missing.",
            "It holds the class Adapter of the method; a method in another language has the key "
            "'program' instead (docs/other-languages.md).",
        )
    for name in spec.sources:
        if not (folder / name).is_file():
            raise MethodError(f"{folder / name} is missing.", "method.toml names it: sources.")


def _refuse_what_no_data_type_has(file: Path, spec: MethodSpec) -> None:
    known = datatypes.names()
    kinds = [datatypes.facts_of(name) for name in sorted(set(spec.data_types) & set(known))]
    allowed = {
        "family": [*FAMILIES, *(family for kind in kinds for family in kind.families)],
        "view": [view for kind in kinds for view in kind.views],
    }
    for key, values in allowed.items():
        value = getattr(spec, key)
        if kinds and value not in values:
            raise MethodError(
                f"{file}: key {key!r} is {value!r}; with data_types = {list(spec.data_types)} it "
                f"may be {' or '.join(map(repr, dict.fromkeys(values)))}.",
                _KEYS,
            )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _meant(key: str, names: list[str]) -> str:
    near = get_close_matches(key, names, 1)
    return f"Did you mean {near[0]}?  " if near else ""


def _explain(file: Path, error: ValidationError) -> MethodError:
    slips_first = sorted(
        error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden"
    )
    first, *others = slips_first  # a key that is misspelt is often the one that is missing
    parts, hint = first["loc"], _KEYS
    if parts[-1:] == ("[key]",):  # the name of a table, or of a key in one
        where, given = f"{file}: key {_key(parts[:-1])!r}", "no name that is allowed"
    else:
        where = f"{file}: key {_key(parts)!r}" if parts else str(file)
        given = _short(first["input"])
    if first["type"] == "extra_forbidden":
        names = _names_of(parts[:-1])
        message = f"{where} is not known"
        hint = f"{_meant(str(parts[-1]), names)}The keys are: {', '.join(names)}."
    elif first["type"] == "missing":
        message = f"{where} is missing"
    elif parts:
        message = f"{where} is {given}: {_wanted(first)}"
    else:
        message = f"{where}: {_wanted(first)}"
    if also := list(dict.fromkeys(_key(each["loc"]) for each in others)):
        hint += f" Wrong, too: {', '.join(also)}."
    return MethodError(message, hint)


def _key(parts: Sequence[str | int]) -> str:
    """Return a key as TOML writes it."""
    texts = [part if isinstance(part, str) else str(part) for part in parts if part != "[key]"]
    return ".".join(text if _BARE.fullmatch(text) else f'"{text}"' for text in texts)


def _names_of(parts: Sequence[str | int]) -> list[str]:
    """Return the keys that a table of a ``method.toml`` may have."""
    table: Any = MethodSpec
    for part in parts:
        if isinstance(table, type) and issubclass(table, BaseModel):
            fields = table.model_fields.items()
            table = next(field.annotation for name, field in fields if part in {name, field.alias})
        else:  # of lists and tables of any names, what each has in it
            table = [each for each in get_args(table) if each is not ...][-1]
    return [field.alias or name for name, field in table.model_fields.items()]


def _wanted(error: ErrorDetails) -> str:
    """Return what a value should be, in the words of TOML."""
    if error["type"] == "tuple_type" and isinstance(error["input"], dict):
        return f"it should be a list of tables, [[{_key(error['loc'])}]]"
    text = _WANTED.get(error["type"]) or _PATTERNS.get(error.get("ctx", {}).get("pattern", ""))
    if text is None:
        text = error["msg"].removeprefix("Value error, ")
        text = re.sub(r"\b(True|False)\b", lambda word: word[0].lower(), text)
    return text


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WANTED = {
    "too_short": "it should have at least one",
    "tuple_type": 'it should be a list, such as ["a", "b"]',
    "list_type": "it should be a list, such as [1, 2]",
    "dict_type": "it should be a table",
    "model_type": "it should be a table",
    "bool_type": "it should be true or false",
    "float_type": "it should be a number",
}
_PATTERNS = {
    _NAME: "it should be small letters, digits, - and _, beginning with a letter, at most 40",
}
