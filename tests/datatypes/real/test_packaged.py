"""Tables that lie in packages, and PMLB's: read into the cache, without the packages' code."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from eqverdict import parse
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real.data_type import Real
from mdbench.datatypes.real.packaged import PackagedTable, TableStore, _readable
from mdbench.datatypes.real.problem import read_title
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "datasets" / "real" / "blackbox"
CSV = "name,Weight.kg,Age,target size\nann,70.5,30,1\nbob,NA,31,2\neve,60.25,?,3\ndan,80,44,4\n"


def store_of(tmp_path: Path, **files: str) -> tuple[TableStore, Path, list[Path]]:
    """Return a store whose packages are a folder with these files, and a description in it."""
    asked: list[Path] = []

    def packages(lock: Path) -> Path:
        asked.append(lock)
        return tmp_path / "packages"

    (tmp_path / "packages").mkdir()
    for name, text in files.items():
        path = tmp_path / "packages" / name.replace("__", ".")
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
    description = tmp_path / "people.toml"
    description.write_text("schema = 1\n", encoding="utf-8")
    (tmp_path / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    return TableStore(tmp_path / "cache", packages), description, asked


def test_columns_are_picked_and_rows_with_gaps_left_out(tmp_path: Path) -> None:
    store, description, asked = store_of(tmp_path, people__csv=CSV)
    table = PackagedTable(
        files=("people.csv",), names={"weight": "Weight.kg", "age": "Age", "size": "target size"}
    )
    made = store.read_packaged(description, table, ("weight", "age", "size"))
    assert made.read_text(encoding="utf-8") == "weight,age,size\n70.5,30,1\n80,44,4\n"
    # The second time no package is asked for; a description that was changed is read again.
    assert store.read_packaged(description, table, ("weight", "age", "size")) == made
    assert len(asked) == 1
    description.write_text("schema = 1\n# changed\n", encoding="utf-8")
    assert store.read_packaged(description, table, ("weight", "age", "size")) != made


def test_files_without_heads_stand_side_by_side(tmp_path: Path) -> None:
    store, description, _ = store_of(
        tmp_path, x__csv__gz="1.5 2 3\n4 5 6e-3\n", y__csv__gz="7\n8\n"
    )
    table = PackagedTable(
        files=("x.csv.gz", "y.csv.gz"), names={"a": "3", "b": "1", "y": "4"}, heads=False
    )
    made = store.read_packaged(description, table, ("a", "b", "y"))
    assert made.read_text(encoding="utf-8") == "a,b,y\n3,1.5,7\n6e-3,4,8\n"


def test_of_many_rows_as_many_are_drawn_in_their_order(tmp_path: Path) -> None:
    rows = "".join(f"{n},{2 * n}\n" for n in range(500))
    store, description, _ = store_of(tmp_path, t__csv=f"x,y\n{rows}")
    table = PackagedTable(files=("t.csv",), rows=50)
    made = store.read_packaged(description, table, ("x", "y"))
    read = np.loadtxt(made, delimiter=",", skiprows=1)
    assert read.shape == (50, 2)
    assert (np.diff(read[:, 0]) > 0).all()
    np.testing.assert_array_equal(read[:, 1], 2 * read[:, 0])


def test_what_is_not_as_described_is_refused(tmp_path: Path) -> None:
    store, description, _ = store_of(tmp_path, t__csv="x,y\n1,2\n", u__csv="z\n1\n2\n")
    with pytest.raises(DataError, match="no column 'weight'") as caught:
        store.read_packaged(description, PackagedTable(files=("t.csv",)), ("weight", "y"))
    assert "x, y" in caught.value.hint
    for files, why in ((("t.csv", "u.csv"), "same number"), (("none.csv",), "cannot be read")):
        with pytest.raises(DataError, match=why):
            store.read_packaged(description, PackagedTable(files=files), ("x", "y"))


# ------------------------------------------------------------------------------------------- pmlb


def pmlb(folder: Path, name: str = "1028_SWD", rows: int = 60, *, zipped: bool = True) -> Path:
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (rows, 2))
    lines = [f"{a!r}\t{a + 2 * b!r}\t{b!r}" for a, b in table.tolist()]
    text = "\n".join(["CR:IM*%\ttarget\tweird name", *lines, ""])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tsv{'.gz' * zipped}"
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


def real(tmp_path: Path) -> Real:
    return Real(ROOT / "datasets" / "real", tmp_path / "cache")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_folder_of_pmlb_is_read(tmp_path: Path, *, zipped: bool) -> None:
    folder = tmp_path / "pmlb"
    pmlb(folder, "flat", zipped=zipped)
    pmlb(folder / "1028_SWD", zipped=zipped)
    kind = real(tmp_path)
    source = kind.source(folder)
    assert sorted(source.names()) == ["1028_SWD", "flat"]
    dataset = source.load("1028_SWD", snr_db=None, seed=0, protocol=Protocol.STRICT)
    assert dataset.names == {"x0": "CR_IM__", "x1": "weird_name"}
    assert dataset.truth is None
    task = kind.task(dataset, "table", Protocol.STRICT)
    assert task.variables == ("x0", "x1")
    # Five folds hold each row out once, and the law that the rows were made by is perfect.
    assert len(kind.expand_options(["flat", "1028_SWD"], {})) == 10
    values = (task.test.inputs["X"] @ [1.0, 2.0])[:, None]
    scores = kind.score(task, kind.read_answer(task, Answer(("x0 + 2*x1",), values))).metrics
    assert scores["r2"] == pytest.approx(1.0, abs=1e-14)
    assert scores["fvu"] == pytest.approx(0.0, abs=1e-14)
    assert "recovered" not in scores
    assert set(scores) == set(kind.metric_names(task))


@settings(max_examples=60)
@given(
    heads=st.lists(
        st.sampled_from(["a b", "a_b", "exp", "pi", "E", "", "7", "x0", "é", "_"])
        | st.text(max_size=6)
    )
)
def test_names_of_columns_can_stand_in_equations(heads: list[str]) -> None:
    names = _readable(heads)
    assert len(set(names)) == len(names) == len(heads)
    for name in names:
        parse(f"2*{name} + 1", tuple(names))


def test_r2_is_over_the_variance_of_the_rows_held_out(tmp_path: Path) -> None:
    kind = real(tmp_path)
    source = kind.source(pmlb(tmp_path / "one"))
    dataset = source.load("1028_SWD", snr_db=None, seed=0, protocol=Protocol.STRICT)
    task = kind.task(dataset, "table", Protocol.STRICT)
    targets = task.test.targets
    found = kind.score(task, kind.read_answer(task, Answer(("0.1*x0",)))).metrics
    off = targets - 0.1 * task.test.inputs["X"][:, :1]
    assert found["r2"] == pytest.approx(1 - np.mean(off**2) / np.var(targets))
    assert found["fvu"] == pytest.approx(np.mean(off**2) / np.var(dataset.table.y))
    # A predictor is scored by the same two, and by nothing else.
    predicted = kind.predicted(task)
    assert kind.metric_names(predicted) == ("fvu", "r2")


def test_of_tables_with_a_law_there_is_no_r2(tmp_path: Path) -> None:
    kind = real(tmp_path)
    dataset = kind.source().load("danwood", snr_db=None, seed=0, protocol=Protocol.STRICT)
    assert "r2" not in kind.metric_names(kind.task(dataset, "table", Protocol.STRICT))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS"),
        ("a\tb\n1\t2\n", "one column is to be 'target'"),
        ("target\ttarget\n1\t2\n", "one column is to be 'target'"),
        ("a\ttarget\n1\t2\n1\n", "line 3: 1 cell; 2 columns"),
        ("a\ttarget\n1\t2\nnan\t1\n", "line 3, column 'a': 'nan' is no finite number"),
        ("a\ttarget\n1\t2\n", "bad.tsv.gz has 1 row"),
        ("a\ttarget\n", "bad.tsv.gz has 0 rows"),
        ("a\ttarget\n" + "1\t2\n3\t2\n" * 9, "target has one value in all rows"),
        ("a\ttarget\n" + "1\t2\n1\t3\n" * 9, "each other column has one value"),
        ("", "one column is to be 'target'"),
    ],
)
def test_bad_files_of_pmlb_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "bad.tsv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    source = real(tmp_path).source(path)
    with pytest.raises(DataError, match=why) as refused:
        source.load("bad", snr_db=None, seed=0, protocol=Protocol.STRICT)
    assert refused.value.hint


WHOLE = gzip.compress(b"a\ttarget\n" + b"1.5\t2\n" * 9999, mtime=0)
TORN = {
    "other": b"no gzip",
    "cut": WHOLE[:-9],
    "head": WHOLE[:2],
    "flipped": WHOLE[:40] + bytes(255 - byte for byte in WHOLE[40:80]) + WHOLE[80:],
}


@pytest.mark.parametrize("how", TORN)
def test_torn_files_are_refused(tmp_path: Path, how: str) -> None:
    path = tmp_path / "torn.tsv.gz"
    path.write_bytes(TORN[how])
    with pytest.raises(DataError, match=r"(?s)cannot be read.*packed by gzip"):
        real(tmp_path).source(path).load("torn", snr_db=None, seed=0, protocol=Protocol.STRICT)


# ---------------------------------------------------------------------------------- the project's


def test_the_black_box_set_is_run_only_where_it_is_asked_for(tmp_path: Path) -> None:
    source = real(tmp_path).source()
    names = source.groups()["blackbox"]
    assert 12 <= len(names) <= 24
    assert not set(names) & set(source.names())
    assert all(source.title(name) == read_title(FOLDER / f"{name}.toml") for name in names)
    with pytest.raises(DataError, match="environment is made in a run"):
        source.load(names[0], snr_db=None, seed=0, protocol=Protocol.STRICT)


def test_each_package_of_a_table_is_locked() -> None:
    lock = (FOLDER / "requirements.lock").read_text(encoding="utf-8")
    pinned = [line for line in lock.splitlines() if "==" in line]
    packages = {line.partition("==")[0].replace("-", "_") for line in pinned}
    imported = {"sklearn": "scikit_learn", "ISLP": "islp"}
    for file in FOLDER.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        place = text.partition('files = ["')[2].partition("/")[0]
        assert imported.get(place, place) in packages, file.name
