"""Methods that know a benchmark's laws by heart are found out, and honest ones are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, add_method
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sweeps import sampled

from eqverdict.fidelity.compare import compare
from mdbench.authoring.memory import CASES, SUSPICIOUS, MemoryCheck, check_memory
from mdbench.cli import main
from mdbench.cli.options import Exit
from mdbench.datatypes import find
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.moved import moved_system
from mdbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import DataType
    from mdbench.workspace import Workspace

TABLE = """
    import numpy as np

    TABLE = {table!r}

    class Adapter:
        def __init__(self, *, seed, threads): ...
        def fit(self, problem):
            start = tuple(float(f"{{value:.1g}}") for value in problem.X[0])
            self.texts = TABLE.get(start, ["0"] * len(problem.targets))
            self.variables = problem.variables
        def predict(self, problem):
            names = {{"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "abs": np.abs,
                      "tan": np.tan, "sqrt": np.sqrt, "cot": lambda x: 1 / np.tan(x)}}
            names |= dict(zip(self.variables, problem.X.T))
            rates = [eval(text, names) * np.ones(len(problem.X)) for text in self.texts]
            return np.stack(rates, axis=-1)
        def equations(self):
            return self.texts
"""
HONEST = """
    import itertools
    import numpy as np

    class Adapter:
        '''Least squares on products of two states at most; small coefficients are left out.'''
        def __init__(self, *, seed, threads): ...
        def features(self, x):
            count = range(x.shape[1])
            places = [(), *((i,) for i in count)]
            places += itertools.combinations_with_replacement(count, 2)
            return places, np.stack([np.prod(x[:, p], axis=1) for p in places], axis=1)
        def fit(self, problem):
            places, features = self.features(problem.X)
            size = np.linalg.norm(features, axis=0)
            self.weights = np.zeros((len(places), len(problem.targets)))
            for k, rates in enumerate(problem.Y.T):
                kept = np.arange(len(places))
                for _ in range(5):
                    found = np.linalg.lstsq(features[:, kept], rates, rcond=None)[0]
                    large = np.abs(found) * size[kept] > 0.02 * np.linalg.norm(rates)
                    kept, found = kept[large], found[large]
                self.weights[kept, k] = found
            self.texts = [
                " + ".join(f"{float(w)!r}*{'*'.join(problem.variables[i] for i in p) or '1'}"
                           for p, w in zip(places, column) if w) or "0"
                for column in self.weights.T
            ]
        def predict(self, problem):
            return self.features(problem.X)[1] @ self.weights
        def equations(self):
            return self.texts
"""
FOLDER = "timeout = 20.0"


@pytest.fixture(scope="module")
def ode(tmp_path_factory: pytest.TempPathFactory) -> DataType[Any, Any]:
    return find("ode", ROOT / "datasets" / "ode", tmp_path_factory.mktemp("cache"))


def table_of(ode: DataType[Any, Any]) -> dict[tuple[float, ...], list[str]]:
    source: Any = ode.source()
    return {
        tuple(float(f"{value:.1g}") for value in system.initial_conditions[0]): list(system.truth)
        for system in map(source._system, source.names())
    }


def test_a_table_of_the_benchmarks_laws_is_found_out(
    workspace: Workspace, ode: DataType[Any, Any]
) -> None:
    add_method(workspace, "table", TABLE.format(table=table_of(ode)), more=FOLDER)
    finding = check_memory("table", workspace, HereRuntime(), lambda _: None)
    assert not finding.passed, finding.explanation
    assert "and 0 with other constants" in finding.explanation


def test_an_honest_method_is_not_accused(workspace: Workspace) -> None:
    add_method(workspace, "honest", HONEST, more=FOLDER)
    finding = check_memory("honest", workspace, HereRuntime(), lambda _: None)
    assert finding.passed, finding.explanation
    assert "identifies 0 as they are" not in finding.explanation  # it can do something


@pytest.mark.parametrize("number", sampled((1, 2), least=1))
def test_every_system_can_be_moved(ode: DataType[Any, Any], number: int) -> None:
    """No equation of a moved system has the terms and constants of the system's own."""
    source: Any = ode.source()
    for name in source.names():
        system = source._system(name)
        other = moved_system(system, number)
        assert other.dim == system.dim
        assert moved_system(system, number) == other
        starts = zip(system.initial_conditions[0], other.initial_conditions[0], strict=True)
        assert system.dim > 1 or all(a == b == 0 or abs(a - b) > 0.04 * abs(a) for a, b in starts)
        if system.constants:
            found = compare(list(system.truth), list(other.truth), tuple(system.variables))
            assert found.identified is not True, name


def test_a_moved_dataset_has_the_moved_law(ode: DataType[Any, Any]) -> None:
    source = ode.source()
    for name in ("rc-circuit", "lotka-volterra-simple", "lorenz-equations-periodic"):
        moved = source.load(f"{name}+moved=1", snr_db=None, seed=0, protocol=Protocol.STRICT)
        own = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        assert moved.truth != own.truth
        assert moved.truth == source.laws(f"{name}+moved=1")
        assert moved.fingerprint != own.fingerprint
        assert moved.floor is not None
        assert moved.floor < 1e-12  # its law is the law of its samples
        assert not np.array_equal(moved.given.u, own.given.u)


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_chance_is_that_of_a_binomial_test(only_here: int, only_moved: int) -> None:
    check = MemoryCheck(60, 0, 0, only_here, only_moved)
    pairs = only_here + only_moved
    if not pairs:
        assert check.p_value == 1.0
        return
    expected = binomtest(only_here, pairs, 0.5, alternative="greater").pvalue
    assert check.p_value == pytest.approx(expected)


def test_few_more_are_no_accusation() -> None:
    accused = [
        (here, moved)
        for here in range(CASES + 1)
        for moved in range(CASES + 1 - here)
        if MemoryCheck(CASES, 0, 0, here, moved).p_value < SUSPICIOUS
    ]
    assert min(here for here, moved in accused if moved == 0) == 7
    assert all(here - moved >= 7 for here, moved in accused)


def test_a_method_for_no_systems_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    del tmp_path
    add_method(workspace, "tables")
    toml = workspace.algorithms / "tables" / "method.toml"
    toml.write_text(toml.read_text("utf-8").replace('["ode"]', '["srsd"]'), "utf-8")
    with pytest.raises(UsageError, match="gives no equations of ode"):
        check_memory("tables", workspace, HereRuntime(), lambda _: None)


@pytest.mark.extension("community")
def test_an_audit_finds_who_knows_the_laws(
    command_line: Workspace,
    ode: DataType[Any, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_method(command_line, "table", TABLE.format(table=table_of(ode)), more=FOLDER)
    asked = ["--algorithm", "table", "--data-type", "ode", "--dataset", "rc-circuit"]
    assert main(["run", *asked, "--work", "20"]) == 0
    assert main(["bundle", "results", "--out", "b.zip", "--author", "A", "--title", "T"]) == 0
    capsys.readouterr()
    out = str(tmp_path / "a.json")
    audit = ["registry", "audit", "b.zip", "--sample", "1", "--salt", "x", "--out", out]
    assert main(audit) == Exit.DONE  # each of its jobs is what it says
    assert main([*audit, "--moved"]) == Exit.NOT_AS_WISHED
    printed = " ".join(capsys.readouterr().out.split())
    assert "broken table: laws are identified from their data" in printed
