"""uDSR: deep symbolic regression with genetic programming inside, and a linear token."""

from __future__ import annotations

from typing import Any

from deep_regression import DeepRegression, take
from melding import Melding


class Adapter(DeepRegression):
    """DSR with ``poly`` and melding; the other parameters are explained in ``deep_regression``."""

    def __init__(self, **hyperparameters: Any) -> None:
        melding = take(Melding, hyperparameters)
        super().__init__(polynomial=True, melding=melding, **hyperparameters)
