"""Names of columns: what people write, and what may stand in equations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqverdict import parse
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.data.columns import OwnNames, columns_of

TAKEN = {*FUNCTIONS, *CONSTANTS}
headers = st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("cell", "label", "name", "unit"),
    [
        ("prey", "prey", "prey", ""),
        (" Prey [thousand] ", "Prey", "Prey", "thousand"),
        ("Prey (10^3)", "Prey", "Prey", "10^3"),
        ("CO₂ [ppm]", "CO₂", "CO2", "ppm"),
        ("Jäger", "Jäger", "Jager", ""),
        ("Größe", "Größe", "Grosse", ""),
        ("θ", "θ", "theta", ""),
        ("2nd wind", "2nd wind", "c2nd_wind", ""),
        ("exp", "exp", "exp_2", ""),
        ("t", "t", "t_2", ""),
        ("[m]", "[m]", "m", ""),
        ("!!", "!!", "c0", ""),
    ],
)
def test_a_label_becomes_a_name_and_a_unit(cell: str, label: str, name: str, unit: str) -> None:
    [column] = columns_of([cell], TAKEN)
    assert (column.label, column.name, column.unit) == (label, name, unit)


def test_no_name_is_that_of_another_or_of_its_rate() -> None:
    names = [one.name for one in columns_of(["x", "x", "x_t", "y_t", "y"])]
    assert len({*names, *(f"{name}_t" for name in names)}) == 2 * len(names)


@given(headers)
def test_every_header_gives_names_that_equations_may_have(cells: list[str]) -> None:
    names = [one.name for one in columns_of(cells, TAKEN)]
    rates = [f"{name}_t" for name in names]
    assert len({*names, *rates}) == 2 * len(names)
    assert not TAKEN & {*names}
    parse(" + ".join(names), names)


@given(st.permutations(["u0", "u1", "v0", "prey"]), st.integers(0, 3))
def test_names_go_forth_and_back(own: list[str], count: int) -> None:
    names = OwnNames(dict(zip(["u0", "u1", "v0"][:count], own, strict=False)))
    text = "u0_t: 1.5*u0**2 - sin(u1)*v0 + 2e3*u0_x1"
    if set(own[:count]) <= {"u0", "u1", "v0"}.union(own[:count]):
        assert names.internal(names.own(text)) == text or set(own[:count]) & {"u0", "u1", "v0"}
    everything = OwnNames({"u0": own[0], "u1": own[1], "v0": own[2], "u0_x1": "w"})
    assert everything.internal(everything.own(text)) == text


def test_numbers_and_functions_stay() -> None:
    names = OwnNames({"u0": "e5", "u1": "sin_2"})
    assert names.own("1e5*u0 - sin(u1)/1.0e5") == "1e5*e5 - sin(sin_2)/1.0e5"
