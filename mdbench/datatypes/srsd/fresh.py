"""Laws newly drawn, which nobody has seen: their grammars, and what is accepted.

By grammar 2 formulas, numbers of variables and ranges have the shares that were counted in suites
and outside lists (`mdbench.datatypes.equations.counted`).  By grammar 1 they are groups of
variables, with the numbers of variables of the Feynman laws of SRBench.  A law is drawn by the
seed, its number and how often it was tried, and by nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eqverdict import parse
from eqverdict.structure import structure, structures
from mdbench.data.noise import generator_of
from mdbench.datatypes.equations.counted import Grammar, by_quota, drawn, repeats, shares_of
from mdbench.datatypes.equations.files import fresh_number
from mdbench.datatypes.srsd.datasets import ROWS
from mdbench.datatypes.srsd.laws import FormulaProblem, Spread, draw
from mdbench.errors import DataError, EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    _Tries: TypeAlias = Iterator[tuple[str, dict[str, tuple[float, float]], np.random.Generator]]

SIZES = {1: 1, 2: 14, 3: 35, 4: 32, 5: 20, 6: 9, 7: 3, 8: 1, 9: 1}
"""Variables of the 116 laws."""
_RANGES = ((1.0, 5.0), (1.0, 3.0), (0.1, 2.0), (1.0, 10.0), (-2.0, 2.0))
_HOW_OFTEN = (0.5, 0.2, 0.15, 0.05, 0.1)
_ROWS = 400
"""On which a law is looked at before it is taken."""
_MATTERS, _VARIES = 1e-3, 0.05
"""Without a variable at least this share of the variance is lost; and a target's least variation,
its deviation over its mean size."""
_RARE = 15.0
"""The largest target that is taken, in deviations: next to a pole nothing else would count."""
_MOST_TRIES = 3_000


def fresh_laws(
    seed: str, count: int, known: Iterable[FormulaProblem], grammar: int
) -> Iterator[tuple[str, str]]:
    """Draw laws; yield the name and the text of the file of each.

    Parameters
    ----------
    known
        Laws whose structure none of them has.
    grammar
        2, or 1.

    Raises
    ------
    DataError
        If too few can be found.
    """
    taken = structures(([one.law], list(one.spreads)) for one in known)
    tries = _counted(seed, count) if grammar > 1 else _grouped(seed, count)
    for number, laws in enumerate(tries, 1):
        name = f"fresh-{seed}-{number:03}"
        for formula, ranges, generator in laws:
            try:
                if grammar > 1 and not _is_acceptable(formula, ranges, generator):
                    continue  # quicker than the structure of a long formula
                shape = structure([formula], list(ranges))
                if shape in taken:
                    continue
                if grammar > 1:
                    if not _is_even(name, formula, ranges):
                        continue
                elif not _is_acceptable(formula, ranges, generator):
                    continue
            except EquationError:
                continue
            taken.add(shape)
            yield name, _text(formula, ranges, seed, number)
            break
        else:
            raise DataError(f"Of {_MOST_TRIES} laws drawn none could be taken as {number}.")


def _counted(seed: str, count: int) -> Iterator[_Tries]:
    """Yield the laws to be tried for each number, by grammar 2."""
    sizes = by_quota(shares_of("law", "variables"), count)
    grammar, of_ranges = Grammar.of("law"), shares_of("law", "ranges")
    ends = [tuple(map(float, text.split())) for text in of_ranges]

    def tries(number: int, names: list[str]) -> _Tries:
        for attempt in range(_MOST_TRIES):
            generator = generator_of("fresh law 2", seed, number, attempt)
            formula = drawn(grammar, generator, names)
            if formula is not None and not repeats(formula):
                chosen = generator.choice(len(ends), len(names), p=list(of_ranges.values()))
                ranges = {name: ends[int(i)] for name, i in zip(names, chosen, strict=True)}
                yield formula, ranges, generator  # type: ignore[misc]

    for number, size in enumerate(sizes, 1):
        yield tries(number, [f"x{i}" for i in range(int(size))])


def _grouped(seed: str, count: int) -> Iterator[_Tries]:
    """Yield the laws to be tried for each number, by grammar 1."""

    def tries(number: int, names: list[str]) -> _Tries:
        for attempt in range(_MOST_TRIES):
            generator = generator_of("fresh law", seed, number, attempt)
            formula = _formula(generator, names)
            places = generator.choice(len(_RANGES), len(names), p=_HOW_OFTEN)
            yield (
                formula,
                {n: _RANGES[int(i)] for n, i in zip(names, places, strict=True)},
                generator,
            )

    for number in range(1, count + 1):
        kind = generator_of("fresh law kind", seed, number)
        weights = np.array(list(SIZES.values()), dtype=float)
        size = int(kind.choice(list(SIZES), p=weights / weights.sum()))
        yield tries(number, [f"x{i}" for i in range(size)])


def _is_even(name: str, formula: str, ranges: dict[str, tuple[float, float]]) -> bool:
    """Whether no target of all rows that methods and scores see is beyond `_RARE` deviations."""
    spreads = {
        column: Spread("uniform", low, high, "range") for column, (low, high) in ranges.items()
    }
    law = FormulaProblem(name, *("",) * 4, spreads, {}, formula, formula, formula)
    try:
        _, y = draw(law, formula, ROWS)
    except DataError:
        return False
    return bool(np.abs(y - np.mean(y)).max() <= _RARE * np.std(y))


def _formula(generator: np.random.Generator, names: list[str]) -> str:
    """Draw a law: groups of variables that are multiplied or added."""
    unused = [names[i] for i in generator.permutation(len(names))]
    if generator.random() < 0.3:  # noqa: PLR2004 - one variable stands twice in some laws
        unused.append(str(generator.choice(names)))
    groups: list[str] = []
    while unused:
        count = min(len(unused), int(generator.integers(1, 4)))
        groups.append(_group(generator, [unused.pop() for _ in range(count)]))
    text = groups[0]
    for group in groups[1:]:
        sign = str(generator.choice(["*", "*", "/", "+", "-"]))
        text = f"{text}*{group}" if sign == "*" else f"({text} {sign} {group})"
    if generator.random() < 0.35:  # noqa: PLR2004 - 39 of the Feynman laws have a constant
        text = f"{fresh_number(generator, 0.1, 20.0)}*{text}"
    return text


def _group(generator: np.random.Generator, names: list[str]) -> str:
    """Draw a part of a law in some variables."""
    parts = []
    for name in names:
        power = str(generator.choice(["", "", "", "**2", "**3", "**0.5"]))
        parts.append(f"{name}{power}")
    sign = str(generator.choice(["*", "*", "/", "+", "-"]))
    inner = f" {sign} ".join(parts)
    kind = float(generator.random())
    number = fresh_number(generator, 0.1, 4.0)
    shapes = {
        0.55: f"({inner})",
        0.62: f"sin({number}*{inner})" if sign in "*/" else f"sin({inner})",
        0.69: f"cos({inner})",
        0.77: f"exp(-{number}*({inner}))",
        0.85: f"sqrt({number} + ({inner})**2)",
        0.93: f"(1/({number} + ({inner})**2))",
        0.97: f"log({number} + ({inner})**2)",
        1.01: f"tanh({inner})",
    }
    return next(text for most, text in shapes.items() if kind < most)


def _is_acceptable(
    formula: str, ranges: dict[str, tuple[float, float]], generator: np.random.Generator
) -> bool:
    """Whether a law is real everywhere, varies, and depends on each of its variables."""
    columns = {name: generator.uniform(*ends, _ROWS) for name, ends in ranges.items()}
    law = parse(formula, columns)
    y = law.evaluate(columns)
    if not np.isfinite(y).all() or not 1e-6 < np.abs(y).max() < 1e6:  # noqa: PLR2004 - sane sizes
        return False
    variance = float(np.var(y))
    if np.abs(y - np.mean(y)).max() > _RARE * np.sqrt(variance):
        return False
    if np.sqrt(variance) < _VARIES * float(np.mean(np.abs(y))):
        return False
    for name in ranges:
        other = columns | {name: generator.permutation(columns[name])}
        off = law.evaluate(other)
        if not np.isfinite(off).all() or np.mean((off - y) ** 2) < _MATTERS * variance:
            return False
    return True


def _text(formula: str, ranges: dict[str, tuple[float, float]], seed: str, number: int) -> str:
    """Write a law's file."""
    lines = [
        f'id = "F{number}"',
        'set = "fresh"',
        f'title = "Fresh law {number}"',
        f'source = "mdbench lab fresh --seed {seed}"',
        f'formula = "{formula}"',
        *("", "[variables]"),
        *(
            f'{name} = {{ distribution = "uniform", low = {low!r}, high = {high!r}, sign = '
            f'"{"range" if low < 0 else "positive"}" }}'
            for name, (low, high) in ranges.items()
        ),
    ]
    return "\n".join(lines) + "\n"
