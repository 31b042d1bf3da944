"""Systems newly drawn, which nobody has seen: their grammars, and what is accepted.

By grammar 2 equations, their numbers and starts have the shares that were counted in suites and
outside lists (`mdbench.datatypes.equations.counted`).  Each number of equations has its quota of
what is taken.  By grammar 1 terms are chosen from lists, with sizes and forms drawn by the shares
of ODEBench's 63 systems: fewer are taken where fewer pass.  A system is drawn by the seed, its
number and how often it was tried, and by nothing else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eqverdict import parse
from eqverdict.structure import structure, structures
from mdbench.data.noise import generator_of
from mdbench.data.trajectory import split_chronologically
from mdbench.datatypes.equations.counted import (
    Grammar,
    by_quota,
    of_half_decade,
    picked,
    plain,
    repeats,
    shares_of,
    terms_of,
)
from mdbench.datatypes.equations.files import FUNCTIONS, fresh_number
from mdbench.datatypes.ode.simulation import compiled
from mdbench.datatypes.ode.systems import ARRANGED, T_END, OdeSystem, integrate
from mdbench.errors import DataError, EquationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIZES = {1: 23, 2: 28, 3: 10, 4: 2}
"""Equations of the 63 systems of ODEBench."""
FORMS = {"polynomial": 37, "trigonometric": 11, "rational": 9, "exponential": 5, "other": 1}
"""Their forms; see `mdbench.datatypes.ode.systems.FORMS`."""
_TERMS = ((1, 2, 3, 4), (0.25, 0.4, 0.25, 0.1))
"""How many terms an equation has, and how often."""
_BOUND, _MOVES, _LATE = 50.0, 0.2, 0.02
"""States stay below the first; each covers the second, and in the test the third."""
_SHARE, _CONDITION = 0.02, 300.0
"""Each term is at least this share of its equation; and how far terms may resemble each other."""
_EVALUATIONS = 20_000
"""The most evaluations by which a trajectory has to reach its end."""
_FAST = 2.5
"""The shortest time in which a state changes, in steps."""
_MOST_TRIES, _PATIENCE = 10_000, 400
"""Systems that are tried by grammar 1, and those of one size and form."""
_MOST_COUNTED = 100_000
"""Systems that are tried by grammar 2."""


def fresh_systems(
    seed: str, count: int, known: Iterable[OdeSystem], grammar: int
) -> Iterator[tuple[str, str]]:
    """Draw systems; yield the name and the text of the file of each.

    Parameters
    ----------
    known
        Systems whose structure none of them has.
    grammar
        2, or 1.

    Raises
    ------
    DataError
        If too few can be found.
    """
    taken = structures(((one.truth, list(one.variables)) for one in known), states=True)
    tries = _counted(seed, count) if grammar > 1 else _listed(seed, count)
    for number, systems in enumerate(tries, 1):
        for system in systems:
            if system is None or not _moves(system):
                continue
            try:
                shape = structure(system.truth, list(system.variables), states=True)
                if shape not in taken and all(
                    _is_usable(system, one, multiplied_out=grammar > 1)
                    for one in system.initial_conditions
                ):
                    taken.add(shape)
                    yield system.name, _text(system, seed, number)
                    break
            except EquationError:
                continue
        else:
            raise DataError(f"Of all systems drawn none could be taken as {number}.")


def _counted(seed: str, count: int) -> Iterator[Iterator[OdeSystem | None]]:
    """Yield the systems to be tried for each number, by grammar 2."""
    grammar, starts = Grammar.of("system"), shares_of("system", "starts")

    def tries(number: int, dim: int) -> Iterator[OdeSystem | None]:
        for attempt in range(_MOST_COUNTED):
            generator = generator_of("fresh ode 2", seed, number, attempt)
            yield _draw_counted(generator, grammar, starts, f"fresh-{seed}-{number:03}", dim)

    for number, dim in enumerate(by_quota(shares_of("system", "equations"), count), 1):
        yield tries(number, int(dim))


def _draw_counted(
    generator: np.random.Generator,
    grammar: Grammar,
    shares: Mapping[str, float],
    name: str,
    dim: int,
) -> OdeSystem | None:
    """Draw equations and two starts; None for a state that acts on nothing."""
    states = [f"u{i}" for i in range(dim)]

    def state(own: str, leaf: str) -> str:
        others = [each for each in states if each != own]
        return own if leaf == "@own" or not others else str(generator.choice(others))

    equations = tuple(plain(grammar.draw(generator, partial(state, own))) for own in states)
    if not _all_act(states, equations) or any(map(repeats, equations)):
        return None

    def start() -> tuple[float, ...]:
        drawn = [picked(shares, generator) for _ in states]
        return tuple(float(f"{one[0]}{of_half_decade(int(one[2:]), generator)}") for one in drawn)

    return _system(name, states, equations, (start(), start()))


def _all_act(states: Sequence[str], equations: Sequence[str]) -> bool:
    """Whether each state stands in another equation, and a state in each equation."""
    for i, state in enumerate(states):
        others = [*equations[:i], *equations[i + 1 :]] if len(states) > 1 else equations
        if not re.search(rf"\b{state}\b", " ".join(others)) or "u" not in equations[i]:
            return False
    return True


def _system(
    name: str,
    states: Sequence[str],
    equations: Sequence[str],
    starts: Sequence[tuple[float, ...]],
) -> OdeSystem:
    return OdeSystem(
        name, name, name, name, name, "", dict.fromkeys(states, "state"),
        tuple(equations), {}, tuple(starts),
    )  # fmt: skip


def _listed(seed: str, count: int) -> Iterator[Iterator[OdeSystem | None]]:
    """Yield the systems to be tried for each number, by grammar 1."""

    def tries(number: int) -> Iterator[OdeSystem | None]:
        for attempt in range(_MOST_TRIES):
            # Of some sizes and forms nearly all structures are known.
            kind = generator_of("fresh ode kind", seed, number, attempt // _PATIENCE)
            dim, form = int(_pick(kind, SIZES)), _pick(kind, FORMS)
            generator = generator_of("fresh ode", seed, number, attempt)
            yield _draw(generator, f"fresh-{seed}-{number:03}", dim, form)

    return (tries(number) for number in range(1, count + 1))


def _pick(generator: np.random.Generator, shares: dict[str, int] | dict[int, int]) -> str:
    weights = np.array(list(shares.values()), dtype=float)
    return str(list(shares)[int(generator.choice(len(weights), p=weights / weights.sum()))])


def _draw(generator: np.random.Generator, name: str, dim: int, form: str) -> OdeSystem | None:
    """Draw equations and two starts; None for terms that repeat and states that act on nothing."""
    states = [f"u{i}" for i in range(dim)]
    equations = []
    special = int(generator.integers(dim))
    for i in range(dim):
        terms = []
        count = int(generator.choice(_TERMS[0], p=_TERMS[1])) + (dim == 1)
        for place in range(count):
            odd = form if i == special and place == 0 else "polynomial"
            terms.append(_factor(generator, states, states[i], odd))
        if len(set(terms)) < len(terms):
            return None
        damped = {f"{states[i]}**3", f"{states[i]}"}
        signs = ["-" if generator.random() < (0.8 if t in damped else 0.5) else "+" for t in terms]
        text = " ".join(
            f"{sign} {fresh_number(generator, 0.05, 6.0)}{f' * {term}' if term else ''}"
            for sign, term in zip(signs, terms, strict=True)
        )
        equations.append(text.removeprefix("+ "))
    if not _all_act(states, equations):
        return None
    starts = [tuple(float(fresh_number(generator, 0.1, 4.0)) for _ in states) for _ in range(2)]
    return _system(name, states, equations, starts)


def _factor(generator: np.random.Generator, states: list[str], own: str, form: str) -> str:
    """Draw a term without its coefficient; empty for a constant."""
    first, second = (str(generator.choice(states)) for _ in range(2))
    product = f"{first} * {second}" if first != second else f"{first}**2"
    if form == "polynomial":
        kinds = ["", own, own, first, product, f"{own}**2", product, f"{own}**3"]
        kinds += [
            f"{own}**2 * {first}" if first != own else f"{own}**4",
            f"{first} * {second} * {own}",
        ]
    elif form == "trigonometric":
        rate = fresh_number(generator, 0.5, 3.0)
        between = f"{first} - {second}" if first != second else f"{rate} * {first}"
        kinds = [f"sin({first})", f"cos({first})", f"sin({between})", f"{second} * cos({first})"]
        kinds += [
            f"sin({rate} * {first})",
            f"{own} * sin({between})",
            f"sin({first}) * cos({second})",
        ]
    elif form == "rational":
        half = fresh_number(generator, 0.3, 4.0)
        kinds = [
            *(f"{own} / ({half} + {first})", f"{own}**2 / ({half} + {own}**2)"),
            *(f"{second} * {own} / ({half} + {own}**2)", f"1 / ({half} + {first}**2)"),
            *(f"{own}**3 / ({half} + {first}**3)", f"1 / ({half} + {own} + {first}**2)"),
        ]
    elif form == "exponential":
        rate = fresh_number(generator, 0.2, 2.0)
        kinds = [f"exp(-{first})", f"{own} * exp(-{rate} * {first})", f"exp(-{rate} * {first}**2)"]
        kinds += [f"{second} * exp(-{rate} * {first}**2)", f"{own}**2 * exp(-{rate} * {own})"]
    else:
        kinds = [f"abs({first}) * {own}", f"abs({first})", f"{first} * abs({second})"]
    return str(kinds[int(generator.integers(len(kinds)))]).strip()


def _moves(system: OdeSystem) -> bool:
    """Whether coarse solutions from both starts are bounded and move."""
    rates = compiled(list(system.truth))
    return all(_sketched(rates, start) for start in system.initial_conditions)


def _is_usable(system: OdeSystem, start: Sequence[float], *, multiplied_out: bool = False) -> bool:
    """Whether one clean trajectory is bounded, moves in the test, and shows every term."""
    try:
        # Without the order of operations of the published files, which takes long to find.
        t, u, du = integrate(replace(system, accurate=True), start, evaluations=_EVALUATIONS)
    except DataError:
        return False
    span, test = np.ptp(u, axis=0), split_chronologically(len(t)).test
    slow = np.std(u, axis=0) >= _FAST * (t[1] - t[0]) * np.std(du, axis=0)
    return bool(
        np.abs(u).max() <= _BOUND
        and span.min() >= _MOVES
        and np.ptp(u[test], axis=0).min() >= _LATE * span.max()
        and slow.all()
        and all(
            _shows_each_term(
                terms_of(text, list(system.variables)) if multiplied_out else _parts(text),
                system,
                u,
                du[:, i],
            )
            for i, text in enumerate(system.truth)
        )
    )


def _sketched(rates: Callable[..., list[float]], start: Sequence[float]) -> bool:
    """Whether a coarse solution is bounded and moves, which takes a millisecond.

    It is by Runge and Kutta's classical rule, with steps of 0.05.
    """
    h, state = 0.05, list(start)
    low, high = list(start), list(start)
    try:
        for _ in range(round(T_END / h)):
            a = rates(*state)
            b = rates(*(x + h / 2 * k for x, k in zip(state, a, strict=True)))
            c = rates(*(x + h / 2 * k for x, k in zip(state, b, strict=True)))
            d = rates(*(x + h * k for x, k in zip(state, c, strict=True)))
            steps = zip(state, a, b, c, d, strict=True)
            state = [x + h / 6 * (k + 2 * p + 2 * q + r) for x, k, p, q, r in steps]
            if not all(abs(x) < 2 * _BOUND for x in state):
                return False
            low = [min(pair) for pair in zip(low, state, strict=True)]
            high = [max(pair) for pair in zip(high, state, strict=True)]
    except (ArithmeticError, ValueError, TypeError):
        return False
    return min(b - a for a, b in zip(low, high, strict=True)) > _MOVES / 2


def _parts(text: str) -> list[str]:
    """Return the terms of an equation of grammar 1, as they are written."""
    return [each for each in re.split(r" [+-] (?![^(]*\))", f" {text}") if each.strip()]


def _shows_each_term(parts: list[str], system: OdeSystem, u: Array, du: Array) -> bool:
    """Whether each term is a part of the equation that the others cannot replace."""
    columns = dict(zip(system.variables, u.T, strict=True))
    values = [parse(each, columns).evaluate(columns) for each in parts]
    terms = np.stack(np.broadcast_arrays(*values, u[:, 0]), axis=-1)[..., :-1]
    size = np.sqrt(np.mean(terms**2, axis=0))
    if not np.isfinite(terms).all() or size.min() < _SHARE * np.sqrt(np.mean(du**2)):
        return False
    return bool(np.linalg.cond(terms / size) < _CONDITION)


def _times(system: OdeSystem) -> list[str]:
    """Write the time span of a system whose functions ODEBench's have not, which asks for it."""
    words = {word for text in system.equations for word in re.findall(r"[a-z]+", text)}
    if not words & ({*FUNCTIONS} - ARRANGED):
        return []
    return [f"end = {system.end!r}", f"samples = {system.samples}"]


def _text(system: OdeSystem, seed: str, number: int) -> str:
    """Write a system's file."""
    lines = [
        f'id = "F{number}"',
        f'title = "Fresh system {number}"',
        f'description = "A system of {system.dim} that was drawn"',
        f'source = "mdbench lab fresh --seed {seed}"',
        f"initial_conditions = {[list(start) for start in system.initial_conditions]}",
        *_times(system),
        *("", "[variables]"),
        *(f'{state} = "state {i}"' for i, state in enumerate(system.variables)),
        *("", "[equations]"),
        *(f'{s}_t = "{e}"' for s, e in zip(system.variables, system.equations, strict=True)),
    ]
    return "\n".join(lines) + "\n"
