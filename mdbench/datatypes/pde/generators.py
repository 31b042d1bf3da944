"""From a system to its field: one function for each generator that a system's file may name.

Each gives the field of the system, and then those of the systems that are made with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp

from mdbench.data.derivatives import accurate_derivative, time_derivative
from mdbench.data.field import Field
from mdbench.datatypes.equations.files import compile_equations
from mdbench.datatypes.pde.solvers import channels, closed_forms, elements, spectral
from mdbench.datatypes.pde.solvers.channel_waves import repeating_channel, vortices
from mdbench.datatypes.pde.solvers.closed_forms import heated_plate
from mdbench.datatypes.pde.solvers.navier_stokes import Reaction
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from mdbench.datatypes.pde.systems import PdeSystem

    Array = NDArray[np.float64]

Progress = Callable[[float], None]


def make_fields(
    system: PdeSystem, systems: Mapping[str, PdeSystem], *, released: bool, progress: Progress
) -> dict[str, Field]:
    """Make the clean field of a system, and of those that are made with it.

    Parameters
    ----------
    systems
        All systems by name.
    released
        Whether to make the published data, with what is wrong in them.
    progress
        Called with the part that is done, from 0 to 1, at intervals.

    Returns
    -------
    dict
        The fields by the names of their systems, with `du`.

    Raises
    ------
    DataError
        If a file lacks a number that its generator needs.
    """
    main = systems[system.made_with]
    with_it = [each.name for each in systems.values() if each.made_with == main.name != each.name]
    try:
        made = FIELD_GENERATORS[main.generator](main, released, progress)
    except KeyError as error:
        raise DataError(
            f"The system {main.name} has no constant, axis or setting of the solver named {error}, "
            f"which the generator {main.generator} needs."
        ) from error
    return dict(zip((main.name, *with_it), made, strict=True))


def _advection(system: PdeSystem, _released: bool, _progress: Progress) -> list[Field]:
    x, t = system.axes["x"], system.times
    setting, beta = system.settings, system.constants["beta"]
    period = 1.0 if x.period is None else x.period
    k = 2 * np.pi / setting["wave_length"]

    def wave(place: Array) -> Array:
        phase = k * np.mod(place, period) + setting["phase"]
        return np.asarray(setting["amplitude"] * np.sin(phase) - setting["offset"])

    def slope(x: Array) -> Array:
        phase = k * np.mod(x, period) + setting["phase"]
        rising = setting["amplitude"] * k * np.cos(phase)
        return np.asarray(np.sign(wave(x)) * rising)

    u = closed_forms.translation(lambda place: abs(wave(place)), x.values, t.values, speed=beta)
    u_x = closed_forms.translation(slope, x.values, t.values, speed=beta)
    return [_field(system, u[None], -beta * u_x[None])]


def _advection_diffusion(system: PdeSystem, released: bool, _progress: Progress) -> list[Field]:
    constant = system.constants
    u, u_t = closed_forms.drifting_gaussian(
        system.axes["x"].values,
        system.axes["y"].values,
        system.times.values,
        height=system.settings["height"],
        velocity=(-constant["a"], -constant["b"]),
        diffusion=constant["d"],
    )
    field = _field(system, u[None], u_t[None])
    if not released:
        return [field]
    single = {axis: _single(nodes) for axis, nodes in field.grid.items()}
    u = _single(field.u)
    return [Field(_single(field.t), single, u, _du(u, system.times.step, True))]


def _burgers(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    x = system.axes["x"].values
    u, u_t = spectral.burgers(
        np.exp(-((x + 2) ** 2)),
        *_periodic(system),
        nu=system.constants["nu"],
        substeps=int(system.settings["substeps"]),
        progress=progress,
    )
    return [_field(system, u[None], u_t[None])]


def _korteweg_de_vries(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    x, period = system.axes["x"].values, _periodic(system)[0]
    solitons = ((1.0, -20.0), (0.5, 5.0))
    images = period * np.arange(-system.settings["images"], system.settings["images"] + 1)
    start = sum(
        c / 2 / np.cosh(np.sqrt(c) / 2 * (x - x0 - image)) ** 2
        for c, x0 in solitons
        for image in images
    )
    substeps = int(system.settings["substeps"])
    u, u_t = spectral.korteweg_de_vries(
        np.asarray(start), *_periodic(system), substeps=substeps, progress=progress
    )
    return [_field(system, u[None], u_t[None])]


def _kuramoto_sivashinsky(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    x = system.axes["x"].values
    start = np.cos(x / 16) * (1 + np.sin(x / 16))
    substeps = int(system.settings["substeps"])
    u, u_t = spectral.kuramoto_sivashinsky(
        start, *_periodic(system), substeps=substeps, progress=progress
    )
    return [_field(system, u[None], u_t[None])]


def _equations(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    """Solve whatever equations a file has, from a mean and waves along a periodic axis."""
    axis, setting = system.axes["x"], system.settings
    variables = tuple(system.variables)
    if len(system.axes) > 1 or system.explicit or len(system.equations) < len(variables):
        raise DataError(
            f"The system {system.name}: its generator is for one axis in space, an equation for "
            "each state, and no coordinates in them."
        )
    period = _periodic(system)[0]
    phase = 2 * np.pi / period * (axis.values - axis.first)
    start = np.stack(
        [
            setting[f"{name}_mean"]
            + sum(
                setting[key] * np.cos(wave * phase + setting[f"{name}_phase_{wave}"])
                for wave in range(1, axis.count // 2)
                if (key := f"{name}_height_{wave}") in setting
            )
            for name in variables
        ]
    )
    names = [[f"{name}{'_' * bool(n)}{'x' * n}" for name in variables] for n in range(5)]
    evaluate = compile_equations(system.truth, [name for each in names for name in each], np)

    def right_hand_sides(values: Array) -> Array:
        rates = evaluate(*values.reshape(-1, *values.shape[2:]))
        return np.stack([np.broadcast_to(rate, values.shape[2:]) for rate in rates])

    u, u_t = spectral.equations(
        start,
        *_periodic(system),
        right_hand_sides=right_hand_sides,
        substeps=int(setting["substeps"]),
        progress=progress,
    )
    return [_field(system, u, u_t)]


def _schroedinger(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    axis = system.axes["x"]
    finer = int(system.settings["refinement"])
    x = axis.first + axis.step / finer * np.arange(finer * axis.count)
    psi, psi_t = spectral.schroedinger(
        2 / np.cosh(x) + 0j,
        *_periodic(system),
        substeps=int(system.settings["substeps"]),
        progress=progress,
    )
    parts = (np.stack([each[::finer].real, each[::finer].imag]) for each in (psi, psi_t))
    return [_field(system, *parts)]


def _reaction_diffusion(system: PdeSystem, released: bool, progress: Progress) -> list[Field]:
    nodes = [axis.values for axis in system.axes.values()]
    # In the published arrays the first axis is y.
    x, y = np.meshgrid(*nodes, indexing="xy" if released else "ij")
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    start = np.tanh(radius) * np.stack([np.cos(angle - radius), np.sin(angle - radius)])
    if released:
        return [_field(system, _spiral_as_released(start, system))]
    u, u_t = spectral.reaction_diffusion(
        start,
        *_periodic(system),
        diffusion=system.constants["d"],
        beta=system.constants["beta"],
        substeps=int(system.settings["substeps"]),
        progress=progress,
    )
    return [_field(system, u, u_t)]


def _spiral_as_released(start: Array, system: PdeSystem) -> Array:
    """Integrate the Fourier coefficients by RK45 at its default tolerances."""
    length, _, n_t = _periodic(system)
    n = start.shape[-1]
    d, beta = system.constants["d"], system.constants["beta"]
    k = 2 * np.pi / length * np.fft.fftfreq(n, 1 / n)
    laplacian = -(k[:, None] ** 2 + k**2)

    def right_hand_side(_t: float, flat: NDArray[np.complex128]) -> NDArray[np.complex128]:
        v = flat.reshape(2, n, n)
        u, w = np.fft.ifft2(v).real
        a = u**2 + w**2
        reaction = np.stack([(1 - a) * u + beta * a * w, (1 - a) * w - beta * a * u])
        return np.asarray(d * laplacian * v + np.fft.fft2(reaction)).ravel()

    t = system.times.values
    solution = solve_ivp(right_hand_side, (t[0], t[-1]), np.fft.fft2(start).ravel(), t_eval=t)
    u: Array = np.fft.ifft2(np.asarray(solution.y).T.reshape(n_t, 2, n, n)).real
    return np.moveaxis(u, 0, -1)


def _soil(system: PdeSystem, released: bool, progress: Progress) -> list[Field]:
    constant, setting = system.constants, system.settings
    diffusivity = constant["kappa"] / (constant["rho"] * constant["c"])
    if not system.published:
        return [_field(system, *_warmed_from_above(system, diffusivity))]
    u = elements.soil(
        [axis.values for axis in system.axes.values()],
        system.times.step,
        int(setting.get("steps", system.times.count)),
        diffusivity=diffusivity,
        initial=setting["T_R"],
        surface=lambda t: setting["T_R"] + setting["T_A"] * float(np.sin(setting["omega"] * t)),
        progress=progress,
    )
    if released:
        # The file has x as its fastest axis, and was read as if that were the last one.
        u = u.transpose(*reversed(range(u.ndim - 1)), -1).reshape(u.shape)
    return [_field(system, u[None])]


def _warmed_from_above(system: PdeSystem, diffusivity: float) -> tuple[Array, Array]:
    """Sum the mean and two waves along each axis across; all are ground under a warm surface.

    Of a single wave every even derivative across is a multiple of every other, so that a wrong
    equation would be as good as the right one.
    """
    setting = system.settings
    *sideways, down = system.axes.values()
    shape = (1, *(axis.count for axis in system.axes.values()), system.times.count)

    def part(wave_number: float) -> Iterator[Array]:
        return (
            np.broadcast_to(each, shape)
            for each in closed_forms.warmed_ground(
                down.values,
                system.times.values,
                height=setting["depth"],
                diffusivity=diffusivity,
                omega=setting["omega"],
                wave_number=wave_number,
            )
        )

    u, u_t = (setting["T_A"] * each for each in part(0.0))
    u += setting["T_R"]
    for half_waves, name in ((1, "T_H"), (2, "T_W")):
        for i, axis in enumerate(sideways, start=1):
            k = half_waves * np.pi / np.ptp(axis.values)
            along = [-1 if place == i else 1 for place in range(len(shape))]
            wave = setting[name] * np.cos(k * (axis.values - axis.values[0])).reshape(along)
            v, v_t = part(k)
            u += wave * v
            u_t += wave * v_t
    return u, u_t


def _laser(system: PdeSystem, released: bool, progress: Progress) -> list[Field]:
    constant, setting = system.constants, system.settings

    def beam(t: Array) -> tuple[Array, Array]:
        swing = 1 + 0.5 * np.sin(constant["omega"] * t)
        return 0.5 * constant["l"] * swing, constant["v"] * t

    def source(place: Array, t: float) -> Array:
        x, y = beam(np.asarray(t))
        distance = (place[0] - x) ** 2 + (place[1] - y) ** 2
        heat: Array = constant["rho"] * constant["P"] * np.exp(-constant["k"] * distance)
        return heat

    plate: dict[str, Any] = {
        "capacity": constant["rho"] * constant["c"],
        "conductivity": constant["kappa"],
        "transfer": constant["h"],
        "ambient": constant["T_a"],
        "progress": progress,
    }
    axes = [axis.values for axis in system.axes.values()]
    if not system.published:
        u, u_t = heated_plate(
            axes,
            system.times.step,
            system.times.count,
            **plate,
            power=constant["rho"] * constant["P"],
            narrowness=constant["k"],
            beam=beam,
            substeps=int(setting["substeps"]),
        )
        return [_field(system, u[None], u_t[None])]
    u = elements.heated_slab(
        axes,
        system.times.step,
        int(setting["steps"]),
        **plate,
        source=source,
        source_at=0.0 if released else 0.5,
    )
    field = _field(system, u[None])
    if not released:
        return [field]
    return [Field(field.t - system.times.step, field.grid, field.u, field.du)]


def _channel(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    constant, setting, times = system.constants, system.settings, system.times
    x, y = (axis.values for axis in system.axes.values())
    if not system.published:
        u, u_t = repeating_channel(
            lambda place: setting["stirring"] * vortices(place),
            (x, y),
            times.values,
            period=setting["period"],
            density=constant["rho"],
            viscosity=constant["mu"],
            drop=setting["p_in"],
            waves=int(setting["waves"]),
            modes=int(setting["modes"]),
            substeps=int(setting["substeps"]),
            progress=progress,
        )
        pressure_t = accurate_derivative(u[2:], times.values, 3, 1)
        return [_field(system, u, np.concatenate([u_t, pressure_t]))]
    u = channels.empty_channel(
        int(setting["cells"]),
        times.step,
        int(setting["steps"]),
        [x, y],
        density=constant["rho"],
        viscosity=constant["mu"],
        inlet=setting["p_in"],
        progress=progress,
    )
    velocity, begin = u[:2], round(times.first / times.step) - 1
    return [_field(system, velocity, begin=begin)]


def _cylinder_flow(system: PdeSystem, _released: bool, progress: Progress) -> list[Field]:
    constant, setting, times = system.constants, system.settings, system.times
    obstacle = channels.Obstacle(
        length=setting["length"],
        height=setting["height"],
        centre=(setting["centre_x"], setting["centre_y"]),
        radius=setting["radius"],
        inflow=setting["inflow"],
    )
    reaction = Reaction(
        diffusivity=constant["eps"],
        rate=constant["K"],
        feed=setting["feed"],
        discs=((setting["feed_x"], setting["feed_y1"]), (setting["feed_x"], setting["feed_y2"])),
        radius=setting["feed_radius"],
    )
    dt, every = setting["dt"], int(setting["reaction_every"])
    # Steps before the first sample are kept for differences in time.
    skipped = 0 if system.published else (round(times.first / dt) // every - _BEFORE) * every
    flow, species = channels.past_cylinder(
        obstacle,
        dt,
        int(setting["steps"]),
        [axis.values for axis in system.axes.values()],
        density=constant["rho"],
        viscosity=constant["mu"],
        reaction=reaction,
        every=every,
        spacing=setting["spacing"],
        second_order=setting["order"] > 1,
        averaged=setting["averaged"] * setting["spacing"],
        first=skipped + 1,
        progress=progress,
    )
    carried = np.concatenate([flow[..., every - 1 :: every], species])
    fields = []
    for u, step in ((carried, every * dt), (flow, dt)):
        fields.append(
            _field(
                system,
                u,
                dt=step,
                begin=round((times.first - skipped * dt) / step) - 1,
                stride=round(times.step / step),
            )
        )
    return fields


_BEFORE = 4
"""Steps of the reaction before the first sample: differences of sixth order need three."""


FIELD_GENERATORS: dict[str, Callable[[PdeSystem, bool, Progress], list[Field]]] = {
    "advection": _advection,
    "advection_diffusion": _advection_diffusion,
    "burgers": _burgers,
    "channel": _channel,
    "cylinder_flow": _cylinder_flow,
    "korteweg_de_vries": _korteweg_de_vries,
    "kuramoto_sivashinsky": _kuramoto_sivashinsky,
    "laser": _laser,
    "periodic": _equations,
    "reaction_diffusion": _reaction_diffusion,
    "schroedinger": _schroedinger,
    "soil": _soil,
}
"""Generators by their name in a system's file."""


def _field(
    system: PdeSystem,
    u: Array,
    u_t: Array | None = None,
    *,
    dt: float | None = None,
    begin: int = 0,
    stride: int = 1,
) -> Field:
    """Make the field of a whole series, differentiated before its samples are picked.

    Parameters
    ----------
    u
        States first, times last: (d, n_x[, n_y[, n_z]], n).
    u_t
        Its derivatives in time, where they are known; published data have differences anyway.
    dt
        The step of the series; by default that of the samples.
    begin, stride
        Which times of the series the samples are.
    """
    series = np.moveaxis(u, 0, -1)
    n = system.times.count
    picked = (..., slice(begin, begin + (n - 1) * stride + 1, stride), slice(None))
    if u_t is None or system.published:
        du = _du(series, system.times.step if dt is None else dt, system.published)
    else:
        du = np.moveaxis(u_t, 0, -1)
    periods = {axis: each.period for axis, each in system.axes.items() if each.period is not None}
    return Field(
        t=system.times.values,
        grid={axis: nodes.values for axis, nodes in system.axes.items()},
        u=np.ascontiguousarray(series[picked]),
        du=np.ascontiguousarray(du[picked]),
        periods={} if system.published else periods,
    )


def _du(series: Array, dt: float, second_order: bool) -> Array:
    """Differentiate along the times, the last axis but one."""
    t = dt * np.arange(series.shape[-2], dtype=np.float64)
    if second_order:
        return np.moveaxis(time_derivative(t, np.moveaxis(series, -2, 0)), 0, -2)
    return accurate_derivative(series, t, series.ndim - 2, 1)


def _periodic(system: PdeSystem) -> tuple[float, float, int]:
    """Return the period along x, the step of the samples and their number."""
    x = system.axes["x"]
    if x.period is None:
        raise DataError(
            f"The system {system.name}: grid.x has no period, which its generator needs."
        )
    return x.period, system.times.step, system.times.count


def _single(array: Array) -> Array:
    """Round to single precision."""
    return array.astype(np.float32).astype(np.float64)
