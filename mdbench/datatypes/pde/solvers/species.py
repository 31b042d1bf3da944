"""Reactants that a flow carries along, and their product, by finite elements.

``c_t + w . grad c = diffusivity lap c + feed - rate c1 c2`` for the reactants c1 and c2, each fed
in its disc, and ``+ rate c1 c2 - rate c3`` for the product c3; no diffusive flux through the rim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from mdbench.datatypes.pde.solvers.elements import factorised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.datatypes.pde.solvers.elements import Quadrature
    from mdbench.datatypes.pde.solvers.navier_stokes import Flow, Spaces

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reaction:
    """Two reactants that enter at two discs and form a product that decays.

    Attributes
    ----------
    diffusivity, rate
        Of all three species; `rate` is that of the reaction and that of the decay.
    feed
        Of a reactant inside its disc.
    discs
        The centres of the two discs.
    radius
        Of both discs.
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
    """Tell for each disc which points lie in it: 1, or else 0."""
    return [
        (np.hypot(*(space.points - np.array(disc)[:, None])) < reaction.radius).astype(np.float64)
        for disc in reaction.discs
    ]
