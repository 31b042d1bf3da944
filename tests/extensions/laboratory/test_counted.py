"""Problems drawn by counted shares: the counts, the quotas, and what is taken."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT, make_workspace

from eqverdict import parse
from eqverdict.grammar import read
from eqverdict.tree import FUNCTIONS
from mdbench import datatypes
from mdbench.data.noise import generator_of
from mdbench.datatypes.equations.counted import (
    WHOLE,
    Counting,
    Grammar,
    by_quota,
    counted,
    drawn,
    half_decade,
    of_half_decade,
    repeats,
    shares_of,
    terms_of,
)
from mdbench.datatypes.ode import fresh as fresh_ode
from mdbench.datatypes.ode.systems import read_system
from mdbench.datatypes.pde.fresh import _draw_counted as draw_field
from mdbench.datatypes.srsd.datasets import ROWS
from mdbench.datatypes.srsd.laws import draw as rows_of
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.extensions.laboratory.drawing import draw
from mdbench.extensions.laboratory.truths import check_truths

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

KINDS = ("law", "system", "surface", "field")
SEED = "test-e"
"""Of its laws none keeps SymPy busy to the limit, as a test of the type srsd does."""
COUNT = 4
"""Problems that are drawn."""


def quiet(name: str, done: int, of: int) -> None:
    del name, done, of


def counts_of(*texts: str) -> dict[str, Counter[str]]:
    counting = Counting(lambda name: None if name == "k" else f"@{name}")
    for text in texts:
        counting.equation(read(text, ("x", "y", "k")))
    return counting.counts


@pytest.mark.parametrize(
    ("text", "context", "parts"),
    [
        ("x", WHOLE, {"@x": 1}),
        ("3*x", WHOLE + ", with a number before it", {"yes": 1}),
        ("x*k*2", WHOLE, {"@x": 1}),
        ("x*y", "a product", {"@x": 1, "@y": 1}),
        ("x/y", WHOLE, {"ratio": 1}),
        ("x/y/k", "below a bar", {"@y": 1}),
        ("1/(x + y)", "above a bar", {"number": 1}),
        ("x + y - k", WHOLE, {"sum of 3": 1}),
        ("x - (y - 2)", "sign of a term", {"+": 2, "-": 1}),
        ("-2*x + y", "sign of a term", {"+": 1, "-": 1}),
        ("(x + y)**2", "a power", {"sum of 2": 1}),
        ("sqrt(x)", WHOLE, {"power 0.5": 1}),
        ("x**0.5", WHOLE, {"power 0.5": 1}),
        ("x**1.7", WHOLE, {"power of a number": 1}),
        ("x**y", "an exponent", {"@y": 1}),
        ("sin(x*y)", "sin()", {"product of 2": 1}),
        ("sin(k)*x", WHOLE, {"@x": 1}),
        ("0.3*x + 40", "size of a number", {"-1": 1, "3": 1}),
        ("1e9*x", WHOLE + ", with a number before it", {"yes": 1}),
    ],
)
def test_parts_are_counted_in_their_contexts(
    text: str, context: str, parts: dict[str, int]
) -> None:
    assert dict(counts_of(text)[context]) == parts


def test_a_sign_is_counted_by_whether_its_own_state_is_in_the_term() -> None:
    counting = Counting(lambda name: "@own" if name == "x" else "@other")
    counting.equation(read("y - 2*x - x*y", ("x", "y")))
    assert dict(counting.counts["sign of a term"]) == {"+": 1}
    assert dict(counting.counts["sign of a term with its own state"]) == {"-": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_each_collection_counts_alike(kind: str) -> None:
    grammar, tables = Grammar.of(kind), counted()[kind]
    assert len(tables) > 1
    assert all(sum(shares.values()) == pytest.approx(1) for shares in grammar.shares.values())
    whole = {name: table["counts"][WHOLE] for name, table in tables.items()}
    wanted = {
        part: np.mean([one.get(part, 0) / sum(one.values()) for one in whole.values()])
        for part in {part for one in whole.values() for part in one}
    }
    assert dict(grammar.shares[WHOLE]) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_has_the_shares_and_can_be_read(kind: str) -> None:
    grammar = Grammar.of(kind)
    kinds: Counter[bool] = Counter()
    names = {"@x": "x", "@own": "u0", "@other": "u1"}
    for number in range(400):
        generator = generator_of("a test", kind, number)
        text = grammar.draw(generator, lambda leaf: names.get(leaf, f"u0{leaf[4:]}"))
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        assert all(name in FUNCTIONS or name.startswith(("x", "u0", "u1")) for name in used), text
        kinds[text.startswith("(") and " " in text] += 1
        assert "{" not in text
    sums = sum(share for part, share in grammar.shares[WHOLE].items() if part.startswith("sum"))
    assert kinds[True] / 400 > sums - 0.1


@pytest.mark.parametrize("count", [1, 7, 50, 60, 333])
def test_any_first_problems_have_the_shares(count: int) -> None:
    shares = {"1": 0.12, "2": 0.15, "3": 0.48, "4": 0.25}
    sizes = by_quota(shares, count)
    assert len(sizes) == count
    for first in range(1, count + 1):
        numbers = Counter(sizes[:first])
        assert all(abs(numbers[size] - first * share) < 1.5 for size, share in shares.items())
    assert by_quota(shares, 1000)[:count] == sizes


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3*x + x", True),
        ("x*y/x**2", True),
        ("x + x*y", False),
        ("x*x", True),
        ("2*x - 3*y*x + x*y", True),
        ("x + x**2", False),
        ("sin(x)*cos(x)", False),
        ("y + sin(x + 2*x)", True),
        ("3 + x", False),
    ],
)
def test_what_stands_twice_is_noticed(text: str, *, answer: bool) -> None:
    assert repeats(text) is answer


@pytest.mark.parametrize("number", [0.01, 0.5, 1.0, -3.3, 99.0])
def test_a_number_of_a_half_decade_is_in_it(number: float) -> None:
    half = half_decade(number)
    assert half is not None
    for seed in range(20):
        other = float(of_half_decade(half, generator_of("a test", seed)))
        assert half_decade(other) in {half - 1, half, half + 1}
        assert abs(np.log10(other / abs(number))) < 0.51
    assert half_decade(0.0) is half_decade(1e5) is half_decade(float("inf")) is None


def test_each_variable_stands_in_what_is_drawn() -> None:
    grammar = Grammar.of("law")
    texts = [drawn(grammar, generator_of("a test", n), ["x0", "x1", "x2"]) for n in range(60)]
    whole = [text for text in texts if text is not None]
    assert len(whole) > 5
    assert all(name in text for text in whole for name in ("x0", "x1", "x2"))
    columns = {"x0": np.array([0.3, 2.0]), "x1": np.array([0.7, -1.0])}
    terms = terms_of("x0*(1 - x1)", ["x0", "x1"])
    values = [parse(text, columns).evaluate(columns) for text in terms]
    assert len(values) == 2
    assert np.sum(values, axis=0) == pytest.approx(columns["x0"] * (1 - columns["x1"]))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("counted"))
    (made.root / "datasets").unlink()
    for name in ("srsd", "surface"):
        (made.root / "datasets" / name).mkdir(parents=True)
        for each in (ROOT / "datasets" / name).iterdir():
            (made.root / "datasets" / name / each.name).symlink_to(each)
    draw(SEED, made, ("srsd", "surface"), COUNT, quiet)
    return made


@pytest.mark.parametrize("kind", ["srsd", "surface"])
def test_the_truth_of_each_is_identified(place: Workspace, kind: str) -> None:
    opened = datatypes.find(kind, place.datasets / kind, place.arrays / kind)
    names = list(opened.source().groups()[f"fresh-{SEED}"])
    assert len(names) == COUNT
    for one in check_truths(opened, opened.source(), names, [None], {}):
        assert one.wins, one


def test_no_target_of_a_law_is_beyond_15_deviations(place: Workspace) -> None:
    sizes = []
    for path in sorted((place.datasets / "srsd").glob(f"fresh-{SEED}/*.toml")):
        law = read_problem(path)
        _, y = rows_of(law, law.law, ROWS)
        assert np.abs(y - y.mean()).max() <= 15 * y.std()
        assert np.sort(np.square(y - y.mean()))[-10:].sum() < 0.9 * np.square(y - y.mean()).sum()
        sizes.append(str(len(law.spreads)))
    assert sizes == by_quota(shares_of("law", "variables"), COUNT)


def test_systems_are_drawn_by_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_ode, "by_quota", lambda _, count: ["1"] * count)
    known = [read_system(path) for path in sorted((ROOT / "datasets/ode").glob("*.toml"))]
    first, second = (list(fresh_ode.fresh_systems("test-a", 2, known, 2)) for _ in range(2))
    assert first == second
    assert len({text.split("[equations]")[1] for _, text in first}) == 2


def test_fields_have_one_state_in_the_equation_of_the_other() -> None:
    grammar = Grammar.of("field")
    for number in range(60):
        system = draw_field(generator_of("a test", number), grammar, "fresh-test-001", 2)
        columns = {
            f"u{i}{'_' * bool(n)}{'x' * n}": np.array([0.5, 0.7])
            for i in range(2)
            for n in range(5)
        }
        for text in system.equations.values():
            parse(text, columns).evaluate(columns)
