"""Which tests `scripts/test --core` and `--changed` run."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import lanes
import pytest
from harness import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return lanes.imports()


def concerned(graph: dict[str, set[str]], *names: str) -> set[str]:
    for name in names:
        assert (ROOT / name).exists(), name
    return {part.name for part in lanes.parts() if lanes.affected(part, [*names], graph)}


EVERY = {part.name for part in lanes.parts()}


def test_each_extension_and_data_type_is_a_part() -> None:
    assert {"extensions/clusters", "datatypes/ode", "eqverdict", "methods", "scripts"} < EVERY
    assert "datatypes/equations" not in EVERY  # what data types share is the core's
    for part in lanes.parts():
        assert any((ROOT / part.tests).rglob("test_*.py")), part
        assert all((ROOT / folder).is_dir() for folder in part.code), part


@pytest.mark.parametrize(
    ("name", "within", "without"),
    [
        ("mdbench/extensions/clusters/slurm.py", {"extensions/clusters"}, {"datatypes/ode"}),
        ("tests/extensions/clusters/test_shards.py", {"extensions/clusters"}, {"scripts"}),
        ("mdbench/datatypes/pde/systems.py", {"datatypes/pde"}, {"datatypes/srsd", "eqverdict"}),
        ("mdbench/backends/turns.py", {"extensions/clusters"}, {"datatypes/ode", "eqverdict"}),
        ("eqverdict/tree.py", {"eqverdict", "datatypes/ode", "scripts"}, set()),
        ("algorithms/linear/adapter.py", {"methods"}, {"eqverdict", "extensions/clusters"}),
        ("tests/support/one_node_slurm.py", {"extensions/clusters"}, {"datatypes/pde"}),
        ("docs/options.md", set(), EVERY),
    ],
)
def test_a_file_concerns_the_parts_that_use_it(
    graph: dict[str, set[str]], name: str, within: set[str], without: set[str]
) -> None:
    parts = concerned(graph, name)
    assert within <= parts
    assert not without & parts


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "tests/conftest.py", "requirements-dev.lock", ".ci/run"]
)
def test_what_imports_say_nothing_of_concerns_all(graph: dict[str, set[str]], name: str) -> None:
    assert concerned(graph, name) == EVERY


def test_what_is_not_committed_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "ROOT", tmp_path)

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("same", "edited", "gone", "committed ä"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-m", "1")
    git("checkout", "-b", "branch")
    (tmp_path / "committed ä").write_text("2")
    git("commit", "-am", "2")
    (tmp_path / "edited").write_text("2")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("2")
    assert lanes.changed("") == ["committed ä", "edited", "gone", "new"]
    assert lanes.changed("HEAD") == ["edited", "gone", "new"]
    with pytest.raises(SystemExit, match="there is no commit nothing"):
        lanes.changed("nothing")


def test_the_core_is_all_but_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert lanes.main(["core"]) == 0
    said = capsys.readouterr().out.split()
    assert said[:3] == ["tests", "mdbench", "eqverdict"]
    left_out = {word.removeprefix("--ignore=") for word in said[3:]}
    assert {part.tests for part in lanes.parts()} <= left_out
    assert "tests/runs" not in left_out
    with pytest.raises(SystemExit, match="Which tests are the core's"):
        lanes.main(["all"])
