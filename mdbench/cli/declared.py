"""Options of verbs that are taken from where they are declared."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from mdbench.runs.spec import RunOptions
from mdbench.runs.typed import read, typed_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runs.typed import Typed

__all__ = ["OPEN", "OpenCommand", "several", "with_run_options"]

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""For verbs that leave options they do not know to the data type."""


class OpenCommand(TyperCommand):
    """A verb that leaves options it does not know to the data type, and lists them in its help."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each data type with options of its own.

        The data types are imported here and not before: they bring SciPy.
        """
        from mdbench.datatypes import classes

        super().format_epilog(ctx, formatter)
        for kind in classes():
            rows = []
            for option in kind.options:
                views = f"  For methods with the view {' or '.join(option.views)}."
                rows.append(
                    (f"{option.name} {option.metavar}", option.help + views * bool(option.views))
                )
            if rows:
                with formatter.section(f"With --data-type {kind.name}"):
                    formatter.write_dl(rows)


def several() -> set[str]:
    """Name the options of a run that may be given several times."""
    return {option.name for option, _ in typed_fields(RunOptions).values() if option.several}


def with_run_options(verb: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a verb all options of a run, before its own; it is called with `RunOptions`."""
    own = inspect.signature(verb, eval_str=True).parameters
    declared = [
        _parameter(name, option, needed=needed)
        for name, (option, needed) in typed_fields(RunOptions).items()
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @wraps(verb)
    def command(context: typer.Context, **given: Any) -> int | None:
        more = {name: given.pop(name) for name in list(given) if name in own}
        return verb(read(RunOptions, given, special=tuple(context.args)), **more)

    parameters = [context, *sorted(declared, key=lambda each: each.default is not each.empty)]
    parameters += list(own.values())[1:]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _parameter(name: str, option: Typed, *, needed: bool) -> inspect.Parameter:
    details = typer.Option(
        option.name, metavar=option.metavar or None, envvar=option.envvar or None, help=option.help
    )
    kind: Any = list[str] if option.several else str if option.metavar else bool
    default: Any = inspect.Parameter.empty
    if not needed:
        default, kind = (None, kind | None) if option.metavar else (False, kind)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, details],
    )
