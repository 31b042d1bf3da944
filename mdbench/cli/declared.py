"""Options of verbs that are taken from where they are declared."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from mdbench.cli.completing import COMPLETIONS
from mdbench.errors import UsageError
from mdbench.runs.options import option_key, read, told_words, typed_fields
from mdbench.runs.spec import RunOptions
from mdbench.runs.study import STUDY, Study, asked_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runs.options import Typed

__all__ = ["OPEN", "OpenCommand", "Told", "several", "with_options_of", "with_run_options"]

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""For verbs that leave options they do not know to the data type."""


class OpenCommand(TyperCommand):
    """A verb that leaves options it does not know to the data type, and lists them in its help."""

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


def several() -> set[str]:
    """Name the options of a run that may be given several times."""
    return {option.name for option, _ in typed_fields(RunOptions).values() if option.several}


def with_run_options(verb: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a verb all options of a run, before its own; it is called with a `Study`.

    A verb whose first parameter is named ``told`` is called with what was typed instead.
    """
    first, *own = inspect.signature(verb, eval_str=True).parameters.values()
    names = {each.name for each in own}
    declared = [
        _parameter("study", STUDY),
        *(_parameter(name, option) for name, (option, _) in typed_fields(RunOptions).items()),
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(verb)
    def command(context: typer.Context, **given: Any) -> int | None:
        more = {name: given.pop(name) for name in list(given) if name in names}
        file = given.pop("study")
        told = Told(given, context.args, file)
        sources = {name: context.get_parameter_source(name) for name in given}
        told.typed = {n for n, source in sources.items() if source and source.name == _TYPED}
        return verb(told if first.name == "told" else told.study(), **more)

    parameters = [context, *declared, *own]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def with_options_of(kind: type[Any]) -> Callable[[Callable[[Any], int]], Callable[..., int]]:
    """Give a verb the options that a class declares; it is called with an object of the class."""

    def decorate(verb: Callable[[Any], int]) -> Callable[..., int]:
        @wraps(verb)
        def command(**given: Any) -> int:
            return verb(read(kind, given))

        parameters = [_parameter(name, option) for name, (option, _) in typed_fields(kind).items()]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate


_TYPED = "COMMANDLINE"


@dataclass
class Told:
    """What was typed for a run.

    Attributes
    ----------
    given
        By the names of the fields of `RunOptions`, None and False where nothing was.
    words
        What only a data type understands.
    file
        The study's name.
    typed
        The names of what was typed, and not said by the environment.
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
                f"{self.words[0]} was given beside --study.", f"Say it in {self.file}."
            )
        return asked_for(self._typed(), self.file)

    def options(self) -> RunOptions:
        """Read a command line without a study."""
        for name, (option, needed) in typed_fields(RunOptions).items():
            if needed and not self.given[name]:
                unknown = [word.partition("=")[0] for word in self.words if word.startswith("-")]
                if near := get_close_matches(option.name, unknown, n=1):
                    raise UsageError(
                        f"{near[0]!r} is no option of a run.", f"Did you mean {option.name}?"
                    )
                raise UsageError(
                    f"{option.name} is missing.  {option.help}",
                    "Give it, or a file with all options: --study FILE",
                )
        return read(RunOptions, self.given, special=tuple(self.words))

    def as_typed(self) -> dict[str, Any]:
        """Give what was typed as a study writes it."""
        from mdbench.datatypes import facts_of

        kind = self.options().data_type
        own = told_words(self.words, facts_of(kind).options, kind)
        return {**self._typed(), **own}

    def _typed(self) -> dict[str, Any]:
        known = typed_fields(RunOptions).items()
        return {option_key(is_.name): self.given[n] for n, (is_, _) in known if n in self.typed}


def _parameter(name: str, option: Typed) -> inspect.Parameter:
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
