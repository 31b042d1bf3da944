from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import sympy
from forest_distance import Nested, brute, size
from harness import ROOT, is_running, known
from sweeps import sampled

from eqverdict import equation, parse, srbench
from eqverdict.limited_process import LimitedProcess
from eqverdict.srbench import (
    POSITIVE,
    complexities,
    normalized_edit_distance,
    srbench_solution,
    symbolic_solution,
)
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import EquationError

if TYPE_CHECKING:
    from collections.abc import Iterator

# SymPy sees the power of a power of 9 only after it has cancelled x0.
TOWER = "(x0-x0+9)**((x0-x0+9)**((x0-x0+9)**(x0-x0+9)))"
PROBLEMS = [read_problem(path) for path in sorted((ROOT / "datasets" / "srsd").glob("*.toml"))]
NAMES = [f"x{i}" for i in range(10)]


def positive(*names: str) -> dict[str, dict[str, Any]]:
    return {name: dict(POSITIVE) for name in names or NAMES}


def any_sign(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {**POSITIVE, "sign": "mixed"} for name in names}


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[LimitedProcess]:
    """Yield a child that has been asked nothing, and forget what others were asked."""
    fresh = LimitedProcess(equation.SYMPY_WORKER, 60, equation.MAX_BYTES)
    monkeypatch.setattr(srbench, "_children", (fresh, fresh))
    srbench._answer.cache_clear()
    yield fresh
    fresh.end()
    srbench._answer.cache_clear()


def published_tree(text: str) -> Nested:
    """Do by SymPy's own parser what the paper's code does, step by step."""
    number = sympy.sympify(str(sympy.sympify(text)))
    number = number.subs(sympy.pi, sympy.pi.evalf()).evalf()
    simple = number.factor().simplify().subs(1.0, 1)

    def nested(node: Any) -> Nested:
        if node.is_number:
            return "number", ()
        label = str(node) if node.is_Symbol else node.func.__name__
        return label, tuple(nested(argument) for argument in node.args)

    return nested(sympy.sympify(str(simple)))


def drawn(generator: random.Random, depth: int) -> str:
    """Draw a small equation."""
    if depth == 0 or generator.random() < 0.2:
        return generator.choice(["x0", "x1", "2", "0.37", "pi"])
    a, b = (drawn(generator, depth - 1) for _ in range(2))
    form = generator.choice(["{a} + {b}", "{a}*({b})", "({a})/(x1 + {b})", "sin({a})", "exp(-{a})"])
    return f"({form.format(a=a, b=b)})"


@pytest.mark.parametrize(
    ("truth", "prediction", "edits", "nodes"),
    [
        # By hand: Mul(x0, x1, x2, sin(x3)) has 6 nodes, Mul(number, x0, x1) has 4.
        ("x0*x1*x2*sin(x3)", "x0*x1*x2*cos(x3)", 1, 6),
        ("9.80665*x0*x1", "x0*x1", 1, 4),
        ("9.80665*x0*x1", "2.5*x0*x1", 0, 4),
        ("9.80665*x0*x1", "x0*x2*pi", 1, 4),
        # Mul(x0, Pow(x1, number)): a quotient is a product with a power.
        ("x0/x1", "x0*x1", 2, 5),
        # Add(x0, Mul(number, x1)), and a sum of four terms is one Add.
        ("x0 - x1", "x0 + x1", 2, 5),
        ("x0 + x1 + x2 + x3", "x0 + x1 + x2", 1, 5),
        ("x0", "x1", 1, 1),
        ("x0*x1", "3", 3, 3),
    ],
)
def test_edits_counted_by_hand(truth: str, prediction: str, edits: int, nodes: int) -> None:
    found = normalized_edit_distance(truth, prediction, NAMES)
    assert (found.edits, found.nodes) == (edits, nodes)
    assert found.value == min(1.0, edits / nodes)
    assert found.reason == ""


@pytest.mark.parametrize("seed", sampled(range(12)))
def test_distances_are_those_of_the_papers_steps_and_the_recursive_definition(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(6):
        truth, prediction = (drawn(generator, 3) for _ in range(2))
        one, other = published_tree(truth), published_tree(prediction)
        expected = min(1.0, brute((one,), (other,)) / size((one,)))
        assert normalized_edit_distance(truth, prediction, NAMES).value == expected


@pytest.mark.parametrize("problem", sampled(PROBLEMS, share=0.05), ids=lambda problem: problem.name)
def test_every_law_is_as_far_from_itself_as_it_should_be(problem: Any) -> None:
    found = normalized_edit_distance(problem.law, problem.law, problem.spreads)
    assert (found.value, found.edits, found.reason) == (0.0, 0, "")
    assert found.nodes == size((published_tree(problem.law),))


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        (None, "no prediction"),
        ("", "found the end"),
        ("x0 +", "found the end"),
        ("x99", "unknown name 'x99'"),
        ("x0*(", "the end"),
        ("import os", "unknown name 'import'"),
    ],
)
def test_what_is_no_equation_is_as_far_as_can_be(prediction: str | None, reason: str) -> None:
    found = normalized_edit_distance("x0*x1", prediction, NAMES)
    assert (found.value, found.edits, found.nodes) == (1.0, None, 3)
    assert reason in found.reason
    assert reason in symbolic_solution("x0*x1", prediction, positive()).reason
    assert reason in srbench_solution("x0*x1", prediction, NAMES).reason
    assert not symbolic_solution("x0*x1", prediction, positive()).solved
    assert not srbench_solution("x0*x1", prediction, NAMES).solved


def test_a_truth_that_is_no_equation_is_an_error() -> None:
    for compare in (normalized_edit_distance, srbench_solution):
        with pytest.raises(EquationError, match="unknown name"):
            compare("y*x0", "x0", ["x0"])
    with pytest.raises(EquationError, match="unknown name"):
        symbolic_solution("y*x0", "x0", positive("x0"))


def test_names_that_mean_something_to_sympy_or_python_are_names() -> None:
    for name in ("I", "S", "N", "lambda", "Integer", "zeta", "constant", "E", "is"):
        found = normalized_edit_distance(f"2*{name}*x0", f"{name}*x0", [name, "x0"])
        assert (found.edits, found.nodes) == (1, 4)
        assert symbolic_solution(f"2*{name}*x0", f"{name}*x0 ", positive(name, "x0")).solved


@pytest.mark.slow
def test_what_takes_too_long_is_killed_and_not_asked_again(
    child: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert normalized_edit_distance("x0", "x0", ["x0"]).value == 0.0
    assert child.process is not None
    first = child.process.pid
    found = normalized_edit_distance("x0", TOWER, ["x0"], seconds=1)
    assert (found.value, found.reason) == (None, "it took too long")
    assert not is_running(first)
    with monkeypatch.context() as patch:
        patch.setattr(LimitedProcess, "_start", None)  # nobody can be asked
        assert normalized_edit_distance("x0", TOWER, ["x0"], seconds=1) == found
    assert symbolic_solution("x0", TOWER, positive("x0"), seconds=1).solved is None
    assert srbench_solution("x0", TOWER, ["x0"], seconds=1).reason == "it took too long"
    with pytest.raises(EquationError, match="took too long"):
        complexities(TOWER, ["x0"], seconds=1)
    with pytest.raises(EquationError, match="no canonical form: it took too long"):
        normalized_edit_distance(TOWER, "x0", ["x0"], seconds=1)
    assert normalized_edit_distance("x0*x1", "x0*x1", NAMES).value == 0.0


def test_a_huge_prediction_needs_no_comparison_of_trees(child: LimitedProcess) -> None:
    huge = " + ".join(f"{k}.5*x{k % 10}**{k}" for k in range(1, 100))
    found = normalized_edit_distance("x0*x1", huge, NAMES, seconds=30)
    assert found.value == 1.0
    assert found.edits is None
    del child


def test_what_is_too_large_for_sympy_is_undecided_at_once(child: LimitedProcess) -> None:
    huge = " + ".join(f"{k}.5*x{k % 10}**{k}" for k in range(1, 1_000))
    assert normalized_edit_distance("x0*x1", huge, NAMES).value is None
    found = srbench_solution("x0*x1", huge, NAMES)
    assert (found.solved, "4000 are worked on" in found.reason) == (None, True)
    assert child.process is None or child.process.poll() is None


# Each pair is the same but for a constant term or factor; most of them by an identity that
# holds for positive numbers, or that SymPy does not see by itself.
SAME = [
    ("exp(x0 + 1)", "exp(x0)", "ratio"),
    ("sin(x0 + pi/2)", "cos(x0)", "difference"),
    ("sqrt(x0*x1)", "sqrt(x0)*sqrt(x1)", "difference"),
    ("log(x0*x1)", "log(x0) + log(x1)", "difference"),
    ("log(x0*x1)", "log(3*x0) + log(x1)", "difference"),
    ("x0*x1", "x1*x0 + 5", "difference"),
    ("x0*x1", "-0.3*x0*x1", "ratio"),
    ("6.674e-11*x0", "x0", "ratio"),
    ("1e-30*x0", "1e-30*x0 + 1e-40", "difference"),
    ("sin(x0)**2 + x1", "x1 - cos(x0)**2", "difference"),
    ("(x0 + x1)**3", "x0**3 + 3*x0**2*x1 + 3*x0*x1**2 + x1**3", "difference"),
    ("tanh(x0)", "(exp(2*x0) - 1)/(exp(2*x0) + 1)", "difference"),
    ("abs(x0)", "x0", "difference"),
    ("max(x0, x1)", "(x0 + x1 + abs(x0 - x1))/2", "difference"),
    ("x0**0.5", "sqrt(x0)", "difference"),
    ("asin(x0/20)", "pi/2 - acos(x0/20)", "difference"),
    ("exp(100*x0)", "exp(100*x0) + 7", "difference"),
    ("exp(x0)", "cosh(x0) + sinh(x0)", "difference"),
]
# None of these is.
OTHER = [
    ("x0*x1", "x0*x1**1.01"),
    ("x0", "x0 + 1e-30*x1"),
    ("x0*(1 + 1e-17*cos(x1))", "x0"),
    ("x0", "7"),
    ("x0", "sin(x1)**2 + cos(x1)**2"),
    ("7", "x0"),
    ("7", "8"),
    ("x0", "2*x0 + 1"),
    ("exp(x0)", "exp(1.001*x0)"),
    ("x0 + x1", "x0*x1"),
    ("sin(x0)", "x0"),
    ("x0**2", "x0 + 1e50"),
    ("0", "x0 + x1"),
    ("x0 + x1", "0"),
    ("x0", "x0 + max(0, x0 - 9.5)"),
    ("x0", "min(x0, 9.9)"),
    ("x0", "min(x0, 9.99999)"),
    ("x0", "x0 + max(0, x0 - 12)"),
    ("x0*x1", "x0*x1 + abs(x0 - 9) + x0 - 9"),
    ("exp(100*x0)", "exp(100*x0) + x1"),
    ("exp(100*x0)", "3*exp(100*x0) + 7"),
    ("x0**300", "x0**300 + x1"),
]


@pytest.mark.parametrize(("truth", "prediction", "how"), SAME)
def test_solutions_are_recognised(truth: str, prediction: str, how: str) -> None:
    found = symbolic_solution(truth, prediction, positive(), digits=None)
    assert (found.solved, found.how, found.reason) == (True, how, "")
    assert symbolic_solution(prediction, truth, positive(), digits=None).solved


@pytest.mark.parametrize(("truth", "prediction"), OTHER)
def test_what_is_no_solution_is_not_taken_for_one(truth: str, prediction: str) -> None:
    found = symbolic_solution(truth, prediction, positive())
    assert (found.solved, found.how, found.reason) == (False, "", "")


def test_positivity_is_that_of_the_domain() -> None:
    assert not symbolic_solution("abs(x0)", "x0", any_sign("x0")).solved
    assert not symbolic_solution("log(x0*x1)", "log(x0) + log(x1)", any_sign("x0", "x1")).solved
    assert not symbolic_solution("sqrt(x0**2)", "x0", any_sign("x0")).solved
    assert symbolic_solution("sqrt(x0**2)", "abs(x0)", any_sign("x0")).solved
    below = {"x0": {**POSITIVE, "sign": "negative"}}
    assert symbolic_solution("abs(x0)", "x0", below).how == "ratio"
    whole = {"x0": {"distribution": "uniform-integer", "low": 1, "high": 9, "sign": "positive"}}
    assert symbolic_solution("x0", "x0 + sin(pi*x0)", whole).solved
    assert not symbolic_solution("x0", "x0 + sin(pi*x0)", positive()).solved


@pytest.mark.parametrize("threshold", [k / 40 for k in range(-20, 21)])
def test_a_difference_between_two_switches_is_no_solution(threshold: float) -> None:
    domain = {"x0": {"distribution": "uniform", "low": -3.0, "high": 3.0, "sign": "range"}}
    where = f"x0*(1 + sign(x0 - ({threshold})))/2"  # x0 above the threshold, 0 below it
    for answer in (where, f"2*{where}", f"{where} + 1"):
        assert symbolic_solution("max(x0, 0)", answer, domain).solved is (threshold == 0)
    whole = {"x0": {"distribution": "uniform-integer", "low": 1, "high": 9, "sign": "positive"}}
    assert symbolic_solution("x0", "max(x0, 0.5) + max(0, 0.9 - x0)", whole).solved


def test_fitted_numbers_are_compared_to_some_digits() -> None:
    truth, fitted = "x0*exp(-1.6e-19*x1/(1.38e-23*300))", "2*x0*exp(-38.64734*x1)"
    assert not symbolic_solution(truth, fitted, positive(), digits=None).solved
    assert symbolic_solution(truth, fitted, positive()).how == "ratio with numbers of 6 digits"
    assert not symbolic_solution(truth, fitted, positive(), digits=9).solved


@pytest.mark.parametrize(
    ("truth", "prediction", "how"),
    [
        ("2**x0", "exp(0.6931471805599453*x0)", "difference"),
        ("3*sin(x0) + 4*cos(x0)", "5*sin(x0 + 0.9272952180016122)", "difference"),
        ("5*sin(x0 + 0.927295)", "6*sin(x0) + 8*cos(x0)", "ratio"),
        ("5*sin(x0 + 0.9273)", "3*sin(x0) + 4*cos(x0)", ""),
    ],
)
def test_numbers_that_are_not_written_are_rounded_too(
    truth: str, prediction: str, how: str
) -> None:
    found = symbolic_solution(truth, prediction, positive())
    assert found.how == (f"{how} with numbers of 6 digits" if how else "")


def test_a_truth_that_is_defined_nowhere_cannot_be_judged() -> None:
    found = symbolic_solution("sqrt(-x0 - 1)", "x0", positive("x0"))
    assert (found.solved, "is defined at 0 of" in found.reason) == (None, True)


@pytest.mark.parametrize("problem", sampled(PROBLEMS, 1), ids=lambda problem: problem.name)
def test_every_law_solves_itself_and_no_disturbed_one_does(problem: Any) -> None:
    law, domain = problem.law, problem.domain
    assert symbolic_solution(law, law, domain).solved
    assert symbolic_solution(law, f"3.5e-20*({law})", domain).solved
    assert not symbolic_solution(law, f"({law})*(1 + 1e-30*x0)", domain).solved


def test_a_prediction_without_values_is_no_solution() -> None:
    for prediction in ("exp(exp(9e9*x0))", "x0**(9e30*x1)", "cosh(9e90*x0)"):
        # Not None: what would fill all memory is not begun.
        assert symbolic_solution("x0", prediction, positive()).solved is False
    for prediction in ("x0/(x1 - x1)", "log(-x0)", "sqrt(-1 - x0)", "1/0*x0"):
        assert not symbolic_solution("x0", prediction, positive()).solved
        assert 0 < known(normalized_edit_distance("x0", prediction, NAMES).value) <= 1


def test_srbenchs_rule_with_its_slips() -> None:
    assert srbench_solution("x0 + x1", "x0 + x1 + 2", NAMES).how == "difference"
    assert srbench_solution("x0*x1", "2.5*x0*x1", NAMES).how == "ratio"
    assert not srbench_solution("x0 + x1", "x0*x1", NAMES).solved
    # Near misses are solutions, and so is a term that is small in these units.
    assert srbench_solution("1.0*x0", "1.0002*x0 + 0.00005*x1", NAMES).solved
    assert srbench_solution("x0 + 1e-30*x1", "x0", NAMES).solved
    # A law of small constants is zero, and nothing known to be positive.
    assert not srbench_solution("x0", "1e-30*x0", NAMES).solved
    assert not srbench_solution("log(x0*x1)", "log(x0) + log(x1)", NAMES).solved
    assert not srbench_solution("x0 + x1", "x0 + x1", NAMES, r2=0.5).solved
    assert srbench_solution("x0 + x1", "x0 + x1", NAMES, r2=0.6).solved


def solved_as_published(truth: str, answer: str) -> str:
    """Do all steps of SRBench's rule by SymPy itself."""

    def rounded(expression: Any) -> Any:
        return expression.xreplace(
            {
                number: sympy.Integer(0) if abs(number) < 1e-4 else sympy.Float(round(number, 3), 3)
                for number in expression.atoms(sympy.Float)
            }
        )

    t, p = (rounded(sympy.sympify(text).subs(sympy.pi, sympy.pi.evalf()))
            for text in (truth, answer))  # fmt: skip
    p = rounded(sympy.simplify(p, ratio=1))
    difference = rounded(t - p)
    if not difference.is_constant():
        difference = rounded(sympy.simplify(difference, ratio=1))
    if difference.is_constant():
        return "difference"
    return "ratio" if rounded(p / t).is_constant() else ""


@pytest.mark.parametrize(
    "answer",
    [
        "x0*sin(x1) + 2.5",
        "2*x0*sin(x1) + 5.0",
        "x0*sin(x1) + 2.5004 + 0.00004*x1",
        "x0*sin(x1) + 2.5 + 0.004*x1",
        "x0*sin(x1) + 0.0004*x0*(0.1*x1 + x0*0.2) + 1",
        "x0*cos(x1 - 1.5708) + 2.5",
        "x0*sin(x1)*(sin(x0)**2 + cos(x0)**2)",
        "x0*sin(x1) + 7000.0",
        "x0*sin(x1)*1.0002 + 2.5",
        "exp(0.00005*x0) + x0*sin(x1)",
        "(x0**2*sin(x1) + 2.5*x0)/x0",
        "x0*x1 - log(x1)",
    ],
)
def test_looking_at_values_first_changes_no_verdict_of_srbench(answer: str) -> None:
    truth = "x0*sin(x1) + 2.5"
    assert srbench_solution(truth, answer, ["x0", "x1"]).how == solved_as_published(truth, answer)


def test_complexity_raw_and_simplified() -> None:
    text = "sin(x0)**2 + cos(x0)**2 + x1*x0/x0"
    assert parse(text, NAMES).complexity == 10
    assert complexities(text, NAMES) == (10, 3)
    assert complexities("x0*x1", NAMES) == (3, 3)
    with pytest.raises(EquationError, match="unknown name"):
        complexities("z", NAMES)
