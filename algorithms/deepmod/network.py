"""A tanh network of time and space, its derivatives by Taylor series, and its Jacobian."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = ["FieldNetwork", "Trace"]


class FieldNetwork(nn.Module):
    """A fully connected tanh network from coordinates to states.

    Parameters
    ----------
    n_axes, n_states
        The numbers of inputs and outputs.
    hidden
        The width of each hidden layer, at least one.
    generator
        Draws the weights: uniform, variance 1 / inputs of the layer.

    Notes
    -----
    The bench has names for derivatives along one axis only.  A Taylor series along each axis,
    pushed through the layers, gives these exactly, as nested automatic differentiation would, at
    a cost that grows with the square of the order rather than exponentially; and it is itself
    differentiable by the weights.  See Griewank and Walther, Evaluating Derivatives (2008), ch. 13.
    """

    def __init__(
        self, n_axes: int, n_states: int, hidden: Sequence[int], generator: torch.Generator
    ) -> None:
        super().__init__()
        sizes = [n_axes, *hidden, n_states]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            bound = math.sqrt(3 / fan_in)
            drawn = torch.rand((fan_in, fan_out), generator=generator)
            self.weights.append(nn.Parameter((2 * drawn - 1) * bound))
            self.biases.append(nn.Parameter(torch.zeros(fan_out)))

    def forward(self, points: Tensor) -> Tensor:
        """Evaluate at points (n, axes); return (n, states)."""
        values = points
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = torch.addmm(bias, values, weight)
            if layer < last:
                values = torch.tanh(values)
        return values

    def flat(self) -> Tensor:
        """Return a copy of all weights as one vector: each layer's weights, then its biases."""
        pairs = zip(self.weights, self.biases, strict=True)
        return torch.cat([each.detach().reshape(-1) for pair in pairs for each in pair])

    def set_flat(self, vector: Tensor) -> None:
        """Set all weights from such a vector."""
        start = 0
        with torch.no_grad():
            for pair in zip(self.weights, self.biases, strict=True):
                for each in pair:
                    each.copy_(vector[start : start + each.numel()].view_as(each))
                    start += each.numel()

    def derivatives(
        self, points: Tensor, orders: Sequence[int], trace: Trace | None = None
    ) -> Tensor:
        """Evaluate the states and their derivatives along single axes.

        Parameters
        ----------
        points
            Coordinates, (n, axes).
        orders
            The highest derivative along each axis; 0 for none.
        trace
            Records what the Jacobians by the weights need.

        Returns
        -------
        Tensor
            (1 + sum(orders), n, states): the states; then along the first axis the derivatives of
            order 1, 2, ...; then along the second, and so on.
        """
        series = points.new_zeros((1 + sum(orders), *points.shape))
        series[0] = points
        starts = [1 + sum(orders[:axis]) for axis in range(len(orders))]
        for axis, (start, order) in enumerate(zip(starts, orders, strict=True)):
            if order:
                series[start, :, axis] = 1.0
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            taken = series
            series = series @ weight
            series = torch.cat([series[:1] + bias, series[1:]])
            if trace is not None:
                trace.note(taken, series)
            if layer < last:
                series = _tanh(series, starts, orders)
        factors = [1.0, *(math.factorial(k) for order in orders for k in range(1, order + 1))]
        return series * torch.tensor(factors, dtype=series.dtype)[:, None, None]


class Trace:
    """Inputs and outputs of each layer, and with them derivatives by the weights of each sample.

    Notes
    -----
    A sample's output depends on its own row of each layer only.  So one backward pass of the sum
    over all samples gives each sample's derivatives by the outputs of its layers; times the inputs
    of the layers, they are its derivatives by the weights.
    """

    def __init__(self) -> None:
        self._layers: list[tuple[Tensor, Tensor]] = []

    def note(self, taken: Tensor, given: Tensor) -> None:
        """Record a layer's series: of its inputs (k, n, inputs) and its outputs (k, n, outputs)."""
        self._layers.append((taken.detach(), given))

    def jacobian(self, outputs: Tensor) -> Tensor:
        """Return the derivatives of numbers (n,), one a sample, by the weights, (n, weights)."""
        given = [each for _, each in self._layers]
        slopes = torch.autograd.grad(outputs.sum(), given, retain_graph=True)
        parts = []
        for (taken, _), slope in zip(self._layers, slopes, strict=True):
            n = taken.shape[1]
            by_weights = taken.permute(1, 2, 0) @ slope.permute(1, 0, 2)
            parts += [by_weights.reshape(n, -1), slope[0]]
        return torch.cat(parts, dim=1)


def _tanh(series: Tensor, starts: Sequence[int], orders: Sequence[int]) -> Tensor:
    """Take tanh of Taylor coefficients that share their constant one.

    From y' = (1 - y**2) x' with s = 1 - y**2:  k y_k = sum_j j x_j s_(k-j), j = 1..k.
    """
    x = series.unbind()
    y0 = torch.tanh(x[0])
    s0 = 1 - y0 * y0
    result = [y0]
    for start, order in zip(starts, orders, strict=True):
        y, s = [y0], [s0]
        for k in range(1, order + 1):
            total = x[start + k - 1] * s0
            for j in range(1, k):
                total = total + (j / k) * x[start + j - 1] * s[k - j]
            y.append(total)
            if k < order:
                square = 2 * y0 * y[k]
                for j in range(1, k):
                    square = square + y[j] * y[k - j]
                s.append(-square)
        result += y[1:]
    return torch.stack(result)
