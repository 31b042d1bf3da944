"""``scripts/edition``: a study in pieces, whose records are kept packed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import edition
import pytest
from bundles import read_bundle
from harness import HereRuntime, add_method
from reporting import result

from mdbench.errors import UnavailableError
from mdbench.records import Record
from mdbench.runs.spec import JobSpec
from mdbench.runs.study import Study

if TYPE_CHECKING:
    from mdbench.methods import Method
    from mdbench.runtimes.base import Prepared
    from mdbench.workspace import Workspace

Output = pytest.CaptureFixture[str]
STUDY = """
schema = 1
[[grid]]
data_type = "ode"
algorithm = ["zero", "nil"]
dataset = ["rc-circuit", "overdamped-bead"]
seeds = "0-1"
work = 5
"""


@pytest.fixture
def bundles(command_line: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of bundles of a workspace with two methods, and a study in this folder."""
    add_method(command_line, "zero")
    add_method(command_line, "nil")
    Path("pieces.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)  # other tests need all cores
    monkeypatch.setattr(edition, "open_runtime", lambda *_, **__: HereRuntime())
    return command_line.root / "docs" / "results"


def test_any_number_of_pieces_is_balanced_and_the_next_goes_on(
    bundles: Path, capsys: Output
) -> None:
    for left in range(7, -1, -1):
        # A piece is expected to take so little that it is one job.
        assert edition.main(["pieces.toml", "--pieces", "1", "--minutes", "1e-9"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"ode: {left} of 8 jobs left:" in text
        assert f"{8 - left} record" in text
        records = read_bundle(bundles, "pieces")
        cases = [
            {(one.dataset, one.seed) for one in records if one.algorithm == name}
            for name in ("zero", "nil")
        ]
        assert len(cases[0] ^ cases[1]) <= 1
        seeds = [one.seed for one in records]
        assert seeds.count(0) == 4 or 1 not in seeds
    before = (bundles / "pieces.jsonl.xz").read_bytes()
    assert edition.main(["pieces.toml"]) == 0
    assert (bundles / "pieces.jsonl.xz").read_bytes() == before


def test_jobs_of_a_method_that_has_changed_since_are_left(bundles: Path, capsys: Output) -> None:
    assert edition.main(["pieces.toml"]) == 0
    adapter = bundles.parents[1] / "algorithms" / "nil" / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    capsys.readouterr()
    assert edition.main(["pieces.toml", "--left"]) == 0
    assert "ode: 4 of 8 jobs left" in capsys.readouterr().out
    assert edition.main(["pieces.toml"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "8 records in" in text
    assert "ode: 0 of 8 jobs left" in text


def test_seeds_that_take_a_record_have_that_of_a_changed_method(
    bundles: Path, capsys: Output
) -> None:
    folder = bundles.parents[1] / "algorithms" / "nil"
    text = (folder / "method.toml").read_text(encoding="utf-8")
    text = text.replace("seedable = true", "seedable = false")
    (folder / "method.toml").write_text(text, encoding="utf-8")
    assert edition.main(["pieces.toml"]) == 0
    adapter = folder / "adapter.py"
    adapter.write_text(adapter.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert edition.main(["pieces.toml"]) == 0
    records = [one for one in read_bundle(bundles, "pieces") if one.algorithm == "nil"]
    assert len(records) == 4
    assert len({one.key_parts["adapter"] for one in records}) == 1
    capsys.readouterr()
    assert edition.main(["pieces.toml", "--left"]) == 0
    assert "ode: 0 of 8 jobs left" in capsys.readouterr().out


@pytest.mark.parametrize("minutes", ["1e-9", "30"])
def test_seeds_that_change_nothing_take_the_record_of_one(
    bundles: Path, capsys: Output, minutes: str
) -> None:
    """They are no job that is due, and yet each has its record in the end."""
    for name in ("zero", "nil"):
        file = bundles.parents[1] / "algorithms" / name / "method.toml"
        text = file.read_text(encoding="utf-8").replace("seedable = true", "seedable = false")
        file.write_text(text, encoding="utf-8")
    assert edition.main(["pieces.toml", "--minutes", minutes]) == 0
    assert "ode: 0 of 8 jobs left" in capsys.readouterr().out
    records = read_bundle(bundles, "pieces")
    taken = [one.seed for one in records if one.measured.of_seed == 0]
    assert (len(records), taken) == (8, [1] * 4)
    before = (bundles / "pieces.jsonl.xz").read_bytes()
    assert edition.main(["pieces.toml"]) == 0
    assert (bundles / "pieces.jsonl.xz").read_bytes() == before


def test_parts_have_each_case_once_and_one_bundle(bundles: Path, capsys: Output) -> None:
    done: list[set[tuple[str, int]]] = []
    for part in ("1/3", "2/3", "3/3"):
        assert edition.main(["pieces.toml", "--part", part]) == 0
        assert "ode: 0 of " in capsys.readouterr().out
        done.append({(one.dataset, one.seed) for one in read_bundle(bundles, "pieces")})
    assert [len(each) for each in done] == [2, 3, 4]  # four cases, each with both methods
    assert len(read_bundle(bundles, "pieces")) == 8
    # Nothing is left for a process that has all parts.
    assert edition.main(["pieces.toml", "--pieces", "1"]) == 0
    assert "ode: 0 of 8 jobs left" in capsys.readouterr().out
    assert len(read_bundle(bundles, "pieces")) == 8


def test_data_types_that_come_first_are_whole_before_others(command_line: Workspace) -> None:
    toml = add_method(command_line, "zero") / "method.toml"
    types = 'data_types = ["ode", "srsd", "surface"]'
    toml.write_text(toml.read_text().replace('data_types = ["ode"]', types), encoding="utf-8")
    grid = '[[grid]]\nalgorithm = "zero"\ndata_type = "{}"\ndataset = {}\nwork = 5\n'
    texts = [
        grid.format("ode", '["rc-circuit", "overdamped-bead"]'),
        grid.format("surface", '["PMOS4", "PMOS9"]'),
        grid.format("srsd", '["feynman-i.12.1", "feynman-i.29.4"]'),
    ]
    Path("types.toml").write_text("schema = 1\n" + "".join(texts), encoding="utf-8")
    made = edition.Edition(Study.read(Path("types.toml")), "types", Path("r"), command_line)
    plain = made.plan().jobs
    made.first = ("srsd", "ode")
    sorted_jobs = made.plan().jobs
    assert [job.data_type for job in sorted_jobs] == ["srsd"] * 2 + ["ode"] * 2 + ["surface"] * 2
    assert {*sorted_jobs} == {*plain}
    made.part = (1, 2)
    halves = [{*made.plan().jobs}]
    made.first = ()
    halves.append({*made.plan().jobs})
    assert halves[0] == halves[1], "a part has the same cases in every order"


def test_it_goes_on_where_only_the_bundle_is_left(bundles: Path, capsys: Output) -> None:
    assert edition.main(["pieces.toml", "--pieces", "1", "--minutes", "1e-9"]) == 0
    for file in Path().rglob("*.jsonl"):
        file.unlink()
    for file in (bundles.parents[1] / "results").rglob("*.jsonl"):
        file.unlink()
    assert edition.main(["pieces.toml"]) == 0
    assert "1 record taken from the bundle" in capsys.readouterr().out
    assert len(read_bundle(bundles, "pieces")) == 8


def test_what_cannot_be_made_is_tried_once(
    bundles: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    class NoRuntime(HereRuntime):
        def prepare(self, method: Method) -> Prepared:
            if method.name == "nil":
                raise UnavailableError("no network")
            return super().prepare(method)

    monkeypatch.setattr(edition, "open_runtime", lambda *_, **__: NoRuntime())
    assert edition.main(["pieces.toml", "--minutes", "1e-9"]) == 0
    assert {one.algorithm for one in read_bundle(bundles, "pieces")} == {"zero"}
    assert "ode: 4 of 8 jobs left" in capsys.readouterr().out


def test_records_of_another_study_are_not_packed_and_none_is_lost(bundles: Path) -> None:
    assert edition.main(["pieces.toml"]) == 0
    Path("other.toml").write_text(STUDY.replace("0-1", "1-2"), encoding="utf-8")
    folder = bundles.parents[1] / "results" / "pieces"
    assert edition.main(["other.toml", "--result-dir", str(folder)]) == 0
    assert {one.seed for one in read_bundle(bundles, "other")} == {1, 2}
    # A study that was made shorter takes nothing from the bundle that is there.
    Path("pieces.toml").write_text(STUDY.replace("0-1", "1"), encoding="utf-8")
    assert edition.main(["pieces.toml"]) == 0
    assert {one.seed for one in read_bundle(bundles, "pieces")} == {0, 1}


def test_answers_that_are_kept_are_copied_next_to_the_bundle(bundles: Path) -> None:
    assert edition.main(["pieces.toml"]) == 0
    folder = bundles.parents[1] / "results" / "pieces"
    [store, *_] = sorted(folder.glob("*.jsonl"))
    lines = store.read_text(encoding="utf-8").splitlines()
    [first, *others] = map(Record.model_validate_json, lines)
    named = [first.model_copy(update={"answers": "answers/a/b.xz"})]
    named += [one.model_copy(update={"answers": "../secret"}) for one in others]
    store.write_text("".join(f"{one.to_line()}\n" for one in named), encoding="utf-8")
    (folder / "answers" / "a").mkdir(parents=True)
    (folder / "answers" / "a" / "b.xz").write_bytes(b"labels")
    (folder.parent / "secret").write_bytes(b"none of its files")
    assert edition.main(["pieces.toml", "--pack"]) == 0
    assert (bundles / "answers" / "a" / "b.xz").read_bytes() == b"labels"
    assert not (bundles.parent / "secret").exists()


def test_a_study_without_a_page_is_checked_by_what_is_left(bundles: Path, capsys: Output) -> None:
    del bundles
    assert edition.main(["pieces.toml", "--pieces", "1", "--minutes", "1e-9"]) == 0
    capsys.readouterr()
    assert edition.main(["pieces.toml", "--check"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "No page has the records of pieces" in text
    assert "In all 7 of 8 jobs" in text
    assert edition.main(["pieces.toml"]) == 0
    assert edition.main(["pieces.toml", "--check"]) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none.toml"], "none.toml does not exist"),
        (["pieces.toml", "--result-dir", "pieces.toml"], "pieces.toml"),
        (["pieces.toml", "--pack"], "has no records of pieces.toml"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], says: str, bundles: Path, capsys: Output) -> None:
    assert edition.main(words) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert says in error
    assert "Traceback" not in error
    assert not bundles.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--minutes", "0"],
        ["--pieces=-1"],
        ["--core", "4096"],
        *(["--part", text] for text in ("2", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3")),
    ],
)
@pytest.mark.usefixtures("bundles")
def test_options_that_cannot_be_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        edition.main(["pieces.toml", *words])
    assert caught.value.code == 2


def test_work_left_is_that_of_records_else_the_budget() -> None:
    one = result("zero", "a", budget={"timeout_s": 60.0, "work_s": 36.0, "threads": 1})
    one = one.model_copy(update={"measured": one.measured.model_copy(update={"work_s": 18.0})})
    job = JobSpec.of(one)
    assert edition.hours_of([job, job], [one], "work_s") == (0.01, 2)
    assert edition.hours_of([job], [], "work_s") == (0.01, 0)
    slow = one.model_copy(update={"measured": one.measured.model_copy(update={"wall_s": 360.0})})
    assert edition.hours_of([job], [slow], "wall_s") == (0.1, 1)
