"""The lower layers of an encoder that stay as they are, and what they give, kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LowerLayers"]


class _Given(torch.nn.Module):
    """Stands for the embeddings: gives on what it is given."""

    def forward(self, *_: Any, inputs_embeds: torch.Tensor, **__: Any) -> torch.Tensor:
        return inputs_embeds


class LowerLayers:
    """Lower layers of a model for sequences, of BERT's kind: embeddings, and a list of layers.

    Parameters
    ----------
    model
        As transformers makes it; its lower layers are changed in place.
    frozen
        How many layers stay as they are, the embeddings below them too; with 0 none.
    cached
        Whether what they give is kept for each row.

    Raises
    ------
    ValueError
        If the model has fewer layers, or another kind of them.
    """

    def __init__(self, model: Any, frozen: int, *, cached: bool) -> None:
        self._model, self._cached = model, cached
        self._known: dict[int, torch.Tensor] = {}
        self._frozen: list[torch.nn.Module] = []
        if not frozen:
            return
        body = model.base_model
        self._body, self._stack = body, getattr(body, "encoder", body)
        layers = getattr(self._stack, "layer", None)
        if not isinstance(layers, torch.nn.ModuleList) or not hasattr(body, "embeddings"):
            raise ValueError(f"{type(body).__name__} has no list of layers to freeze")
        if frozen > len(layers):
            raise ValueError(f"frozen is {frozen}; at most {len(layers)}, all layers of the model")
        self._embeddings, self._layers = body.embeddings, layers
        self._frozen = [body.embeddings, *layers[:frozen]]
        for each in self._frozen:
            each.requires_grad_(requires_grad=False)

    def train(self) -> None:
        """Begin to train what is not frozen: what is has no dropout."""
        self._model.train()
        for each in self._frozen:
            each.eval()

    def logits(self, ids: torch.Tensor, mask: torch.Tensor, places: Sequence[int]) -> Any:
        """Return the logits of rows, (n, 2).

        Parameters
        ----------
        ids, mask
            Tokens, and which of them are no padding, (n, longest).
        places
            What names each row among those that are kept.
        """
        if not self._cached:
            return self._model(input_ids=ids, attention_mask=mask).logits
        if unknown := [n for n, place in enumerate(places) if place not in self._known]:
            for n, found in zip(unknown, self._read(ids[unknown], mask[unknown]), strict=True):
                self._known[places[n]] = found[: int(mask[n].sum())].half().cpu()
        width = self._known[places[0]].shape[1]
        given = torch.zeros(*ids.shape, width)
        for n, place in enumerate(places):
            row = self._known[place]
            given[n, : len(row)] = row
        return self._above(given.to(ids.device), mask)

    def forget(self) -> None:
        """Drop what is kept: other rows come next."""
        self._cached = False
        self._known.clear()

    def _read(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return what the frozen layers give, (n, longest, width)."""
        self._stack.layer = self._layers[: len(self._frozen) - 1]
        try:
            with torch.no_grad():
                found: torch.Tensor = self._body(input_ids=ids, attention_mask=mask)[0]
        finally:
            self._stack.layer = self._layers
        return found

    def _above(self, given: torch.Tensor, mask: torch.Tensor) -> Any:
        """Return the logits by the layers that are not frozen alone."""
        self._body.embeddings = _Given()
        self._stack.layer = self._layers[len(self._frozen) - 1 :]
        try:
            return self._model(inputs_embeds=given, attention_mask=mask).logits
        finally:
            self._body.embeddings, self._stack.layer = self._embeddings, self._layers
