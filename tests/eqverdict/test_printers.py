"""What is shown of an equation is the equation: every printer is read back, and has its values."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from browser import PROGRAM, Browser
from multiplied import originals
from printed import Case, Misread, agree, meant, points, random_trees, rounded
from printed_code import COMPILER, Compiled, of_julia, of_plain, of_python, of_sympy_syntax
from printed_mathematics import of_latex, of_mathml
from reporting import EXAMPLE, boards

from eqverdict.atoms import monomial_text
from eqverdict.expand import expand
from eqverdict.printers import LONGEST, mathml, name_as, names_in, print_as, rounded_to
from mdbench.datatypes.derivation.plots import DerivationLine, derivation_pictures
from mdbench.errors import EquationError
from mdbench.records import Record
from mdbench.reports.html import page
from mdbench.reports.systems import code
from mdbench.reports.terminal import DECIMAL, _rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from printed import Columns

PART, WHOLE = 120, 5_000
"""Of random trees, and of landed answers in the part."""
BUNDLES = ("equal-work", "measurements", "pde-released", "seed-rows", "srsd-search")
"""Records of all kinds of data that have equations."""
EXAMPLES = (
    "((0.788*y)*(1.269*y)) - ((0.985*x)*((-1.016)*x))",
    "x*((-2)*y)",
    "a + b*((-2)*c)",
    "a - (b - c)",
    "a - (-b)*c",
    "a - -b",
    "2 - -3*x",
    "-(-x)",
    "-(-x*y)",
    "---x",
    "a/(b/c)",
    "a/b/c",
    "(a/b)**2",
    "(a/b)**(c/2)",
    "a**b**c",
    "(a**b)**c",
    "-x**2",
    "(-x)**2",
    "(-2)**2*x",
    "x**-2",
    "2**-x",
    "-2**-x",
    "1.2e3**x",
    "1e5**2*x",
    "1e-3*x*1e5",
    "x*1.5e-7",
    "x*(y + 1)",
    "x**2*(y + 1)",
    "sin(x)*(y + 1)",
    "2*3*x",
    "x*2**y",
    "2*(1/3)*x",
    "2*(3*x/y)",
    "sin(x)**2",
    "sin(x)**-1",
    "sin(x)**2.0",
    "sin(x)**0.5",
    "sin(x)**y",
    "sin(x)**pi",
    "sin(x*(-y))**2",
    "log(x)**2",
    "exp(x)**2",
    "exp(-x)**-1",
    "exp(-x)*(x + 1)",
    "sqrt(x)**2",
    "abs(x)**3",
    "abs(x)*y*abs(z)",
    "abs(2*abs(x)*y)",
    "-abs(-x)*-2",
    "u0_xx**2",
    "u0_x*u0",
    "u0*u0_x*u1",
    "-u0_xx*(-u0_x)",
    "prey*hunter",
    "prey*x",
    "x*prey*sin(prey)",
    "prey*(x + 1)",
    "e*exp(e) + E",
    "max(x, -y)*min(-x, 2)",
    "sign(-x)*(x**2 - y)/2",
    "acosh(x + 3)*cot(x)",
    "arcsin(x/9)*Abs(-x)",
    "2.*x + .5/y",
    "007*x**02",
    "10**20*x",
    "3000000000*4000000000*x",
    "-(a + b)*(-(a - b))",
    "a*(b*(-c))*(-(-d))",
    "lambda*theta + omicron",
    "x1*x_1 - mass_kg*x1",
)
"""Each is what a printer got wrong, or could: precedence, signs, numbers, and names."""


@cache
def landed() -> tuple[str, ...]:
    """Return all right-hand sides of some bundles in docs/results: answers and truths."""
    found: dict[str, None] = {}
    for one in originals(*BUNDLES):
        for key in ("equations", "truth"):
            found.update(dict.fromkeys(one[key] or ()))
    return tuple(found)


def texts(source: str) -> Sequence[str]:
    """Return equations by name: the part of something, or the whole."""
    if source == "examples":
        return EXAMPLES
    if source.endswith("random trees"):
        return random_trees(PART if source.startswith("some") else WHOLE, seed=7)
    if source.startswith("all"):
        return landed()
    return [str(one) for one in np.random.default_rng(7).choice(landed(), PART, replace=False)]


SOURCES = [
    "examples",
    "some random trees",
    "some landed answers",
    pytest.param("all random trees", marks=pytest.mark.nightly),
    pytest.param("all landed answers", marks=pytest.mark.nightly),
]


@cache
def cases(source: str, number: Callable[[str], Any] | None = None) -> tuple[Case, ...]:
    made = [Case.of(text, number) if number else Case.of(text) for text in texts(source)]
    assert sum(case.tells for case in made) > 0.9 * len(made)
    return tuple(made)


def refused(
    reader: Callable[[str, Columns], Any], printed: Iterable[tuple[Case, str]]
) -> list[tuple[str, str]]:
    """Return what is not read back, and how it is printed."""
    return [(case.text, text) for case, text in printed if not case.is_read_from(reader, text)]


def of_math(text: str, columns: Columns) -> Any:
    return of_mathml(ET.fromstring(text), columns)


@pytest.mark.parametrize("source", SOURCES)
def test_mathml(source: str) -> None:
    shown = [(case, mathml(case.text)) for case in cases(source, rounded)]
    assert all(text.startswith("<math") for case, text in shown if len(case.text) <= LONGEST), (
        "an equation is shown as text"
    )
    assert refused(of_math, [each for each in shown if each[1].startswith("<math")]) == []


@pytest.mark.parametrize(
    ("language", "reader"),
    [
        ("plain", of_plain),
        ("python", of_python),
        ("sympy", of_sympy_syntax),
        ("julia", of_julia),
        ("latex", of_latex),
    ],
)
@pytest.mark.parametrize("source", SOURCES)
def test_languages(source: str, language: str, reader: Callable[[str, Columns], Any]) -> None:
    shown = []
    for case in cases(source):
        if language == "plain" and re.search(r"\b0\d|lambda", case.text):
            continue  # not for Python, which reads it here: the bench's own writing stays
        other = {name_as(name, language): column for name, column in case.columns.items()}
        named = Case(case.text, case.names, other, case.values, case.near)
        shown.append((named, print_as(case.text, language)))
    assert refused(reader, shown) == []


@pytest.mark.skipif(COMPILER is None, reason="no C compiler: apt install gcc libc6-dev")
@pytest.mark.parametrize("source", SOURCES)
def test_c(source: str, tmp_path: Path) -> None:
    known = cases(source)
    names = [[name_as(name, "c") for name in case.names] for case in known]
    compiled = Compiled([print_as(case.text, "c") for case in known], names, tmp_path)
    wrong = []
    for place, case in enumerate(known):
        found = compiled.of(place, case.names, case.columns)
        if not agree(found if np.ndim(case.values) else found[0], case.values, case.near):
            wrong.append((case.text, print_as(case.text, "c")))
    assert wrong == []


@pytest.mark.parametrize("source", SOURCES[1:])
def test_numbers_are_rounded_and_nothing_else(source: str) -> None:
    """By ``show`` to four digits, and in the terminal's table to three."""

    def to(digits: int) -> Callable[[str], Any]:
        return lambda text: np.longdouble(
            f"{float(text):.{digits}g}" if re.search(r"[.eE]", text) else text
        )

    printers: list[tuple[int, Callable[[str], str]]] = [
        (4, lambda text: rounded_to(text, 4)),
        (3, lambda text: DECIMAL.sub(_rounded, text)),
    ]
    for digits, short in printers:
        known = [Case.of(text, to(digits)) for text in texts(source)]
        assert refused(of_plain, [(case, short(case.text)) for case in known]) == []


def test_sympy_itself_reads_what_is_written_for_it() -> None:
    for text in (*EXAMPLES, *random_trees(60, seed=3)):
        case = Case.of(text)
        names = {name_as(name, "sympy"): name for name in case.names}
        symbols = {written: sympy.Symbol(written, real=True) for written in names}
        found = sympy.sympify(print_as(text, "sympy"), locals=symbols)
        for row in range(2):
            at = {symbols[w]: sympy.Float(str(case.columns[n][row])) for w, n in names.items()}
            value = complex(sympy.N(found.subs(at), 17))
            expected = np.broadcast_to(np.asarray(case.values, float), 8)[row]
            near = np.broadcast_to(np.asarray(case.near, float), 8)[row]
            if abs(value.imag) < 1e-9 * (1 + abs(value)):
                assert agree(value.real, expected, near), text


def test_terms_in_notes_add_up_to_the_equation() -> None:
    """What ``missing`` and ``extra`` name is written by another printer."""
    count = 0
    for text in (*EXAMPLES[:-1], *random_trees(200, seed=5)):
        case = Case.of(text)
        try:
            terms = expand(text, case.names)
        except EquationError:
            continue
        written = " + ".join(monomial_text(one, c) for one, c in terms.items()) or "0"
        positive = {name: abs(column) for name, column in case.columns.items()}
        values = meant(text, positive)
        try:
            found = meant(written, positive)
        except EquationError:  # the logarithm of a negative number: nor has the equation a value
            assert not np.any(np.isfinite(values)), text
            continue
        count += 1
        near = meant(text, {name: column * (1 + 1e-13) for name, column in positive.items()})
        assert agree(found, values, near), (text, written)
    assert count > 200


# ---------------------------------------------------------------- the readers can refuse

WRONG = (
    ("x*((-2)*y)", "<mi>x</mi><mo>&#x2062;</mo><mrow><mo>−</mo><mn>2</mn><mi>y</mi></mrow>"),
    ("x*(y + 1)", "<mi>x</mi><mo>&#x2062;</mo><mo>(</mo><mi>y</mi><mo>+</mo><mn>1</mn><mo>)</mo>"),
    ("sin(x)**-1", ("<msup><mi>sin</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>"
     "<mo>(</mo><mi>x</mi><mo>)</mo>")),
    ("(x/y)**2", "<msup><mfrac><mi>x</mi><mi>y</mi></mfrac><mn>2</mn></msup>"),
    ("(-x)**2", "<mo>−</mo><msup><mi>x</mi><mn>2</mn></msup>"),
    ("(x**2)**3", "<msup><msup><mi>x</mi><mn>2</mn></msup><mn>3</mn></msup>"),
    ("2*3*x", "<mn>2</mn><mo>&#x2062;</mo><mn>3</mn><mo>&#x2062;</mo><mi>x</mi>"),
    ("prey*x", "<mi>prey</mi><mo>&#x2062;</mo><mi>x</mi>"),
    ("u0_x*u0", ("<msub><mo>∂</mo><mi>x</mi></msub><msub><mi>u</mi><mn>0</mn></msub>"
     "<mo>&#x2062;</mo><msub><mi>u</mi><mn>0</mn></msub>")),
    ("abs(x)*y*abs(z)", ("<mo>|</mo><mi>x</mi><mo>|</mo><mo>&#x2062;</mo><mi>y</mi>"
     "<mo>&#x2062;</mo><mo>|</mo><mi>z</mi><mo>|</mo>")),
    ("a - (b - c)", "<mi>a</mi><mo>−</mo><mrow><mi>b</mi><mo>−</mo><mi>c</mi></mrow>"),
    ("x - -y", "<mi>x</mi><mo>−</mo><mo>−</mo><mi>y</mi>"),
    ("1e5**2*x", ("<msup><msup><mn>10</mn><mn>5</mn></msup><mn>2</mn></msup>"
     "<mo>&#x2062;</mo><mi>x</mi>")),
)  # fmt: skip


@pytest.mark.parametrize(("text", "markup"), WRONG)
def test_the_reader_of_mathml_takes_nothing_wrong(text: str, markup: str) -> None:
    assert not Case.of(text).is_read_from(of_math, f"<math>{markup}</math>")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a - -b", "a - -b"),
        ("-(-x)", "--x"),
        ("(x**2)**3", "{x^{2}}^{3}"),
        ("1e5**2*x", r"{10^{5}}^{2} \, x"),
        ("x*(y + 1)", r"x \, \left(y + 1\right)"),
        ("x*2", r"x \, 2"),
        ("sin(x)**-1", r"\sin^{-1}\left(x\right)"),
        ("omicron*2", r"2 \, \omicron"),
        ("x*(-2*y)", r"x \, -2 \, y"),
        ("u0_x**2", r"{\partial_{x} u_{0}}^{2}"),
    ],
)
def test_the_reader_of_latex_takes_nothing_wrong(text: str, latex: str) -> None:
    assert not Case.of(text).is_read_from(of_latex, latex)


@pytest.mark.parametrize(
    ("text", "julia"),
    [
        ("(-x)**2", "-x^2"),
        ("2.*x", "2.*x"),
        ("-(-x)", "--x"),
        ("10**20*x", "10^20*x"),
        ("abs(3)**(-1)*x", "abs(3)^(-1)*x"),
        ("(x**2)**y", "x^2^y"),
    ],
)
def test_the_reader_of_julia_takes_nothing_wrong(text: str, julia: str) -> None:
    assert not Case.of(text).is_read_from(of_julia, julia)


@pytest.mark.parametrize(
    ("julia", "value"),
    [("-x^2", -4.0), ("2^-1*x", 1.0), ("2.0^x^2.0", 16.0), ("8/x/2", 2.0), ("x - -3", 5.0)],
)
def test_the_reader_of_julia_has_its_precedence(julia: str, value: float) -> None:
    assert of_julia(julia, {"x": np.array([2.0])}) == value


# ---------------------------------------------------------------- whole answers, and the page


def result(equations: Sequence[str], targets: Sequence[str], **others: Any) -> Record:
    made = {"equations": list(equations), "targets": list(targets), "truth": None, **others}
    return Record.model_validate({**EXAMPLE, **made})


def test_an_answer_as_code_can_be_run() -> None:
    """Columns are called as their owner likes, such as a word of the language."""
    answer = result(["lambda*x - sign(-x)*(-2*np)", "sin(lambda)**-2"], ["y", "for"])
    columns = points(["lambda", "x", "np"])
    scope: dict[str, Any] = {}
    exec(code(answer, "python"), scope)
    order = ("lambda", "x", "np")
    found = scope["equations"](*(np.asarray(columns[name], float) for name in order))
    for one, text in zip(found, answer.equations or (), strict=True):
        assert agree(one, meant(text, columns))
    compile(code(answer, "sympy"), "<sympy>", "exec")
    assert "function equations(lambda, x, np)" in code(answer, "julia")
    assert r"\operatorname{sign}\left(-x\right)" in code(answer, "latex")


def test_no_two_names_become_one() -> None:
    names = ["lambda", "lambda_", "x1", "x_1"]
    for language in ("python", "sympy", "julia", "c", "latex"):
        text = print_as(" + ".join(names), language)
        assert len(set(text.split(" + "))) == len(names), text


def test_only_what_has_a_rate_has_derivatives() -> None:
    assert r"\mathrm{v\_x}" in code(result(["2*v_x"], ["y"]), "latex")
    assert r"\partial_{xx} u_{0}" in code(result(["2*u0_xx"], ["u0_t"]), "latex")
    assert "∂" not in mathml("2*v_x", derivatives=False)
    assert "<mi>v_x</mi>" in mathml("2*v_x", derivatives=False)


def of_page(found: str, columns: Columns) -> Any:
    return of_mathml(ET.fromstring(found), columns)


@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason="no browser: apt install chromium")
@pytest.mark.parametrize("source", ["examples", "answers of Operon"])
def test_the_page_shows_what_was_answered(tmp_path: Path, source: str) -> None:
    """The elements that the browser has made are read, not the text that we have written."""
    answers = EXAMPLES if source == "examples" else operons()
    records = [
        {
            **EXAMPLE,
            "algorithm": "operon",
            "dataset": f"system {place}",
            "system": f"system {place}",
            "key": f"{place:064x}",
            "equations": [text],
            "targets": ["z"],
            "truth": None,
        }
        for place, text in enumerate(answers)
        if len(text) <= LONGEST
    ]
    results = [Record.model_validate(one) for one in records]
    path = tmp_path / "report.html"
    letters = {EXAMPLE["data_type"]: "∂"}
    path.write_text(page(results, boards(records), derivatives=letters), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        shown = browser.run(
            "[...document.querySelectorAll('math[alttext]')]"
            ".map(m => [m.getAttribute('alttext'), m.outerHTML])"
        )
    assert {text for text, _ in shown} == {one["equations"][0] for one in records}
    read = [(Case.of(text, rounded), found) for text, found in shown]
    assert refused(of_page, read) == []


def operons() -> list[str]:
    """Return the landed answers of Operon, of which the page is to show each."""
    ones = [one for one in originals(*BUNDLES) if one["algorithm"] == "operon"]
    found = list(dict.fromkeys(text for one in ones for text in one["equations"] or ()))
    assert len(found) > 200
    return found


# ---------------------------------------------------------------- derivations


def shown_sides(side: sympy.Expr) -> ET.Element:
    drawn = derivation_pictures([DerivationLine("1", "", (side, sympy.Integer(0)))], "", [])
    math = re.search("<math>.*?</math>", drawn)
    assert math is not None
    for entity, sign in {"dd": "d", "ExponentialE": "e", "ee": "e", "int": "∫"}.items():
        math = re.search("<math>.*?</math>", math[0].replace(f"&{entity};", sign))
        assert math is not None
    [row] = ET.fromstring(math[0])
    whole = ET.Element("math")
    whole.append(row[0])
    return whole


@pytest.mark.parametrize("count", [120, pytest.param(400, marks=pytest.mark.nightly)])
def test_derivations_are_read_back(count: int) -> None:
    x, y, z = sympy.symbols("x y z")
    draw = np.random.default_rng(11)
    leaves = [x, y, z, sympy.Integer(2), sympy.Integer(-1), sympy.Rational(-1, 2)]

    def tree(size: int) -> sympy.Expr:
        if size <= 1:
            return leaves[draw.integers(len(leaves))]
        left = int(draw.integers(1, size))
        a, b = tree(left), tree(size - left)
        ways = [a + b, a - b, a * b, a * b, sympy.sin(a), sympy.exp(a), a**2, a**x]
        return ways[draw.integers(len(ways))]

    columns = {name: abs(column) for name, column in points("xyz").items()}
    compared = 0
    for _ in range(count):
        side = tree(int(draw.integers(2, 8)))
        if side.has(sympy.zoo, sympy.nan, sympy.I):
            continue
        with np.errstate(all="ignore"):
            values = sympy.lambdify([x, y, z], side, "numpy")(*columns.values())
            assert agree(of_mathml(shown_sides(side), columns), values), side
        compared += bool(np.all(np.isfinite(np.asarray(values, float))))
    assert compared > count / 2


@pytest.mark.parametrize(
    ("side", "shown"),
    [
        ("Derivative(x**2 + y, x)", "∂∂x(x2+y)"),
        ("Derivative(-f(x), x)", "ddx(-f(x))"),
        ("Derivative(x*f(x), x)", "ddx(x·f(x))"),
        ("Derivative(f(x), (x, 2))", "d2dx2f(x)"),
        ("Derivative(f(x), x)**2", "(ddxf(x))2"),
        ("x*(y + 1)", "x·(y+1)"),
    ],
)
def test_what_a_derivative_is_of_is_seen(side: str, shown: str) -> None:
    assert "".join(shown_sides(sympy.sympify(side)).itertext()) == shown


def test_what_cannot_be_read_shows_why() -> None:
    with pytest.raises(Misread, match="call of a function"):
        of_latex(r"x \, \left(y\right)", points("xy"))
    assert names_in("x*y") == ("x", "y")
