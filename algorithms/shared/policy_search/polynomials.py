"""The linear token: a polynomial inside an expression, fitted in its place.

An expression with one ``poly`` in it is undone from its root down to that token: what the token
would have to be, row by row, for the expression to be the target.  That is then fitted by linear
least squares (Landajuela et al., NeurIPS 2022, section 3).
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sparse_sums import sparse_sums
from tokens import POLY
from trees import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapes import Tape
    from tokens import Tokens

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

__all__ = ["Monomials", "undo"]

_UNDO: dict[str, tuple[Callable[..., Any], ...]] = {
    "add": (lambda t, b: t - b, lambda t, a: t - a),
    "sub": (lambda t, b: t + b, lambda t, a: a - t),
    "mul": (lambda t, b: t / b, lambda t, a: t / a),
    "div": (lambda t, b: t * b, lambda t, a: a / t),
    "neg": (lambda t: -t,),
    "sin": (np.arcsin,),
    "cos": (np.arccos,),
    "tan": (np.arctan,),
    "atan": (lambda t: np.where(np.abs(t) < np.pi / 2, np.tan(t), np.nan),),
    "tanh": (np.arctanh,),
    "exp": (np.log,),
    "log": (np.exp,),
    "sqrt": (lambda t: np.where(t >= 0, t * t, np.nan),),
    "square": (np.sqrt,),
    "cube": (np.cbrt,),
}
"""Argument for which a function is `t`, given the other argument."""


def undo(tape: Tape, values: Array, y: Array, tokens: Tokens) -> tuple[Integers, Array]:
    """Return the values that ``poly`` must have in each expression for it to be the target.

    Parameters
    ----------
    tape
        Tape of expressions, evaluated with any values of ``poly``.
    values
        (nodes, n) of that evaluation.
    y
        (n,) the target.

    Returns
    -------
    tuple
        Which expressions have a ``poly``, and (those, n) its values; not finite in a row for
        which there is none.
    """
    codes, shapes, nodes = tape.codes, tape.shapes, tape.nodes
    found, place = np.nonzero(codes == tokens.code(POLY))
    wanted = np.repeat(y[np.newaxis], len(found), axis=0)
    at = np.zeros(len(found), dtype=np.int64)
    with np.errstate(all="ignore"):
        while True:
            going = np.flatnonzero(at < place)
            if not len(going):
                return found, wanted
            code = codes[found[going], at[going]]
            second = shapes.second[found[going], at[going]]
            two = tokens.arity[code] == 2  # noqa: PLR2004
            right = two & (place[going] >= second)
            for kind in np.unique(code).tolist():
                name = tokens.names[kind]
                for side in (False, True)[: tokens.arity[kind]]:
                    which = (code == kind) & (right == side)
                    rows = going[which]
                    if not len(rows):
                        continue
                    given = [wanted[rows]]
                    if tokens.arity[kind] == 2:  # noqa: PLR2004
                        other = at[rows] + 1 if side else second[which]
                        given.append(values[nodes[found[rows], other]])
                    wanted[rows] = _UNDO[name][int(side)](*given)
            at[going] = np.where(right, second, at[going] + 1)


class Monomials:
    """All products of variables up to a degree, as columns of unit length.

    Parameters
    ----------
    X
        (n, d) variables.
    degree
        The highest; less where there would be more columns than half of the rows.

    Attributes
    ----------
    powers
        The variables of each product; none for the constant.
    """

    def __init__(self, X: Array, degree: int) -> None:
        columns = X.shape[1]
        while True:
            self.powers = [
                each
                for order in range(degree + 1)
                for each in combinations_with_replacement(range(columns), order)
            ]
            if 2 * len(self.powers) <= len(X) or degree == 0:
                break
            degree -= 1
        self.values = self.at(X)
        with np.errstate(all="ignore"):
            self._norms = np.linalg.norm(self.values, axis=0)
        self._norms[~(np.isfinite(self._norms) & (self._norms > 0))] = np.inf
        scaled = np.where(np.isfinite(self._norms), self.values / self._norms, 0.0)
        self._inverse = np.linalg.pinv(scaled, rcond=1e-13)

    def at(self, X: Array) -> Array:
        """Return the products (n, terms) at other places."""
        return np.stack([np.prod(X[:, list(each)], axis=1) for each in self.powers], axis=1)

    def fit(self, wanted: Array, tolerance: float) -> Array:
        """Fit coefficients (B, terms) to values (B, n) that are wanted.

        Those whose terms are at most so much of the wanted values' size are left out.
        """
        with np.errstate(all="ignore"):  # of values that are too large; they fit nothing
            scaled = wanted @ self._inverse.T
            size = np.linalg.norm(wanted, axis=1, keepdims=True)
            scaled[np.abs(scaled) <= tolerance * size] = 0.0
        return np.asarray(scaled / self._norms)

    def shorter(self, wanted: Array, *, longest: int, beam: int, kept: int) -> Iterator[Array]:
        """Fit polynomials of few terms.

        Parameters
        ----------
        wanted
            (n,) values.
        longest, beam, kept
            See ``sparse_sums``.

        Yields
        ------
        Array
            (terms,) coefficients, of fewer terms first.
        """
        for support, values in sparse_sums(
            self.values, wanted, longest=longest, beam=beam, kept=kept
        ):
            coefficients = np.zeros(len(self.powers))
            coefficients[support] = values
            yield coefficients

    def tree(self, coefficients: Array) -> Node:
        """Write a polynomial as a tree."""
        total: Node | None = None
        for value, each in zip(coefficients.tolist(), self.powers, strict=True):
            if value == 0.0:
                continue
            term = Node.constant(value)
            for column in each:
                term = Node("mul", (term, Node.variable(column)))
            total = term if total is None else Node("add", (total, term))
        return Node.constant(0.0) if total is None else total
