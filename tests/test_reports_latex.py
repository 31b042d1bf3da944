from __future__ import annotations

from typing import TYPE_CHECKING

from reporting import data, many, write

from mdbench.cli import main
from mdbench.reports.latex import escape_latex, latex_tables
from mdbench.reports.results import Result

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_cells_are_those_of_the_paper() -> None:
    records = [
        data("a", "x_1", verdict="identified"),
        data("b", "x_1", verdict="one_term_off", nmse=2e-4, complexity=7),
        data("c", "x_1", nmse=30.0, complexity=12),
        data("d", "x_1", status="timeout"),
    ]
    text = latex_tables([Result.model_validate(one) for one in records], {})
    lines = [line for line in text.splitlines() if line.startswith(r"x\_1")]
    assert len(lines) == 1
    cells = set(lines[0].removesuffix(r" \\").split(" & ")[1:])
    assert cells == {r"$\checkmark$", r"\underline{$10^{-4}(7)$}", "$10^{1}(12)$", "--"}


def test_every_row_has_as_many_cells_as_the_head() -> None:
    text = latex_tables([Result.model_validate(one) for one in many()], {})
    for block in text.split(r"\caption")[1:]:
        ends = {
            line.count("&") for line in block.splitlines() if line.endswith(r"\\") and "&" in line
        }
        heads = {line.count("&") for line in block.splitlines() if line.startswith(r"\toprule ")}
        assert len(ends | heads) == 1
        assert ends
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 3
    assert text.count("{") == text.count("}")


def test_simulations_and_residuals_have_columns_where_there_are_any() -> None:
    simulation = {"r2": 0.95, "r2_unseen": 0.2, "ended": "whole"}
    ode = data("a", simulation=simulation)
    pde = data("a", data_type="pde", simulation=None, residual=0.25)
    first, second = (
        dict(zip(*(line.split(" & ") for line in text.splitlines()[4:7:2]), strict=True))
        for text in latex_tables([Result.model_validate(one) for one in (ode, pde)], {}).split(
            r"\begin{table}"
        )[1:]
    )
    assert (first["$R^2$ test"], first["$R^2$ unseen"]) == ("1/1", "0/1")
    assert second["residual"] == r"$2.5\cdot10^{-1}$"
    assert not {"residual"} & first.keys()
    assert not {"$R^2$ test", "$R^2$ unseen"} & second.keys()


def test_signs_are_escaped() -> None:
    assert escape_latex(r"a_b & 5% \x") == r"a\_b \& 5\% \textbackslash{}x"


def test_export_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "r", many(2)))
    assert main(["export", folder, "--latex"]) == 0
    printed = capsys.readouterr().out
    assert main(["export", folder, "--latex", "--out", str(tmp_path / "t.tex")]) == 0
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == printed
    capsys.readouterr()
    for forms in ([], ["--latex", "--markdown"]):
        assert main(["export", folder, *forms]) == 2
        assert "Give --latex or --markdown." in capsys.readouterr().err
    assert main(["export", folder, "--latex", "--published"]) == 2
    assert "--markdown --published" in capsys.readouterr().err
