"""NPZ files are interchangeable with MDBench's, and a bad one is refused by name."""

from __future__ import annotations

import io
import pickle
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdbench.data.trajectory import Trajectory, read_npz, write_npz
from mdbench.errors import DataError

N = 20


def arrays(n: int = N, d: int = 2) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, n)
    return {"t": t, "u": generator.normal(size=(n, d)), "du": generator.normal(size=(n, d))}


def saved(path: Path, **changes: Any) -> Path:
    np.savez(path, **{key: a for key, a in (arrays() | changes).items() if a is not None})
    return path


def changed(key: str, place: Any, value: float) -> dict[str, Any]:
    array = arrays()[key].copy()
    array[place] = value
    return {key: array}


@settings(max_examples=30)
@given(n=st.integers(15, 40), d=st.integers(1, 4), fortran=st.booleans(), seed=st.integers(0, 99))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, n: int, d: int, fortran: bool, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    order = np.asfortranarray if fortran else np.ascontiguousarray
    series = Trajectory(
        np.sort(generator.random(n)), *(order(generator.normal(size=(n, d))) for _ in range(2))
    )
    path = tmp_path_factory.mktemp("npz") / "rössler-attractor.npz"
    with path.open("wb") as file:
        write_npz(file, series)
    back = read_npz(path)
    for key in ("t", "u", "du"):
        np.testing.assert_array_equal(getattr(back, key), getattr(series, key), strict=True)
    assert back.u.flags.f_contiguous == series.u.flags.f_contiguous


def test_the_layout_is_that_of_savez(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, Trajectory(**arrays()))
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["du.npy", "t.npy", "u.npy"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        header = np.lib.format.read_magic(io.BytesIO(archive.read("u.npy")))
    assert header == (1, 0)


def test_equal_arrays_make_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_npz(tmp_path / f"{name}.npz", Trajectory(**arrays()))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_integers_are_numbers_too(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.npz", t=np.arange(N), u=np.ones((N, 2), np.int32))
    series = read_npz(path)
    assert series.t.dtype == series.u.dtype == np.float64


def test_derivatives_are_part_of_the_layout(tmp_path: Path) -> None:
    series = Trajectory(arrays()["t"], arrays()["u"])
    with pytest.raises(ValueError, match="derivatives"):
        write_npz(tmp_path / "a.npz", series)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": None}, "key 't' is missing; it has u, du"),
        ({"u": None}, "key 'u' is missing"),
        ({"du": None}, "key 'du' is missing"),
        (changed("u", (7, 1), np.nan), "u[7, 1] is nan"),
        (changed("du", (0, 0), -np.inf), "du[0, 0] is -inf"),
        (changed("t", 3, np.nan), "t[3] is nan"),
        (changed("t", 3, 0.05), "t[3] is 0.05, after t[2] = 0.1"),
        ({"t": np.zeros(N)}, "t[1] is 0.0, after t[0] = 0.0"),
        ({"t": arrays()["t"][::-1]}, "t[1] is"),
        ({"t": arrays()["t"][:, None]}, "t has shape (20, 1)"),
        ({"t": np.float64(1)}, "t has shape ()"),
        ({"u": arrays()["u"][:, 0]}, "u has shape (20,)"),
        ({"u": arrays()["u"][:-1]}, "u has shape (19, 2)"),
        ({"u": np.empty((N, 0))}, "u has shape (20, 0)"),
        ({"du": arrays()["du"][:, :1]}, "u has shape (20, 2), du (20, 1)"),
        ({"du": arrays()["du"][:, :, None]}, "du has shape (20, 2, 1)"),
        ({key: a[:3] for key, a in arrays().items()}, "t has 3 time points"),
        ({key: a[:14] for key, a in arrays().items()}, "At least 15 are needed"),
        ({key: a[:0] for key, a in arrays().items()}, "t has 0 time points"),
        ({"u": arrays()["u"] * (1 + 1j)}, "u is of type complex128"),
        ({"u": np.full((N, 2), "1.0")}, "u is of type <U3"),
        ({"u": np.ones((N, 2), bool)}, "u is of type bool"),
        ({"u": arrays()["u"].astype(object)}, "u cannot be read: it holds pickled objects"),
    ],
)
def test_bad_arrays_are_refused_by_file_key_and_value(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = saved(tmp_path / "bad.npz", **changes)
    with pytest.raises(DataError) as caught:
        read_npz(path)
    assert "bad.npz" in str(caught.value)
    assert message in str(caught.value)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, tuple[()]]:
            return (Path(tmp_path / "attacked").touch, ())

    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Attack()))
    np.savez(tmp_path / "inside.npz", **arrays() | {"u": np.array([Attack()], dtype=object)})
    for name in ("bare.npz", "inside.npz"):
        with pytest.raises(DataError, match="pickled objects"):
            read_npz(tmp_path / name)
    assert not (tmp_path / "attacked").exists()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99, 0.9999])
def test_truncated_files_are_refused(tmp_path: Path, share: float) -> None:
    whole = saved(tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "torn.npz"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError, match=r"torn\.npz"):
        read_npz(path)


def test_flipped_bytes_are_noticed(tmp_path: Path) -> None:
    content = bytearray(saved(tmp_path / "flipped.npz").read_bytes())
    place = content.index(arrays()["u"].tobytes())
    content[place] ^= 0xFF
    (tmp_path / "flipped.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"flipped\.npz: u cannot be read"):
        read_npz(tmp_path / "flipped.npz")


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**50, 2)}
    )
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for key in ("t", "u", "du"):
            archive.writestr(f"{key}.npy", header.getvalue())
    with pytest.raises(DataError, match=r"huge\.npz: t has .* values"):
        read_npz(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "text.npz").write_text("t,u\n1,2\n")
    for name, message in {
        "array.npy": "is a single array",
        "text.npz": "text.npz cannot be read",
        "missing.npz": "No such file",
        ".": "Is a directory",
    }.items():
        with pytest.raises(DataError, match=message):
            read_npz(tmp_path / name)


def test_many_threads_may_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    t = np.linspace(0, 1, 50)
    np.savez(path, t=t, u=t[:, None], du=t[:, None])
    errors = []

    def read() -> None:
        try:
            for _ in range(300):
                read_npz(path)
        except BaseException as error:  # noqa: BLE001 - whatever a thread may meet
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
