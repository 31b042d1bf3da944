"""Sets of systems: where they come from, how large they are, and what they are asked for by."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ROOT, add_method, section_of

from mdbench import datatypes
from mdbench.cli import main
from mdbench.cli.workspace import members, read_suites
from mdbench.datatypes.equations.files import Suites
from mdbench.errors import DataError
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

SUITES = read_suites(ROOT / "datasets")


@pytest.mark.parametrize("kind", datatypes.names())
def test_every_set_has_systems_and_every_system_a_source(kind: str, tmp_path: Path) -> None:
    source = datatypes.find(kind, ROOT / "datasets" / kind, tmp_path).source()
    own, groups = source.names(), source.groups()
    sets = {name: members(name, kind, own, groups) for name in SUITES[kind]}
    assert all(sets.values()), {name for name in sets if not sets[name]}
    every = {*own, *(name for group in groups.values() for name in group)}
    assert every == {name for each in sets.values() for name in each}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "no readable TOML"),
        ('[ode.dev]\nsource = "x"', "'ode.dev.licence'"),
        ('[ode.dev]\nsource = "x"\nlicence = ""', "'ode.dev.licence'"),
        ('[ode.dev]\nsource = "x"\nlicence = "MIT"\nsize = 3', "'ode.dev.size'"),
        ("ode = 3", "'ode'"),
    ],
)
def test_a_bad_file_of_sets_is_refused_by_file_and_key(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "suites.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"suites\.toml") as caught:
        read_suites(tmp_path)
    assert words in str(caught.value)


PAGE = section_of("extending.md", "Adding a suite")
FILES = dict(re.findall(r"`(\S+\.toml)`:?\n\n```toml\n(.*?)```", PAGE, re.DOTALL))


def test_a_suite_is_one_folder(
    command_line: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's own files are listed and planned, and change no other set."""
    workspace = command_line
    assert len(FILES) == 3
    assert len({Path(name).parent for name in FILES}) == 1
    kind, arrays = workspace.datasets / "ode", workspace.root / "arrays"
    workspace.datasets.unlink()  # a link to the project's own
    shutil.copytree(ROOT / "datasets" / "ode", kind)
    add_method(workspace, "zero")
    before = datatypes.find("ode", kind, arrays).source()
    for name, text in FILES.items():
        path = workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    source = datatypes.find("ode", kind, arrays).source()
    groups = dict(source.groups())
    assert groups.pop("ponds") == ["pond-algae", "pond-fish"]
    assert {name: groups[name] for name in before.groups()} == before.groups()
    assert source.names() == before.names()
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["list", "--datasets", "--data-type", "ode"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if " ponds " in line]
    assert re.split(r"\s{2,}", line.strip()) == ["ponds", "2", "our own measurements", "CC0"]
    assert main(["list", "--json", "--data-type", "ode"]) == 0
    listing = json.loads(capsys.readouterr().out)["data_types"][0]
    assert {"name": "ponds", "datasets": 2} | {
        "source": "our own measurements",
        "licence": "CC0",
    } in listing["suites"]
    options = {"algorithm": ["zero"], "data_type": "ode", "dataset": ["ponds"]}
    planned = make_plan(RunOptions.of(options), workspace).jobs
    assert [spec.dataset for spec in planned] == ["pond-algae", "pond-fish"]
    assert main(["plan", "--algorithm", "zero", "--data-type", "ode", "--dataset", "ponds"]) == 0
    assert "2 jobs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ['source = "x"', 'source = "x"\nlicence = "y"\nsystems = 2', "x = "]
)
def test_a_bad_file_of_a_suite_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ode" / "ponds" / "suite.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(str(file))):
        read_suites(tmp_path)


def test_a_name_is_there_once(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "one.toml").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(DataError, match="'one' is a system elsewhere, too"):
        Suites(tmp_path, str, None)


@pytest.mark.usefixtures("workspace")
def test_list_shows_size_source_and_licence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["list", "--datasets", "--data-type", "srsd"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "srbench-strogatz" in line]
    assert line.split()[:2] == ["srbench-strogatz", "14"]
    assert "ODE-Strogatz" in line
    assert line.rstrip().endswith("MIT (PMLB)")
