"""Fields in files: what is read, and what is refused with the file, the key and the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mdbench.data.field_files import read_field, write_field
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def arrays(dim: int = 1, **changes: Any) -> dict[str, Any]:
    """A good file in memory, with changes; None takes a key away."""
    nodes = (7, 5, 6)[:dim]
    good = {"t": np.linspace(0, 1, 20), "u": np.ones((*nodes, 20, 2))}
    good |= {axis: np.linspace(-1, 1, n) for axis, n in zip("xyz", nodes, strict=False)}
    return {key: value for key, value in (good | changes).items() if value is not None}


def written(folder: Path, **content: Any) -> Path:
    path = folder / "mine.npz"
    np.savez(path, **content)
    return path


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("known", [True, False])
def test_a_field_is_read_as_it_was_written(dim: int, known: bool, tmp_path: Path) -> None:
    u = np.random.default_rng(0).normal(size=arrays(dim)["u"].shape)
    given = read_field(written(tmp_path, **arrays(dim, u=u, du=2 * u if known else None)))
    assert list(given.grid) == list("xyz")[:dim]
    assert given.dim == 2
    again = tmp_path / "again.npz"
    write_field(again, given)
    copy = read_field(again)
    np.testing.assert_array_equal(copy.u, u)
    assert (copy.du is not None) == known
    assert np.load(again).files == [*("t", *"xyz"[:dim], "u"), *(["du"] if known else [])]


def test_single_precision_is_taken(tmp_path: Path) -> None:
    content = {key: value.astype(np.float32) for key, value in arrays(2).items()}
    content["x"] = np.linspace(-5, 5, 7, dtype=np.float32)
    given = read_field(written(tmp_path, **content))
    assert given.u.dtype == given.t.dtype == np.float64


NAN = np.ones((7, 20, 2))
NAN[3, 4, 1] = np.nan
STRETCHED = np.linspace(0, 1, 7) ** 1.01

BAD = {
    "not uniform": (arrays(x=STRETCHED), r"mine\.npz: x is not uniform: x\[\d\] - x\[\d\] is 0\."),
    "times not uniform": (
        arrays(t=np.geomspace(1, 2, 20)),
        r"t is not uniform(.|\n)*make_interp_spline\(t, u, axis=-2\)",
    ),
    "falling": (arrays(x=np.linspace(1, 0, 7)), r"x\[1\] is 0\.8\d+, after x\[0\] = 1\.0"),
    "few times": (
        arrays(t=np.arange(4.0), u=np.ones((7, 4, 1))),
        r"mine\.npz: t has 4 points\n.*At least 15",
    ),
    "NaN": (arrays(u=NAN), r"mine\.npz: u\[3, 4, 1\] is nan"),
    "NaN in du": (arrays(du=NAN), r"du\[3, 4, 1\] is nan"),
    "infinite place": (arrays(x=np.array([0, 1, 2, 3, 4, 5, np.inf])), r"x\[6\] is inf"),
    "one node": (arrays(x=np.zeros(1), u=np.ones((1, 20, 1))), r"x has 1 point\n.*At least 3"),
    "two nodes": (
        arrays(2, y=np.arange(2.0), u=np.ones((7, 2, 20, 1))),
        r"y has 2 points\n.*first derivative",
    ),
    "no x": (arrays(x=None), r"key 'x' is missing; it has t, u"),
    "no u": (arrays(u=None), r"key 'u' is missing"),
    "another name": (arrays(x=None, r=np.arange(7.0)), r"key 'r' does not fit u, .*\(7, 20, 2\)"),
    "an axis too many": (
        arrays(y=np.arange(5.0)),
        r"key 'y' does not(.|\n)*given on x and t",
    ),
    "an axis too few": (arrays(2, y=None), "key 'y' is missing"),
    "axes swapped": (
        arrays(u=np.ones((20, 7, 2))),
        r"u has shape \(20, 7, 2\)\n.*\(n_x, n_t, d\) = \(7, 20, d\): numpy.transpose\(u, \(1, 0",
    ),
    "no states": (arrays(u=np.ones((7, 20, 0))), r"u has shape \(7, 20, 0\)"),
    "no axis for states": (
        arrays(u=np.ones((7, 20))),
        r"u has shape \(7, 20\)\n.*u\[\.\.\., None\]",
    ),
    "four axes": (
        arrays(3, u=np.ones((7, 5, 6, 2, 20, 2))),
        r"u has shape \(7, 5, 6, 2, 20, 2\)",
    ),
    "du of another shape": (arrays(du=np.ones((7, 20, 1))), r"u has shape .*, du \(7, 20, 1\)"),
    "x of two dimensions": (arrays(x=np.ones((7, 1))), r"x has shape \(7, 1\)"),
    "complex": (arrays(u=np.ones((7, 20, 2)) * 1j), "u is of type complex128"),
    "dates": (
        arrays(t=np.arange(20).astype("M8[h]")),
        r"t is of type datetime64\[h\]\n.*t\[0\]\) / numpy\.timedelta64\(1, 's'\)",
    ),
    "texts": (arrays(x=np.array(list("abcdefg"))), "x is of type <U1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_fields_are_refused(case: str, tmp_path: Path) -> None:
    content, words = BAD[case]
    with pytest.raises(DataError, match=words):
        read_field(written(tmp_path, **content))


def test_files_that_are_no_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.npz cannot be read"):
        read_field(tmp_path / "missing.npz")
    np.save(tmp_path / "single.npy", np.ones(3))
    with pytest.raises(DataError, match="single array"):
        read_field(tmp_path / "single.npy")
    whole = written(tmp_path, **arrays())
    whole.write_bytes(whole.read_bytes()[:400])
    with pytest.raises(DataError, match=r"mine\.npz cannot be read"):
        read_field(whole)
    pickled = written(tmp_path, **arrays(x=np.array([None] * 7)))
    with pytest.raises(DataError, match="pickled"):
        read_field(pickled)
