"""The page of settings: a row a method and data type, with what records of today have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import settings_page
from findings import known
from harness import add_method, make_workspace
from reporting import EXAMPLE, result
from settings_page import (
    evaluations_of,
    functions_of,
    is_of_others,
    rows_of,
    setting_of,
    settings,
)

from mdbench import methods

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.methods import Method
    from mdbench.records import Record

BY_TYPE = """
paper = "Somebody, 2020"
implementation = "package"
settings = "author"
source = "the paper, table 1"
max_rows = 500

[hyperparameters]
functions = ["add", "mul"]
population = 100

[[by_data_type]]
data_types = ["srsd"]
max_rows = 1000
source = "its repository, srsd.py"
differs = "a smaller population, as the budget is smaller"

[by_data_type.hyperparameters]
functions = ["add", "mul", "exp"]
"""


@pytest.fixture
def method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Method:
    workspace = make_workspace(tmp_path)
    folder = add_method(workspace, "new", more=BY_TYPE)
    text = (folder / "method.toml").read_text(encoding="utf-8")
    text = text.replace('data_types = ["ode"]', 'data_types = ["ode", "srsd"]')
    text = text.replace('family = "baseline"', 'family = "genetic"')
    (folder / "method.toml").write_text(text, encoding="utf-8")
    found = methods.find("new", workspace.algorithms)
    monkeypatch.setattr(settings_page, "known", lambda: (found,))
    monkeypatch.setattr(settings_page, "fingerprint", lambda _: found.fingerprint())
    return found


@pytest.mark.parametrize(
    ("hyperparameters", "expected"),
    [
        ({"functions": ["add", "sub"]}, "add sub"),
        ({"allowed_symbols": "add,sub,aq,constant,variable"}, "add sub aq"),
        ({"operators": ["Add", "Div", "Identity", "Exp"]}, "add div exp"),
        ({"operators": ["+", "-", "*", "/"]}, "add sub mul div"),
        ({"binary_operators": ["+"], "unary_operators": ["sin", "+"]}, "add sin"),
        ({"operations": ["n2", "inv"]}, "square inv"),
        ({"library": ["x", "x^2", "1/x"]}, "square inv"),
        ({"operators": "full"}, "–"),  # a set of the package's
        ({"library": "cross"}, "–"),  # no functions at all
        ({"functions": {"choices": [["add"], ["mul"]]}}, "searched"),
        ({"population": 3}, "–"),
        ({}, "–"),
    ],
)
def test_functions_have_the_names_of_the_field(
    hyperparameters: dict[str, Any], expected: str
) -> None:
    assert functions_of(hyperparameters) == expected


@pytest.mark.parametrize(
    ("hyperparameters", "most", "expected"),
    [
        ({}, None, "all"),
        ({}, 1000, "1,000"),
        ({"max_rows": 500}, 1000, "500"),
        ({"max_rows": 10_000}, 1000, "1,000"),
        ({"rows": 400}, None, "400"),
    ],
)
def test_rows_are_the_fewer_of_both_limits(
    hyperparameters: dict[str, Any], most: int | None, expected: str
) -> None:
    assert rows_of(hyperparameters, most) == expected


def test_what_differs_on_a_data_type_is_of_its_row_alone(method: Method) -> None:
    ode, srsd = settings([method])
    assert (ode.data_type, ode.functions, ode.rows) == ("ode", "add mul", "500")
    assert (ode.source, ode.differs) == ("the paper, table 1", "")
    assert (srsd.data_type, srsd.functions, srsd.rows) == ("srsd", "add mul exp", "1,000")
    assert srsd.source == "its repository, srsd.py"
    assert srsd.differs.startswith("a smaller population")
    assert {ode.whose, srsd.whose} == {"author"}


def of_work(work_s: float, count: int | None, **changes: Any) -> Record:
    return result(
        "new",
        "s0",
        data_type="srsd",
        budget=EXAMPLE["budget"] | {"work_s": work_s},
        measured=EXAMPLE["measured"] | {"evaluations": count},
        **changes,
    )


def test_evaluations_are_of_records_with_the_settings_of_today(method: Method) -> None:
    setting = setting_of(method, "srsd")
    now = {"functions": ["add", "mul", "exp"], "population": 100, "seed_of_search": 3}
    ones = [
        of_work(2.0, 1000, hyperparameters=now),
        of_work(2.0, 3000, hyperparameters=now),
        of_work(2.0, None, hyperparameters=now),
        of_work(2.0, 10, hyperparameters=now | {"population": 99}),
        of_work(2.0, 20, hyperparameters={"functions": now["functions"]}),
        of_work(2.0, 30, hyperparameters=None),
        of_work(10.0, 40_000, hyperparameters=now),
        # The same files are the same settings, whatever the answer says of them.
        of_work(60.0, 90_000, key_parts={"adapter": method.fingerprint()}, hyperparameters=None),
        of_work(60.0, 7, key_parts={"adapter": "of before"}, hyperparameters=None),
    ]
    shown = [evaluations_of(setting, ones, work_s) for work_s in (2.0, 10.0, 60.0, 5.0)]
    assert shown == ["2,000", "40,000", "90,000", "–"]


def test_the_finding_counts_sources_and_whose_settings_they_are(method: Method) -> None:
    ones = {("new", "srsd"): [of_work(2.0, 900, key_parts={"adapter": method.fingerprint()})]}
    text = settings_page.finding(ones)
    assert text.startswith("**1 methods of other people have settings on 2 pairs")
    assert "2 name their source, 2 are the authors’, 0 those of a published benchmark" in text
    assert "Of 1 pairs with a count of evaluations in two reference seconds, 1 have" in text


def test_every_method_has_a_row_on_each_of_its_data_types() -> None:
    rows = {(one.method.name, one.data_type) for one in settings(known())}
    for method in known():
        if method.spec.family not in {"baseline", "predictor"}:
            assert {(method.name, kind) for kind in method.spec.data_types} <= rows
    assert "zero" not in {name for name, _ in rows}


def test_an_original_package_stands_right_behind_our_own_code() -> None:
    names = [one.method.name for one in settings(known()) if one.data_type == "ode"]
    assert names[names.index("sindy") + 1] == "pysindy"
    rewritten = {one.name for one in known() if one.spec.mark == "§"}
    assert set(settings_page.ORIGINALS) <= rewritten


def test_methods_of_others_are_packages_and_papers() -> None:
    of_others = {one.name for one in known() if is_of_others(one)}
    assert {"operon", "afp", "symregg", "lasr"} <= of_others
    ours = {
        "integral",
        "symbolic_transformer_fitted",
        "lasr_nollm",
        "linear",
        "xgboost",
        "boosting",
    }
    assert not of_others & ours
