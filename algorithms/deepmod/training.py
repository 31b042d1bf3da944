"""Training of the network and the equation together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from descent import Marquardt, NormalEquations
from network import FieldNetwork, Trace
from singular import svd
from sparsity import CUT, compress, normalised_fit, threshold_mask
from terms import Scales, TermColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from library import FieldTerms
    from numpy.typing import NDArray
    from torch import Tensor

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["Learner", "Options"]

_STEPS_EACH = 25
"""Steps of Adam between checks of the time."""
_BLOCK_NUMBERS = 8_000_000
"""Largest number of entries of a Jacobian that are kept at a time: 32 MB."""
_BETTER = 0.99
"""The part of the least held-out loss that a smaller one has to reach."""
_HELD_OUT = 0.2
"""The part of the samples that the plateau is found on."""


@dataclass(frozen=True)
class Options:
    """Architecture and training of the network.

    Attributes
    ----------
    layers, width
        Sizes of the network: hidden layers and their neurons.
    learning_rate
        Learning rate of Adam, at its highest.
    batch
        The samples of one step of Adam.
    data_steps, polish_steps
        The steps of Adam, and then the most of Levenberg and Marquardt, on the data alone, before
        there is an equation.
    equation_steps
        Largest number of steps of Levenberg and Marquardt for each set of terms.
    patience
        Such steps without a gain on the held-out samples that make a plateau.

    Raises
    ------
    ValueError
        If one is not positive.
    """

    layers: int = 3
    width: int = 30
    learning_rate: float = 5e-3
    batch: int = 500
    data_steps: int = 3000
    polish_steps: int = 20
    equation_steps: int = 5
    patience: int = 3

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
        See `Options`.
    seed
        Seed of the weights, the held-out samples and the batches.
    asked
        The states that have an equation, by their numbers; all by default.
    """

    def __init__(
        self,
        points: Array,
        states: Array,
        terms: FieldTerms,
        options: Options,
        *,
        seed: int,
        asked: Sequence[int] | None = None,
    ) -> None:
        self.asked = [*range(states.shape[1])] if asked is None else [*asked]
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
        self._no_terms = np.zeros((states.shape[1], len(terms)), dtype=bool)
        self._target_sizes = np.ones(states.shape[1])

    def state(self) -> Tensor:
        """Return the current weights of the network."""
        return self._network.flat()

    def restore(self, state: Tensor) -> None:
        """Restore earlier weights."""
        self._network.set_flat(state)

    def learn_data(self, enough: Callable[[], bool]) -> None:
        """Train the network on the data alone, by Adam and then by Levenberg-Marquardt steps."""
        self._descend(enough)
        self._polish(None, self._options.polish_steps, enough)
        _, targets = self.features(self._no_terms[0])
        tiny = float(np.finfo(np.float32).tiny)
        self._target_sizes = np.sqrt(np.maximum(np.mean(targets**2, axis=0), tiny))

    def learn_equation(self, masks: Mask, enough: Callable[[], bool]) -> None:
        """Train the network on the data and an equation of some terms, (states, p), likewise."""
        self._polish(masks, self._options.equation_steps, enough)

    def features(self, wanted: Mask) -> tuple[Array, Array]:
        """Evaluate wanted terms, (n, k), and derivatives in time, (n, states), at all samples."""
        return self._features(self._every, wanted)

    def masks(self, library: Mask, threshold: float) -> Mask:
        """Threshold a library, (p,), for each state; return (states, p)."""
        return self.all_masks([(library, threshold)])[0]

    def all_masks(self, choices: Sequence[tuple[Mask, float]]) -> list[Mask]:
        """Threshold several libraries, of which the network is evaluated once."""
        every = _any(np.stack([library for library, _ in choices]))
        features, targets = compress(*self.features(every))
        result = []
        for library, threshold in choices:
            masks = np.zeros_like(self._no_terms)
            for state in self.asked:
                mask = threshold_mask(features[:, library[every]], targets[:, state], threshold)
                masks[state, library] = mask
            result.append(masks)
        return result

    def misfits(self, choices: Sequence[Mask]) -> list[float]:
        """Return what each choice of terms (states, p) leaves of u_t: a part of its mean square."""
        every = _any(np.concatenate(choices))
        features, targets = compress(*self.features(every))
        whole = np.maximum(np.sum(targets**2, axis=0), np.finfo(np.float64).tiny)
        result = []
        for masks in choices:
            left = targets - features @ _fit(features, targets, masks, every)[:, every].T
            result.append(float(np.mean(np.sum(left**2, axis=0) / whole)))
        return result

    def coefficients(self, masks: Mask) -> Array:
        """Fit terms of masks (states, p); return coefficients like them, in the data's units."""
        wanted = _any(masks)
        features, targets = self.features(wanted)
        return self._units * _fit(features, targets, masks, wanted)

    def _features(self, points: Tensor, wanted: Mask) -> tuple[Array, Array]:
        chosen = np.flatnonzero(wanted).tolist()
        orders = self._columns.orders(chosen)
        features, targets = [], []
        with torch.no_grad():
            for some in points.split(2000):
                series = self._network.derivatives(some, orders)
                features.append(self._columns.evaluate(series, orders, chosen))
                targets.append(series[1])
        return _numbers(torch.cat(features)), _numbers(torch.cat(targets))

    def _descend(self, enough: Callable[[], bool]) -> None:
        """Take steps of Adam on the data, with a rate that rises first and then falls to zero."""
        options = self._options
        adam = torch.optim.Adam(self._network.parameters(), lr=options.learning_rate)
        rate = torch.optim.lr_scheduler.OneCycleLR(
            adam, options.learning_rate, total_steps=options.data_steps + 1
        )
        points, values = self._train
        size = min(options.batch, len(points))
        for step in range(options.data_steps):
            if step % _STEPS_EACH == 0 and enough():
                break
            rows = torch.randint(len(points), (size,), generator=self._draw)
            adam.zero_grad()
            torch.mean((self._network(points[rows]) - values[rows]) ** 2).backward()
            adam.step()
            rate.step()

    def _polish(self, masks: Mask | None, most_steps: int, enough: Callable[[], bool]) -> None:
        """Take steps of Levenberg and Marquardt until the held-out loss no longer falls."""
        goal = _Goal(self, masks)
        descent = Marquardt(goal)
        best, best_weights, waited = self.held_out_loss(masks), self.state(), 0
        for _ in range(most_steps):
            if enough() or not descent.step():
                break
            loss = self.held_out_loss(masks)
            waited = 0 if loss < _BETTER * best else waited + 1
            if loss < best:
                best, best_weights = loss, self.state()
            if waited >= self._options.patience:
                break
        self.restore(best_weights)

    def held_out_loss(self, masks: Mask | None) -> float:
        """Return the mean squares of both misfits on the samples that are held out."""
        return self.loss(masks, self._check)

    def loss(self, masks: Mask | None, samples: tuple[Tensor, Tensor] | None = None) -> float:
        """Mean squares of the misfit to the data and of the equation's residual.

        Both are in units of the variance of what is fitted; coefficients are those that fit best.
        """
        points, values = samples or self._train
        with torch.no_grad():
            misfit = float(torch.mean((self._network(points) - values) ** 2))
        if masks is None:
            return misfit
        wanted = _any(masks)
        features, targets = self._features(points, wanted)
        if not (np.isfinite(features).all() and np.isfinite(targets).all()):
            return np.inf  # of a step too long, which is not taken
        fitted = _fit(features, targets, masks, wanted)
        residual = (targets - features @ fitted[:, wanted].T) / self._target_sizes
        return misfit + float(np.mean(residual**2))

    def normal_equations(self, masks: Mask | None) -> NormalEquations:
        """Linearise both misfits on the samples that are trained on.

        Coefficients are eliminated: what the terms in use can make up for is no part of the
        residual's Jacobian (Kaufman's form of variable projection, BIT 15, 49-57, 1975).
        """
        points, values = self._train
        count = sum(each.numel() for each in self._network.parameters())
        result = NormalEquations(self.loss(masks), np.zeros(count), np.zeros((count, count)))
        wanted = self._no_terms[0] if masks is None else _any(masks)
        chosen = np.flatnonzero(wanted).tolist()
        orders = self._columns.orders(chosen) if masks is not None else [0] * points.shape[1]
        equation = None if masks is None else _Equation(*self._features(points, wanted), masks)
        step = max(1, _BLOCK_NUMBERS // count)
        weight = 1 / values.numel()
        for start in range(0, len(points), step):
            rows = slice(start, start + step)
            trace = Trace()
            series = self._network.derivatives(points[rows], orders, trace)
            features = self._columns.evaluate(series, orders, chosen)
            for state in range(values.shape[1]):
                misfit = series[0, :, state] - values[rows, state]
                _add(result, _numbers(misfit), trace.jacobian(misfit).numpy(), weight)
                if equation is None:
                    continue
                model = features @ torch.tensor(equation.fitted[state], dtype=features.dtype)
                left = series[1, :, state] - model
                jacobian = trace.jacobian(left).numpy()
                equation.note(state, rows, jacobian)
                size = weight / self._target_sizes[state] ** 2
                _add(result, _numbers(left), jacobian, size)
        if equation is not None:
            for part, size in zip(equation.along, self._target_sizes, strict=True):
                if part is not None:
                    result.curvature -= weight / size**2 * (part.T @ part)
        return result


class _Goal:
    """A learner's loss as a sum of squares to be minimised."""

    def __init__(self, learner: Learner, masks: Mask | None) -> None:
        self._learner = learner
        self._masks = masks

    def parameters(self) -> Array:
        return _numbers(self._learner.state())

    def set_parameters(self, place: Array) -> None:
        self._learner.restore(torch.tensor(place, dtype=torch.float32))

    def loss(self) -> float:
        return self._learner.loss(self._masks)

    def normal_equations(self) -> NormalEquations:
        return self._learner.normal_equations(self._masks)


class _Equation:
    """An equation with its best coefficients, and the directions that these can make up for.

    Attributes
    ----------
    fitted
        Coefficients (states, k) of the terms that any state uses.
    along
        For each state, the Jacobian along its own terms, (terms, weights), as far as noted.
    """

    def __init__(self, features: Array, targets: Array, masks: Mask) -> None:
        wanted = _any(masks)
        self.fitted = _fit(features, targets, masks, wanted)[:, wanted]
        self._bases = [_basis(features[:, mask[wanted]]).astype(np.float32) for mask in masks]
        self.along: list[Array | None] = [None] * len(masks)

    def note(self, state: int, rows: slice, jacobian: NDArray[np.float32]) -> None:
        """Add the part of some rows."""
        part = self._bases[state][rows].T @ jacobian
        before = self.along[state]
        self.along[state] = part.astype(np.float64) if before is None else before + part


def _basis(features: Array) -> Array:
    """Orthonormalise columns, of which some may vanish or be like others."""
    sizes = np.sqrt(np.sum(features**2, axis=0))
    lefts, values, _ = svd((features / np.where(sizes > 0, sizes, 1.0))[None])
    return np.asarray(lefts[0][:, values[0] > CUT * values.max(initial=0.0)])


def _add(
    result: NormalEquations, residual: Array, jacobian: NDArray[np.float32], weight: float
) -> None:
    """Add some residuals; a matrix times its own transpose costs NumPy half of a product."""
    result.curvature += weight * (jacobian.T @ jacobian)
    result.slope += weight * (jacobian.T @ residual.astype(np.float32))


def _fit(features: Array, targets: Array, masks: Mask, wanted: Mask) -> Array:
    """Fit each target by its own terms; return coefficients (states, p) in the network's units."""
    result = np.zeros(masks.shape)
    for row, mask, target in zip(result, masks, targets.T, strict=True):
        used = features[:, mask[wanted]]
        sizes = np.sqrt(np.mean(used**2, axis=0))
        own = np.sqrt(np.mean(target**2))
        row[mask] = normalised_fit(used, target) * own / np.where(sizes > 0, sizes, 1.0)
    return result


def _any(masks: Mask) -> Mask:
    """Return which terms at least one of the masks (n, p) has."""
    return np.asarray(masks.any(axis=0))


def _numbers(values: Tensor) -> Array:
    return np.array(values.detach().numpy(), dtype=np.float64)
