"""The 14 systems: their files, and the fields that are made of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import erf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import known
from sweeps import sampled

import mdbench
from eqverdict import parse
from mdbench.data.derivatives import accurate_derivative
from mdbench.data.field import FieldColumns
from mdbench.datatypes.equations.files import without
from mdbench.datatypes.pde.generators import FIELD_GENERATORS, make_fields
from mdbench.datatypes.pde.systems import GENERATORS, Nodes, PdeSystem, read_system
from mdbench.datatypes.pde.tasks import inner_samples
from mdbench.errors import DataError
from mdbench.metrics.regression import nmse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.data.field import Field

FOLDER = Path(mdbench.__file__).parents[1] / "datasets" / "pde"
SYSTEMS = {path.stem: read_system(path) for path in sorted(FOLDER.glob("*.toml"))}
PUBLISHED = {name: known(system.as_published) for name, system in SYSTEMS.items()}

SHAPES = {
    "burgers": (256, 101, 1),
    "kdv": (512, 201, 1),
    "kuramoto_sivishinky": (1024, 251, 1),
    "advection1d": (1024, 201, 1),
    "nls": (256, 251, 2),
    "advection_diffusion_2d": (51, 51, 61, 1),
    "reaction_diffusion_2d": (32, 32, 100, 2),
    "heat_soil_uniform_1d_p1": (51, 576, 1),
    "heat_soil_uniform_2d_p1": (51, 51, 576, 1),
    "heat_soil_uniform_3d_p1": (51, 51, 11, 20, 1),
    "navier_stokes_channel": (9, 9, 50, 2),
    "navier_stokes_cylinder": (100, 30, 51, 3),
    "heat_laser": (201, 201, 3, 20, 1),
    "reaction_diffusion_cylinder": (100, 30, 51, 6),
}
"""As published."""

FLOORS = {
    "burgers": 4.1e-6,
    "kdv": 2.9e-3,
    "kuramoto_sivishinky": 2.9e-3,
    "advection1d": 2.4e-7,
    "nls": 1.2e-4,
    "advection_diffusion_2d": 2.4e-6,
    "reaction_diffusion_2d": 3.0e-3,
    "heat_soil_uniform_1d_p1": 1.4e-3,
    "navier_stokes_channel": 4.3,
}
"""What the true equations score on the last fifth of the published data, or of a reconstruction
by other people's solvers, by second-order differences: of those made quickly."""

BEST_FLOORS = {
    "burgers": 1e-20,
    "kdv": 1e-18,
    "kuramoto_sivishinky": 1e-15,
    "advection1d": 1e-20,
    "nls": 1e-20,
    "advection_diffusion_2d": 1e-15,
    "reaction_diffusion_2d": 1e-20,
    "heat_soil_uniform_1d_p1": 1e-12,
    "heat_soil_uniform_2d_p1": 1e-12,
    "heat_soil_uniform_3d_p1": 1e-13,
    "navier_stokes_channel": 1e-9,
}
"""Above what they score on the data of today: of those made quickly."""


def quiet(part: float) -> None:
    assert 0 <= part <= 1


@cache
def make_named(name: str, *, published: bool = False) -> Field:
    """Return a system's whole field, which no test changes."""
    return make((PUBLISHED if published else SYSTEMS)[name])


def make(system: PdeSystem, *, released: bool = False) -> Field:
    systems = (PUBLISHED if system.published else SYSTEMS) | {system.name: system}
    return make_fields(system, systems, released=released, progress=quiet)[system.name]


def floor(system: PdeSystem, field: Field) -> float:
    """What the true equation scores in the last fifth of the times; today away from the ends."""
    columns, du, inside = last_fifth(field, system.explicit, second_order=system.published)
    truth = [parse(text, tuple(columns)).evaluate(columns) for text in system.truth]
    values, targets = np.stack(truth, axis=-1), du[..., list(system.targets)]
    if system.published:
        return nmse(values, targets)
    return nmse(values.reshape(-1, len(truth))[inside], targets.reshape(-1, len(truth))[inside])


def last_fifth(
    field: Field, explicit: tuple[str, ...] = (), *, second_order: bool = False
) -> tuple[FieldColumns, NDArray[np.float64], NDArray[np.intp]]:
    """Features and derivatives of the last fifth of the times, and which samples are scored."""
    times = slice(len(field.t) - len(field.t) // 5, None)
    cut = replace(field, t=field.t[times], u=field.u[..., times, :])
    du = known(field.du)[..., times, :]
    return (
        FieldColumns(cut, explicit, second_order=second_order),
        du,
        inner_samples(du.shape[:-1], field),
    )


def test_there_are_the_14_systems_in_the_order_of_the_published_noise() -> None:
    order = sorted(SYSTEMS.values(), key=lambda system: int(system.id.removeprefix("P")))
    assert [system.name for system in order] == list(SHAPES)
    assert [int(system.id.removeprefix("P")) for system in order] == list(range(1, 15))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_the_published_ones(name: str) -> None:
    system, shape = PUBLISHED[name], SHAPES[name]
    counts = [*(axis.count for axis in system.axes.values()), system.times.count, system.dim]
    assert tuple(counts) == shape
    assert system.size == np.prod(shape)
    assert tuple(system.variables) == tuple(f"u{i}" for i in range(system.dim))
    assert system.targets == tuple(range(system.dim))
    assert not system.unseen
    for axis in system.axes.values():
        if axis.period is not None:
            assert axis.step * axis.count == pytest.approx(axis.period)


def test_every_generator_is_there_and_used() -> None:
    assert tuple(sorted(FIELD_GENERATORS)) == GENERATORS
    # The last is of fields that are drawn.
    assert {system.generator for system in SYSTEMS.values()} | {"periodic"} == set(GENERATORS)


def test_systems_made_together_share_their_grid_and_equations() -> None:
    flow, carried = SYSTEMS["navier_stokes_cylinder"], SYSTEMS["reaction_diffusion_cylinder"]
    assert flow.made_with == carried.made_with == carried.name
    assert (flow.axes, flow.times) == (carried.axes, carried.times)
    assert flow.truth == carried.truth[:2]
    # The pressure is known, and nobody is asked for its equation.
    assert (flow.targets, carried.targets) == ((0, 1), (0, 1, 3, 4, 5))
    assert "u2_x" in flow.truth[0]
    assert PUBLISHED[flow.name].truth == PUBLISHED[carried.name].truth[:3]
    assert PUBLISHED[flow.name].truth[2] == "0"


@pytest.mark.parametrize("name", sampled(FLOORS))
def test_fields_have_the_floor_of_the_published_ones(name: str) -> None:
    field = make_named(name, published=True)
    field.check(Path(name))
    assert field.u.shape == SHAPES[name]
    assert not field.periods
    np.testing.assert_allclose(
        field.grid["x"], np.linspace(field.grid["x"][0], field.grid["x"][-1], SHAPES[name][0])
    )
    assert floor(PUBLISHED[name], field) == pytest.approx(FLOORS[name], rel=0.08)
    series = np.moveaxis(field.u, -2, 0)
    if name != "navier_stokes_channel":  # whose series is longer than its samples
        du = np.asarray(np.gradient(series, field.t, axis=0, edge_order=2))
        np.testing.assert_allclose(known(field.du), np.moveaxis(du, 0, -2), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", sampled(BEST_FLOORS, least=2))
def test_the_truth_fits_the_fields_of_today(name: str) -> None:
    system = SYSTEMS[name]
    field = make_named(name)
    field.check(Path(name))
    periodic = {axis for axis, nodes in system.axes.items() if nodes.period is not None}
    assert set(field.periods) == periodic
    assert floor(system, field) < BEST_FLOORS[name]
    # Derivatives in time come from the solvers; differences of the states say the same.
    du = known(field.du)
    by_states = accurate_derivative(field.u, field.t, field.u.ndim - 2, 1)
    middle = (..., slice(4, -4), slice(None))
    # Only the ripples that nls's edges send out are faster than the samples.
    assert nmse(by_states[middle], du[middle]) < (4e-4 if name == "nls" else 1e-4)


@pytest.mark.parametrize(
    ("name", "off"),
    [
        pytest.param("burgers", 0.0, marks=pytest.mark.nightly),
        ("kuramoto_sivishinky", 0.0),
        pytest.param("reaction_diffusion_2d", 0.0, marks=pytest.mark.nightly),
        ("advection_diffusion_2d", 0.0),
        ("nls", 1e-4),
        pytest.param("kdv", 1e-4, marks=pytest.mark.nightly),
        ("advection1d", 2e-3),
    ],
)
def test_states_are_the_published_ones_but_for_their_slips(name: str, off: float) -> None:
    today, published = make_named(name).u, make_named(name, published=True).u
    size = float(np.sqrt((published**2).mean()))
    assert float(np.sqrt(((today - published) ** 2).mean())) <= off * size


def test_the_profile_that_is_advected_moves_by_whole_nodes_after_whole_times() -> None:
    u = make_named("advection1d").u[..., 0]
    assert (u.min(), u.max()) == pytest.approx((0.715, 0.832), abs=1e-3)
    np.testing.assert_allclose(u[:, 125], np.roll(u[:, 0], 128), atol=1e-12)
    # As published it jumps a little where a period ends.
    jumps = [
        np.abs(np.diff(make(systems["advection1d"]).u[:, 0, 0], n=3, append=each)).max()
        for systems, each in ((SYSTEMS, u[:3, 0]), (PUBLISHED, u[:3, 0]))
    ]
    assert jumps[1] > 20 * jumps[0]


def test_solitons_of_kdv_run_at_their_speeds() -> None:
    field = make_named("kdv")
    x, u = field.grid["x"], field.u[..., 0]
    for c, x0 in ((1.0, -20.0), (0.5, 5.0)):
        for i, t in ((50, 5.0), (150, 15.0)):
            near = np.abs(x - x0 - c * t) < 4
            centre = (x[near] * u[near, i] ** 4).sum() / (u[near, i] ** 4).sum()
            assert centre == pytest.approx(x0 + c * t, abs=0.05)
            assert u[near, i].max() == pytest.approx(c / 2, abs=1e-3)


def test_the_spiral_as_released_differs_by_its_tolerance_and_by_its_axes() -> None:
    right = make_named("reaction_diffusion_2d")
    released = make(PUBLISHED["reaction_diffusion_2d"], released=True)
    off = np.abs(released.u.swapaxes(0, 1) - right.u).max()
    assert off == pytest.approx(3.6e-3, rel=0.2)  # as measured on the published script


def test_what_was_published_in_single_precision() -> None:
    right = make_named("advection_diffusion_2d")
    released = make(PUBLISHED["advection_diffusion_2d"], released=True)
    assert not np.array_equal(released.u, right.u)
    np.testing.assert_array_equal(released.u, right.u.astype(np.float32))


def smaller(system: PdeSystem, count: int) -> PdeSystem:
    """The system on fewer nodes of each axis."""
    axes = {
        axis: replace(nodes, count=min(count, nodes.count)) for axis, nodes in system.axes.items()
    }
    return replace(system, axes=axes)


def test_the_box_of_soil_as_released_is_scrambled() -> None:
    box = smaller(PUBLISHED["heat_soil_uniform_3d_p1"], 12)
    right, released = make(box), make(box, released=True)
    np.testing.assert_allclose(np.ptp(right.u, axis=(0, 1)), 0, atol=0.7)
    assert np.ptp(released.u, axis=(0, 1)).max() > 3
    # As the file had it: x fastest, and then z read as the fastest.
    n_x, n_y, n_z = 12, 12, 11
    i, j, k = 3, 7, 10
    number = i + n_x * (j + n_y * k)
    place = (number // (n_y * n_z), number // n_z % n_y, number % n_z)
    np.testing.assert_array_equal(released.u[place], right.u[i, j, k])
    np.testing.assert_array_equal(np.sort(released.u.ravel()), np.sort(right.u.ravel()))


def test_soil_under_a_plane_is_soil_on_a_line() -> None:
    box = smaller(PUBLISHED["heat_soil_uniform_2d_p1"], 51)
    plane = make(replace(box, times=Nodes(300.0, 9000.0, 30)))
    line = make_named("heat_soil_uniform_1d_p1", published=True)
    np.testing.assert_allclose(plane.u[25, :, :, 0], line.u[:, :30, 0], atol=0.02)
    assert line.u[-1, 71, 0] == pytest.approx(10 + 10 * np.sin(7.27e-5 * 21600))
    assert line.u[0, -1, 0] == pytest.approx(10, abs=0.1)


@pytest.mark.parametrize("name", ["heat_soil_uniform_2d_p1", "heat_soil_uniform_3d_p1"])
def test_every_axis_of_the_soil_is_seen(name: str) -> None:
    """Least squares on all the second derivatives gives the diffusivity for each of them."""
    columns, rates, inside = last_fifth(make(SYSTEMS[name]))
    du = rates.reshape(-1)[inside]

    def fitted(*names: str) -> tuple[NDArray[np.float64], float]:
        terms = np.stack([columns[each].reshape(-1)[inside] for each in names], axis=1)
        sizes = np.sqrt(np.square(terms).mean(axis=0))
        found = np.linalg.lstsq(terms / sizes, du)[0] / sizes
        return found, nmse(terms @ found, du)

    *sideways, down = SYSTEMS[name].axes
    true = [f"u0_{2 * axis}" for axis in (*sideways, down)]
    found, error = fitted(*true)
    np.testing.assert_allclose(found / (2.3 / (1500.0 * 1600.0)), 1, atol=1e-5)
    assert error < 1e-12
    for i, axis in enumerate(sideways):
        others = [each for each in true if each != true[i]]
        assert fitted(*others)[1] > 1e-3
        # Of a single wave any even derivative would be a multiple of any other.
        for wrong in ("u0", f"u0_{4 * axis}"):
            assert fitted(*others, wrong)[1] > 1e-4


def test_the_laser_heats_by_its_power_and_is_labelled_a_step_late_as_released() -> None:
    plate = smaller(PUBLISHED["heat_laser"], 41)
    right, released = make(plate), make(plate, released=True)
    assert (right.t[0], released.t[0], released.t[-1]) == pytest.approx((0.1, 0.0, 1.9))
    c = plate.constants
    # Of the Gaussian beam, whose middle is at y = 0.02 * 0.05 s in the first step, this falls
    # on the plate, which begins at y = 0.
    share = (1 + erf(np.sqrt(c["k"]) * 0.001)) / 2
    volume = np.full(right.u.shape[:3], 0.1 * 0.1 * 0.001 / (40 * 40 * 2))
    for axis in range(3):
        for end in (0, -1):
            np.moveaxis(volume, axis, 0)[end] /= 2
    heat = (c["rho"] * c["c"] * (right.u[..., 0, 0] - 300) * volume).sum()
    assert heat == pytest.approx(share * 0.1 * c["rho"] * c["P"] * np.pi / c["k"] * 0.001, rel=0.02)
    # It heats fastest under the beam.
    i, j = np.unravel_index(known(right.du)[:, :, 0, 9, 0].argmax(), (41, 41))
    beam = 0.05 * (1 + 0.5 * np.sin(2 * np.pi * right.t[9] / 5)), 0.02 * right.t[9]
    assert (right.grid["x"][i], right.grid["y"][j]) == pytest.approx(beam, abs=0.003)


@pytest.mark.extension("laboratory")
def test_what_the_plate_loses_through_its_faces_stands_in_its_law() -> None:
    """The coefficients are derived (see the file), and least squares give the same."""
    from mdbench.extensions.laboratory.residuals import Samples, best_gain  # noqa: PLC0415 - it may be taken away

    system, plate = SYSTEMS["heat_laser"], make_named("heat_laser")
    columns, du, inside = last_fifth(plate, system.explicit)
    c = system.constants
    biot = c["h"] * c["d"] / (2 * c["kappa"])
    heat = parse(system.truth[0].partition(" - ")[2].partition(" + ")[2], tuple(columns)).evaluate(
        columns
    )
    cooled, diffused = columns["u0"] - c["T_a"], columns["u0_xx"] + columns["u0_yy"]
    parts = np.stack([each.reshape(-1)[inside] for each in (diffused, cooled, heat)], axis=-1)
    rate = du.reshape(-1)[inside]
    found = np.linalg.lstsq(parts, rate, rcond=None)[0]
    derived = c["kappa"] / (c["rho"] * c["c"]), -2 * c["h"] / (c["rho"] * c["c"] * c["d"]), 1.0
    # Face and mean differ by a third of the Biot number.
    np.testing.assert_allclose(found, derived, rtol=biot)
    assert floor(system, plate) < biot**2
    # Without it the loss is what the equation lacks, as the search for such terms says.
    samples = Samples(
        {name: columns[name].reshape(-1)[inside] for name in ("u0", "u0_x", "u0_xx", "t")},
        rate[:, None],
        (rate - parts[:, 1] * derived[1])[:, None],
        any_order=False,
    )
    gain = known(best_gain(["u0_t"], ["0"], samples))
    assert gain.beats
    assert gain.text == "u0, with a constant"
    assert gain.coefficient == pytest.approx(derived[1], rel=0.01)


def test_the_cylinder_s_two_datasets_come_from_one_flow() -> None:
    main = PUBLISHED["reaction_diffusion_cylinder"]
    setting = {**main.settings, "spacing": 0.05, "dt": 0.002, "steps": 22, "reaction_every": 2}
    systems = {
        system.name: replace(
            system,
            times=Nodes(0.02, 0.04, 6),
            axes={"x": Nodes(0.45, 1.3, 9), "y": Nodes(0.08, 0.33, 8)},
        )
        for system in (replace(main, settings=setting), PUBLISHED["navier_stokes_cylinder"])
    }
    for system in systems.values():
        made = make_fields(system, systems, released=False, progress=quiet)
        assert set(made) == set(systems)
    carried, flow = (made[name] for name in systems)
    assert carried.u.shape == (9, 8, 6, 6)
    np.testing.assert_array_equal(flow.u, carried.u[..., :3])
    inside = slice(1, -1)
    central = (carried.u[..., 2:, :] - carried.u[..., :-2, :]) / 0.008
    du, flow_du = known(carried.du)[..., :3], known(flow.du)
    np.testing.assert_allclose(known(carried.du)[..., inside, :], central, rtol=1e-6, atol=1e-9)
    # The flow's derivatives are taken over its own, shorter steps.
    assert not np.allclose(flow_du, du, rtol=1e-3)
    np.testing.assert_allclose(flow_du, du, atol=0.3 * np.abs(flow_du).max())


def test_recipes_follow_what_decides_the_arrays() -> None:
    system = SYSTEMS["burgers"]
    others = [
        replace(system, title="another"),
        replace(system, constants={"nu": 0.2}),
        replace(system, settings={"substeps": 60.0}),
        replace(system, times=Nodes(0.0, 5.0, 101)),
    ]
    recipes = [each.recipe for each in (system, *others)]
    assert recipes[0] == recipes[1]
    assert all(a != b for a, b in pairwise(recipes[1:]))


def test_constants_stand_in_the_truth_at_full_precision() -> None:
    assert SYSTEMS["burgers"].truth == ("-u0 * u0_x + 0.1 * u0_xx",)


@pytest.mark.parametrize(
    ("equation", "left"),
    [
        ("2 * (a + b) - b * c + c", "2 * a + c"),
        ("b - a", "-a"),
        ("-b", "0"),
        ("b * c", "0"),
        ("(a + b) / 2 + exp(-a)", "a / 2 + exp(-a)"),
        ("b / c + a ** 2", "a ** 2"),
    ],
)
def test_terms_can_be_left_out(equation: str, left: str) -> None:
    assert without(equation, {"b"}) == left


@pytest.mark.parametrize("equation", ["a / b", "exp(b)", "b ** 2", "2 ** b"])
def test_what_is_no_term_cannot_be_left_out(equation: str) -> None:
    with pytest.raises(ValueError, match="left out"):
        without(equation, {"b"})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"burgers"\ninitial', '"burger"\ninitial', r"no generator 'burger'\n.*mean burgers"),
        ("u0_xx", "u0_yy", r"u0_t = .*u0_yy.*no such name"),
        ("u0_xx", "u0_xxxxx", "no such name"),
        ("u0_xx", "t", "no such name"),
        ("x = {", "y = {", r"\[grid\] has the keys \['y', 't'\]"),
        ("nodes = 256", "nodes = 256.5", "nodes is a whole number"),
        ("nodes = 256, ", "", "keys first, last and nodes"),
        ("first = -8.0", "first = 8.0", "last above first"),
        ("[grid]", "extra = 1\n[grid]", "constants.extra"),
        ("substeps = 50", 'substeps = "50"', "solver.substeps = '50'"),
        ('id = "P1"', 'id = "one"', "id = 'one'"),
        (
            'boundary = "periodic"',
            'unseen = ["u0_xx"]\nboundary = "periodic"',
            "unseen has 'u0_xx'",
        ),
        ('boundary = "periodic"', 'unseen = ["u1_t: u0_xx"]\nboundary = "x"', "unseen has 'u1_t"),
        ('boundary = "periodic"', 'unseen = ["u0_t: w"]\nboundary = "x"', "u0_t = 'w': .*no such"),
        ("[solver]", "[published]\ncolour = 1\n[solver]", "unknown key published.'colour'"),
        ("[equations]", '[equations]\nu1_t = "0"', r"\[equations\] \['u1_t', 'u0_t'\]"),
        ('boundary = "periodic"', 'explicit = ["z"]\nboundary = "periodic"', "explicit has 'z'"),
        ('boundary = "periodic"', "", "'boundary' is missing"),
        ('boundary = "periodic"', 'boundary = "periodic"\ncolour = "red"', "unknown key 'colour'"),
    ],
)
def test_a_system_s_file_with_a_slip_is_refused(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    text = (FOLDER / "burgers.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_system(path)


def test_a_setting_that_the_generator_lacks_is_named() -> None:
    with pytest.raises(DataError, match=r"burgers .*'substeps'"):
        make(replace(SYSTEMS["burgers"], settings={}))
    axis = replace(SYSTEMS["burgers"].axes["x"], period=None)
    with pytest.raises(DataError, match=r"grid\.x has no period"):
        make(replace(SYSTEMS["burgers"], axes={"x": axis}))
