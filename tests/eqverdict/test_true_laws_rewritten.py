"""Every true law scores as the truth, however it is written: 120 of physics, 63 ODEs, 14 PDEs.

SymPy makes the other writings, or an identity that is given here; decimal constants are symbols
while it does, so that no digit of them is lost.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from harness import ROOT
from sweeps import sampled

from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode import data_type as ode
from mdbench.datatypes.pde import data_type as pde
from mdbench.datatypes.srsd import data_type as srsd
from mdbench.errors import AnswerError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mdbench.datatypes.base import Dataset
    from mdbench.datatypes.equations.base import EquationType

_DECIMAL = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)", re.IGNORECASE)
_THIRDS, _SEVENTHS = r"(\g<0>/3 + 2*\g<0>/3)", r"(\g<0>/7 + 6*\g<0>/7)"
_RATIO, _QUANTUM = "(x1*x2/(1.380649e-23*x3))", "(6.626e-34*x0/(2*pi*1.380649e-23*x1))"
_PLANCK = "6.626e-34/(2*pi)*x0**3/(pi**2*299792458.0**2)"
IDENTITIES = {
    "feynman-i.41.16": (f"{_PLANCK}*exp(-{_QUANTUM})/(1 - exp(-{_QUANTUM}))",),
    "feynman-ii.35.18": (f"x0/(2*cosh{_RATIO})", f"x0*exp{_RATIO}/(exp(2*{_RATIO}) + 1)"),
    "feynman-ii.35.21": (f"x0*x1*sinh{_RATIO}/cosh{_RATIO}",),
    "feynman-iii.14.14": (f"2*x0*exp({_RATIO}/2)*sinh({_RATIO}/2)", f"x0*exp{_RATIO} - x0"),
    "feynman-iii.15.12": ("4*x0*sin(x1*x2/2)**2", "2*x0 - 2*x0*cos(x1*x2)"),
    "feynman-iii.4.32": (f"exp(-{_QUANTUM}/2)/(2*sinh({_QUANTUM}/2))",),
}
"""Writings that SymPy does not find, and in which more cancels, or less."""
ROUNDING = 1e-24
"""What an NMSE may change by where ordinary equations are rewritten."""
AT_REST = {"autocatalysis": 1e-19, "photons-in-a-laser": 1e-18}
"""The same where the test window is at rest, so that nearly all of each right-hand side cancels."""
TOO_LARGE = {"heat_laser"}
"""Laws whose exponent, taken apart, gives factors that no double holds: no answer, and said so."""
SLOW = {
    "navier_stokes_channel",
    "navier_stokes_cylinder",
    "reaction_diffusion_cylinder",
    "heat_laser",
    "heat_soil_uniform_2d_p1",
}
TYPES: dict[str, type[EquationType[Any]]] = {"ode": ode.Ode, "pde": pde.Pde, "srsd": srsd.Srsd}


@cache
def kind(name: str, cache_in: Path) -> EquationType[Any]:
    return TYPES[name](ROOT / "datasets" / name, cache_in / name)


def names(data_type: str) -> Sequence[str]:
    found: Sequence[str] = kind(data_type, ROOT / "no-cache").source().names()
    return found


def writings(law: str, variables: Sequence[str], *, by_sympy: bool = True) -> list[str]:
    """Return two other writings of a law, by SymPy, and by thirds where SymPy has none."""
    constants: list[str] = []

    def symbol(match: re.Match[str]) -> str:
        constants.append(match[0])
        return f"_k{len(constants) - 1}"

    text = _DECIMAL.sub(symbol, law)
    symbols = {name: sympy.Symbol(name, real=True) for name in variables}
    symbols |= {f"_k{i}": sympy.Symbol(f"_k{i}", positive=True) for i in range(len(constants))}
    plain = sympy.sympify(text, locals={**symbols, "pi": sympy.pi})
    made = []
    for way in (
        lambda e: sympy.expand(e, trig=True),
        sympy.factor,
        lambda e: sympy.expand(e.rewrite(sympy.exp)) if e.has(sympy.tanh) else e,
        sympy.together,
        sympy.fu if plain.has(sympy.sin) and sympy.count_ops(plain) < 20 else sympy.factor_terms,
    ):
        other = way(plain)
        if other != plain and other not in made:
            made.append(other)
    texts = [str(each) for each in made]
    parts = re.compile(rf"\b(?:{'|'.join(variables)})\b")
    texts += [parts.sub(_THIRDS, text), parts.sub(_SEVENTHS, text)]
    return [
        re.sub(r"\b_k(\d+)\b", lambda match: constants[int(match[1])], each)
        for each in (texts[:2] if by_sympy else texts[-2:])
    ]


def load(data_type: EquationType[Any], name: str) -> Dataset:
    found: Dataset = data_type.source().load(
        name, snr_db=None, seed=0, protocol=Protocol.STRICT, options={}
    )
    return found


@pytest.mark.parametrize("name", sampled(names("srsd")))
def test_a_law_of_physics(name: str, tmp_path: Path) -> None:
    data_type = kind("srsd", tmp_path)
    dataset = load(data_type, name)
    task = data_type.task(dataset, "table", Protocol.STRICT)
    assert dataset.truth is not None
    (law,) = dataset.truth
    others = writings(law, task.variables, by_sympy=name not in TOO_LARGE)
    others += IDENTITIES.get(name, ())
    assert len({law, *others}) >= 3
    for text in (law, *others):
        values = data_type.read_answer(task, Answer((text,))).values
        np.testing.assert_array_equal(values, task.test.targets, err_msg=text)
        scores = data_type.errors(values, task.test.targets)
        assert (scores["nmse"], scores["r2"]) == (0.0, 1.0), text


@pytest.mark.parametrize("name", sampled(names("ode")))
def test_the_equations_of_an_ode(name: str, tmp_path: Path) -> None:
    score_as_the_truth(kind("ode", tmp_path), name)


@pytest.mark.parametrize(
    "name",
    [
        *sampled(name for name in names("pde") if name not in SLOW),
        pytest.param("heat_laser", marks=pytest.mark.slow),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in sorted(SLOW - {"heat_laser"})),
    ],
)
def test_the_equations_of_a_pde(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    # The two cylinders share their solver's arrays.
    score_as_the_truth(kind("pde", tmp_path_factory.getbasetemp()), name)


@pytest.mark.parametrize(
    ("data_type", "name"),
    [pytest.param("pde", "heat_laser", marks=pytest.mark.slow)],
)
def test_a_writing_that_no_double_holds_is_refused(
    data_type: str, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert name in TOO_LARGE
    asked = kind(data_type, tmp_path_factory.getbasetemp())
    dataset = load(asked, name)
    task = asked.task(dataset, "table", Protocol.STRICT)
    assert dataset.truth is not None
    (law,) = dataset.truth
    texts = writings(law, [each for each in task.variables if each in law])
    refused = 0
    for text in texts:
        try:
            asked.read_answer(task, Answer((text,)))
        except AnswerError as error:
            refused += "are not finite" in error.message
    assert refused


def score_as_the_truth(data_type: EquationType[Any], name: str) -> None:
    dataset = load(data_type, name)
    task = data_type.task(dataset, data_type.views[0], Protocol.STRICT)
    assert dataset.truth is not None
    variables = [each for each in task.variables if any(each in law for law in dataset.truth)]
    others = [writings(law, variables, by_sympy=name not in TOO_LARGE) for law in dataset.truth]
    targets = task.test.targets
    truth = data_type.read_answer(task, Answer(dataset.truth)).values
    floor = data_type.errors(truth, targets)["nmse"]
    rounding = AT_REST.get(name, ROUNDING)
    for texts in zip(*others, strict=True):
        values = data_type.read_answer(task, Answer(tuple(texts))).values
        assert data_type.errors(values, targets)["nmse"] <= 1.01 * floor + rounding, texts
