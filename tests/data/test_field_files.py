"""Fields in MATLAB's and in netCDF files: conventions, and what is refused by name."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file, savemat
from scipy.sparse import csc_array

from mdbench.data.field import Field
from mdbench.data.field_files import read_field_file, refuse_tables, write_field
from mdbench.datatypes.equations.data_checks import of_field
from mdbench.errors import DataError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

X, Y, T = np.linspace(0, 1, 8, endpoint=False), np.linspace(0, 2, 7), np.linspace(1, 3, 16)
U = np.sin(2 * np.pi * X)[:, None, None, None] * Y[:, None, None] * T[:, None] + np.arange(2.0)
LINE = U[:, 3, :, 0]


def same(found: Field, u: Array = U, **periods: float) -> None:
    np.testing.assert_allclose(found.u, u, atol=1e-12)
    np.testing.assert_allclose(found.t, T)
    np.testing.assert_allclose(found.grid["x"], X)
    assert dict(found.periods) == pytest.approx(periods, rel=1e-6)
    assert found.u.flags.c_contiguous
    assert found.u.dtype == found.t.dtype == np.float64


def test_npz_as_before(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    write_field(path, Field(T, {"x": X, "y": Y}, U, 2 * U, {"x": 1.0}))
    found = read_field_file(path)
    same(found, x=1.0)
    assert found.du is not None
    np.testing.assert_array_equal(found.du, 2 * U)


@pytest.mark.parametrize("oned_as", ["row", "column"])
def test_matlab_s_rows_and_columns_are_rows(tmp_path: Path, oned_as: Any) -> None:
    path = tmp_path / "mine.mat"
    savemat(path, {"t": T, "x": X, "y": Y, "u": U, "x_period": 1.0}, oned_as=oned_as)
    same(read_field_file(path), x=1.0)


def test_a_single_state_needs_no_dimension_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "line.MAT"
    savemat(path, {"t": T, "x": X, "u": LINE, "du": 3 * LINE})
    found = read_field_file(path)
    same(found, LINE[..., None])
    assert found.du is not None
    np.testing.assert_array_equal(found.du[..., 0], 3 * LINE)


def test_matlab_7_3_keeps_columns_first(tmp_path: Path) -> None:
    path = tmp_path / "new.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in {"t": T[None], "x": X[:, None], "y": Y[None], "u": U}.items():
            file[name] = array.T
        file.create_group("#refs#")
    begin = path.read_bytes()
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + begin[512:])
    same(read_field_file(path))


def test_what_matlab_7_3_hides_is_named(tmp_path: Path) -> None:
    def written(**arrays: Any) -> Path:
        path = tmp_path / "new.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, array in {"t": T[None].T, "x": X[None].T, **arrays}.items():
                if isinstance(array, dict):
                    file.create_group(name).update(array)
                else:
                    file[name] = array
        return path

    with pytest.raises(DataError, match=r"data is a structure or a sparse(.|\n)*'-struct', 'data'"):
        read_field_file(written(data={"u": LINE.T}))
    parts = np.ones(LINE.T.shape, [("real", "f8"), ("imag", "f8")])
    with pytest.raises(DataError, match=r"u is of type .*\n.*u\.real, u\.imag"):
        read_field_file(written(u=parts))


def netcdf3(path: Path, variables: dict[str, tuple[Any, tuple[str, ...]]], **period: float) -> Path:
    with netcdf_file(path, "w") as file:
        for values, dims in variables.values():
            for dim, n in zip(dims, np.shape(values), strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, n)
        for name, (values, dims) in variables.items():
            variable = file.createVariable(name, np.asarray(values).dtype, dims)
            variable[:] = values
            if name in period:
                variable.period = period[name]
    return path


def test_dimensions_of_netcdf_have_names_and_any_order(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"x": (X, ("x",)), "y": (Y, ("y",)), "time": (T, ("time",))}
    turned = U.transpose(2, 3, 1, 0)
    path = netcdf3(
        tmp_path / "u.nc", {"u": (turned, ("time", "state", "y", "x")), **axes}, x=1.0, y=7 / 3
    )
    same(read_field_file(path), x=1.0, y=7 / 3)
    each = {
        name: (U[..., i].transpose(2, 0, 1), ("time", "x", "y"))
        for i, name in enumerate(("warmth", "salt"))
    }
    found = read_field_file(netcdf3(tmp_path / "named.nc", axes | each))
    same(found)
    assert found.labels == ("warmth", "salt")
    own = SimpleNamespace(given=found, clean=found, names={})
    assert "variables of the file: u0 is warmth, u1 is salt" in of_field(own)


def test_netcdf_4_as_xarray_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "new.nc"
    packed = np.round(LINE.T * 1e6).astype(np.int32)
    with h5py.File(path, "w") as file:
        for name, nodes in {"x": X, "t": T}.items():
            file[name] = nodes
            file[name].make_scale(name)
        file["x"].attrs["period"] = [1.0]
        file["state"] = np.zeros(1)
        file["state"].make_scale("This is a netCDF dimension but not a netCDF variable.  1")
        file["u"] = packed[:, None]
        file["u"].attrs.update({"scale_factor": 1e-6, "_FillValue": np.int32(-(2**31))})
        for i, name in enumerate(("t", "state", "x")):
            file["u"].dims[i].attach_scale(file[name])
    found = read_field_file(path)
    np.testing.assert_allclose(found.u[..., 0], LINE, atol=1e-6)
    assert dict(found.periods) == {"x": 1.0}
    with h5py.File(path, "a") as file:
        file["u"][3, 0, 2] = -(2**31)
    with pytest.raises(DataError, match=r"u\[2, 3, 0\] is nan"):
        read_field_file(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"u": None, "usol": LINE}, r"'u' is missing; it has t, x, usol"),
        ({"x": None}, r"'x' is missing"),
        ({"t": None}, r"'t' is missing"),
        ({"rho": 1.0}, r"'rho' is none of x, t, u, du and x_period"),
        ({"u": LINE * 1j}, r"u is of type complex128\n.*numpy\.stack\(\[u\.real, u\.imag\]"),
        ({"u": LINE.T}, r"u has shape \(16, 8, 1\)\n.*numpy\.transpose\(u, \(1, 0, 2\)\)"),
        ({"u": csc_array(LINE)}, r"u is a sparse matrix\n.*full\(u\)"),
        ({"data": {"u": LINE}}, r"data is a structure\n.*'-struct', 'data'"),
        ({"u": np.array([LINE, "a"], object)}, r"u is of type object\n.*cell2mat\(u\)"),
        ({"u": "warm"}, r"u is of type <U4\n.*numpy\.asarray\(u, float\)"),
        ({"x": X**2}, r"x is not uniform(.|\n)*make_interp_spline\(x, u, axis=0\)"),
        ({"x_period": [1.0, 2.0]}, r"x_period has shape \(1, 2\)"),
        ({"x_period": 7 / 8}, r"both ends of its period(.|\n)*leave out the last node"),
        ({"x_period": 3.0}, r"period 3, and 8 nodes 0.125 apart(.|\n)*would be 1 here"),
    ],
)
def test_what_matlab_s_file_lacks_or_has_too_much_is_named(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = tmp_path / "bad.mat"
    arrays = {"t": T, "x": X, "u": LINE} | changes
    savemat(path, {name: each for name, each in arrays.items() if each is not None})
    with pytest.raises(DataError, match=rf"bad\.mat: (.|\n)*{words}"):
        read_field_file(path)


def test_what_netcdf_s_file_lacks_is_named(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"x": (X, ("x",)), "t": (T, ("t",))}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"lon": (X, ("lon",))}, r"it has lon\(lon\)\n.*coordinates x, y and z.*lon='x'"),
        (axes, "no variable is given on x, t"),
        (axes | {"u": (T, ("t",))}, "u has the dimensions t\n.*x, t and"),
        (axes | {"u": (np.zeros((8, 16, 2, 2)), ("x", "t", "a", "b"))}, "dimensions x, t, a, b"),
    ]
    for variables, words in cases:
        with pytest.raises(DataError, match=words):
            read_field_file(netcdf3(tmp_path / "bad.nc", variables))
    with h5py.File(tmp_path / "groups.nc", "w") as file:
        file.create_group("run1")["u"] = LINE
    with pytest.raises(DataError, match=r"in groups: run1\n.*'groups\.nc', group='run1'"):
        read_field_file(tmp_path / "groups.nc")


@pytest.mark.parametrize("name", ["bad.mat", "bad.nc"])
@pytest.mark.parametrize(
    "content", [b"", b"nothing", b"CDF\x01" + bytes(20), b"\x89HDF\r\n\x1a\n" + bytes(100)]
)
def test_damaged_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match="bad"):
        read_field_file(path)
    with pytest.raises(DataError, match=r"none\.mat cannot be read: No such file"):
        read_field_file(tmp_path / "none.mat")


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.mat"
    savemat(path, {"t": T, "x": X, "u": LINE})
    whole = path.read_bytes()
    for n in (60, 130, 200, len(whole) // 2, len(whole) - 9):
        path.write_bytes(whole[:n])
        with pytest.raises(DataError, match=r"cut\.mat"):
            read_field_file(path)


def test_without_h5py_it_states_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.nc"
    with h5py.File(path, "w") as file:
        file["x"] = X
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UnavailableError, match=r"netCDF of version 4(.|\n)*NETCDF3(.|\n)*h5py"):
        read_field_file(path)


def test_tables_are_refused_with_the_reason(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("t,x,u\n")
    for path in (table, tmp_path):
        with pytest.raises(DataError, match=r"needs a grid(.|\n)*numpy\.savez(.|\n)*ode"):
            refuse_tables(path)
    (tmp_path / "mine.npz").touch()
    refuse_tables(tmp_path)
    refuse_tables(tmp_path / "missing.npz")
