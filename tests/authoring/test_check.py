"""A new method can be run as it is, and the check explains what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import HereRuntime, add_method, children

from mdbench import methods
from mdbench.authoring.check import Finding, check_method, make_method
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

GOOD = """
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads):
        self.rng = np.random.default_rng(seed)
    def fit(self, problem):
        if not np.isfinite(problem.X).all():
            raise ValueError("not finite")
        self.value = float({draw})
        self.targets = len(problem.targets)
    def predict(self, problem):
        return np.full((len(problem.X), self.targets), self.value)
    def equations(self):
        return [{equation}] * self.targets
"""


def good(draw: str = "self.rng.normal()", equation: str = "repr(self.value)") -> str:
    return GOOD.format(draw=draw, equation=equation)


def broken(workspace: Workspace, name: str = "m") -> list[Finding]:
    findings = list(check_method(name, workspace, HereRuntime()))
    assert findings
    assert not children()
    return [finding for finding in findings if not finding.passed]


def test_new_method_keeps_the_contract_as_it_stands(workspace: Workspace) -> None:
    folder = make_method("my-method", workspace.algorithms)
    assert {file.name for file in folder.iterdir()} == {
        "method.toml",
        "adapter.py",
        "requirements.in",
        "requirements.lock",
    }
    assert methods.find("my-method", workspace.algorithms).spec.name == "my-method"
    findings = list(check_method("my-method", workspace, HereRuntime()))
    assert [finding.point for finding in findings if not finding.passed] == []
    assert len(findings) == 3 + 2 * 3 + 2


@pytest.mark.parametrize("name", ["", "My", "1st", "a b", "a/b", "../up", "x" * 41, "é"])
def test_names_that_are_none(name: str, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="is no name"):
        make_method(name, workspace.algorithms)
    assert not list(workspace.algorithms.iterdir())


def test_existing_folder_is_never_touched(workspace: Workspace) -> None:
    folder = add_method(workspace, "mine")
    before = (folder / "adapter.py").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        make_method("mine", workspace.algorithms)
    assert (folder / "adapter.py").read_bytes() == before


def test_good_method_passes(workspace: Workspace) -> None:
    add_method(workspace, "m", good())
    assert broken(workspace) == []


@pytest.mark.parametrize(
    ("adapter", "point", "words"),
    [
        ("import nothing_like_it", "adapter.py can be imported", "nothing_like_it"),
        (good(draw="np.random.default_rng().normal()"), "the same seed", "pass the seed on"),
        (good(equation="f'{self.value:.3f}'"), "agreement is no worse than 1e-06", "repr"),
        (good(equation="f'{self.value:.2f}'"), "fit, predict and equations work", "contradict"),
        (good(equation="'what?'"), "fit, predict and equations work", "invalid_output"),
        (good().replace("raise ValueError", "ValueError"), "data with NaN", "ok"),
        (good().replace("threads):", "threads, **more):"), "unknown hyperparameter", "__init__"),
    ],
)
def test_each_breach_is_explained(
    adapter: str, point: str, words: str, workspace: Workspace
) -> None:
    add_method(workspace, "m", adapter)
    findings = broken(workspace)
    assert findings
    assert all(point in finding.point for finding in findings)
    assert words in findings[0].explanation


def test_metadata_come_first(workspace: Workspace) -> None:
    (add_method(workspace, "m") / "method.toml").write_text("schema = 1", encoding="utf-8")
    (finding,) = broken(workspace)
    assert finding.point == "method.toml is valid"


def test_unknown_data_type_is_a_finding(workspace: Workspace) -> None:
    file = add_method(workspace, "m", good()) / "method.toml"
    text = file.read_text(encoding="utf-8").replace('["ode"]', '["ode", "odd"]')
    file.write_text(text, encoding="utf-8")
    (finding,) = broken(workspace)
    assert "odd" in finding.point


IMPORT = "from mdbench.worker import Unavailable\n"


SAYS = "raise Unavailable('put weights there')\n"


@pytest.mark.parametrize(
    "adapter",
    [IMPORT + SAYS, IMPORT + good().replace("if not", f"{SAYS}        if not")],
    ids=["at import", "at fit"],
)
def test_what_is_unavailable_here_breaks_nothing(adapter: str, workspace: Workspace) -> None:
    add_method(workspace, "m", adapter)
    findings = list(check_method("m", workspace, HereRuntime()))
    assert all(finding.passed for finding in findings)
    assert "declared as unavailable here" in findings[-1].point
    assert "put weights there" in findings[-1].explanation
    assert not children()


def test_nothing_is_ok_where_no_fit_works(workspace: Workspace) -> None:
    """A refusal of what is wrong proves nothing where what is right is refused, too."""
    add_method(workspace, "m", good().replace("def fit(", "def fit_not("))
    said: list[str] = []
    findings = list(check_method("m", workspace, HereRuntime(), said.append))
    assert [one.point for one in findings if one.passed] == [
        "method.toml is valid",
        "the environment can be made",
        "adapter.py can be imported",
    ]
    assert [one.point for one in findings if not one.passed] == [
        "ode rc-circuit: fit, predict and equations work",
        "ode harmonic-oscillator: fit, predict and equations work",
    ]
    assert [line.partition(" (")[0] for line in said] == [
        "trying ode rc-circuit",
        "trying ode harmonic-oscillator",
    ]


def test_an_old_lock_is_a_breach(workspace: Workspace) -> None:
    add_method(workspace, "m", good())
    (workspace.algorithms / "m" / "requirements.in").write_text("numpy\ntorch\n")
    [finding] = broken(workspace)
    assert finding.point == "requirements.lock has all of requirements.in"
    assert "torch" in finding.explanation
    assert "scripts/lock m" in finding.explanation
