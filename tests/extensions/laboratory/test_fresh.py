"""Problems drawn anew: the same by a seed, new in structure, seen in clean data, committed to."""

from __future__ import annotations

import hashlib
import json
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, add_method, make_workspace
from reporting import EXAMPLE, data, write

from eqverdict.structure import structure
from mdbench import datatypes
from mdbench.cli import main
from mdbench.cli.workspace import list_as_json
from mdbench.datatypes.ode.systems import integrate, read_system
from mdbench.datatypes.srsd.laws import draw as samples_of
from mdbench.datatypes.srsd.laws import read_problem
from mdbench.errors import DataError, UsageError
from mdbench.extensions.laboratory.drawing import (
    GRAMMARS,
    MANIFEST,
    check_commitment,
    commit,
    commitment,
    draw,
    frozen_hash,
)
from mdbench.extensions.laboratory.sealed import sealed_records
from mdbench.extensions.laboratory.truths import check_truths
from mdbench.records import Record

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.workspace import Workspace

SEEDS = ("test-a", "test-b")
COUNT = 3
ABLE = ("ode", "srsd")


def quiet(name: str, done: int, of: int) -> None:
    del name, done, of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("fresh"))
    (made.root / "datasets").unlink()
    for name in ABLE:
        (made.root / "datasets" / name).mkdir(parents=True)
        for each in (ROOT / "datasets" / name).iterdir():
            (made.root / "datasets" / name / each.name).symlink_to(each)
    for seed in SEEDS:
        draw(seed, made, ABLE, COUNT, quiet, grammar=1)
    return made


def texts(place: Workspace, kind: str, seed: str) -> dict[str, str]:
    folder = place.datasets / kind / f"fresh-{seed}"
    return {each.name: each.read_text("utf-8") for each in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_files(place: Workspace) -> None:
    """Also where the problems of another seed, and more of the same, are there."""
    for kind in ABLE:
        before = texts(place, kind, SEEDS[0])
        assert len(before) == COUNT + 1
        other = texts(place, kind, SEEDS[1])
        assert len(other) == COUNT + 1
        folder = draw(SEEDS[0], place, [kind], COUNT - 1, quiet, grammar=1)[kind]
        fewer = texts(place, kind, SEEDS[0])
        assert len(fewer) == COUNT
        manifests = [json.loads(each.pop(MANIFEST)) for each in (fewer, dict(before))]
        files, of_all = (each.pop("files") for each in manifests)
        assert manifests[0] == manifests[1]
        assert fewer.items() <= before.items()
        assert files.items() <= of_all.items()
        for name, text in before.items():  # as other tests want them
            (folder / name).write_text(text, encoding="utf-8")
        formulas = [{t.split("[variables]")[0] for t in each.values()} for each in (before, other)]
        assert not formulas[0] & formulas[1]


def test_none_has_the_structure_of_another_system(place: Workspace) -> None:
    ode = place.datasets / "ode"
    fresh = [read_system(path) for seed in SEEDS for path in ode.glob(f"fresh-{seed}/*.toml")]
    known = [read_system(path) for path in (ROOT / "datasets/ode").rglob("*.toml")]
    shapes = [structure(one.truth, list(one.variables), states=True) for one in fresh]
    assert len(set(shapes[:COUNT])) == COUNT
    by_dim = [one for one in known if one.dim <= 4]
    taken = {structure(one.truth, list(one.variables), states=True) for one in by_dim}
    assert not taken & set(shapes)
    laws = [
        read_problem(path)
        for seed in SEEDS
        for path in (place.datasets / "srsd").glob(f"fresh-{seed}/*.toml")
    ]
    assert {len(one.spreads) for one in laws} <= set(range(1, 10))
    assert len({structure([one.law], list(one.spreads)) for one in laws[:COUNT]}) == COUNT


def test_systems_are_bounded_move_and_have_short_constants(place: Workspace) -> None:
    for path in (place.datasets / "ode").glob("fresh-*/*.toml"):
        system = read_system(path)
        for start in system.initial_conditions:
            _, u, du = integrate(system, start)
            assert np.abs(u).max() < 51
            assert np.ptp(u, axis=0).min() > 0.19
            assert np.isfinite(du).all()
        table = tomllib.loads(path.read_text("utf-8"))
        for text in table["equations"].values():
            numbers = [word for word in text.replace("(", " ").split() if word[0].isdigit()]
            assert all(
                len(each.strip("0.").replace(".", "").replace(")", "")) <= 3 for each in numbers
            )


def test_laws_vary_and_depend_on_every_variable(place: Workspace) -> None:
    for path in (place.datasets / "srsd").glob("fresh-*/*.toml"):
        law = read_problem(path)
        x, y = samples_of(law, law.law, 500, accurate=False)
        assert np.std(y) > 0.01 * np.mean(np.abs(y))
        assert x.shape == (500, len(law.spreads))


@pytest.mark.parametrize("kind", ABLE)
def test_the_truth_of_each_is_identified(place: Workspace, kind: str) -> None:
    opened = datatypes.find(kind, place.datasets / kind, place.arrays / kind)
    source = opened.source()
    names = list(source.groups()[f"fresh-{SEEDS[0]}"])[:4]
    for one in check_truths(opened, source, names, [None], {}):
        assert one.wins, one


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_a_commitment_is_of_one_seed_and_shows_what_has_changed(
    grammar: int, tmp_path: Path
) -> None:
    place = make_workspace(tmp_path / "workspace")
    folder = add_method(place, "zero")
    path = tmp_path / "commitment.json"
    path.write_text(json.dumps(commit(SEEDS[0], grammar, place)), encoding="utf-8")
    assert SEEDS[0] not in path.read_text("utf-8")
    assert check_commitment(SEEDS[0], path, place) == (SEEDS[0], grammar, [])
    assert check_commitment(SEEDS[0], path, place, grammar) == (SEEDS[0], grammar, [])
    with pytest.raises(DataError, match=f"of grammar {grammar}"):
        check_commitment(SEEDS[0], path, place, 3 - grammar)
    with pytest.raises(DataError, match="not of the seed"):
        check_commitment(SEEDS[1], path, place)
    adapter = folder / "adapter.py"
    adapter.write_text(adapter.read_text("utf-8") + "\n# tuned\n", encoding="utf-8")
    add_method(place, "later")
    assert check_commitment(SEEDS[0], path, place) == (SEEDS[0], grammar, ["later", "zero"])
    if grammar > 1:
        published = json.loads(path.read_text("utf-8")) | {"counts": "other"}
        path.write_text(json.dumps(published), encoding="utf-8")
        with pytest.raises(DataError, match="other counts"):
            check_commitment(SEEDS[0], path, place)
    for text in ("{", "[]", '{"commitment": "x"}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="no commitment"):
            check_commitment(SEEDS[0], path, place)
    with pytest.raises(DataError, match="no commitment"):
        check_commitment(SEEDS[0], tmp_path / "nothing.json", place)


def test_a_number_that_comes_later_makes_the_seed(tmp_path: Path) -> None:
    """SHA-256 of the file, and of the number after it; nobody can know the second before."""
    place = make_workspace(tmp_path / "workspace")
    add_method(place, "zero")
    path = tmp_path / "commitment.json"
    path.write_text(json.dumps(commit(None, 2, place, "a lottery")), encoding="utf-8")
    text = path.read_bytes()
    first = hashlib.sha256(text).hexdigest()[:16]
    later = hashlib.sha256(text + b"\n7 11 13").hexdigest()[:16]
    assert check_commitment(None, path, place) == (first, 2, [])
    assert check_commitment(None, path, place, number=" 7 11 13 ") == (later, 2, [])
    with pytest.raises(UsageError, match="names an event"):
        check_commitment(first, path, place)
    changed = json.loads(text) | {"code": "other"}
    path.write_text(json.dumps(changed), encoding="utf-8")
    seed, _, since = check_commitment(None, path, place)
    assert (seed != first, since) == (True, ["the code of mdbench"])
    path.write_text(json.dumps(commit("a", 2, place)), encoding="utf-8")
    for asked, number in ((None, None), ("a", "7")):
        with pytest.raises(UsageError, match="names no event"):
            check_commitment(asked, path, place, number=number)


def test_records_of_a_method_that_has_changed_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file, a lock, or a method that the commitment does not name."""
    rows = [
        data(
            name,
            key_parts={"adapter": files},
            provenance=EXAMPLE["provenance"] | {"lock_sha256": lock},
        )
        for name, files, lock in (
            ("same", "f" * 64, "a" * 64),
            ("tuned", "e" * 64, "a" * 64),
            ("locked", "f" * 64, "b" * 64),
            ("later", "f" * 64, "a" * 64),
        )
    ]
    whole = frozen_hash("f" * 64, "a" * 64)
    named = dict.fromkeys(("same", "tuned", "locked"), whole)
    published = {"grammar": 2, "event": "x", "methods": named}
    divided = sealed_records(map(Record.model_validate, rows), published)
    assert [one.algorithm for one in divided.counts] == ["same"]
    assert {name: why.split()[-1] for name, why in divided.reasons.items()} == {
        "tuned": "commitment",
        "locked": "commitment",
        "later": "it",
    }
    path = tmp_path / "commitment.json"
    path.write_text(json.dumps(published), encoding="utf-8")
    results = write(tmp_path / "results", rows)
    verb = ["lab", "sealed", str(results), "--commitment", str(path), "--json"]
    assert main(verb) == 1
    lines = json.loads(capsys.readouterr().out)["methods"]
    assert {line["algorithm"]: line["refused"] for line in lines} == {
        "same": 0,
        "tuned": 1,
        "locked": 1,
        "later": 1,
    }
    for name in ("tuned", "locked", "later"):
        (results / f"{name}-ode.jsonl").unlink()
    assert main(verb[:-1]) == 0
    assert "1 record of methods as they were committed to; 0 refused" in capsys.readouterr().out
    assert main(["lab", "sealed", str(results), "--commitment", str(results / "no")]) == 2
    assert "no commitment" in capsys.readouterr().err


def test_list_names_what_was_drawn_with_its_source(
    place: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    list_as_json(place, "srsd")
    (kind,) = json.loads(capsys.readouterr().out)["data_types"]
    found = {each["name"]: each for each in kind["suites"]}
    for seed in SEEDS:
        suite = found[f"fresh-{seed}"]
        assert (suite["datasets"], suite["licence"]) == (COUNT, "MIT")
        assert "mdbench lab fresh" in suite["source"]


@pytest.mark.parametrize("seed", ["", "../x", "A", "a b", "-a", "a" * 65, "ü", "a+b"])
def test_a_seed_that_is_no_name_is_refused(seed: str) -> None:
    with pytest.raises(UsageError, match="--seed"):
        commitment(seed, 2)


@pytest.mark.usefixtures("workspace")
def test_the_command_refuses_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "fresh", "--seed", "a", "--data-type", "real"]) == 2
    assert "not drawn" in capsys.readouterr().err
    one = ["lab", "fresh", "--seed", "a", "--data-type", "surface", "--grammar", "1"]
    assert main(one) == 2
    assert "--grammar" in capsys.readouterr().err
    assert main(["lab", "fresh", "--seed", "a", "--grammar", "3"]) == 2
    assert "Give 1 or 2" in capsys.readouterr().err
    assert main(["lab", "fresh", "--seed", "A/B"]) == 2
    assert "small letters" in capsys.readouterr().err
    assert main(["lab", "fresh", "--seed", "a", "--commit"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["commitment"] == commitment("a", 2)
    assert main(["lab", "fresh", "--commit", "--event", "a lottery"]) == 0
    assert json.loads(capsys.readouterr().out)["event"] == "a lottery"
    for words in ([], ["--number", "7", "--seed", "a"], ["--commit"]):
        assert main(["lab", "fresh", *words]) == 2
        assert "--seed TEXT" in capsys.readouterr().err
    assert main(["lab", "fresh", "--commit", "--event", "x", "--seed", "a"]) == 2
    assert "--event TEXT" in capsys.readouterr().err
    assert main(["lab", "fresh", "--seed", "a", "--commit", "--grammar", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["commitment"] == commitment("a", 1)
