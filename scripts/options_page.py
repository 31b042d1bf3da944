"""What the build of the pages puts into docs/options.md: all verbs and their options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer.main

from mdbench import datatypes
from mdbench.cli.main import app
from mdbench.cli.options import GROUPS, OTHERS, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = re.compile(r"(<!-- verbs -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return the page with all verbs and options in the place that it has for them."""
    return _BLOCK.sub(lambda match: f"{match[1]}\n{_verbs()}\n{match[2]}", text)


def _verbs() -> str:
    """Return the table of verbs, and a section of each."""
    group: Any = typer.main.get_command(app)
    verbs = dict(commands(group))
    verbs = {name: verb for name, verb in verbs.items() if not verb.hidden}
    lines = ["| verb | what it does |", "|---|---|"]
    lines += [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_first(verb.help)} |"
        for name, verb in verbs.items()
    ]
    for name, verb in verbs.items():
        lines += [
            "",
            f"## {name}",
            "",
            *_paragraphs(verb.help or ""),
            *_table(verb.params, grouped=name == "run"),
        ]
        if name == "run":
            lines += ["### Options of data types", "", *_by_data_type()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def commands(group: Any, start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all verbs with their names, those of groups, too."""
    for name in sorted(group.commands):
        verb = group.commands[name]
        if hasattr(verb, "commands"):
            yield from commands(verb, f"{start}{name} ")
        else:
            yield start + name, verb


def _table(params: list[Any], *, grouped: bool) -> Iterator[str]:
    """Write the options, those of a run in the groups of its help."""
    shown = [each for each in params if not getattr(each, "hidden", False) and each.name != "help"]
    groups: dict[str, list[Any]] = {name: [] for name in (*GROUPS, OTHERS)} if grouped else {"": []}
    for each in shown:
        groups[group_of(each.opts[0]) if grouped else ""].append(each)
    for heading, members in groups.items():
        if not members:
            continue
        if heading:
            yield from (f"### {heading}", "")
        yield from ("| option | what it does |", "|---|---|")
        yield from (f"| `{_name(each)}` | {_text(each)} |" for each in members)
        yield ""


def _name(param: Any) -> str:
    """Return an option as it is typed, with its value."""
    if not param.opts[0].startswith("-"):
        return str(param.metavar or param.name.upper())
    flag = ", ".join([*param.opts, *param.secondary_opts])
    if getattr(param, "is_flag", False) or param.nargs == 0:
        return flag
    return f"{flag} {param.metavar or param.name.upper()}"


def _text(param: Any) -> str:
    """Return what an option does, with its default where the text has none."""
    text, default = _plain(param.help or ""), param.default
    plain = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    if plain and str(default) and "default" not in text.lower():
        text += f" Default: `{default}`."
    return text


def _by_data_type() -> Iterator[str]:
    yield "| option | data types | what it does |"
    yield "|---|---|---|"
    found: dict[tuple[str, str], list[str]] = {}
    for name in datatypes.names():
        for option in datatypes.facts_of(name).options:
            typed = f"{option.name} {option.metavar or ''}".strip()
            found.setdefault((typed, option.help), []).append(f"`{name}`")
    for (typed, text), names in sorted(found.items()):
        yield f"| `{_plain(typed)}` | {', '.join(names)} | {_plain(text)} |"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from (_plain(paragraph), "")


def _first(text: str | None) -> str:
    return _plain((text or "").strip().partition("\n\n")[0])


def _plain(text: str) -> str:
    """Return a help text as a line of Markdown."""
    return " ".join(re.sub(r"\[/?[a-z ]+\]|\x08", "", text).split()).replace("|", "\\|")
