"""The recurrent policy that writes expressions, and how it learns from the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch._dynamo  # an optimizer imports it when it is first made: a second of the budget else
from growth import Growth, Rules
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokens import Tokens

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["Learning", "Policy", "risk_seeking_loss"]

_NEVER = -1e9
"""A logit of what is not allowed; a true infinity has no gradient."""


@dataclass(frozen=True)
class Learning:
    """Architecture and training of the policy.

    Parameters
    ----------
    hidden
        Units of the long short-term memory.
    learning_rate
        Learning rate of Adam.
    entropy_weight, entropy_decay
        The bonus is ``weight * sum_t decay^t H_t`` (Landajuela et al. 2021).
    """

    hidden: int = 32
    learning_rate: float = 2.5e-3
    entropy_weight: float = 0.03
    entropy_decay: float = 0.7

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden is {self.hidden}; it must be 1 or more")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be above 0")
        if not 0 < self.entropy_decay <= 1:
            raise ValueError(f"entropy_decay is {self.entropy_decay}; it must be in (0, 1]")


class Policy(torch.nn.Module):
    """A long short-term memory over parent and sibling of the next token.

    Parameters
    ----------
    tokens, rules
        The alphabet, and the constraints.
    learning
        See `Learning`.
    seed
        Seed of the weights and of all that is drawn.
    device
        Where the network is; draws are made on the processor, so that they are the same anywhere.
    """

    def __init__(
        self, tokens: Tokens, rules: Rules, learning: Learning, *, seed: int, device: str = "cpu"
    ) -> None:
        super().__init__()
        self._tokens, self._rules, self._learning = tokens, rules, learning
        self._random = np.random.default_rng(seed)
        self._device = torch.device(device)
        several = len(tokens) + 1
        generator = torch.Generator().manual_seed(seed)
        self.memory = torch.nn.LSTM(2 * several, learning.hidden)
        self.read = torch.nn.Linear(learning.hidden, len(tokens))
        bound = 1.0 / learning.hidden**0.5
        with torch.no_grad():
            for weights in self.parameters():
                weights.uniform_(-bound, bound, generator=generator)
        self.to(self._device)
        self._adam = torch.optim.Adam(self.parameters(), lr=learning.learning_rate)

    def sample(self, rows: int) -> Integers:
        """Draw expressions; return codes (rows, L), padded with -1."""
        growth = Growth(rows, self._tokens, self._rules)
        state = None
        with torch.no_grad():
            while not growth.done.all():
                seen = self._see(*growth.observe())[np.newaxis]
                out, state = self.memory(torch.as_tensor(seen, device=self._device), state)
                logits = self.read(out[0]).cpu().numpy().astype(np.float64)
                logits = np.where(growth.allowed(), logits + growth.prior(), _NEVER)
                logits += self._random.gumbel(size=logits.shape)
                growth.put(np.argmax(logits, axis=1))
        return growth.codes[:, : growth.length]

    def _see(self, parent: Integers, sibling: Integers) -> NDArray[np.float32]:
        """Write parent and sibling as zeros and ones (B, 2 (tokens + 1))."""
        several = len(self._tokens) + 1
        seen = np.zeros((len(parent), 2 * several), dtype=np.float32)
        rows = np.arange(len(parent))
        seen[rows, parent] = 1.0
        seen[rows, several + sibling] = 1.0
        return seen

    def likelihood(self, codes: Integers) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-probabilities and decayed entropies (B,) of expressions (B, L)."""
        growth = Growth(len(codes), self._tokens, self._rules)
        seen, added, there = [], [], []
        for place in range(codes.shape[1]):
            there.append(~growth.done)
            seen.append(self._see(*growth.observe()))
            added.append(np.where(growth.allowed(), growth.prior(), _NEVER))
            growth.put(codes[:, place])
        inputs = torch.as_tensor(np.stack(seen), device=self._device)
        out, _ = self.memory(inputs)
        prior = torch.as_tensor(np.stack(added), dtype=out.dtype, device=self._device)
        logs = torch.log_softmax(self.read(out) + prior, dim=-1)
        mask = torch.as_tensor(np.stack(there), device=self._device)
        chosen = torch.as_tensor(np.maximum(codes, 0).T.copy(), device=self._device)
        own = torch.gather(logs, 2, chosen[:, :, None])[:, :, 0] * mask
        entropy = -(torch.exp(logs) * logs).sum(dim=-1) * mask
        decay = self._learning.entropy_decay ** torch.arange(len(logs), device=self._device)
        return own.sum(dim=0), (entropy * decay[:, None]).sum(dim=0)

    def learn(self, codes: Integers, rewards: Array, baseline: float) -> float:
        """Take one step towards the expressions (B, L) that were better than the baseline.

        Returns
        -------
        float
            The loss before the step.
        """
        logs, entropy = self.likelihood(codes)
        rewarded = torch.as_tensor(rewards, dtype=logs.dtype, device=self._device)
        loss = risk_seeking_loss(logs, rewarded, baseline)
        loss = loss - self._learning.entropy_weight * entropy.mean()
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        return float(loss.detach())


def risk_seeking_loss(logs: torch.Tensor, rewards: torch.Tensor, baseline: float) -> torch.Tensor:
    """Return the loss that falls as the best become likelier (Petersen et al. 2021, equation 5).

    Parameters
    ----------
    logs, rewards
        (B,) log-probabilities and rewards of those at or above the quantile.
    baseline
        The quantile itself.
    """
    return -((rewards - baseline) * logs).mean()
