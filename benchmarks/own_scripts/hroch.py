"""HROCH as its README runs it, with one thread and a limit of time."""

from HROCH import SymbolicRegressor


def solve(X, y, seconds):
    """Return the best model's equation."""
    regressor = SymbolicRegressor(
        num_threads=1, time_limit=seconds, problem="math", precision="f64", random_state=1
    )
    regressor.fit(X, y)
    return str(regressor.get_models()[0].equation)
