"""Equations whose constants may move: those of an answer, or with letters for what is unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eqverdict.fidelity.parametric import ParametricExpression, parametrize
from eqverdict.grammar import read
from eqverdict.tree import CONSTANTS, FUNCTIONS, Node, Variable, mapped, pieces, text_of
from mdbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Structure", "read_guess"]
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_LEFT = re.compile(r"^\s*(?:d\s*(?P<rate>\w+)\s*/\s*d\s*t|(?P<dashed>\w+)\s*'|(?P<plain>\w+))\s*$")


@dataclass(frozen=True)
class Structure:
    """Equations, and the constants that they have together.

    Attributes
    ----------
    laws
        An expression for each target, whose constants are variables ``#0``, ``#1``, ...
    start
        The constants to begin with, (constants,).
    letters
        The name of each constant: a letter of the text, or the number as it was written.
    pieces
        What the equations are made of, as the bench counts it.
    """

    laws: tuple[ParametricExpression, ...]
    start: Array
    letters: tuple[str, ...]
    pieces: int

    @classmethod
    def of(
        cls, equations: Sequence[str], names: Sequence[str], *, guessed: bool = False
    ) -> Structure:
        """Read equations.

        Parameters
        ----------
        equations
            Right-hand sides.
        names
            The variables.
        guessed
            Whether a name that is no variable is a constant that is not known, the same in all
            equations, and numbers stay as they are written.  Without such names numbers move, and
            each term has a constant, even where none is written.

        Raises
        ------
        mdbench.errors.EquationError
            If a text is no equation.
        """
        known = {*names, *FUNCTIONS, *CONSTANTS}
        letters = list(
            dict.fromkeys(
                name
                for text in equations
                for name in _NAME.findall(text)
                if guessed and name not in known
            )
        )
        nodes = [read(text, [*names, *letters]) for text in equations]
        if letters:  # numbers that are written stay as they are
            nothing = np.empty(0)
            made = [ParametricExpression(node, nothing, frozenset()) for node in nodes]
        else:
            made = [parametrize(node, named=False, scaled=guessed) for node in nodes]
        numbers = {name: f"#{place}" for place, name in enumerate(letters)}
        start, labels, laws = [1.0] * len(letters), list(letters), []
        for law in made:
            first = len(start)
            moved = {f"#{k}": f"#{first + k}" for k in range(len(law.start))} | numbers
            start += law.start.tolist()
            labels += [f"{value:.6g}" for value in law.start]
            laws.append(ParametricExpression(_renamed(law.tree, moved), law.start, frozenset()))
        size = sum(pieces(node) for node in nodes)
        return cls(tuple(laws), np.array(start), tuple(labels), size)

    @property
    def skeleton(self) -> tuple[str, ...]:
        """The equations without the values of their constants."""
        return tuple(text_of(law.tree) for law in self.laws)

    @property
    def has_letters(self) -> bool:
        """Whether there are constants of which no number is written."""
        return any(letter.isidentifier() for letter in self.letters)

    def values(self, columns: Mapping[str, Array], constants: Array) -> Array:
        """Return the right-hand sides, (rows, targets)."""
        return np.stack([law.values(columns, constants) for law in self.laws], axis=1)

    def texts(self, constants: Array) -> list[str]:
        """Write the equations with other constants, in all digits."""
        return [text_of(law.with_constants(constants)) for law in self.laws]


def _renamed(tree: Node, names: Mapping[str, str]) -> Node:
    def renamed(node: Node) -> Node | None:
        if isinstance(node, Variable) and node.name in names:
            return Variable(node.constant, names[node.name])
        return None

    return mapped(tree, renamed)


def read_guess(
    guess: str | Mapping[str, str] | Sequence[str], targets: Sequence[str]
) -> dict[str, str]:
    """Read equations as they are typed.

    Parameters
    ----------
    guess
        ``"dx/dt = a*x - b*x*y; dy/dt = ..."``, right-hand sides by target, or a list of equations.
    targets
        The names that left-hand sides may have; one without a left-hand side is the only target's.

    Returns
    -------
    dict
        Right-hand sides by target.

    Raises
    ------
    mdbench.errors.UsageError
        If a left-hand side is no target, or stands twice.
    """
    if isinstance(guess, str):
        parts = [part for part in re.split(r"[;\n]", guess) if part.strip()]
    elif hasattr(guess, "items"):
        parts = [f"{name} = {text}" for name, text in guess.items()]
    else:
        parts = list(guess)
    equations: dict[str, str] = {}
    for part in parts:
        left, equals, right = part.partition("=")
        match = _LEFT.match(left) if equals else None
        name = targets[0] if not equals and len(targets) == 1 else ""
        if match:
            name = match["rate"] or match["dashed"] or match["plain"]
            name = name if name in targets else name.removesuffix("_t")
        if name not in targets or name in equations:
            raise UsageError(
                f"guess has {part.strip()!r}.",
                f"Give one equation for each of {', '.join(targets)}, such as "
                f"'{targets[0]} = a*...' or 'd{targets[0]}/dt = a*...' for a rate.  "
                + (did_you_mean(name, targets) if name else ""),
            )
        equations[name] = (right if equals else left).strip()
    if not equations:
        raise UsageError("guess is empty.", "Give an equation, or leave it out.")
    return equations
