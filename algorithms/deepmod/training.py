"""How network and equation are learnt together."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from network import FieldNetwork
from sparsity import normalised_fit, threshold_mask
from terms import Scales, TermColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from library import FieldTerms
    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Learner", "Options"]

_STEPS_EACH = 25
"""Steps between looks at the held-out samples."""
_HISTORY = 30
"""The steps from which L-BFGS knows the curvature."""
_BETTER = 0.99
"""The part of the least validation loss that a smaller one has to reach."""
_HELD_OUT = 0.2
"""The part of the samples that the plateau is found on."""


@dataclass(frozen=True)
class Options:
    """How the network is made and trained.

    Attributes
    ----------
    layers, width
        Of the network: hidden layers and their neurons.
    learning_rate
        Of Adam.
    batch
        The samples of one step of Adam.
    data_steps, polish_steps
        The most steps of Adam, and then of L-BFGS, on the data alone, before there is an
        equation.
    equation_steps
        The most steps of L-BFGS for each set of terms.
    patience
        Looks at the held-out samples, 25 steps apart, without a gain that make a plateau.

    Raises
    ------
    ValueError
        If one is not positive.
    """

    layers: int = 4
    width: int = 50
    learning_rate: float = 1e-3
    batch: int = 1000
    data_steps: int = 3000
    polish_steps: int = 500
    equation_steps: int = 100
    patience: int = 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} is {value}; it must be above 0")


class Learner:
    """A network, the samples that it is trained on, and a library.

    Parameters
    ----------
    points, states
        Samples: coordinates (n, axes), time first, and values (n, states).
    terms
        The library.
    options
        See there.
    seed
        Of the weights, the held-out samples and the batches.
    """

    def __init__(
        self,
        points: Array,
        states: Array,
        terms: FieldTerms,
        options: Options,
        *,
        seed: int,
    ) -> None:
        self._options = options
        self._draw = torch.Generator().manual_seed(seed)
        scales = Scales.of(points, states)
        self._columns = TermColumns(terms, scales)
        self._units = self._columns.target_units()[:, None] / self._columns.units()
        every = scales.points(points)
        values = scales.states(states)
        order = torch.randperm(len(every), generator=self._draw)
        held_out = order[: max(1, int(_HELD_OUT * len(every)))]
        kept = order[len(held_out) :] if len(every) > 1 else order
        self._every = every
        self._train = every[kept], values[kept]
        self._check = every[held_out], values[held_out]
        sizes = [options.width] * options.layers
        self._network = FieldNetwork(points.shape[1], states.shape[1], sizes, self._draw)
        self._no_terms = np.zeros(len(terms), dtype=bool)
        self._target_sizes = torch.ones(states.shape[1])

    def state(self) -> dict[str, Tensor]:
        """Give the network's weights as they are now."""
        return copy.deepcopy(self._network.state_dict())

    def go_back(self, state: dict[str, Tensor]) -> None:
        """Take back weights of before."""
        self._network.load_state_dict(state)

    def learn_data(self, enough: Callable[[], bool]) -> None:
        """Train the network on the data alone, until it is enough."""
        self._descend(enough)
        self._polish(None, self._options.polish_steps, enough)
        _, targets = self.features(self._no_terms)
        sizes = np.maximum(np.mean(targets**2, axis=0), np.finfo(np.float32).tiny)
        self._target_sizes = torch.tensor(sizes, dtype=torch.float32)

    def learn_equation(self, masks: Mask, enough: Callable[[], bool]) -> None:
        """Train the network on the data and an equation of some terms, (states, p), likewise."""
        self._polish(masks, self._options.equation_steps, enough)

    def features(self, wanted: Mask) -> tuple[Array, Array]:
        """Evaluate wanted terms, (n, k), and derivatives in time, (n, states), at all samples."""
        chosen = np.flatnonzero(wanted).tolist()
        orders = self._columns.orders(chosen)
        features, targets = [], []
        with torch.no_grad():
            for points in self._every.split(2000):
                series = self._network.derivatives(points, orders)
                features.append(self._columns.evaluate(series, orders, chosen))
                targets.append(series[1])
        return _numbers(torch.cat(features)), _numbers(torch.cat(targets))

    def masks(self, library: Mask, threshold: float) -> Mask:
        """Threshold a library, (p,), for each state; gives (states, p)."""
        features, targets = self.features(library)
        result = np.zeros((targets.shape[1], len(library)), dtype=bool)
        for mask, target in zip(result, targets.T, strict=True):
            mask[library] = threshold_mask(features, target, threshold)
        return result

    def coefficients(self, masks: Mask) -> Array:
        """Fit the terms of masks (states, p); gives coefficients in the data's units, like them."""
        wanted = masks.any(axis=0)
        features, targets = self.features(wanted)
        return self._units * _fit(features, targets, masks, wanted)

    def _descend(self, enough: Callable[[], bool]) -> None:
        """Take steps of Adam on the data until a plateau."""
        options = self._options
        adam = torch.optim.Adam(self._network.parameters(), lr=options.learning_rate)
        points, values = self._train
        size = min(options.batch, len(points))

        def steps() -> None:
            for _ in range(_STEPS_EACH):
                rows = torch.randint(len(points), (size,), generator=self._draw)
                adam.zero_grad()
                self._loss(points[rows], values[rows], None).backward()
                adam.step()

        self._until_plateau(steps, None, options.data_steps, enough)

    def _polish(self, masks: Mask | None, most_steps: int, enough: Callable[[], bool]) -> None:
        """Take steps of L-BFGS on all samples until a plateau."""
        lbfgs = torch.optim.LBFGS(
            self._network.parameters(),
            max_iter=_STEPS_EACH,
            history_size=_HISTORY,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )

        def loss() -> Tensor:
            lbfgs.zero_grad()
            value = self._loss(*self._train, masks)
            value.backward()
            return value

        self._until_plateau(lambda: lbfgs.step(loss), masks, most_steps, enough)

    def _until_plateau(
        self,
        move: Callable[[], object],
        masks: Mask | None,
        most_steps: int,
        enough: Callable[[], bool],
    ) -> None:
        """Move until the loss on held-out samples no longer falls; keep the best weights."""
        best, best_weights, waited = self._held_out_loss(masks), self.state(), 0
        for _ in range(max(1, most_steps // _STEPS_EACH)):
            move()
            loss = self._held_out_loss(masks)
            waited = 0 if loss < _BETTER * best else waited + 1
            if loss < best:
                best, best_weights = loss, self.state()
            if waited >= self._options.patience or enough():
                break
        self.go_back(best_weights)

    def _held_out_loss(self, masks: Mask | None) -> float:
        with torch.no_grad():
            return float(self._loss(*self._check, masks))

    def _loss(self, points: Tensor, values: Tensor, masks: Mask | None) -> Tensor:
        """Mean squares of the misfit to the data and of the equation's residual.

        Both are in units of the variance of what is fitted.  Coefficients are constants for the
        gradient: that of their best values vanishes.
        """
        if masks is None:
            return torch.mean((self._network(points) - values) ** 2)
        wanted = masks.any(axis=0)
        chosen = np.flatnonzero(wanted).tolist()
        orders = self._columns.orders(chosen)
        series = self._network.derivatives(points, orders)
        features = self._columns.evaluate(series, orders, chosen)
        targets = series[1]
        fitted = _fit(_numbers(features.detach()), _numbers(targets.detach()), masks, wanted)
        model = features @ torch.tensor(fitted[:, wanted].T, dtype=features.dtype)
        residual = torch.mean((targets - model) ** 2 / self._target_sizes)
        return torch.mean((series[0] - values) ** 2) + residual


def _fit(features: Array, targets: Array, masks: Mask, wanted: Mask) -> Array:
    """Fit each target by its own terms; gives coefficients (states, p) in the network's units."""
    result = np.zeros(masks.shape)
    for row, mask, target in zip(result, masks, targets.T, strict=True):
        used = features[:, mask[wanted]]
        sizes = np.sqrt(np.mean(used**2, axis=0))
        own = np.sqrt(np.mean(target**2))
        row[mask] = normalised_fit(used, target) * own / np.where(sizes > 0, sizes, 1.0)
    return result


def _numbers(values: Tensor) -> Array:
    return values.numpy().astype(np.float64)
