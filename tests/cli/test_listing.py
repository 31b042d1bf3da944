"""What ``list`` shows, and what a run says of its seeds and of all methods."""

from __future__ import annotations

import pytest
from harness import ROOT

from mdbench.cli import main
from mdbench.cli.workspace import describe
from mdbench.methods import Method, discover
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan, methods_for, seed_remarks
from mdbench.runs.study import RunOptions, Study
from mdbench.workspace import Workspace

METHODS = {k: v for k, v in discover(ROOT / "algorithms").items() if isinstance(v, Method)}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_methods_have_licence_and_installation_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list", "--data-type", "ode"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "GPL-3.0, " in text
    assert text.count("installed") >= len(
        [m for m in METHODS.values() if "ode" in m.spec.data_types]
    )


def test_datasets_are_listed_without_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--datasets"]) == 0
    text = capsys.readouterr().out
    assert "Methods" not in text
    assert "rc-circuit, " in text
    assert len(text.splitlines()) < 400
    assert main(["list", "--datasets", "--data-type", "ode"]) == 0
    assert "A capacitor charged through a resistor" in capsys.readouterr().out


def test_a_variant_is_described_by_what_it_is_of_and_what_differs() -> None:
    specs = [method.spec for method in METHODS.values()]
    texts = {spec.name: describe(spec, specs) for spec in specs}
    assert texts["operon"].startswith("genetic programming")
    assert texts["gplearn_searched"] == (
        "classic genetic programming; here with searched hyperparameters: 100 random trials"
    )
    variants = [name for name in texts if name.endswith(("_nollm", "_searched"))]
    assert len(variants) >= 8
    for name in variants:
        base = texts[name.rpartition("_")[0]]
        assert texts[name].startswith(f"{base}; here with"), name
        assert len(texts[name]) > len(base) + 30, name


def test_all_is_every_method_that_needs_nothing_else() -> None:
    options = RunOptions(("all",), "ode", ("rc-circuit",))
    plan = make_plan(options, Workspace.find())
    named = {job.algorithm for job in plan.jobs}
    assert named == {*methods_for("ode", Catalog(Workspace.find()))}
    assert {"sindy", "operon", "sga_nollm"} <= named
    assert not {"truth", "sga", "pdefind", "all"} & named


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((3,), "3 seeds are: --seeds 0-2"), ((1,), "number 1."), ((0,), ""), ((0, 1, 2), "")],
)
def test_one_seed_is_not_taken_for_a_number_of_seeds(seeds: tuple[int, ...], words: str) -> None:
    remarks = list(seed_remarks(Study((RunOptions(("sindy",), "ode", seeds=seeds),))))
    assert len(remarks) == bool(words)
    assert all(line.endswith(words) for line in remarks)


def test_an_unknown_option_is_not_called_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--method", "sindy", "--data-type", "ode"]) == 2
    assert "'--method' is no option of a run." in capsys.readouterr().err
    assert main(["run", "sindy", "ode"]) == 2
    assert "'sindy' stands without an option." in capsys.readouterr().err
