"""The network: an encoder that predicts of a sequence whether its candidate is right."""

from __future__ import annotations

import torch

__all__ = ["Reader"]


class Reader(torch.nn.Module):
    """A transformer's encoder, and a linear layer on the mean of its outputs.

    Places are counted from the end, where the candidate is.

    Parameters
    ----------
    words
        Numbers of words, 0 for the padding.
    layers, width, heads
        Sizes of the encoder; its inner layers have twice the width.
    length
        The longest sequence.
    """

    def __init__(self, words: int, layers: int, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(words, width, padding_idx=0)
        self.places = torch.nn.Embedding(length, width)
        layer = torch.nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.1, batch_first=True, norm_first=True
        )
        # Dropout only on what a layer adds: on the rest it took a third of the time.
        layer.self_attn.dropout = 0.0
        layer.dropout = torch.nn.Identity()
        self.encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = torch.nn.LayerNorm(width)
        self.out = torch.nn.Linear(width, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the logit of each row; rows are (n, words), int64."""
        padding = rows == 0
        lengths = (~padding).sum(1, keepdim=True)
        places = (lengths - 1 - torch.arange(rows.shape[1], device=rows.device)).clamp(min=0)
        found = self.words(rows) + self.places(places)
        found = self.norm(self.encoder(found, src_key_padding_mask=padding))
        found = found.masked_fill(padding[:, :, None], 0.0).sum(1) / lengths
        logits: torch.Tensor = self.out(found)[:, 0]
        return logits
