"""What noisy fields say of their equations, against closed forms and brute force."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from eqverdict.expand import expand
from mdbench import datatypes
from mdbench.data.derivatives import accurate_derivative
from mdbench.data.field import Field
from mdbench.datatypes.equations.identifiability import all_findings, identifiability
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.pde.information import FieldInformation
from mdbench.workspace import Workspace

Array = NDArray[np.float64]

N = 24
X = np.arange(N) / N
T = np.linspace(0.0, 1.0, 41)
LEFT_OUT = {"heat_laser", "heat_soil_uniform_3d_p1", "reaction_diffusion_cylinder"}
"""Fields with constants inside a function, and fields in too many boxes."""
FIELDS = sorted(path.stem for path in (Workspace.find().root / "datasets" / "pde").glob("*.toml"))


def periodic(u: Array, t: Array = T) -> Field:
    return Field(t, {"x": X}, u[..., None], periods={"x": 1.0})


def errors_of(information: FieldInformation) -> Array:
    return np.asarray(np.sqrt(np.diag(information.covariance())))


def test_a_speed_has_the_error_of_the_closed_form() -> None:
    """Of a wave of unknown form that travels, each time shows where it is."""
    speed = 0.2
    phase = 2 * np.pi * (X[:, None] - speed * T)
    u = np.sin(phase) + 0.3 * np.cos(2 * phase)
    slope = 2 * np.pi * (np.cos(phase) - 0.6 * np.sin(2 * phase))
    found = FieldInformation({0: f"-{speed}*u0_x"}, periodic(u), deviations=np.ones((N, 41, 1)))
    information = speed**2 * np.sum(slope[:, 0] ** 2) * np.sum((T - T.mean()) ** 2)
    assert errors_of(found) == pytest.approx([information**-0.5], rel=1e-3)


def test_a_diffusivity_has_the_error_of_a_line_of_decay() -> None:
    """A single wave decays: its height and its rate are two unknowns, all other waves are zero."""
    rate = 0.03 * (2 * np.pi) ** 2
    shape, decay = np.cos(2 * np.pi * X)[:, None], np.exp(-rate * T)
    found = FieldInformation(
        {0: "0.03*u0_xx"}, periodic(shape * decay), deviations=np.full((N, 41, 1), 0.5)
    )
    directions = np.stack([(shape * decay).ravel(), (-rate * shape * T * decay).ravel()], axis=1)
    covariance = np.linalg.inv(directions.T @ directions / 0.25)
    assert errors_of(found) == pytest.approx([covariance[1, 1] ** 0.5], rel=1e-3)


def simulated(moves: Array) -> Array:
    """Solve ``u_t = a u u_x + b u_xx + c`` from many (a, b, c, start) at once, (m, 3 + N)."""
    (a, b, c), u = moves[:, :3].T[..., None], moves[:, 3:]

    def rates(u: Array) -> Array:
        u_x, u_xx = (accurate_derivative(u, X, 1, order, period=1.0) for order in (1, 2))
        return np.asarray(a * u * u_x + b * u_xx + c)

    found, steps = [u], 10
    h = (T[1] - T[0]) / steps
    for step in range(steps * (len(T) - 1)):
        first = rates(u)
        second = rates(u + h / 2 * first)
        third = rates(u + h / 2 * second)
        u = u + h / 6 * (first + 2 * second + 2 * third + rates(u + h * third))
        if step % steps == steps - 1:
            found.append(u)
    return np.stack(found, axis=-1)


def test_errors_and_misfits_are_those_of_simulations() -> None:
    """Each constant and each value of the start is moved, and the field simulated again."""
    start = 1.3 + np.sin(2 * np.pi * X)
    truth = np.concatenate([[-0.4, 0.02, 0.0], start])
    (u,) = simulated(truth[None])
    found = FieldInformation({0: "-0.4*u0*u0_x + 0.02*u0_xx"}, periodic(u))

    def differences(moves: Array) -> tuple[Array, Array]:
        """Return them in units of the noise, and their derivatives by each number."""
        several = simulated(moves + np.vstack([np.zeros(3 + N), 1e-6 * np.eye(3 + N)]))
        all_of_them = ((several - u) / np.abs(u)).reshape(len(several), -1)
        return all_of_them[0], (all_of_them[1:] - all_of_them[0]).T / 1e-6

    own = np.delete(differences(truth)[1], 2, axis=1)
    covariance = np.linalg.inv(own.T @ own)[:2, :2] / np.outer(truth[:2], truth[:2])
    assert found.covariance() == pytest.approx(covariance, rel=0.02)
    # The best equation with a constant in the place of diffusion, and the best start for it.
    (_, diffusion) = found.terms()
    assert (diffusion.term, diffusion.rival) == ("u0_xx", "-0.4557*u0*u0_x + 0.3707")
    best = np.concatenate([[-0.4557, 0.0, 0.3707], start])
    for _ in range(12):
        left, directions = differences(best)
        directions[:, 1] = 0.0  # no diffusion
        best = best - np.linalg.lstsq(directions, left, rcond=None)[0]
    assert diffusion.misfit == pytest.approx(np.sum(differences(best)[0] ** 2), rel=0.05)
    assert best[[0, 2]] == pytest.approx([-0.4557, 0.3707], rel=0.1)


def test_a_single_wave_has_rivals_that_are_the_same() -> None:
    """Its third derivative is a multiple of the first one, its second of itself.

    The other way round they are no rivals: an order that is higher is no simpler equation.
    """
    phase = 2 * np.pi * (X[:, None] - 0.2 * T)
    factor = (2 * np.pi) ** 2
    given = periodic(np.sin(phase))
    (found,) = FieldInformation({0: f"{0.2 / factor}*u0_xxx"}, given).terms()
    assert found.misfit < 1e-6
    assert found.rival == "-0.2*u0_x"
    (found,) = FieldInformation({0: "-0.2*u0_x"}, given).terms()
    assert found.misfit > 10
    wave = np.cos(2 * np.pi * X)[:, None] * np.exp(-0.03 * factor * T)
    (found,) = FieldInformation({0: "0.03*u0_xx"}, periodic(wave)).terms()
    assert found.misfit < 1e-6
    assert found.rival == "-1.184*u0"


def test_a_rival_is_fitted_with_its_own_dynamics() -> None:
    """Two waves decay at two rates, of which other terms have other ratios; starts are free."""
    waves = 2 * np.pi * np.array([1.0, 2.0])  # on a period of five units
    x, t = 5 * X, np.linspace(0.0, 0.6, 61)
    shapes = np.cos(waves[:, None] * x)
    decays = np.exp(-0.03 * waves[:, None] ** 2 * t)
    given = Field(t, {"x": x}, (shapes.T @ decays)[..., None], periods={"x": 5.0})
    deviation = 1.5
    information = FieldInformation(
        {0: "0.03*u0_xx"}, given, deviations=np.full((N, len(t), 1), deviation)
    )
    (found,) = information.terms()

    def misfit(rate: float) -> float:
        """The squares that are left of both waves, each with the height that is best for it."""
        left = 0.0
        for shape, decay in zip(shapes, decays, strict=True):
            other = np.exp(-rate * t)
            best = (decay @ other) / (other @ other) * other
            left += float(shape @ shape * np.sum((decay - best) ** 2))
        return left / deviation**2

    best = minimize_scalar(misfit, bounds=(0.5, 5.0), method="bounded").fun
    assert found.rival.endswith("*u0")
    assert found.misfit == pytest.approx(best, rel=0.01)


def test_boxes_know_less_than_the_whole_but_most_of_it() -> None:
    """Two states on a plane, one of them without an equation."""
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 14), indexing="ij")
    waves = rng.normal(size=(2, 3))
    t = np.linspace(0, 1, 11)
    u = np.stack(
        [
            2
            + sum(
                a * np.sin((i + 1) * (x + 0.5 * y))[..., None] * np.exp(-t)
                for i, a in enumerate(each)
            )
            for each in waves
        ],
        axis=-1,
    )
    given = Field(t, {"x": np.linspace(0, 1, 12), "y": np.linspace(0, 1, 14)}, u)
    equations = {0: "0.1*u0_xx + 0.1*u0_yy - 0.7*u0*u1_y"}
    whole = FieldInformation(equations, given)
    parts = FieldInformation(equations, given, largest=180)
    less = np.linalg.inv(whole.covariance()) - np.linalg.inv(parts.covariance())
    assert np.linalg.eigvalsh(less).min() > 0
    assert (errors_of(parts) < 4 * errors_of(whole)).all()


def test_what_no_sample_shows_has_a_huge_error() -> None:
    """A field that is the same along y, and one whose two terms are multiples of each other."""
    shape, decay = np.cos(2 * np.pi * X)[:, None], np.exp(-0.03 * (2 * np.pi) ** 2 * T)
    flat = np.repeat((shape * decay)[:, None, :, None], 12, axis=1)
    plane = Field(T, {"x": X, "y": np.arange(12) / 12}, flat, periods={"x": 1.0, "y": 1.0})
    along, across = errors_of(FieldInformation({0: "0.03*u0_xx + 0.03*u0_yy"}, plane))
    assert along < 1
    assert across > 1e4
    both = FieldInformation({0: "0.02*u0_xx - 0.39478*u0"}, periodic(shape * decay))
    assert errors_of(both).min() > 1e4


@pytest.mark.parametrize("name", FIELDS)
def test_the_file_has_the_terms_of_each_field(name: str) -> None:
    known = all_findings("pde")
    kind = datatypes.find("pde", Workspace.find().datasets / "pde", Workspace.find().arrays / "pde")
    laws = kind.source().laws(name)
    if name in LEFT_OUT:
        assert name not in known
        return
    findings = known[name]
    features = sorted({word for law in laws for word in re.findall(r"\bu\d\w*", law)})
    terms = [expand(law, tuple(features)) for law in laws]
    assert sum(map(len, terms)) == len(findings.terms)
    # In a flow without sources two terms are one.
    assert identifiability(findings, 10.0).is_possible is not name.startswith("navier_stokes")


@pytest.mark.slow
def test_the_file_has_what_is_computed() -> None:
    place = Workspace.find()
    source = datatypes.find("pde", place.datasets / "pde", place.arrays / "pde").source()
    dataset = source.load("burgers", snr_db=None, seed=0, protocol=Protocol.STRICT)
    made, kept = FieldInformation.of_dataset(dataset).findings(), all_findings("pde")["burgers"]
    assert made.limits == pytest.approx(kept.limits, abs=0.02)
    for one, other in zip(made.terms, kept.terms, strict=True):
        assert (one.error, one.misfit) == pytest.approx((other.error, other.misfit), rel=0.01)
        assert one.rival == other.rival
