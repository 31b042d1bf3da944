"""Array files that are small on disk and large in memory: refused before they are read."""

from __future__ import annotations

import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.io import netcdf_file, savemat

from mdbench.data.array_files import MOST_BYTES, MOST_VALUES, refuse_large
from mdbench.data.field_files import read_field_file
from mdbench.data.formats.points import read_points
from mdbench.data.trajectory import read_npz
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N_T = 4000
N_X = MOST_VALUES // N_T + 1
BOUND = 24 * MOST_VALUES
"""Bytes: the smallest array that is refused, which SciPy decompresses in blocks to skip it."""


def zeros() -> dict[str, Any]:
    """Return a field of zeros with one place more than is allowed."""
    return {"t": np.arange(N_T) * 1.0, "x": np.arange(N_X) * 1.0, "u": np.zeros((N_X, N_T))}


def npz(path: Path) -> None:
    np.savez_compressed(path, **zeros())


def mat(path: Path) -> None:
    savemat(path, zeros(), do_compression=True)


def hdf5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["t"], file["x"] = zeros()["t"], zeros()["x"]
        file.create_dataset("u", (N_X, N_T), "f8", chunks=(50, 50), fillvalue=1.0)  # nothing in it


def netcdf(path: Path) -> None:
    with netcdf_file(path, "w") as file:
        for name, each in zeros().items():
            dims = ("x", "t") if name == "u" else (name,)
            if name != "u":
                file.createDimension(name, len(each))
            kind = "b" if name == "u" else "d"  # a byte each: the file is small, the array is not
            file.createVariable(name, kind, dims)[:] = each


@pytest.mark.parametrize(
    ("ending", "write"),
    [("npz", npz), ("mat", mat), ("mat", hdf5), ("nc", hdf5), ("nc", netcdf)],
)
def test_a_field_that_is_large_only_in_memory_is_refused_unread(
    tmp_path: Path, ending: str, write: Callable[[Path], None]
) -> None:
    path = tmp_path / f"large.{ending}"
    write(path)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"u has .* values") as refused:
            read_field_file(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "u[::2, ::4]" in (refused.value.hint or "")
    assert peak < BOUND


@pytest.mark.parametrize("read", [read_npz, read_points])
def test_so_are_other_files_of_arrays(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "large.npz"
    u = np.zeros((MOST_VALUES, 2))
    np.savez_compressed(path, t=u[:, 0], u=u, du=u, points=u)
    with pytest.raises(DataError, match=r"has .* values"):
        read(path)


def test_many_arrays_and_many_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(101):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(DataError, match="has 101 arrays"):
        read_npz(path)
    with pytest.raises(DataError, match="MB of arrays, and may have 60"):
        refuse_large(path, [(str(number), (MOST_VALUES,)) for number in range(4)])
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for ending in ("npz", "mat", "nc"):
        with pytest.raises(DataError, match="has 60 MB, and may have 60"):
            read_field_file(path.rename(path.with_suffix(f".{ending}")))
        path = path.with_suffix(f".{ending}")


def test_what_is_as_large_as_allowed_is_not_refused(tmp_path: Path) -> None:
    refuse_large(tmp_path, [(name, (MOST_VALUES,)) for name in ("u", "du", "x")])
