"""Options of runs on the user's data: how files are read; and the true equations, where known."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from mdbench.data.columns import MISSING, NUMBER, TIME_FORMS
from mdbench.datatypes.facts import Option, Protocol
from mdbench.errors import DataError, EquationError, UsageError, did_you_mean
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def _listed(
    name: str, hint: str = "Give names of columns, separated by commas."
) -> Callable[[str], list[str]]:
    """Return what reads words that a comma separates, for an option."""

    def read(text: str) -> list[str]:
        parts = [part.strip() for part in text.split(",")]
        if not all(parts):
            raise UsageError(f"{name} is {text!r}.", hint)
        return parts

    return read


def _time_format(text: str) -> str:
    words = (*TIME_FORMS, NUMBER)
    if "%" not in text and text not in words:
        raise UsageError(
            f"--time-format is {text!r}.",
            "Give it in the signs of Python's strptime, such as '%d.%m.%Y %H:%M'; or for whole "
            f"numbers one of {', '.join(words)}.",
        )
    return text


def _lines(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise UsageError(f"--skip is {text!r}.", "Give the number of lines before the header: 12")
    return int(text)


def _step(text: str) -> str:
    size, _, unit = text.strip().partition(" ")
    try:
        value = float(size)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UsageError(
            f"--step is {text!r}.", "Give a number above 0, and a unit if you like: '0.5 min'"
        )
    return f"{size} {unit.strip()}".strip()


def _axes(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if "t" not in parts or "x" not in parts or not set(parts) <= {"t", "x", "y", "z"}:
        raise UsageError(f"--axes is {text!r}.", "Give x, y, z where there are any, and t: t,x")
    return parts


INPUTS = Option(
    "--inputs",
    "Columns of the user's files that act on the system and are known: they are given to methods, "
    "and not to be predicted.",
    "COL[,COL]",
    _listed("--inputs"),
    changes_system=False,
    is_list=True,
)
TRAJECTORY = Option(
    "--trajectory",
    "The column of the user's files that separates several trajectories.",
    "COL",
    changes_system=False,
)
MISSING_VALUES = Option(
    "--missing",
    "What to do about cells without a value: refuse them (the default), leave their lines out, or "
    "fill them on the straight line between those before and after.",
    "|".join(MISSING),
    Option.choice("--missing", MISSING, "").parse,
    changes_system=False,
)
TRUTH = Option(
    "--truth",
    "The true equations of the user's data, where they are known: \"prey = prey*(2 - hunter); "
    'hunter = hunter*(prey - 1)"; answers then have a verdict.',
    "EQUATIONS",
    changes_system=False,
)
STATES = Option(
    "--states",
    "Columns of the user's files that are states, in this order; all others without a role are "
    "left out.",
    "COL[,COL]",
    _listed("--states"),
    changes_system=False,
    is_list=True,
)
IGNORE = Option(
    "--ignore",
    "Columns of the user's files that are left out; * stands for any letters: 'qc_*'.",
    "COL[,COL]",
    _listed("--ignore"),
    changes_system=False,
    is_list=True,
)
SKIP = Option(
    "--skip",
    "Lines of the user's files before the header.",
    "LINES",
    _lines,
    changes_system=False,
)
STEP = Option(
    "--step",
    "The step of files without a column of times, whose rows are equal steps apart: 0.5, or "
    "'0.5 min'.",
    "STEP",
    _step,
    changes_system=False,
)
NA_VALUES = Option(
    "--na-values",
    "Texts and numbers that stand for no value, besides empty cells, NA, '.' and the like: "
    "--na-values=-9999,ND; none where numbers that look so were measured.",
    "TEXT[,TEXT]",
    _listed("--na-values", "Give texts and numbers, separated by commas: -9999,ND"),
    changes_system=False,
    is_list=True,
)
PIVOT = Option(
    "--pivot",
    "The column that names the quantities of a long table, which has a line for each value: each "
    "quantity becomes a column.",
    "COL",
    changes_system=False,
)
REPEATS = Option(
    "--repeats",
    "What to do about several lines of one time: refuse them (the default), or take their mean.",
    "refuse|average",
    Option.choice("--repeats", ("refuse", "average"), "").parse,
    changes_system=False,
)
TIME = Option(
    "--time",
    "The column of the user's files that is the time; or several that are it together, as "
    "year,month,day,hour or date,time; without it, it is found by its name, by dates, or by how "
    "it rises.",
    "COL[,COL]",
    changes_system=False,
    is_list=True,
)
TIME_ZONE = Option(
    "--time-zone",
    "The time zone of dates without one, such as Europe/Berlin: the hours of autumn and spring at "
    "which clocks are changed are put right.",
    "ZONE",
    changes_system=False,
)
TIME_FORMAT = Option(
    "--time-format",
    "How dates are written, in the signs of Python's strptime: '%d/%m/%Y %H:%M'; or of whole "
    "numbers YYYYMMDD, YYYYMM, YYYYWW, HHMM and the like, or number where they are no dates.",
    "FORMAT",
    _time_format,
    changes_system=False,
)
HOLD = Option(
    "--hold",
    "What inputs do between samples: change evenly (linear, the default), or keep their values "
    "until the next sample (zero).",
    "zero|linear",
    Option.choice("--hold", ("zero", "linear"), "").parse,
    changes_system=False,
)
HOLDOUT = Option(
    "--holdout",
    "What the test is of several trajectories: the last fifth of each (times), or every fifth "
    "trajectory as a whole (trajectories, the default for five and more of which one has fewer "
    "than 15 samples); or that nothing is held out (none): all is fitted, and scores are of that.",
    "times|trajectories|none",
    Option.choice("--holdout", ("times", "trajectories", "none"), "").parse,
    changes_system=False,
)
POOL = Option(
    "--pool",
    "All files of a folder are trajectories of one experiment, and one dataset.",
    "",
    changes_system=False,
)
SCALING = Option(
    "--scaling",
    "Whether the user's data are centred and scaled for methods that can undo it in their "
    f"equations ({page('datasets')}): on, the default, or off.",
    "on|off",
    Option.choice("--scaling", ("on", "off"), "").parse,
    changes_system=False,
)
READ_OPTIONS = (
    *(TIME, TIME_FORMAT, TIME_ZONE, STEP, STATES, INPUTS, IGNORE, TRAJECTORY, PIVOT, REPEATS),
    *(SKIP, MISSING_VALUES, NA_VALUES),
)
"""How tables are read."""
OWN_OPTIONS = (*READ_OPTIONS, HOLD, HOLDOUT, POOL, SCALING, TRUTH)
AXES_ORDER = Option(
    "--axes",
    "The order of the dimensions of u in the user's files, where it is not x,t (x,y,t, ...).",
    "t,x",
    _axes,
    changes_system=False,
    is_list=True,
)
OWN_FIELDS = (AXES_ORDER, SCALING, TRUTH)


EXACT: Final = "exact"
"""The value of the option below with which methods are given what nobody can measure."""
DERIVATIVES = Option.choice(
    "--derivatives",
    ("fd", "smooth", EXACT),
    "Derivatives that methods are given: finite differences of the noisy data, or of smoothed data "
    "(the default under strict); or the true ones, as a reference.",
)


def derivatives_asked(options: Mapping[str, Any], protocol: Protocol) -> str:
    """Return the derivatives that methods are given: a value of `DERIVATIVES`.

    Raises
    ------
    UsageError
        If others than finite differences are asked for under `published`, which has these alone.
    """
    usual = protocol.usual[DERIVATIVES.key]
    asked = str(options.get(DERIVATIVES.key, usual))
    if protocol is Protocol.PUBLISHED and asked != usual:
        raise UsageError(
            "The protocol published has finite differences alone.",
            f"Leave out --derivatives {asked}, or give --protocol strict.",
        )
    return asked


def require_exact(derivatives: str, name: str, du: object) -> None:
    """Raise a `UsageError` where true derivatives are asked for, and `du` is None: unknown."""
    if derivatives == EXACT and du is None:
        raise UsageError(
            f"The true derivatives of {name} are not known.",
            "Leave out --derivatives exact, or give smooth or fd.",
        )


_LEFT = re.compile(r"^\s*(?:d\s*(?P<d>\w+)\s*/\s*dt|(?P<name>\w+?)(?:'|_t|\.)?)\s*$")


def user_truth(
    typed: str | None,
    in_file: Mapping[str, str] | None,
    file: Path,
    *,
    states: Mapping[str, str],
    variables: Sequence[str],
) -> tuple[str, ...] | None:
    """Read the true equations, one for each state; None where they are not known.

    Parameters
    ----------
    typed
        With the option, which counts before what is in the file; None without it.
    in_file
        The table ``[truth]`` of the TOML file; None where it has none.
    file
        The TOML file, for messages.
    states
        The names of the states by all that may be written for them, in order.
    variables
        The names that right-hand sides may use.

    Returns
    -------
    tuple of str
        Right-hand sides in the given names.

    Raises
    ------
    UsageError, DataError
        If what is typed, or what is in the file, is no equation for each state; it names the
        file, the state, what is wrong and what is allowed.
    """
    names = list(dict.fromkeys(states.values()))
    if typed is not None:
        return _checked(_typed(typed, names), states, variables, TRUTH.name, UsageError)
    if in_file is not None:
        where = f"{file}: table [truth]"
        return _checked(list(in_file.items()), states, variables, where, DataError)
    return None


def _typed(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if len(parts) == len(names) and not any("=" in part for part in parts):
        return list(zip(names, parts, strict=True))
    pairs = [tuple(map(str.strip, part.split("=", 1))) for part in parts]
    if not all(len(pair) == 2 for pair in pairs):  # noqa: PLR2004
        raise UsageError(
            f"{TRUTH.name} is {text!r}.",
            f"Give an equation for each state, such as: {TRUTH.name} "
            f'"{"; ".join(f"{name} = ..." for name in names)}"',
        )
    return [(pair[0], pair[-1]) for pair in pairs]


def _checked(
    pairs: Sequence[tuple[str, str]],
    states: Mapping[str, str],
    variables: Sequence[str],
    where: str,
    error: type[DataError | UsageError],
) -> tuple[str, ...]:
    from eqverdict import parse  # noqa: PLC0415 - a list of datasets needs no NumPy

    texts: dict[str, str] = {}
    for state, text in pairs:
        match = _LEFT.match(state)
        name = states.get(state) or (match and states.get(match["d"] or match["name"]))
        if not name:
            raise error(f"{where}: there is no state {state!r}.", did_you_mean(state, states))
        if name in texts:
            raise error(f"{where}: {name} has two equations.", "Give one for each state.")
        try:
            texts[name] = parse(text, variables).text
        except EquationError as refused:
            what = f"{where}: the equation of {name}: {refused.message}"
            raise error(what, refused.hint) from None
    names = dict.fromkeys(states.values())
    if missing := [name for name in names if name not in texts]:
        raise error(f"{where}: {missing[0]} has no equation.", "Give one for each state.")
    return tuple(texts[name] for name in names)
