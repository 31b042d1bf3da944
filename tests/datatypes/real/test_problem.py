"""Tables of measurements: what is read, what is refused, and that the project's are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT

from mdbench.datatypes.real.problem import read_measurements
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "datasets" / "real"
TOML = """
schema = 1
title = "a line"
origin = "measured"
truth = "reference"
source = "nowhere"

[columns]
x = "m"

[target]
name = "y"
unit = "s"

[[laws]]
text = "b1*x"
[laws.constants]
b1 = 2.0
"""
ROWS = "x,y\n1,2.0\n2,4.1\n3,5.9\n4,8.25\n"
ROWS_OF = {
    "hubble": 24,
    "kepler": 6,
    "leavitt": 25,
    "bode": 8,
    "tully-fisher": 18,
    "absorption": 14,
    "supernova-zg": 243,
    "supernova-zr": 236,
    "newton": 30,
    "ideal-gas": 30,
    "planck": 100,
    "rydberg": 50,
    "schechter": 27,
    "kepler-solar": 8,
    "kepler-exoplanets": 12,
    "kepler-binaries": 4,
    "langmuir-1918": 10,
    "langmuir-sun": 17,
    "time-dilation": 7,
    "bennett5": 154,
    "boxbod": 6,
    "chwirut1": 214,
    "chwirut2": 54,
    "danwood": 6,
    "enso": 168,
    "eckerle4": 35,
    "gauss1": 250,
    "gauss2": 250,
    "gauss3": 250,
    "hahn1": 236,
    "kirby2": 151,
    "lanczos1": 24,
    "lanczos2": 24,
    "lanczos3": 24,
    "mgh09": 11,
    "mgh10": 16,
    "mgh17": 33,
    "misra1": 14,
    "nelson": 128,
    "rat42": 9,
    "rat43": 15,
    "roszman1": 25,
    "thurber": 37,
}


def written(folder: Path, toml: str = TOML, rows: str = ROWS) -> Path:
    (folder / "line.csv").write_text(rows, encoding="utf-8")
    file = folder / "line.toml"
    file.write_text(toml, encoding="utf-8")
    return file


def test_the_projects_tables_have_their_rows() -> None:
    found = {file.stem: len(read_measurements(file).y) for file in FOLDER.glob("*.toml")}
    assert found == ROWS_OF


def test_every_table_of_the_project_names_source_and_licence() -> None:
    told = (FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    for file in FOLDER.glob("*.toml"):
        table = read_measurements(file)
        assert table.source, table.name
        assert table.licence, table.name
        assert table.attribution in told, table.name
        assert f"`{table.name}`" in told


def test_a_table_is_what_its_files_say(tmp_path: Path) -> None:
    table = read_measurements(written(tmp_path))
    assert (table.name, table.columns, table.target) == ("line", ("x",), "y")
    np.testing.assert_array_equal(table.x, [[1], [2], [3], [4]])
    np.testing.assert_array_equal(table.y, [2.0, 4.1, 5.9, 8.25])
    assert table.rounding == pytest.approx((3 * 0.01 + 0.0001) / 4 / 12)


def test_a_table_says_what_it_is_accepted_for_and_how_sure_it_is(tmp_path: Path) -> None:
    toml = TOML.replace(
        'source = "nowhere"', 'source = "nowhere"\naccepted = ["2*x"]\nblocks = true'
    )
    toml = toml.replace('unit = "s"', 'unit = "s"\nuncertainty = 0.1')
    table = read_measurements(written(tmp_path, toml))
    assert (table.accepted, table.blocks, table.uncertainty) == (("2*x",), True, 0.1)
    plain = read_measurements(written(tmp_path))
    assert (plain.accepted, plain.blocks, plain.uncertainty) == ((), False, 0.0)


def test_a_generator_has_the_constants_of_the_law(tmp_path: Path) -> None:
    made = TOML.replace('"reference"', '"exact"') + "[laws.generator]\nb1 = 2.5\n"
    assert read_measurements(written(tmp_path, made)).laws[0].generator == {"b1": 2.5}


def test_with_no_row_to_spare_for_a_linear_function_nobody_can_tell_laws_apart() -> None:
    few = {file.stem for file in FOLDER.glob("*.toml") if read_measurements(file).kind == "few"}
    assert few == {"kepler-binaries"}


def test_a_csv_file_alone_has_no_law(tmp_path: Path) -> None:
    written(tmp_path)
    table = read_measurements(tmp_path / "line.csv")
    assert (table.truth, table.laws, table.units) == ("none", (), {"x": ""})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('origin = "measured"', 'origin = "guessed"'), ["'origin'", "'guessed'", "'measured'"]),
        (('title = "a line"\n', ""), ["'title'"]),
        (('unit = "s"', 'unti = "s"'), ["target.unti"]),
        (("schema = 1", "schema = 9"), ["'schema'", "9"]),
        (('truth = "reference"', 'truth = "none"'), ["'truth'", "1 laws"]),
        (("b1 = 2.0", "b1 = 2.0\n[laws.generator]\nb1 = 2.0"), ["'truth'", "'exact'"]),
        (("b1 = 2.0", "b1 = 2.0\n[laws.generator]\nb2 = 2.0"), ["b2", "b1"]),
        (('source = "', 'accepted = ["b1*x"]\nsource = "'), ["'accepted'", "unknown name"]),
        (('unit = "s"', 'unit = "s"\nuncertainty = -1'), ["uncertainty", "-1"]),
        (('unit = "s"', 'unit = "s"\nuncertainty = nan'), ["uncertainty", "nan"]),
        (('"b1*x"', '"b1*z"'), ["'b1*z'", "unknown name"]),
        (('"b1*x"', '"log(b1 - b1*x)"'), ["not finite"]),
        (('name = "y"', 'name = "q"'), ["line 1", "x, y", "x, q"]),
        (('source = "', "source = "), ["no valid TOML"]),
    ],
)
def test_a_wrong_key_is_named(change: tuple[str, str], words: list[str], tmp_path: Path) -> None:
    assert change[0] in TOML
    with pytest.raises(DataError) as caught:
        read_measurements(written(tmp_path, TOML.replace(*change)))
    for word in ["line", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("x,y\n1,2\n2,4\n3,n/a\n4,8\n", ["line 4", "'y'", "'n/a'"]),
        ("x,y\n1,2\n2\n3,4\n4,8\n", ["line 3", "1 cell"]),
        ("x,y\n1,2\n2,4\n", ["2 rows"]),
        ("x,x\n1,2\n2,4\n3,6\n4,8\n", ["line 1"]),
        ("", ["line 1"]),
        ("x,y\n1,2\n2,inf\n3,4\n4,8\n", ["line 3", "'inf'"]),
    ],
)
def test_a_wrong_line_is_named(rows: str, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_measurements(written(tmp_path, rows=rows))
    for word in ["line.csv", *words]:
        assert word in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    file = written(tmp_path)
    (tmp_path / "line.csv").unlink()
    with pytest.raises(DataError, match=r"line\.csv cannot be read"):
        read_measurements(file)
