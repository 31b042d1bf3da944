"""ParFam as its README runs it, with a limit of time."""

import sympy
import torch
from parfam.parfamwrapper import ParFamWrapper


def solve(X, y, seconds):
    """Return its reduced formula."""
    functions, names = [torch.sin, torch.exp, torch.sqrt], [sympy.sin, sympy.exp, sympy.sqrt]
    model = ParFamWrapper(iterate=True, functions=functions, function_names=names)
    model.fit(X, y, time_limit=seconds)
    return str(model.formula_reduced)
