"""``mdbench lab similarity``."""

from __future__ import annotations

import json

import pytest
from harness import ROOT

from eqverdict.similarity import similarity
from mdbench.cli.main import main
from mdbench.extensions.laboratory.similarity import laws_of


def test_collections_are_compared_by_operators_and_trees(
    capsys: pytest.CaptureFixture[str],
) -> None:
    two = "srsd:feynman-i.12.1,feynman-i.6.20a"
    assert main(["lab", "similarity", two, "surface:EBS4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["laws"], found["others"]) == (2, 1)
    nearest = {each["law"]: each for each in found["nearest"]}
    assert nearest["feynman-i.12.1"]["other"] == "EBS4"
    assert nearest["feynman-i.12.1"]["trees"] == 1
    assert nearest["feynman-i.6.20a"]["trees"] < 1
    assert main(["lab", "similarity", "srsd:feynman-i.12.1", "surface:EBS4"]) == 0
    out = capsys.readouterr().out
    assert "1 of 1 (100%) have the tree of an equation of surface:EBS4" in out


def test_each_equation_of_a_system_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "similarity", "ode:sir-infection", "pde:burgers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["law"] for each in found["nearest"]] == ["sir-infection[1]", "sir-infection[2]"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("sursd surface", "There is no data type 'sursd'"),
        ("srsd:feynmann-i.12.1 surface", "feynman-i.12.1"),
        ("srsd real", "The equations of real are not known"),
        ("srsd derivation", "The equations of derivation are not known"),
        ("srsd:feynman-i.12.1 srsd:feynman-i.12.1", "one and the same law"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    words: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "similarity", *words.split()]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [("surface", "srsd"), ("surface", "pde"), ("surface", "surface"), ("srsd", "srsd")],
)
def test_the_page_has_what_is_found(one: str, other: str) -> None:
    page = (ROOT / "docs" / "surface.md").read_text(encoding="utf-8")
    laws, others = laws_of(one), laws_of(other)
    found = similarity(laws, others)
    operators, trees = (
        ", ".join(f"{value:.2f}" for value in found.quantiles(of)) for of in ("operators", "trees")
    )
    row = f"| {found.shared:.2f} | {operators} | {trees} | {len(found.same)} |"
    rows = [line for line in page.splitlines() if line.endswith(row)]
    assert any(f"`{one}`" in line and f"`{other}`" in line for line in rows), row
