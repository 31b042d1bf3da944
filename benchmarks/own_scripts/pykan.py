"""pykan as its introduction runs it: a small network, pruned and made symbolic."""

import os
import tempfile
from pathlib import Path

import sympy
import torch
from kan import KAN

FUNCTIONS = ["x", "x^2", "x^3", "x^4", "exp", "log", "sqrt", "tanh", "sin", "abs"]


def solve(X, y, seconds):
    """Return the formula of the network."""
    del seconds
    os.chdir(tempfile.mkdtemp())
    Path("model").mkdir()  # pruning writes a history into it, auto_save or not
    inputs, target = torch.tensor(X, dtype=torch.float32), torch.tensor(y[:, None])
    target = target.to(torch.float32)
    data = {
        "train_input": inputs,
        "train_label": target,
        "test_input": inputs,
        "test_label": target,
    }
    model = KAN(width=[X.shape[1], 5, 1], grid=3, k=3, seed=42, auto_save=False)
    model.fit(data, opt="LBFGS", steps=50, lamb=0.001)
    model = model.prune()
    model.fit(data, opt="LBFGS", steps=50)
    model.auto_symbolic(lib=FUNCTIONS)
    model.fit(data, opt="LBFGS", steps=50)
    [formula], symbols = model.symbolic_formula()
    names = {symbol: sympy.Symbol(f"x{column}") for column, symbol in enumerate(symbols)}
    return str(formula.subs(names))
