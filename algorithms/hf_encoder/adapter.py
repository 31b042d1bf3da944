"""A pretrained encoder from a local folder, fine-tuned in the job.

Nothing is fetched: where the folder does not exist, the method is unavailable, with this reason.
"""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from batches import batches, by_length, padded
from network import LowerLayers
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mdbench.worker import Unavailable, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mdbench.worker import Problem

    Array = NDArray[np.float64]

_SHARE_OF_TIME = 0.9
"""Part of the time limit for the training."""
_READ_AT_A_TIME = 64
_HERE = Path(__file__).resolve().parent


class Adapter:
    """Reads a sequence up to `length` tokens, cut on the right as in the paper.

    The weights are those of the epoch with the best F1 on the last sequences of the fit, from
    which nothing is learnt: the bench gives training sequences first, and then those of the
    validation, so that a fifth is the whole validation of the paper's sizes.

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
    held_out
        The share of sequences, from the end, by which the epoch is chosen; with 0 it is the last.
    frozen
        How many lower layers, with the embeddings below them, stay as they are; with 0 none.
    cached
        Whether what the frozen layers give is computed once and kept, as float16, rather than again
        in each epoch; 2 bytes x width x tokens, some 2 GB for 25,000 sequences of 110 tokens.
    """

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        checkpoint: str = "checkpoint",
        epochs: int = 12,
        batch: int = 32,
        rate: float = 5e-5,
        length: int = 256,
        held_out: float = 0.2,
        frozen: int = 0,
        cached: bool = False,
    ) -> None:
        if not 0 <= held_out < 1:
            raise ValueError(f"held_out is {held_out}; it is a share, from 0 to below 1")
        if cached and not frozen:
            raise ValueError("cached needs frozen layers: give frozen = 1 or more")
        self._seed, self._threads = seed, threads
        self._folder = paths.get("checkpoint", _HERE / checkpoint)
        self._epochs, self._batch, self._rate, self._length = epochs, batch, rate, length
        self._held_out, self._frozen, self._cached = held_out, frozen, cached
        self.stopped_early = False

    def fit(self, problem: Problem) -> None:
        """Fine-tune.

        Raises
        ------
        Unavailable
            If there is no checkpoint.
        ValueError
            If the labels are not 0 and 1, or the model has fewer layers than are to be frozen.
        """
        begin = time.monotonic()
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
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        device = torch.cuda.get_device_name() if self._device == "cuda" else "cpu"
        _say(f"device: {device}; PyTorch {torch.__version__}")
        self._tokens = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
        model = AutoModelForSequenceClassification.from_pretrained(
            self._folder, num_labels=2, local_files_only=True
        )
        self._model = model.to(self._device)
        self._lower = LowerLayers(self._model, self._frozen, cached=self._cached)
        rows, labels = self._rows(problem.X), problem.Y[:, 0].astype(np.int64)
        self._train(rows, labels, is_late, begin)
        self._lower.forget()

    def _train(
        self,
        rows: Sequence[Sequence[int]],
        labels: NDArray[np.int64],
        is_late: Callable[[], bool],
        begin: float,
    ) -> None:
        """Go through the epochs, and keep the weights of the best."""
        kept_back = int(self._held_out * len(rows))
        learnt = len(rows) - kept_back
        rest = range(learnt, len(rows))
        trained = [each for each in self._model.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=self._rate)
        rng = np.random.default_rng(self._seed)
        best, weights = -1.0, None
        for epoch in range(1, self._epochs + 1):
            self._lower.train()
            losses = []
            for places in batches([len(row) for row in rows[:learnt]], self._batch, rng):
                if is_late():
                    self.stopped_early = True
                    _say(f"stopped in epoch {epoch} for lack of time")
                    break
                logits = self._logits(rows, places)
                wanted = torch.from_numpy(labels[places]).to(self._device)
                loss = torch.nn.functional.cross_entropy(logits, wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            if self.stopped_early and weights is not None:
                break  # of an epoch that has not ended nothing is known
            told = f"loss {float(torch.stack(losses).mean()):.4f}, " if losses else ""
            if kept_back:
                found = _f1(self._chances(rows, rest)[:, 0] >= 0.5, labels[learnt:] == 1)  # noqa: PLR2004
                told += f"F1 {found:.4f} on {kept_back} held out, "
                if found > best:
                    best, weights = found, copy.deepcopy(self._model.state_dict())
                    told += "the best so far, "
            _say(f"epoch {epoch}: {told}{time.monotonic() - begin:.0f} s")
            if self.stopped_early:
                break
        if weights is not None:
            self._model.load_state_dict(weights)

    def predict(self, problem: Problem) -> Array:
        """Return the probability that each candidate is right, (n, 1)."""
        rows = self._rows(problem.X)
        return self._chances(rows, range(len(rows)))

    def equations(self) -> list[str]:
        """There are none."""
        return []

    def _rows(self, texts: Any) -> list[list[int]]:
        """Return the numbers of each text's tokens."""
        found = self._tokens(
            [str(text) for text in texts], truncation=True, max_length=self._length
        )
        return list(found["input_ids"])

    def _logits(self, rows: Sequence[Sequence[int]], places: Sequence[int]) -> Any:
        """Return the logits of some rows, (n, 2)."""
        ids, mask = padded([rows[place] for place in places], self._tokens.pad_token_id or 0)
        return self._lower.logits(ids.to(self._device), mask.to(self._device), places)

    def _chances(self, rows: Sequence[Sequence[int]], places: Sequence[int]) -> Array:
        """Return the probability of the label 1 of some rows, (n, 1), whatever their order."""
        self._model.eval()
        found = np.zeros((len(places), 1))
        order = by_length([len(rows[place]) for place in places])
        with torch.inference_mode():
            for first in range(0, len(order), _READ_AT_A_TIME):
                some = order[first : first + _READ_AT_A_TIME]
                logits = self._logits(rows, [places[place] for place in some])
                found[some] = torch.softmax(logits.float(), -1)[:, 1:].cpu().numpy()
        return found


def _f1(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    hits, named = np.sum(found & true), np.sum(found) + np.sum(true)
    return float(2 * hits / named) if named else 0.0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - to the job's log
