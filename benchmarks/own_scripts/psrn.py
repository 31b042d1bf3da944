"""PSRN by the settings of its program for the user's own table, with a limit of time."""

import torch
from psrn.model.regressor import PSRN_Regressor

OPERATORS = ["Add", "Mul", "Sub", "Div", "Identity", "Sin", "Cos", "Exp", "Log"]


def solve(X, y, seconds):
    """Return the most accurate of its front."""
    names = [f"x{column}" for column in range(X.shape[1])]
    default = {
        "operators": OPERATORS,
        "time_limit": seconds,
        "n_psrn_inputs": 5,
        "n_sample_variables": min(3, X.shape[1]),
    }
    regressor = PSRN_Regressor(
        variables=names,
        use_const=True,
        device=torch.device("cpu"),
        token_generator_config={"base": {"has_const": True, "tokens": OPERATORS}},
        stage_config={"default": default, "stages": [{}]},
    )
    _, front = regressor.fit(X, y[:, None], n_down_sample=100, use_threshold=False, top_k=10)
    return str(min(front, key=lambda member: member[2])[0])
