"""Scaling of a law's numbers: summands of like size, functions where they are not linear."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from skeletons import ARITY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]

__all__ = ["Balance"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "square": np.square, "cube": lambda x: x * x * x, "sqrt": np.sqrt, "exp": np.exp,
    "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
    "tanh": np.tanh, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}  # fmt: skip
_BENDS = {"exp": 0.2, "sin": 0.2, "cos": 0.2, "tan": -0.1, "atan": 0.0, "tanh": 0.0}
"""The decade to which the argument of a function is brought."""
_LIKE, _NEAR = 0.7, 0.5
"""Decades by which summands may differ, and an argument may be off, before they are moved."""
_THROUGH = {"square": 1 / 2, "cube": 1 / 3, "sqrt": 2.0, "mul": 1.0, "div": 1.0}
"""Decades by which an argument has to be moved for each decade of the whole."""


def _decade(values: Array) -> float:
    return float(np.log10(np.median(np.abs(values)) + 1e-300))


def _power_of_ten(decades: float) -> float:
    return float(10.0 ** min(300.0, max(-300.0, decades)))  # beyond there is no float


@dataclass
class Balance:
    """A law on rows of data, whose numbers may still move.

    Parameters
    ----------
    tokens
        The law in prefix order.
    X
        (n, d) its variables.
    numbers
        One for each ``const``, from left to right; moved in place.
    movable
        Whether variables that are in one place may be moved, too: `X` is then changed.
    """

    tokens: Sequence[str]
    X: Array
    numbers: list[float]
    movable: bool = False
    _shares: list[float] = field(default_factory=list)

    def values(self) -> Array:
        """Return the values (n,) as they are."""
        self._shares = []
        return self._part(0, 0, settle=False)[0]

    def settle(self) -> None:
        """Move summands to like sizes, and arguments to where their functions are not linear."""
        self._part(0, 0, settle=True)

    def least_share(self) -> float:
        """Return the least share of a summand in its sum, at the last call of `values`."""
        return min(self._shares, default=1.0)

    def scale(self, decades: float) -> bool:
        """Multiply the whole by a power of ten, through a factor; return whether there is one."""
        return self._move_part(0, 0, decades)

    def _part(self, place: int, number: int, *, settle: bool) -> tuple[Array, int, int]:
        """Return the values of the part that begins at `place`, and where the next one does."""
        name = self.tokens[place]
        if name == "const":
            return np.full(len(self.X), self.numbers[number]), place + 1, number + 1
        if name not in ARITY:
            return self.X[:, int(name[1:])], place + 1, number
        first, second, further = self._part(place + 1, number, settle=settle)
        if ARITY[name] == 1:
            if settle and name in _BENDS:
                off = _BENDS[name] - _decade(first)
                if abs(off) > _NEAR and self._move_part(place + 1, number, off):
                    first = self._part(place + 1, number, settle=False)[0]
            return np.asarray(_FUNCTIONS[name](first)), second, further
        other, end, last = self._part(second, further, settle=settle)
        if name in {"add", "sub"}:
            apart = _decade(first) - _decade(other)
            if settle and abs(apart) > _LIKE:
                if self._move_part(second, further, apart):
                    other = self._part(second, further, settle=False)[0]
                elif self._move_part(place + 1, number, -apart):
                    first = self._part(place + 1, number, settle=False)[0]
            whole = np.abs(first) + np.abs(other) + 1e-300
            self._shares += [float(np.median(np.abs(each) / whole)) for each in (first, other)]
        return np.asarray(_FUNCTIONS[name](first, other)), end, last

    def _move_part(self, place: int, number: int, decades: float) -> bool:
        kinds = ("const", "variable") if self.movable else ("const",)
        return any(self._move(place, number, decades, kind)[0] for kind in kinds)

    def _move(self, place: int, number: int, decades: float, kind: str) -> tuple[bool, int, int]:
        """Move a part through a factor of that kind; of any other kind look for its end only."""
        name = self.tokens[place]
        if name == "const":
            if kind == "const":
                self.numbers[number] *= _power_of_ten(decades)
            return kind == "const", place + 1, number + 1
        if name not in ARITY:
            done = kind == "variable" and sum(each == name for each in self.tokens) == 1
            if done:
                self.X[:, int(name[1:])] *= _power_of_ten(decades)
            return done, place + 1, number
        done = False
        end, last = place + 1, number
        for argument in range(ARITY[name]):
            if done or name not in _THROUGH:
                _, end, last = self._move(end, last, 0.0, "")
                continue
            own = decades * _THROUGH[name] * (-1 if name == "div" and argument else 1)
            done, end, last = self._move(end, last, own, kind)
        return done, end, last
