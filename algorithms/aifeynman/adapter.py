"""AI Feynman: one process for each target, in its own folder, ended when its time is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from written_fronts import WrittenFronts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Adapter"]

_RUN = Path(__file__).resolve().parent / "run_target.py"
_PROGRAMS = {
    "feynman_sr1": "1",
    "feynman_sr2": "2",
    "feynman_sr3": "3",
    "feynman_sr_mdl_mult": "_mdl3",
    "feynman_sr_mdl_plus": "_mdl2",
    "feynman_sr_mdl4": "_mdl4",
    "feynman_sr_mdl5": "_mdl5",
}
"""The package's programs, with the Fortran module of each."""
_PROGRAM = """#!{python}
import importlib.machinery, importlib.util, sys
import numpy
[place] = importlib.util.find_spec("aifeynman").submodule_search_locations
name = "_symbolic_regress{module}"
finder = importlib.machinery.FileFinder(
    place, (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES)
)
spec = finder.find_spec(name)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module.go())
"""
"""Replaces the package's own programs, which import all of it, PyTorch too: that takes seconds."""
_RUNS = 26
"""Brute force is run twice, for sums and products, on the target and on twelve functions of it."""
_SHARE_OF_BRUTE_FORCE = 0.5
"""Part of the time for these runs; the rest is for the network and the parts of the problem."""


class Adapter(WrittenFronts):
    """The front that the package finds is recorded at once, so that a time limit loses nothing.

    Parameters
    ----------
    seed
        Seed of NumPy and PyTorch.
    threads
        Number of threads that PyTorch may use.
    brute_force_seconds
        Seconds of each run of the brute force; less where a limit is near.
    operations
        The package's file of operations: ``7ops.txt``, ``10ops.txt``, ``14ops.txt``, ``19ops.txt``.
    polynomial_degree
        Degree of the polynomials that are tried.
    max_rows
        Largest number of samples; of more, a random part is drawn.
    """

    package = "AI Feynman"

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        brute_force_seconds: float,
        operations: str,
        polynomial_degree: int,
        max_rows: int,
    ) -> None:
        super().__init__(seed=seed, threads=threads, max_rows=max_rows)
        self._brute_force_seconds, self._operations = brute_force_seconds, operations
        self._degree = polynomial_degree

    def search(self, X: Array, y: Array, target: int, limit: float | None) -> list[str]:
        """Run the package; its end, or that of the time, ends all its processes.

        Raises
        ------
        RuntimeError
            If the package fails, and has found nothing before.
        """
        folder = self._folder(target)
        folder.mkdir(parents=True)
        np.savetxt(folder / "data.txt", np.column_stack([X, y]))
        seconds = self._brute_force_seconds
        if limit is not None:
            seconds = min(seconds, _SHARE_OF_BRUTE_FORCE * limit / _RUNS)
        asked = {
            "seconds": seconds,
            "operations": self._operations,
            "degree": self._degree,
            "seed": self.seed % 2**32,
            "threads": self.threads,
        }
        begin = time.monotonic()
        places = [str(_write_programs(folder / "programs")), os.environ.get("PATH", os.defpath)]
        with subprocess.Popen(
            [sys.executable, str(_RUN), json.dumps(asked)],
            cwd=folder,
            env=os.environ | {"PATH": os.pathsep.join(places)},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                status = process.wait(None if limit is None else limit)
            except subprocess.TimeoutExpired:
                status = 0
                self.stopped_early = True
            finally:
                end_process_tree(process.pid)
        print(f"AI Feynman ended after {time.monotonic() - begin:.0f} s: {status}")  # noqa: T201
        found = self.found(target)
        if status != 0 and not found:
            raise RuntimeError(f"AI Feynman failed with exit status {status}; see the log")
        return found

    def found(self, target: int) -> list[str]:
        """Read what was recorded; an incomplete last line is left out."""
        file = self._folder(target) / "found.jsonl"
        lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.is_file() else []
        return [str(json.loads(line)) for line in lines]

    @staticmethod
    def _folder(target: int) -> Path:
        return Path("scratch").resolve() / f"target{target}"


def _write_programs(folder: Path) -> Path:
    folder.mkdir()
    for name, module in _PROGRAMS.items():
        file = folder / name
        file.write_text(_PROGRAM.format(python=sys.executable, module=module), encoding="utf-8")
        file.chmod(0o755)
    return folder


def end_process_tree(pid: int) -> None:
    """End a process and those that it has started; the package waits for none of them."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
