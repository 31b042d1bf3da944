"""Points in files, as they come and as they should not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mdbench.data.formats.points import read_points
from mdbench.data.readers import endings
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

POINTS = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32).astype(np.float64)
NORMALS = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)


def rows(table: np.ndarray, mark: str = ",") -> str:
    return "\n".join(mark.join(repr(float(cell)) for cell in row) for row in table)


def written(folder: Path, ending: str, *, normals: bool = False) -> Path:
    path = folder / f"cloud{ending}"
    table = np.hstack([POINTS, 2 * NORMALS]) if normals else POINTS
    names = ["x", "y", "z", "nx", "ny", "nz"][: table.shape[1]]
    if ending == ".csv":
        path.write_text(",".join(names) + "\n" + rows(table) + "\n", encoding="utf-8")
    elif ending == ".npz":
        np.savez(path, points=POINTS, **({"normals": 2 * NORMALS} if normals else {}))
    elif ending == ".obj":
        lines = [f"v {a!r} {b!r} {c!r}" for a, b, c in POINTS.tolist()]
        path.write_text("# a cloud\no it\n" + "\n".join(lines) + "\nf 1 2 3\n", encoding="utf-8")
    else:
        properties = "".join(f"property float {name}\n" for name in names)
        head = f"element vertex {len(table)}\n{properties}element face 0\n"
        head += "property list uchar int vertex_indices\nend_header\n"
        path.write_text(f"ply\nformat ascii 1.0\n{head}{rows(table, ' ')}\n", encoding="utf-8")
    return path


def test_the_test_knows_all_formats() -> None:
    assert set(endings("points")) == {".csv", ".npz", ".ply", ".obj"}


@pytest.mark.parametrize("ending", endings("points"))
def test_points_are_read(tmp_path: Path, ending: str) -> None:
    points, normals = read_points(written(tmp_path, ending))
    np.testing.assert_allclose(points, POINTS, rtol=1e-7)
    assert normals is None


@pytest.mark.parametrize("ending", [".csv", ".npz", ".ply"])
def test_normals_are_read_and_have_length_one(tmp_path: Path, ending: str) -> None:
    _, normals = read_points(written(tmp_path, ending, normals=True))
    assert normals is not None
    np.testing.assert_allclose(normals, NORMALS, rtol=1e-6)


@pytest.mark.parametrize(("form", "order"), [("little", "<"), ("big", ">")])
def test_binary_ply(tmp_path: Path, form: str, order: str) -> None:
    layout = np.dtype([("red", "u1"), *((name, f"{order}f8") for name in "xyz")])
    table = np.zeros(len(POINTS), layout)
    for i, name in enumerate("xyz"):
        table[name] = POINTS[:, i]
    head = f"ply\nformat binary_{form}_endian 1.0\ncomment a\nelement vertex {len(POINTS)}\n"
    head += "property uchar red\n" + "".join(f"property double {n}\n" for n in "xyz")
    path = tmp_path / "cloud.ply"
    path.write_bytes(head.encode() + b"end_header\n" + table.tobytes())
    np.testing.assert_array_equal(read_points(path)[0], POINTS)


CSV = "x,y,z\n" + rows(POINTS) + "\n"
PLY = f"ply\nformat ascii 1.0\nelement vertex 60\n{{}}end_header\n{rows(POINTS, ' ')}\n"
XYZ = "".join(f"property float {name}\n" for name in "xyz")
UNDERSCORED = PLY.format(XYZ).rstrip().rpartition(" ")[0] + " 3_0\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "", "there is no column 'x'"),
        ("a.csv", "x,y\n1,2\n", "there is no column 'z'"),
        ("a.csv", CSV + "1,2\n", "line 62: 2 cells"),
        ("a.csv", CSV + "1,2,three\n", "line 62, column 'z': 'three' is no finite number"),
        ("a.csv", CSV + "1,2,nan\n", "line 62, column 'z': 'nan' is no finite number"),
        ("a.csv", CSV + "1,2,3_0\n", "line 62, column 'z': '3_0' is no finite number"),
        ("a.obj", "v 1 2 3\n" + "v 1 2 3_0\n" * 99, "line 2: '3_0' is no finite number"),
        ("a.ply", UNDERSCORED, "vertex 60: '3_0' is no finite number"),
        ("a.csv", "x,y,z\n1,2,3\n", "has 1 point"),
        ("a.csv", "x,y,z\n" + "1,2,3\n" * 99, "all points are the same"),
        ("a.obj", "v 1 2\n" * 99, "line 1: 'v 1 2' has no three numbers"),
        ("a.obj", "v 1 2 3\n" + "v 1 2 x\n" * 99, "line 2: 'x' is no finite number"),
        ("a.obj", "o nothing\n", "has 0 points"),
        ("a.ply", "plywood\n", "is no PLY file"),
        ("a.ply", "ply\nformat ascii 1.0\n", "is no PLY file"),
        ("a.ply", PLY.format(""), "vertices have no 'x'"),
        ("a.ply", PLY.format("property list uchar int x\n"), "lists among"),
        ("a.ply", PLY.replace("ascii", "morse").format(*["property float x\n"]), "have no 'y'"),
        ("a.ply", PLY.replace("vertex 60", "vertex many").format(""), "cannot be read"),
        ("a.npz", "no zip", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        read_points(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"rows": POINTS}, "no array points"),
        ({"points": POINTS[:, :2]}, "have the shape (60, 2)"),
        ({"points": POINTS, "normals": NORMALS[:9]}, "do not fit"),
        ({"points": POINTS, "normals": 0 * NORMALS}, "a normal has no length"),
        ({"points": np.array(["a"] * 60)}, "could not convert"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], words: str) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=re.escape(words)):
        read_points(path)
