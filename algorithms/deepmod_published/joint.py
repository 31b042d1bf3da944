"""Training on the data and the equation together, by Adam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from sparsity import normalised_fit
from training import Learner

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["JointLearner", "Training"]

_STEPS_EACH = 50
"""Steps of Adam between two looks at the held-out loss and the time."""
_LESS = 1e-5
"""By which a held-out loss has to be below the least one before, or it is part of a plateau."""


@dataclass(frozen=True)
class Training:
    """How Adam trains.

    Attributes
    ----------
    threshold
        The least normalised coefficient of a term that stays.
    learning_rate
        The same in all steps.
    steps
        The most steps.
    patience
        Steps without a smaller loss on held-out samples after which terms are chosen.

    Raises
    ------
    ValueError
        If one is not positive and finite.
    """

    threshold: float = 0.1
    learning_rate: float = 1e-3
    steps: int = 10_000
    patience: int = 200

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value}; it must be above 0")


class JointLearner(Learner):
    """A network that Adam trains on the data and on an equation together."""

    def learn(
        self, library: Mask, training: Training, is_over: Callable[[], bool]
    ) -> tuple[Mask, bool]:
        """Train, and choose terms on each plateau of the held-out loss, and at the end.

        Parameters
        ----------
        library
            The terms that may be in the equations, (p,).
        training
            Length of the training, and the threshold.
        is_over
            Whether the time is over.

        Returns
        -------
        NDArray, bool
            The terms of each state's equation, (states, p); and whether the training came to its
            end: the same terms were chosen twice, or all steps were done.
        """
        masks = np.tile(library, (len(self._no_terms), 1))
        adam = torch.optim.Adam(self._network.parameters(), lr=training.learning_rate)
        least, since = np.inf, 0
        for step in range(1, training.steps + 1):
            adam.zero_grad()
            loss = self._joint_loss(masks)
            if not torch.isfinite(loss):
                return np.zeros_like(masks), True  # it diverges, and has no equation
            loss.backward()
            adam.step()
            if step % _STEPS_EACH:
                continue
            if is_over():
                return self._over_threshold(library, training.threshold), False
            held_out = self.held_out_loss(masks)
            if held_out < least - _LESS:
                least, since = held_out, 0
                continue
            since += _STEPS_EACH
            if since < training.patience:
                continue
            again = self._over_threshold(library, training.threshold)
            if (again == masks).all():
                break
            masks, least, since = again, np.inf, 0
        return self._over_threshold(library, training.threshold), True

    def _joint_loss(self, masks: Mask) -> Tensor:
        """Return the mean squares of the misfit to the data and of the equations' residual.

        Coefficients are those that fit best.  As the residual does not change with them at first
        order, they need no derivatives of their own.
        """
        points, values = self._train
        wanted = masks.any(axis=0)
        chosen = np.flatnonzero(wanted).tolist()
        orders = self._columns.orders(chosen)
        series = self._network.derivatives(points, orders)
        features = self._columns.evaluate(series, orders, chosen)
        loss = torch.mean((series[0] - values) ** 2)
        for state in self.asked:
            used = np.flatnonzero(masks[state][wanted]).tolist()
            left = series[1][:, state]
            columns = features[:, used]
            if used and torch.isfinite(columns).all():
                fitted = np.linalg.lstsq(_numbers(columns), _numbers(left), rcond=1e-6)[0]
                left = left - columns @ torch.tensor(fitted, dtype=columns.dtype)
            loss = loss + torch.mean(left**2) / len(self.asked)
        return loss

    def _over_threshold(self, library: Mask, threshold: float) -> Mask:
        """Fit all terms of a library, and return which normalised coefficients are large enough."""
        features, targets = self.features(library)
        masks = np.zeros_like(self._no_terms)
        for state in self.asked:
            sizes = np.abs(normalised_fit(features, targets[:, state]))
            masks[state, library] = sizes >= threshold
        return masks


def _numbers(values: Tensor) -> Array:
    return np.asarray(values.detach().numpy(), dtype=np.float64)
