"""Records, texts and perturbations: what is written is what is read, and nothing else is."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import sympy
from hypothesis import given
from hypothesis import settings as within
from hypothesis import strategies as st

from eqverdict import limited_process
from mdbench.datatypes.derivation import calculus, datasets
from mdbench.datatypes.derivation.authors import authors_record, with_known_negative
from mdbench.datatypes.derivation.calculus import (
    Calculation,
    calculate,
    calculation,
    damerau_levenshtein,
)
from mdbench.datatypes.derivation.datasets import (
    alternative_results,
    answer,
    equation_conversion,
    expression_exchange,
    make_all,
    renamed,
    renamings,
    variable_renaming,
)
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.operators import apply, is_valid, replay
from mdbench.datatypes.derivation.records import (
    context_class,
    pieces,
    read_record,
    read_records,
    record,
    texts,
    trees,
)
from mdbench.datatypes.derivation.renaming import GREEK, class_of, names, split_of
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.datatypes.derivation.steps import (
    Derivation,
    Sides,
    Step,
    is_readable,
    latex,
    read,
    write,
)
from mdbench.datatypes.derivation.truth import agree
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STRUCTURED = GeneratorSettings(steps=3)
CALCULUS = {
    task: GeneratorSettings(task=task, premise_size=3) for task in ("differentiate", "integrate")
}


@cache
def derivations() -> list[Derivation]:
    return [generate(STRUCTURED, "records", index) for index in range(20)]


@cache
def calculations(task: str) -> list[Calculation]:
    return [calculation(CALCULUS[task], "records", index) for index in range(5)]


def examples() -> list[tuple[GeneratorSettings, Derivation | Calculation]]:
    return [(STRUCTURED, each) for each in derivations()] + [
        (CALCULUS[task], each) for task in CALCULUS for each in calculations(task)
    ]


def test_records_are_read_back_to_the_same_texts() -> None:
    for settings, example in examples():
        line = json.dumps(record(example, settings))
        back = read_record(json.loads(line))
        assert back == example
        assert texts(back) == texts(example)
        assert trees(back) == trees(example)
        assert json.dumps(record(back, settings)) == line


def test_every_text_has_two_separators_and_no_brackets_that_grow() -> None:
    for settings, example in examples():
        versions: list[Any] = [example, variable_renaming(example, settings.seed)]
        for each in filter(None, versions):
            for text in texts(each):
                assert text.count("[SEP]") == 2
                assert r"\left" not in text
                assert r"\right" not in text
                assert r"\," not in text
                assert len(pieces(text)) == 3


@pytest.mark.parametrize("text", ["a = b", "a [SEP] b", "a [SEP] b [SEP] c [SEP] d", "[SEP] [SEP]"])
def test_a_text_without_two_separators_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="SEP"):
        pieces(text)


def test_trees_say_nothing_of_constants_and_of_the_other_candidate() -> None:
    for one in derivations():
        right, wrong = map(json.loads, trees(one))
        assert set(right) == {"steps", "op", "refs", "operand", "lhs", "rhs"}
        assert all(set(each) == {"op", "refs", "operand", "lhs", "rhs"} for each in right["steps"])
        assert {k: v for k, v in right.items() if k not in {"lhs", "rhs"}} == {
            k: v for k, v in wrong.items() if k not in {"lhs", "rhs"}
        }


def test_renaming_goes_back_and_gives_greek_names_of_their_own() -> None:
    for settings, example in examples():
        drawn = list(renamings(example, settings.seed))
        if not drawn:
            continue
        for new in drawn:
            assert set(new.values()) <= set(GREEK)
            assert len(set(new.values())) == len(new)
        other = variable_renaming(example, settings.seed)
        assert other is not None
        backs = [{greek: name for name, greek in new.items()} for new in drawn]
        assert any(renamed(other, back) == example for back in backs)


def test_too_many_names_cannot_be_renamed() -> None:
    many = sum(sympy.symbols("a b c f g h j k l m n"))
    x = sympy.Symbol("a")
    example = Calculation(0, "", "differentiate", many, x, sympy.Integer(1), sympy.Integer(2))
    assert variable_renaming(example, 0) is None


def derivation(example: object) -> Derivation:
    assert isinstance(example, Derivation)
    return example


def test_renamed_derivations_replay() -> None:
    for one in derivations():
        replay(derivation(variable_renaming(one, 0)))


def test_names_that_a_step_does_not_replay_in_are_drawn_again() -> None:
    """SymPy writes sin(a - b) or -sin(b - a) by the names, and what is substituted is gone."""
    a, b = sympy.symbols("a b")
    f, g = sympy.Function("f"), sympy.Function("g")
    first = Sides(f(a, b), sympy.cos(a - b))
    known = [first, Sides(*apply("add", [first], (1,), a - b)), Sides(g(b), -b)]
    steps = [
        Step("premise", (), None, (), *known[0]),
        Step("add", (1,), a - b, (), *known[1]),
        Step("renaming_premise", (), None, (), *known[2]),
    ]
    final = apply("substitute_RHS_for_LHS", known, (2, 3), None)
    steps.append(Step("substitute_RHS_for_LHS", (2, 3), None, (), *final))
    failing = 0
    for index in range(30):
        example = Derivation(index, "", tuple(steps), (steps[1],))
        replay(example)
        first_names = next(renamings(example, 0))
        try:
            replay(derivation(renamed(example, first_names)))
        except DataError:
            failing += 1
        replay(derivation(variable_renaming(example, 0)))
    assert 0 < failing < 30


def test_what_is_not_the_same_when_it_is_read_cannot_be_read() -> None:
    one = sympy.exp(0, evaluate=False)
    assert read(write(one)) == 1 != one
    assert not is_readable(one)
    assert not is_readable(sympy.Symbol("x") + one)
    assert not is_valid(Sides(sympy.Symbol("x"), one))


def test_exchange_is_its_own_inverse_and_replays() -> None:
    mirrored = {"substitute_LHS_for_RHS", "substitute_RHS_for_LHS"}
    for one in derivations():
        other = expression_exchange(one)
        assert expression_exchange(other) == one
        for before, after in zip(one.steps, other.steps, strict=True):
            assert after.sides == before.sides[::-1]
            assert (after.op == before.op) == (before.op not in mirrored)
        replay(other)


def test_alternative_results_change_places_and_nothing_else() -> None:
    for one in derivations():
        other = alternative_results(one)
        assert alternative_results(other) == one
        assert other.context == one.context
        assert (other.final, *other.negatives) == (*one.negatives, one.final)
        replay(other)
        own, swapped = texts(one), texts(other)
        assert own[0].rpartition("[SEP]")[2] == swapped[1].rpartition("[SEP]")[2]


def test_conversion_writes_equations() -> None:
    for task in CALCULUS:
        for one in calculations(task):
            text = texts(equation_conversion(one, 0))[0]
            known, _, candidate = pieces(text)
            derivative, plain = (
                (candidate, known) if task == "differentiate" else (known, candidate)
            )
            assert derivative.startswith(r"\frac{d ")
            letter = plain.split(" = ")[0]
            assert letter not in names([one.expression, one.positive, one.negative, one.variable])


@pytest.mark.parametrize("task", sorted(CALCULUS))
def test_calculus_is_right_and_its_negatives_are_wrong(task: str) -> None:
    for one in calculations(task):
        assert len(one.expression.free_symbols) > 1
        assert calculate(task, one.expression, one.variable) == one.positive
        f, g = one.expression, one.positive
        if task == "integrate":
            f, g = g, f
        # Finite differences, as the derivative itself is what made the answer.
        step = sympy.Rational(1, 10**6)
        quotient = (f.xreplace({one.variable: one.variable + step})
                    - f.xreplace({one.variable: one.variable - step})) / (2 * step)  # fmt: skip
        point = {
            each: sympy.Float(0.7 + n / 7)
            for n, each in enumerate(sorted(f.free_symbols | g.free_symbols, key=str))
        }
        left, right = complex(quotient.evalf(30, subs=point)), complex(g.evalf(30, subs=point))
        assert left == pytest.approx(right, rel=1e-4, abs=1e-6)
        assert agree(one.positive, one.negative, everywhere=True) is False


def test_a_coin_states_which_of_two_questions_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is right in the test stands in the training as wrong, and nowhere as right."""
    offered = []
    nearest = calculus._Drawing._nearest

    def watched(drawing: calculus._Drawing, asked: calculus._Operand) -> calculus._Operand | None:
        found = nearest(drawing, asked)
        if found is not None:
            offered.append((asked, found))
        return found

    monkeypatch.setattr(calculus._Drawing, "_nearest", watched)
    settings = GeneratorSettings(
        task="differentiate", premise_size=3, train=200, validation=100, test=100
    )
    heads, count, splits = 0, 80, Counter[str]()
    for index in range(count):
        one = calculation(settings, "main", index)
        asked, other = offered[-1]
        heads += one.expression == asked.body and one.variable == asked.variable
        assert {(one.expression, one.variable, one.positive), one.negative} in (
            {asked, other.answer},
            {other, asked.answer},
        )
        split, others = (
            split_of(settings, class_of(["differentiate"], [each.body, each.variable]))
            for each in (asked, other)
        )
        assert split == others
        splits[split] += 1
        assert len(other.body.free_symbols) > 1
        assert calculate("differentiate", other.body, other.variable) == other.answer
    assert abs(heads - count / 2) < 4 * (count / 4) ** 0.5
    assert splits["train"] > splits["test"] > 0 < splits["validation"]


@pytest.mark.parametrize(("negatives", "swapped"), [("symmetric", True), ("authors", False)])
def test_the_authors_negatives_are_never_asked_about(
    negatives: str, swapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = GeneratorSettings(task="differentiate", premise_size=3, negatives=negatives)
    drawing = calculus._Drawing(settings, Heads(), False, in_splits=True)
    x, y = sympy.symbols("x y")
    wrong = calculus._Operand(x * y**2, x, y**2)
    monkeypatch.setattr(drawing, "_expression", lambda: x * y)
    monkeypatch.setattr(drawing, "_nearest", lambda _: wrong)
    found = (*wrong, y) if swapped else (x * y, x, y, y**2)
    assert drawing.calculation() == found


class Heads(Random):
    """A coin with two heads."""

    def random(self) -> float:
        return 0.0

    def choice(self, seq: Any) -> Any:
        return seq[0]


def test_easy_calculations_have_one_variable() -> None:
    for index in range(8):
        one = calculation(CALCULUS["differentiate"], "easy", index, one_variable=True)
        assert one.expression.free_symbols == {one.variable}


def test_the_paper_s_calculation() -> None:
    T, U = sympy.symbols("T U")
    assert calculate("differentiate", -T + sympy.sin(U), T) == -1


def broken(**changes: Any) -> dict[str, Any]:
    return dict(json.loads(json.dumps(record(derivations()[3], STRUCTURED)))) | changes


def changed_step(**changes: Any) -> dict[str, Any]:
    data = broken()
    data["steps"][-1] |= changes
    return data


CALL = {"latex": "x", "srepr": "__import__('os').system('touch /tmp/evil')"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "sums"}, "task is 'sums'"),
        ({"generator": {}}, "no index"),
        ({"id": "0" * 16}, "has the hash"),
        ({"alpha_class": "0" * 16}, "alpha_class"),
        ({"steps": "x"}, "steps is no list"),
        ({"steps": []}, "two steps"),
    ],
)
def test_a_changed_record_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_record(broken(**changes))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"op": "divid"}, "divide"),
        ({"refs": [9]}, "step 9"),
        ({"refs": ["1"]}, "list of step numbers"),
        ({"lhs": {"latex": "x", "srepr": "Symbol('x')"}}, "does not replay"),
        ({"lhs": CALL}, "not allowed"),
        ({"lhs": "x"}, "latex and srepr"),
        ({"extra": 1}, "has not the keys"),
    ],
)
def test_a_record_with_a_changed_step_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_record(changed_step(**changes))
    assert says in str(caught.value)


def test_a_record_is_an_object_and_its_negatives_are_others() -> None:
    with pytest.raises(DataError, match="a record is an object"):
        read_record([])
    with pytest.raises(DataError, match="negative 1 is the final step"):
        read_record(broken(negatives=[broken()["steps"][-1]]))


def test_files_are_refused_with_line_and_reason(tmp_path: Path) -> None:
    good = json.dumps(record(derivations()[0], STRUCTURED))
    file = tmp_path / "some.jsonl"
    file.write_text(f"{good}\n{good}\n{json.dumps(changed_step(op='sums'))}\n")
    with pytest.raises(DataError, match=r"line 3: .*no operator 'sums'"):
        list(read_records(file))
    file.write_text(f"{good}\n{{\n")
    with pytest.raises(DataError, match="line 2: no JSON"):
        list(read_records(file))
    packed = tmp_path / "some.jsonl.gz"
    packed.write_bytes(gzip.compress(good.encode()))
    assert list(read_records(packed)) == [derivations()[0]]
    packed.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="cannot be read"):
        list(read_records(packed))


def test_the_authors_form_has_the_authors_keys() -> None:
    one = authors_record(derivations()[0])
    assert list(one) == [
        "derivation", "positive_idxs", "negatives", "srepr_derivation", "srepr_negatives",
    ]  # fmt: skip
    assert one["derivation"][0][0] == "premise"
    assert one["positive_idxs"] == [3]
    assert one["srepr_negatives"][0].startswith("Equality(")
    assert list(authors_record(calculations("integrate")[0])) == [
        "premise_expression", "variable", "positive", "negatives",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "Symbol('x').name",
        "(lambda: 0)()",
        "Symbol('__class__')",
        "Symbol('x', real=True)",
        "Function('f')(Integer(1))",
        "Function('f')()",
        "Function('f')",
        "Pow(Integer(9), Integer(999999999))",
        "Pow(Pow(Integer(9), Integer(99)), Integer(99))",
        "Integer(1.5)",
        "Integer(True)",
        "Integer(" + "9" * 100 + ")",
        "Rational(1, 0)",
        "Add(Symbol('x'), *[Symbol('y')])",
        "Add(" * 100 + "Symbol('x')" + ")" * 100,
        "Derivative(Symbol('x'), Tuple(Symbol('x'), Integer(1000000)))",
        "Integral(Symbol('x'), Tuple(Symbol('x'), Integer(0), Integer(1)))",
        "Tuple(Symbol('x'))",
        "Piecewise(Symbol('x'))",
        "Symbol('x') + Symbol('y')",
        "",
        "x" * 60_000,
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        read(text)


def test_letters_that_sympy_takes_for_others_are_symbols() -> None:
    for letter in "EINOQS":
        assert read(f"Symbol('{letter}')") == sympy.Symbol(letter)
        assert latex(sympy.Symbol(letter)) == letter


NUMBERS = st.fractions(-9, 9, max_denominator=9).map(
    lambda q: sympy.Rational(q.numerator, q.denominator)
)
NAMES = st.sampled_from("abxyEINOQS").map(sympy.Symbol)
EXPRESSIONS = st.recursive(
    NUMBERS | NAMES | st.just(sympy.Function("f")(*sympy.symbols("x y"))),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] + two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] * two[1]),
        st.tuples(inner, NAMES).map(lambda two: two[0] ** two[1]),
        inner.map(sympy.sin),
        inner.map(sympy.cos),
        inner.map(sympy.exp),
        st.tuples(inner, NAMES).map(lambda two: sympy.Derivative(two[0], two[1])),
        st.tuples(inner, NAMES).map(lambda two: sympy.Integral(two[0], two[1])),
    ),
    max_leaves=8,
)


@within(max_examples=150)
@given(EXPRESSIONS)
def test_what_is_written_is_read_back(expr: Any) -> None:
    if is_readable(expr):
        assert read(write(expr)) == expr
        assert read(sympy.srepr(expr)) == expr
        text = sympy.latex(expr)
        for old, new in {r"\left": "", r"\right": "", r"\,": "", " )": ")"}.items():
            text = text.replace(old, new)
        assert latex(expr) == text


def table(one: str, other: str) -> int:
    """Fill the table of distances cell by cell."""
    d = [
        [max(i, j) if min(i, j) == 0 else 0 for j in range(len(other) + 1)]
        for i in range(len(one) + 1)
    ]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            d[i][j] = min(
                d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (one[i - 1] != other[j - 1])
            )
            if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]


@within(max_examples=200)
@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_distances_are_those_of_the_table(one: str, other: str) -> None:
    assert damerau_levenshtein(one, other) == table(one, other)


@pytest.mark.parametrize(
    "asked",
    [
        {"steps": 2, "train": 8, "validation": 2, "test": 2},
        {"task": "differentiate", "train": 6, "validation": 2, "test": 2, "easy": 2},
        pytest.param(
            {"task": "integrate", "train": 2, "validation": 0, "test": 2, "easy": 2},
            marks=pytest.mark.nightly,
        ),
    ],
    ids=lambda asked: str(asked.get("task", "structured")),
)
def test_sets_are_the_same_for_any_number_of_processes(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = GeneratorSettings(**asked)
    monkeypatch.setattr(datasets, "_CHUNK", 2)
    one, two = (make_all(settings, processes=count) for count in (1, 2))
    assert one.rows == two.rows
    assert one.records == two.records
    assert one.skipped == []


@pytest.mark.parametrize(
    ("asked", "says", "hint"),
    [
        (
            {"seed": 1, "train": 200, "validation": 2, "test": 20},
            r"no example of \d+ more is in ",
            "Raise premise_size",
        ),
        (
            {"task": "integrate", "seed": 5, "train": 2, "test": 2},
            "example 0 of main cannot be made: RuntimeError: none",
            "Another seed",
        ),
    ],
)
def test_too_few_different_examples_are_an_error(
    asked: dict[str, Any], says: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A split that no class falls into would be waited for without end."""
    small = {"task": "differentiate", "premise_size": 1, "alternatives": 1, "validation": 0}
    if "cannot" in says:
        monkeypatch.setattr(
            limited_process, "_exchange", lambda *_: '{"error": "RuntimeError: none"}\n'
        )
    else:
        # One class alone, which is in the largest split.
        line = {
            "record": {},
            "class": "a",
            "split": "train",
            "rows": {"static": [["a", "b"], ["a", "b"]]},
        }
        told = json.dumps({"examples": [line] * datasets._CHUNK})
        monkeypatch.setattr(limited_process, "_exchange", lambda *_: told)
    with pytest.raises(DataError, match=says) as caught:
        make_all(GeneratorSettings(**{**small, **asked}), processes=1)
    assert hint in caught.value.hint


def test_no_class_is_in_two_splits_and_pairs_stay_together() -> None:
    made = make_all(GeneratorSettings(steps=2, train=120, validation=40, test=40), processes=1)
    classes = {
        split: {context_class(read_record(each)) for each in made.records[split]}
        for split in ("train", "validation", "test")
    }
    for one, other in pairwise([*classes.values(), classes["train"]]):
        assert not one & other
    assert {name: len(records) for name, records in made.records.items()} == {
        "train": 60, "validation": 20, "test": 20,
    }  # fmt: skip
    test = [row for row in made.rows if row.split == "test"]
    assert {row.set for row in test} == {"static", "vr", "ee", "ar"}
    for name in ("static", "vr", "ee", "ar"):
        own = [(row.pair, row.label) for row in test if row.set == name]
        assert sorted(own) == [(pair, label) for pair in range(20) for label in (0, 1)]


def test_a_child_makes_what_it_is_asked_for() -> None:
    found = answer({"settings": {"steps": 2}, "stream": "s1", "first": 5, "count": 2})
    assert [each["record"]["generator"]["index"] for each in found["examples"]] == [5, 6]


def authors_file(tmp_path: Path, examples: Sequence[Derivation]) -> Path:
    lines = [authors_record(one) for one in examples]
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_the_authors_form_is_read_back_to_the_same_texts(tmp_path: Path) -> None:
    back = list(read_records(authors_file(tmp_path, derivations())))
    assert len(back) == len(derivations())
    for one, example in zip(back, derivations(), strict=True):
        assert texts(one) == texts(example)
        assert trees(one) == trees(example)
        assert isinstance(one, Derivation)
        known = with_known_negative(one)
        assert known is not None
        renewed = alternative_results(known)
        assert renewed.final.sides == example.negatives[0].sides
        assert renewed.negatives[0].sides == example.final.sides
        assert renewed.final.annotation != example.final.annotation


def test_a_candidate_that_nothing_gives_has_no_alternative_results() -> None:
    [example, *_] = derivations()
    line = authors_record(example)
    line["srepr_negatives"] = ["Equality(Symbol('q'), Symbol('w'))"]
    one = read_record(line)
    assert isinstance(one, Derivation)
    assert with_known_negative(one) is None
    assert variable_renaming(one, 0) is not None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"srepr_derivation": None}, "no list of 2 to 50"),
        ({"srepr_derivation": [["premise", "Symbol('x')"]]}, "no list of 2 to 50"),
        ({"srepr_derivation": [["premise", "Symbol('x')"]] * 3}, "step 1: .* is no equation"),
        ({"srepr_derivation": ["premise", "premise", "premise"]}, "step 1: .* no pair"),
        ({"srepr_negatives": []}, "srepr_negatives is no list"),
        ({"srepr_negatives": [7]}, "srepr_negatives is no list"),
        ({"srepr_negatives": ["__import__('os')"]}, "is no equation"),
        ({"srepr_negatives": ["Equality(Symbol('x'), open('x'))"]}, "'open' is not allowed"),
        ({"positive_idxs": [9]}, "positive_idxs"),
        ({"positive_idxs": "3"}, "positive_idxs"),
        ({"positive_idxs": []}, "positive_idxs"),
    ],
)
def test_a_line_of_the_authors_that_cannot_be_read_is_named(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    good = authors_record(derivations()[0])
    file = tmp_path / "theirs.jsonl"
    file.write_text(json.dumps(good) + "\n" + json.dumps(good | changes) + "\n")
    with pytest.raises(DataError, match=f"line 2: .*{says}"):
        list(read_records(file))


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (["adds", 1, "x"], "no operator 'adds'"),
        (["add", 5, "x"], "step 5"),
        (["add", "one", "x"], "takes numbers of steps"),
        (["add", 1], "no operand"),
        (["cos", 1, "nonsense{}"], "in no earlier equation"),
        (["substitute_LHS_for_RHS", 1], "takes 2"),
        ("premise", "nothing asks for"),
    ],
)
def test_an_annotation_of_the_authors_that_cannot_be_is_named(annotation: Any, says: str) -> None:
    data = authors_record(derivations()[0])
    data["srepr_derivation"][-1][0] = annotation
    with pytest.raises(DataError, match=says):
        read_record(data)


def test_calculus_in_the_authors_keys_is_refused_with_what_is_read() -> None:
    data = authors_record(calculations("integrate")[0])
    with pytest.raises(DataError, match="LaTeX alone is not read") as caught:
        read_record(data)
    assert "documented form" in caught.value.hint


@pytest.mark.parametrize("task", ["structured", "differentiate"])
def test_a_record_whose_latex_alone_was_changed_is_refused(task: str) -> None:
    example: Any = derivations()[0] if task == "structured" else calculations(task)[0]
    data = record(example, STRUCTURED if task == "structured" else CALCULUS[task])
    places = [data["steps"][0]["lhs"], data["negatives"][0]["rhs"]] if task == "structured" else [
        data["expression"], data["positive"], data["negatives"][0]]  # fmt: skip
    for place in places:
        before = place["latex"]
        place["latex"] = before + " "
        with pytest.raises(DataError, match="LaTeX and srepr differ"):
            read_record(data)
        place["latex"] = before
    assert read_record(data) == example


@pytest.mark.parametrize("cap", [10, 25])
def test_no_class_has_more_than_its_cap(cap: int) -> None:
    settings = GeneratorSettings(
        steps=3, train=120, validation=40, test=40, class_cap=cap, premise_size=3
    )
    made = make_all(settings, processes=1)
    for split, size in (("train", 60), ("validation", 20), ("test", 20)):
        counts = Counter(made.classes[split])
        assert sum(counts.values()) == len(made.records[split]) == size
        assert max(counts.values()) <= -(-cap * size // 100)
