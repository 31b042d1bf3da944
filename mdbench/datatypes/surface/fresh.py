"""Surfaces newly drawn, which nobody has seen: their grammar, and what is accepted.

Equations and representations have the shares that were counted in SurfaceBench and in textbooks
(`mdbench.datatypes.equations.counted`); the domain is SurfaceBench's.  A surface is drawn by the
seed, its number and how often it was tried, and by nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eqverdict.structure import structure, structures
from mdbench.data.noise import generator_of
from mdbench.datatypes.equations.counted import Grammar, by_quota, drawn, repeats, shares_of
from mdbench.datatypes.surface.problem import OUTPUTS, TrueSurface
from mdbench.errors import DataError, EquationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

INPUTS = {"explicit": ("x", "y"), "implicit": ("x", "y", "z"), "parametric": ("u", "v")}
ENDS = (-5.0, 5.0)
_ROWS = 20_000
"""Points of the domain on which a surface is looked at, and as many beyond it."""
_FINITE, _MATTERS, _VARIES, _RARE = 0.999, 1e-3, 0.05, 15.0
"""The least share of points with a value; without an input at least this share of the variance is
lost; a target's least deviation over its mean size; and its largest value, in deviations."""
_SIGNS = 0.02
"""The least share of the points on either side of an implicit surface."""
_MOST_TRIES = 20_000


def fresh_surfaces(
    seed: str, count: int, known: Iterable[TrueSurface]
) -> Iterator[tuple[str, str]]:
    """Draw surfaces; yield the name and the text of the file of each.

    Parameters
    ----------
    known
        Surfaces whose structure none of them has.

    Raises
    ------
    DataError
        If too few can be found.
    """
    taken = structures((one.truth, list(one.inputs)) for one in known)
    grammar = Grammar.of("surface")
    kinds = by_quota(shares_of("surface", "representation"), count)
    for number, representation in enumerate(kinds, 1):
        name = f"fresh-{seed}-{number:03}"
        for attempt in range(_MOST_TRIES):
            generator = generator_of("fresh surface", seed, number, attempt)
            surface = _draw(generator, grammar, name, representation)
            try:
                if surface is None or not _is_acceptable(surface, generator):
                    continue
                shape = structure(surface.truth, list(surface.inputs))
            except EquationError:
                continue
            if shape not in taken:
                taken.add(shape)
                yield name, _text(surface, seed)
                break
        else:
            raise DataError(f"Of {_MOST_TRIES} surfaces drawn none could be taken as {number}.")


def _draw(
    generator: np.random.Generator, grammar: Grammar, name: str, representation: str
) -> TrueSurface | None:
    """Draw the equations; None where an input stands in none, or a part repeats."""
    inputs = INPUTS[representation]
    texts = []
    for _ in OUTPUTS[representation]:
        # Each of three maps may be of one of the two parameters, as those of most surfaces are.
        names = list(inputs)
        if representation == "parametric" and generator.random() < 0.5:  # noqa: PLR2004 - half
            names = [str(generator.choice(inputs))]
        text = drawn(grammar, generator, names)
        if text is None or repeats(text):
            return None
        texts.append(text)
    if any(all(name not in text for text in texts) for name in inputs):
        return None
    ends = (ENDS,) * len(inputs)
    return TrueSurface(name, "fresh", "", representation, inputs, tuple(texts), tuple(texts), ends)


def _is_acceptable(surface: TrueSurface, generator: np.random.Generator) -> bool:
    """Whether a surface is real on its domain, varies, and depends on each of its inputs."""
    x = generator.uniform(*ENDS, (_ROWS, len(surface.inputs)))
    y = surface.values(x)
    finite = np.isfinite(y).all(axis=-1)
    if finite.mean() < _FINITE or np.abs(y[finite]).max() > 1e6:  # noqa: PLR2004 - sane sizes
        return False
    x, y = x[finite], y[finite]
    if surface.representation == "implicit":
        inside = float(np.mean(y < 0))
        if not _SIGNS <= inside <= 1 - _SIGNS:
            return False
    deviation = np.std(y, axis=0)
    far = np.abs(y - y.mean(axis=0)).max(axis=0)
    if (far > _RARE * deviation).any() or (deviation < _VARIES * np.abs(y).mean(axis=0)).any():
        return False
    for i in range(len(surface.inputs)):
        other = x.copy()
        other[:, i] = generator.permutation(other[:, i])
        lost = np.nanmean((surface.values(other) - y) ** 2, axis=0) / deviation**2
        if not lost.max() >= _MATTERS:
            return False
    return True


def _text(surface: TrueSurface, seed: str) -> str:
    """Write a surface's file."""
    outputs = OUTPUTS[surface.representation]
    lines = [
        'category = "Fresh Surfaces"',
        f'representation = "{surface.representation}"',
        f'source = "mdbench lab fresh --seed {seed}"',
        "inputs = [" + ", ".join(f'"{name}"' for name in surface.inputs) + "]",
        *("", "[expressions]"),
        *(f'{name} = "{text}"' for name, text in zip(outputs, surface.truth, strict=True)),
        *("", "[domain]"),
        *(f"{name} = [{ENDS[0]}, {ENDS[1]}]" for name in surface.inputs),
    ]
    return "\n".join(lines) + "\n"
