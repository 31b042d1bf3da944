"""Tokens of expressions in prefix order, and sets of them that a search may use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from trees import FUNCTIONS, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]
Codes = NDArray[np.int16]

__all__ = ["CONST", "PARTIALS", "POLY", "TRIG", "Tokens", "inverse_of"]

CONST, POLY = "const", "poly"
TRIG = frozenset({"sin", "cos", "tan"})
_PAIRS = ({"exp", "log"}, {"sqrt", "square"}, {"neg"}, {"tan", "atan"})

PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "add": (lambda _o, _a, _b: 1.0, lambda _o, _a, _b: 1.0),
    "sub": (lambda _o, _a, _b: 1.0, lambda _o, _a, _b: -1.0),
    "mul": (lambda _o, _a, b: b, lambda _o, a, _b: a),
    "div": (lambda _o, _a, b: 1.0 / b, lambda o, _a, b: -o / b),
    "neg": (lambda _o, _a: -1.0,),
    "sin": (lambda _o, a: np.cos(a),),
    "cos": (lambda _o, a: -np.sin(a),),
    "tan": (lambda o, _a: 1.0 + o * o,),
    "atan": (lambda _o, a: 1.0 / (1.0 + a * a),),
    "tanh": (lambda o, _a: 1.0 - o * o,),
    "exp": (lambda o, _a: o,),
    "log": (lambda _o, a: 1.0 / a,),
    "sqrt": (lambda o, _a: 0.5 / o,),
    "square": (lambda _o, a: 2.0 * a,),
    "cube": (lambda _o, a: 3.0 * a * a,),
}
"""Partial derivatives of each function, of its value and its arguments."""


def inverse_of(name: str) -> str | None:
    """Return the inverse of a function, or None."""
    for pair in _PAIRS:
        if name in pair:
            return next(iter(pair - {name}), name)
    return None


@dataclass(frozen=True)
class Tokens:
    """Alphabet of prefix expressions: functions, variables, constants, ``poly``.

    Codes count from zero: functions in the order given, then variables, then, where wanted, the
    constant whose value is fitted, and the polynomial whose coefficients are.

    Parameters
    ----------
    functions
        Names of ``trees.FUNCTIONS``.
    variables
        Number of variables.
    constants, polynomial
        Whether there are those tokens.

    Raises
    ------
    ValueError
        If a function is unknown.
    """

    functions: tuple[str, ...]
    variables: int
    constants: bool = True
    polynomial: bool = False
    names: tuple[str, ...] = field(init=False)
    arity: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in self.functions:
            if name not in FUNCTIONS:
                raise ValueError(f"no function is called {name!r}; there are {list(FUNCTIONS)}")
        names = (
            *self.functions,
            *(f"x{column}" for column in range(self.variables)),
            *([CONST] if self.constants else []),
            *([POLY] if self.polynomial else []),
        )
        arity = [FUNCTIONS[name].arity if name in FUNCTIONS else 0 for name in names]
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "arity", np.array(arity, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def first_variable(self) -> int:
        """The code of the variable in the first column."""
        return len(self.functions)

    def code(self, name: str) -> int:
        """Return a token's code, or -1 where there is none of that name."""
        return self.names.index(name) if name in self.names else -1

    def where(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return for each code whether its name is wanted."""
        return np.array([wanted(name) for name in self.names], dtype=bool)

    def read(self, text: str) -> list[int]:
        """Return the codes of names that are separated by blanks."""
        return [self.names.index(name) for name in text.split()]

    def node(
        self, codes: Sequence[int], constants: Sequence[float] = (), polynomial: Node | None = None
    ) -> Node:
        """Build the tree of a prefix expression.

        Parameters
        ----------
        codes
            One whole expression.
        constants
            Values of its constants, from left to right.
        polynomial
            The tree in the place of ``poly``.
        """
        values = iter(constants)
        tokens = iter(codes)

        def build() -> Node:
            code = int(next(tokens))
            name = self.names[code]
            if name == CONST:
                return Node.constant(float(next(values)))
            if name == POLY:
                if polynomial is None:
                    raise ValueError("the expression has a poly, and none was given")
                return polynomial
            if code >= self.first_variable:
                return Node.variable(code - self.first_variable)
            return Node(name, tuple(build() for _ in range(self.arity[code])))

        return build()

    def codes(self, tree: Node) -> tuple[list[int], list[float]]:
        """Return a tree's codes and the values of its constants."""
        codes: list[int] = []
        constants: list[float] = []

        def write(node: Node) -> None:
            if node.name == "constant":
                codes.append(self.names.index(CONST))
                constants.append(float(node.own))
            elif node.name == "variable":
                codes.append(self.first_variable + int(node.own))
            else:
                codes.append(self.names.index(node.name))
                for child in node.children:
                    write(child)

        write(tree)
        return codes, constants
