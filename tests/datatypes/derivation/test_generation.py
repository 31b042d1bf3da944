"""Random derivations: what holds for every one of them, and for their negatives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import pytest
import sympy
from harness import ROOT

from mdbench.datatypes.derivation.generation import _Draft, generate
from mdbench.datatypes.derivation.operators import OPERATORS, PREMISES, apply, is_valid, replay
from mdbench.datatypes.derivation.records import alpha_class, record
from mdbench.datatypes.derivation.renaming import GREEK, LETTERS, names
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.datatypes.derivation.steps import Derivation, Step, ancestors, mirrored
from mdbench.datatypes.derivation.truth import falsehoods
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = 40


@cache
def derivations(steps: int, negatives: str = "symmetric", mode: str = "closed") -> list[Derivation]:
    settings = GeneratorSettings(steps=steps, negatives=negatives, mode=mode)
    return [generate(settings, "tests", index) for index in range(COUNT)]


def is_closed(steps: Sequence[Step]) -> bool:
    """Whether the final step is no premise, and needs all steps before it."""
    return bool(steps[-1].refs) and len(ancestors(steps, len(steps))) == len(steps)


KINDS = [(2, "symmetric", "closed"), (3, "symmetric", "closed"), (4, "symmetric", "closed"),
         (3, "authors", "closed")]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_and_every_negative_replays(kind: tuple[int, str, str]) -> None:
    for one in derivations(*kind):
        replay(one)
        assert len(one.steps) == kind[0]
        assert {step.op for step in one.steps + one.negatives} <= set(OPERATORS)


@pytest.mark.parametrize("kind", KINDS)
def test_references_go_back_and_the_last_step_needs_all(kind: tuple[int, str, str]) -> None:
    for one in derivations(*kind):
        assert one.steps[0].op == "premise"
        for number, step in enumerate(one.steps, 1):
            assert all(1 <= ref < number for ref in step.refs)
        assert is_closed(one.steps)
        assert ancestors(one.steps, len(one.steps)) == set(range(1, len(one.steps) + 1))


def test_both_candidates_of_symmetric_data_close_the_derivation() -> None:
    for one in derivations(3):
        assert is_closed((*one.context, *one.negatives))


@pytest.mark.parametrize("kind", KINDS)
def test_a_negative_differs_from_the_step_and_its_mirror(kind: tuple[int, str, str]) -> None:
    for one in derivations(*kind):
        [negative] = one.negatives
        assert negative.op not in PREMISES
        assert is_valid(negative.sides)
        assert negative.sides not in {one.final.sides, mirrored(one.final.sides)}
        worked_out, other = (
            apply("evaluate_derivatives", [each.sides], (1,)) for each in (negative, one.final)
        )
        assert worked_out not in {other, mirrored(other)}
        for step in one.context:
            assert negative.sides not in {step.sides, mirrored(step.sides)}


@pytest.mark.parametrize("steps", [3, 4])
def test_every_step_and_every_negative_is_true(steps: int) -> None:
    for one in derivations(steps)[:25]:
        assert falsehoods(one.steps) == []
        assert falsehoods((*one.context, *one.negatives)) == []


OF_TWO_EQUATIONS = {"substitute_LHS_for_RHS", "substitute_RHS_for_LHS"}


@pytest.mark.parametrize("steps", [2, 3])
def test_an_open_derivation_may_end_with_any_operator_but_a_premise(steps: int) -> None:
    settings = GeneratorSettings(steps=steps, mode="open")
    made = [generate(settings, "tests", index) for index in range(150)]
    last = Counter(step.op for one in made for step in (one.final, *one.negatives))
    possible = set(OPERATORS) - {"premise"} - (OF_TWO_EQUATIONS if steps == 2 else set())
    assert set(last) == possible
    assert min(last.values()) >= 3
    for one in made[:40]:
        replay(one)
        assert not falsehoods(one.steps)
        assert not falsehoods((*one.context, *one.negatives))
    premises = [sum(step.op in PREMISES for step in one.context) for one in made]
    assert max(premises) == steps - 1


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_half_of_balanced_pairs_are_of_one_operator(steps: int) -> None:
    settings = GeneratorSettings(steps=steps, negatives="balanced")
    made = [generate(settings, "tests", index) for index in range(60)]
    alike = [one.final.op == one.negatives[0].op for one in made]
    assert 18 <= sum(alike) <= 42
    for one in made[:20]:
        replay(one)
        assert is_closed(one.steps)
        assert is_closed((*one.context, *one.negatives))
        assert one.final.annotation != one.negatives[0].annotation


@pytest.mark.parametrize("negatives", ["symmetric", "balanced", "authors"])
def test_nothing_is_divided_by_what_is_known_to_be_0(negatives: str) -> None:
    """A premise, its sides subtracted: what was f - g is 0, and so are its multiples."""
    x, y = sympy.symbols("x y")
    f = sympy.Function("f")(x)
    steps = [Step("premise", (), None, (), f, sympy.sin(x)),
             Step("minus", (1,), f, (), sympy.S.Zero, sympy.sin(x) - f)]  # fmt: skip
    draft = _Draft(GeneratorSettings(negatives=negatives), Random(0), steps)
    zero = sympy.sin(x) - f
    for operand in (zero, -zero, x * zero, zero / y, zero**2, y * zero**3):
        assert draft._applied("divide", (1,), operand) is None
    for operand in (x, f, sympy.sin(x), f + sympy.sin(x), y * f):
        assert draft._applied("divide", (1,), operand) is not None
    drawn = [draft._annotation() for _ in range(3000)]
    applied = [draft._applied(*each) for each in drawn if each and each[0] == "divide"]
    assert len(applied) > 10
    assert all(one is None or set(one.sides) != {sympy.S.Zero, sympy.S.One} for one in applied)


def test_what_is_false_is_noticed() -> None:
    noticed = 0
    for one in derivations(3)[:20]:
        false = one.final.lhs + 1
        steps = (*one.context, type(one.final)(**{**vars(one.final), "lhs": false}))
        noticed += falsehoods(steps) == [3]
    assert noticed == 20


def test_steps_with_many_constants_are_true_too() -> None:
    settings = GeneratorSettings(steps=5, calculus=40, evaluation=200, unary=100)
    seen = 0
    for index in range(15):
        one = generate(settings, "constants", index)
        seen += any(step.constants for step in one.steps)
        replay(one)
        assert falsehoods(one.steps) == []
    assert seen > 1


def test_names_are_letters_and_functions_take_symbols() -> None:
    for one in derivations(4):
        parts = [side for step in one.steps + one.negatives for side in step.sides]
        assert set(names(parts)) <= set(LETTERS)
        assert not set(LETTERS) & set(GREEK)
        for part in parts:
            assert part.is_finite is not False
            assert not part.has(sympy.I, sympy.nan, sympy.zoo, sympy.oo, sympy.Subs)
    assert len(LETTERS) == 48


def test_the_cut_of_the_authors_leaves_steps_that_nothing_uses() -> None:
    cut = [
        generate(GeneratorSettings(steps=3, negatives="authors", mode="prefix"), "tests", index)
        for index in range(8)
    ]
    for one in cut:
        replay(one)
        assert len(one.steps) == 3
    assert any(not is_closed(one.steps) for one in cut)


WRITES = """
import json, sys
from mdbench.datatypes.derivation.library import GeneratorSettings, calculation, generate, record
for index in map(int, sys.argv[1:]):
    settings = GeneratorSettings(steps=4)
    print(json.dumps(record(generate(settings, "main", index), settings)))
    for task in ("differentiate", "integrate"):
        settings = GeneratorSettings(task=task, premise_size=3, alternatives=2)
        print(json.dumps(record(calculation(settings, "main", index), settings)))
"""


def test_order_process_and_hash_seed_change_no_byte() -> None:
    def written(seed: str, *indices: int) -> dict[int, tuple[str, ...]]:
        run = subprocess.run(
            [sys.executable, "-c", WRITES, *map(str, indices)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = run.stdout.splitlines()
        return dict(zip(indices, zip(*[iter(lines)] * 3, strict=True), strict=True))

    ahead = written("1", *range(4))
    back = written("77", *reversed(range(4)))
    assert ahead == back
    settings = GeneratorSettings(steps=4)
    for index in (1, 2):
        own = generate(settings, "main", index)
        assert json.dumps(record(own, settings)) == ahead[index][0]
    assert len({line for lines in ahead.values() for line in lines}) == 12


def test_another_seed_or_stream_gives_other_derivations() -> None:
    settings = GeneratorSettings(steps=3)
    one = generate(settings, "main", 0)
    assert one.steps != generate(settings, "other", 0).steps
    assert one.steps != generate(GeneratorSettings(steps=3, seed=1), "main", 0).steps


def test_derivations_that_differ_in_names_only_have_one_class() -> None:
    from mdbench.datatypes.derivation.datasets import renamed  # noqa: PLC0415

    classes = {}
    for one in derivations(3):
        own = names([side for step in one.steps for side in step.sides])
        other = renamed(one, dict(zip(own, [*own[1:], own[0]], strict=True)))
        assert alpha_class(one) == alpha_class(other)
        classes[alpha_class(one)] = one
    assert len(classes) > 20


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"task": "sums"}, "task is 'sums'"),
        ({"steps": 1}, "steps is 1"),
        ({"steps": True}, "steps is True"),
        ({"train": 3}, "even numbers"),
        ({"mode": "prefix"}, "negatives = 'authors'"),
        ({"unary": 0, "binary": 0}, "weight"),
        ({"history": 2.5}, "whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, object], says: str) -> None:
    with pytest.raises(DataError) as caught:
        GeneratorSettings(**values)  # type: ignore[arg-type]
    assert says in str(caught.value)
