"""The selection of a candidate: accuracy against simplicity.

The rule is that of Ziaei Bideh et al., "MDBench", AAAI 2026, with the order of equals as in
the code behind the published tables.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def fitness(nmse: float, complexity: int, *, weight: float = 1.0, length: float = 200.0) -> float:
    """Weigh accuracy against simplicity; higher is better.

    ``1 / (1 + nmse) + weight * exp(-complexity / length)``

    Parameters
    ----------
    nmse
        Normalised mean squared error, 0 or more; an infinite one earns nothing for accuracy.
    complexity
        Number of nodes, summed over the equations of a candidate.
    weight
        How much simplicity counts (the paper's lambda).
    length
        The complexity at which simplicity has lost a factor of e (the paper's L).

    Returns
    -------
    float
        Between 0 and ``1 + weight``.
    """
    return 1.0 / (1.0 + nmse) + weight * math.exp(-complexity / length)


def best_by_complexity(losses: Sequence[float], complexities: Sequence[int]) -> list[int]:
    """Keep the candidate of lowest loss at each complexity.

    Parameters
    ----------
    losses
        One loss a candidate, lower is better; candidates whose loss is not finite are left out.
    complexities
        One complexity a candidate.

    Returns
    -------
    list of int
        Indices of the candidates kept, in ascending order of complexity; of equal losses the
        first.

    Raises
    ------
    ValueError
        If there are not as many losses as complexities.
    """
    best: dict[int, int] = {}
    for index, (loss, complexity) in enumerate(zip(losses, complexities, strict=True)):
        if not math.isfinite(loss):
            continue
        if complexity not in best or loss < losses[best[complexity]]:
            best[complexity] = index
    return [best[complexity] for complexity in sorted(best)]
