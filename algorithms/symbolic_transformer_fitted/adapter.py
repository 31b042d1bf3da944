"""The symbolic transformer with numbers fitted to all laws of a wide beam."""

from __future__ import annotations

from table_decoder import TableDecoder

__all__ = ["Adapter"]


class Adapter(TableDecoder):
    """Decoding and fitting; the parameters are explained in ``table_decoder``."""

    def __init__(self, *, seed: int, threads: int, beam: int = 64, rows: int = 256) -> None:
        super().__init__(seed=seed, threads=threads, beam=beam, rows=rows, fit_numbers=True)
