"""Sets of systems: where they come from, how large they are, and what they are asked for by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import datatypes
from mdbench.cli import main
from mdbench.datatypes.equations.files import Suites
from mdbench.datatypes.suites import members, read_suites
from mdbench.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

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
