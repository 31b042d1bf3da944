"""RILS-ROLS by its own defaults, with a limit of time."""

from rils_rols.rils_rols import RILSROLSRegressor


def solve(X, y, seconds):
    """Return the model."""
    regressor = RILSROLSRegressor(max_time=seconds)
    regressor.fit(X, y)
    return str(regressor.model_string())
