"""``mdbench place``: what an author reads of a method's rank."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from harness import METHOD
from reporting import EXAMPLE, data

from mdbench.cli import main
from mdbench.extensions.standings.editions import EditionIndex
from mdbench.extensions.standings.place import after_check
from mdbench.method_spec import MethodSpec
from mdbench.methods import Method
from mdbench.records import Record

TITLE = "ode, work 2.0 s, strict, clean"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records of a method that identifies what `integral` of the edition does, and nothing else."""
    suites = EditionIndex.read().suites
    methods = next(methods for suite, methods in suites.items() if suite.title == TITLE)
    lines = []
    for job, letter in methods["integral"].items():
        budget = {**EXAMPLE["budget"], "work_s": 2.0}
        made = data("mine", job, identified=float(letter == "1"), budget=budget)
        made |= {"dataset_path": None, "part": "", "seed": 0, "snr_db": None}
        lines.append(Record.model_validate(made).to_line())
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "mine-ode.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    other = Record.model_validate(data("other", "lorenz")).to_line()
    (folder / "other-ode.jsonl").write_text(f"{other}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_rank_the_neighbours_and_a_figure(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = results.parent / "rank.svg"
    assert main(["place", "mine", "--figure", str(figure)]) == 0
    said = capsys.readouterr().out
    assert f"{TITLE}: rank 1 of " in said
    rows = [line.split() for line in said.splitlines() if "█" in line]
    assert rows[0][:3] == ["1", "mine", "59"]
    assert rows[1][:6] == ["1", "integral", "‡", "59", "0", "0"]
    assert "it alone identifies: none" in said
    assert "it alone misses: none" in said
    assert "of better rank" not in said  # as nobody is better
    assert "scored by version" in said  # of the made-up records
    svg = figure.read_text(encoding="utf-8")
    assert svg.count("<rect") == svg.count("</text>") // 2 + 1
    assert "1. mine" in svg
    # No name begins left of the drawing, whatever the font: 7 pixels a letter are enough.
    for end, name in re.findall(r'<text x="([0-9.]+)" y="\d+" text-anchor="end">([^<]*)', svg):
        assert float(end) > 7 * len(name)


def test_a_method_of_the_edition_has_its_rank_without_records_here(
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["place", "integral"]) == 0  # there are results, of others
    said = capsys.readouterr().out
    (head,) = [line for line in said.splitlines() if line.startswith(f"{TITLE}: ")]
    assert head.startswith(f"{TITLE}: rank 1 of ")
    assert "59 of 90 jobs identified" in head
    assert "By the records of edition-1, as results here has none of it." in said
    assert main(["place", "integral", "--results", str(results)]) == 2  # what is named has to be
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    capsys.readouterr()
    assert main(["place", "integral"]) == 0
    assert capsys.readouterr().out == said


def test_as_json_it_has_all_methods(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "mine", "--results", str(results), "--json"]) == 0
    (suite,) = json.loads(capsys.readouterr().out)["suites"]
    assert (suite["data_type"], suite["work_s"], suite["rank"], suite["jobs"]) == ("ode", 2, 1, 90)
    assert {row["method"] for row in suite["ranking"]} >= {"mine", "sindy", "operon"}
    assert suite["only_mine"] == suite["missed_by_it_alone"] == []
    assert suite["missed_unlike_better"] == []


def test_records_under_another_name_with_the_same_keys_are_not_its_own(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = results / "mine-ode.jsonl"
    lines = file.read_text(encoding="utf-8")
    better = lines.replace('"algorithm":"mine"', '"algorithm":"supermine"')
    better = better.replace('"identified":0.0', '"identified":1.0')
    assert "mine" not in better.replace("supermine", "")
    file.write_text(lines + better, encoding="utf-8")
    assert main(["place", "mine"]) == 0
    assert "59 of 90 jobs identified" in capsys.readouterr().out
    assert main(["place", "supermine"]) == 0
    assert "90 of 90 jobs identified" in capsys.readouterr().out


def test_without_records_it_says_what_makes_some(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["place", "mime"]) == 2
    said = capsys.readouterr().err
    assert "mime has no record in results" in said
    assert "Did you mean mine?" in said
    assert "--algorithm mime --data-type ode --work 2" in said
    assert main(["place", "other"]) == 2
    said = capsys.readouterr().err
    assert "No record of other in results has the budget and the rules" in said
    assert "--algorithm other --data-type ode --work 2" in said
    assert main(["place", "mine", "--results", str(results / "nowhere")]) == 2
    said = capsys.readouterr().err
    assert "There is no folder" in said
    assert "--algorithm mine --data-type ode --work 2" in said


def method(name: str, *data_types: str, **more: Any) -> Method:
    content = tomllib.loads(METHOD.format(name=name, tuning="none", more=""))
    content |= {"data_types": data_types or ("ode",), **more}
    return Method(Path(name), MethodSpec.model_validate(content))


@pytest.mark.usefixtures("results")
def test_a_line_at_the_end_of_a_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (line,) = after_check(method("mine")).splitlines()
    assert line.startswith(f"{TITLE}: rank 1 of ")
    assert after_check(method("mine", equations=False, family="predictor")) == ""
    assert after_check(method("mine", access={"llm": True})) == ""
    hint = after_check(method("nobody", "derivation", "pde"))
    assert hint.endswith("--data-type pde --work 10, then mdbench place nobody")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "--data-type ode --work 2, then mdbench place mine" in after_check(method("mine"))
