"""Bingo as its README runs it, with a limit of time."""

import sys

sys.modules["mpi4py"] = None  # as where there is no MPI

from bingo.symbolic_regression.symbolic_regressor import SymbolicRegressor


def solve(X, y, seconds):
    """Return the best individual."""
    regressor = SymbolicRegressor(
        population_size=100, stack_size=16, use_simplification=True, max_time=seconds
    )
    regressor.fit(X, y)
    return regressor.get_best_individual().equation.get_formatted_string("sympy").replace("X_", "x")
