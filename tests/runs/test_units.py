"""Units: given to methods that ask for them, and to no other; a change of them is another job."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.real.data_type import Real
from mdbench.datatypes.real.dimensions import dimension_of, si_exponents
from mdbench.records import Status
from mdbench.runs.catalog import DatasetInfo
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "a,P\n" + "".join(f"{n},{n * n}\n" for n in range(1, 9))
TOML = """schema = 1
title = "a table"
origin = "measured"
truth = "none"
source = "made up"
[columns]
a = "{a}"
[target]
name = "P"
unit = "{P}"
logarithm = {logarithm}
"""


def load(folder: Path, a: str, P: str, logarithm: str = "false") -> Any:
    (folder / "mine.csv").write_text(TABLE, encoding="utf-8")
    (folder / "mine.toml").write_text(TOML.format(a=a, P=P, logarithm=logarithm), encoding="utf-8")
    source = Real(ROOT / "datasets" / "real", folder).source(folder / "mine.toml")
    return source.load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)


@pytest.mark.parametrize(
    ("unit", "powers"),
    [
        ("km/s", (1, 0, -1, 0, 0, 0, 0)),
        ("newton", (1, 1, -2, 0, 0, 0, 0)),
        ("volt", (2, 1, -3, -1, 0, 0, 0)),
        ("J/(mol K)", (2, 1, -2, 0, -1, -1, 0)),
        ("candela", (0, 0, 0, 0, 0, 0, 1)),
        ("365 day", (0, 0, 1, 0, 0, 0, 0)),
        ("m**1.5", (1.5, 0, 0, 0, 0, 0, 0)),
        ("1", (0,) * 7),
        ("dot/inch", None),  # a dimension that SI does not have
    ],
)
def test_exponents_of_si(unit: str, powers: tuple[float, ...] | None) -> None:
    found = si_exponents(unit.replace(" K", "*K"))
    assert found == (None if powers is None else tuple(map(float, powers)))
    assert powers is None or any(powers) == bool(dimension_of(unit.replace(" K", "*K")))


def test_a_table_s_units_are_those_of_all_columns(tmp_path: Path) -> None:
    dataset = load(tmp_path, "astronomical_unit", "day")
    length, time = (1.0, *[0.0] * 6), (0.0, 0.0, 1.0, *[0.0] * 4)
    assert dataset.units == {"a": length, "P": time}


@pytest.mark.parametrize(
    ("a", "P", "logarithm"),
    [
        ("meter", "", "false"),  # one is not known
        ("1", "1", "false"),  # there are none
        ("meter", "second", "true"),  # the logarithm of a time has none
        ("dot", "second", "false"),
    ],
)
def test_where_not_all_are_known_none_is_given(
    tmp_path: Path, a: str, P: str, logarithm: str
) -> None:
    assert load(tmp_path, a, P, logarithm).units is None


def test_other_units_of_equal_rows_are_other_facts(tmp_path: Path) -> None:
    seconds, hours = load(tmp_path, "meter", "second"), load(tmp_path, "meter", "hour")
    kilograms, none = load(tmp_path, "meter", "kilogram"), load(tmp_path, "1", "1")
    assert len({each.fingerprint for each in (seconds, hours, kilograms, none)}) == 1
    assert DatasetInfo.from_dataset(seconds) == DatasetInfo.from_dataset(
        hours
    )  # the same dimensions
    assert DatasetInfo.from_dataset(none).units == ""
    assert len({DatasetInfo.from_dataset(each).units for each in (seconds, kilograms, none)}) == 3
    assert DatasetInfo.from_dataset(
        dataclasses.replace(seconds, units=None)
    ) == DatasetInfo.from_dataset(none)


TELLS = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        units = problem.units
        self.equation = "0" if units is None else repr(1 + units["a"][0] + 10 * units["P"][2])
        assert units is None or all(isinstance(powers, tuple) for powers in units.values())
    def predict(self, problem):
        return np.full((len(problem.X), 1), float(self.equation))
    def equations(self):
        return [self.equation]
"""


@pytest.mark.parametrize(
    ("asks", "unit", "told"),
    [
        ('given = ["units"]', "meter**2", "13.0"),
        ('given = ["units"]', "1 / meter", "10.0"),
        ("", "meter", "0"),
    ],
)
def test_a_method_is_given_units_if_it_asks(
    tmp_path: Path, asks: str, unit: str, told: str
) -> None:
    load(tmp_path, unit, "second")
    workspace = make_workspace(tmp_path)
    manifest = add_method(workspace, "m", TELLS, more=asks) / "method.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace('["ode"]', '["real"]'), encoding="utf-8"
    )
    options = RunOptions(
        algorithms=("m",),
        data_type="real",
        dataset_path=tmp_path / "mine.toml",
        special=("--fold", "1"),
        result_dir=tmp_path / "results",
        n_jobs=1,
        timeout_s=20.0,
    )
    (record,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert (record.status, record.equations) == (Status.OK, (told,)), record.reason
    assert ("told" in record.key_parts) == bool(asks)
    (again,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
    assert again == record  # it is known, and not run again
    if asks:
        (tmp_path / "mine.toml").write_text(
            (tmp_path / "mine.toml").read_text(encoding="utf-8").replace(unit, "kelvin"),
            encoding="utf-8",
        )
        (other,) = execute(make_plan(options, workspace), HereRuntime(), Quiet()).records
        assert other.equations == ("11.0",)
        assert other.key_parts["told"] != record.key_parts["told"]
        assert other.key_parts["dataset"] == record.key_parts["dataset"]
