"""A small transformer that reads sequences and is trained in the job, from nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import torch
from network import Reader
from vocabulary import STAND_INS, Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_SHARE_OF_TIME = 0.9
"""Part of the time limit for the training."""
_LONGEST = 64
"""Sequences of one batch are of like length: batches are drawn from so many of them."""
_READINGS = 4
"""Number of readings of a sequence for its answer: as it is, and then with letters exchanged."""


class Adapter:
    """Reads from the end, where the candidate is, as far as `length` words go back.

    Letters are names: sometimes in the training, those of a sequence are exchanged for stand-ins
    that no sequence has, so that a name that was never seen means something, too.

    Parameters
    ----------
    seed
        Seed of weights, batches and stand-ins.
    threads
        Number of threads that PyTorch may use.
    layers, width, heads
        Sizes of the network.
    length
        Largest number of words of a sequence that are read.
    epochs, batch, rate
        Settings of the training; the rate is the largest of a cycle.
    renamed
        The share of sequences whose letters are exchanged.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        layers: int = 3,
        width: int = 128,
        heads: int = 4,
        length: int = 256,
        epochs: int = 16,
        batch: int = 32,
        rate: float = 1e-3,
        renamed: float = 0.3,
    ) -> None:
        self._seed, self._threads = seed, threads
        self._shape = layers, width, heads, length
        self._length, self._epochs, self._batch, self._rate = length, epochs, batch, rate
        self._renamed = renamed
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Train until the epochs or the time are over.

        Raises
        ------
        ValueError
            If the labels are not 0 and 1.
        """
        begin = time.monotonic()
        is_late = problem.budget.after(_SHARE_OF_TIME * problem.budget.remaining())
        if not np.isin(problem.Y, (0.0, 1.0)).all():
            raise ValueError("the labels are not 0 and 1")
        torch.manual_seed(self._seed)
        torch.set_num_threads(self._threads)
        rng = np.random.default_rng(self._seed)
        words = Vocabulary.of(problem.X)
        rows = [words.numbers(str(text), self._length) for text in problem.X]
        labels = problem.Y[:, 0].astype(np.float32)
        layers, width, heads, length = self._shape
        device = "cuda" if torch.cuda.is_available() else "cpu"
        print(f"device: {device}; PyTorch {torch.__version__}")  # noqa: T201 - to the log
        network = Reader(len(words), layers, width, heads, length).to(device)
        optimizer = torch.optim.AdamW(network.parameters(), lr=self._rate, weight_decay=0.01)
        steps = self._epochs * -(-len(rows) // self._batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / (0.1 * steps + 1), (steps - step) / steps)
        )
        self._words, self._network, self._device = words, network, device
        network.train()
        for epoch in range(self._epochs):
            losses = []
            for places in _batches(rows, self._batch, rng):
                if is_late():
                    self.stopped_early = True
                    print(f"stopped in epoch {epoch} for lack of time")  # noqa: T201 - to the log
                    return
                own = [rows[place] for place in places]
                exchanged = [
                    words.exchanged(row, rng.permutation(STAND_INS))
                    if rng.random() < self._renamed
                    else row
                    for row in own
                ]
                outputs = network(_padded(exchanged).to(device))
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    outputs, torch.from_numpy(labels[places]).to(device)
                )
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                losses.append(float(loss.detach()))
            seconds = time.monotonic() - begin
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {seconds:.0f} s")  # noqa: T201

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        rng = np.random.default_rng(self._seed)
        rows = [self._words.numbers(str(text), self._length) for text in problem.X]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found = np.zeros((len(rows), 1))
        self._network.eval()
        with torch.inference_mode():
            for reading in range(_READINGS):
                # The same for all: what a row is given does not depend on the others.
                stand_ins = rng.permutation(STAND_INS)
                for first in range(0, len(order), 128):
                    places = order[first : first + 128]
                    own = [rows[place] for place in places]
                    if reading:
                        own = [self._words.exchanged(row, stand_ins) for row in own]
                    outputs = self._network(_padded(own).to(self._device))
                    found[places, 0] += torch.sigmoid(outputs).cpu().numpy() / _READINGS
        return found

    def equations(self) -> list[str]:
        """There are none."""
        return []


def _padded(rows: list[list[int]]) -> torch.Tensor:
    """Make a batch, (rows, longest); 0 where a row has ended."""
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def _batches(rows: list[list[int]], size: int, rng: np.random.Generator) -> list[list[int]]:
    """Draw batches of rows that are about as long as each other."""
    order = rng.permutation(len(rows)).tolist()
    found = []
    for first in range(0, len(order), size * _LONGEST):
        near = sorted(order[first : first + size * _LONGEST], key=lambda place: len(rows[place]))
        found += [near[begin : begin + size] for begin in range(0, len(near), size)]
    return [found[place] for place in rng.permutation(len(found)).tolist()]
