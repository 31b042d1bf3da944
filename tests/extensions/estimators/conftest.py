"""Methods that are quick, for tests of estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import add_method

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

LEAST_SQUARES = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        self.names = problem.variables
        columns = np.column_stack([np.ones(len(problem.X)), problem.X])
        self.weights = np.linalg.lstsq(columns, problem.Y, rcond=None)[0]
    def predict(self, problem):
        return np.column_stack([np.ones(len(problem.X)), problem.X]) @ self.weights
    def equations(self):
        return [
            " + ".join(f"{float(v)!r}*{n}" for v, n in zip(w, ("1", *self.names)))
            for w in self.weights.T
        ]
"""
KINDS = 'data_types = ["ode", "real", "pde"]'


@pytest.fixture
def methods(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a workspace with a linear method for all kinds of data, and one that fails."""
    monkeypatch.setenv("MDBENCH_RUNTIME", "venv")
    for name, adapter in (("lines", LEAST_SQUARES), ("broken", "raise RuntimeError('no')")):
        folder = add_method(command_line, name, adapter)
        text = (folder / "method.toml").read_text(encoding="utf-8")
        text = text.replace('data_types = ["ode"]', KINDS)
        (folder / "method.toml").write_text(text, encoding="utf-8")
    return command_line
