"""The network of SRSD's baseline: tables read as sets of sets, laws written token by token.

Kamienny's and others' transformers read numbers as text; this one reads a table as SRSD's does
(Matsubara et al. 2024, appendix C): layers for each cell in turn with pooling over rows and over
columns, so that the order of rows has no effect.  Its decoder points at columns: the token of a
variable is what was read of its column.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from pretraining import FEATURES
from skeletons import ARITY
from torch import Tensor, nn

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["COLUMNS", "TOKENS", "NetworkSizes", "TableNetwork"]

COLUMNS = 10
"""Largest number of variables of a table."""
TOKENS = tuple(ARITY)
"""Tokens besides the variables, whose codes follow."""
_BEGIN = len(TOKENS)


@dataclass(frozen=True)
class NetworkSizes:
    """Sizes of the network."""

    width: int = 96
    inner: int = 160
    heads: int = 4
    layers: int = 3
    longest: int = 32


class _Block(nn.Module):  # type: ignore[misc]
    """Each cell by itself, next to its column's and its row's means and largest values."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.cell = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, width))
        self.column = nn.Linear(2 * width, width)
        self.row = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, cells: Tensor, there: Tensor) -> Tensor:
        """Return (B, n, c, width) of (B, n, c, inputs); `there` (B, c) is False for padding."""
        own = self.cell(cells)
        pooled = torch.cat([own.mean(1), own.amax(1)], -1)
        own = torch.nn.functional.gelu(own + self.column(pooled)[:, None])
        inside = there[:, None, :, None].to(own.dtype)
        mean = (own * inside).sum(2, keepdim=True) / inside.sum(2, keepdim=True)
        result: Tensor = self.norm(own + self.row(own + mean))
        return result


class TableNetwork(nn.Module):  # type: ignore[misc]
    """Reads tables, and gives the probabilities of each next token of their laws.

    Parameters
    ----------
    shape
        Its sizes.
    """

    def __init__(self, shape: NetworkSizes) -> None:
        super().__init__()
        self.shape = shape
        width, inner = shape.width, shape.inner
        self.blocks = nn.ModuleList([_Block(FEATURES, width), _Block(width, width)])
        self.column = nn.Linear(2 * width, inner)
        self.place = nn.Embedding(COLUMNS + 1, inner)
        self.tokens = nn.Embedding(len(TOKENS) + 1, inner)
        self.position = nn.Embedding(shape.longest, inner)
        layer = nn.TransformerDecoderLayer(
            inner, shape.heads, 2 * inner, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=True,
        )  # fmt: skip
        self.decoder = nn.TransformerDecoder(layer, shape.layers, nn.LayerNorm(inner))
        self.to_tokens = nn.Linear(inner, len(TOKENS))
        self.to_columns = nn.Linear(inner, inner)

    def read(self, cells: Tensor, there: Tensor) -> Tensor:
        """Read tables.

        Parameters
        ----------
        cells
            (B, n, c, `FEATURES`): the variables' columns, padding, and the target's column last.
        there
            (B, c) whether a column is no padding.

        Returns
        -------
        Tensor
            (B, c, inner).
        """
        for block in self.blocks:
            cells = block(cells, there)
        columns = self.column(torch.cat([cells.mean(1), cells.amax(1)], -1))
        places = torch.arange(columns.shape[1], device=columns.device)
        places[-1] = COLUMNS
        result: Tensor = columns + self.place(places)
        return result

    def forward(self, columns: Tensor, there: Tensor, written: Tensor) -> Tensor:
        """Return the logits of what follows each of the tokens written so far.

        Parameters
        ----------
        columns
            (B, c, inner) of `read`.
        there
            (B, c).
        written
            (B, L) codes; those of variables are ``len(TOKENS)`` and up.

        Returns
        -------
        Tensor
            (B, L + 1, len(TOKENS) + c - 1), of the first token first.
        """
        batch, length = written.shape
        variable = written >= len(TOKENS)
        own = self.tokens(torch.where(variable, 0, written))
        index = torch.where(variable, written - len(TOKENS), 0)
        pointed = torch.gather(columns, 1, index[..., None].expand(-1, -1, columns.shape[2]))
        own = torch.where(variable[..., None], pointed, own)
        begin = self.tokens(torch.full((batch, 1), _BEGIN, device=own.device))
        places = torch.arange(length + 1, device=own.device)
        own = torch.cat([begin, own], 1) + self.position(places)
        mask = torch.triu(torch.ones(length + 1, length + 1, dtype=torch.bool), 1)
        state = self.decoder(
            own, columns, tgt_mask=mask.to(own.device), memory_key_padding_mask=~there
        )
        to_columns = self.to_columns(state) @ columns[:, :-1].transpose(1, 2)
        to_columns = to_columns / columns.shape[2] ** 0.5
        to_columns = to_columns.masked_fill(~there[:, None, :-1], -torch.inf)
        return torch.cat([self.to_tokens(state), to_columns], -1)

    def save(self, file: Path) -> None:
        """Write shape and weights, in half precision."""
        weights = {
            name: value.detach().cpu().numpy().astype(np.float16)
            for name, value in self.state_dict().items()
        }
        shape = {f"shape.{name}": np.array(value) for name, value in asdict(self.shape).items()}
        arrays: dict[str, Any] = {**shape, **weights}
        with file.open("wb") as opened:
            np.savez_compressed(opened, **arrays)

    @classmethod
    def load(cls, file: Path) -> TableNetwork:
        """Read what `save` wrote."""
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        sizes = {name[6:]: int(value) for name, value in found.items() if name[:6] == "shape."}
        network = cls(NetworkSizes(**sizes))
        network.load_state_dict(
            {
                name: torch.from_numpy(value.astype(np.float32))
                for name, value in found.items()
                if name[:6] != "shape."
            }
        )
        network.eval()
        return network
