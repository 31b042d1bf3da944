"""Smoothed curves that are kept on the disk, so that no run smooths the same samples again.

A file holds the curves of one dataset's series.  Its name is a hash of the samples and of the times
in between at which the curves are asked for; its folder is named after all that the numbers may
depend on besides (`mdbench.workspace.bench_hash`).  What cannot be read or written is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.smoothing import Smoothed
from mdbench.errors import DataError
from mdbench.workspace import bench_hash, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_LARGEST = 2**20
"""Bytes of the curves of a dataset beyond which they are made again."""
_ALL_TOGETHER = 2**28
"""Bytes of all files of a folder beyond which no more are written."""
_KEPT = 4
"""Folders that are kept, the newest."""


class CurveCache:
    """Curves by what they are made of; may be used from several threads and processes.

    Parameters
    ----------
    folder
        Holds a folder for each state of the bench's code; need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self._above = folder
        self._lock = threading.Lock()
        self._left: int | None = None

    def get(
        self,
        series: Sequence[tuple[Array, Array]],
        between: Sequence[Array],
        how: object,
        make: Callable[[], list[Smoothed]],
    ) -> list[Smoothed]:
        """Return the curves of some series, reading them where they are kept.

        Parameters
        ----------
        series
            Times (n,) and samples (n, d) of each.
        between
            Times of each, (m,), at which the curves can be asked for at once; at others they are
            made again.
        how
            All else that the curves depend on; its ``repr`` counts.
        make
            Makes them.
        """
        numbers = sum(
            2 * u.size + u.shape[1] * (1 + len(times))
            for (_, u), times in zip(series, between, strict=True)
        )
        if numbers * 8 > _LARGEST:
            return make()
        folder = self._above / bench_hash()[:32]
        path = folder / f"{_key(series, between, how)}.curves"
        stored = _read(path, series, between, make)
        if stored is None:
            curves = make()
            values = [one.at(times) for one, times in zip(curves, between, strict=True)]
            self._write(path, curves, values)
            return curves
        return stored

    def _write(self, path: Path, curves: Sequence[Smoothed], values: Sequence[Array]) -> None:
        arrays = [
            part
            for one, inside in zip(curves, values, strict=True)
            for part in (one.u, one.du, one.variances, inside)
        ]
        body = b"".join(np.ascontiguousarray(part, dtype=np.float64).tobytes() for part in arrays)
        head = json.dumps([one.remarks for one in curves]).encode() + b"\n"
        check = zlib.crc32(head + body)
        data = b"%08x" % check + head + body
        with suppress(DataError, OSError):
            if self._claim(path.parent, len(data)):
                write_whole(path, lambda file: file.write(data))

    def _claim(self, folder: Path, size: int) -> bool:
        """Take some of the space that is left, and remove folders of older code at first."""
        with self._lock:
            if self._left is None:
                folder.mkdir(parents=True, exist_ok=True)
                with os.scandir(folder) as entries:
                    self._left = _ALL_TOGETHER - sum(each.stat().st_size for each in entries)
                others = sorted(self._above.iterdir(), key=lambda each: each.stat().st_mtime)
                for old in others[:-_KEPT]:
                    shutil.rmtree(old, ignore_errors=True)
            self._left -= size
            return self._left >= 0


def _key(series: Sequence[tuple[Array, Array]], between: Sequence[Array], how: object) -> str:
    digest = hashlib.sha256(repr(how).encode())
    for (t, u), times in zip(series, between, strict=True):
        for array in (t, u, times):
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:40]


def _read(
    path: Path,
    series: Sequence[tuple[Array, Array]],
    between: Sequence[Array],
    make: Callable[[], list[Smoothed]],
) -> list[Smoothed] | None:
    """Read curves; None where there are none, or not these."""
    try:
        data = path.read_bytes()
        if int(data[:8], 16) != zlib.crc32(memoryview(data)[8:]):
            return None
        end = data.index(b"\n")
        remarks = json.loads(data[8:end])
        numbers = np.frombuffer(data, dtype=np.float64, offset=end + 1).copy()
        sizes = [
            size
            for (_, u), times in zip(series, between, strict=True)
            for size in (u.size, u.size, u.shape[1], len(times) * u.shape[1])
        ]
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        if sum(sizes) != len(numbers) or len(remarks) != len(series):
            return None
    except (OSError, ValueError):
        return None
    curves = []
    for number, ((t, u), times) in enumerate(zip(series, between, strict=True)):
        own_u, own_du, variances, inside = parts[4 * number : 4 * number + 4]
        at = _kept_values(times, inside.reshape(len(times), -1), make, number)
        texts = tuple(str(each) for each in remarks[number])
        curves.append(
            Smoothed(
                np.ascontiguousarray(t, dtype=np.float64),
                *(own_u.reshape(u.shape), own_du.reshape(u.shape), variances, at, texts),
            )
        )
    return curves


def _kept_values(
    kept_at: Array, values: Array, make: Callable[[], list[Smoothed]], number: int
) -> Callable[[Array], Array]:
    """Evaluate a curve that was read: at the times that are kept, or else by making it again."""

    def at(times: Array) -> Array:
        return values.copy() if np.array_equal(times, kept_at) else make()[number].at(times)

    return at
