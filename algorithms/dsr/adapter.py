"""Deep symbolic regression: a recurrent policy that learns from the best of its expressions."""

from __future__ import annotations

from deep_regression import DeepRegression

__all__ = ["Adapter"]


class Adapter(DeepRegression):
    """The policy alone; the parameters are explained in ``deep_regression``."""
