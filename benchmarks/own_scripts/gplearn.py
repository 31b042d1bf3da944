"""gplearn as its page of examples runs it; there is no limit of time."""

from gplearn.genetic import SymbolicRegressor


def solve(X, y, seconds):
    """Return the last program of the fit."""
    del seconds
    regressor = SymbolicRegressor(
        population_size=5000,
        generations=20,
        stopping_criteria=0.01,
        p_crossover=0.7,
        p_subtree_mutation=0.1,
        p_hoist_mutation=0.05,
        p_point_mutation=0.1,
        max_samples=0.9,
        parsimony_coefficient=0.01,
        random_state=0,
    )
    regressor.fit(X, y)
    return str(regressor._program).replace("X", "x")
