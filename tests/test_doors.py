"""What others add is found by its name, and what the core has is never replaced."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import datatypes, doors
from mdbench.backends import open_backend
from mdbench.errors import UnavailableError, UsageError
from mdbench.runs.study import RunOptions
from mdbench.runtimes.registry import open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNTIME = """
from mdbench.runtimes.venv import VenvRuntime

class Module(VenvRuntime):
    name = "module"
"""
DATA_TYPE = """
from mdbench.datatypes.ode.data_type import Ode

class Waves(Ode):
    name = "waves"
"""
BACKEND = """
from mdbench.runs.execute import Backend

class Nowhere(Backend):
    def run(self, work):
        return True
"""


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of extensions, with one in it that adds nothing yet."""
    folder = tmp_path / "extensions" / "mine"
    folder.mkdir(parents=True)
    monkeypatch.setenv(doors.VARIABLE, str(folder.parent))
    monkeypatch.setattr("sys.path", [*sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


def add(folder: Path, group: str, line: str, module: str, text: str) -> None:
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    (folder / doors.FILE).write_text(f"# ours\n[{group}]\n{line}\n", encoding="utf-8")


def test_a_runtime_is_one_file(extension: Path, tmp_path: Path) -> None:
    add(extension, "mdbench.runtimes", "module = mine.isolation:Module", "isolation", RUNTIME)
    names = doors.RUNTIMES.names()
    assert names == ["venv", "docker", *names[2:-1], "module"]
    runtime = open_runtime("module", tmp_path)
    assert type(runtime).__name__ == "Module"
    with pytest.raises(UsageError) as caught:
        open_runtime("modul", tmp_path)
    assert "Did you mean module?" in caught.value.hint
    assert caught.value.hint.endswith(f"All: auto, {', '.join(names)}")


def test_a_backend_is_one_file(extension: Path) -> None:
    add(extension, "mdbench.backends", "nowhere = mine.places:Nowhere", "places", BACKEND)
    options = RunOptions.of({"algorithm": ["zero"], "data_type": "ode", "backend": "nowhere"})
    assert type(open_backend(options)).__name__ == "Nowhere"
    with pytest.raises(UsageError, match="--backend is 'nowhre'") as caught:
        RunOptions.of({"algorithm": ["zero"], "data_type": "ode", "backend": "nowhre"})
    assert "nowhere" in caught.value.hint


def test_a_data_type_is_one_file(extension: Path, tmp_path: Path) -> None:
    add(extension, "mdbench.datatypes", "waves = mine.waves:Waves", "waves", DATA_TYPE)
    assert "waves" in datatypes.names()
    assert datatypes.is_known("waves")
    assert not datatypes.is_known("wave")
    assert datatypes.facts_of("waves").views == datatypes.facts_of("ode").views
    kind = datatypes.find("waves", ROOT / "datasets" / "ode", tmp_path)
    assert (kind.name, "rc-circuit" in kind.source().names()) == ("waves", True)
    with pytest.raises(UsageError, match="no data type 'wave'") as caught:
        datatypes.find("wave", tmp_path, tmp_path)
    assert "waves" in caught.value.hint


def test_installed_packages_add_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints(
        [
            EntryPoint("theirs", "fractions:Fraction", "mdbench.runtimes"),
            EntryPoint("venv", "fractions:Fraction", "mdbench.runtimes"),
        ]
    )
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points.select(group=group))
    doors.packages.cache_clear()
    try:
        assert doors.RUNTIMES.load("theirs").__name__ == "Fraction"
        assert doors.RUNTIMES.load("venv").__name__ == "VenvRuntime"
        assert doors.RUNTIMES.names().count("venv") == 1
        assert "theirs" not in doors.BACKENDS
    finally:
        doors.packages.cache_clear()


@pytest.mark.parametrize("reference", ["mine.missing:Thing", "mine.there:Thing", "mine.there:"])
def test_what_cannot_be_loaded_is_named(extension: Path, reference: str) -> None:
    add(extension, "mdbench.runtimes", f"broken = {reference}", "there", "")
    with pytest.raises(UnavailableError) as caught:
        doors.RUNTIMES.load("broken")
    assert f"The runtime broken ({reference}) cannot be loaded" in caught.value.message


def test_names_of_the_core_need_no_look_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "packages", lambda _: pytest.fail("packages were asked"))
    assert "venv" in doors.RUNTIMES
    assert doors.BACKENDS.load("local").__name__ == "LocalBackend"


def test_all_members_of_our_extensions_can_be_imported() -> None:
    for door in (doors.RUNTIMES, doors.BACKENDS):
        for name in doors.extensions(door.group):
            assert callable(door.load(name)), name


def test_the_core_names_no_extension() -> None:
    named = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "mdbench").rglob("*.py"))
        if "extensions" not in path.relative_to(ROOT).parts
        and "mdbench.extensions." in path.read_text(encoding="utf-8")
        and path.name != "doors.py"  # its docstring has an example
    ]
    assert named == []
