"""Study files: all that is asked for, in one file that a paper can print.

A study has in TOML what would be typed, each option under its name without hyphens in front and
with underscores.  What is above the first ``[[grid]]`` applies to all grids; each grid is a command
line by itself, and without one there is one.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from mdbench.datatypes import facts_of
from mdbench.datatypes import names as data_types
from mdbench.errors import MdbenchError, UsageError
from mdbench.installation import page
from mdbench.runs.options import (
    SMALLEST_MEMORY_MB,
    FieldOption,
    metadata,
    names,
    option,
    option_key,
    read,
    read_backend,
    read_command,
    read_count,
    read_jobs,
    read_pair,
    read_path,
    read_require,
    read_rerun,
    read_seeds,
    read_size,
    read_snr,
    to_words,
    typed_fields,
)
from mdbench.runs.services import options_of
from mdbench.runs.spec import CommonOptions, backstop_s
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mdbench.method_spec import MethodSpec
    from mdbench.records import Status
    from mdbench.runtimes.base import Level


if TYPE_CHECKING:

    class ServiceRunOptions:
        """The options of runs that services have; which these are depends on what is here."""
else:
    ServiceRunOptions = options_of("run_options")

RETRIES: Final = 2
"""Times that what may pass is tried again, unless another number is given."""


@dataclass(frozen=True)
class RunOptions(CommonOptions, ServiceRunOptions):
    """Options of ``mdbench run``, one attribute each."""

    algorithms: tuple[str, ...] = field(
        metadata=metadata("--algorithm NAME...", "Method, or all; several allowed.", names)
    )
    data_type: str = field(metadata=metadata("--data-type NAME", "Kind of problem, e.g. ode."))
    datasets: tuple[str, ...] = option(
        "--dataset NAME...",
        "Exact name or glob; several allowed.  Default: all.",
        names,
        default=(),
    )
    result_dir: Path = option(
        "--result-dir DIR",
        "Where records and logs go.  Default: results.",
        read_path,
        default=Path("results"),
        of_run=True,
    )
    with_noise: bool = option("--with-noise", "Clean and 40, 30, 20, 10 dB.", default=False)
    snr: tuple[float | None, ...] = option(
        "--snr DB...", "Noise level in dB, or 'clean'; several allowed.", read_snr, default=()
    )
    n_jobs: int | None = option(
        "--n-jobs N", "Jobs at a time; -1: one a core, the default.", read_jobs, of_run=True
    )
    seed: tuple[int, ...] = option(
        "--seed N", "Seed of noise and method.  Default: 0.", read_seeds, default=()
    )
    seeds: tuple[int, ...] = option(
        "--seeds N...", "Several seeds: 0,1,2 or 0-9.", read_seeds, default=()
    )
    rerun: Collection[Status] = option(
        "--rerun STATUS...",
        "Run again what ended so: e.g. timeout,failed; or all.",
        read_rerun,
        default=(),
        of_run=True,
    )
    retries: int = option(
        "--retries N",
        "Times that a job is tried again whose environment, engine or worker was lost.  "
        f"Default: {RETRIES}.",
        read_count,
        default=RETRIES,
        of_run=True,
    )
    backend: str = option(
        "--backend NAME",
        f"Where jobs run: local, or on a cluster; see {page('budgets')}.",
        read_backend,
        default="local",
        of_run=True,
    )
    scheduler: str | None = option(
        "--scheduler ADDRESS", "A Dask scheduler that runs: tcp://host:8786.", of_run=True
    )
    slurm: tuple[tuple[str, str], ...] = option(
        "--slurm KEY=VALUE...",
        "Options for sbatch, e.g. partition=long; time in minutes.",
        read_pair,
        default=(),
        of_run=True,
    )
    memory_total_mb: int | None = option(
        "--memory-total SIZE",
        "Memory that all jobs that run at a time may need together, e.g. 16G.",
        read_size(SMALLEST_MEMORY_MB),
        of_run=True,
    )
    fresh_sandbox: bool = option(
        "--fresh-sandbox",
        "A new sandbox, container or process for every job.",
        default=False,
        of_run=True,
    )
    runtime: str = option(
        "--runtime NAME",
        "auto, venv, docker or another that mdbench probe lists.",
        default="auto",
        envvar="MDBENCH_RUNTIME",
        of_run=True,
    )
    require: tuple[tuple[str, Level], ...] = option(
        "--require WHAT=LEVEL...",
        "Refuse to run with less, e.g. network=hard.",
        read_require,
        default=(),
        of_run=True,
    )
    notify: tuple[str, ...] = option(
        "--notify CMD",
        f"Run a program at the end, which is given its result: see {page('report')}.",
        read_command,
        default=(),
        of_run=True,
    )
    special: tuple[str, ...] = ()
    """Words that only the data type understands: its own options with their values."""

    @classmethod
    def of(cls, values: Mapping[str, Any], study: str | None = None) -> Self:
        """Read what was given by the options' names with underscores, as from Python or a `study`.

        Raises
        ------
        UsageError
            If a value cannot be read; options that are not known here are left for the data type.
        """
        typed = typed_fields(cls).items()
        own = {option_key(one.name): (name, one.several) for name, (one, _) in typed}
        own_values = {}
        for key, value in values.items():
            if key in own:
                name, several = own[key]
                single = several and isinstance(value, str | int | float)
                own_values[name] = [value] if single else value
        others = {key: value for key, value in values.items() if key not in own}
        return read(cls, own_values, special=tuple(to_words(others)), study=study)

    def for_method(self, spec: MethodSpec, work_s: float | None = None) -> dict[str, Any]:
        """Return the common options of a method's jobs: as asked for, or the method's own.

        Parameters
        ----------
        work_s
            The data type's own work; None for none.
        """
        own_values = {}
        for own_field in fields(CommonOptions):
            value = getattr(self, own_field.name)
            declared = own_field.metadata.get("option", FieldOption())
            if not declared.goes_with(spec):
                value = None
            elif value is None:
                value = getattr(spec, declared.method) if declared.method else declared.fallback
            own_values[own_field.name] = value
        if own_values["work_s"] is None:
            own_values["work_s"] = work_s
        if self.timeout_s is not None and self.work_s is None:
            own_values["work_s"] = None  # what is asked for replaces the method's own budget
        elif self.timeout_s is None and own_values["work_s"] is not None:
            own_values["timeout_s"] = backstop_s(own_values["work_s"])
        return own_values


STUDY = FieldOption("--study FILE", f"A file with all options; see {page('studies')}.")
"""The option that names a study file."""
FORMAT: Final = 1
"""The number of the format; in a study it is ``schema``."""
LARGEST: Final = 2**20
"""Bytes of a study file."""


@dataclass(frozen=True)
class Study:
    """The jobs that one command asks for: one grid, or several.

    Attributes
    ----------
    grids
        At least one; what is of the whole run is the same in all.
    name
        The file's name, for messages; empty where there is no file.
    sha256
        Of the file's bytes; None where there is none.
    numbers
        Which grid of the file each comes from, counted from 1.
    """

    grids: tuple[RunOptions, ...]
    name: str = ""
    sha256: str | None = None
    numbers: tuple[int, ...] = ()

    @property
    def whole(self) -> RunOptions:
        """Where and how all of it is run."""
        return self.grids[0]

    @contextmanager
    def named(self, number: int) -> Iterator[None]:
        """Add to errors which grid of which file they are about."""
        try:
            yield
        except MdbenchError as error:
            if self.name:
                grid = f", grid {self.numbers[number]}" if max(self.numbers, default=1) > 1 else ""
                raise type(error)(f"{self.name}{grid}: {error.message}", error.hint) from error
            raise

    @classmethod
    def read(cls, path: Path, overrides: Mapping[str, Any] | None = None) -> Self:
        """Read a study file.

        Parameters
        ----------
        overrides
            What was typed with it, as `RunOptions.of` takes it: only options of the whole run,
            which count more than the file's.

        Raises
        ------
        UsageError
            If the file cannot be read, if it is no study, or if a value cannot be read; it names
            the file and the grid.
        """
        overrides = dict(overrides or {})
        _refuse_job_options(overrides, path)
        content = _bytes_of(path)
        with cls((), str(path)).named(0):
            tables = _tables(content)
        sha256 = hashlib.sha256(content).hexdigest()
        numbers = tuple(number for number, _ in tables)
        study = cls((), str(path), sha256, numbers)
        grids = []
        for place, (_, table) in enumerate(tables):
            with study.named(place):
                grids.append(RunOptions.of({**table, **overrides}, study=sha256))
        return cls(tuple(grids), str(path), sha256, numbers)


def study_of(values_given: Mapping[str, Any], study: str | Path | None = None) -> Study:
    """Read what was given by the options' names with underscores, and a study.

    Raises
    ------
    UsageError
        If a value or the file cannot be read, or if they do not go together.
    """
    if study is None:
        return Study((RunOptions.of(values_given),))
    values = {key: value for key, value in values_given.items() if value not in (None, False)}
    return Study.read(Path(study), values)


def _refuse_job_options(overrides: Mapping[str, Any], path: Path) -> None:
    allowed = [is_.name for is_, _ in typed_fields(RunOptions).values() if is_.of_run]
    names = [f"--{key.replace('_', '-')}" for key in overrides]
    if others := [name for name in names if name not in allowed]:
        raise UsageError(
            f"{others[0]} was given with --study: {path} alone sets what the jobs are.",
            f"Change the file, or leave it out.  With a study go: {', '.join(allowed)}.",
        )


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise UsageError(
                f"The study {path} {what}.",
                f"Name a file; to write one: mdbench study --init {path} --algorithm ...",
            )
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"The study {path} cannot be read: {error}.") from error
    if len(content) > LARGEST:
        raise UsageError(f"The study {path} has more than {LARGEST} bytes.", "Is it a study?")
    return content


def _tables(content: bytes) -> list[tuple[int, dict[str, Any]]]:
    """Return the options of each grid, with those of all grids, and its number in the file.

    A grid with a list for an option that has one value is as many grids as the list has values.
    """
    try:
        content_read = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no TOML: {error}.", f"See {page('studies')}.") from error
    schema = content_read.pop("schema", None)
    if schema != FORMAT or isinstance(schema, bool):
        raise UsageError(
            f"its schema is {schema!r}, and this mdbench reads {FORMAT}.",
            f"A study begins with the line: schema = {FORMAT}",
        )
    grids = content_read.pop("grid", [{}])
    if not isinstance(grids, list) or not grids or not all(isinstance(g, dict) for g in grids):
        raise UsageError("grid is no list of tables.", "Write each as [[grid]].")
    of_run = {option_key(is_.name) for is_, _ in typed_fields(RunOptions).values() if is_.of_run}
    common = _grid_values(content_read)
    tables = []
    for number, grid in enumerate(grids, start=1):
        values = _grid_values(grid)
        if wrong := sorted(values.keys() & of_run):
            raise UsageError(
                f"{wrong[0]} is in grid {number}, but is of the whole run.",
                "Write it above the first [[grid]].",
            )
        tables += [(number, each) for each in _each_combination({**common, **values})]
    return tables


def _each_combination(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a grid for each combination of the values that are listed for factors."""
    typed = {option_key(is_.name): is_ for is_, _ in typed_fields(RunOptions).values()}
    kind = table.get("data_type")
    own = facts_of(kind).options if kind in data_types() else ()
    whole = {option.key for option in own if option.is_list}
    factors = {
        key: value
        for key, value in table.items()
        if isinstance(value, list)
        and (key not in typed or not typed[key].several)
        and key not in whole
    }
    for values in product(*factors.values()):
        yield {**table, **dict(zip(factors, values, strict=True))}


_FACTORS: Final = {"choice", "protocol"}
"""Options of every data type that may have a list in a study; so may those of a data type."""


def _grid_values(table: Mapping[str, Any]) -> dict[str, Any]:
    """Check a table's values, and take lists in one text apart as the command line does."""
    typed = {option_key(is_.name): is_ for is_, _ in typed_fields(RunOptions).values()}
    return {key: _value(key, value, typed.get(key)) for key, value in table.items()}


def _value(key: str, value: Any, option: FieldOption | None) -> Any:
    if key == option_key(STUDY.name):
        raise UsageError("A study cannot ask for another one.", f"Leave out {key}.")
    if key != key.replace("-", "_") or key.startswith("_"):
        raise UsageError(
            f"{key!r} is no option's name in a study.",
            f"Write {option_key(key.lstrip('-_'))}.",
        )
    if option is None and isinstance(value, bool | str | int | float):
        return value  # the data type's own; it knows what it may be
    if isinstance(value, list) and (option is None or key in _FACTORS):
        return _factor(key, value)
    if option is not None and not option.metavar:
        if isinstance(value, bool):
            return value
        raise UsageError(f"{key} is {value!r}.", "It is a switch: true or false.")
    if option is not None and option.several:
        values = value.split(",") if isinstance(value, str) else value
        values = values if isinstance(values, list) else [values]
        if values and all(_is_plain(each) for each in values):
            return values
        raise UsageError(f"{key} is {value!r}.", f"Give one {option.metavar}, or a list of them.")
    if option is not None and _is_plain(value):
        return value
    raise UsageError(f"{key} is {value!r}.", "Give one text or number.")


def _factor(key: str, values: list[Any]) -> list[Any]:
    """Check the values of an option that has one in each grid."""
    if values and all(map(_is_plain, values)) and len(set(map(str, values))) == len(values):
        return values
    raise UsageError(
        f"{key} is {values!r}.", "Give one text or number, or a list of different ones."
    )


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def study_text(values: Mapping[str, Any]) -> str:
    """Write a study of one grid.

    Parameters
    ----------
    values
        What was typed, by the options' names in a study: a text, several, or True.

    Raises
    ------
    UsageError
        If a text is no Unicode.
    """
    lines = ["# To run it: mdbench run --study THIS_FILE", f"schema = {FORMAT}"]
    of_run = {option_key(is_.name) for is_, _ in typed_fields(RunOptions).values() if is_.of_run}
    needed = {option_key(is_.name) for is_, must in typed_fields(RunOptions).values() if must}
    order = sorted(values, key=lambda key: (key in of_run, key not in needed))
    lines += [f"{key} = {_toml(values[key])}" for key in order]
    text = "\n".join(lines) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("A name that is no Unicode cannot be in a study.") from error
    return text


def _toml(value: Any) -> str:
    if value is True:
        return "true"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    text = str(value)
    for kind in (int, float):  # only where it comes back as it was typed
        try:
            if str(kind(text)) == text and text[-1].isdigit():
                return text
        except ValueError:
            continue
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_study(path: Path, values: Mapping[str, Any]) -> Study:
    """Write a study of one grid into a new file, and read it back.

    Raises
    ------
    UsageError, DataError
        If there is such a file already, or if it cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already.", "Name another file, or remove it.")
    content = study_text(values).encode()
    write_whole(path, lambda file: file.write(content))
    return Study.read(path)
