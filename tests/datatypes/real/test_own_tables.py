"""Tables of the user's own, of several endings, and what is left out of them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from harness import ROOT

from eqverdict import parse
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real import FACTS
from mdbench.datatypes.real.data_type import Real
from mdbench.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.real.problem import Measurements

N = 30
A = 1.0 + np.arange(N) % 7
B = 2.0 + np.sqrt(np.arange(N))
Y = A * B


def load(path: Path, cache: Path, **options: Any) -> Measurements:
    kind = Real(ROOT / "datasets" / "real", cache)
    source = kind.source(path)
    [name] = source.names()
    source.title(name)
    source.groups()
    [(_, first), *_] = kind.expand_options([name], options)
    return source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=first).table


def lines(separator: str = ",", **columns: Any) -> str:
    rows = zip(*(map(str, values) for values in columns.values()), strict=True)
    return "\n".join([separator.join(columns), *map(separator.join, rows)]) + "\n"


@pytest.mark.parametrize("ending", [".csv", ".txt", ".dat", ".csv.gz", ".parquet", ".CSV"])
def test_tables_of_many_endings(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"mine{ending}"
    if ending == ".parquet":
        pd.DataFrame({"a": A, "b": B, "y": Y}).to_parquet(path)
    elif ending == ".csv.gz":
        path.write_bytes(gzip.compress(lines(a=A, b=B, y=Y).encode()))
    else:
        path.write_text(lines(" " if ending == ".txt" else ";", a=A, b=B, y=Y))
    table = load(path, tmp_path)
    assert (table.name, table.columns, table.target) == ("mine", ("a", "b"), "y")
    np.testing.assert_allclose(table.x, np.stack([A, B], axis=1))
    np.testing.assert_allclose(table.y, Y)
    if ending in {".csv", ".parquet"}:
        assert Real(ROOT / "datasets" / "real", tmp_path).source(tmp_path).names() == ["mine"]


def test_columns_codes_and_lines_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    a = [-999 if k in {3, 8} else value for k, value in enumerate(A)]
    b = ["NA" if k == 5 else value for k, value in enumerate(B)]
    path.write_text("made by hand\n" + lines(id=[f"s{k}" for k in range(N)], a=a, b=b, y=Y))
    steps: list[tuple[str, dict[str, Any]]] = [
        ("--skip 1", {"skip": 1}),
        ("--ignore id", {"ignore": ["id"]}),
        ("--missing drop", {"missing": "drop"}),
        ("a has 2 cells of -999.*--na-values=-999", {"na_values": ["-999"]}),
    ]
    typed: dict[str, Any] = {}
    for message, more in steps:
        with pytest.raises(DataError, match=f"(?s){message}"):
            load(path, tmp_path, **typed)
        typed |= more
    rows = np.delete(np.arange(N), [3, 5, 8])
    np.testing.assert_allclose(load(path, tmp_path, **typed).y, Y[rows])
    kept = load(path, tmp_path, **(typed | {"na_values": ["none"]}))
    assert len(kept.y) == N - 1
    with pytest.raises(DataError, match="has no column 'idd'"):
        load(path, tmp_path, **(typed | {"ignore": ["idd"]}))
    with pytest.raises(UsageError, match="describes its table: --ignore"):
        load(ROOT / "datasets" / "real" / "kepler.toml", tmp_path, ignore=["a"])


def test_what_is_no_table_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.sav").write_bytes(b"$FL2")
    with pytest.raises(DataError, match=r"(?s)mine\.sav is no table that is read.*data=table"):
        load(tmp_path / "mine.sav", tmp_path)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("mass [kg]", "mass"),
        ("mass (kg)", "mass"),
        ("Größe", "Grosse"),
        ("θ", "theta"),
        ("2nd wind", "c2nd_wind"),
        ("x-y", "x_y"),
        ("a.b", "a_b"),
        ("sin", "sin_2"),
        ("pi", "pi_2"),
        ("t", "t"),
        ("_", "_"),
        ("y [m]", "y_2"),
    ],
)
def test_columns_have_names_that_equations_can_have(tmp_path: Path, label: str, name: str) -> None:
    path = tmp_path / "mine.csv"
    columns: dict[str, Any] = {label: A, "b": B, "y": Y}
    path.write_text(lines(**columns), encoding="utf-8")
    table = load(path, tmp_path)
    assert table.columns == (name, "b")
    known = dict(zip(table.columns, table.x.T, strict=True))
    np.testing.assert_allclose(parse(f"{name}*b", known).evaluate(known), Y)


def test_with_no_fold_all_rows_are_fitted_and_tested(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(lines(a=A, b=B, y=Y))
    kind = Real(ROOT / "datasets" / "real", tmp_path)
    source = kind.source(path)
    fold = next(one for one in FACTS.options if one.key == "fold")
    [(name, options)] = kind.expand_options(source.names(), {"fold": fold.parse("none")})
    dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT, options=options)
    task = kind.task(dataset, "table", Protocol.STRICT)
    for split in (task.train, task.validation, task.refit, task.test):
        np.testing.assert_array_equal(split.targets[:, 0], Y)
    kind.source()
    with pytest.raises(UsageError, match="kepler is a table of the project"):
        kind.expand_options(["kepler"], {"fold": fold.parse("none")})
    with pytest.raises(UsageError, match="or none"):
        fold.parse("nothing")
