from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from reporting import boards, data, many, points, texts, write

from mdbench.cli import main
from mdbench.extensions.papers.export import escape_latex, latex_tables

if TYPE_CHECKING:
    from pathlib import Path

PDFLATEX = shutil.which("pdflatex")
"""CI installs it: without it the test is skipped, which fails there."""


def test_cells_are_those_of_the_paper() -> None:
    records = [
        data("a", "x_1", verdict="identified"),
        data("b", "x_1", verdict="one_term_off", nmse=2e-4, complexity=7),
        data("c", "x_1", nmse=30.0, complexity=12),
        data("d", "x_1", status="timeout"),
        data("e", "x_1", nmse=None),
        data("f", "x_1", nmse=1.7e308, complexity=3),
    ]
    text = latex_tables(boards(records))
    lines = [line for line in text.splitlines() if line.startswith(r"x\_1")]
    assert len(lines) == 1
    cells = set(lines[0].removesuffix(r" \\").split(" & ")[1:])
    shown = {r"$\checkmark$", r"\underline{$10^{-4}$};~7", "$10^{1}$;~12", "--", "?"}
    assert cells == {*shown, r"$\infty$;~3"}


def test_the_best_is_bold_where_nobody_has_the_mark() -> None:
    records = [
        data("a", "x", nmse=2e-4, wall_s=1.0),
        data("b", "x", nmse=3e-2, wall_s=2.0),
        data("truth", "x", nmse=1e-9, wall_s=0.1),
    ]
    text = latex_tables(boards(records))
    row = next(line for line in text.splitlines() if line.startswith("x &"))
    assert row.count("bfseries") == 1  # and not that of the reference
    assert r"{\bfseries\boldmath $10^{-4}$};~18" in row
    board = {line.split(" & ")[0]: line for line in text.splitlines() if " & " in line}
    assert r"{\bfseries\boldmath $2.0\cdot10^{-4}$}" in board["a"]
    assert r"{\bfseries\boldmath 1.0}" in board["a"]  # seconds
    assert "& 0.030 &" in board["b"]
    assert r"boldmath $" not in board["b"]
    assert "bfseries" not in board["truth (reference)"]
    marked = latex_tables(boards([*records, data("b", "x", seed=1, verdict="identified")]))
    assert "bfseries" in marked


def test_tables_are_centred_and_have_labels() -> None:
    text = latex_tables(boards(many()))
    labels = re.findall(r"\\label\{(.*?)\}", text)
    levels = ["", "-clean", "-20-db", "-10-db"]
    names = ["tab:ode", "tab:ode-limit-60-s-published"]
    assert labels == [f"{name}{level}" for name in names for level in levels]
    assert text.count("\\begin{table*}\n\\centering\\footnotesize\n") == len(labels)
    assert text.count(r"\textcolor{gray}{linear}") == 2  # which lacks jobs
    assert r"\textcolor{gray}{sindy}" not in text
    assert latex_tables(boards([data(data_type="a_b")])).count(r"\label{tab:a-b}") == 1


@pytest.mark.browser
@pytest.mark.skipif(
    PDFLATEX is None,
    reason="no pdflatex: apt install --no-install-recommends texlive-latex-recommended",
)
def test_latex_takes_the_tables(tmp_path: Path) -> None:
    hostile = [
        data("a_b", r"a_b^%$#&~\x{", nmse=1.7e308),
        data("a.b-c", "ünïcode 数 αΩ µ\x00 x_²✓±×∞"),
        data("z", "x\ny"),
    ]
    wide = [data(f"method_{m}", f"a-system-with-a-name-{s}") for m in range(25) for s in range(60)]
    tables = latex_tables(boards([*many(), *texts(), *points(), *hostile, *wide]))
    head = "\\documentclass[twocolumn]{article}\n"
    head += "\\usepackage{amssymb,booktabs,graphicx,xcolor}\n\\begin{document}\n"
    names = re.findall(r"\\label\{(.*?)\}", tables)
    seen = "".join(f"\\ref{{{name}}} " for name in names)
    (tmp_path / "t.tex").write_text(f"{head}{tables}{seen}\\end{{document}}\n", encoding="utf-8")
    for _ in range(2):  # the second time references are known
        done = subprocess.run(
            [str(PDFLATEX), "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:]
    assert "undefined" not in done.stdout
    assert "multiply defined" not in done.stdout
    assert "Overfull" not in done.stdout  # no table is wider than the page
    assert "Float too large" not in done.stdout
    assert (tmp_path / "t.pdf").stat().st_size > 10_000


def test_every_row_has_as_many_cells_as_the_head() -> None:
    text = latex_tables(boards([*many(), *texts()]))
    for block in text.split(r"\caption")[1:]:
        ends = {
            line.count("&") for line in block.splitlines() if line.endswith(r"\\") and "&" in line
        }
        assert len(ends) == 1
        assert max(ends) <= 12
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") >= 12
    assert text.count("{") == text.count("}")
    assert text.isascii()


def test_columns_are_those_of_narrow_tables() -> None:
    texts_only = data("b", data_type="texts", scores={"accuracy": 0.5, "likelihood": 0.1})
    several = [data("a", f"s{i}", nmse=1e-4) for i in range(5)]
    first, second = (
        dict(zip(*(line.split(" & ") for line in text.splitlines()[8:11:2]), strict=True))
        for text in latex_tables(boards([*several, texts_only])).split(r"\begin{table*}")[1::2]
    )
    assert first["NMSE"] == r"$1.0\cdot10^{-4}$"  # one method is not the best of several
    assert first[r"95 \%"] == r"$1.0\cdot10^{-4}$--$1.0\cdot10^{-4}$"
    assert (first["identified"], first["R$^2$ test"], first["nodes"]) == ("0/5", "5/5", "18")
    assert not {"agreement", "F1"} & first.keys()
    assert second["accuracy"] == "0.500"
    assert second[r"95 \%"] == "--"  # of one system there is none
    assert "nodes" not in second


def test_a_large_table_is_several_with_all_systems_and_methods() -> None:
    records = [data(f"m{m}", f"s{s}") for m in range(17) for s in range(50)]
    text = latex_tables(boards(records))
    captions = re.findall(r"\\caption\{(.*)\}", text)
    assert max(map(len, captions)) < 400  # what columns mean stands outside
    assert [line[-12:] for line in captions[1:]] == [f"Part {n} of 6." for n in range(1, 7)]
    systems = [line.split(" & ") for line in text.splitlines() if re.match(r"s\d+ &", line)]
    assert sorted(len(cells) - 1 for cells in systems) == [5] * 50 + [6] * 100
    heads = [
        line.removesuffix(r" \\").split(" & ")[1:]
        for line in text.splitlines()
        if line.startswith("system &")
    ]
    assert {name for names in heads for name in names} == {f"m{m}" for m in range(17)}
    assert text.count(r"\label") == 2


def test_methods_with_long_names_are_in_more_tables() -> None:
    records = [data(f"a_method_of_a_name_{m:05}", "s") for m in range(8)]
    text = latex_tables(boards(records))
    systems = [line for line in text.splitlines() if line.startswith("s &")]
    assert [line.count(" & ") for line in systems] == [4, 4]
    assert "of 8 methods on 1 system." in text


@pytest.mark.parametrize(
    ("name", "begins"), [("t.tex", "% needs"), ("t.md", "##"), ("t.csv", "data_type")]
)
def test_the_form_follows_from_the_ending(
    tmp_path: Path, name: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, [data("a", "x"), data("b", "x")])
    out = tmp_path / name
    assert main(["export", str(folder), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").lstrip().startswith(begins)
    assert main(["export", str(folder), "--out", str(tmp_path / "t.txt")]) == 2
    assert "mdbench combine --out all.csv" in " ".join(capsys.readouterr().err.split())


def test_a_newline_in_a_name_splits_no_row() -> None:
    text = latex_tables(boards([data("a", "x\ny"), data("b", "x\ny")]))
    rows = [line for line in text.splitlines() if line.startswith("x")]
    assert [row.partition(" & ")[0] for row in rows] == ["x y"]


def test_signs_are_escaped() -> None:
    assert escape_latex(r"a_b & 5% \x") == r"a\_b \& 5\% \textbackslash{}x"
    assert escape_latex("α/µm 数 ü") == r"$\alpha$/$\mu$m U+6570 ü"


def test_export_prints_or_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "r", many(2)))
    assert main(["export", folder, "--latex"]) == 0
    printed = capsys.readouterr().out
    assert main(["export", folder, "--latex", "--out", str(tmp_path / "t.tex")]) == 0
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == printed
    capsys.readouterr()
    for forms in ([], ["--latex", "--markdown"]):
        assert main(["export", folder, *forms]) == 2
        assert "Give one of --latex, --markdown and --csv, or --out FILE" in capsys.readouterr().err
    assert main(["export", folder, "--latex", "--published"]) == 2
    assert "--markdown --published" in capsys.readouterr().err
