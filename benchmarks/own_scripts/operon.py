"""Operon by the defaults of pyoperon's regressor, with a limit of time."""

from pyoperon.sklearn import SymbolicRegressor


def solve(X, y, seconds):
    """Return the model."""
    regressor = SymbolicRegressor(max_time=max(1, round(seconds)), n_threads=1, random_state=0)
    regressor.fit(X, y)
    names = [f"x{column}" for column in range(X.shape[1])]
    return regressor.get_model_string(regressor.model_, 17, names)
