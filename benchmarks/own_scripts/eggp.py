"""eggp as its README runs it; there is no limit of time."""

import os

os.environ["GHCRTS"] = "-N1"

from eggp import EGGP


def solve(X, y, seconds):
    """Return the expression of least error."""
    del seconds
    model = EGGP(gen=100, nonterminals="add,sub,mul,div,sin,cos")
    model.fit(X, y)
    return str(model.results["Expression"][model.results["loss_train"].idxmin()]).lower()
