"""Random derivations: algorithm 2 of Meadows et al. (2023)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

import sympy

from mdbench.datatypes.derivation.operators import (
    ARITHMETIC,
    CALCULUS,
    EVALUATIONS,
    FUNCTIONS,
    OPERATORS,
    PREMISES,
    SUBSTITUTIONS,
    apply,
    fresh_integrals,
    is_valid,
)
from mdbench.datatypes.derivation.renaming import LETTERS, function, names
from mdbench.datatypes.derivation.steps import (
    Derivation,
    Sides,
    Step,
    ancestors,
    elements,
    mirrored,
    symbol,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mdbench.datatypes.derivation.settings import GeneratorSettings

_TRIES = 400
"""Annotations that are drawn for one final step at most."""
_MOST_APPLIED = 40
"""The most of these annotations that are applied."""
_STEPS_OF_AUTHORS = 6
"""Number of steps of a derivation before the authors cut it."""
_SPARE = 3
"""Number of steps drawn beyond those wanted, of which some are not needed."""
_MOST_PREFIXES = 10_000
_UNARY = (*FUNCTIONS, "expand", *EVALUATIONS)
_BINARY = (*ARITHMETIC, *CALCULUS, *SUBSTITUTIONS)
_FINAL = tuple(op for op in OPERATORS if op != "premise")
"""The operators that a derivation may end with."""
_FINAL_OF_TWO = tuple(op for op in _FINAL if op not in SUBSTITUTIONS)
"""Those that need one equation before them."""
_TRIES_FOR_LAST = 200


def generate(settings: GeneratorSettings, stream: str, index: int) -> Derivation:
    """Draw the derivation of a number; the same one in any order, process and hash seed.

    Parameters
    ----------
    settings
        Of a structured task.
    stream
        A name; streams of different names have nothing in common.
    index
        Its number in the stream, from 0.

    Raises
    ------
    RuntimeError
        If there is none in very many tries, as with weights that allow no derivation.
    """
    rng = Random(f"{settings.seed}:{stream}:{index}")  # noqa: S311 - no secret
    alike = _alike(settings, stream, index)
    last = None
    for number in range(_MOST_PREFIXES):
        if settings.mode == "open" and number % _TRIES_FOR_LAST == 0:
            # Some can hardly ever be applied: drawn for each try, they would seldom be last.
            last = rng.choice(_FINAL if settings.steps > 2 else _FINAL_OF_TWO)  # noqa: PLR2004
        drawn = _attempt(settings, rng, alike, last)
        if drawn is not None:
            steps, negative = drawn
            return Derivation(index, stream, tuple(steps), (negative,))
    raise RuntimeError(f"no derivation in {_MOST_PREFIXES} tries")


def _alike(settings: GeneratorSettings, stream: str, index: int) -> bool | None:
    """Draw whether both candidates are of one operator; None where that is left to chance.

    It is drawn by itself: pairs of one operator are found less often, and would be fewer.
    """
    if settings.negatives != "balanced":
        return None
    coin = Random(f"{settings.seed}:{stream}:{index}:alike").random()  # noqa: S311 - no secret
    return coin < 0.5  # noqa: PLR2004 - a coin


def _attempt(
    settings: GeneratorSettings, rng: Random, alike: bool | None, last: str | None
) -> tuple[list[Step], Step] | None:
    if settings.negatives != "authors":
        draft = _Draft(settings, rng)
        if not draft.grow(settings.steps - 1):
            return None
        pair = draft.pair(alike, last)
        return None if pair is None else ([*draft.steps, pair[0]], pair[1])
    steps = _authors(settings, rng)
    if steps is None:
        return None
    negative = _Draft(settings, rng, steps[:-1]).negative(steps[-1])
    return None if negative is None else (steps, negative)


def _authors(settings: GeneratorSettings, rng: Random) -> list[Step] | None:
    """Draw steps until those that the last one needs are as many as wanted; then perhaps cut."""
    whole = settings.steps if settings.mode == "closed" else _STEPS_OF_AUTHORS
    draft = _Draft(settings, rng)
    while len(draft.steps) < whole + _SPARE and draft.grow(len(draft.steps) + 1):
        if len(draft.steps) < whole or draft.steps[-1].op in PREMISES:
            continue
        needed = sorted(ancestors(draft.steps, len(draft.steps)))
        if len(needed) == whole and (steps := _take_steps(draft.steps, needed)):
            cut = steps[: settings.steps]
            return cut if cut[-1].op != "premise" else None
        if len(needed) == len(draft.steps):
            return None
    return None


def _take_steps(steps: Sequence[Step], needed: Sequence[int]) -> list[Step] | None:
    """Take some of the steps and number them again; what is used must be among them."""
    new_numbers = {old: new for new, old in enumerate(needed, 1)}
    steps_taken: list[Step] = []
    known: set[Any] = set()
    for old in needed:
        step = steps[old - 1]
        if step.op == "renaming_premise" and step.rhs not in known:
            return None  # it renames a part of a step that is gone
        refs = tuple(new_numbers[ref] for ref in step.refs)
        steps_taken.append(Step(step.op, refs, step.operand, step.constants, step.lhs, step.rhs))
        known.update(elements(step.sides))
    return steps_taken


@dataclass
class _Draft:
    """A derivation that grows.

    Attributes
    ----------
    variable_of
        For each constant of integration the variable that it does not depend on.  It may depend on
        all others, so it is neither differentiated nor integrated by them.
    """

    settings: GeneratorSettings
    rng: Random
    steps: list[Step] = field(default_factory=list)
    variable_of: dict[sympy.Symbol, sympy.Symbol] = field(default_factory=dict)
    _integrated: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for step in self.steps:
            self._learn(step)

    def grow(self, count: int) -> bool:
        """Add random steps until there are `count`; return whether that was possible."""
        tries = 0
        while len(self.steps) < count:
            tries += 1
            if tries > _TRIES:
                return False
            step = self._draw()
            if step is not None and self._is_new(step.sides):
                self.steps.append(step)
                self._learn(step)
        return True

    def pair(self, alike: bool | None = None, last: str | None = None) -> tuple[Step, Step] | None:
        """Draw two final steps under the same conditions; None if there are none.

        In the mode ``closed`` both need all other steps.  A coin decides which is the right one, so
        that nothing in a candidate alone shows it.

        Parameters
        ----------
        alike
            Whether both have to be of one operator, or of two; None for any.
        last
            The operator of one of them; None for any.
        """
        closing = None if self.settings.mode == "open" else self._loose()
        # A step joins two at most.
        if closing is not None and (len(closing) > 2 or len(self.steps) not in closing):  # noqa: PLR2004
            return None
        steps: list[Step] = []
        applied = 0
        for _ in range(_TRIES):
            wanted = last if not steps else steps[0].op if alike else None
            step = self._final(closing, wanted)
            if step is None:
                continue
            applied += 1
            if isinstance(step, Step) and self._is_new(step.sides):
                if not steps:
                    steps.append(step)
                elif _differ(steps[0], step) and alike in {None, steps[0].op == step.op}:
                    steps.append(step)
                    break
            if applied > _MOST_APPLIED:
                return None
        if len(steps) < 2:  # noqa: PLR2004 - a right and a wrong one
            return None
        if self.rng.random() < 0.5:  # noqa: PLR2004 - the coin
            steps.reverse()
        return steps[0], steps[1]

    def _final(self, closing: set[int] | None, op: str | None) -> Step | bool | None:
        """Draw a final step; None where none was applied, False where that was in vain.

        In the mode ``open`` every operator but ``premise`` is tried as often as every other.
        """
        if op is None and self.settings.mode == "open":
            op = self.rng.choice(_FINAL)
        if op == "renaming_premise":
            return self._premise(op) or False
        drawn = self._annotation(op=op, closing=closing)
        return None if drawn is None else self._applied(*drawn) or False

    def negative(self, final: Step) -> Step | None:
        """Draw any next step that is no premise and differs from the final one."""
        for _ in range(_TRIES):
            drawn = self._annotation()
            step = None if drawn is None else self._applied(*drawn)
            if step is not None and self._is_new(step.sides) and _differ(final, step):
                return step
        return None

    def _loose(self) -> set[int]:
        """Return the numbers of all steps that no other one uses."""
        used = {ref for step in self.steps for ref in step.refs}
        return set(range(1, len(self.steps) + 1)) - used

    def _learn(self, step: Step) -> None:
        for integral, constant in step.constants:
            self.variable_of[constant] = integral.limits[0][0]
        if step.op == "evaluate_integrals":
            self._integrated.add(step.refs[0])

    def _is_new(self, sides: Sides) -> bool:
        return is_valid(sides) and not any(
            each.sides in {sides, mirrored(sides)} for each in self.steps
        )

    def _draw(self) -> Step | None:
        """Draw any next step."""
        weights = self.settings
        if not self.steps:
            return self._premise("premise")
        arity = self.rng.choices((0, 1, 2), (weights.premises, weights.unary, weights.binary))[0]
        if arity == 0:
            return self._premise(self.rng.choices(PREMISES, (1, weights.renaming))[0])
        drawn = self._annotation(arity)
        return None if drawn is None else self._applied(*drawn)

    def _premise(self, op: str) -> Step | None:
        known = [part for step in self.steps for part in step.sides]
        symbols = names(known)
        called = {step.lhs.func.__name__ for step in self.steps if step.op in PREMISES}
        taken = {*called, *(each.name for each in self.variable_of)}
        if op == "premise":
            sides = premise(self.rng, self.settings.premise_size, symbols, taken)
        else:
            pool = [
                part
                for part in dict.fromkeys(
                    part for step in self.steps for part in elements(step.sides)
                )
                if not part.is_Symbol and part.free_symbols
            ]
            sides = (
                definition(self.rng, self.rng.choice(pool), {*taken, *symbols}) if pool else None
            )
        return None if sides is None else Step(op, (), None, (), *sides)

    def _annotation(
        self,
        arity: int | None = None,
        *,
        op: str | None = None,
        closing: set[int] | None = None,
    ) -> tuple[str, tuple[int, ...], sympy.Expr | None] | None:
        """Draw an operation and its operands; it may turn out to be impossible.

        Parameters
        ----------
        op
            The operator; None to draw it, too.
        closing
            The steps that it has to refer to, among others perhaps.
        """
        op = op or self._operator(arity)
        refs: tuple[int, ...]
        if op in SUBSTITUTIONS:
            pairs = _pairs(op, tuple(step.sides for step in self.steps))
            refs = self.rng.choice(pairs) if pairs else ()
        else:
            cumulative = _recency(len(self.steps), self.settings.history)
            refs = tuple(self.rng.choices(range(1, len(self.steps) + 1), cum_weights=cumulative))
        if not refs or (closing is not None and not closing <= set(refs)):
            return None
        return op, refs, self._operand(op, refs[0])

    def _operator(self, arity: int | None) -> str:
        weights, rng = self.settings, self.rng
        if arity is None:
            arity = rng.choices((1, 2), (weights.unary, weights.binary))[0]
        if arity == 1:
            evaluation = weights.evaluation
            return rng.choices(_UNARY, (*[1] * (len(_UNARY) - 2), evaluation, evaluation))[0]
        pair = weights.substitution if len(self.steps) > 1 else 0
        calculus = weights.calculus
        return rng.choices(_BINARY, (*[1] * len(ARITHMETIC), calculus, calculus, pair, pair))[0]

    def _operand(self, op: str, ref: int) -> sympy.Expr | None:
        sides = self.steps[ref - 1].sides
        if op in CALCULUS:
            pool = [part for part in elements(sides) if part.is_Symbol]
        elif op == "power":
            pool = [part for part in elements(sides) if part.is_Symbol or part.is_Integer]
        elif op in ARITHMETIC:
            pool = _operands(tuple(step.sides for step in self.steps))
        else:
            return None
        return self.rng.choice(pool) if pool else None

    def _applied(self, op: str, refs: tuple[int, ...], operand: sympy.Expr | None) -> Step | None:
        """Apply an operation; None where that is not possible, or would not be true."""
        equations = [step.sides for step in self.steps]
        if (op in ARITHMETIC or op in CALCULUS) and operand is None:
            return None
        if not self._keeps_truth(op, refs, operand):
            return None
        constants: tuple[tuple[sympy.Expr, sympy.Symbol], ...] = ()
        if op == "evaluate_integrals":
            named = self._constants(equations[refs[0] - 1])
            if not named:
                return None
            constants = tuple(named.items())
        sides = apply(op, equations, refs, operand, dict(constants))
        return Step(op, refs, operand, constants, *sides)

    def _constants(self, sides: Sides) -> dict[sympy.Expr, sympy.Symbol]:
        """Draw a letter for each integral that is not used so far."""
        integrals = fresh_integrals(sides)
        taken = set(names(part for step in self.steps for part in step.sides))
        free = [letter for letter in LETTERS if letter not in taken]
        if len(integrals) > len(free):
            return {}
        return dict(zip(integrals, map(symbol, self.rng.sample(free, len(integrals))), strict=True))

    def _keeps_truth(self, op: str, refs: tuple[int, ...], operand: sympy.Expr | None) -> bool:
        """Whether an operation gives no falsehood of those that are known to."""
        sides = self.steps[refs[0] - 1].sides
        if op in ARITHMETIC:
            zero_to_power = op == "power" and sympy.S.Zero in sides
            return not (zero_to_power or (op == "divide" and self._vanishes(operand)))
        if op in CALCULUS:
            own = {each for each in elements(sides) if each in self.variable_of}
            return operand not in self.variable_of and all(
                self.variable_of[each] == operand for each in own
            )
        if op == "evaluate_integrals":
            return refs[0] not in self._integrated and not _under_other_derivative(sides)
        if op in SUBSTITUTIONS:
            other = self.steps[refs[1] - 1].sides
            old, new = other if op == "substitute_LHS_for_RHS" else mirrored(other)
            bound = _bound(sides)
            if old.is_Symbol and old in bound:
                return False
            return all(
                bound <= {self.variable_of[each]}
                for each in new.free_symbols
                if each in self.variable_of
            )
        return True

    def _vanishes(self, operand: Any) -> bool:
        """Whether a step says that an operand, or a factor of it, is 0."""
        differences = {step.lhs - step.rhs for step in self.steps}
        return any(
            part in differences or -part in differences
            for factor in (operand, *operand.args * operand.is_Mul)
            for part in (factor, *factor.args[:1] * factor.is_Pow)
        )


@lru_cache(maxsize=20_000)
def _pairs(op: str, equations: tuple[Sides, ...]) -> tuple[tuple[int, int], ...]:
    """Return all pairs of equations such that a side of the second occurs in the first."""
    pairs = []
    for m, other in enumerate(equations, 1):
        if other.lhs in _TRIVIAL or other.rhs in _TRIVIAL:
            continue
        old = other.lhs if op == "substitute_LHS_for_RHS" else other.rhs
        pairs += [
            (n, m) for n, sides in enumerate(equations, 1) if n != m and old in elements(sides)
        ]
    return tuple(pairs)


@lru_cache(maxsize=20_000)
def _operands(equations: tuple[Sides, ...]) -> list[sympy.Expr]:
    """Return what may be added, subtracted, multiplied or divided by: all parts but integers."""
    found = dict.fromkeys(part for sides in equations for part in elements(sides))
    return [part for part in found if not part.is_Integer]


@lru_cache(maxsize=200)
def _recency(count: int, history: int) -> list[float]:
    """Accumulate the weights of `count` equations, of which the last is the newest."""
    return list(accumulate(1 + max(0, history - 1 - r) ** 3 for r in reversed(range(count))))


@lru_cache(maxsize=20_000)
def _bound(sides: Sides) -> set[sympy.Symbol]:
    """Return all variables of derivatives and integrals in an equation."""
    return {
        variable
        for part in elements(sides)
        if isinstance(part, sympy.Derivative | sympy.Integral)
        for variable in (
            part.variables
            if isinstance(part, sympy.Derivative)
            else [limit[0] for limit in part.limits]
        )
    }


def _under_other_derivative(sides: Sides) -> bool:
    """Whether an integral is in a derivative by another variable than its own."""
    for part in elements(sides):
        if isinstance(part, sympy.Derivative) and part.has(sympy.Integral):
            within = {limit[0] for each in part.atoms(sympy.Integral) for limit in each.limits}
            if within != set(part.variables):
                return True
    return False


def _differ(first_step: Step, other: Step) -> bool:
    """Whether two equations differ, also with sides swapped and derivatives worked out."""
    if first_step.annotation == other.annotation:
        return False
    if first_step.sides in {other.sides, mirrored(other.sides)}:
        return False
    first, second = (
        apply("evaluate_derivatives", [each.sides], (1,)) for each in (first_step, other)
    )
    return first not in {second, mirrored(second)}


_TRIVIAL = (sympy.S.Zero, sympy.S.One)


_FUNCTIONS, _ARITHMETIC = tuple(FUNCTIONS), tuple(ARITHMETIC)
_PREMISE_BINARY = (*_ARITHMETIC, *CALCULUS)


def symbols_of(expr: sympy.Expr) -> list[sympy.Symbol]:
    """Return the free symbols by name: the order of a set is another one in every process."""
    return sorted(expr.free_symbols, key=lambda each: str(each.name))


def expression(
    rng: Random, letters: list[str], most: int, *, binary: tuple[str, ...] = _PREMISE_BINARY
) -> Any:
    """Draw an expression: one operator on letters, and fewer than `most` further ones on it.

    Parameters
    ----------
    letters
        What is drawn from.
    binary
        The operators with an operand.
    """
    if rng.random() < 0.5:  # noqa: PLR2004 - one argument or two
        expr = FUNCTIONS[rng.choice(_FUNCTIONS)](symbol(rng.choice(letters)))
    else:
        first, second = map(symbol, rng.sample(letters, 2))
        expr = ARITHMETIC[rng.choice(_ARITHMETIC)](first, second)
    for _ in range(rng.randrange(most)):
        if rng.random() < 0.5:  # noqa: PLR2004 - likewise
            expr = FUNCTIONS[rng.choice(_FUNCTIONS)](expr)
            continue
        op = rng.choice(binary)
        if op in ARITHMETIC:
            expr = ARITHMETIC[op](expr, symbol(rng.choice(letters)))
        elif own := symbols_of(expr):
            expr = CALCULUS[op](expr, rng.choice(own))
    return expr


def definition(rng: Random, body: sympy.Expr, taken: Collection[str]) -> Sides | None:
    """Make a function of all symbols of an expression, called by a letter that is not taken."""
    arguments = symbols_of(body)
    free = [letter for letter in LETTERS if letter not in taken]
    if not arguments or not free:
        return None
    return Sides(function(rng.choice(free))(*arguments), body)


def premise(
    rng: Random, most: int, symbols: Collection[str], taken: Collection[str]
) -> Sides | None:
    """Draw a premise; None where what was drawn has no symbol left.

    The function's letter is chosen last, and its arguments are sorted.

    Parameters
    ----------
    most
        M_c: fewer than this many further operators.
    symbols
        The names of symbols so far, which a function may not have.
    taken
        The names of functions and constants so far, which nothing new may have.
    """
    letters = [letter for letter in LETTERS if letter not in taken]
    body = expression(rng, letters, most)
    own = {each.name for each in body.free_symbols}
    return definition(rng, body, {*taken, *symbols, *own})
