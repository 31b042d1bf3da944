"""Prefix expressions that grow token by token, and what the constraints allow at each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokens import CONST, POLY, TRIG, inverse_of

if TYPE_CHECKING:
    from tokens import Tokens

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

__all__ = ["Growth", "Rules"]


@dataclass(frozen=True)
class Rules:
    """The constraints of Petersen et al. (ICLR 2021, section 3.1), and the prior on lengths.

    No expression is shorter or longer than allowed; no function is applied to its inverse; no
    trigonometric function is below another one; the arguments of a function are not all
    constants; there are at most so many constants; and there is at most one ``poly``.

    Parameters
    ----------
    min_length, max_length
        Lengths of whole expressions.
    max_constants
        In one expression.
    length_location, length_scale
        The soft prior (Landajuela et al., ICML AutoML 2021): before the location, leaves lose
        ``(t - location)² / (2 scale²)`` in their logits, and behind it functions do.  A scale of
        zero or less leaves it out.
    """

    min_length: int = 4
    max_length: int = 30
    max_constants: int = 3
    length_location: float = 10.0
    length_scale: float = 5.0

    def __post_init__(self) -> None:
        if self.min_length < 1:
            raise ValueError(f"min_length is {self.min_length}; it must be 1 or more")
        if self.max_length < self.min_length + 2:
            raise ValueError(
                f"max_length is {self.max_length}; it must be min_length + 2,"
                f" {self.min_length + 2}, or more"
            )
        if self.max_constants < 0:
            raise ValueError(f"max_constants is {self.max_constants}; it must be 0 or more")


class Growth:
    """Many expressions growing in step.

    Attributes
    ----------
    codes
        (B, max_length), -1 where nothing is yet.
    done
        (B,) which are whole.
    """

    def __init__(self, rows: int, tokens: Tokens, rules: Rules) -> None:
        self._tokens, self._rules = tokens, rules
        self._every = np.arange(rows)
        length = rules.max_length
        self.codes = np.full((rows, length), -1, dtype=np.int64)
        self.length = 0
        self._open = np.ones(rows, dtype=np.int64)
        # A stack of open places, the next one on top: position of the parent and of the sibling.
        self._parents = np.full((rows, length + 2), -1, dtype=np.int64)
        self._siblings = np.full((rows, length + 2), -1, dtype=np.int64)
        self._inside = np.zeros((rows, length + 1), dtype=bool)
        self._constants = np.zeros(rows, dtype=np.int64)
        self._polynomials = np.zeros(rows, dtype=np.int64)
        self._trig = tokens.where(lambda name: name in TRIG)
        self._leaf = tokens.arity == 0
        self._constant = tokens.code(CONST)
        self._poly = tokens.code(POLY)
        self._forbidden = np.zeros((len(tokens) + 1, len(tokens)), dtype=bool)
        for code, name in enumerate(tokens.names):
            inverse = inverse_of(name)
            if inverse in tokens.names:
                self._forbidden[code, tokens.code(inverse)] = True
            if self._constant >= 0 and tokens.arity[code] == 1:
                self._forbidden[code, self._constant] = True

    @property
    def done(self) -> Mask:
        """Mask of the complete expressions, (B,)."""
        return np.asarray(self._open == 0)

    def observe(self) -> tuple[Integers, Integers]:
        """Return parent and sibling (B,) of the next token; the number of tokens means none."""
        none = len(self._tokens)
        top = np.maximum(self._open - 1, 0)
        parent = self._parents[self._every, top]
        sibling = self._siblings[self._every, top]
        return (
            np.where(parent >= 0, self.codes[self._every, parent], none),
            np.where(sibling >= 0, self.codes[self._every, sibling], none),
        )

    def allowed(self) -> Mask:
        """Return which tokens (B, tokens) may come next."""
        tokens, rules = self._tokens, self._rules
        parent, sibling = self.observe()
        allowed = ~self._forbidden[parent]
        fits = self.length + self._open[:, np.newaxis] + tokens.arity <= rules.max_length
        allowed &= fits
        if self.length + 1 < rules.min_length:
            allowed &= ~((self._open == 1)[:, np.newaxis] & self._leaf)
        place = self._parents[self._every, np.maximum(self._open - 1, 0)]
        inside = (place >= 0) & self._inside[self._every, place]
        allowed &= ~(inside[:, np.newaxis] & self._trig)
        if self._constant >= 0:
            no = (self._constants >= rules.max_constants) | (sibling == self._constant)
            allowed[no, self._constant] = False
        if self._poly >= 0:
            allowed[self._polynomials >= 1, self._poly] = False
        nothing = ~allowed.any(axis=1)
        if nothing.any():  # functions that cannot be put together in the length that is asked for
            first = tokens.first_variable
            allowed[nothing, first : first + tokens.variables] = True
        return allowed

    def prior(self) -> Array:
        """Return the length prior's addition to the logits (tokens,) of the next token."""
        scale = self._rules.length_scale
        added = np.zeros(len(self._tokens))
        if scale <= 0:
            return added
        away = self.length - self._rules.length_location
        added[self._leaf if away < 0 else ~self._leaf] = -(away**2) / (2 * scale**2)
        return added

    def put(self, codes: Integers) -> None:
        """Add a token (B,) to each expression that is not whole yet."""
        growing = self._open > 0
        codes = np.where(growing, codes, -1)
        position = self.length
        self.codes[:, position] = codes
        arity = np.where(growing, self._tokens.arity[codes], 0)
        top = np.maximum(self._open - 1, 0)
        parent = self._parents[self._every, top]
        above = (parent >= 0) & self._inside[self._every, parent]
        self._inside[:, position] = growing & (above | self._trig[codes])
        self._open -= growing
        two = np.flatnonzero(arity == 2)  # noqa: PLR2004
        self._parents[two, self._open[two]] = position
        self._siblings[two, self._open[two]] = position + 1
        self._open[two] += 1
        some = np.flatnonzero(arity > 0)
        self._parents[some, self._open[some]] = position
        self._siblings[some, self._open[some]] = -1
        self._open[some] += 1
        self._constants += growing & (codes == self._constant)
        self._polynomials += growing & (codes == self._poly)
        self.length += 1

    def follow(self, codes: Integers) -> Mask:
        """Put whole expressions (B, L); return which of them the constraints allow."""
        fine = np.ones(len(codes), dtype=bool)
        for place in range(codes.shape[1]):
            step = codes[:, place]
            growing = ~self.done
            fine &= ~growing | self.allowed()[self._every, step]
            self.put(np.where(growing, step, -1))
        return fine & self.done
