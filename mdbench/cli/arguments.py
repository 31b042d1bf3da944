"""Spellings of arguments that are accepted beside the documented ones."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from mdbench.cli.declared import several
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["spread"]

_SEVERAL = several()


def spread(arguments: Sequence[str]) -> list[str]:
    """Write ``--dataset a b`` and ``--dataset a,b`` as ``--dataset a --dataset b``.

    Names with underscores become those with hyphens, as in ``--data_type``.

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
    """
    found = list(_spread(arguments))
    for option, value in pairwise([*found, "-"]):
        if option.startswith("--") and (value == "" or option.endswith("=")):
            raise UsageError(f"{option.rstrip('=')} has an empty value.", "Give it one.")
    options = [word.partition("=")[0] for word in found if word.startswith("--")]
    for option in options:
        if option not in _SEVERAL and options.count(option) > 1:
            raise UsageError(f"{option} was given {options.count(option)} times.", "Give it once.")
    return found


def _spread(arguments: Sequence[str]) -> Iterator[str]:
    several = None
    first = False
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            name = name.replace("_", "-")
            several = name if name in _SEVERAL else None
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
