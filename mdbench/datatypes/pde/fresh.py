"""Fields newly drawn, which nobody has seen: their grammars, and what is accepted.

They are of one or two states along a periodic axis.  By grammar 2 right-hand sides and numbers of
states have the shares that were counted in MDBench's fields and those of textbooks
(`mdbench.datatypes.equations.counted`); by grammar 1 terms are chosen from a list.  A field is
drawn by the seed, its number and how often it was tried, and by nothing else.
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
    plain,
    repeats,
    shares_of,
    terms_of,
)
from mdbench.datatypes.equations.files import fresh_number
from mdbench.datatypes.pde.generators import make_fields
from mdbench.datatypes.pde.solvers.spectral import derivatives_along
from mdbench.datatypes.pde.systems import Nodes, PdeSystem, derivative_names
from mdbench.errors import DataError, EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NODES, TIMES = 128, 81
LENGTHS, ENDS = (8.0, 12.0, 16.0, 20.0), (2.0, 4.0, 8.0)
"""Periods of the axis, and last times."""
_TWO = 0.25
"""The share of fields with two states."""
_WAVES = 3
"""Waves in the first state, from the longest on."""
SUBSTEPS = 20
_BOUND, _MOVES, _LATE = 10.0, 0.2, 0.1
"""States stay below the first and cover the second; the rates of change in the test are, on the
root of the mean square, no smaller a share of all than the third."""
_SHARE, _CONDITION = 0.05, 100.0
"""Each term is at least this share of its equation; and how far terms may resemble each other."""
_FAST = 4.0
"""The shortest time in which a state changes, in steps."""
_TAIL = 1e-9
"""The largest share of the waves in the upper third, so that the grid resolves the field."""
_SAME = 1e-7
"""The largest change when the solver's steps are halved, over the largest value."""
_MOST_TRIES, _MOST_COUNTED = 3_000, 30_000
"""Fields that are tried, by grammar 1 and 2."""


def fresh_fields(
    seed: str, count: int, known: Iterable[PdeSystem], grammar: int
) -> Iterator[tuple[str, str]]:
    """Draw fields; yield the name and the text of the file of each.

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
    # Derivatives count as variables that may change places: that takes more structures for known.
    taken = structures((one.truth, _names(one)) for one in known)
    tries = _counted(seed, count) if grammar > 1 else _listed(seed, count)
    for number, systems in enumerate(tries, 1):
        for system in systems:
            try:
                shape = structure(system.truth, _names(system))
                if shape not in taken and _is_acceptable(system, multiplied_out=grammar > 1):
                    taken.add(shape)
                    yield system.name, _text(system, seed, number)
                    break
            except EquationError:
                continue
        else:
            raise DataError(f"Of all fields drawn none could be taken as {number}.")


def _counted(seed: str, count: int) -> Iterator[Iterator[PdeSystem]]:
    """Yield the fields to be tried for each number, by grammar 2."""
    grammar = Grammar.of("field")

    def tries(number: int, dim: int) -> Iterator[PdeSystem]:
        for attempt in range(_MOST_COUNTED):
            generator = generator_of("fresh pde 2", seed, number, attempt)
            system = _draw_counted(generator, grammar, f"fresh-{seed}-{number:03}", dim)
            if _is_coupled(system) and not any(map(repeats, system.truth)):
                yield system

    for number, dim in enumerate(by_quota(shares_of("field", "states"), count), 1):
        yield tries(number, int(dim))


def _listed(seed: str, count: int) -> Iterator[Iterator[PdeSystem]]:
    """Yield the fields to be tried for each number, by grammar 1."""

    def tries(number: int) -> Iterator[PdeSystem]:
        for attempt in range(_MOST_TRIES):
            generator = generator_of("fresh pde", seed, number, attempt)
            yield _draw(generator, f"fresh-{seed}-{number:03}")

    return (tries(number) for number in range(1, count + 1))


def _names(system: PdeSystem) -> list[str]:
    variables = tuple(system.variables)
    return [*variables, *derivative_names(variables, tuple(system.axes)), *system.explicit]


def _draw(generator: np.random.Generator, name: str) -> PdeSystem:
    """Draw equations, the axis, the times and the first state."""
    dim = 2 if generator.random() < _TWO else 1
    states = [f"u{i}" for i in range(dim)]
    equations = {f"{u}_t": _equation(generator, u, states) for u in states}
    return _field(generator, name, equations)


def _draw_counted(
    generator: np.random.Generator, grammar: Grammar, name: str, dim: int
) -> PdeSystem:
    """Draw equations by counts, the axis, the times and the first state."""
    states = [f"u{i}" for i in range(dim)]

    def leaf(own: str, counted: str) -> str:
        whose, _, axes = counted.removeprefix("@").partition("_")
        others = [each for each in states if each != own] or [own]
        state = own if whose == "own" else others[0]
        return f"{state}{'_' * bool(axes)}{axes}"

    equations = {f"{u}_t": plain(grammar.draw(generator, partial(leaf, u))) for u in states}
    return _field(generator, name, equations)


def _is_coupled(system: PdeSystem) -> bool:
    """Whether of two states one at least stands in the other's equation."""
    others = zip(reversed(tuple(system.variables)), system.truth, strict=True)
    return system.dim == 1 or any(other in text for other, text in others)


def _field(generator: np.random.Generator, name: str, equations: dict[str, str]) -> PdeSystem:
    """Draw the axis, the times and the first state of a field."""
    states = [target.removesuffix("_t") for target in equations]
    length, end = float(generator.choice(LENGTHS)), float(generator.choice(ENDS))
    settings = {"substeps": float(SUBSTEPS)}
    for u in states:
        settings[f"{u}_mean"] = float(fresh_number(generator, 0.05, 1.5))
        for wave in range(1, _WAVES + 1):
            settings[f"{u}_height_{wave}"] = float(fresh_number(generator, 0.05, 1.5 / wave))
            settings[f"{u}_phase_{wave}"] = float(fresh_number(generator, 0.1, 6.0))
    return PdeSystem(
        *(name, name, name, name, name, "", "periodic", (), ()),
        variables=dict.fromkeys(states, "state"),
        equations=equations,
        unseen=(),
        constants={},
        explicit=(),
        axes={"x": Nodes(0.0, length * (1 - 1 / NODES), NODES, length)},
        times=Nodes(0.0, end, TIMES),
        generator="periodic",
        made_with=name,
        settings=settings,
    )


def _equation(generator: np.random.Generator, u: str, states: list[str]) -> str:
    """Draw an equation: a term that keeps it smooth, and one to three others."""
    smooth = str(generator.choice([f"{u}_xx", f"{u}_xx", f"{u}_xx", f"{u}_xxxx", f"{u}_xxx"]))
    kinds = [
        *(f"{u} * {u}_x", f"{u} * {u}_x", f"{u}_x", f"{u}_xxx", u, f"{u}**2", f"{u}**3", f"{u}**3"),
        *(f"{u}**2 * {u}_x", f"{u}_x**2", f"{u} * {u}_xx", f"sin({u})", f"cos({u})", ""),
    ]
    if len(states) > 1:
        (other,) = (each for each in states if each != u)
        kinds += [other, f"{u} * {other}", f"{u} * {other}**2", f"{u}**2 * {other}"]
        kinds += [f"{other}_x", f"{u} * {other}_x", f"{other} * {u}_x"]
    count = int(generator.choice([1, 2, 3], p=[0.35, 0.45, 0.2]))
    chosen = [str(each) for each in generator.choice(kinds, count, replace=False)]
    terms = list(dict.fromkeys([smooth, *chosen]))
    damped = {f"{u}_xx": "+", f"{u}_xxxx": "-", f"{u}**3": "-"}
    parts = []
    for term in terms:
        sign = damped.get(term) or str(generator.choice(["+", "-"]))
        least, most = (0.01, 0.5) if "xxx" in term else (0.05, 2.0)
        parts.append(f"{sign} {fresh_number(generator, least, most)}{f' * {term}' * bool(term)}")
    return " ".join(parts).removeprefix("+ ")


def _is_acceptable(system: PdeSystem, *, multiplied_out: bool) -> bool:
    """Whether a field is bounded, resolved, moves in the test, and shows each of its terms."""
    try:
        u, du = _solved(system)
        if not (np.isfinite(u).all() and np.isfinite(du).all() and np.abs(u).max() <= _BOUND):
            return False
    except (DataError, FloatingPointError):
        return False
    waves = np.abs(np.fft.rfft(u, axis=1))
    if waves[:, -NODES // 6 :].max() > _TAIL * waves.max():
        return False
    step = system.times.step
    for state, rate in zip(u, du, strict=True):
        test = rate[:, split_chronologically(TIMES).test]
        if (
            np.ptp(state) < _MOVES
            or _size(test) < _LATE * _size(rate)
            or np.std(state) < _FAST * step * np.std(rate)
        ):
            return False
    for text, rate in zip(system.truth, du, strict=True):
        parts = terms_of(text, _names(system)) if multiplied_out else _parts(text)
        if not _shows_each_term(system, parts, u, rate):
            return False
    finer = replace(system, settings={**system.settings, "substeps": 2.0 * SUBSTEPS})
    return bool(np.abs(_solved(finer)[0] - u).max() <= _SAME * np.abs(u).max())


def _solved(system: PdeSystem) -> tuple[Array, Array]:
    """Return states and rates, (states, nodes, times)."""
    with np.errstate(all="ignore"):
        made = make_fields(system, {system.name: system}, released=False, progress=lambda _: None)
    field = made[system.name]
    assert field.du is not None  # noqa: S101 - the generator knows it
    return tuple(np.moveaxis(each, -1, 0) for each in (field.u, field.du))  # type: ignore[return-value]


def _parts(text: str) -> list[str]:
    """Return the terms of an equation of grammar 1, as they are written."""
    text = f" {text.removeprefix('-').strip()}"
    return [each.strip() for each in re.split(r" [+-] ", text) if each]


def _shows_each_term(system: PdeSystem, parts: list[str], u: Array, rate: Array) -> bool:
    """Whether each term is, before the test, a part that the others cannot replace."""
    before = split_chronologically(TIMES).refit
    period = system.axes["x"].period or 1.0
    columns = {
        f"u{i}{'_' * bool(order)}{'x' * order}": derivatives_along(state.T, period, order).T
        for i, state in enumerate(u)
        for order in range(5)
    }
    columns = {name: np.ascontiguousarray(each[:, before]) for name, each in columns.items()}
    flat = {name: each.ravel() for name, each in columns.items()}
    terms = np.stack(
        [np.broadcast_to(parse(p, flat).evaluate(flat), flat["u0"].shape) for p in parts],
        axis=-1,
    )
    sizes = np.sqrt(np.mean(terms**2, axis=0))
    if not np.isfinite(terms).all() or sizes.min() < _SHARE * _size(rate[:, before]):
        return False
    return bool(np.linalg.cond(terms / sizes) < _CONDITION)


def _size(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _text(system: PdeSystem, seed: str, number: int) -> str:
    """Write a field's file."""
    x, t = system.axes["x"], system.times
    lines = [
        f'id = "F{number}"',
        f'title = "Fresh field {number}"',
        f'description = "A field of {system.dim} that was drawn"',
        f'source = "mdbench lab fresh --seed {seed}"',
        'generator = "periodic"',
        f'initial = "a mean and {_WAVES} waves for each state, in [solver]"',
        'boundary = "periodic"',
        *("", "[variables]"),
        *(f'{state} = "state {i}"' for i, state in enumerate(system.variables)),
        *("", "[equations]"),
        *(f'{target} = "{text}"' for target, text in system.equations.items()),
        *("", "[grid]"),
        _axis("x", x),
        _axis("t", t),
        *("", "[solver]"),
        *(f"{name} = {value:g}" for name, value in system.settings.items()),
    ]
    return "\n".join(lines) + "\n"


def _axis(name: str, nodes: Nodes) -> str:
    period = "" if nodes.period is None else f", period = {nodes.period!r}"
    ends = f"first = {nodes.first!r}, last = {nodes.last!r}"
    return f"{name} = {{ {ends}, nodes = {nodes.count}{period} }}"
