"""The systems that methods are developed on: sound, and none of ODEBench's."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import sympy

from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.systems import FORMS, OdeSystem, integrate, read_system
from mdbench.runs.plan import select_names

FOLDER = Path(__file__).parents[3] / "datasets" / "ode"
ODEBENCH = [read_system(path) for path in sorted(FOLDER.glob("*.toml"))]
DEV = [read_system(path) for path in sorted((FOLDER / "dev").glob("*.toml"))]
MODELLING = [read_system(path) for path in sorted((FOLDER / "modelling").glob("*.toml"))]


def _terms(system: OdeSystem, order: tuple[int, ...]) -> tuple[frozenset[str], ...]:
    """Return the terms of each equation without constants, states renamed and put in an order."""
    states = sympy.symbols([f"u{i}" for i in range(system.dim)])
    names = {f"u{i}": states[order[i]] for i in range(system.dim)}
    names["cot"] = sympy.cot
    equations = []
    for text in system.truth:
        whole = sympy.expand(sympy.sympify(text.replace("**", "^"), locals=names))
        terms = whole.as_coefficients_dict()
        bare = {_without_constants(term) for term in terms}
        equations.append(frozenset(bare))
    placed = [frozenset[str]()] * system.dim
    for i, terms_of_one in enumerate(equations):
        placed[order[i]] = terms_of_one
    return tuple(placed)


def _without_constants(term: sympy.Expr) -> str:
    constant = sympy.Symbol("C")
    floats = dict.fromkeys(term.atoms(sympy.Float), constant)
    return str(term.xreplace(floats))


@cache
def _skeletons(name: str) -> frozenset[tuple[frozenset[str], ...]]:
    system = next(one for one in (*ODEBENCH, *DEV, *MODELLING) if one.name == name)
    return frozenset(_terms(system, order) for order in permutations(range(system.dim)))


def test_there_are_enough_of_every_form_and_size() -> None:
    assert len(DEV) >= 80
    assert {form: Counter(s.form for s in DEV)[form] for form in FORMS} == {
        "trigonometric": 18,
        "exponential": 14,
        "other": 10,
        "rational": 38,
        "polynomial": 56,
    }
    assert set(Counter(system.dim for system in DEV)) == {1, 2, 3, 4}
    assert len({system.id for system in DEV}) == len(DEV)


def test_the_forms_of_odebench() -> None:
    assert Counter(system.form for system in ODEBENCH) == {
        "polynomial": 37,
        "trigonometric": 11,
        "rational": 9,
        "exponential": 5,
        "other": 1,
    }


def test_those_of_modelling_are_of_several_states() -> None:
    assert Counter(system.form for system in MODELLING) == {
        "rational": 14,
        "trigonometric": 5,
        "polynomial": 4,
        "exponential": 2,
        "other": 1,
    }
    assert Counter(system.dim for system in MODELLING) == {2: 12, 3: 8, 4: 6}


@pytest.mark.parametrize("system", [*DEV, *MODELLING], ids=lambda system: system.name)
def test_both_trajectories_are_finite_bounded_and_move(system: OdeSystem) -> None:
    assert len(system.initial_conditions) == 2
    for start in system.initial_conditions:
        _, u, du = integrate(system, start)
        assert np.isfinite(u).all()
        assert np.isfinite(du).all()
        assert np.abs(u).max() < 1000
        assert np.ptp(u, axis=0).min() > 0.05


def test_none_has_the_form_of_one_of_odebench() -> None:
    known = {skeleton: s.name for s in ODEBENCH for skeleton in _skeletons(s.name)}
    taken = {
        system.name: known[skeleton]
        for system in (*DEV, *MODELLING)
        for skeleton in _skeletons(system.name)
        if skeleton in known
    }
    assert taken == {}


def test_no_two_are_the_same() -> None:
    assert len({system.truth for system in (*DEV, *MODELLING)}) == len(DEV) + len(MODELLING)
    assert not {system.name for system in DEV} & {system.name for system in MODELLING}


def test_they_are_run_only_where_they_are_asked_for(tmp_path: Path) -> None:
    source = Ode(FOLDER, tmp_path).source()
    names, groups = source.names(), source.groups()
    assert len(names) == 63
    assert select_names(names, [], groups) == names
    assert select_names(names, ["odebench"], groups) == names
    assert len(select_names(names, ["dev"], groups)) == len(DEV)
    assert len(select_names(names, ["modelling"], groups)) == len(MODELLING)
    assert select_names(names, ["lorenz-84"], groups) == ["lorenz-84"]
    assert "lorenz-84" not in select_names(names, ["lorenz*"], groups)
    assert source.title("lorenz-84")
