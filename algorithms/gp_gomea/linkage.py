"""Which nodes of the template belong together: a tree of sets of nodes, from a population.

Thierens and Bosman, GECCO 2011, 617-624 (the linkage tree); Virgolin, Alderliesten, Witteveen and
Bosman, Evolutionary Computation 29, 211-237, 2021, doi:10.1162/evco_a_00278 (its use for trees).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["linkage_sets", "mutual_information"]


def mutual_information(symbols: NDArray[np.integer], count: int) -> Array:
    """Return the mutual information of each pair of nodes over a population, in nats.

    Parameters
    ----------
    symbols
        What stands at each node, from 0 to `count` - 1, (m, nodes).

    Returns
    -------
    ndarray
        (nodes, nodes); the entropy of each node on the diagonal.
    """
    m, nodes = symbols.shape
    marked = np.zeros((m, nodes, count), dtype=np.float32)
    np.put_along_axis(marked, symbols[..., None].astype(np.intp), 1.0, axis=2)
    flat = marked.reshape(m, -1)
    joint = (flat.T @ flat).astype(np.float64).reshape(nodes, count, nodes, count) / m
    logs = np.log(np.where(joint > 0, joint, 1.0))
    together = -np.einsum("iajb,iajb->ij", joint, logs)
    single = np.diag(together)
    return np.asarray(single[:, None] + single[None, :] - together)


def linkage_sets(similarity: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the sets of a linkage tree, all but the one of all nodes, (2 nodes - 2, nodes).

    The two most alike sets are joined, again and again; the likeness of two sets is the mean of
    that of their nodes (UPGMA).  Of equals one is drawn.

    Parameters
    ----------
    similarity
        Of each pair of nodes, (nodes, nodes).
    """
    n = len(similarity)
    sets = [np.eye(n, dtype=bool)[k] for k in range(n)]
    found = list(sets)
    alike = similarity + rng.uniform(0, 1e-9, similarity.shape)
    alike = (alike + alike.T) / 2
    np.fill_diagonal(alike, -np.inf)
    sizes = np.ones(n)
    for _ in range(n - 2):
        a, b = divmod(int(np.argmax(alike)), len(alike))
        a, b = min(a, b), max(a, b)
        joined = (alike[a] * sizes[a] + alike[b] * sizes[b]) / (sizes[a] + sizes[b])
        alike[a], alike[:, a] = joined, joined
        alike[a, a] = -np.inf
        alike = np.delete(np.delete(alike, b, axis=0), b, axis=1)
        sizes[a] += sizes[b]
        sizes = np.delete(sizes, b)
        sets[a] = sets[a] | sets.pop(b)
        found.append(sets[a])
    return np.stack(found)
