"""What messages name is there for whoever reads them: in a clone, and in an installed package."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import installation, methods
from mdbench.installation import command, page, resource

if TYPE_CHECKING:
    from pathlib import Path

OF_A_CLONE = re.compile(r"\brun\.sh|install\.sh|scripts/\w|docs/\w|README|requirements-\w+\.lock")
ADVISERS = {"command", "page", "resource"}


def texts(tree: ast.AST) -> list[tuple[int, str]]:
    """Return the texts of a module that are neither docstrings nor given to `installation`."""
    ignored: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            ignored.add(id(node.value))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ADVISERS:
            ignored |= {id(inner) for inner in ast.walk(node)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in ignored
    ]


def test_no_message_names_a_file_that_only_a_clone_has() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for package in ("mdbench", "eqverdict")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "template" not in path.parts and path.name != "installation.py"
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if OF_A_CLONE.search(text)
    ]
    assert named == []


def test_what_is_searched_would_be_seen() -> None:
    seen = texts(ast.parse("f'type: {command(\"scripts/lock\")} or ./run.sh'"))
    assert [text for _, text in seen if OF_A_CLONE.search(text)] == [" or ./run.sh"]


def test_every_page_and_resource_that_is_named_exists() -> None:
    for path in sorted((ROOT / "mdbench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            adviser = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or adviser not in ADVISERS:
                continue
            for name in [str(word.value) for word in node.args if isinstance(word, ast.Constant)]:
                file = f"docs/{name}.md" if adviser == "page" else name.split()[0]
                assert (ROOT / file).exists(), f"{path}: {name}"


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("./run.sh --algorithm sindy", "mdbench run --algorithm sindy"),
        ("./install.sh", "mdbench install"),
        ("./install.sh --clean", "mdbench install --clean"),
        ("./install.sh --clusters", "mdbench install --clusters"),
        ("./install.sh --cluster", "pip install 'mdbench-eqd[cluster]'"),
        ("scripts/lock mine", "mdbench install --lock mine"),
        ("scripts/locks", "scripts/locks"),
        ("mdbench list", "mdbench list"),
    ],
)
def test_a_command_fits_how_it_was_installed(line: str, typed: str) -> None:
    assert command(line, clone=None) == typed
    assert command(line) == line


def test_a_page_and_a_resource_of_a_package_lie_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert page("datasets") == "docs/datasets.md"
    assert resource("docker") == ROOT / "docker"
    monkeypatch.setattr(installation, "CLONE", None)
    inside = ROOT / "mdbench" / "bundled"
    assert page("datasets") == str(inside / "docs" / "datasets.md")
    assert resource("docker") == inside / "docker"


def test_methods_of_a_package_s_user_lie_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, here, other = (
        tmp_path / "bundled" / "algorithms",
        tmp_path / "here",
        tmp_path / "other",
    )
    for folder in (bundled, here, other):
        folder.mkdir(parents=True)
    monkeypatch.setattr(methods, "BUNDLED", bundled.parent)
    monkeypatch.chdir(here)
    assert methods.own_folder(bundled) == here / "algorithms"
    assert here / "algorithms" not in methods.folders(bundled)
    (here / "algorithms" / "notes").mkdir(parents=True)  # somebody's own folder of that name
    assert here / "algorithms" in methods.folders(bundled)
    assert methods.discover(bundled) == {}
    monkeypatch.setenv("MDBENCH_METHODS", str(other))
    assert methods.own_folder(bundled) == other
    assert here / "algorithms" in methods.folders(bundled)
