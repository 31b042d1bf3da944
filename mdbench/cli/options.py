"""Options of verbs taken from where they are declared, their spellings, and exit statuses."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum
from functools import cache, partial, wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from mdbench.errors import MdbenchError, UsageError
from mdbench.runs.options import option_key, read, split_words, typed_fields
from mdbench.runs.services import services
from mdbench.runs.study import STUDY, RunOptions, Study, study_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mdbench.runs.options import FieldOption


class Exit(IntEnum):
    """Exit statuses, the same for all verbs."""

    DONE = 0
    """However the jobs ended."""
    NOT_AS_WISHED = 1
    """An environment could not be made, a check failed, or a record was not reproduced."""
    ERROR = 2
    """The command could not be done; the message has the reason."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C or SIGTERM; records are whole, and the same command goes on."""


_MOST = 500
"""Names that are offered."""


def _beginning(names: Iterable[str], with_: str) -> list[str]:
    return [name for name in names if name.startswith(with_)][:_MOST]


def _methods(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.methods import discover
    from mdbench.workspace import Workspace

    with suppress(MdbenchError):  # outside of a project there are none
        return _beginning(discover(Workspace.find().algorithms), incomplete)
    return []


def _data_types(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.datatypes import names

    return _beginning(names(), incomplete)


def _datasets(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the names and groups of the data type that was given before."""
    from mdbench import datatypes
    from mdbench.workspace import Workspace

    data_type = context.params.get("data_type")
    with suppress(MdbenchError):
        workspace = Workspace.find()
        kinds = [data_type] if isinstance(data_type, str) else data_type or datatypes.names()
        names: list[str] = []
        for name in kinds:
            kind = datatypes.find(name, workspace.datasets / name, workspace.arrays / name)
            source = kind.source()
            names += [*source.groups(), *source.names()]
        return _beginning(dict.fromkeys(names), incomplete)
    return []


def _runtimes(context: typer.Context, incomplete: str) -> list[str]:
    del context
    return _beginning(("auto", "venv", "docker"), incomplete)


def _protocols(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from mdbench.datatypes.facts import Protocol

    return _beginning(Protocol, incomplete)


def _languages(context: typer.Context, incomplete: str) -> list[str]:
    del context
    from eqverdict.printers import LANGUAGES

    return _beginning(LANGUAGES, incomplete)


COMPLETIONS: dict[str, Callable[[typer.Context, str], list[str]]] = {
    "algorithm": _methods,
    "algorithms": _methods,
    "data_type": _data_types,
    "dataset": _datasets,
    "datasets": _datasets,
    "language": _languages,
    "runtime": _runtimes,
    "protocol": _protocols,
}
"""Functions that complete an argument in a shell, by the name of the parameter."""


PASSTHROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}
"""For verbs that leave options they do not know to the data type."""


GROUPS: Mapping[str, str] = {
    "What to run": "study algorithm data-type dataset snr with-noise seed seeds protocol choice",
    "Budget": "timeout work threads memory max-processes max-output n-jobs memory-total retries",
    "Data": "dataset-path",
    "Isolation and machines": "methods runtime fresh-sandbox require backend scheduler slurm",
    "Output": "result-dir rerun save-pareto notify init dry-run why json help",
    **{
        service.title: " ".join(
            option.name.lstrip("-")
            for kind in (service.job_options, service.run_options)
            for option, _ in typed_fields(kind).values()
        )
        for service in services().values()
    },
}
"""Headings of the help of a run, and the options below each."""
EXAMPLES = """\b
Examples:
  mdbench {verb} --algorithm sindy --data-type ode
  mdbench {verb} --algorithm sindy operon --data-type ode --dataset 'lorenz*' --timeout 60
  mdbench {verb} --algorithm sindy --data-type ode --dataset-path my-data.csv
"""
EXAMPLES_OF_DATA = """\b
Examples:
  mdbench {verb} --data-type ode --dataset 'lorenz*' --out files
  mdbench {verb} --data-type ode --dataset-path my-data.csv
"""
OTHERS = "Further options"
"""The heading of options that no group has."""


def group_of(option: str) -> str:
    """Return the heading that an option is below, given its name with its hyphens.

    Examples
    --------
    >>> group_of("--timeout"), group_of("--new")
    ('Budget', 'Further options')
    """
    name = option.lstrip("-")
    for heading, names in GROUPS.items():
        if name in names.split():
            return heading
    return OTHERS


def _position_in_group(option: str) -> int:
    """Return where an option stands in its group: in the order of the group."""
    names = GROUPS.get(group_of(option), "").split()
    name = option.lstrip("-")
    return names.index(name) if name in names else len(names)


class Command(TyperCommand):
    """A verb that takes texts as they are typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, in any spelling."""
        parameters = self.get_params(ctx)
        take_as_typed(parameters)
        if not ctx.resilient_parsing:  # where a shell completes, nothing is refused
            args = spread(args, declared_by(parameters))
        return super().parse_args(ctx, args)


def declared_by(parameters: Iterable[Any]) -> dict[str, bool]:
    """Return the names of a verb's options and arguments, and which may be given several times."""
    return {name: parameter.multiple for parameter in parameters for name in parameter.opts}


def take_as_typed(parameters: Iterable[Any]) -> None:
    """Let parameters keep texts as they are typed."""
    for each in parameters:
        each.get_runtime_param = partial(_AsTyped, each.get_runtime_param)


@dataclass(frozen=True)
class _AsTyped:
    """Makes a parameter's value of what was typed: texts, and what has its type, stay as they are.

    Typer asks Pydantic to do so.  To load it takes as long as all else of a short command.
    """

    typers: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        if param.multiple or param.nargs == -1:
            if value is None:
                return ()
            if kind == list[str] and isinstance(value, tuple):
                return list(value)
        elif value is None or (isinstance(kind, type) and type(value) is kind):
            return value
        return self.typers().coerce(value, param=param, ctx=ctx)


class PassthroughCommand(Command):
    """A verb that leaves options it does not know to the data type, and lists them in its help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, and the options in groups."""
        formatter.write_paragraph()
        parameters = self.get_params(ctx)
        runs = any("--algorithm" in parameter.opts for parameter in parameters)
        text = EXAMPLES if runs else EXAMPLES_OF_DATA
        for line in text.format(verb=self.name).splitlines()[1:]:
            formatter.write(f"{line}\n")
        rows: dict[str, list[tuple[int, tuple[str, str]]]] = {
            heading: [] for heading in (*GROUPS, OTHERS)
        }
        for parameter in parameters:
            if record := parameter.get_help_record(ctx):
                option = parameter.opts[0]
                rows[group_of(option)].append((_position_in_group(option), record))
        for heading, entries in rows.items():
            if entries:
                with formatter.section(heading):
                    formatter.write_dl(
                        [row for _, row in sorted(entries, key=lambda each: each[0])]
                    )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each data type with options of its own."""
        from mdbench import datatypes

        super().format_epilog(ctx, formatter)
        for kind in datatypes.names():
            rows = []
            for option in datatypes.facts_of(kind).options:
                views = f"  For methods with the view {' or '.join(option.views)}."
                rows.append(
                    (f"{option.name} {option.metavar}", option.help + views * bool(option.views))
                )
            if rows:
                with formatter.section(f"With --data-type {kind}"):
                    formatter.write_dl(rows)


def settings(**how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say how Typer makes a command of a verb: by which class, in what context."""

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        verb.settings = how  # type: ignore[attr-defined]
        return verb

    return decorate


def with_run_options(verb: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add all options of a run to a verb, before its own; it is called with a `Study`.

    A verb whose first parameter is named ``args`` is called with what was typed instead.
    """
    first, *own = inspect.signature(verb, eval_str=True).parameters.values()
    names = {each.name for each in own}
    declared = [
        _parameter("study", STUDY),
        *(_parameter(name, option) for name, (option, _) in typed_fields(RunOptions).items()),
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(verb)
    def command(context: typer.Context, **values: Any) -> int | None:
        more = {name: values.pop(name) for name in list(values) if name in names}
        file = values.pop("study")
        args = ParsedArgs(values, context.args, file)
        sources = {name: context.get_parameter_source(name) for name in values}
        args.typed = {n for n, source in sources.items() if source and source.name == _TYPED}
        return verb(args if first.name == "args" else args.study(), **more)

    parameters = [context, *declared, *own]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def with_methods(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--methods`` to a verb that names methods."""

    @wraps(verb)
    def command(*, methods: list[str] | None = None, **values: Any) -> Any:
        from mdbench.methods import more_folders

        with more_folders(methods or []):
            return verb(**values)

    help_ = (
        "A folder with methods' folders in it, besides algorithms/ and those of MDBENCH_METHODS; "
        "may be given several times."
    )
    option = inspect.Parameter(
        "methods",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[list[str] | None, typer.Option(METHODS, metavar="FOLDER", help=help_)],
    )
    own = inspect.signature(verb, eval_str=True).parameters.values()
    parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), option]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def with_options_of(kind: type[Any]) -> Callable[[Callable[[Any], int]], Callable[..., int]]:
    """Add the options that a class declares to a verb, which is called with its object."""

    def decorate(verb: Callable[[Any], int]) -> Callable[..., int]:
        @wraps(verb)
        def command(**given: Any) -> int:
            return verb(read(kind, given))

        parameters = [_parameter(name, option) for name, (option, _) in typed_fields(kind).items()]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate


def _as_options(words: Sequence[str]) -> str:
    """Write methods, data types and datasets that stand without options with them; empty if none.

    Examples
    --------
    >>> _as_options(["--no", "such", "words"])
    ''
    """
    from mdbench import datatypes
    from mdbench.methods import discover
    from mdbench.workspace import Workspace

    known: dict[str, list[str]] = {"--algorithm": [], "--data-type": [], "--dataset": []}
    with suppress(MdbenchError):
        workspace = Workspace.find()
        methods = discover(workspace.algorithms)
        kinds = [name for name in datatypes.names() if name in {w.lower() for w in words}]
        for word in words:
            if word in methods:
                known["--algorithm"].append(word)
            elif word.lower() in kinds:
                known["--data-type"].append(word.lower())
            elif any(
                word
                in datatypes.own_names(kind, workspace.datasets / kind, workspace.arrays / kind)
                for kind in kinds
            ):
                known["--dataset"].append(word)
    return " ".join(f"{option} {' '.join(found)}" for option, found in known.items() if found)


_TYPED = "COMMANDLINE"


@dataclass
class ParsedArgs:
    """The options that were typed for a run.

    Attributes
    ----------
    given
        By the names of the fields of `RunOptions`, None and False where nothing was.
    words
        What only a data type understands.
    file
        The study's name.
    typed
        The names of what was typed, and not taken from the environment.
    """

    given: dict[str, Any]
    words: list[str]
    file: str | None
    typed: set[str] = field(default_factory=set)

    def study(self) -> Study:
        """Read it."""
        if self.file is None:
            return Study((self.options(),))
        if self.words:
            raise UsageError(
                f"{self.words[0]} was given with --study.", f"Write it into {self.file}."
            )
        return study_of(self._typed(), self.file)

    def options(self) -> RunOptions:
        """Read a command line without a study."""
        for name, (option, needed) in typed_fields(RunOptions).items():
            if needed and not self.given[name]:
                unknown = [word.partition("=")[0] for word in self.words if word.startswith("-")]
                if near := get_close_matches(option.name, unknown, n=1):
                    raise UsageError(
                        f"{near[0]!r} is no option of a run.", f"Did you mean {option.name}?"
                    )
                if meant := _as_options(self.words):
                    word = self.words[0].partition("=")[0]
                    is_option = word.startswith("-")
                    what = "is no option of a run" if is_option else "stands without an option"
                    raise UsageError(f"{word!r} {what}.", f"Did you mean: {meant}?")
                raise UsageError(
                    f"{option.name} is missing.  {option.help}",
                    "Give it, or a file with all options: --study FILE",
                )
        return read(RunOptions, self.given, special=tuple(self.words))

    def as_typed(self) -> dict[str, Any]:
        """Return what was typed as a study writes it."""
        from mdbench.datatypes import facts_of

        kind = self.options().data_type
        own = split_words(self.words, facts_of(kind).options, kind)
        return {**self._typed(), **own}

    def _typed(self) -> dict[str, Any]:
        known = typed_fields(RunOptions).items()
        return {option_key(is_.name): self.given[n] for n, (is_, _) in known if n in self.typed}


@cache  # four verbs have the options of a run
def _parameter(name: str, option: FieldOption) -> inspect.Parameter:
    details = typer.Option(
        option.name,
        metavar=option.metavar or None,
        envvar=option.envvar or None,
        help=option.help,
        autocompletion=COMPLETIONS.get(name),
    )
    kind: Any = list[str] if option.several else str if option.metavar else bool
    default, kind = (None, kind | None) if option.metavar else (False, kind)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, details],
    )


_OF_A_RUN = {option.name: option.several for option, _ in typed_fields(RunOptions).values()}
"""The options of a run, and whether each may be given several times."""
_LISTS = {name for name, several in _OF_A_RUN.items() if several} | {"--data-type"}
"""Options that take several values at once, in all verbs that have them."""


METHODS = "--methods"
"""The option that names folders of methods; all verbs take it several times."""
_OUT = {"--output": "--out", "-o": "--out"}
_RESULTS = ("--results", "--result-dir")
_PLACED = {"results", "folder"}
"""The names of arguments that are results."""


_ENGINE, _RUNTIME, _OF_ENGINE = "--engine", "--runtime", "docker"
"""An engine of containers is a runtime here: ``--runtime docker --engine podman`` names one."""


def _one_runtime(arguments: Sequence[str]) -> Iterator[str]:
    """Write ``--engine NAME`` as ``--runtime NAME``, without a runtime ``docker`` next to it."""
    words = iter(arguments)
    for argument in words:
        name, equals, value = argument.partition("=")
        if name == _ENGINE:
            yield _RUNTIME + equals + value
        elif name != _RUNTIME:
            yield argument
        elif (value if equals else (value := next(words, ""))) != _OF_ENGINE:
            yield f"{_RUNTIME}={value}"


def _one_spelling(arguments: Sequence[str], options: Mapping[str, bool]) -> Iterator[str]:
    """Write options that have several names by the name that a verb declares."""
    engine = any(argument.partition("=")[0] == _ENGINE for argument in arguments)
    runtime = engine and _RUNTIME in options and _ENGINE not in options
    for argument in _one_runtime(arguments) if runtime else arguments:
        name, equals, value = argument.partition("=")
        known = name.replace("_", "-") if name.startswith("--") else name
        if known in options:
            yield argument
        elif _OUT.get(known) in options:
            yield _OUT[known] + equals + value
        elif known not in _RESULTS:
            yield argument
        elif declared := [name for name in _RESULTS if name in options]:
            yield declared[0] + equals + value
        elif not _PLACED & options.keys():
            yield argument
        elif equals:
            yield value


def spread(arguments: Sequence[str], options: Mapping[str, bool] = _OF_A_RUN) -> list[str]:
    """Write ``--dataset a b`` and ``--dataset a,b`` as ``--dataset a --dataset b``.

    Names with underscores become those with hyphens, as in ``--data_type``; ``--output`` and ``-o``
    are ``--out``, and ``--results`` and ``--result-dir`` the same option.  ``--engine podman`` is
    ``--runtime podman``.

    Parameters
    ----------
    arguments
        What was typed.
    options
        The names that the verb declares, of options with their hyphens, and of arguments; and
        whether each may be given several times.

    Raises
    ------
    UsageError
        If an option that takes one value was given more often.

    Examples
    --------
    >>> spread(["run", "--algorithm", "sindy", "operon", "--data_type=ode"])
    ['run', '--algorithm', 'sindy', '--algorithm', 'operon', '--data-type=ode']
    >>> spread(["--seeds", "1,2"])
    ['--seeds', '1', '--seeds', '2']
    >>> spread(["--seeds", "1,2", "-o", "a.csv"], {"--seeds": False, "--out": False})
    ['--seeds', '1,2', '--out', 'a.csv']
    """
    several = {name for name, many in options.items() if many}
    words = list(_spread(list(_one_spelling(arguments, options)), several & _LISTS))
    for option, value in pairwise([*words, "-"]):
        if option.startswith("--") and (value == "" or option.endswith("=")):
            raise UsageError(f"{option.rstrip('=')} has an empty value.", "Give it one.")
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    for name in names:
        if name not in several and names.count(name) > 1:
            raise UsageError(f"{name} was given {names.count(name)} times.", "Give it once.")
    return words


def _spread(arguments: Sequence[str], lists: set[str]) -> Iterator[str]:
    several: str | None = None
    first = False
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            name = name.replace("_", "-")
            several = name if name in lists else None
            first = True
            if several is None:
                yield name + equals + value
            elif equals:
                for part in value.split(","):
                    yield f"{name}={part}"
                several = None
            else:
                yield name
        elif several is None or (argument.startswith("-") and not _is_number(argument)):
            several = None
            yield argument
        else:
            for part in argument.split(","):
                if not first:
                    yield several
                first = False
                yield part


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
