"""symbolic_regression.rs: the search of SymbolicRegression.jl in Rust, in a process of its own."""

from __future__ import annotations

import os
import select
import struct
import subprocess
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from search_process import spent_with
from written_fronts import WrittenFronts

from mdbench.worker import Unavailable, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_LOOKS = 0.02
"""Seconds between two looks at the budget."""


class Adapter(WrittenFronts):
    """One search a target, which writes its front after each cycle of a population.

    Parameters
    ----------
    seed
        Of the engine.
    threads
        Not used: the search is stepped in one thread, so that a seed gives one result.
    max_rows
        Largest number of samples in a search; of more, a random part is drawn.
    settings
        Those that ``engine.rs`` reads, by their names in the crate.
    """

    package = "symbolic_regression.rs"

    def __init__(self, *, seed: int, threads: int, max_rows: int, **settings: Any) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._program = _program()
        settings["seed"] = seed % 2**64
        self._arguments = [f"{name}={_written(value)}" for name, value in settings.items()]
        self.evaluations = 0

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run the engine until it ends or has used up its share of the budget.

        Raises
        ------
        RuntimeError
            If the engine fails before it has written an equation.
        """
        del target, limit
        self._errors = {repr(float(np.mean(y))): float(np.var(y))}
        before = self.evaluations
        with subprocess.Popen(
            [self._program, *self._arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            try:
                _send_table(process.stdin, X, y)  # type: ignore[arg-type] # it is a pipe
                for line in self._lines(process):
                    first, _, equation = line.partition(" ")
                    if first == "evaluations":
                        self.evaluations = before + int(equation)
                    else:
                        self._errors[equation] = float(first)
            finally:
                process.kill()
        if len(self._errors) == 1 and process.returncode > 0:
            raise RuntimeError(f"the engine ended with status {process.returncode}; see the log")
        return list(self.found(0))

    def _lines(self, process: subprocess.Popen[bytes]) -> Iterator[str]:
        """Yield whole lines until the engine ends or its share is used up."""
        pipe, begun = process.stdout.fileno(), b""  # type: ignore[union-attr] # it is a pipe
        while spent_with(self.budget, process.pid, self.threads) < self.end:
            if not select.select([pipe], [], [], _LOOKS)[0]:
                continue
            block = os.read(pipe, 1 << 16)
            if not block:
                process.wait()
                return
            *lines, begun = (begun + block).split(b"\n")
            yield from (line.decode() for line in lines)
        self.stopped_early = True


def _program() -> Path:
    folder = paths.get("engine")
    if folder is None:
        raise Unavailable(
            "give paths.engine in $MDBENCH_SETTINGS/symbolic_regression_rs.toml: a folder that "
            "algorithms/symbolic_regression_rs/build.py has made"
        )
    program = folder / "engine"
    if not os.access(program, os.X_OK):
        raise Unavailable("paths.engine has no program 'engine'; build.py makes it")
    return program


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _send_table(pipe: IO[bytes], X: Array, y: Array) -> None:
    """Write rows, columns, the columns and the target, as ``engine.rs`` reads them."""
    numbers = np.concatenate([X.T.ravel(), y]).astype("<f8")
    try:
        pipe.write(struct.pack("<QQ", *X.shape) + numbers.tobytes())
        pipe.close()
    except BrokenPipeError:  # it has ended: its status says why
        pass
