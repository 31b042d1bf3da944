"""SRSD's symbolic transformer: the likeliest law of a table, without values for its numbers."""

from __future__ import annotations

from table_decoder import TableDecoder

__all__ = ["Adapter"]


class Adapter(TableDecoder):
    """Decoding alone; the parameters are explained in ``table_decoder``."""

    def __init__(self, *, seed: int, threads: int, beam: int = 8, rows: int = 256) -> None:
        super().__init__(seed=seed, threads=threads, beam=beam, rows=rows, fit_numbers=False)
