"""Writes docs/options.md: all verbs and their options, from the code.

.venv/bin/python scripts/options_page.py            # writes the page
.venv/bin/python scripts/options_page.py --check    # fails where it is not what the code says
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.main

from mdbench import datatypes
from mdbench.cli.main import app
from mdbench.cli.options import GROUPS, OTHERS, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent.parent / "docs" / "options.md"
HEAD = """\
# Verbs and options

All that the command line can do, as `.venv/bin/mdbench VERB --help` prints it. `./run.sh` is
`mdbench run` with its set-up; `./install.sh` is `mdbench install`. Both spellings of an option
work: `--data-type` and `--data_type`. Exit status: 0 done; 1 an environment could not be made, a
check failed, or a record was not reproduced; 2 the command could not be done (the message has the
reason); 130 stopped.

This page is written by `scripts/options_page.py`.
"""


def page() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(app)
    verbs = dict(_commands(group))
    verbs = {name: verb for name, verb in verbs.items() if not verb.hidden}
    lines = [HEAD, "| verb | what it does |", "|---|---|"]
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


def _commands(group: Any, start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all verbs with their names, those of groups, too."""
    for name in sorted(group.commands):
        verb = group.commands[name]
        if hasattr(verb, "commands"):
            yield from _commands(verb, f"{start}{name} ")
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


def main() -> int:
    """Write the page, or compare it."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE} is not what the code says; type: .venv/bin/python scripts/options_page.py")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
