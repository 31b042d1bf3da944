"""Ten systems of which a first experiment says too little: what the proposed second one decides.

Each has a law, a first experiment that rivals explain as well, and a box of allowed starts.  Run it
as ``python benchmarks/bench_next_experiment.py [seeds]``: it prints a table for docs/estimators.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from eqverdict import parse
from mdbench import datatypes
from mdbench.extensions.estimators.experiments import Fitted, Motion, Run
from mdbench.extensions.estimators.proposals import Setting, alike, propose, settings_in
from mdbench.extensions.estimators.structures import Structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class System(NamedTuple):
    """A law, a first experiment, and what else might explain it."""

    name: str
    states: tuple[str, ...]
    law: tuple[str, ...]
    structures: tuple[tuple[str, ...], ...]
    """Structures with letters; the first one is that of the law."""
    start: tuple[float, ...]
    end: float
    box: tuple[tuple[float, float], ...]
    noise: float


SYSTEMS = (
    System(
        "cooling",
        ("T",),
        ("0.02*(81 - T**4)",),
        (("a - b*T**4",), ("a - b*T",), ("a - b*T**2",)),
        (3.4,),
        3.0,
        ((0.5, 8.0),),
        0.02,
    ),
    System(
        "growth",
        ("n",),
        ("1.2*n*(1 - n/10)",),
        (("a*n - b*n**2",), ("a*n",), ("a*n - b*n*log(n)",), ("a*n - b*n**3",)),
        (0.1,),
        1.5,
        ((0.1, 20.0),),
        0.01,
    ),
    System(
        "pendulum",
        ("q", "v"),
        ("v", "-4*sin(q)"),
        (("v", "-a*sin(q)"), ("v", "-a*q"), ("v", "-a*q + b*q**3")),
        (0.2, 0.0),
        5.0,
        ((-2.5, 2.5), (-1.0, 1.0)),
        0.005,
    ),
    System(
        "drag",
        ("v",),
        ("9.81 - 0.3*v**2",),
        (("g - a*v**2",), ("g - a*v",), ("g - a*v**3",)),
        (5.4,),
        2.0,
        ((0.0, 20.0),),
        0.02,
    ),
    System(
        "enzyme",
        ("s",),
        ("-2*s/(0.5 + s)",),
        (("-a*s/(b + s)",), ("-a*s",), ("-a*s + b*s**2",), ("-a",)),
        (0.1,),
        1.5,
        ((0.01, 5.0),),
        0.002,
    ),
    System(
        "spring",
        ("x", "v"),
        ("v", "-x - 0.8*x**3 - 0.1*v"),
        (("v", "-a*x - b*x**3 - c*v"), ("v", "-a*x - c*v"), ("v", "-a*x - b*x*abs(x) - c*v")),
        (0.2, 0.0),
        8.0,
        ((-2.0, 2.0), (-2.0, 2.0)),
        0.004,
    ),
    System(
        "predators",
        ("p", "h"),
        ("p - 0.6*p*h/(1 + 0.2*p)", "0.4*p*h/(1 + 0.2*p) - 0.8*h"),
        (
            ("a*p - b*p*h/(1 + c*p)", "d*p*h/(1 + c*p) - e*h"),
            ("a*p - b*p*h", "d*p*h - e*h"),
        ),
        (0.6, 1.7),
        2.0,
        ((0.2, 8.0), (0.2, 5.0)),
        0.02,
    ),
    System(
        "epidemic",
        ("s", "i"),
        ("-0.9*s*i/(1 + 2*i)", "0.9*s*i/(1 + 2*i) - 0.3*i"),
        (
            ("-b*s*i/(1 + c*i)", "b*s*i/(1 + c*i) - g*i"),
            ("-b*s*i", "b*s*i - g*i"),
        ),
        (0.99, 0.01),
        4.0,
        ((0.3, 1.0), (0.001, 0.7)),
        0.002,
    ),
    System(
        "reaction",
        ("c",),
        ("-0.7*c**2",),
        (("-a*c**2",), ("-a*c",), ("-a*c**3",), ("-a",)),
        (1.0,),
        0.3,
        ((0.1, 5.0),),
        0.01,
    ),
    System(
        "oscillator",
        ("x", "y"),
        ("y", "1.5*(1 - x**2)*y - x"),
        (("y", "a*(1 - x**2)*y - b*x"), ("y", "a*y - b*x"), ("y", "a*y*(1 - y**2) - b*x")),
        (0.01, 0.0),
        2.0,
        ((-3.0, 3.0), (-3.0, 3.0)),
        0.002,
    ),
)
SAMPLES = 60


def integrate(texts: Sequence[str], t: Array, start: Array, inputs: Array | None) -> Array:
    """Return the states that equations in u0, u1, ... reach."""
    states, _ = datatypes.classes(["ode"])[0].integrate(texts, t, start, inputs, {})
    return np.asarray(states)


def measured(system: System, start: Sequence[float], generator: np.random.Generator) -> Run:
    """Simulate the law by SciPy, and add noise."""
    laws = [parse(text, system.states) for text in system.law]

    def rates(_: float, u: Array) -> list[float]:
        at = {name: np.array([value]) for name, value in zip(system.states, u, strict=True)}
        return [float(np.broadcast_to(law.evaluate(at), 1)[0]) for law in laws]

    t = np.linspace(0, system.end, SAMPLES)
    made = solve_ivp(rates, (0, system.end), start, t_eval=t, rtol=1e-9, atol=1e-11).y.T
    states = made + system.noise * generator.standard_normal(made.shape)
    return Run(dict(zip(system.states, states.T, strict=True)), states, None, t)


def second_experiment(system: System, seed: int) -> tuple[list[float], list[float], float]:
    """Return misfits beyond the law's before and after the proposed experiment, and its separation.

    A misfit below zero is of a rival that is more likely than the law.
    """
    generator = np.random.default_rng(seed)
    names = {name: f"u{place}" for place, name in enumerate(system.states)}

    def reached(texts: Sequence[str], t: Array, start: Array, inputs: Array | None) -> Array:
        internal = [_renamed(text, names) for text in texts]
        return integrate(internal, t, start, inputs)

    first = Motion((measured(system, system.start, generator),), reached)
    structures = [Structure.of(texts, system.states, guessed=True) for texts in system.structures]
    fits = [first.fit(structure) for structure in structures]
    times = np.linspace(0, system.end, SAMPLES)

    def predict(fitted: Fitted, setting: Setting, constants: Array) -> Array:
        values = np.full((len(times), len(system.states)), np.nan)
        start = np.array([setting.point[name] for name in system.states])
        got = reached(fitted.structure.texts(constants), times, start, None)
        values[: len(got)] = got
        return values

    box = dict(zip(system.states, system.box, strict=True))
    settings = settings_in(box, system.states)
    noise = fits[0].noise
    chosen = propose(alike(fits), settings, predict, noise, names=system.states, at=times)
    start = [chosen.setting.point[name] for name in system.states]
    both = replace(first, runs=(*first.runs, measured(system, start, generator)))
    after = [both.fit(structure) for structure in structures]
    return (
        [fitted.misfit - fits[0].misfit for fitted in fits[1:]],
        [fitted.misfit - after[0].misfit for fitted in after[1:]],
        chosen.separation,
    )


def _renamed(text: str, names: dict[str, str]) -> str:
    from mdbench.data.columns import OwnNames  # noqa: PLC0415 - for this alone

    return OwnNames({internal: own for own, internal in names.items()}).internal(text)


def main(seeds: int = 1) -> int:
    """Print the table; return 1 where a rival is chosen after the proposed experiment."""
    print("| system | the nearest rival before | after | apart by, predicted |")
    print("|---|--:|--:|--:|")
    wrong = 0
    for system in SYSTEMS:
        results = [second_experiment(system, seed) for seed in range(seeds)]
        before = min(min(result[0]) for result in results)
        after = min(min(result[1]) for result in results)
        wrong += after <= 0
        apart = min(result[2] for result in results)
        print(f"| {system.name} | {before:.1f} | {after:,.1f} | {apart:.0f} |", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
