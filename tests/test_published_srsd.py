"""The examples of the SRSD paper, tables S13 and S14: what its edit distance gives."""

from __future__ import annotations

import numpy as np
import pytest

from mdbench.expressions.comparison import normalized_edit_distance

COULOMB = "8987742437.98822*x1/x2**2"
"""The truth of S13, I.12.4."""
CASES = [
    (COULOMB, "tan(x2/sqrt(x2**{0}) + {1})", 1.0),
    (COULOMB, "x1*(x1 + {0}*exp(({1}*cos(x2 + {2}) + {3})/x2))*exp(-x2)", 1.0),
    (COULOMB, "{0}*x2**{1}", 0.167),
    ("{0}*x1*x2", "{1}*x1*x2", 0.0),
    ("{0}*x1*x2", "x1*x2*({1} - ({2}*x2 + {3}*log(cos(x2))))*(-x1 + x2 + {4})/x2", 1.0),
    ("{0}*x1*x2", "x1*x2", 0.25),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("truth", "prediction", "distance"), CASES)
def test_the_distances_of_the_paper(
    truth: str, prediction: str, distance: float, seed: int
) -> None:
    """All constants have one label: which they are makes no difference."""
    constants = np.random.default_rng(seed).uniform(1.1, 9.9, 5).round(4).tolist()
    texts = (each.format(*constants) for each in (truth, prediction))
    found = normalized_edit_distance(*texts, ("x1", "x2"))
    assert round(found.value, 3) == distance
    assert not found.reason
