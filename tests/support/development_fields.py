"""Fields to develop methods on: none is one of the 14 systems of the data type ``pde``.

Periodic ones are solved by Fourier series and ETDRK4 on a finer grid than is given; those that are
not periodic are windows that were cut out of periodic ones.  Constants are not round.

`as_published` makes the same fields as others publish theirs: by schemes of low order on the grid
that is given, and with few digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.field import Field
from mdbench.data.noise import add_noise
from mdbench.datatypes.pde.solvers.spectral import etdrk4
from mdbench.datatypes.pde.tasks import PdeDataset, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Waves = Callable[[Sequence[Array]], list[Array]]


@dataclass(frozen=True)
class Grown:
    """A system, and how its field is made.

    Attributes
    ----------
    truth
        The right-hand sides.
    linear
        For each state the coefficients of its own derivatives, by axes such as ``xx``; the empty
        text is the state itself.
    rest
        The right-hand sides without these, as Python sources of ``u0_x`` and the like.
    length, nodes, finer
        Of each axis; the solver has `finer` times the nodes.
    duration, times, substeps
        The times that are given, and the solver's steps between two.
    start
        Makes the initial states of coordinates.
    window
        The nodes of each axis that are given, where it is not periodic.
    skipped
        The times before the first that is given.
    """

    truth: tuple[str, ...]
    linear: tuple[dict[str, float], ...]
    rest: tuple[str, ...]
    length: tuple[float, ...]
    nodes: tuple[int, ...]
    duration: float
    times: int
    start: Waves
    finer: int = 2
    substeps: int = 20
    window: tuple[slice, ...] | None = None
    skipped: float = 0.0


def waves(
    seed: int, dim: int, axes: int, *, most: int, mean: float = 0.0, size: float = 1.0
) -> Waves:
    """Make initial states of a few waves along each axis, drawn by a seed."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-most, most + 1, size=(dim, 6, axes))
    phases = rng.uniform(0, 2 * np.pi, size=(dim, 6))
    sizes = rng.uniform(0.5, 1.0, size=(dim, 6)) * size / 2

    def start(angles: Sequence[Array]) -> list[Array]:
        states = []
        for k in range(dim):
            state = np.full(angles[0].shape, mean)
            for n, phase, amplitude in zip(numbers[k], phases[k], sizes[k], strict=True):
                state = state + amplitude * np.cos(
                    sum(int(m) * a for m, a in zip(n, angles, strict=True)) + phase
                )
            states.append(state)
        return states

    return start


def bumps(*each: tuple[float, float, float]) -> Waves:
    """Make one state a pulse: offset, height and sharpness."""

    def start(angles: Sequence[Array]) -> list[Array]:
        near = sum(np.cos(a - np.pi) for a in angles) - len(angles)
        return [offset + height * np.exp(sharp * near) for offset, height, sharp in each]

    return start


def clean_field(system: Grown, *, second_order: bool = False, euler: int = 0) -> Field:
    """Solve a system; `du` is the right-hand side at the solution.

    Parameters
    ----------
    second_order
        Take central differences on the grid that is given in place of the Fourier series.
    euler
        Where it is not 0: so many steps of Euler's method, implicit in what is linear, between two
        times in place of ETDRK4.
    """
    finer = 1 if second_order else system.finer
    shape = tuple(n * finer for n in system.nodes)
    ks = [
        2j * np.pi / length * np.fft.fftfreq(n, 1 / n)
        for n, length in zip(shape, system.length, strict=True)
    ]
    mesh = dict(zip("xyz", np.meshgrid(*ks, indexing="ij"), strict=False))
    axes = tuple(range(1, len(shape) + 1))
    steps = dict(
        zip(
            "xyz",
            (length / n for length, n in zip(system.length, shape, strict=True)),
            strict=False,
        )
    )
    keep = np.ones(shape, bool)
    for k, n in zip(np.meshgrid(*ks, indexing="ij"), shape, strict=True):
        keep &= second_order | (np.abs(k) <= np.abs(k).max() * 2 / 3 + 1 / n**2)

    def symbol(along: str) -> NDArray[np.complex128]:
        value = np.ones(shape, complex)
        for axis in set(along):
            k, h, order = mesh[axis], steps[axis], along.count(axis)
            if second_order:
                double, single = (2j * np.sin(k.imag * h / 2) / h) ** 2, 1j * np.sin(k.imag * h) / h
                value = value * double ** (order // 2) * single ** (order % 2)
            else:
                value = value * k**order
        return value

    linear = np.stack(
        [
            sum((c * symbol(along) for along, c in each.items()), np.zeros(shape, complex))
            for each in system.linear
        ]
    )
    codes = [compile(text, "right-hand side", "eval") for text in system.rest]
    wanted = sorted({name for code in codes for name in code.co_names if name[0] == "u"})

    def named(v: NDArray[np.complex128]) -> dict[str, Array]:
        found = {}
        for name in wanted:
            state, _, along = name.partition("_")
            found[name] = np.fft.ifftn(symbol(along) * v[int(state[1:])]).real
        return found

    def nonlinear(v: NDArray[np.complex128]) -> NDArray[np.complex128]:
        known = {**named(v), "sin": np.sin}
        values = [
            np.broadcast_to(np.asarray(eval(code, known), dtype=float), shape) for code in codes
        ]
        return np.fft.fftn(np.stack(values), axes=axes) * keep

    angles = np.meshgrid(*[2 * np.pi * np.arange(n) / n for n in shape], indexing="ij")
    v = np.fft.fftn(np.stack(system.start(angles)), axes=axes) * keep
    dt = system.duration / (system.times - 1)
    first = round(system.skipped / dt)
    solved = (
        _euler(linear, nonlinear, v, step=dt / euler, every=euler)
        if euler
        else etdrk4(linear, nonlinear, v, step=dt / system.substeps, every=system.substeps)
    )
    u, du = [], []
    fewer = (slice(None), *[slice(None, None, finer)] * len(shape))
    for state in islice(solved, first, first + system.times):
        u.append(np.fft.ifftn(state, axes=axes).real[fewer])
        du.append(np.fft.ifftn(linear * state + nonlinear(state), axes=axes).real[fewer])
    t = np.arange(system.times, dtype=np.float64) * dt
    grid = {
        axis: np.arange(n) * length / n
        for axis, n, length in zip("xyz", system.nodes, system.length, strict=False)
    }
    periods = dict(zip(grid, system.length, strict=True))
    arrays = [np.moveaxis(np.stack(each), (0, 1), (-2, -1)) for each in (u, du)]
    if system.window is not None:
        grid = {axis: x[cut] for (axis, x), cut in zip(grid.items(), system.window, strict=True)}
        arrays, periods = [each[system.window] for each in arrays], {}
    whole = [np.ascontiguousarray(each, dtype=np.float64) for each in arrays]
    return Field(t, grid, whole[0], whole[1], periods=periods)


def _euler(
    linear: Any, nonlinear: Callable[[Any], Any], v: Any, *, step: float, every: int
) -> Iterator[Any]:
    """Yield the state every so many steps of Euler's method, implicit in what is linear."""
    while True:
        yield v
        for _ in range(every):
            v = (v + step * nonlinear(v)) / (1.0 - step * linear)


def as_published(name: str, way: str) -> Field:
    """Make a field as others publish theirs, by one of `WAYS`."""
    system = SYSTEMS[name]
    if way == "differences":
        field = clean_field(system, second_order=True)
        return replace(field, u=field.u.astype(np.float32).astype(np.float64))
    if way == "euler":
        field = clean_field(system, euler=system.substeps)
        return replace(field, u=_rounded(field.u, 6))
    field = clean_field(system)
    every = slice(None, None, 2)
    assert field.du is not None
    u, du = (np.ascontiguousarray(one[..., every, :]) for one in (_rounded(field.u, 4), field.du))
    return replace(field, t=field.t[every], u=u, du=du)


def _rounded(u: Array, digits: int) -> Array:
    size = np.abs(u).max()
    return np.asarray(np.round(u / size, digits) * size)


WAYS = ("differences", "euler", "digits")
"""Central differences in single precision; Euler's steps, with six digits; four digits, every
second time."""


def dataset(name: str, clean: Field, snr_db: float | None, seed: int = 0) -> PdeDataset:
    """Return a field with noise as the bench would."""
    u = clean.u if snr_db is None else add_noise(clean.u, name=name, snr_db=snr_db, seed=seed)
    return PdeDataset(
        name=name,
        dim=clean.dim,
        snr_db=snr_db,
        truth=SYSTEMS[name].truth,
        target_source="file",
        fingerprint=f"{name} {snr_db} {seed}",
        given=replace(clean, u=u, du=None),
        clean=clean,
        explicit=(),
        rows=Rows(None, seed),
        derivatives="smooth",
    )


SYSTEMS: dict[str, Grown] = {
    "fisher": Grown(
        ("0.137*u0_xx + 0.83*u0 - 0.71*u0**2",),
        ({"xx": 0.137, "": 0.83},),
        ("-0.71*u0**2",),
        (23.0,),
        (160,),
        5.3,
        90,
        bumps((0.07, 0.8, 6.0)),
    ),
    "allen-cahn": Grown(
        ("0.0173*u0_xx + 1.31*u0 - 1.62*u0**3",),
        ({"xx": 0.0173, "": 1.31},),
        ("-1.62*u0**3",),
        (5.3,),
        (200,),
        4.4,
        100,
        waves(1, 1, 1, most=4, size=0.5),
    ),
    "burgers-dispersion": Grown(
        ("-1.37*u0*u0_x + 0.043*u0_xx - 0.027*u0_xxx",),
        ({"xx": 0.043, "xxx": -0.027},),
        ("-1.37*u0*u0_x",),
        (8.7,),
        (256,),
        5.1,
        120,
        bumps((0.3, 1.2, 5.0)),
    ),
    "modified-kdv": Grown(
        ("-2.6*u0**2*u0_x - 0.61*u0_xxx",),
        ({"xxx": -0.61},),
        ("-2.6*u0**2*u0_x",),
        (31.0,),
        (256,),
        12.0,
        150,
        bumps((0.1, 1.4, 14.0)),
        substeps=60,
    ),
    "swift-hohenberg": Grown(
        ("-0.68*u0 - 1.87*u0_xx - 0.94*u0_xxxx + 1.23*u0**2 - 1.06*u0**3",),
        ({"": -0.68, "xx": -1.87, "xxxx": -0.94},),
        ("1.23*u0**2 - 1.06*u0**3",),
        (47.0,),
        (256,),
        21.0,
        120,
        waves(2, 1, 1, most=9, size=0.8),
    ),
    "kpz": Grown(
        ("0.21*u0_xx - 0.57*u0_x**2",),
        ({"xx": 0.21},),
        ("-0.57*u0_x**2",),
        (9.1,),
        (180,),
        3.7,
        100,
        waves(3, 1, 1, most=3),
    ),
    "porous": Grown(
        ("0.34*u0*u0_xx + 0.34*u0_x**2 - 0.27*u0_x",),
        ({"x": -0.27, "xx": 0.578},),
        ("0.34*u0*u0_xx + 0.34*u0_x**2 - 0.578*u0_xx",),
        (7.9,),
        (150,),
        4.1,
        90,
        waves(4, 1, 1, most=2, mean=1.7, size=0.7),
        substeps=60,
    ),
    "damped-wave": Grown(
        ("u1", "1.74*u0_xx - 0.37*u1"),
        ({}, {"": -0.37}),
        ("u1", "1.74*u0_xx"),
        (11.0,),
        (128,),
        9.0,
        140,
        waves(5, 2, 1, most=4),
        substeps=60,
    ),
    "sine-gordon": Grown(
        ("u1", "0.83*u0_xx - 1.29*sin(u0)"),
        ({}, {}),
        ("u1", "0.83*u0_xx - 1.29*sin(u0)"),
        (19.0,),
        (150,),
        11.0,
        150,
        waves(6, 2, 1, most=2, size=1.3),
        substeps=60,
    ),
    "fitzhugh-nagumo": Grown(
        ("0.73*u0_xx + 1.08*u0 - 0.38*u0**3 - 0.91*u1", "0.13*u1_xx + 0.31*u0 - 0.22*u1 + 0.09"),
        ({"xx": 0.73, "": 1.08}, {"xx": 0.13, "": -0.22}),
        ("-0.38*u0**3 - 0.91*u1", "0.31*u0 + 0.09"),
        (37.0,),
        (160,),
        26.0,
        160,
        waves(7, 2, 1, most=3, size=1.6),
    ),
    "schnakenberg": Grown(
        (
            "0.047*u0_xx + 0.12 - 1.13*u0 + 0.94*u0**2*u1",
            "1.31*u1_xx + 0.87 - 0.94*u0**2*u1",
        ),
        ({"xx": 0.047, "": -1.13}, {"xx": 1.31}),
        ("0.12 + 0.94*u0**2*u1", "0.87 - 0.94*u0**2*u1"),
        (13.0,),
        (160,),
        7.0,
        150,
        waves(8, 2, 1, most=4, mean=1.0, size=0.5),
        substeps=40,
    ),
    "ginzburg-landau": Grown(
        (
            "1.12*u0+0.76*u0_xx-0.61*u1_xx-0.93*u0**3-0.93*u0*u1**2+1.24*u0**2*u1+1.24*u1**3",
            "1.12*u1+0.76*u1_xx+0.61*u0_xx-0.93*u1**3-0.93*u0**2*u1-1.24*u0*u1**2-1.24*u0**3",
        ),
        ({"": 1.12, "xx": 0.76}, {"": 1.12, "xx": 0.76}),
        (
            "-0.61*u1_xx - 0.93*u0**3 - 0.93*u0*u1**2 + 1.24*u0**2*u1 + 1.24*u1**3",
            "0.61*u0_xx - 0.93*u1**3 - 0.93*u0**2*u1 - 1.24*u0*u1**2 - 1.24*u0**3",
        ),
        (41.0,),
        (200,),
        13.0,
        160,
        waves(9, 2, 1, most=5, size=0.9),
        substeps=60,
    ),
    "shallow-water": Grown(
        ("-u0*u1_x - u1*u0_x", "-u1*u1_x - 1.83*u0_x + 0.076*u1_xx"),
        ({}, {"xx": 0.076}),
        ("-u0*u1_x - u1*u0_x", "-u1*u1_x - 1.83*u0_x"),
        (10.0,),
        (160,),
        4.0,
        120,
        lambda angles: [1.1 + 0.2 * np.cos(angles[0]), 0.3 * np.sin(angles[0] + 0.4)],
        substeps=60,
    ),
    "advection-reaction-2d": Grown(
        ("-0.71*u0_x + 0.34*u0_y + 0.083*u0_xx + 0.083*u0_yy - 0.29*u0",),
        ({"x": -0.71, "y": 0.34, "xx": 0.083, "yy": 0.083, "": -0.29},),
        ("0",),
        (6.0, 6.0),
        (64, 64),
        2.6,
        60,
        waves(10, 1, 2, most=3),
        finer=1,
        window=(slice(5, 49), slice(8, 52)),
    ),
    "gray-scott-2d": Grown(
        (
            "0.084*u0_xx + 0.084*u0_yy - u0*u1**2 - 0.041*u0 + 0.041",
            "0.037*u1_xx + 0.037*u1_yy + u0*u1**2 - 0.103*u1",
        ),
        ({"xx": 0.084, "yy": 0.084, "": -0.041}, {"xx": 0.037, "yy": 0.037, "": -0.103}),
        ("0.041 - u0*u1**2", "u0*u1**2"),
        (14.0, 14.0),
        (48, 48),
        30.0,
        80,
        bumps((1.0, -0.5, 6.0), (0.02, 0.5, 5.0)),
        substeps=10,
    ),
    "burgers-2d": Grown(
        (
            "-u0*u0_x - u1*u0_y + 0.061*u0_xx + 0.061*u0_yy",
            "-u0*u1_x - u1*u1_y + 0.061*u1_xx + 0.061*u1_yy",
        ),
        ({"xx": 0.061, "yy": 0.061}, {"xx": 0.061, "yy": 0.061}),
        ("-u0*u0_x - u1*u0_y", "-u0*u1_x - u1*u1_y"),
        (5.0, 5.0),
        (48, 48),
        2.1,
        60,
        waves(11, 2, 2, most=2, size=0.9),
    ),
    "decay-3d": Grown(
        ("0.23*u0_x + 0.047*u0_xx + 0.047*u0_yy + 0.047*u0_zz - 0.38*u0 + 0.21",),
        ({"x": 0.23, "xx": 0.047, "yy": 0.047, "zz": 0.047, "": -0.38},),
        ("0.21",),
        (3.0, 3.0, 3.0),
        (32, 32, 32),
        1.9,
        40,
        waves(12, 1, 3, most=2, mean=1.3),
        finer=1,
        substeps=4,
        window=(slice(3, 25), slice(2, 24), slice(6, 28)),
    ),
    "anisotropic-2d": Grown(
        ("0.19*u0_xx + 0.043*u0_yy - 0.64*u0*u0_x",),
        ({"xx": 0.19, "yy": 0.043},),
        ("-0.64*u0*u0_x",),
        (7.0, 4.0),
        (56, 56),
        3.1,
        60,
        waves(13, 1, 2, most=2, mean=0.6),
    ),
    "ribbed-2d": Grown(
        ("0.31*u0_xx + 0.31*u0_yy - 0.22*u0_y",),
        ({"xx": 0.31, "yy": 0.31, "y": -0.22},),
        ("0",),
        (5.0, 9.0),
        (40, 60),
        3.3,
        50,
        lambda angles: [
            1.4
            + np.cos(angles[1])
            + 0.6 * np.sin(2 * angles[1] + 0.3)
            + 0.3 * np.cos(angles[0]) * (1 + 0.5 * np.sin(3 * angles[1]))
        ],
        finer=1,
    ),
}
