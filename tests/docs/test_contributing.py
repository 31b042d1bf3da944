"""CONTRIBUTING.md draws the code that there is, and names a trial for each addition."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import doors
from mdbench.cli.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"^#+ ", PAGE.partition(f" {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def layers() -> tuple[set[str], ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests")
        module: ModuleType = import_module("test_layers")
    return tuple(set(names) for names in module.LAYERS)


def drawn() -> Iterator[set[str]]:
    """Yield the packages of each line of the drawing, the highest first."""
    for line in section("Architecture").splitlines():
        if re.match(r" {4}[a-z]", line):
            yield {name.strip("/") for name in re.split(r" {2,}", line.strip())[0].split(", ")}


def test_the_drawing_has_the_layers_in_their_order() -> None:
    height = {name: number for number, names in enumerate(layers()) for name in names}
    lines = list(drawn())
    assert lines.pop() == {"eqverdict"}
    assert set.union(*lines) == set(height)
    numbers = [{height[name] for name in names} for names in lines]
    assert [max(line) for line in numbers] == sorted(map(max, numbers), reverse=True)
    assert all(len(line) == 1 for line in numbers)


def names_of_doors() -> set[str]:
    groups = set()
    for path in (ROOT / "mdbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Door":
                groups.add(ast.literal_eval(node.args[0]))
    return groups


def test_each_door_has_its_row() -> None:
    table = rows(section("Adding something"))
    groups = {cell.strip("`") for _, _, cell, *_ in table if cell}
    assert groups == names_of_doors()
    used = {
        line.strip("[]")
        for file in doors.EXTENSIONS.glob(f"*/{doors.FILE}")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("[")
    }
    assert used <= groups
    assert VERBS.group in groups


def test_each_addition_has_a_trial_that_exists() -> None:
    table = rows(section("Adding something"))
    assert {row[0] for row in table} >= {
        *("column of the report", "format of data files", "runtime", "backend"),
        *("verb", "metric", "suite", "data type", "service", "section of the report"),
    }
    for name, *_, trial in table:
        files = re.findall(r"`(tests/[\w/]+\.py)`", trial)
        assert files, name
        for file in files:
            assert (ROOT / file).is_file(), (name, file)


@pytest.mark.parametrize("title", ["Where is what", "Adding something"])
def test_files_that_are_named_are_there(title: str) -> None:
    names = re.findall(r"`((?:mdbench|eqverdict|tests|benchmarks)/[\w/.]+)`", section(title))
    assert len(names) > 5
    for name in names:
        if "NAME" not in name:
            assert (ROOT / name).exists(), name


def test_the_modules_to_read_are_there_and_can_be_read_in_a_day() -> None:
    names = re.findall(r"^\d+\. `([\w/.]+)`", section("To read the core in a day"), re.MULTILINE)
    files = [ROOT / "mdbench" / name for name in names]
    assert len(files) == 15
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) < 6_500


def test_the_way_of_a_job_names_what_its_files_define() -> None:
    steps = re.findall(r"^\d+\. (.*)$", section("The way of a job"), re.MULTILINE)
    assert len(steps) == 12
    for step in steps:
        names = re.findall(r"`([\w/.]+)`", step)
        texts = [ROOT / "mdbench" / name for name in names if name.endswith(".py")]
        assert texts
        code = "\n".join(path.read_text(encoding="utf-8") for path in texts)
        for name in names:
            if not name.endswith((".py", "/")) and "/" not in name:
                assert re.search(rf"\b{name}\b", code), (name, step)
