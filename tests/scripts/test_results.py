"""``scripts/results``: the reference results, written into pages between comments."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from bundles import write_bundle
from reference_runs import STUDIES, StudyRun
from reporting import compare, data, result

from mdbench.errors import MethodError
from mdbench.methods import discover
from mdbench.reports.combine import flatten, write_table
from mdbench.runs.study import Study
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from types import ModuleType

    from mdbench.records import Record

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("results", ROOT / "scripts" / "results.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["results"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["results"]


@pytest.fixture
def reference(script: ModuleType, tmp_path: Path) -> Any:
    ones = [data("sindy", "rc-circuit", verdict="identified"), data("operon", "rc-circuit")]
    board = compare(ones)
    return script.Reference("ode", [board], {"operon": 0, "sindy": 1}, tmp_path / "results")


def test_the_readme_has_the_blocks_of_a_page_that_it_names(script: ModuleType) -> None:
    page = "<!-- one -->\n\nnew\n\n<!-- end -->\n\n<!-- two -->\n\nother\n\n<!-- end -->\n"
    text = "Prose.\n\n<!-- one -->\n\nold\n\n<!-- end -->\n\n<!-- three -->\nx\n<!-- end -->\n"
    assert script.with_blocks_of(page, text) == text.replace("old", "new")


def test_blocks_are_written_again_and_prose_stays(script: ModuleType, reference: Any) -> None:
    page = "# Title\n\n<!-- systems -->\nold | table\n<!-- end -->\n\nProse.\n"
    once = script.fill(page, reference)
    assert "old" not in once
    assert once.startswith("# Title\n\n<!-- systems -->\n\n| system |")
    assert "| `rc-circuit` |" in once
    assert once.endswith("|\n\n<!-- end -->\n\nProse.\n")
    assert script.fill(once, reference) == once


def test_a_papers_entries_stand_beside_published_data_and_protocol_alone(
    script: ModuleType, tmp_path: Path
) -> None:
    released = {"options": {"variant": "released"}, "system": "kdv (released)"}

    def reference(name: str, **changes: Any) -> Any:
        ones = [
            data(method, "kdv", data_type="pde", verdict="identified", **changes)
            for method in ("pdefind", "bayesian")
        ]
        return script.Reference("pde", [compare(ones, "pde")], {}, tmp_path, name=name)

    assert "MDBench" not in reference("pde").systems()
    assert "| `kdv` |" in reference("pde").systems()
    assert "MDBench" not in reference("pde-released", **released).systems()
    alike = reference("pde-released", protocol="published", **released)
    head, _, line = alike.published_protocol().splitlines()
    assert head.count("MDBench") == 1  # bayesian is another method than the paper's
    assert line.endswith("| ✓ |")
    assert "| pdefind | 1 | 1 | 1 | 1 |" in alike.published()
    assert "bayesian" not in alike.published()


def test_figures_are_files_next_to_the_page(script: ModuleType, reference: Any) -> None:
    text = script.fill("<!-- figures -->\n<!-- end -->", reference)
    files = sorted(reference.folder.iterdir())
    assert files
    for file in files:
        assert f"]({file.name})" in text
        svg = file.read_text(encoding="utf-8")
        assert svg.startswith("<svg ")
        assert 'xmlns="http://www.w3.org/2000/svg"' in svg
        assert "@media screen and (prefers-color-scheme: dark)" in svg
        # Whoever sees the file alone must know which sign is whose.
        assert ">operon" in svg
        ET.fromstring(svg)


def test_a_block_that_is_none_is_named(script: ModuleType, reference: Any) -> None:
    with pytest.raises(SystemExit, match=r"<!-- tabel --> is no block; there are: runs, leader"):
        script.fill("<!-- tabel -->\n<!-- end -->", reference)


def test_blocks_of_another_run_on_the_page_stay(script: ModuleType, reference: Any) -> None:
    names = {"runs": "first", "leak-runs": "second", "sizes-runs": "third"}
    page = "".join(f"<!-- {name} -->\n{text}\n<!-- end -->\n" for name, text in names.items())
    made = script.fill(page, replace(reference, data_type="derivation", name="derivation-leak"))
    assert "first" in made
    assert "second" not in made
    assert "third" in made


def test_shares_of_labels_stand_with_the_interval_of_what_is_lost(reference: Any) -> None:
    scores = {
        "static_accuracy": 0.9256,
        "vr_accuracy": 0.8,
        "vr_drop_low": 0.1,
        "vr_drop_high": 0.15,
        "ee_accuracy": 1.0,
    }
    one = data("boosting", "structured-3", scores=scores, data_type="derivation")
    board = compare([one], "derivation")
    ones = [result("boosting", "structured-3", scores=scores, data_type="derivation")]
    table = replace(reference, data_type="derivation", boards=[board], results=ones).labels()
    head, rule, line = table.splitlines()
    assert len(head.split("|")) == len(rule.split("|")) == len(line.split("|")) == 8
    cells = "| `structured-3` | boosting | 0.926 | 0.800 (0.100 to 0.150) | 1.000 | "
    assert line.startswith(cells)
    scores = {"static_accuracy": 0.5, "easy_accuracy": 0.25}
    other = data("boosting", "integrate", scores=scores, data_type="derivation")
    ones = [result("boosting", "integrate", scores=scores, data_type="derivation")]
    board = compare([one, other], "derivation")
    table = replace(reference, data_type="derivation", boards=[board], results=ones).labels()
    head, _, line = table.splitlines()
    assert "EE" not in head  # as no dataset here has that set
    assert line.startswith("| `integrate` | boosting | 0.500 | 0.250 | ")


def test_what_is_run_exists(script: ModuleType) -> None:
    workspace = Workspace.find()
    methods = discover(workspace.algorithms)
    files = set((ROOT / "studies").glob("*.toml"))
    assert {ROOT / file for run in script.STUDIES.values() for file in run.files} <= files
    for file in files:
        for grid in Study.read(file).grids:
            for name in grid.algorithms:
                known = methods[name]
                assert not isinstance(known, MethodError)
                assert grid.data_type in known.spec.data_types


PAGE = """# ODE

<!-- found -->
<!-- end -->

## By hand

| method | identified |
|---|--:|
| sindy | 12 |

<!-- figures -->
<!-- end -->
"""


def answers() -> list[Record]:
    """Two methods on two systems; one identifies both."""
    return [
        result(method, name, verdict=verdict)
        for name in ("rc-circuit", "lotka-volterra-simple")
        for method, verdict in (("sindy", "identified"), ("operon", ""))
    ]


@pytest.fixture
def documents(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page as its records give it, with figures; and records that no run makes."""
    monkeypatch.setitem(STUDIES, "ode", StudyRun(("studies/ode.toml",), "ode", "results-ode.md"))
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    ones = answers()
    write_bundle(docs / "results", "ode", ones)
    write_table([flatten("sindy-ode.jsonl", ones[0])], docs / "results" / "ode-other.csv")
    made = script.reference_of("ode", ones, Workspace.find(), docs / "results")
    (docs / "results" / "results-ode.md").write_text(script.fill(PAGE, made), encoding="utf-8")
    return docs


def test_what_the_records_give_has_no_difference(script: ModuleType, documents: Path) -> None:
    before = {file: file.read_bytes() for file in documents.rglob("*.*")}
    assert list(documents.glob("results/*.svg"))
    assert script.differences("ode", Workspace.find(), documents) == []
    assert {file: file.read_bytes() for file in documents.rglob("*.*")} == before


def test_a_number_that_the_records_do_not_give_is_found(
    script: ModuleType, documents: Path
) -> None:
    page = documents / "results" / "results-ode.md"
    text = page.read_text(encoding="utf-8")
    assert "| sindy § | 2 + 0 of 2 |" in text
    page.write_text(text.replace("| sindy § | 2 + 0 of 2 |", "| sindy § | 1 + 0 of 2 |"), "utf-8")
    (line,) = script.differences("ode", Workspace.find(), documents)
    assert line.startswith("results-ode.md: the block found is not what the records give")
    assert "has:     | sindy § | 1 + 0 of 2 |" in line
    assert "give: | sindy § | 2 + 0 of 2 |" in line


@pytest.mark.parametrize("what", ["changed", "removed", "more"])
def test_a_figure_that_the_records_do_not_give_is_found(
    script: ModuleType, documents: Path, what: str
) -> None:
    file = min((documents / "results").glob("*.svg"))
    if what == "removed":
        file.unlink()
    else:
        file = file.with_name("ode-old.svg") if what == "more" else file
        file.write_text("<svg/>", encoding="utf-8")
    (line,) = script.differences("ode", Workspace.find(), documents)
    assert f"results/{file.name} is not" in line


def test_what_has_no_records_and_what_is_no_table_are_said(
    script: ModuleType, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "STUDIES", {"ode": STUDIES["ode"]})
    write_bundle(documents / "results", "other", answers())
    assert script.without_records(documents) == [
        "results-ode.md, By hand: a table that no run makes",
        "results/ode-other.csv: records that no run makes a block of",
        "results/other.jsonl.xz: records that no run makes a block of",
    ]


PAGE_OF_WORK = "results/results-equal-work.md"
WITH_NUMBERS = """# Equal work

`sindy` identifies <!-- = equal-work method=sindy identified -->2<!-- / --> systems.

<!-- found -->
<!-- end -->
"""


@pytest.fixture
def packed(script: ModuleType, tmp_path: Path) -> Workspace:
    """A root whose page is made from a bundle."""
    workspace = replace(Workspace.find(), root=tmp_path)
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    write_bundle(docs / "results", "equal-work", answers())
    (docs / "results" / "results-equal-work.md").write_text(WITH_NUMBERS, encoding="utf-8")
    script.write_page("equal-work", workspace)
    return workspace


def test_a_page_is_made_from_a_bundle(
    script: ModuleType, packed: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "| sindy | 2 + 0 of 2 |" in (packed.root / "docs" / PAGE_OF_WORK).read_text("utf-8")
    assert script.check(["equal-work"], packed) == 0
    assert not [*packed.root.rglob("*.csv")], "mdbench combine makes tables of records"
    assert "0 numbers in prose" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        (PAGE_OF_WORK, ("-->2<!--", "-->3<!--"), "identified is 2, and the page has 3"),
        (PAGE_OF_WORK, ("| sindy | 2 ", "| sindy | 1 "), "the block found is not"),
        (PAGE_OF_WORK, ("systems.", "systems in 4 s."), "that no record gives"),
    ],
)
def test_whatever_is_changed_on_a_page_fails(
    file: str,
    change: tuple[str, str],
    says: str,
    packed: Workspace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = sys.modules["results"]
    path = packed.root / "docs" / file
    text = path.read_text("utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change), "utf-8")
    assert script.check(["equal-work"], packed) == 1
    assert says in capsys.readouterr().out
    script.write_page("equal-work", packed)
    assert script.check(["equal-work"], packed) == int("4 s" in change[1])  # prose stays as it is


def test_records_that_change_fail(script: ModuleType, packed: Workspace) -> None:
    write_bundle(packed.root / "docs" / "results", "equal-work", answers()[:2])
    assert script.check(["equal-work"], packed) == 1


def test_no_number_of_the_pages_is_without_records(script: ModuleType) -> None:
    pages = script.result_pages(ROOT / "docs")
    assert {"results-equal-work.md", "whose-merit.md", "gallery.md"} <= {one.name for one in pages}
    find = partial(script.records_of, docs=ROOT / "docs")
    assert [line for page in pages for line in script.wrong_numbers(page, find)] == []
    assert script.without_records(ROOT / "docs") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_page_is_as_its_records_give_it(name: str, script: ModuleType) -> None:
    assert script.differences(name, Workspace.find(), ROOT / "docs") == []


def test_each_figure_belongs_to_one_run(script: ModuleType) -> None:
    """Runs whose names begin alike, such as pde and pde-released, keep theirs apart."""
    docs = ROOT / "docs"
    owners = [file for name in script.STUDIES for file in script._figures_of(name, docs)]
    made = [file for each in ("*.svg", "*-table.*") for file in (docs / "results").glob(each)]
    assert sorted(owners) == sorted(made)
