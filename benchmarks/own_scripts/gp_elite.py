"""gp-elite by its own defaults, with a limit of time."""

from gp_elite import symbolic_regression


def solve(X, y, seconds):
    """Return its formula."""
    names = [f"x{column}" for column in range(X.shape[1])]
    return str(symbolic_regression(X, y, names, time_limit=seconds, parallel=False).sympy())
