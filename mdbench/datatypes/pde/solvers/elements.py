"""Heat conduction by finite elements: linear elements, implicit Euler, one factorisation.

The matrices do not change over time, so each is factorised once and every step is a pair of
triangular solves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from skfem import (
    Basis,
    ElementLineP1,
    ElementTetP1,
    ElementTriP1,
    FacetBasis,
    MeshLine,
    MeshTet,
    MeshTri,
)
from skfem.models.poisson import laplace, mass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Progress = Callable[[float], None]

_SIMPLEX = {1: (MeshLine, ElementLineP1), 2: (MeshTri, ElementTriP1), 3: (MeshTet, ElementTetP1)}
_SOURCE_ORDER = 2
"""Degree of the source's quadrature; degree 4 changes 1520 K by 0.002 K and takes 2 GB more."""


@dataclass(frozen=True)
class Quadrature:
    """A finite-element space at the quadrature points of a mesh, as sparse matrices.

    With `values` V, `weights` w and a function f at the points, ``V.T @ (w * f)`` is the load
    vector of f; ``V @ c`` are the values of the function with coefficients c.

    Attributes
    ----------
    values
        From coefficients to values, (n_points, n_dofs).
    gradients
        From coefficients to each partial derivative, likewise.
    weights
        (n_points,).
    points
        Places, (dim, n_points).
    """

    values: Any
    gradients: tuple[Any, ...]
    weights: Array
    points: Array

    @classmethod
    def of(cls, basis: Any) -> Quadrature:
        """Tabulate a basis of scikit-fem, over cells or over facets."""
        shape = basis.dx.shape
        functions = [each[0] for each in basis.basis]
        rows = np.tile(np.arange(basis.dx.size), len(functions))
        columns = np.repeat(basis.element_dofs[:, :, None], shape[1], axis=2).ravel()

        def matrix(tables: list[Array]) -> Any:
            data = np.concatenate([np.broadcast_to(table, shape).ravel() for table in tables])
            return sp.csr_array((data, (rows, columns)), (basis.dx.size, basis.N))

        return cls(
            values=matrix([np.asarray(function) for function in functions]),
            gradients=tuple(
                matrix([function.grad[i] for function in functions])
                for i in range(basis.mesh.dim())
            ),
            weights=basis.dx.ravel(),
            points=np.asarray(basis.global_coordinates()).reshape(basis.mesh.dim(), -1),
        )

    def load(self, f: Array) -> Array:
        """Integrate f, given at the points, against every basis function."""
        load: Array = self.values.T @ (self.weights * f)
        return load


def kuhn_mesh(axes: Sequence[Array]) -> Any:
    """Triangulate a box whose nodes are a grid, each cell along its diagonal.

    Every cell is split into one simplex for each order in which the axes can be walked from its
    lowest to its highest corner: 2 triangles or 6 tetrahedra (Kuhn's triangulation).

    Parameters
    ----------
    axes
        The nodes of each axis; node (i, j, k) of the mesh has its number in C order.

    Returns
    -------
    A mesh of scikit-fem.
    """
    counts = [len(axis) for axis in axes]
    numbers = np.arange(np.prod(counts)).reshape(counts)
    corners = {
        corner: numbers[
            tuple(slice(i, n - 1 + i) for i, n in zip(corner, counts, strict=True))
        ].ravel()
        for corner in product((0, 1), repeat=len(axes))
    }
    simplices = []
    for order in permutations(range(len(axes))):
        walk = [tuple(int(axis in order[:step]) for axis in range(len(axes)))
                for step in range(len(axes) + 1)]  # fmt: skip
        simplices.append(np.stack([corners[corner] for corner in walk]))
    points = np.stack([place.ravel() for place in np.meshgrid(*axes, indexing="ij")])
    return _SIMPLEX[len(axes)][0](points, np.hstack(simplices))


def factorised(matrix: Any) -> Callable[[Array], Array]:
    """Factorise a matrix of symmetric structure whose diagonal is dominant enough as a pivot."""
    options = {"SymmetricMode": True}
    factors = splu(
        sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options=options
    )
    solve: Callable[[Array], Array] = factors.solve
    return solve


def soil(
    axes: Sequence[Array],
    dt: float,
    n_steps: int,
    *,
    diffusivity: float,
    initial: float,
    surface: Callable[[float], float],
    progress: Progress,
) -> Array:
    """Solve ``u_t = diffusivity lap u`` below a surface whose temperature is given.

    The surface is the end of the last axis; no heat flows through the other faces.

    Parameters
    ----------
    axes
        The nodes of each axis.
    dt, n_steps
        The times of the answer: dt, 2 dt, ..., n_steps dt.
    initial
        The temperature everywhere at time 0.
    surface
        The temperature of the surface at a time.
    progress
        Called with the part that is done, from 0 to 1.

    Returns
    -------
    (n_x[, n_y[, n_z]], n_steps)
    """
    mesh = kuhn_mesh(axes)
    basis = Basis(mesh, _SIMPLEX[len(axes)][1]())
    m, k = mass.assemble(basis), laplace.assemble(basis)
    a = sp.csr_array(m + dt * diffusivity * k)
    at_top = mesh.p[-1] == axes[-1][-1]
    free = np.flatnonzero(~at_top)
    coupling = a[free][:, np.flatnonzero(at_top)].sum(axis=1)
    solve = factorised(a[free][:, free])
    u = np.full(mesh.nvertices, initial)
    answer = np.empty((mesh.nvertices, n_steps))
    for step in range(n_steps):
        progress(step / n_steps)
        temperature = surface((step + 1) * dt)
        u[free] = solve((m @ u)[free] - coupling * temperature)
        u[at_top] = temperature
        answer[:, step] = u
    return answer.reshape(*(len(axis) for axis in axes), n_steps)


def heated_slab(
    axes: Sequence[Array],
    dt: float,
    n_steps: int,
    *,
    capacity: float,
    conductivity: float,
    transfer: float,
    ambient: float,
    source: Callable[[Array, float], Array],
    source_at: float,
    progress: Progress,
) -> Array:
    """Solve ``capacity T_t = conductivity lap T + source`` in a body that cools at its surface.

    Through the whole surface flows ``transfer (T - ambient)``; all is at `ambient` in the
    beginning.

    Parameters
    ----------
    axes, dt, n_steps, progress
        As for `soil`.
    capacity, conductivity, transfer
        In J/(m^3 K), W/(m K) and W/(m^2 K).
    source
        Heat in W/m^3, from places (dim, n) and a time.
    source_at
        At which part of a step the source is taken: 0 at its begin, 0.5 in its middle.

    Returns
    -------
    (n_x[, n_y[, n_z]], n_steps)
        The temperature at dt, 2 dt, ...
    """
    mesh = kuhn_mesh(axes)
    element = _SIMPLEX[len(axes)][1]()
    basis = Basis(mesh, element)
    surface = FacetBasis(mesh, element)
    m = capacity / dt * mass.assemble(basis)
    solve = factorised(
        m + conductivity * laplace.assemble(basis) + transfer * mass.assemble(surface)
    )
    cooling = transfer * ambient * Quadrature.of(surface).load(np.ones(surface.dx.size))
    cells = Quadrature.of(Basis(mesh, element, intorder=_SOURCE_ORDER))
    u = np.full(mesh.nvertices, ambient)
    answer = np.empty((mesh.nvertices, n_steps))
    for step in range(n_steps):
        progress(step / n_steps)
        u = solve(m @ u + cells.load(source(cells.points, (step + source_at) * dt)) + cooling)
        answer[:, step] = u
    return answer.reshape(*(len(axis) for axis in axes), n_steps)
