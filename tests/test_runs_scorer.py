"""The scorer's identity: what cannot change a score does not change it, and the rest does."""

from __future__ import annotations

import ast
import shutil
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from house import workspace

from mdbench.datatypes.derivation.data_type import DerivationType as Derivation
from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.pde import data_type as pde
from mdbench.datatypes.real.data_type import Real
from mdbench.datatypes.srsd.data_type import Srsd
from mdbench.datatypes.surface.data_type import SurfaceType
from mdbench.runs import scorer
from mdbench.runs.catalog import Inventory
from mdbench.runs.scorer import digest, scorer_of, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = '''
"""A module."""
LIMIT = 0.5
"""What is allowed."""

def loss(a, b):
    """Compare."""
    return abs(a - b) if a > LIMIT else f"{b:g}"
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""A module."""', "", True),
        ('"""Compare."""', '"""Say how far."""', True),
        ('"""What is allowed."""', "# A comment.", True),
        ("loss(a, b)", "loss(\n    a,\n    b,\n)", True),
        ("LIMIT = 0.5", "LIMIT = 0.50  # half", True),
        ("LIMIT = 0.5", "LIMIT = 0.51", False),
        ("abs(a - b)", "abs(b - a)", False),
        ("{b:g}", "{b:f}", False),
        ("a > LIMIT", "a >= LIMIT", False),
        ("def loss", "@cache\ndef loss", False),
        ("abs(a - b)", "'LIMIT'", False),
    ],
)
def test_only_what_the_code_does_counts(old: str, new: str, *, same: bool) -> None:
    assert old in CODE
    changed = CODE.replace(old, new, 1)
    assert (digest([CODE.encode()]) == digest([changed.encode()])) is same


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a copy of the package in the place of the scorer's sources."""
    here = tmp_path / "mdbench"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(scorer.__file__).parent.parent, here, ignore=ignored)
    monkeypatch.setattr(scorer, "_HERE", here)
    scorer._scorer_of.cache_clear()
    yield here
    scorer._scorer_of.cache_clear()


def again(home: Path) -> str:
    scorer._scorer_of.cache_clear()
    return scorer_of(Ode, home)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("children.py", True),
        ("metrics/regression.py", True),
        ("expressions/grammar.py", True),
        ("solvers/ode.py", True),
        ("data/splits.py", True),
        ("datatypes/shared/terms.py", True),
        ("datatypes/base.py", True),
        ("runs/anytime.py", True),
        ("runs/judgement.py", True),
        ("runs/slot.py", False),
        ("records/schema.py", False),
        ("datatypes/pde.py", False),
    ],
)
def test_what_scores_is_in_it(copy: Path, tmp_path: Path, file: str, *, counts: bool) -> None:
    before = again(tmp_path / "home")
    path = copy / file
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n# A comment.\n", encoding="utf-8")
    assert again(tmp_path / "home") == before
    path.write_text(f"{text}\nANOTHER = 1\n", encoding="utf-8")
    assert (again(tmp_path / "home") != before) is counts


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("expressions/counter.py", {Ode, pde.Pde, SurfaceType}),
        ("solvers/simulation.py", {Ode, pde.Pde, SurfaceType}),
        ("surfaces/scoring.py", {SurfaceType}),
    ],
)
def test_another_limit_of_memory_is_another_scorer(
    copy: Path, tmp_path: Path, file: str, kinds: set[type[Any]]
) -> None:
    def all_scorers() -> dict[type[Any], str]:
        scorer._scorer_of.cache_clear()
        return {kind: scorer_of(kind, tmp_path / "home") for kind in (Ode, pde.Pde, SurfaceType)}

    before = all_scorers()
    path = copy / file
    text = path.read_text(encoding="utf-8")
    assert text.count("MAX_BYTES = 2 << 30") == 1
    path.write_text(text.replace("MAX_BYTES = 2 << 30", "MAX_BYTES = 3 << 30"), encoding="utf-8")
    after = all_scorers()
    assert {kind for kind in before if before[kind] != after[kind]} == kinds


def test_whatever_asks_a_process_for_scores_is_in_it() -> None:
    """Its limits are constants of modules whose source counts."""
    package = Path(scorer.__file__).parent.parent
    kinds = (Derivation, Ode, pde.Pde, Real, Srsd, SurfaceType)
    counted = {path for kind in kinds for path in sources(kind)}
    asking = {}
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Child":
                asking[path] = node.args[1:3]
    assert len(asking) >= 4
    # Which makes data: those are in the key by what they are.
    assert set(asking) - counted == {package / "derivations" / "making.py"}
    for limits in asking.values():
        assert [isinstance(each, ast.Name) and each.id.isupper() for each in limits] == [True] * 2


def test_a_data_type_s_own_module_counts_wherever_it_is() -> None:
    assert Path(pde.__file__) in sources(pde.Pde)
    assert Path(pde.__file__) not in sources(Ode)
    assert scorer_of(Ode, Path("/nonexistent")) != scorer_of(pde.Pde, Path("/nonexistent"))


def test_versions_of_what_scores_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = again(tmp_path)
    version = metadata.version
    with monkeypatch.context() as patch:
        newer = {"sympy": "99"}
        patch.setattr(metadata, "version", lambda name: newer.get(name) or version(name))
        assert again(tmp_path) != before
    assert again(tmp_path) == before


def test_it_is_worked_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = workspace(tmp_path)
    before = Inventory(place).scorer("ode")
    assert len(list((place.home / "scorers").iterdir())) == 1
    scorer._scorer_of.cache_clear()
    monkeypatch.setattr(scorer, "digest", lambda _: pytest.fail("it was worked out before"))
    assert Inventory(place).scorer("ode") == before
