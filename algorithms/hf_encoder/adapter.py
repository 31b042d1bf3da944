"""A pretrained encoder from a local folder, fine-tuned in the job.

Nothing is fetched: where the folder does not exist, the method is unavailable, with this reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mdbench.worker import Unavailable, paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_SHARE_OF_TIME = 0.9
"""Part of the time limit for the training."""
_HERE = Path(__file__).resolve().parent


class Adapter:
    """Reads a sequence up to `length` tokens, cut on the right as in the paper.

    Parameters
    ----------
    seed
        Seed of the new layer, the batches and the dropout.
    threads
        Number of threads that PyTorch may use.
    checkpoint
        The folder of a checkpoint as ``save_pretrained`` leaves it, in the method's folder, where
        the user's settings have no path ``checkpoint``.
    epochs, batch, rate, length
        Settings of the fine-tuning.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        checkpoint: str = "checkpoint",
        epochs: int = 12,
        batch: int = 8,
        rate: float = 5e-7,
        length: int = 256,
    ) -> None:
        self._seed, self._threads = seed, threads
        self._folder = paths.get("checkpoint", _HERE / checkpoint)
        self._epochs, self._batch, self._rate, self._length = epochs, batch, rate, length
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Fine-tune.

        Raises
        ------
        Unavailable
            If there is no checkpoint.
        ValueError
            If the labels are not 0 and 1.
        """
        is_late = problem.budget.after(_SHARE_OF_TIME * problem.budget.remaining())
        if not np.isin(problem.Y, (0.0, 1.0)).all():
            raise ValueError("the labels are not 0 and 1")
        if not (self._folder / "config.json").is_file():
            raise Unavailable(
                f"there is no checkpoint in {self._folder.name}: give the folder of one, such as "
                "BERT's, as paths.checkpoint in $MDBENCH_SETTINGS/hf_encoder.toml"
            )
        torch.manual_seed(self._seed)
        torch.set_num_threads(self._threads)
        self._tokens = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
        self._model = AutoModelForSequenceClassification.from_pretrained(
            self._folder, num_labels=2, local_files_only=True
        )
        texts, labels = [str(text) for text in problem.X], problem.Y[:, 0].astype(np.int64)
        optimizer = torch.optim.AdamW(self._model.parameters(), lr=self._rate)
        rng = np.random.default_rng(self._seed)
        self._model.train()
        for _ in range(self._epochs):
            order = rng.permutation(len(texts)).tolist()
            for first in range(0, len(order), self._batch):
                if is_late():
                    self.stopped_early = True
                    return
                places = order[first : first + self._batch]
                found = self._model(
                    **self._read([texts[place] for place in places]),
                    labels=torch.from_numpy(labels[places]),
                )
                optimizer.zero_grad()
                found.loss.backward()
                optimizer.step()

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        texts = [str(text) for text in problem.X]
        self._model.eval()
        chances = []
        with torch.inference_mode():
            for first in range(0, len(texts), 64):
                logits = self._model(**self._read(texts[first : first + 64])).logits
                chances.append(torch.softmax(logits, -1)[:, 1:].numpy())
        return np.concatenate(chances).astype(np.float64)

    def equations(self) -> list[str]:
        """There are none."""
        return []

    def _read(self, texts: Sequence[str]) -> Any:
        return self._tokens(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
