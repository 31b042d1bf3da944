"""Descriptions of a problem for a prompt: the same for all methods, whoever writes the prompt.

``anon``
    Names without meaning (``x0``, ``x1``, ``y``), and columns in an order that the seed draws.
``named``
    What people call the quantities, what they mean and their units.
``prior``
    The same, with what is true of the law: symmetries, and a few rows of the data.
``wrong-prior``
    The same, with as many symmetries that the law does not have.

Names of files, collections and categories, and bounds of domains, are in none of them.  Answers
come back in the names that were shown, and are translated before they are evaluated and scored.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import re
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from eqverdict import parse
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.columns import OwnNames
from mdbench.errors import EquationError
from mdbench.extensions.language_models import PROMPTS
from mdbench.runs.services import TaskView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Background, Split, Task

    Array = NDArray[np.float64]

VIEWS = 1
"""The number of the rules by which views are made, which is in the key of a job."""
_TABLE = "X"
"""The array whose columns are the variables."""
_WORD = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = {*FUNCTIONS, *CONSTANTS, "np", "params", "e", "i", "equation", "Piecewise"}
_UNKNOWN = "unknown_"
"""Prefix of a name of the problem that is not shown: no answer may use it."""
_ROWS = 8
"""Rows of the data that a prior shows."""
_CHECKED = 200
_CLOSE = 1e-9
_LEAST = 20
"""Rows on which a symmetry has to be seen."""
_WRONG = 2
_ORDER = b"prompt columns"


@dataclass(frozen=True)
class PromptView(TaskView):
    """The description of a problem in a prompt.

    Attributes
    ----------
    order
        For each shown column the one of the task.
    own
        For each shown name that of the task.
    hidden
        Names of the task that are not shown.
    description
        What a prompt may contain besides names and data; None for nothing.
    """

    order: tuple[int, ...]
    own: Mapping[str, str]
    hidden: frozenset[str]
    description: str | None = None

    def reordered(self, part: Split) -> Split:
        """Return a part with its columns in the order in which they are shown."""
        inputs = dict(part.inputs)
        if _TABLE in inputs and self.order != tuple(range(len(self.order))):
            inputs[_TABLE] = np.ascontiguousarray(inputs[_TABLE][:, list(self.order)])
        return replace(part, inputs=inputs)

    def equation(self, text: str) -> str:
        """Translate an answer into the names of the task."""

        def own(match: re.Match[str]) -> str:
            word = match[0]
            return self.own.get(word) or (_UNKNOWN + word if word in self.hidden else word)

        return _WORD.sub(own, text)


def _as_it_is(task: Task[Any]) -> PromptView:
    own = {name: name for name in (*task.variables, *task.targets)}
    order = tuple(range(len(task.variables)))
    return PromptView(task.variables, task.targets, order, own, frozenset())


def prompt_view(prompt: str, task: Task[Any], background: Background, seed: int) -> PromptView:
    """Make one of the views of a task.

    Parameters
    ----------
    prompt
        One of `PROMPTS`.
    background
        What people know of the problem.
    seed
        Of the order of the columns, of the rows that are shown, and of what is wrong.

    Notes
    -----
    A task without equations has no quantities: its texts are shown as they are by every view.
    """
    if not task.has_equations:
        return _as_it_is(task)
    if prompt == PROMPTS[0]:
        return _anonymous(task, seed)
    background = _with_the_users(background, task)
    shown = _identifiers(
        [background.names.get(name, name) for name in (*task.variables, *task.targets)]
    )
    variables, targets = shown[: len(task.variables)], shown[len(task.variables) :]
    own = dict(zip(shown, (*task.variables, *task.targets), strict=True))
    view = PromptView(
        variables, targets, tuple(range(len(variables))), own, frozenset(own.values()) - {*shown}
    )
    lines = _quantities(view, background)
    if prompt != PROMPTS[1]:
        hints = symmetries(task)
        if prompt == PROMPTS[3]:
            hints = _wrong(task, hints, seed)
        lines += _prior(view, task, hints, seed)
    return replace(view, description="\n".join(lines))


def _with_the_users(background: Background, task: Task[Any]) -> Background:
    """Add what users call the columns of their own data, and the units there."""
    dataset, own = task.dataset, OwnNames(task.dataset.names)
    names = {name: own.own(name) for name in (*task.variables, *task.targets)}
    units = {
        name: dataset.measured_in[called]
        for name, called in names.items()
        if called in dataset.measured_in
    }
    known = {name: called for name, called in names.items() if called != name}
    return replace(
        background, names=known | dict(background.names), units=units | dict(background.units)
    )


def _anonymous(task: Task[Any], seed: int) -> PromptView:
    order = np.random.default_rng([seed, *_ORDER]).permutation(len(task.variables))
    variables = tuple(f"x{i}" for i in range(len(order)))
    several = len(task.targets) > 1
    targets = tuple(f"y{i}" if several else "y" for i in range(len(task.targets)))
    own = {f"x{i}": task.variables[column] for i, column in enumerate(order)}
    own |= dict(zip(targets, task.targets, strict=True))
    hidden = frozenset({*task.variables, *task.targets} - own.keys())
    return PromptView(variables, targets, tuple(map(int, order)), own, hidden)


def _identifiers(names: Iterable[str]) -> tuple[str, ...]:
    """Make names that Python and the grammar of equations take, each another."""
    identifiers: dict[str, None] = {}
    for name in names:
        word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "v"
        word = f"v{word}" if word[0].isdigit() else word
        while word in identifiers or word in _RESERVED or keyword.iskeyword(word):
            word += "_"
        identifiers[word] = None
    return tuple(identifiers)


def _quantities(view: PromptView, background: Background) -> list[str]:
    lines = [f"Context: {background.about}"] if background.about else []
    for title, names in (("Inputs", view.variables), ("Outputs", view.targets)):
        lines.append(f"{title}:")
        for name in names:
            own = view.own[name]
            unit = background.units.get(own, "")
            meaning = background.meanings.get(own, "")
            text = f": {meaning}" if meaning else ""
            lines.append(f"- {name}{text}" + (f" [{unit}]" if unit else ""))
    return lines


def _prior(view: PromptView, task: Task[Any], hints: Sequence[Symmetry], seed: int) -> list[str]:
    names = dict(zip(task.variables, view.variables, strict=True))
    names |= dict(zip(task.targets, view.targets, strict=True))
    lines = ["What is known of the law:"]
    lines += [f"- {hint.sentence(names)}" for hint in hints] or ["- no symmetry of it is known"]
    rows = task.refit.inputs[_TABLE]
    picked = np.random.default_rng([seed, *_ORDER, 1]).permutation(len(rows))[:_ROWS]
    lines.append(f"Some rows of the data, as ({', '.join((*view.variables, *view.targets))}):")
    for row in sorted(picked):
        numbers = [*rows[row], *task.refit.targets[row]]
        lines.append(f"- ({', '.join(f'{number:.6g}' for number in numbers)})")
    return lines


@dataclass(frozen=True)
class Symmetry:
    """Something that may be true of a law.

    Attributes
    ----------
    kind
        ``even``, ``odd``, ``idle`` or ``exchange``.
    target
        Of which equation.
    variables
        The one variable, or the two that change places.
    """

    kind: str
    target: str
    variables: tuple[str, ...]

    def sentence(self, names: Mapping[str, str]) -> str:
        """Return it as a sentence."""
        target = names[self.target]
        first, *others = (names[name] for name in self.variables)
        if self.kind == "exchange":
            return f"{target} is the same when {first} and {others[0]} change places"
        if self.kind == "idle":
            return f"{target} does not depend on {first}"
        change = "does not change" if self.kind == "even" else "changes its sign"
        return f"{target} {change} when {first} changes its sign"


def symmetries(task: Task[Any]) -> list[Symmetry]:
    """Return the symmetries of the true law, tried on the rows of the fit; none where unknown.

    Each is tried on up to 200 rows, and holds where it does to nine digits on all rows on which
    both sides have values; on fewer than twenty it is not stated.
    """
    true = [each for each in _possible(task) if _holds(each, task)]
    idle = {(each.target, each.variables) for each in true if each.kind == "idle"}
    return [e for e in true if e.kind == "idle" or (e.target, e.variables) not in idle]


def _possible(task: Task[Any]) -> list[Symmetry]:
    symmetries = []
    for target in task.targets:
        for name in task.variables:
            symmetries += [Symmetry(kind, target, (name,)) for kind in ("idle", "even", "odd")]
        symmetries += [
            Symmetry("exchange", target, pair) for pair in combinations(task.variables, 2)
        ]
    return symmetries


def _holds(symmetry: Symmetry, task: Task[Any]) -> bool:
    truth = task.dataset.truth
    if truth is None:
        return False
    text = truth[task.targets.index(symmetry.target)]
    columns = {name: np.asarray(task.refit.columns[name])[:_CHECKED] for name in task.variables}
    first, *others = symmetry.variables
    moved = dict(columns)
    sign = 1.0
    if symmetry.kind == "exchange":
        moved[first], moved[others[0]] = columns[others[0]], columns[first]
    elif symmetry.kind == "idle":
        moved[first] = np.roll(columns[first], 1) * 1.25
    else:
        moved[first] = -columns[first]
        sign = -1.0 if symmetry.kind == "odd" else 1.0
    try:
        law = parse(text, task.variables)
        with np.errstate(all="ignore"):
            before, after = law.evaluate(columns), sign * law.evaluate(moved)
    except (EquationError, ArithmeticError, ValueError):
        return False
    both = np.isfinite(before) & np.isfinite(after)
    if np.count_nonzero(both) < min(_LEAST, len(before)) or not np.any(before[both]):
        return False
    scale = np.abs(before[both]) + np.abs(after[both])
    return bool(np.all(np.abs(before[both] - after[both]) <= _CLOSE * scale))


def _wrong(task: Task[Any], true: Sequence[Symmetry], seed: int) -> list[Symmetry]:
    """Draw as many symmetries as the law has, and two at least, that it does not have."""
    false = [
        each
        for each in _possible(task)
        if each not in true and each.kind != "idle" and not _holds(each, task)
    ]
    draw = np.random.default_rng([seed, *_ORDER, 2]).permutation(len(false))
    chosen: list[Symmetry] = []
    for index in draw:
        each = false[index]
        if all(other.variables != each.variables for other in chosen):
            chosen.append(each)
        if len(chosen) == max(_WRONG, len(true)):
            break
    return chosen


def described(prompt: str | None, background: Background) -> str:
    """Return a hash that differs between the views of a problem, for the key of a job."""
    shown = "" if prompt in (None, PROMPTS[0]) else json.dumps(asdict(background), sort_keys=True)
    return hashlib.sha256(f"{VIEWS}\n{prompt}\n{shown}".encode()).hexdigest()
