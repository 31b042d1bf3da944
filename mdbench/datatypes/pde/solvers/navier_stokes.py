"""Incompressible flow in the plane by the incremental pressure correction scheme (IPCS).

Taylor-Hood elements (quadratic velocity, linear pressure).  Each step has a tentative velocity with
the old pressure, implicit in the viscous term by the midpoint rule and explicit in convection; then
the new pressure from its divergence; then a velocity that is free of divergence (Goda, J.  Comput.
Phys. 30, 76 (1979); variational form: Langtangen and Logg, Solving PDEs in Python, section 3.4).
All three matrices are constant and factorised once.

Two reactants and their product are carried along by the flow:
``c_t + w . grad c = diffusivity lap c + feed - rate c1 c2`` for the reactants c1 and c2, each fed
in its disc, and ``+ rate c1 c2 - rate c3`` for the product c3; no diffusive flux through the rim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from skfem import Basis, ElementTriP1, ElementTriP2, FacetBasis

from mdbench.datatypes.pde.solvers.elements import Quadrature, factorised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Where = Callable[[Array], NDArray[np.bool_]]

_DEGREE = 5
"""Convection of quadratic functions against quadratic ones: integrated exactly."""


@dataclass(frozen=True)
class Flow:
    """Velocity and pressure at a time, as coefficients.

    Attributes
    ----------
    velocity
        (2, n), in quadratic elements.
    pressure
        (m,), in linear ones.
    """

    velocity: Array
    pressure: Array


@dataclass(frozen=True)
class Walls:
    """Boundary conditions.

    Attributes
    ----------
    velocity_at, velocity
        Where the velocity is given, by places (2, n), and what it is there, (2, n).
    pressure_at, pressure
        The same for the pressure, (n,).
    """

    velocity_at: Where
    velocity: Callable[[Array], Array]
    pressure_at: Where
    pressure: Callable[[Array], Array]


class Spaces:
    """The finite-element spaces of a mesh, tabulated at the same quadrature points.

    Parameters
    ----------
    mesh
        A triangle mesh of scikit-fem.
    """

    def __init__(self, mesh: Any) -> None:
        self.quadratic = Basis(mesh, ElementTriP2(), intorder=_DEGREE)
        self.linear = Basis(mesh, ElementTriP1(), intorder=_DEGREE)
        self.u = Quadrature.of(self.quadratic)
        self.p = Quadrature.of(self.linear)
        rim = FacetBasis(mesh, ElementTriP2(), intorder=_DEGREE)
        self.rim_u = Quadrature.of(rim)
        self.rim_p = Quadrature.of(FacetBasis(mesh, ElementTriP1(), intorder=_DEGREE))
        self.normals = np.asarray(rim.normals).reshape(2, -1)


def ipcs(
    spaces: Spaces,
    walls: Walls,
    *,
    density: float,
    viscosity: float,
    dt: float,
    start: Callable[[Array], Array] = np.zeros_like,
    extrapolate: bool = False,
) -> Iterator[Flow]:
    """Solve ``density (u_t + u . grad u) = viscosity lap u - grad p``, ``div u = 0``.

    Where no velocity is given, the flow leaves as if the channel went on unchanged.

    Parameters
    ----------
    start
        The velocity at time 0 by places (2, n); it is at rest by default.
    extrapolate
        Whether convection is extrapolated to the middle of a step from its begin and that of the
        step before (Adams and Bashforth).  That makes the velocity one of second order in time.
        The pressure of a step then is that in its middle; else it is about that at its begin.

    Yields
    ------
    Flow
        The flow at dt, 2 dt, ..., without end.
    """
    u, p = spaces.u, spaces.p
    w = sp.diags_array(u.weights)
    mass = sp.csr_array(u.values.T @ w @ u.values)
    drag = viscosity / 2 * _friction(spaces)
    inertia = density / dt * sp.block_diag([mass, mass])
    push = _pressure_force(spaces)
    stiffness = sp.csr_array(sum(g.T @ w @ g for g in p.gradients))
    divergence = [p.values.T @ w @ g for g in u.gradients]
    slope = [u.values.T @ w @ g for g in p.gradients]

    nodes, corners = spaces.quadratic.doflocs, spaces.linear.doflocs
    fixed = np.flatnonzero(walls.velocity_at(nodes))
    tentative = _Constrained(
        inertia + drag,
        np.concatenate([fixed, fixed + nodes.shape[1]]),
        walls.velocity(nodes[:, fixed]).ravel(),
    )
    held = np.flatnonzero(walls.pressure_at(corners))
    poisson = _Constrained(stiffness, held, walls.pressure(corners[:, held]))
    project = factorised(mass)

    velocity = start(nodes)
    pressure = np.zeros(corners.shape[1])
    before: Array | None = None
    while True:
        flow = u.values @ velocity.T
        convection = np.concatenate(
            [
                u.load(flow[:, 0] * (u.gradients[0] @ c) + flow[:, 1] * (u.gradients[1] @ c))
                for c in velocity
            ]
        )
        if extrapolate:
            lagged = convection if before is None else before
            before, convection = convection, 1.5 * convection - 0.5 * lagged
        old = velocity.ravel()
        right = inertia @ old - drag @ old - density * convection + push @ pressure
        guess = tentative.solve(right).reshape(velocity.shape)
        leak = divergence[0] @ guess[0] + divergence[1] @ guess[1]
        new = poisson.solve(stiffness @ pressure - density / dt * leak)
        change = new - pressure
        velocity = np.stack(
            [
                project(mass @ c - dt / density * (g @ change))
                for c, g in zip(guess, slope, strict=True)
            ]
        )
        pressure = new
        yield Flow(velocity, pressure)


class _Constrained:
    """A linear system some of whose unknowns are given."""

    def __init__(self, matrix: Any, fixed_nodes: NDArray[np.intp], values: Array) -> None:
        matrix = sp.csr_array(matrix)
        self._free = np.setdiff1d(np.arange(matrix.shape[0]), fixed_nodes)
        self._known = matrix[self._free][:, fixed_nodes] @ values
        self._solve = factorised(matrix[self._free][:, self._free])
        self._answer = np.zeros(matrix.shape[0])
        self._answer[fixed_nodes] = values

    def solve(self, right: Array) -> Array:
        answer = self._answer.copy()
        answer[self._free] = self._solve(right[self._free] - self._known)
        return answer


def _friction(spaces: Spaces) -> Any:
    """Assemble ``2 eps(u) : eps(v)``, less what the rim adds where the flow is developed."""
    dx, dy = spaces.u.gradients
    w = sp.diags_array(spaces.u.weights)
    xx, yy, xy = dx.T @ w @ dx, dy.T @ w @ dy, dy.T @ w @ dx
    inside = sp.block_array([[2 * xx + yy, xy], [xy.T, xx + 2 * yy]])
    rim = spaces.rim_u
    outward = [
        [rim.values.T @ sp.diags_array(rim.weights * n) @ g for n in spaces.normals]
        for g in rim.gradients
    ]
    return sp.csr_array(inside - sp.block_array(outward))


def _pressure_force(spaces: Spaces) -> Any:
    """Assemble ``p div v``, less ``p n . v`` on the rim."""
    w = sp.diags_array(spaces.u.weights)
    rim, rim_p = spaces.rim_u, spaces.rim_p
    return sp.csr_array(
        sp.vstack(
            [
                g.T @ w @ spaces.p.values
                - rim.values.T @ sp.diags_array(rim.weights * n) @ rim_p.values
                for g, n in zip(spaces.u.gradients, spaces.normals, strict=True)
            ]
        )
    )


@dataclass(frozen=True)
class Reaction:
    """Two reactants that enter at two discs and form a product that decays.

    Attributes
    ----------
    diffusivity, rate
        The diffusivity of all three species; the rate of reaction and of decay.
    feed
        Of a reactant inside its disc.
    discs
        The centres of the two discs.
    radius
        The radius of both discs.
    """

    diffusivity: float
    rate: float
    feed: float
    discs: tuple[tuple[float, float], tuple[float, float]]
    radius: float


class LinearSpecies:
    """Linear elements and implicit Euler, as in the published data.

    The product c1 c2 is found by iteration, so that all species have matrices that are linear.

    Attributes
    ----------
    c
        The reactants c1 and c2 and their product c3 as coefficients, (3, m).
    """

    def __init__(self, spaces: Spaces, reaction: Reaction, dt: float) -> None:
        p = spaces.p
        w = sp.diags_array(p.weights)
        self._spaces, self._reaction = spaces, reaction
        self._mass = sp.csr_array(p.values.T @ w @ p.values) / dt
        self._diffusion = reaction.diffusivity * sum(g.T @ w @ g for g in p.gradients)
        self._feed = [p.load(reaction.feed * disc) for disc in _inside(reaction, p)]
        self._decay = reaction.rate * dt * self._mass
        self.c = np.zeros((3, p.values.shape[1]))

    def advance(self, flow: Flow) -> None:
        """Make one step, with the velocity at its end."""
        p, u = self._spaces.p, self._spaces.u
        carried = sum(
            sp.diags_array(p.weights * (u.values @ c)) @ g
            for c, g in zip(flow.velocity, p.gradients, strict=True)
        )
        matrix = self._mass + self._diffusion + p.values.T @ carried
        solve, solve_product = factorised(matrix), factorised(matrix + self._decay)
        old = (self._mass @ self.c.T).T
        c1, c2 = self.c[:2]
        while True:
            lost = p.load(self._reaction.rate * (p.values @ c1) * (p.values @ c2))
            before = c1, c2
            c1, c2 = (solve(old[i] + self._feed[i] - lost) for i in range(2))
            change = max(np.abs(c1 - before[0]).max(), np.abs(c2 - before[1]).max())
            if change <= 1e-12 * self._reaction.feed:
                break
        self.c = np.stack([c1, c2, solve_product(old[2] + lost)])


class QuadraticSpecies:
    """Quadratic elements, and second order in time with one matrix for all steps.

    Diffusion by the midpoint rule; all else is extrapolated from this step and the last one
    (Adams and Bashforth), the first of which is as the one before.

    Attributes
    ----------
    c
        The reactants c1 and c2 and their product c3 as coefficients, (3, n).
    """

    def __init__(self, spaces: Spaces, reaction: Reaction, dt: float) -> None:
        u = spaces.u
        w = sp.diags_array(u.weights)
        mass = sp.csr_array(u.values.T @ w @ u.values) / dt
        drag = reaction.diffusivity / 2 * sum(g.T @ w @ g for g in u.gradients)
        self._u, self._rate = u, reaction.rate
        self._old = sp.csr_array(mass - drag)
        self._solve = factorised(mass + drag)
        self._feed = reaction.feed * np.stack(_inside(reaction, u))
        self._change: Array | None = None
        self._velocity = np.zeros((2, u.values.shape[1]))
        self.c = np.zeros((3, u.values.shape[1]))

    def advance(self, flow: Flow) -> None:
        """Make one step, at whose end the velocity is this; at time 0 all is at rest."""
        u = self._u
        values = u.values @ self.c.T
        made = self._rate * values[:, 0] * values[:, 1]
        change = np.stack(
            [self._feed[0] - made, self._feed[1] - made, made - self._rate * values[:, 2]]
        )
        for component, gradient in zip(self._velocity, u.gradients, strict=True):
            change -= (u.values @ component) * (gradient @ self.c.T).T
        load = (u.values.T @ (u.weights * change).T).T
        before = load if self._change is None else self._change
        right = (self._old @ self.c.T).T + 1.5 * load - 0.5 * before
        self.c = np.stack([self._solve(each) for each in right])
        self._change, self._velocity = load, flow.velocity


def _inside(reaction: Reaction, space: Quadrature) -> list[Array]:
    """Return for each disc which points lie in it: 1, or else 0."""
    return [
        (np.hypot(*(space.points - np.array(disc)[:, None])) < reaction.radius).astype(np.float64)
        for disc in reaction.discs
    ]
