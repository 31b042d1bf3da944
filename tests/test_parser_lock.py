"""Nothing in the bench's threads has two texts read as Python at once."""

from __future__ import annotations

import gc
import re
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT

from mdbench.data.trajectory import read_npz
from mdbench.datatypes.equations import files as reading
from mdbench.datatypes.ode.simulation import compiled
from mdbench.runtimes.array_exchange import read_predictions
from mdbench.runtimes.environments import base_images
from mdbench.runtimes.environments.subprocesses import _literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_READS_PYTHON = re.compile(
    r"ast\.parse\(|literal_eval\(|\bcompile\(|np\.load\(|lib\.format\.read|Requirement\("
)
_OUTSIDE = ("worker/", "authoring/template/", "certificates/verify.py")
"""What runs in processes of one thread, what is not the bench's, and what stands alone."""


@pytest.fixture
def breaks_in() -> Iterator[None]:
    """Have other threads go on in the middle of whatever makes objects."""

    def yield_to_others(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(1e-6)

    before = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(yield_to_others)
    gc.collect()
    gc.freeze()
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before[1])
        gc.unfreeze()
        gc.callbacks.remove(yield_to_others)
        sys.setswitchinterval(before[0])


@pytest.mark.usefixtures("breaks_in")
def test_many_threads_read_at_once(tmp_path: Path) -> None:
    """Two thousand readings of all kinds; without the lock some fail before Python 3.11.8."""
    t = np.linspace(0, 1, 50)
    np.savez(tmp_path / "a.npz", t=t, u=t[:, None], du=t[:, None])
    np.save(tmp_path / "predictions.npy", np.zeros((3, 2)))
    marked = "a==1 ; python_full_version < '3.12' and sys_platform == 'linux'"
    kinds: list[Callable[[], object]] = [
        lambda: read_npz(tmp_path / "a.npz"),
        lambda: read_predictions(tmp_path / "predictions.npy", (3, 2), np.dtype(float)),
        lambda: reading.substitute("c * u0 + sin(u1) / 2", ("u0", "u1", "c"), {"c": 0.5}),
        lambda: reading.without("2 * (u_x + u_z) - u_z * v + v", ["u_z"]),
        lambda: reading.compile_equations(["u0 * u1", "-u1"], ("u0", "u1"), np),
        lambda: compiled(["-u0 * u1", "u0**2"]),
        lambda: base_images._parse(marked),
        lambda: _literal("'https://example.org/simple'"),
    ]
    errors: list[BaseException] = []
    start = threading.Barrier(len(kinds))

    def read(first: int) -> None:
        start.wait()
        try:
            for number in range(260):
                kinds[(first + number) % len(kinds)]()
        except BaseException as error:  # noqa: BLE001 - whatever a thread may meet
            errors.append(error)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(len(kinds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_whatever_reads_python_knows_the_lock() -> None:
    package = ROOT / "mdbench"
    found = set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        text = path.read_text(encoding="utf-8").replace("re.compile(", "")
        if _READS_PYTHON.search(text) and not name.startswith(_OUTSIDE):
            assert "PARSER_LOCK" in text, name
            found.add(name)
    known = {"data/array_files.py", "runtimes/array_exchange.py", "datatypes/equations/files.py"}
    assert known <= found
