"""PhySO by its own defaults, as in its first example, without units; no limit of time."""

import numpy as np
import physo
import torch

OPERATIONS = ["add", "sub", "mul", "div", "inv", "n2", "sqrt", "neg", "exp", "log", "sin", "cos"]


def solve(X, y, seconds):
    """Return the best program with its constants."""
    del seconds
    np.random.seed(0)
    torch.manual_seed(0)
    expression, _ = physo.SR(
        X.T,
        y,
        X_names=[f"x{column}" for column in range(X.shape[1])],
        fixed_consts=[1.0],
        free_consts_names=["c1", "c2"],
        op_names=OPERATIONS,
        parallel_mode=False,
    )
    return str(expression.get_infix_sympy(evaluate_consts=True)[0])
