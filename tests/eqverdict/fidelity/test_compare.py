from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy
from harness import ROOT
from sweeps import sampled

from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from eqverdict.fidelity.compare import Verdict, compare
from eqverdict.fidelity.verdict import negligible
from mdbench.datatypes.ode.systems import OdeSystem, read_system
from mdbench.errors import EquationError

NAMES = ("u0", "u1", "u2")
SYSTEMS = [read_system(path) for path in sorted(Path(ROOT, "datasets", "ode").glob("*.toml"))]


def verdict(truth: str, prediction: str) -> str:
    return compare([truth], [prediction], NAMES).verdict.value


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        ("(u0 - u1)**2 + u2", "u0**2 - 2*u0*u1 + u1**2 + u2"),
        ("u0*(1 - u0)*(u0 - 0.3)", "-u0**3 + 1.3*u0**2 - 0.3*u0"),
        ("cos(u0)", "sin(u0 + 1.5708)"),
        ("-sin(u0)", "sin(u0 + pi)"),
        ("sin(u0 - u1)", "sin(u0)*cos(u1) - cos(u0)*sin(u1)"),
        ("sin(u0)*(cos(u0) - 0.93)", "0.5*sin(2*u0) - 0.93*sin(u0)"),
        ("cos(u0)**2", "0.5 + 0.5*cos(2*u0)"),
        ("1/(1 + u0) + 1/(2 + u0)", "(2*u0 + 3)/(u0**2 + 3*u0 + 2)"),
        ("u0**2/(1 + u0**2) - 0.5*u0", "(u0**2 - 0.515*u0 - 0.51*u0**3)/(1.00980392 + u0**2)"),
        ("1/(1 + exp(4.89*u1 - 1.4))", "exp(1.4)/(exp(1.4) + exp(4.8*u1))"),
        ("0.032*u0*log(2.29*u0)", "0.0265*u0 + 0.0321*u0*log(u0)"),
        ("u1*abs(u1)", "u1*sqrt(u1**2)"),
        ("0.7*u0**1.2*(1 - u0)", "0.7*u0**1.22 - 0.7*u0**2.2"),
        ("sin(2*u0)", "sin(2.06*u0)"),
        ("exp(-3*u0)", "exp(-2.95*u0)"),
        ("cot(u1)*cos(u0)", "cos(u0)*cos(u1)/sin(u1)"),
        ("u0", "u0**2/u0"),
        ("0", "0.0"),
    ],
)
def test_equivalent_writings_are_identified(truth: str, prediction: str) -> None:
    assert verdict(truth, prediction) == "identified"


@pytest.mark.parametrize(
    ("truth", "prediction", "wanted"),
    [
        ("u0 + u1", "u0", "one_term_off"),
        ("u0 + u1", "u0 + u1 + 0.001", "one_term_off"),
        ("u0 + u1", "u0 + u1 + u2 + 1", "different"),
        ("u0 + u1", "u0 + u2", "different"),
        ("u0 + u1", "u0 + 1.06*u1", "different"),
        ("u0 + u1", "1.06*u0", "different"),
        ("u0", "0", "different"),  # nothing of it was found
        ("0", "u0", "different"),
        ("u0**2", "u0**3", "different"),
        ("u0**20", "u0**21", "different"),  # within 5 %, and not the same
        ("sin(2*u0)", "sin(2.2*u0)", "different"),
        ("exp(-3*u0)", "exp(-3.3*u0)", "different"),
        ("1/(1 + u0)", "1/(1 + 1.1*u0)", "different"),
        ("sin(u0 - u1) - sin(u0)", "-sin(u0)", "one_term_off"),
        ("sin(u0 - u1) - sin(u0)", "sin(u0)*cos(u1) - cos(u0)*sin(u1)", "one_term_off"),
        ("u0**2/(1 + u0**2) - 0.5*u0", "u0**2/(1 + u0**2)", "one_term_off"),
        ("u0**2/(1 + u0**2) - 0.5*u0 + 1", "(1 + 2*u0**2)/(1 + u0**2)", "one_term_off"),
        ("u0/(1 + u0) + u1", "(u0 + u1 + u0*u1 + 0.3*u0*u2 + 0.3*u2)/(1 + u0)", "one_term_off"),
    ],
)
def test_what_is_not_the_truth_is_reported(truth: str, prediction: str, wanted: str) -> None:
    assert verdict(truth, prediction) == wanted


def test_the_rule_is_for_the_whole_system() -> None:
    truth = ["u0 + u1", "u0 - u1"]
    one, two = "u0", "-u1"
    assert compare(truth, ["u0 + u1", "u0 - 1.02*u1"], NAMES).verdict is Verdict.IDENTIFIED
    assert compare(truth, [one, "u0 - u1"], NAMES).verdict is Verdict.ONE_TERM_OFF
    assert compare(truth, [one, two], NAMES).verdict is Verdict.DIFFERENT
    # The right equations in the wrong order are not the right ones.
    assert compare(truth, truth[::-1], NAMES).verdict is Verdict.DIFFERENT


def test_derivatives_in_three_dimensions_are_names_like_others() -> None:
    names = ("u0", "u1", "u0_x", "u0_yy", "u0_zzzz", "u1_z")
    truth = ["-u0*u0_x + 0.1*(u0_yy + u0_zzzz)", "u1_z"]
    assert compare(truth, ["0.1*u0_zzzz + 0.098*u0_yy - u0_x*u0", "1.01*u1_z"], names).verdict == (
        Verdict.IDENTIFIED
    )
    found = compare(truth, ["0.1*u0_zzzz - u0_x*u0", "u1_z"], names)
    assert found.verdict is Verdict.ONE_TERM_OFF
    assert [term.text for term in found.missing] == ["0.1*u0_yy"]


def test_the_graded_score() -> None:
    found = compare(["2*u0 + u1 + u2"], ["2.2*u0 + u1 + 3 + u0*u1"], NAMES)
    assert (found.precision, found.recall) == (2 / 4, 2 / 3)
    assert found.f1 == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    assert found.coefficient_error == pytest.approx(0.1)
    assert [term.text for term in found.missing] == ["u2"]
    assert sorted(term.text for term in found.extra) == ["3", "u0*u1"]
    assert sorted(term.text for term in found.matched) == ["2.2*u0", "u1"]


@pytest.mark.parametrize(
    ("truth", "prediction", "edits", "nodes"),
    [
        # Add(Mul(c, u0), Mul(c, u1)): 7 nodes.
        ("2*u0 + u1", "u0 + 7*u1", 0, 7),
        ("2*u0 + u1", "u0 + 7*u2", 1, 7),
        ("2*u0 + u1", "u0", 4, 7),
        ("u0*u1**2", "u0*u1**3", 1, 6),
    ],
)
def test_edit_distance(truth: str, prediction: str, edits: int, nodes: int) -> None:
    found = compare([truth], [prediction], NAMES).edit_distance
    assert found == pytest.approx(edits / nodes)


def scaled(text: str, term: int, factor: float) -> str:
    parts = [
        monomial_text(monomial, c) if i != term else f"{factor!r}*({monomial_text(monomial, c)})"
        for i, (monomial, c) in enumerate(expand(text, NAMES4).items())
    ]
    return " + ".join(parts)


NAMES4 = ("u0", "u1", "u2", "u3")


@pytest.mark.parametrize("system", sampled(SYSTEMS), ids=lambda system: system.id)
def test_mutations_of_every_true_system(system: OdeSystem) -> None:
    truth = system.truth

    def judged(equation: int, text: str) -> Verdict:
        return compare(truth, [*truth[:equation], text, *truth[equation + 1 :]], NAMES4).verdict

    assert compare(truth, truth, NAMES4).verdict is Verdict.IDENTIFIED
    total = sum(len(expand(text, NAMES4)) for text in truth)
    for i, text in enumerate(truth):
        for k in range(len(expand(text, NAMES4))):
            assert judged(i, scaled(text, k, 1.04)) is Verdict.IDENTIFIED
            assert judged(i, scaled(text, k, 0.96)) is Verdict.IDENTIFIED
            # The constants of a logarithm are compared as they are written, not multiplied out.
            wrong = 0.1 if "log" in text else 0.06
            assert judged(i, scaled(text, k, 1 + wrong)) is Verdict.DIFFERENT
            assert judged(i, scaled(text, k, 1 - wrong)) is Verdict.DIFFERENT
            dropped = Verdict.ONE_TERM_OFF if total > 1 else Verdict.DIFFERENT
            assert judged(i, scaled(text, k, 0.0)) is dropped
        assert judged(i, f"{text} + 0.7*u0**7") is Verdict.ONE_TERM_OFF
        assert judged(i, f"{text} + 0.7*u0**7 - 0.1*u0**6") is Verdict.DIFFERENT


@pytest.mark.parametrize("system", sampled(SYSTEMS, seed=1), ids=lambda system: system.id)
def test_rewriting_keeps_the_verdict(system: OdeSystem) -> None:
    truth = list(system.truth)
    for rewrite in (sympy.expand, sympy.factor, sympy.together):
        for extra, wanted in (("", Verdict.IDENTIFIED), (" + 0.7*u0**3*u1", Verdict.ONE_TERM_OFF)):
            if wanted is Verdict.ONE_TERM_OFF and "u0**3*u1" in str(truth):
                continue
            texts = [truth[0] + extra, *truth[1:]]
            names = {name: sympy.Symbol(name) for name in NAMES4}
            written = [str(rewrite(sympy.sympify(text, names))) for text in texts]
            assert compare(truth, written, NAMES4).verdict is wanted, (rewrite, written)


def test_what_differs_is_not_identified_however_large() -> None:
    above = " + ".join(f"{i}.5*u{i % 3}**{i % 7}*u{(i // 3) % 3}" for i in range(40))
    below = " + ".join(f"{i}.5*u{i % 3}**{1 + i % 9}" for i in range(30))
    found = compare(["u0*u1/(1 + u0) + u2"], [f"({above})/({below})"], NAMES)
    assert found.verdict is Verdict.DIFFERENT


def test_what_is_too_large_to_be_multiplied_out_has_values() -> None:
    huge = "(u0 + u1 + u2 + 1)**20*(u0 - u1 + u2)**15"
    found = compare(["u0 + u1"], [huge], NAMES)
    assert (found.verdict, found.edit_distance) == (Verdict.NOT_IDENTIFIED, None)
    found = compare([huge], ["u0 + u1"], NAMES)  # whose constants nobody can move
    assert (found.verdict, found.edit_distance) == (Verdict.UNDECIDED, None)
    # Unless another equation settles it.
    assert compare(["u0 + u1", "u2"], [huge, "u0"], NAMES).verdict is Verdict.DIFFERENT


def test_errors() -> None:
    with pytest.raises(EquationError, match="unknown name"):
        compare(["u0"], ["spam"], NAMES)
    with pytest.raises(ValueError, match="shorter"):
        compare(["u0", "u1"], ["u0"], NAMES)


def test_negligible_terms_are_named_and_count() -> None:
    u0 = np.linspace(1.0, 2.0, 50)
    columns = {"u0": u0, "u1": np.full(50, 1e-4)}
    found = compare(["u0 + u0*u1"], ["u0 + 1e-4*u0**2 + 0.5"], ("u0", "u1"))
    terms = (*found.matched, *found.extra, *found.missing)
    small = negligible(terms, columns, u0[:, None])
    assert sorted(term.text for term in small) == ["0.0001*u0**2", "u0*u1"]
    assert found.verdict is Verdict.DIFFERENT
    assert len(negligible(terms, columns, u0[:, None], share=1e-9)) == 0
    # Without a signal nothing is small.
    assert negligible(terms, columns, np.zeros((50, 1))) == []
