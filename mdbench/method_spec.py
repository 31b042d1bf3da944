"""What a ``method.toml`` says: its keys, and what may stand in each."""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from mdbench import datatypes
from mdbench.doors import SERVICES
from mdbench.errors import MethodError
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

_LARGEST_FILE = 2**18
"""Bytes of a ``method.toml``."""
_LONGEST_VALUE = 500
"""Characters of a value that an error shows."""
_MOST_SETTINGS = 100_000
"""Settings that a grid may have: a job fits each of them."""
_MOST_THREADS, _LONGEST_S, _MOST_MEMORY_MB, _MOST_ROWS = 1024, 1e7, 2**24, 10**9
"""Threads, seconds (four months), MiB and rows of a method's defaults: more is a mistake."""
_NAME = r"^[a-z][a-z0-9_-]{0,39}$"
_KEYS = f"{page('adding-a-method')} lists all keys and the values allowed."
DESIGNED_HERE, REWRITTEN_HERE = "‡", "§"
"""Marks behind the names of methods; see `MethodSpec.mark`."""
MARKS_EXPLAINED = {
    DESIGNED_HERE: "was designed by the makers of this benchmark, who knew its rules.",
    REWRITTEN_HERE: "is our own code after somebody else’s paper, and may be better or worse than "
    "the authors’.",
}
PREDICTOR = "predictor"
"""The family of methods that predict and have no equations."""
FAMILIES = (
    *("linear", "genetic", "neural", "pretrained", "llm", "bayesian", "baseline"),
    PREDICTOR,
)
"""Families of methods that all data types share."""
TABLE = "table"
SEQUENCE = "sequence"


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


class DataTypeSettings(Overrides):
    """Settings of a method that differ on some data types."""

    data_types: tuple[str, ...] = Field(min_length=1)
    max_rows: int | None = Field(default=None, ge=1, le=_MOST_ROWS)
    source: str = Field(default="", min_length=1)
    """Where its author recommends them."""
    differs: str = Field(default="", min_length=1)
    """What differs from the source, and why."""


class Smaller(_Table):
    """What `mdbench check` overrides, so that a costly method is checked in seconds."""

    hyperparameters: dict[str, Any] = {}


class Access(_Table):
    """What a method can reach from its sandbox beyond its own files."""

    llm: Flag = False


if not TYPE_CHECKING:  # a service that a package adds has a key of its own
    Access = create_model(
        "Access", __base__=Access, **dict.fromkeys(SERVICES.names(), (Flag, False))
    )


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
    """Folders in `mdbench.methods.SHARED`, or other methods, whose modules its adapter imports."""
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
    """The method that asks a service of which it is the control: the same without it.

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
    threads: int = Field(default=1, ge=1, le=_MOST_THREADS)
    timeout: float = Field(default=43200.0, ge=0.01, le=_LONGEST_S, strict=True)
    work: float | None = Field(default=None, ge=0.001, le=_LONGEST_S, strict=True)
    """Reference seconds of work that a job may do, where neither these nor a time are asked for."""
    memory_mb: int | None = Field(default=None, ge=64, le=_MOST_MEMORY_MB)
    max_rows: int | None = Field(default=None, ge=1, le=_MOST_ROWS)
    """The most training samples that the method is given, where some can be left out."""
    paper: str = ""
    licence: str = Field(min_length=1)
    implementation: Literal["package", "own"] | None = None
    """Whether a public package does the work, or code written after the paper."""
    designed_here: Flag = False
    """Whether the makers of its folder designed it, be it around a published part."""
    knows: dict[str, Annotated[str, Field(min_length=1)]] = {}
    """By data type, how its maker knew cases of the project's suites when it was designed."""
    settings: Literal["upstream", "author", "ours"] | None = None
    """Whose hyperparameters these are: a published benchmark's, the method's author's, or ours."""
    source: str = ""
    """Where its author recommends the hyperparameters: a paper, a file of a repository."""
    differs: str = ""
    """What differs from the source, and why."""
    hyperparameters: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    by_data_type: tuple[DataTypeSettings, ...] = ()
    protocols: dict[Literal["strict", "published"], Overrides] = {}
    check: Smaller = Smaller()
    limits: tuple[Limit, ...] = ()

    @property
    def service(self) -> str:
        """The service that it may ask while it runs; empty for none."""
        return next((name for name, allowed in self.access if allowed), "")

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
    def mark(self) -> str:
        """The mark behind its name: `DESIGNED_HERE`, `REWRITTEN_HERE`, or none.

        Rewritten is a method of somebody else's paper, but not a control, which takes a part of
        such a method away on purpose, nor a baseline.
        """
        if self.designed_here:
            return DESIGNED_HERE
        own = self.implementation == "own" and self.paper and not self.control_of
        return REWRITTEN_HERE if own and self.family != "baseline" else ""

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
        if self.service and (self.view not in {TABLE, SEQUENCE} or self.given):
            raise ValueError(
                f"access.{self.service} = true goes with view = 'table' or 'sequence' and without "
                "'given': what the method may show is set by options of the run; "
                f"view is {self.view!r}, given is {self.given!r}"
            )
        return self

    @model_validator(mode="after")
    def _settings_are_allowed(self) -> MethodSpec:
        _refuse_what_is_no_json(self.check.hyperparameters)
        named = [name for table in self.by_data_type for name in table.data_types]
        if unknown := {*named} - {*self.data_types}:
            raise ValueError(
                f"by_data_type has {min(unknown)!r}; data_types are {list(self.data_types)}"
            )
        if twice := [name for name in named if named.count(name) > 1]:
            raise ValueError(f"by_data_type has {twice[0]!r} twice; one table is enough")
        if unknown := {*self.knows} - {*self.data_types}:
            raise ValueError(f"knows has {min(unknown)!r}; data_types are {list(self.data_types)}")
        tables: list[MethodSpec | Overrides] = [self, *self.by_data_type, *self.protocols.values()]
        for table in tables:
            _refuse_what_is_no_json(table.hyperparameters | table.grid)
            if (size := math.prod(map(len, (self.grid | table.grid).values()))) > _MOST_SETTINGS:
                raise ValueError(
                    f"[grid] has {size:.6g} settings; give at most {_MOST_SETTINGS:,}, "
                    "which is the product of the numbers of values"
                )
        return self

    def fixed(self, protocol: str, data_type: str) -> dict[str, Any]:
        """Return the fixed hyperparameters on a data type under a protocol.

        What differs under the protocol comes before what differs on the data type.
        """
        fixed = dict(self.hyperparameters)
        for overrides in self._overrides(protocol, data_type):
            fixed |= overrides.hyperparameters
        return fixed

    def on(self, data_type: str) -> DataTypeSettings | None:
        """Return what differs on a data type, where anything does."""
        return next((table for table in self.by_data_type if data_type in table.data_types), None)

    def most_rows(self, data_type: str) -> int | None:
        """Return `max_rows` on a data type."""
        own = self.on(data_type)
        return self.max_rows if own is None or own.max_rows is None else own.max_rows

    def combinations(self, protocol: str, data_type: str) -> list[dict[str, Any]]:
        """Return all settings of the grid: in order, the last key fastest."""
        grid = dict(self.grid)
        for overrides in self._overrides(protocol, data_type):
            grid |= overrides.grid
        if not grid:
            return []
        return [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]

    def _overrides(self, protocol: str, data_type: str) -> list[Overrides]:
        protocols = {str(name): value for name, value in self.protocols.items()}
        tables = (self.on(data_type), protocols.get(protocol))
        return [table for table in tables if table is not None]


def _refuse_what_is_no_json(values: dict[str, Any]) -> None:
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"hyperparameter {name} is {value!r}; it must be made of finite numbers, texts, "
                "booleans, lists and tables"
            ) from None


def read_spec(file: Path) -> MethodSpec:
    """Read and validate a ``method.toml``.

    Raises
    ------
    MethodError
        If it is missing or no TOML, or a key is wrong; names the key, the value given and the
        values allowed.
    """
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
            f"{file} is missing.", f"To make a method's folder: mdbench new {file.parent.name}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MethodError(f"{file} is no valid TOML: {error}") from None
    try:
        spec = MethodSpec.model_validate(content)
    except ValidationError as error:
        raise _explain(file, error) from None
    _refuse_what_no_data_type_has(file, spec)
    return spec


def _refuse_what_no_data_type_has(file: Path, spec: MethodSpec) -> None:
    names = sorted(filter(datatypes.is_known, {*spec.data_types}))
    kinds = [datatypes.facts_of(name) for name in names]
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
        where, what = f"{file}: key {_key(parts[:-1])!r}", "no name that is allowed"
    else:
        where = f"{file}: key {_key(parts)!r}" if parts else str(file)
        what = _short(first["input"])
    if first["type"] == "extra_forbidden":
        names = _names_of(parts[:-1])
        message = f"{where} is not known"
        hint = f"{_meant(str(parts[-1]), names)}The keys are: {', '.join(names)}."
    elif first["type"] == "missing":
        message = f"{where} is missing"
    elif parts:
        message = f"{where} is {what}: {_expected_value(first)}"
    else:
        message = f"{where}: {_expected_value(first)}"
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


def _expected_value(error: ErrorDetails) -> str:
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
