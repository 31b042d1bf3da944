"""Equation learners: networks whose units are the functions of an equation, many at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = NDArray[np.float64]

__all__ = ["UNITS", "EquationLearners", "Training", "train"]

UNITS = ("id", "square", "cube", "sin", "cos", "tanh", "exp", "mul")
"""Functions of a unit; ``mul`` takes two inputs, all others one."""
_HIGHEST_EXPONENT = 10.0
"""Exponentials of more than this count as of this while they are learned."""
_LEAST_DENOMINATOR = 0.05
"""Denominators below this are not divided by, and punished (Sahoo et al. 2018, equation 5)."""
_FIRST, _LAST = 0.25, 0.75
"""The parts of the steps after which the penalty begins and ends (Martius and Lampert 2016)."""
_FROZEN = 1e-2
"""Weights that are smaller when the penalty ends are zero from then on."""


@dataclass(frozen=True)
class Training:
    """Training of the networks.

    Parameters
    ----------
    steps
        Number of steps of Adam, in all three phases.
    learning_rate
        Learning rate of Adam.
    """

    steps: int = 3000
    learning_rate: float = 1e-2

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}; it must be 1 or more")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be above 0")


class EquationLearners(torch.nn.Module):
    """Networks of one shape, evaluated by one batched product for each layer.

    Parameters
    ----------
    members
        Number of networks.
    variables
        Inputs of each.
    units
        Units of each layer, the first one first: names of ``UNITS``.
    division
        Whether the last layer divides one sum by another.
    generator
        Draws the first weights.

    Attributes
    ----------
    weights, biases
        Of each layer, (members, inputs, outputs) and (members, 1, outputs).  The inputs of the last
        layer are the units before it; its outputs are numerator and denominator.
    """

    def __init__(
        self,
        members: int,
        variables: int,
        units: Sequence[Sequence[str]],
        *,
        division: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.units = [tuple(layer) for layer in units]
        self.division = division
        widths = [variables, *map(len, self.units)]
        outputs = [sum(2 if name == "mul" else 1 for name in layer) for layer in self.units]
        outputs.append(2 if division else 1)
        self.weights, self.biases = torch.nn.ParameterList(), torch.nn.ParameterList()
        for before, after in zip(widths, outputs, strict=True):
            drawn = torch.randn(members, before, after, generator=generator, dtype=torch.float64)
            self.weights.append(drawn / math.sqrt(before))
            start = torch.zeros(members, 1, after, dtype=torch.float64)
            self.biases.append(start)
        if division:
            with torch.no_grad():
                self.weights[-1][:, :, 1] *= 0.1
                self.biases[-1][:, :, 1] = 1.0

    def forward(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Evaluate on X (n, d); return values and what denominators lack, each (members, n)."""
        values = X.expand(len(self.weights[0]), *X.shape)
        for weights, biases, names in zip(self.weights, self.biases, self.units, strict=False):
            values = _bank(torch.baddbmm(biases, values, weights), names)
        last = torch.baddbmm(self.biases[-1], values, self.weights[-1])
        if not self.division:
            return last[:, :, 0], torch.zeros_like(last[:, :, 0])
        below = last[:, :, 1]
        large = below > _LEAST_DENOMINATOR
        quotient = torch.where(large, last[:, :, 0] / torch.where(large, below, 1.0), 0.0)
        return quotient, torch.relu(_LEAST_DENOMINATOR - below)


def _bank(sums: torch.Tensor, names: Sequence[str]) -> torch.Tensor:
    """Apply the units of a layer to their inputs (members, n, inputs)."""
    columns, at = [], 0
    for name in names:
        x = sums[:, :, at]
        if name == "mul":
            columns.append(x * sums[:, :, at + 1])
            at += 1
        else:
            columns.append(_FORWARD[name](x))
        at += 1
    return torch.stack(columns, dim=2)


_FORWARD: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "id": lambda x: x,
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "exp": lambda x: torch.exp(torch.clamp(x, max=_HIGHEST_EXPONENT)),
}


def train(
    learners: EquationLearners,
    X: Array,
    Y: Array,
    penalties: Array,
    plan: Training,
    *,
    device: str,
    late: Callable[[], bool],
) -> int:
    """Train all networks side by side: free, then with a penalty on |w|, then with zeros fixed.

    Parameters
    ----------
    X, Y
        (n, d) variables, and (members, n) what each network is to give, of about unit size.
    penalties
        (members,) factors of the sum of all |w|.
    late
        Whether the time is over.

    Returns
    -------
    int
        The steps that were taken; each member is evaluated once in each.
    """
    learners.to(device)
    inputs = torch.as_tensor(X, device=device)
    wanted = torch.as_tensor(Y, device=device)
    factors = torch.as_tensor(penalties, device=device)
    adam = torch.optim.Adam(learners.parameters(), lr=plan.learning_rate)
    masks: list[torch.Tensor] = []
    for step in range(plan.steps):
        if late():
            return step
        part = step / plan.steps
        values, lacking = learners(inputs)
        loss = ((values - wanted) ** 2).mean(dim=1) + lacking.mean(dim=1)
        if _FIRST <= part < _LAST:
            loss = loss + factors * sum(w.abs().sum(dim=(1, 2)) for w in learners.weights)
        adam.zero_grad()
        # A network that diverges must not affect the others.
        torch.where(torch.isfinite(loss), loss, 0.0).sum().backward()
        with torch.no_grad():
            for parameter in learners.parameters():
                parameter.grad.nan_to_num_(0.0, 0.0, 0.0).clamp_(-1e3, 1e3)
        adam.step()
        if part >= _LAST:
            with torch.no_grad():
                if not masks:
                    masks = [(w.abs() >= _FROZEN).to(w.dtype) for w in learners.weights]
                for weights, mask in zip(learners.weights, masks, strict=True):
                    weights.mul_(mask)
    return plan.steps
