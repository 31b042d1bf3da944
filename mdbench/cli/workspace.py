"""``mdbench list``, ``install``, ``probe`` and ``data``: methods, environments and datasets."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError
from rich import box
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from mdbench import datatypes, methods
from mdbench.cli.options import Exit
from mdbench.datatypes.facts import FRESH, SUITE_FILE, Protocol
from mdbench.errors import (
    DataError,
    MdbenchError,
    MethodError,
    UnavailableError,
    UsageError,
    counted,
)
from mdbench.method_spec import FAMILIES
from mdbench.runs.options import parse_words
from mdbench.runtimes import bubblewrap
from mdbench.runtimes.environments.venvs import describe_making, installed_mb
from mdbench.workspace import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress

    from mdbench.datatypes.base import Source
    from mdbench.method_spec import MethodSpec
    from mdbench.runtimes.base import Prepared, Runtime
    from mdbench.workspace import Workspace


_Model = TypeVar("_Model", bound=BaseModel)

FILE = "suites.toml"


class Suite(BaseModel):
    """A set of systems.

    Attributes
    ----------
    source
        The paper or the collection.
    licence
        Under what terms the source is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str = Field(min_length=1)
    licence: str = Field(min_length=1)


DRAWN = Suite(source="drawn by mdbench lab fresh", licence="MIT")
"""The source of suites that ``mdbench lab fresh`` has drawn; no file lists it."""


def list_all(workspace: Workspace, console: Console, data_type: str | None, *, names: bool) -> None:
    """Print all methods by family and the datasets of each data type; if `names` these alone."""
    if names:
        _list_datasets(workspace, console, data_type)
        return
    by_name = methods.discover(workspace.algorithms)
    chosen = {
        name: method
        for name, method in by_name.items()
        if isinstance(method, MethodError)
        or data_type is None
        or data_type in method.spec.data_types
    }
    console.print(_methods_table(workspace, chosen, console.width, kinds=data_type is None))
    for name, error in chosen.items():
        if isinstance(error, MethodError):
            console.print(f"[red]{escape(name)} is broken:[/] {escape(str(error))}")
    installed = "" if data_type is None else f" for {data_type}"
    console.print(
        f"{counted(len(chosen), 'method')}{installed}.  installed: the size of the environment, "
        "which methods with the same packages share; the others are made when they are first "
        "run.",
        style="dim",
    )
    for kind in datatypes.names() if data_type is None else [data_type]:
        own = datatypes.own_names(kind, workspace.datasets / kind, workspace.arrays / kind)
        console.print(f"[bold]Datasets of data type {kind}:[/] {len(own)}")
        console.print(escape(", ".join(own)))


def _list_datasets(workspace: Workspace, console: Console, data_type: str | None) -> None:
    """Print the sets of each data type, and of one data type all datasets with their titles."""
    suites = read_suites(workspace.datasets)
    for kind in datatypes.names() if data_type is None else [data_type]:
        arguments = kind, workspace.datasets / kind, workspace.arrays / kind
        own, source = datatypes.own_names(*arguments), datatypes.find(*arguments).source()
        console.print(_suites_table(kind, suites.get(kind, {}), own, source.groups()))
        console.print(f"[bold]Datasets of data type {kind}:[/] {len(own)}")
        if data_type is None:
            console.print(escape(", ".join(own)))
        else:
            console.print(_names_table(source, own, console.width))
    if data_type is None:
        console.print(
            "The datasets of a kind with their titles: mdbench list --datasets --data-type ode",
            style="dim",
        )


_FEWEST_FOR_TITLES = 30
"""Columns below which titles stand below the names, and not next to them."""


def _names_table(source: Source[Any], names: Sequence[str], width: int) -> Table:
    """Return a table of datasets' names and titles."""
    longest = max(map(len, names), default=0)
    grid = Table(box=None, show_header=False, padding=(0, 2))
    if width - longest - 8 >= _FEWEST_FOR_TITLES:
        grid.add_column(no_wrap=True, overflow="fold", min_width=longest)
        for name in names:
            grid.add_row(escape(name), escape(source.title(name)))
        return grid
    grid.add_column(overflow="fold")
    for name in names:
        grid.add_row(escape(name))
        grid.add_row(Padding(escape(source.title(name)), (0, 0, 0, 2)))
    return grid


def _suites_table(
    kind: str,
    suites: Mapping[str, Suite],
    own: Sequence[str],
    groups: Mapping[str, Sequence[str]],
) -> Table:
    """Return a table of what ``--dataset`` takes besides names: size, source and licence."""
    table = Table(box=box.SIMPLE_HEAD, title=f"Sets of {kind}", title_justify="left")
    names = dict.fromkeys([*suites, *groups])
    table.add_column("--dataset", no_wrap=True, min_width=max(map(len, names), default=0))
    table.add_column("datasets", justify="right")
    table.add_column("source", overflow="fold")
    table.add_column("licence", overflow="fold")
    for name in names:
        suite = suites.get(name) or (DRAWN if name.startswith(FRESH) else None)
        size = len(members(name, kind, own, groups))
        table.add_row(
            "(none: all)" if name == kind else escape(name),
            str(size),
            *(map(escape, (suite.source, suite.licence)) if suite else ("", "")),
        )
    return table


_WIDE = 100
"""Columns of a terminal that has space for all columns of the methods; else they are a text."""


def _methods_table(
    workspace: Workspace,
    by_name: dict[str, methods.Method | MethodError],
    width: int,
    *,
    kinds: bool,
) -> Table:
    """Return a table of methods, those of a family together; `kinds`: with their data types."""
    table = Table(box=box.SIMPLE_HEAD, title="Methods", title_justify="left")
    origins = methods.folders(workspace.algorithms)
    elsewhere = len(origins) > 1
    wide = width >= _WIDE
    table.add_column("name", no_wrap=True)
    if wide and kinds:
        table.add_column("data types")
    if wide:
        table.add_column("installed", justify="right", no_wrap=True)
    table.add_column("what it is")
    for column in [*["licence"] * wide, *["from"] * elsewhere]:
        table.add_column(column)
    right = [method for method in by_name.values() if isinstance(method, methods.Method)]
    families = dict.fromkeys(FAMILIES) | {method.spec.family: None for method in right}
    for family in families:
        members = [method for method in right if method.spec.family == family]
        if members:
            table.add_row(f"[bold]{escape(family)}[/]")
        for method in members:
            spec = method.spec
            size = installed_mb(
                *(method.name, method.lock, spec.python, workspace.home),
                build=spec.build,
                fetch=method.fetch,
                sources=method.sources,
            )
            title = describe(spec, [other.spec for other in right])
            types, installed = " ".join(spec.data_types), "" if size is None else f"{size:.0f} MB"
            if wide:
                cells = [*[types] * kinds, installed, title, spec.licence]
            else:
                here = f"installed: {installed}" if installed else "not installed"
                facts = filter(None, [types * kinds, spec.licence, here])
                cells = [": ".join(filter(None, [title, ", ".join(facts)]))]
            cells += [origins.get(method.folder.parent) or workspace.algorithms.name] * elsewhere
            table.add_row(f"  {escape(method.name)}", *map(escape, cells))
    return table


def describe(spec: MethodSpec, others: Sequence[MethodSpec]) -> str:
    """Return a method's title without its name before the colon.

    A variant of one of the others, such as "gplearn with searched hyperparameters", is described by
    what that is and what is different.
    """
    head, _, what = spec.title.partition(": ")
    variant = re.fullmatch(r"\S+,? (with(?:out)? .+)", spec.title)
    bases = [other for other in others if spec.name.startswith(f"{other.name}_")]
    if variant and bases:
        base = max(bases, key=lambda other: len(other.name))
        return f"{describe(base, others)}; here {variant[1]}"
    plain = re.sub(r"[^a-z0-9]", "", head.lower())
    return what if what and plain == re.sub(r"[^a-z0-9]", "", spec.name) else spec.title


def list_as_json(workspace: Workspace, data_type: str | None) -> None:
    """Print all methods and datasets as JSON."""
    listing: dict[str, Any] = {"schema": 1, "methods": [], "data_types": []}
    for name, method in methods.discover(workspace.algorithms).items():
        if isinstance(method, MethodError):
            listing["methods"].append({"name": name, "broken": str(method)})
        elif data_type is None or data_type in method.spec.data_types:
            spec = method.spec.model_dump(mode="json", by_alias=True, exclude={"schema_"})
            listing["methods"].append(spec | {"broken": None})
    suites = read_suites(workspace.datasets)
    for kind in datatypes.names() if data_type is None else [data_type]:
        source = datatypes.find(kind, workspace.datasets / kind, workspace.arrays / kind).source()
        named = [{"name": name, "title": source.title(name)} for name in source.names()]
        groups = {name: list(members) for name, members in source.groups().items()}
        sets = [
            {"name": name, "datasets": len(members(name, kind, source.names(), groups))}
            | suite.model_dump()
            for name, suite in {
                **suites.get(kind, {}),
                **{name: DRAWN for name in groups if name.startswith(FRESH)},
            }.items()
        ]
        listing["data_types"].append(
            {"name": kind, "datasets": named, "groups": groups, "suites": sets}
        )
    print(json.dumps(listing, allow_nan=False))


@dataclass
class _Result:
    """The result of making one method's environment."""

    made: bool
    text: str
    seconds: float
    size_mb: float | None = None
    prepared: Prepared | None = None


def install_all(
    names: list[str],
    workspace: Workspace,
    console: Console,
    *,
    runtime_name: str = "auto",
    n_jobs: int | None = None,
    save: Path | None = None,
) -> int:
    """Make the environments, going on past a broken one; 0 if all could be made, else 1.

    Parameters
    ----------
    save
        A file for the images of those that could be made.
    """
    from mdbench.runs.plan import jobs_at_a_time
    from mdbench.runtimes.registry import open_runtime

    by_name: dict[str, methods.Method | MethodError]
    if names:
        by_name = {name: methods.find(name, workspace.algorithms) for name in names}
    else:
        by_name = methods.discover(workspace.algorithms)
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    progress = Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )

    def report(line: str) -> None:
        progress.console.print(escape(line), style="dim", soft_wrap=True)

    with progress, closing(open_runtime(runtime_name, workspace.home, report)) as runtime:
        if save is not None:
            runtime.save([], save)  # refused before anything is made
        results = _make_all(runtime, by_name, progress, jobs_at_a_time(n_jobs, 1))
        console.print(_environments_table(runtime.name, {name: results[name] for name in by_name}))
        made = [result.prepared for result in results.values() if result.prepared is not None]
        if save is not None and made:
            runtime.save(made, save)
            size = save.stat().st_size / 1e6
            console.print(f"{counted(len(made), 'image')} in {escape(str(save))}, {size:.0f} MB")
    broken = sum(not result.made for result in results.values())
    return Exit.NOT_AS_WISHED if broken else Exit.DONE


def _make_all(
    runtime: Runtime,
    by_name: dict[str, methods.Method | MethodError],
    progress: Progress,
    at_a_time: int,
) -> dict[str, _Result]:
    task = progress.add_task("", total=len(by_name))
    results: dict[str, _Result] = {}
    with ThreadPoolExecutor(at_a_time) as pool:
        waiting = {
            pool.submit(_make_one, runtime, method): name for name, method in by_name.items()
        }
        try:
            for future in as_completed(waiting):
                name = waiting[future]
                result = results[name] = future.result()
                colour = "green" if result.made else "red"
                word = "ready" if result.made else "cannot be made"
                line = f"{escape(name)}: [{colour}]{word}[/] {result.seconds:.1f} s"
                progress.console.print(line)
                progress.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runtime.interrupt()
            raise
    return results


def _make_one(runtime: Runtime, method: methods.Method | MethodError) -> _Result:
    start = time.monotonic()
    try:
        if isinstance(method, MethodError):
            raise method
        prepared = runtime.prepare(method)
        size = runtime.size_mb(prepared)
    except MdbenchError as error:
        return _Result(made=False, text=str(error), seconds=time.monotonic() - start)
    return _Result(
        made=True,
        text=f"Python {prepared.python}",
        seconds=time.monotonic() - start,
        size_mb=size,
        prepared=prepared,
    )


def _environments_table(runtime: str, results: dict[str, _Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("method", "runtime", "built"):
        table.add_column(column, overflow="fold")
    for column in ("seconds", "MB"):
        table.add_column(column, justify="right")
    for name, result in results.items():
        colour, word = ("green", "yes") if result.made else ("red", "no")
        table.add_row(
            escape(name),
            runtime,
            f"[{colour}]{word}[/]: {escape(result.text)}",
            f"{result.seconds:.1f}",
            "" if result.size_mb is None else f"{result.size_mb:.0f}",
        )
    return table


_COLOURS = {"hard": "green", "soft": "yellow", "none": "red"}


def show_runtimes(workspace: Workspace, console: Console, *, json_: bool = False) -> None:
    """Print a row for each runtime: how hard it keeps each thing, or why it does not work."""
    from mdbench.doors import RUNTIMES
    from mdbench.runtimes.base import ENFORCED

    probes = [_probed(name, workspace) for name in RUNTIMES.names()]
    sandboxed, making = not bubblewrap.why_unavailable(), describe_making()
    if json_:
        made = {"sandbox": sandboxed, "how": making}
        print(json.dumps({"schema": 1, "runtimes": probes, "environments": made}))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("runtime", *ENFORCED):
        table.add_column(column, no_wrap=True)
    table.add_column("how", overflow="fold")
    for probe in probes:
        levels = probe["enforces"]
        cells = [f"[{_COLOURS[level]}]{level}[/]" for level in levels.values()]
        how = "; ".join(filter(None, [probe["how"], probe["missing"], probe["unavailable"]]))
        table.add_row(probe["runtime"], *(cells or ["-"] * len(ENFORCED)), escape(how))
    console.print(table)
    console.print(
        f"environments made in a sandbox: {'yes' if sandboxed else 'no'}; {making}.",
        soft_wrap=True,
        markup=False,
    )
    console.print(
        "network: one endpoint, for a method with [access] to a service: a socket in its job's "
        "folder, at which the bench listens; nothing else.",
        soft_wrap=True,
        markup=False,
    )


def _probed(name: str, workspace: Workspace) -> dict[str, Any]:
    """Return what a runtime enforces, or why it does not work here."""
    from mdbench.runtimes.base import ENFORCED
    from mdbench.runtimes.registry import open_runtime

    row: dict[str, Any] = {"runtime": name, "enforces": {}, "how": ""}
    row |= {"missing": "", "unavailable": ""}
    try:
        with closing(open_runtime(name, workspace.home)) as runtime:
            enforcement = runtime.probe()
            row["enforces"] = {what: enforcement.levels[what] for what in ENFORCED}
            row["how"], row["missing"] = enforcement.how, runtime.missing() or ""
    except UnavailableError as error:
        row["unavailable"] = str(error)
    return row


class DataOptions(NamedTuple):
    """The options of `data`: datasets written below `out`, or the user's at `path` described.

    `words` are options that only the data type has; `names` are names or globs of datasets, and
    without any all are meant.
    """

    out: Path | None
    path: Path | None
    words: Sequence[str]
    names: Sequence[str] = ()


def export_data(
    workspace: Workspace,
    console: Console,
    data_type: str,
    asked: DataOptions,
    *,
    with_noise: bool,
    seed: int,
    protocol: Protocol,
) -> None:
    """Write datasets of a data type, or describe those of the user.

    Raises
    ------
    UsageError
        If it is asked for neither, or for both where data are not drawn.
    """
    from mdbench.runs.plan import select_names

    kind = datatypes.find(data_type, workspace.datasets / data_type, workspace.arrays / data_type)
    both = asked.out is not None and asked.path is not None
    if (asked.out is None and asked.path is None) or (both and not kind.draws_data):
        raise UsageError(
            "data got neither --out nor --dataset-path."
            if asked.out is None
            else "data got both --out and --dataset-path.",
            f"To write the project's datasets: mdbench data --data-type {data_type} --out DIR\n"
            f"  To look at your own: mdbench data --data-type {data_type} --dataset-path FILE\n"
            "  To see all options: mdbench data --help",
        )
    of_noise = seed and (asked.out is None or not kind.draws_data)
    if not with_noise and (of_noise or protocol is not Protocol.STRICT):
        raise UsageError(
            "--seed and --protocol choose the noise, and no noise was asked for.",
            "Add --with-noise." if asked.path is None else "Leave them out.",
        )
    if asked.out is None:
        assert asked.path is not None  # noqa: S101 - for the type checker
        if with_noise:
            raise UsageError("--with-noise goes with --out.", "Leave it out.")
        if asked.names:
            raise UsageError("--dataset goes with --out.", "Leave it out.")
        _describe_own_data(workspace, console, data_type, asked.path, asked.words)
        return
    options = parse_words(asked.words, kind.options, data_type)
    kind.on_progress = lambda text: console.print(escape(text), style="dim", soft_wrap=True)
    source = kind.source(asked.path)
    names = select_names(source.names(), asked.names, source.groups())
    count = kind.write_all(
        asked.out, source, names, with_noise=with_noise, seed=seed, protocol=protocol,
        options=options,
    )  # fmt: skip
    console.print(f"{counted(count, 'file')} in {escape(str(asked.out))}", soft_wrap=True)


def _describe_own_data(
    workspace: Workspace, console: Console, data_type: str, path: Path, words: Sequence[str]
) -> None:
    from mdbench.runs.catalog import Catalog
    from mdbench.runs.plan import describe_dataset

    catalog = Catalog(workspace)
    kind, source = catalog.data_type(data_type), catalog.source(data_type, path)
    given = parse_words(words, kind.options, data_type)
    seen = set()
    for name, options in kind.expand_options(list(source.names()), given):
        if name in seen:  # a part of the same data
            continue
        seen.add(name)
        dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options)
        lines = list(describe_dataset(kind, dataset, kind.views[0], Protocol.STRICT))
        for line in lines or [f"{name}: nothing is known of it beforehand; it can be read."]:
            console.print(escape(line), soft_wrap=True)


class _File(RootModel[dict[str, dict[str, Suite]]]):
    """Suites by data type and name."""


def read_suites(datasets: Path) -> Mapping[str, Mapping[str, Suite]]:
    """Return the sources of all suites by data type and name.

    Raises
    ------
    DataError
        If a file cannot be read; it names the file and the key.
    """
    path = datasets / FILE
    suites = dict(_read(path, _File).root) if path.exists() else {}
    for file in sorted(datasets.glob(f"*/*/{SUITE_FILE}")):
        kind, name = file.parts[-3:-1]
        suites[kind] = {**suites.get(kind, {}), name: _read(file, Suite)}
    return suites


def _read(path: Path, model: type[_Model]) -> _Model:
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path}: key {key!r}: {first['msg']}", "A suite has a source and a licence."
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from error


def members(
    name: str, data_type: str, own: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the systems of a suite.

    The suite with the name of its data type has the systems that a run takes without ``--dataset``.
    """
    return own if name == data_type else groups.get(name, ())
