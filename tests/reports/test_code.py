"""Answers as code are code: compilers take them, whatever columns are called."""

from __future__ import annotations

import builtins
import ctypes
import keyword
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from printed_code import COMPILER, of_julia
from reporting import EXAMPLE

from eqverdict.printers import CPrinter, JuliaPrinter, name_as
from eqverdict.tree import CONSTANTS, FUNCTIONS
from mdbench.records import Record
from mdbench.reports.systems import code

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TAKEN = {*FUNCTIONS, *CONSTANTS, "square", "cube", "t"}
"""Names that no column has in equations."""
WORDS = sorted(
    {
        *keyword.kwlist,
        *keyword.softkwlist,
        *(name for name in dir(builtins) if name.isidentifier()),
        *CPrinter.reserved.split(),
        *JuliaPrinter.reserved.split(),
        *("I", "S", "N", "O", "Q", "beta", "gamma", "zeta", "Symbol", "sympy", "y0", "j1", "exp1"),
        *("numpy", "np", "result", "equations", "self", "double", "__debug__", "e", "im", "ans"),
        "a" * 40,
    }
    - TAKEN
)
"""Columns that are words of some language, or names in a library of it."""
PAIRS = [(word, f"{word}_" if place % 2 else f"x{place}") for place, word in enumerate(WORDS)]
AT = (0.7, 1.9)


def answer(equations: Sequence[str], targets: Sequence[str]) -> Record:
    made = {"equations": list(equations), "targets": list(targets), "truth": None}
    return Record.model_validate({**EXAMPLE, **made})


def rates(one: str, other: str) -> Record:
    return answer(
        [f"1/2*{one} - {other}**2", f"sin({one})/abs({other})"], [f"{one}_t", f"{other}_t"]
    )


EXPECTED = (0.5 * AT[0] - AT[1] ** 2, np.sin(AT[0]) / AT[1])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0])
def test_python_runs(pair: tuple[str, str]) -> None:
    scope: dict[str, Any] = {}
    exec(code(rates(*pair), "python"), scope)
    assert scope["equations"](*AT) == pytest.approx(EXPECTED)


def test_sympy_runs() -> None:
    for pair in PAIRS:
        scope: dict[str, Any] = {}
        exec(code(rates(*pair), "sympy"), scope)
        symbols = [sympy.Symbol(name_as(name, "sympy"), real=True) for name in pair]
        at = dict(zip(symbols, map(sympy.Float, AT), strict=True))
        found = [float(scope[name_as(f"{name}_t", "sympy")].subs(at)) for name in pair]
        assert found == pytest.approx(EXPECTED), pair


@pytest.mark.skipif(COMPILER is None, reason="no C compiler: apt install gcc libc6-dev")
@pytest.mark.parametrize("standard", ["c99", "gnu17"])
def test_c_is_compiled(standard: str, tmp_path: Path) -> None:
    assert COMPILER is not None
    parts = [
        code(rates(*pair), "c").replace("void equations(", f"void equations{place}(")
        for place, pair in enumerate(PAIRS)
    ]
    source, library = tmp_path / "answers.c", tmp_path / "answers.so"
    source.write_text("\n".join(parts), encoding="utf-8")
    options = [f"-std={standard}", "-O0", "-shared", "-fPIC", "-Werror"]
    subprocess.run([COMPILER, *options, "-o", library, source, "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    for place, pair in enumerate(PAIRS):
        result = (ctypes.c_double * 2)()
        loaded[f"equations{place}"](*map(ctypes.c_double, AT), result)
        assert list(result) == pytest.approx(EXPECTED), pair


def test_julia_has_values_by_its_grammar() -> None:
    reserved = set(JuliaPrinter.reserved.split()) - {"equations"}
    for pair in PAIRS:
        lines = code(rates(*pair), "julia").splitlines()
        lines = [line for line in lines if not line.startswith("#")]
        head = re.fullmatch(r"function equations\((\w+), (\w+)\)", lines[0])
        assert head, lines[0]
        assert not reserved & set(head.groups())
        columns = {head[1]: np.array([AT[0]]), head[2]: np.array([AT[1]])}
        found = [float(of_julia(line.partition(" = ")[2], columns)[0]) for line in lines[1:3]]
        assert found == pytest.approx(EXPECTED), pair
        assert lines[-1] == "end"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex: apt install texlive-latex-recommended"
)
def test_latex_is_set(tmp_path: Path) -> None:
    blocks = "\n".join(code(rates(*pair), "latex") for pair in PAIRS)
    head = r"\documentclass{article}\usepackage{amsmath}\begin{document}"
    (tmp_path / "answers.tex").write_text(
        f"{head}\n{blocks}\n\\end{{document}}\n", encoding="utf-8"
    )
    found = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "answers.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-2000:]


@pytest.mark.parametrize("language", ["python", "sympy", "julia", "c"])
def test_a_name_that_is_changed_is_explained(language: str) -> None:
    word = {"c": "double", "julia": "end"}.get(language, "lambda")
    shown = code(answer([f"2*{word}*x"], [word]), language)
    assert f"{word}_ is {word} in the data" in shown
    assert "in the data" not in code(answer(["2*prey"], ["prey_t"]), language)
