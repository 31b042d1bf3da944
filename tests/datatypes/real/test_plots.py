"""Pictures of tables: what is in them, and that no answer breaks one."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from harness import ROOT

from mdbench.datatypes.real.plots import Curve, table_pictures
from mdbench.datatypes.real.problem import read_measurements

FOLDER = ROOT / "datasets" / "real"


def drawn(name: str, *equations: str) -> str:
    table = read_measurements(FOLDER / f"{name}.toml")
    law = table.laws[0].written(table.laws[0].start)
    found = [Curve(f"method {n}", n, text) for n, text in enumerate(equations)]
    return table_pictures(table, law, found)


def pictures(html: str) -> list[ET.Element]:
    found = re.findall(r"<svg class=\"plot\".*?</svg>", html, re.DOTALL)
    return [ET.fromstring(text) for text in found]


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.toml")))
def test_every_table_can_be_drawn(name: str) -> None:
    table = read_measurements(FOLDER / f"{name}.toml")
    rows, left = pictures(drawn(name, repr(float(table.y.mean()))))
    if len(table.columns) == 1:
        assert len(rows.findall("circle")) == len(table.y)
        assert [path.get("class") for path in rows.findall("path")].count("measured") == 1
    assert len(list(left.iter())) > len(table.y)


def test_without_answers_there_is_nothing_left_over() -> None:
    html = drawn("kepler")
    assert len(pictures(html)) == 1
    assert "in colour" not in html


@pytest.mark.parametrize("text", ["a**", "1/(a-a)", "log(-a)", "exp(exp(exp(99*a)))", "b + 1"])
def test_an_answer_that_has_no_values_breaks_nothing(text: str) -> None:
    assert pictures(drawn("kepler", text, "366*a**1.5"))


def test_names_are_escaped() -> None:
    table = read_measurements(FOLDER / "kepler.toml")
    assert "<b>&" not in table_pictures(table, None, [Curve("<b>&", 0, "366*a**1.5")])
