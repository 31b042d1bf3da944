"""Facts of data types, known without importing their code.

A data type's own code imports solvers and more, which takes a second.  To list methods and
datasets, to check a ``method.toml`` and to print a help, its facts are enough: ``__init__.py`` of
its folder has them as ``FACTS``, and the data type's class takes them from there.
"""

from __future__ import annotations

import math
import tomllib
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Option:
    """An option of a run that one data type has, and others may not have.

    It is declared once: the command line, the help, the job's key, its record and study files take
    it from here.

    Attributes
    ----------
    name
        As it is typed, such as ``--target-noise``.
    help
        What it does, in a line.
    metavar
        What is shown for its value; empty for an option without one, whose value is ``True``.
    parse
        Makes the value, which JSON can hold, of the text that was typed.  Raises `UsageError`.
    views
        The methods' views that it goes with; empty for all.
    changes_system
        Whether it makes another problem of the dataset, so that its value follows the
        dataset's name wherever answers are compared; else it is a limit of the method.
    is_fold
        Whether each value is a part of the same problem, such as a fold: the answers to all parts
        are merged as those of several seeds are.
    method_key
        The key of ``method.toml`` that gives its value where none was typed; empty for none.
    is_list
        Whether its value is a list, such as of columns, which is typed with commas: a list in a
        study is one value of it, and no factor.
    """

    name: str
    help: str = ""
    metavar: str = "VALUE"
    parse: Callable[[str], Any] = str
    views: tuple[str, ...] = ()
    changes_system: bool = True
    is_fold: bool = False
    method_key: str = ""
    is_list: bool = False

    @property
    def key(self) -> str:
        """The name in specifications and records: ``target_noise``."""
        return self.name.removeprefix("--").replace("-", "_")

    @classmethod
    def choice(cls, name: str, values: Sequence[str], help_: str) -> Option:
        """Declare an option whose value is one of a few words."""

        def parse(text: str) -> str:
            if text not in values:
                raise UsageError(f"{name} is {text!r}.", did_you_mean(text, values))
            return text

        return cls(name, help_, "|".join(values), parse)


@dataclass(frozen=True)
class TypeFacts:
    """The facts of a data type.

    Attributes
    ----------
    views, families, options
        As `mdbench.datatypes.base.DataType` has them.
    order
        Gives what the systems in the data type's own folder are sorted by: of a file's name
        without its ending, and of the keys above the file's first table.  None where the names of
        its datasets do not follow from the files alone.
    alone
        Endings of files that are systems without a TOML file, too.
    """

    views: tuple[str, ...]
    families: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    order: Callable[[str, Mapping[str, Any]], tuple[Any, ...]] | None = None
    alone: tuple[str, ...] = ()


def by_number(identity: str) -> tuple[str, int]:
    """Return a key that sorts I2 before I10."""
    letters = identity.rstrip("0123456789")
    return letters, int(identity.removeprefix(letters) or 0)


def names_in(folder: Path, facts: TypeFacts) -> list[str] | None:
    """Return the names of the systems in a folder, in order; of the files only the heads are read.

    None where these are not enough: the data type's own code then finds what is wrong, if anything.
    """
    if facts.order is None:
        return None
    files = (each for ending in (*facts.alone, ".toml") for each in folder.glob(f"*{ending}"))
    heads = sorted_heads(files, facts.order)
    return None if heads is None else list(heads)


def sorted_heads(
    files: Iterable[Path], order: Callable[[str, Mapping[str, Any]], tuple[Any, ...]]
) -> dict[str, Mapping[str, Any]] | None:
    """Return the keys above the first table of each file, by name and in order.

    None where a file cannot be read, or has not what it is sorted by.
    """
    heads: dict[str, Mapping[str, Any]] = {}
    try:
        for file in files:
            name = unicodedata.normalize("NFC", file.stem)
            heads[name] = _head(file.read_text(encoding="utf-8")) if file.suffix == ".toml" else {}
        return {name: heads[name] for name in sorted(heads, key=lambda n: order(n, heads[n]))}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def noise_level(option: str, text: str, hint: str) -> float:
    """Parse a noise level.

    Raises
    ------
    UsageError
        If it is no finite number from 0 on.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise UsageError(f"{option} is {text!r}.", hint)
    return value


def _head(text: str) -> dict[str, Any]:
    """Read the keys above the first table of a TOML file."""
    try:
        return tomllib.loads(text.partition("\n[")[0])
    except tomllib.TOMLDecodeError:  # the bracket was inside a text or a list
        return tomllib.loads(text)


FRESH = "fresh-"
"""How the names of suites begin that ``mdbench lab fresh`` has drawn."""
SUITE_FILE = "suite.toml"
"""The file in the folder of a suite that says where it comes from; it is no system."""


class Choice(StrEnum):
    """Who chooses among the candidates of a job."""

    BENCHMARK = "benchmark"
    """The benchmark, by its rule."""
    OWN = "own"
    """The method: its answer is what its ``equations()`` gives when nothing was chosen for it."""


class Protocol(StrEnum):
    """The rules of a benchmark run."""

    STRICT = "strict"
    """Every split on its own, and what is scored is the answer as it is printed."""
    PUBLISHED = "published"
    """The pipeline behind the published tables, including its known errors."""

    @property
    def usual(self) -> Mapping[str, str]:
        """What options are under it where none is typed, for those that every report names."""
        return {"derivatives": "smooth" if self is Protocol.STRICT else "fd"}
