"""Options: declared once as the metadata of a field, and read from what was typed."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from mdbench.datatypes.facts import Protocol
from mdbench.doors import BACKENDS
from mdbench.errors import UsageError, did_you_mean
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mdbench.datatypes.facts import Option
    from mdbench.method_spec import MethodSpec
    from mdbench.records import Status
    from mdbench.runtimes.base import Level

NOTHING: Final = object()
"""Equals no value: none of a field's is left out of the key."""


def plain(value: Any) -> str:
    """Write a value in a key: texts and whole numbers as they are, all else as JSON."""
    if isinstance(value, str) or type(value) is int:  # of these there are very many
        return str(value)
    return json.dumps(value, sort_keys=True)


def short(value: float) -> str:
    """Write a number with six digits at most."""
    return f"{value:g}"


def portable(path: str | Path) -> Path:
    """Return a relative path, so that a record has nothing of the folders above."""
    return Path(os.path.relpath(path) if Path(path).is_absolute() else path)


def level(value: float | None) -> str:
    """Write a noise level."""
    return "clean" if value is None else short(value)


T = TypeVar("T")

SMALLEST_MEMORY_MB = 64
"""A worker that has imported NumPy takes half of that."""
_SHELL = set("();<>|&")
"""Characters that only a shell understands."""
_MAX_SEEDS = 10_000
_NEAR = 0.75
"""The least similarity, at most 1, at which a name is taken for a mistyped option."""
_SYNONYMS = {
    **dict.fromkeys(("--out", "--output", "--outdir", "--out-dir", "-o"), "--result-dir"),
    **dict.fromkeys(("--noise", "--noise-level", "--noise-levels", "--db"), "--snr"),
    **dict.fromkeys(("--method", "--model"), "--algorithm"),
    **dict.fromkeys(("--problem", "--problems", "--system", "--systems", "--case"), "--dataset"),
    **dict.fromkeys(("--time-limit", "--timelimit", "--max-time", "--limit"), "--timeout"),
    **dict.fromkeys(("--jobs", "--workers", "--threads", "--parallel", "-j"), "--n-jobs"),
}
"""Options of other verbs and other programs, and what a run has for them."""
_LEAST_WORD = 4
"""Letters of a word by which an option is recognised."""
_MAX_SEED = 2**32 - 1


@dataclass(frozen=True)
class FieldOption:
    """The declaration of a field of a specification: it is the field's metadata.

    Attributes
    ----------
    typed
        Its option's name, and what is shown for its value, such as ``--timeout SECONDS``; with
        ``...`` it may be given several times, and without a value it is a switch.  Empty where it
        is not typed.
    help
        What it does, in a line.
    read
        Makes the value of the option's name and the text that was typed; of an option that may
        be given several times, a tuple of values.  Raises `UsageError`.
    envvar
        The environment variable that gives it where nobody types it.
    of_run
        Whether it sets where and how a whole command is run, and nothing of its jobs: a study
        has it once, and it may be typed with one.
    key
        The name of its part of the job's key; None where it cannot change the result.
    to_key
        Writes its value in the key.
    omitted
        A value that is not written in the key: what nobody asks for changes no key.
    record
        Place of its value in a record, with points between names; empty: in ``options``,
        under the field's own name.
    stored
        Whether it is written there; else it follows from another part of the record.
    from_record
        Makes the value from what the record has there, unless that is null.
    question
        Whether it belongs to the question: other values of the rest answer the same one.
    method
        The attribute of a `MethodSpec` whose value counts where there is none.
    access
        The access of a `MethodSpec` without which it has no value, whatever was asked for.
    fallback
        What counts where a method has that access, and nothing was asked for.
    of_controls
        Whether the control of such a method has it, too.
    """

    typed: str = ""
    help: str = ""
    read: Callable[[str, str], Any] = lambda _, text: text
    envvar: str = ""
    of_run: bool = False
    key: str | None = None
    to_key: Callable[[Any], str] = plain
    omitted: Any = NOTHING
    record: str = ""
    stored: bool = True
    from_record: Callable[[Any], Any] = lambda value: value
    question: bool = False
    method: str = ""
    access: str = ""
    fallback: Any = None
    of_controls: bool = False

    def goes_with(self, spec: MethodSpec) -> bool:
        """Whether a method has it: all have, unless it needs an access."""
        has = not self.access or getattr(spec.access, self.access)
        return bool(has or (self.of_controls and spec.control_of))

    @cached_property
    def name(self) -> str:
        """The option as it is typed."""
        return self.typed.partition(" ")[0]

    @cached_property
    def metavar(self) -> str:
        """Text that is shown for its value."""
        return self.typed.partition(" ")[2].removesuffix("...")

    @cached_property
    def several(self) -> bool:
        """Whether it may be given several times."""
        return self.typed.endswith("...")

    def value(self, texts: Any) -> Any:
        """Read what was given: a text, several, or whether a switch was."""
        if not self.metavar:
            return bool(texts)
        if not self.several:
            return self.read(self.name, str(texts))
        found = (value for text in texts for value in self.read(self.name, str(text)))
        return tuple(dict.fromkeys(found))


def metadata(*typed: Any, **declared: Any) -> dict[str, FieldOption]:
    """Return the metadata of a field, from the attributes of a `FieldOption`."""
    return {"option": FieldOption(*typed, **declared)}


def option(*typed: Any, default: Any = None, **declared: Any) -> Any:
    """Return a field with a default, declared by the attributes of a `FieldOption`."""
    return field(default=default, metadata=metadata(*typed, **declared))


def names(_: str, text: str) -> tuple[str, ...]:
    """Read a name: as it is."""
    return (text,)


def typed_fields(kind: type[Any]) -> dict[str, tuple[FieldOption, bool]]:
    """Return how the fields of a class are typed, by field, and whether each is required."""
    declared = {each.name: (each.metadata.get("option"), each.default) for each in fields(kind)}
    return {
        name: (one, default is MISSING)
        for name, (one, default) in declared.items()
        if one is not None and one.typed
    }


def read(kind: type[T], values: Mapping[str, Any], **more: Any) -> T:
    """Make an object of what was given for its fields; None, False and nothing are not given.

    Raises
    ------
    UsageError
        If a value cannot be read, or if one that is needed is missing.
    """
    fields_read = {}
    for name, (option, needed) in typed_fields(kind).items():
        value = values.get(name)
        if value is None and option.envvar:
            value = os.environ.get(option.envvar)
        if value is not None and value is not False and value not in ([], ()):
            fields_read[name] = option.value(value)
        elif needed:
            raise UsageError(f"{option.name} is missing.", f"It is: {option.help}")
    return kind(**fields_read, **more)


def option_key(name: str) -> str:
    """Return an option's name as Python has it: ``max_rows``."""
    return name.removeprefix("--").replace("-", "_")


def to_words(values: Mapping[str, Any]) -> list[str]:
    """Write options as they would be typed."""
    words = []
    for key, value in values.items():
        if value is not None and value is not False:
            name = f"--{key.replace('_', '-')}"
            text = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
            words.append(name if value is True else f"{name}={text}")
    return words


def parse_words(
    words: Sequence[str], options: Iterable[Option], of: str, others: Iterable[str] = ()
) -> dict[str, Any]:
    """Read the options that only a data type has; as `split_words`, but for their values.

    Returns
    -------
    dict
        The values, by the options' keys.

    Raises
    ------
    UsageError
        As `split_words`, or if a value does not fit.
    """
    known = {option.key: option for option in options}
    given = split_words(words, known.values(), of, others)
    return {key: text if text is True else known[key].parse(text) for key, text in given.items()}


def split_words(
    words: Sequence[str], options: Iterable[Option], of: str, others: Iterable[str] = ()
) -> dict[str, str | Literal[True]]:
    """Split what was typed into the options that only a data type has.

    Parameters
    ----------
    words
        What was typed beyond the options that every data type has.
    options
        The options of the data type.
    of
        The name of the data type.
    others
        Names of the options that every data type has, for hints on a mistyped one.

    Returns
    -------
    dict
        What was typed for each, by the options' keys; True for one without a value.

    Raises
    ------
    UsageError
        If one is unknown, is given twice, or has no value or one too many.
    """
    known = {option.name: option for option in options}
    values: dict[str, str | Literal[True]] = {}
    words_left = list(words)
    while words_left:
        name, equals, value = words_left.pop(0).partition("=")
        name = name.replace("_", "-")
        if name not in known:
            near = _meant(name, [*known, *others])
            raise UsageError(
                f"{name!r} is no option of a run, nor of the data type {of}.",
                f"Did you mean {' or '.join(near)}?"
                if near
                else f"Options of {of}: {', '.join(known) or 'none'}.  "
                "To see all others: mdbench run --help",
            )
        option = known[name]
        if option.key in values:
            raise UsageError(f"{name} was given more than once.", "Give it once.")
        if option.metavar:
            if not equals and (not words_left or words_left[0].startswith("--")):
                raise UsageError(f"{name} needs a value.", f"E.g. {name}={option.metavar}")
            values[option.key] = value if equals else words_left.pop(0)
        elif equals:
            raise UsageError(f"{name} takes no value, and was given {value!r}.")
        else:
            values[option.key] = True
    return values


def _meant(name: str, options: Sequence[str]) -> list[str]:
    """Return at most three options that may be meant by one that does not exist.

    Examples
    --------
    >>> options = ["--dataset", "--result-dir", "--seed", "--seeds", "--snr", "--timeout"]
    >>> _meant("--datset", options), _meant("--result-path", options), _meant("--noise", options)
    (['--dataset'], ['--result-dir'], ['--snr'])
    """
    same = _SYNONYMS.get(name)
    if same is not None and same in options:
        return [same]
    if near := get_close_matches(name, options, n=2, cutoff=_NEAR):
        return near
    words = [word for word in name.split("-") if len(word) >= _LEAST_WORD]
    return [
        option
        for option in options
        if any(
            len(own) >= _LEAST_WORD and (own.startswith(word) or word.startswith(own))
            for own in option.split("-")
            for word in words
        )
    ][:3]


def read_command(option: str, text: str) -> tuple[str, ...]:
    """Split a command into its words.

    Raises
    ------
    UsageError
        If quotes do not match, if there is nothing, or if it has what only a shell understands.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = tuple(lexer)
    except ValueError as error:
        raise UsageError(f"{option} is {text!r}: {error}.", "Quote it as in a shell.") from None
    if not words or not words[0]:
        raise UsageError(f"{option} names no program.", "E.g. --notify 'notify-send mdbench'")
    if found := next((word for word in words if word and set(word) <= _SHELL), None):
        raise UsageError(
            f"{option} has {found!r}, which only a shell understands, and none runs it.",
            f"Ask for one: {option} 'sh -c \"...\"'",
        )
    return words


def read_path(option: str, text: str) -> Path:
    """Read the name of a file or a folder."""
    if "\0" in text:
        raise UsageError(f"{option} is {text!r}.", "A path has no NUL character.")
    return Path(text)


def read_protocol(option: str, text: str) -> Protocol:
    """Read the rules of a run."""
    if text not in list(Protocol):
        raise UsageError(f"{option} is {text!r}.", "It is strict (the default) or published.")
    return Protocol(text)


def read_snr(option: str, text: str) -> tuple[float | None]:
    """Read a noise level in dB; None for clean data."""
    if text in {"clean", "None"}:
        return (None,)
    if not math.isfinite(value := _number(text)):
        raise UsageError(f"{option} is {text!r}.", "Give a number of dB, e.g. 40, or clean.")
    return (value,)


def read_seconds(option: str, text: str) -> float:
    """Read a time limit."""
    if not (math.isfinite(seconds := _number(text)) and seconds > 0):
        raise UsageError(f"{option} is {text!r}.", "Give a number of seconds above 0, e.g. 600.")
    return seconds


def read_patience(option: str, text: str) -> float:
    """Read how long something is waited for, which may be no time at all."""
    if not (math.isfinite(seconds := _number(text)) and seconds >= 0):
        raise UsageError(f"{option} is {text!r}.", "Give a number of seconds from 0 on, e.g. 600.")
    return seconds


def read_amount(option: str, text: str) -> float:
    """Read an amount of which there is some, such as of money."""
    if not (math.isfinite(value := _number(text)) and value > 0):
        raise UsageError(f"{option} is {text!r}.", "Give a number above 0, e.g. 2.5.")
    return value


def read_work(option: str, text: str) -> float:
    """Read a limit of work."""
    if not (math.isfinite(work := _number(text)) and work > 0):
        raise UsageError(
            f"{option} is {text!r}.",
            "Give a number of reference seconds above 0, e.g. 30: CPU seconds of a core like the "
            f"reference ({page('budgets')}).",
        )
    return work


def read_jobs(option: str, text: str) -> int | None:
    """Read how many jobs run at a time; None for one a core."""
    if text == "-1":
        return None
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise UsageError(
            f"{option} is {text!r}.", "Give the number of jobs at a time, or -1 for one a core."
        )
    return int(text)


def read_whole(option: str, text: str) -> int:
    """Read a number of things of which there is at least one."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
        raise UsageError(f"{option} is {text!r}.", "Give a whole number from 1 on.")
    return int(text)


def read_backend(option: str, text: str) -> str:
    """Read where jobs run."""
    BACKENDS.refuse_unknown(option, text)
    return text


def read_pair(option: str, text: str) -> tuple[tuple[str, str]]:
    """Read an option for another program: ``partition=long``."""
    match = re.fullmatch(r"-*([A-Za-z][A-Za-z_-]*)=(.+)", text)
    if match is None:
        raise UsageError(f"{option} is {text!r}.", "Give KEY=VALUE, e.g. partition=long.")
    return ((match[1].replace("-", "_"), match[2]),)


def read_count(option: str, text: str) -> int:
    """Read a number of things of which there may be none."""
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise UsageError(f"{option} is {text!r}.", "Give a whole number from 0 on.")
    return int(text)


def read_size(least: int) -> Callable[[str, str], int]:
    """Read a size such as ``512M`` or ``4G`` (powers of 1024), in MiB."""

    def read_(option: str, text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([MGT])i?B?", text, re.IGNORECASE)
        if match is None:
            hint = "Give a size with its unit, e.g. 512M or 4G."
            raise UsageError(f"{option} is {text!r}.", hint)
        size = int(float(match[1]) * {"M": 1, "G": 2**10, "T": 2**20}[match[2].upper()])
        if size < least:
            raise UsageError(f"{option} is {text!r}.", f"It must be at least {least}M.")
        return size

    return read_


def read_seeds(_: str, text: str) -> tuple[int, ...]:
    """Read a seed, or a range of them: ``0-9``."""
    match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", text)
    if match is None:
        raise UsageError(
            f"The seed {text!r} is no whole number from 0 on.", "E.g. --seeds 0,1,2 or 0-9."
        )
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first or last > _MAX_SEED or last - first >= _MAX_SEEDS:
        raise UsageError(
            f"The seeds {text!r} cannot be used.",
            f"A range rises, has at most {_MAX_SEEDS} seeds and ends below 2^32.",
        )
    return tuple(range(first, last + 1))


def read_rerun(option: str, text: str) -> tuple[Status, ...]:
    """Read a status of what is to be run again; ``all`` is every one, and there are groups."""
    from mdbench.records import RERUN_ALWAYS, Status  # noqa: PLC0415 - brings pydantic

    groups = {"infrastructure": tuple(sorted(RERUN_ALWAYS)), "all": tuple(Status)}
    if text in groups:
        return groups[text]
    if text not in list(Status):
        raise UsageError(
            f"{option} {text!r} is no status.",
            f"{did_you_mean(text, [*Status, *groups])} "
            f"All: {', '.join(Status)}; infrastructure, or all.",
        )
    return (Status(text),)


def read_require(_: str, text: str) -> tuple[tuple[str, Level], ...]:
    """Read what a runtime has to keep a method from, and how hard."""
    from mdbench.runtimes.base import parse_requirements  # noqa: PLC0415 - brings the runtimes

    return tuple(parse_requirements([text]).items())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
