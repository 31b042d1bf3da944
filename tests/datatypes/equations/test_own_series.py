"""Tiny series and tables of many fields: the words and marks that each gets, and no others.

Each healthy one is made by a law that is known: no warning may appear, and the law itself gets no
mark.  Each other one has a trouble, or a wrong answer, that has to be named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from own_data import integrated, table, task_of
from sweeps import sampled

from mdbench.data.smoothing import curves_between
from mdbench.datatypes.base import Answer
from mdbench.datatypes.equations.data_warnings import of_states
from mdbench.metrics.spec import CONSTANT, FORM, PARTLY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MARKS = {CONSTANT, PARTLY, FORM}


def noisy(u: Array, share: float, seed: int = 0) -> Array:
    """Add noise of a share of each column's deviation."""
    normal = np.random.default_rng(seed).standard_normal(u.shape)
    return np.asarray(u + share * np.std(u, axis=0) * normal)


def driven(slope: Callable[[Any, float], float], start: float, t: Array, v: Array) -> Array:
    """Integrate a rate with an input that is held from sample to sample, exactly at the steps."""
    u = [start]
    for k, now in enumerate(v[:-1].tolist()):

        def rate(_: float, x: Any, now: float = now) -> list[float]:
            return [slope(x[0], now)]

        u.append(float(integrated(rate, [u[-1]], t[k : k + 2])[-1, 0]))
    return np.array(u)


@dataclass(frozen=True)
class Series:
    """A series, the law that made it, and an answer that is wrong.

    Attributes
    ----------
    columns
        By name, the time first.
    law
        The right-hand sides in u0, u1, ... and v0, ...; none where nothing is asked about it.
    says
        Words of the warnings that have to appear; none may where it is empty.
    wrong
        An answer that has to be marked, and with which word.
    """

    columns: Mapping[str, Array]
    law: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    mark: str = PARTLY
    options: Mapping[str, Any] = field(default_factory=dict)


def of(t: Array, u: Array, *names: str, **more: Any) -> Series:
    """Return a series of states (n, d)."""
    return Series({"t": t, **dict(zip(names, np.asarray(u).T, strict=True))}, **more)


def line(last: float, n: int = 121) -> Array:
    """Return times from 0 on."""
    return np.linspace(0.0, last, n)


def pendulum() -> Series:
    t = line(10)
    u = integrated(lambda _, x: [x[1], -4 * np.sin(x[0]) - 0.2 * x[1]], [1.5, 0], t)
    return of(t, u, "angle", "speed", law=("u1", "-4*sin(u0) - 0.2*u1"))


def pendulum_with_noise() -> Series:
    t = line(10, 201)
    u = integrated(lambda _, x: [x[1], -4 * np.sin(x[0]) - 0.2 * x[1]], [1.5, 0], t)
    return of(t, noisy(u, 0.01), "angle", "speed", law=("u1", "-4*sin(u0) - 0.2*u1"))


def falling_drop() -> Series:
    t = line(3)
    u = integrated(lambda _, x: [9.81 - 0.8 * x[0] ** 2], [0.0], t)
    return of(t, u, "speed", law=("9.81 - 0.8*u0**2",), wrong=("0",), mark=CONSTANT)


def leaking_tank() -> Series:
    t = line(20)
    u = integrated(lambda _, x: [-0.1 * np.sqrt(x[0])], [2.0], t)
    return of(t, u, "level", law=("-0.1*sqrt(u0)",))


def resonant_circuit() -> Series:
    t = line(12, 181)
    u = integrated(lambda _, x: [x[1] / 0.5, (-x[0] - 0.1 * x[1]) / 0.8], [1.0, 0], t)
    return of(t, u, "charge", "flux", law=("u1/0.5", "(-u0 - 0.1*u1)/0.8"))


def orbit() -> Series:
    t = line(9, 181)

    def slope(_: float, x: Any) -> list[Any]:
        r = (x[0] ** 2 + x[1] ** 2) ** 1.5
        return [x[2], x[3], -x[0] / r, -x[1] / r]

    return of(
        *(t, integrated(slope, [1, 0, 0, 1.1], t), "x", "y", "vx", "vy"),
        law=("u2", "u3", "-u0/(u0**2 + u1**2)**1.5", "-u1/(u0**2 + u1**2)**1.5"),
    )


def nerve() -> Series:
    t = line(60, 301)
    law = lambda _, x: [x[0] - x[0] ** 3 / 3 - x[1] + 0.5, 0.08 * (x[0] + 0.7 - 0.8 * x[1])]  # noqa: E731
    laws = ("u0 - u0**3/3 - u1 + 0.5", "0.08*(u0 + 0.7 - 0.8*u1)")
    return of(t, integrated(law, [-1, 1], t), "v", "w", law=laws)


def laser() -> Series:
    t = line(15, 181)
    u = integrated(lambda _, x: [2 - x[0] - x[0] * x[1], 3 * (x[0] - 1) * x[1]], [0.5, 0.05], t)
    return of(t, u, "gain", "light", law=("2 - u0 - u0*u1", "3*(u0 - 1)*u1"))


def capital() -> Series:
    t = line(60)
    u = integrated(lambda _, x: [0.3 * x[0] ** 0.4 - 0.08 * x[0]], [0.5], t)
    return of(t, u, "capital", law=("0.3*u0**0.4 - 0.08*u0",), wrong=("0.08",))


def tumour() -> Series:
    t = line(25)
    u = integrated(lambda _, x: [0.3 * x[0] * np.log(8 / x[0])], [0.2], t)
    return of(t, noisy(u, 0.01), "volume", law=("0.3*u0*log(8/u0)",), wrong=("0.1*u0",))


def allele() -> Series:
    t = line(80)
    u = integrated(lambda _, x: [0.15 * x[0] * (1 - x[0])], [0.01], t)
    return of(t, u, "p", law=("0.15*u0*(1 - u0)",), wrong=("0.15*(1 - u0)",))


def decay_chain() -> Series:
    t = line(12)
    u = integrated(lambda _, x: [-0.7 * x[0], 0.7 * x[0] - 0.2 * x[1]], [1, 0], t)
    return of(
        *(t, u, "parent", "daughter"),
        law=("-0.7*u0", "0.7*u0 - 0.2*u1"),
        wrong=("-0.7*u0", "-0.2*u1"),
    )


def rigid_body() -> Series:
    t = line(20, 201)
    law = lambda _, x: [-0.5 * x[1] * x[2], 0.8 * x[0] * x[2], -0.3 * x[0] * x[1]]  # noqa: E731
    laws = ("-0.5*u1*u2", "0.8*u0*u2", "-0.3*u0*u1")
    return of(t, integrated(law, [1, 0.2, 1], t), "a", "b", "c", law=laws)


def convection() -> Series:
    t = line(12, 1201)

    def slope(_: float, x: Any) -> list[Any]:
        return [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]

    u = integrated(slope, [-8, 8, 27], t)
    return of(
        *(t, u, "x", "y", "z"),
        law=("10*(u1 - u0)", "u0*(28.01 - u2) - u1", "u0*u1 - 2.666*u2"),
        wrong=("10*(u1 - u0)", "-u1", "-2.67*u2"),
    )


def languages() -> Series:
    t = line(30)
    u = integrated(lambda _, x: [(1 - x[0]) * x[0] * (0.6 * x[0] - 0.2)], [0.45], t)
    return of(t, u, "share", law=("(1 - u0)*u0*(0.6*u0 - 0.2)",))


def rounded_ramp() -> Series:
    t = line(20)
    u = 5 * (1 - np.exp(-t[:, None] / 4))
    return of(t, np.round(u, 2), "voltage", law=("(5 - u0)/4",))


def rounded_wave() -> Series:
    t = line(12, 181)
    u = integrated(lambda _, x: [x[1], -x[0]], [1, 0], t)
    return of(t, np.round(u, 2), "x", "v", law=("u1", "-u0"))


def at_rest_then_kicked() -> Series:
    t = line(20, 161)
    v = np.where(t < 5, 0.0, np.sin(t - 5))
    u = np.concatenate(
        [
            np.zeros((40, 2)),
            integrated(
                lambda now, x: [x[1], -3 * x[0] - 0.3 * x[1] + np.sin(now - 5)], [0, 0], t[40:]
            ),
        ]
    )
    return Series(
        {"t": t, "x": u[:, 0], "v": u[:, 1], "force": v},
        law=("u1", "-3*u0 - 0.3*u1 + v0"),
        options={"inputs": ["force"]},
    )


def oven() -> Series:
    t = line(40, 161)
    v = (t // 8) % 2 * 0.6
    u = driven(lambda x, now: -0.2 * (x - 20) + 30 * now, 25, t, v)
    return Series(
        {"t": t, "T": u, "power": v},
        law=("4 - 0.2*u0 + 30*v0",),
        wrong=("4 - 0.2*u0 + 30*(exp(v0) - 1)/1.37",),
        mark=FORM,
        options={"inputs": ["power"], "hold": "zero"},
    )


def motor() -> Series:
    t = line(30, 151)
    v = np.array([0.0, 6.0, 12.0])[((t // 5) % 3).astype(int)]
    u = driven(lambda x, now: -0.9 * x + 2 * now, 0, t, v)
    return Series(
        {"t": t, "speed": u, "volts": v},
        law=("-0.9*u0 + 2*v0",),
        wrong=("-0.9*u0",),
        options={"inputs": ["volts"], "hold": "zero"},
    )


def counts() -> Series:
    t = line(60, 121)
    u = integrated(
        lambda _, x: [0.08 * x[0] - 0.002 * x[0] * x[1], 0.001 * x[0] * x[1] - 0.1 * x[1]],
        [120, 30],
        t,
    )
    drawn = np.random.default_rng(3).poisson(u).astype(float)
    return of(t, drawn, "cells", "phages", law=("0.08*u0 - 0.002*u0*u1", "0.001*u0*u1 - 0.1*u1"))


def rare_counts() -> Series:
    """Of which most are 0 and 1: no jumps, and nothing that is set from outside."""
    t = line(120)
    drawn = np.random.default_rng(1).poisson(1.0, 121).astype(float)
    return of(
        *(t, np.stack([drawn, 30 * np.exp(-t / 50)], axis=1), "decays", "source"),
        says=("decays: noise is most of what changes",),
    )


def two_runs() -> Series:
    t = line(6, 61)
    runs = [2.0 * np.exp(-0.5 * t), 5.0 * np.exp(-0.5 * t)]
    return Series(
        {"run": np.repeat([1, 2], 61), "t": np.tile(t, 2), "x": np.concatenate(runs)},
        law=("-0.5*u0",),
        wrong=("-1",),
        options={"trajectory": "run"},
    )


def settling() -> Series:
    """Two states that come to rest at zero, as they are written: rows of zeros are no gap."""
    t = line(40, 201)
    u = integrated(lambda _, x: [x[1], -2 * x[0] - 0.9 * x[1]], [1, 0], t)
    rest = t > 15
    u[rest] = 0.0
    return of(t, np.round(u, 2), "x", "v", law=("u1", "-2*u0 - 0.9*u1"))


def relaxing_with_input_steps_unlike() -> Series:
    """Steps of an input at every few samples are no spikes of the state."""
    t = line(24, 121)
    v = np.random.default_rng(8).uniform(0, 4, 13)[(t // 2).astype(int)]
    u = driven(lambda x, now: now - 3 * x, 0, t, v)
    return Series(
        {"t": t, "flow": u, "pump": v},
        law=("v0 - 3*u0",),
        options={"inputs": ["pump"], "hold": "zero"},
    )


def stuck_gauge() -> Series:
    series = pendulum()
    angle = series.columns["angle"].copy()
    angle[60:75] = angle[59]
    return Series({**series.columns, "angle": angle}, says=("angle: the same value from", "stuck"))


def stuck_to_the_end() -> Series:
    series = rigid_body()
    b = series.columns["b"].copy()
    b[150:] = b[149]
    return Series({**series.columns, "b": b}, says=("b: the same value from 14.9", "stuck"))


def stuck_gauge_with_noise() -> Series:
    series = pendulum_with_noise()
    speed = series.columns["speed"].copy()
    speed[60:72] = speed[59]
    return Series({**series.columns, "speed": speed}, says=("speed: the same value", "stuck"))


def clipped_wave() -> Series:
    t = line(12, 181)
    u = integrated(lambda _, x: [x[1], -x[0]], [1, 0], t)
    return of(t, np.clip(u, -2, 0.75), "x", "v", says=("x: stops at 0.75", "v: stops at 0.75"))


def clipped_rounded_light() -> Series:
    t = line(15, 181)
    u = integrated(lambda _, x: [2 - x[0] - x[0] * x[1], 3 * (x[0] - 1) * x[1]], [0.5, 0.05], t)
    u[:, 1] = np.minimum(u[:, 1], 1.2)
    return of(t, np.round(u, 3), "gain", "light", says=("light: stops at 1.2",))


def clipped_at_both_ends() -> Series:
    t = line(20, 301)
    u = integrated(lambda _, x: [x[1], -x[0]], [5, 0], t)
    return of(
        t,
        np.clip(noisy(u, 0.01), -4, 4),
        "x",
        "v",
        says=("x: stops at -4 and 4", "v: stops at -4 and 4"),
    )


def injections() -> Series:
    t = line(40, 161)
    level = sum(np.where(t >= at, 6 * np.exp(-0.3 * np.clip(t - at, 0, None)), 0)
                for at in (0, 10, 20, 30))  # fmt: skip
    return of(t, np.asarray(level)[:, None], "level", says=("level: jumps", "at 10, 20, 30"))


def bouncing_ball() -> Series:
    t = np.arange(0, 4, 0.025)
    phase = t % 1.0
    return of(
        *(t, np.stack([4.9 * phase * (1 - phase) + 0.1, 4.9 * (1 - 2 * phase)], axis=1)),
        *("height", "speed"),
        says=("speed: jumps",),
    )


def valve_as_a_state() -> Series:
    series = motor()
    return Series(series.columns, says=("volts: only the values 0, 6, 12", "--inputs volts"))


def spike() -> Series:
    series = resonant_circuit()
    charge = series.columns["charge"].copy()
    charge[77] += 3
    return Series({**series.columns, "charge": charge}, says=("charge: 1 sample stands out",))


def dropped_rows() -> Series:
    series = decay_chain()
    columns = {name: column.copy() for name, column in series.columns.items()}
    for name in ("parent", "daughter"):
        columns[name][[30, 31]] = 0
    return Series(columns, says=("2 rows with zeros alone",))


def daughter_alone() -> Series:
    series = decay_chain()
    return Series(
        {"t": series.columns["t"], "daughter": series.columns["daughter"]},
        says=("no smooth function of the columns", "second order"),
        wrong=("-0.2*u0",),
    )


def rumour() -> Series:
    """One that spreads and dies down, of which the listeners are not in the file."""
    t = line(60)
    u = integrated(lambda _, x: [-0.6 * x[0] * x[1], 0.6 * x[0] * x[1] - 0.15 * x[1]], [1, 0.01], t)
    return of(t, u[:, 1:], "tellers", says=("no smooth function of the columns",),
              wrong=("-0.15*u0",))  # fmt: skip


def noise_alone() -> Series:
    t = line(50)
    u = 10 + np.random.default_rng(1).standard_normal((121, 2))
    return of(t, u, "a", "b", says=("a, b: noise is most of what changes",), wrong=("0", "0"),
              mark=CONSTANT)  # fmt: skip


def constant_column() -> Series:
    series = capital()
    return Series(
        {**series.columns, "year": np.full(121, 2024.0)},
        law=("0.3*u0**0.4 - 0.08*u0",),
        says=("year: 2024 in all rows, and left out",),
    )


def twice_the_same() -> Series:
    series = languages()
    share = series.columns["share"]
    return Series(
        {**series.columns, "percent": 100 * share},
        law=("(1 - u0)*u0*(0.6*u0 - 0.2)",),
        says=("percent: the same as 100 times share in all rows, and left out",),
    )


def two_thermometers() -> Series:
    t = line(30, 121)
    v = 10 + 5 * np.sin(t / 2)
    u = integrated(lambda now, x: [0.3 * (10 + 5 * np.sin(now / 2) - x[0])], [2], t)
    return Series(
        {"t": t, "inside": u[:, 0], "C": v, "F": 1.8 * v + 32},
        law=("0.3*(v0 - u0)",),
        says=("F: the same as 1.8 times C + 32",),
        options={"inputs": ["C", "F"]},
    )


TROUBLED = (
    rare_counts,
    stuck_gauge, stuck_to_the_end, stuck_gauge_with_noise, clipped_wave, clipped_rounded_light,
    clipped_at_both_ends, injections, bouncing_ball, valve_as_a_state, spike, dropped_rows,
    daughter_alone, rumour, noise_alone, constant_column, twice_the_same, two_thermometers,
)  # fmt: skip
HEALTHY = (
    settling,
    relaxing_with_input_steps_unlike,
    pendulum, pendulum_with_noise, falling_drop, leaking_tank, resonant_circuit, orbit, nerve,
    laser, capital, tumour, allele, decay_chain, rigid_body, convection, languages, rounded_ramp,
    rounded_wave, at_rest_then_kicked, oven, motor, counts, two_runs,
)  # fmt: skip


def look(path: Path, series: Series) -> tuple[Any, Any, list[str]]:
    """Return a data type, its task, and all warnings."""
    kind, task = task_of(table(path / "mine.csv", series.columns), **series.options)
    dataset = task.dataset
    pieces = dataset.given.pieces
    longest = max(range(len(pieces)), key=lambda place: len(pieces[place].t))
    names = [dataset.names.get(f"u{i}", f"u{i}") for i in range(dataset.dim)]
    one = pieces[longest]
    curves = curves_between(one.t, one.u, one.jumps)
    warnings = of_states(names, dataset.given, curves)
    assert not set(warnings) - set(kind.advice(dataset))
    return kind, task, [*dataset.left_out, *warnings]


def marks_of(kind: Any, task: Any, equations: Sequence[str]) -> set[str]:
    answer = kind.read_answer(task, Answer(tuple(equations)))
    return MARKS & set(kind.score(task, answer).notes)


@pytest.mark.parametrize("make", sampled(HEALTHY, share=0.35), ids=lambda make: make.__name__)
def test_of_healthy_data_nothing_is_said_and_the_law_has_no_mark(
    tmp_path: Path, make: Callable[[], Series]
) -> None:
    series = make()
    kind, task, warnings = look(tmp_path, series)
    assert warnings == []
    if series.law:
        assert marks_of(kind, task, series.law) == set()
    if series.wrong:
        assert series.mark in marks_of(kind, task, series.wrong)


@pytest.mark.parametrize("make", TROUBLED, ids=lambda make: make.__name__)
def test_the_trouble_is_named(tmp_path: Path, make: Callable[[], Series]) -> None:
    series = make()
    kind, task, warnings = look(tmp_path, series)
    text = "\n".join(warnings)
    assert [words for words in series.says if words not in text] == []
    hints = [one for one in warnings if not any(words in one for words in series.says)]
    assert hints == []  # what follows from the trouble has no remedy of its own
    if series.law:
        assert marks_of(kind, task, series.law) == set()
    if series.wrong:
        assert series.mark in marks_of(kind, task, series.wrong)


def test_there_are_enough_of_both() -> None:
    assert len(HEALTHY) + len(TROUBLED) >= 40
    assert 2 * len(HEALTHY) > len(HEALTHY) + len(TROUBLED)
