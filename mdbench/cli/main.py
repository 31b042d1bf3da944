"""The program: signals, encodings, errors, and the verb that was typed."""

from __future__ import annotations

import codecs
import faulthandler
import os
import resource
import signal
import sys
import threading
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from mdbench import __version__
from mdbench.cli.options import Command, Exit, take_as_typed
from mdbench.cli.verbs import (
    REMOVED,
    VERBS,
    first_page,
    line_of,
    moved_to,
    option_moved_to,
    verbs_of,
)
from mdbench.errors import MdbenchError, UsageError
from mdbench.workspace import refuse_copied_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Commands(Mapping[str, Any]):
    """Commands of the program, or of a group of verbs, each made when it is asked for."""

    def __init__(self, group: str = "") -> None:
        self.group = group

    def __iter__(self) -> Iterator[str]:
        return iter(verbs_of(self.group))

    def __len__(self) -> int:
        return len(verbs_of(self.group))

    def __contains__(self, name: object) -> bool:
        return f"{self.group} {name}".strip() in VERBS or name in verbs_of(self.group)

    def __getitem__(self, name: str) -> Any:
        verb_name = f"{self.group} {name}".strip()
        if verb_name not in VERBS:
            if name not in verbs_of(self.group):
                raise KeyError(name)
            return Group(
                name=name,
                commands=Commands(verb_name),
                rich_markup_mode=None,
                context_settings=HELP,
            )
        verb = VERBS.load(verb_name)
        program = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
        )
        program.command(name, **{"cls": Command, **getattr(verb, "settings", {})})(verb)
        return typer.main.get_command(program)


class Group(TyperGroup):
    """The program, whose own options are taken as they are typed."""

    def __init__(self, **attributes: Any) -> None:
        commands = attributes.get("commands")
        own = commands if isinstance(commands, Commands) else Commands()
        super().__init__(**{**attributes, "commands": own})
        self.group = own.group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed."""
        take_as_typed(self.get_params(ctx))
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs."""
        del ctx
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that was typed; that of a group is not found without its group."""
        if not self.group and args[0] in REMOVED:
            raise UsageError(f"There is no verb {args[0]!r} any more.", f"Type: {REMOVED[args[0]]}")
        if args[0] not in self.commands and (verb := moved_to(args[0])):
            raise UsageError(f"The verb {args[0]!r} is one of a group.", f"Type: mdbench {verb}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs below their headings, without importing those of the core."""
        del ctx
        if group := self.group:
            rows = [(name, line_of(f"{group} {name}")) for name in self.commands]
            write_verbs(formatter, {"Verbs": rows})
        else:
            write_verbs(formatter, first_page())
            with formatter.section("All verbs"):
                formatter.write_text("mdbench help")


def write_verbs(formatter: Any, page: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write verbs and their lines below headings."""
    width = max(len(name) for rows in page.values() for name, _ in rows)
    for heading, rows in page.items():
        with formatter.section(heading):
            formatter.write_dl([(name.ljust(width), line) for name, line in rows])


HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="mdbench",
    cls=Group,
    help="Benchmark for equation discovery: run methods, score their equations, compare.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP,
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit status, an `Exit`."""
    typed = sys.argv[1:] if arguments is None else arguments
    codecs.register_error(PLAIN, _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):  # signs on a terminal without UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    with suppress(AttributeError, ValueError, OSError):  # a stream that is no file
        faulthandler.enable()  # a library that crashes leaves a word, and where it was
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # how a cluster asks to stop
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # else nohup: the terminal may go
            signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        _refuse_little_memory()
        # With PYTHONPATH the code is somebody's choice.
        refuse_copied_environment(sys.argv[0], None if os.environ.get("PYTHONPATH") else sys.prefix)
        code = app(args=typed or ["--help"], prog_name="mdbench", standalone_mode=False)
        interrupted = code == Exit.INTERRUPTED and not isinstance(code, Exit)  # as Typer says it
    except MdbenchError as error:
        complain(error)
        return Exit.ERROR
    except (typer.Abort, KeyboardInterrupt):
        interrupted = True
    except Exception as error:
        if hasattr(error, "format_message"):  # the parser's own errors
            complain(UsageError(error.format_message(), _where_to_look(typed)))
            return Exit.ERROR
        raise
    if interrupted:
        print("Interrupted. The same command goes on from here.", file=sys.stderr)
        return Exit.INTERRUPTED
    return int(code or 0)


PLAIN = "mdbench-plain"
"""The name of the codec error handler that writes signs in words."""
_SIGNS = (
    "✓ yes  ✗ no  ⚠ !  † +  ‡ #  … ...  → ->  × x  – -  — -  − -  ’ '  ‘ '  · -  ∞ inf  ± +-  ─ -"
    "  ━ -  │ |  • *  ∂ d"
)
_IN_WORDS = dict(pair.split(" ") for pair in _SIGNS.split("  "))


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not have: signs by words, letters by those without accents."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    parts = unicodedata.normalize("NFKD", letter)
    plain = "".join(_IN_WORDS.get(part, part if part.isascii() else "") for part in parts)
    return plain or "?", error.start + 1


_LEAST_MEMORY = 1 << 30
"""Bytes of addresses without which NumPy and SciPy cannot be loaded, or hang while they are."""


def _refuse_little_memory() -> None:
    for kind, name, letter in (
        (resource.RLIMIT_AS, "address space", "v"),
        (resource.RLIMIT_DATA, "data", "d"),
    ):
        soft, hard = resource.getrlimit(kind)
        if 0 <= soft < _LEAST_MEMORY:
            more = (
                f"ulimit -{letter} unlimited" if hard == resource.RLIM_INFINITY else "a new shell"
            )
            raise UsageError(
                f"The shell allows {soft >> 20} MiB of {name} (ulimit -{letter}); mdbench needs "
                f"{_LEAST_MEMORY >> 20} at least.",
                f"Allow more: {more}.  To limit the memory of jobs: --memory 2G",
            )


def _where_to_look(typed: list[str]) -> str:
    """Return which help fits what was typed, or the verb that does it now."""
    if verb := option_moved_to(typed):
        return f"It is a verb now: mdbench {verb}"
    for words in (typed[:1], typed[:2]):
        if (name := " ".join(words)) in VERBS:
            return f"To see all options: mdbench {name} --help"
    if typed and typed[0] in verbs_of():
        return f"To see its verbs: mdbench {typed[0]} --help"
    return "To see all verbs: mdbench help"


def complain(error: MdbenchError) -> None:
    """Show an error: what is wrong, and below it what to do."""
    console = Console(stderr=True, highlight=False)
    console.print(f"[bold red]error:[/] {escape(error.message)}", soft_wrap=True)
    if error.hint:
        console.print(f"  {escape(error.hint)}", soft_wrap=True)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        print(f"mdbench {__version__}")
        raise typer.Exit
