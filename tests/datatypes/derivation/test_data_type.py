"""The data type derivation: what a method is given, what it is not, and what labels are worth."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, add_method, execute, make_workspace

from mdbench import datatypes
from mdbench.cli.report import records_of
from mdbench.datatypes.base import Answer, Candidate, PlotBudget, PlottedAnswer
from mdbench.datatypes.derivation.answers import read_labels
from mdbench.datatypes.derivation.authors import authors_record
from mdbench.datatypes.derivation.calculus import calculation
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.records import read_record, record
from mdbench.datatypes.derivation.scores import (
    ClassSums,
    accuracy,
    bootstrap_difference,
    f1,
    probe,
)
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError, DataError, UsageError
from mdbench.records import Status
from mdbench.records.files import attached, pack_answers, unpack_answers
from mdbench.reports.bundle import opened, write_bundle
from mdbench.reports.pictures import Pictures
from mdbench.reports.sections import folders_of
from mdbench.runs.catalog import Catalog
from mdbench.runs.plan import make_plan
from mdbench.runs.reproduce import rescored
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.base import Task
    from mdbench.datatypes.derivation.data_type import DerivationType
    from mdbench.datatypes.derivation.scores import SequenceRows
    from mdbench.datatypes.derivation.sources import Sequences

TINY = "structured-2-tiny"
ECHO = """
import numpy as np

class Adapter:
    '''Remembers the labels, and shows what it was given.'''
    def __init__(self, *, seed, threads): ...
    def fit(self, problem):
        assert set(problem.arrays) == {"X", "Y"}, set(problem.arrays)
        self.share = problem.Y.mean()
    def predict(self, problem):
        assert set(problem.arrays) == {"X"}, set(problem.arrays)
        return np.full((len(problem.X), 1), self.share)
"""
STRANGE = ECHO.replace("1), self.share)", "1), 2.0)")
METRICS = ("static_accuracy", "vr_accuracy", "ee_accuracy", "ar_accuracy")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def kind(cache: Path) -> DerivationType:
    folder = ROOT / "datasets" / "derivation"
    return datatypes.find("derivation", folder, cache)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def dataset(kind: DerivationType) -> Sequences:
    return load(kind, TINY)


def load(kind: DerivationType, name: str, folder: Path | None = None) -> Sequences:
    return kind.source(folder).load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)


@pytest.fixture(scope="module")
def task(kind: DerivationType, dataset: Sequences) -> Task[Sequences]:
    return kind.task(dataset, "trees", Protocol.STRICT)


def judged(kind: DerivationType, task: Task[Sequences], scores: Any) -> dict[str, Any]:
    answer = kind.read_answer(task, Answer((), np.asarray(scores, float)[:, None]))
    return dict(kind.score(task, answer).metrics)


def test_all_configurations_can_be_read(kind: DerivationType) -> None:
    source = kind.source()
    assert source.names()[:2] == ["differentiate-tiny", TINY]
    for name in source.names():
        assert source.title(name)
        assert not name.endswith("tiny") or source.is_cached(name, {}) in {True, False}
    assert set(source.groups()) == {"tiny", "small", "leak", "authors", "paper", "hard", "open"}
    assert set(source.groups()["paper"]) == {
        "structured-2", "structured-3", "structured-4", "differentiate", "integrate",
    }  # fmt: skip


def test_a_method_sees_texts_and_labels_and_nothing_else(task: Task[Sequences]) -> None:
    for part, count in (
        (task.train, 120),
        (task.validation, 40),
        (task.refit, 160),
        (task.test, 160),
    ):
        assert set(part.inputs) == {"X", "trees"}
        assert part.inputs["X"].shape == (count,)
        assert part.targets.shape == (count, 1)
        for text, tree in zip(part.inputs["X"], part.inputs["trees"], strict=True):
            assert text.count("[SEP]") == 2
            assert set(json.loads(tree)) == {"steps", "op", "refs", "operand", "lhs", "rhs"}
    assert task.any_order
    assert not task.has_equations


def test_half_of_every_set_is_right(dataset: Sequences) -> None:
    rows = dataset.rows["test"]
    for name in ("static", "vr", "ee", "ar"):
        own = rows.labels[rows.sets == name]
        assert len(own) == 40
        assert own.sum() == 20


def test_neighbours_are_no_pairs_more_often_than_by_chance(dataset: Sequences) -> None:
    pairs = dataset.rows["train"].pairs
    assert np.sum(pairs[1:] == pairs[:-1]) <= 6


def test_data_are_made_once_and_are_the_same_anywhere(
    kind: DerivationType, dataset: Sequences, tmp_path: Path
) -> None:
    assert load(kind, TINY).fingerprint == dataset.fingerprint
    other = datatypes.find("derivation", kind.systems, tmp_path)
    said: list[str] = []
    other.on_progress = said.append
    again = load(other, TINY)  # type: ignore[arg-type]
    assert again.fingerprint == dataset.fingerprint
    assert said == [f"{TINY}: sequences are made, once"]
    rows = next(tmp_path.glob("*/rows.npz"))
    rows.write_bytes(rows.read_bytes()[:100])  # damaged, and made again
    assert load(other, TINY).fingerprint == dataset.fingerprint  # type: ignore[arg-type]


def by_set(rows: SequenceRows, right: dict[str, Any]) -> NDArray[np.float64]:
    """Return scores that are right in some sets: True, False, or for one label alone."""
    scores = np.empty(len(rows.labels))
    for place, (name, label) in enumerate(zip(rows.sets, rows.labels, strict=True)):
        wanted = right.get(str(name), True)
        good = wanted if isinstance(wanted, bool) else bool(label == wanted)
        scores[place] = float(label) if good else 1.0 - float(label)
    return scores


@pytest.mark.parametrize(
    ("right", "wanted"),
    [
        ({}, {"static_accuracy": 1, "both_signs": 1, "all_sets": 1, "all_derivations": 1,
              "not_perturbed": 0, "vr_drop": 0, "static_f1": 1, "static_macro": 1}),
        ({"vr": False, "ee": False, "ar": False},
         {"static_accuracy": 1, "vr_accuracy": 0, "all_sets": 0, "not_perturbed": 1, "ar_drop": 1,
          "ar_drop_low": 1, "ar_drop_high": 1}),
        ({"static": 1}, {"static_accuracy": 0.5, "both_signs": 0, "all_sets": 0.5,
                         "all_derivations": 0, "static_macro": 0.5, "static_f1": 2 / 3,
                         "ee_drop": -0.5}),
        ({"ar": 0}, {"ar_accuracy": 0.5, "all_sets": 0.5, "all_derivations": 0, "both_signs": 1,
                     "ar_f1": 0}),
        ({"static": False}, {"static_accuracy": 0, "both_signs": 0, "not_perturbed": 0}),
    ],
)  # fmt: skip
def test_scores_are_those_of_the_definitions(
    kind: DerivationType, task: Task[Sequences], right: dict[str, Any], wanted: dict[str, float]
) -> None:
    found = judged(kind, task, by_set(task.dataset.rows["test"], right))
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value), name
    assert set(found) == set(kind.metric_names(task))


def test_the_leak_is_shown_next_to_every_score(kind: DerivationType, task: Task[Sequences]) -> None:
    found = judged(kind, task, np.ones(160))
    assert found["static_accuracy"] == 0.5
    assert found["static_f1"] == pytest.approx(2 / 3)
    # The candidates of AR are those of the static set, with labels swapped.
    assert found["static_leak"] + found["ar_leak"] == pytest.approx(1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1, 1.1])
def test_scores_out_of_range_are_refused(
    kind: DerivationType, task: Task[Sequences], bad: float
) -> None:
    scores = np.full((160, 1), 0.5)
    scores[7] = bad
    with pytest.raises(AnswerError, match="within 0 and 1"):
        kind.read_answer(task, Answer((), scores))
    with pytest.raises(AnswerError, match="no labels"):
        kind.read_answer(task, Answer(()))


def test_candidates_are_weighed_by_f1(kind: DerivationType, task: Task[Sequences]) -> None:
    right = Candidate(0, (), {}, predictions=task.validation.targets)
    always = Candidate(1, (), {}, predictions=np.ones_like(task.validation.targets))
    offers = [kind.evaluate_candidate(task, task.validation, each) for each in (always, right)]
    share = task.validation.targets.mean()
    assert offers[0].fitness == pytest.approx(2 * share / (1 + share))
    assert offers[1].fitness == 1
    choice = kind.select(task, offers)
    assert choice is not None
    assert choice.indices == [0]


@pytest.mark.usefixtures("dataset")  # which is in the cache
def test_damaged_records_are_reported(kind: DerivationType, cache: Path, tmp_path: Path) -> None:
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    other: Any = datatypes.find("derivation", kind.systems, tmp_path)
    dataset = load(other, TINY)
    dataset.file.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="Delete it"):
        list(other.files(dataset))
    dataset.file.unlink()
    assert len(list(other.files(load(other, TINY)))) == 6


@pytest.mark.parametrize(
    "name", [TINY, pytest.param("differentiate-tiny", marks=pytest.mark.nightly)]
)
def test_pictures_show_a_derivation_bars_and_who_chose_what(
    kind: DerivationType, name: str
) -> None:
    dataset = load(kind, name)
    task = kind.task(dataset, "sequence", Protocol.STRICT)
    labels = dataset.rows["test"].labels
    shown = []
    for number, (method, scores) in enumerate({"knows": labels, "errs": 1 - labels}.items()):
        shown.append(PlottedAnswer(method, number, (), judged(kind, task, scores)))
    html = kind.plots(dataset, shown, PlotBudget(0)).html
    assert html.count("<math>") == 3
    assert "knows: the right one" in html
    assert "errs: the wrong one" in html
    assert "errs, static: 0.000" in html
    ET.fromstring(f"<div>{html.replace('&InvisibleTimes;', '').replace('&dd;', 'd')}</div>")
    always = judged(kind, task, np.ones(len(labels)))
    assert always["first_pair"] == "both"
    assert judged(kind, task, np.zeros(len(labels)))["first_pair"] == "neither"


def test_files_are_records_that_can_be_read(kind: DerivationType, dataset: Sequences) -> None:
    files = dict(kind.files(dataset))
    assert set(files) == {
        f"{form}/{TINY}/{split}.jsonl"
        for form in ("documented", "authors")
        for split in ("train", "validation", "test")
    }
    for name, count in (("train", 60), ("test", 20)):
        stream = io.BytesIO()
        files[f"documented/{TINY}/{name}.jsonl"](stream)
        lines = stream.getvalue().decode().splitlines()
        assert len([read_record(json.loads(line)) for line in lines]) == count
        stream = io.BytesIO()
        files[f"authors/{TINY}/{name}.jsonl"](stream)
        assert len(stream.getvalue().splitlines()) == count


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("steps = 3", "key 'title' is missing"),
        ("title = 'x'\nstep = 3", "Did you mean steps"),
        ("title = 'x'\nsteps = 'three'", "whole number"),
        ("title = 'x'\nmode = 'wide'", "There are: closed, open, prefix"),
        ("title = 'x'\nmode = 'open'\nnegatives = 'authors'", "mode = 'prefix'"),
        ("title = 'x'\nmode = 'prefix'\nnegatives = 'balanced'", "negatives = 'authors'"),
        ("title = 'x'\ntask = 'integrate'\nnegatives = 'balanced'", "of several steps"),
        ("title = 'x'\nclass_cap = 101", "from 0 to 100"),
        ("title = 'x'\nclass_cap = 5\nsplit = 'authors'", "split = 'alpha'"),
        ("title = 'x'\ntest = 0", "every split"),
        ("title =", "no valid TOML"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(
    kind: DerivationType, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        load(kind, "mine", file)
    assert says in str(caught.value)
    assert "mine.toml" in str(caught.value)


def test_what_is_not_there_is_named(
    kind: DerivationType, dataset: Sequences, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no dataset 'structured-5'"):
        load(kind, "structured-5")
    with pytest.raises(DataError, match="nothing at"):
        kind.source(tmp_path / "none").names()
    with pytest.raises(DataError, match="no configurations"):
        kind.source(tmp_path).names()
    with pytest.raises(UsageError, match="no view"):
        kind.task(dataset, "table", Protocol.STRICT)
    with pytest.raises(UsageError, match="no noise"):
        kind.source().load(TINY, snr_db=20.0, seed=0, protocol=Protocol.STRICT)


def test_f1_and_accuracy_are_those_of_counting() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        found, true = generator.random((2, 30)) < 0.4
        hits = sum(a and b for a, b in zip(found, true, strict=True))
        precision, recall = hits / max(1, found.sum()), hits / max(1, true.sum())
        wanted = 2 * precision * recall / (precision + recall) if hits else 0.0
        assert f1(found, true) == pytest.approx(wanted)
        assert accuracy(found, true) == np.mean([a == b for a, b in zip(found, true, strict=True)])
    none = np.zeros(3, bool)
    assert f1(none, none) == 0


def sums_of(values: NDArray[np.float64], size: int) -> ClassSums:
    """Put so many neighbours in each class."""
    return ClassSums(values.reshape(-1, size).sum(1), np.full(len(values) // size, float(size)))


def test_the_interval_is_that_of_the_normal_law_for_many() -> None:
    generator = np.random.default_rng(1)
    shared = generator.normal(size=400)
    one, other = shared + 0.3 + generator.normal(0, 0.1, 400), shared
    difference, low, high = bootstrap_difference(sums_of(one - other, 1))
    half = 1.96 * np.std(one - other) / 20
    assert (low, high) == pytest.approx((difference - half, difference + half), abs=0.003)
    _, wide_low, wide_high = bootstrap_difference(sums_of(one, 1), sums_of(other, 1))
    assert wide_high - wide_low > 5 * (high - low)


@pytest.mark.parametrize("size", [1, 4, 25])
def test_an_interval_knows_how_many_classes_there_are(size: int) -> None:
    """Examples of one class that are answered alike count as one."""
    answered = np.repeat(np.random.default_rng(2).random(400 // size) < 0.7, size).astype(float)
    mean, low, high = bootstrap_difference(sums_of(answered, size))
    half = 1.96 * np.sqrt(mean * (1 - mean) / (400 // size))
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.05 * half + 0.04)
    assert high - low == pytest.approx(2 * half, rel=0.12)


def test_classes_of_unequal_size_have_a_mean_of_their_own(
    kind: DerivationType, task: Task[Sequences]
) -> None:
    dataset = task.dataset
    classes = dataset.classes["static"]
    [(largest, count)] = Counter(classes).most_common(1)
    rows = dataset.rows["test"]
    in_largest = np.array([classes[pair] == largest for pair in rows.pairs])
    found = judged(kind, task, (rows.labels == 1) ^ (in_largest & (rows.sets == "static")))
    assert found["static_accuracy"] == pytest.approx(1 - count / 20)
    assert found["static_macro"] == pytest.approx(1 - 1 / len(set(classes)))
    shares = np.array(list(Counter(classes).values())) / 20
    assert found["effective_classes"] == pytest.approx(1 / np.sum(shares**2))
    # One class decides, and the interval says so.
    assert found["static_high"] - found["static_low"] > 0.5


def test_a_seed_of_a_run_is_one_of_the_data(kind: DerivationType, tmp_path: Path) -> None:
    text = "title = 'x'\nsteps = 2\ntrain = 20\nvalidation = 10\ntest = 10\nseed = {}\n"
    made = {}
    for own, of_run in ((0, 0), (0, 3), (3, 0)):
        folder = tmp_path / f"of {own}"
        folder.mkdir(exist_ok=True)
        (folder / "mine.toml").write_text(text.format(own))
        source = kind.source(folder)
        made[own, of_run] = source.load(
            "mine", snr_db=None, seed=of_run, protocol=Protocol.STRICT
        ).fingerprint
    assert made[0, 3] == made[3, 0] != made[0, 0]


def test_the_probe_finds_a_leak_and_no_other() -> None:
    right = [f"a [SEP] b [SEP] x + {n}" for n in range(20)]
    wrong = [f"a [SEP] b [SEP] y + {n}" for n in range(20)]
    labels = [1] * 20 + [0] * 20
    assert probe(right + wrong, labels, ["c [SEP] d [SEP] x", "c [SEP] d [SEP] y"]) == [True, False]
    assert probe(right, [1] * 20, ["c [SEP] d [SEP] y"]) == [True]


@pytest.fixture(scope="module")
def theirs() -> list[str]:
    """Write lines in the authors' keys."""
    settings = GeneratorSettings(steps=2)
    made = [generate(settings, "theirs", index) for index in range(60)]
    return [json.dumps(authors_record(one)) + "\n" for one in made]


def test_examples_of_ones_own_are_split_perturbed_and_scored(
    theirs: list[str], tmp_path: Path
) -> None:
    kind: Any = datatypes.find("derivation", ROOT / "datasets" / "derivation", tmp_path / "cache")
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, lines in (("train", theirs[:40]), ("test", theirs[40:])):
        (folder / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "all.jsonl").write_text("".join(theirs))
    packed = tmp_path / "all-packed.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(theirs).encode()))
    for path, name in ((folder, "mine"), (tmp_path / "all.jsonl", "all"), (packed, "all-packed")):
        source = kind.source(path)
        assert source.names() == [name]
        dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        task = kind.task(dataset, "trees", Protocol.STRICT)
        sizes = [len(part.targets) for part in (task.train, task.validation)]
        static = dataset.rows["test"].sets == "static"
        assert sum(sizes) + static.sum() == 120
        assert set(dataset.rows["test"].sets) == {"static", "vr", "ee", "ar"}
        found = judged(kind, task, dataset.rows["test"].labels)
        assert found["static_accuracy"] == found["all_derivations"] == 1
        assert found["effective_classes"] >= 1
        assert kind.plots(dataset, [], PlotBudget(0)).html.count("<math>") == 3
        again = kind.source(path).load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        assert again.fingerprint == dataset.fingerprint
    with pytest.raises(UsageError, match="no dataset 'other'"):
        kind.source(folder).load("other", snr_db=None, seed=0, protocol=Protocol.STRICT)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("title = 'x'\n", "line 1: no JSON"),
        ("[]\n", "a record is an object"),
        ("{}\n", "task is None"),
        ("", "no example is in train, validation, test"),
    ],
)
def test_a_file_of_examples_that_cannot_be_read_says_why(
    content: str, says: str, tmp_path: Path
) -> None:
    kind: Any = datatypes.find("derivation", ROOT / "datasets" / "derivation", tmp_path / "cache")
    file = tmp_path / "mine.jsonl"
    file.write_text(content)
    with pytest.raises(DataError, match=says) as caught:
        kind.source(file).load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)
    assert "TOML" not in str(caught.value)


def test_tasks_are_not_mixed(theirs: list[str], tmp_path: Path) -> None:
    kind: Any = datatypes.find("derivation", ROOT / "datasets" / "derivation", tmp_path / "cache")
    settings = GeneratorSettings(task="differentiate")
    other = json.dumps(record(calculation(settings, "mixed", 0), settings)) + "\n"
    (tmp_path / "mine.jsonl").write_text("".join([*theirs, other]))
    with pytest.raises(DataError, match="differentiate and of structured"):
        load(kind, "mine", tmp_path / "mine.jsonl")


@pytest.mark.usefixtures("dataset")
def test_a_run_leaves_a_record_with_all_scores(cache: Path, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    shutil.copytree(cache, workspace.arrays / "derivation")
    for name, adapter in (("echo", ECHO), ("strange", STRANGE)):
        toml = add_method(workspace, name, adapter) / "method.toml"
        text = (
            toml.read_text().replace('["ode"]', '["derivation"]').replace('"table"', '"sequence"')
        )
        toml.write_text(text)
    asked = RunOptions(("echo", "strange"), "derivation", (TINY,), result_dir=tmp_path / "results")
    done = execute(make_plan(asked, workspace), HereRuntime(), Quiet()).records
    records = {record.algorithm: record for record in done}
    assert records["echo"].status is Status.OK
    assert records["echo"].equations is None
    assert [records["echo"].metrics[name] for name in METRICS] == [0.5] * 4
    assert records["strange"].status is Status.INVALID_OUTPUT
    assert records["strange"].answers is None
    results = tmp_path / "results"
    # The record on the disk is read, and what it names is found; it is no results file.
    assert {one.algorithm for one in records_of([results])} == {"echo", "strange"}
    kept = read_labels(unpack_answers(results / str(records["echo"].answers)))
    flags = [flag for one in kept if one.set == "static" for flag in one.correct]
    assert flags.count(True) / len(flags) == records["echo"].metrics["static_accuracy"]
    # Labels that were kept are scored again as the answer was.
    older = records["echo"].model_copy(update={"metrics": {"static_accuracy": 0.5}})
    again = rescored(older, Catalog(workspace), [results])
    assert not again.left
    assert again.after.metrics == records["echo"].metrics
    assert set(again.changes) == set(records["echo"].metrics) - {"static_accuracy"}
    assert "does not hold it" in rescored(older, Catalog(workspace), [tmp_path]).left
    bundle = tmp_path / "results.zip"
    write_bundle([results], bundle, methods={})
    with opened(bundle) as place:
        [record] = [one for one in records_of([place]) if one.answers]
        file = attached(folders_of([place]), record.answers)
        assert file is not None
        assert read_labels(unpack_answers(file)) == kept
        drawn = Pictures(
            lambda name: datatypes.find(name, ROOT / "datasets" / name, cache), folders_of([place])
        ).draw([record], {"echo": 0})
    assert "operators behind right and wrong labels" in drawn.html
    file = results / str(records["echo"].answers)
    other = record.model_copy(update={"algorithm": "sound", "answers": "sound.answers.xz"})
    shutil.copy(file, results / "sound.answers.xz")
    pictures = Pictures(
        lambda name: datatypes.find(name, ROOT / "datasets" / name, cache), [results]
    )
    for content, words in (
        (b"damaged", "cannot be read"),
        (file.read_bytes()[:-20], "cut off"),
        (pack_answers(b'{"set": "static"}\n'), "line 1 of the labels is none"),
        (None, "is not next to its record"),
    ):
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        broken = pictures.draw([record, other], {"echo": 0, "sound": 1})
        assert broken.note.startswith("echo: ")
        assert words in broken.note
        assert "sound: operators behind right and wrong labels" in broken.html
        assert "echo: operators behind" not in broken.html


@pytest.mark.usefixtures("dataset")
def test_all_data_are_written_as_files(cache: Path, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.root / "datasets").unlink()
    folder = workspace.root / "datasets" / "derivation"
    folder.mkdir(parents=True)
    (folder / f"{TINY}.toml").write_text(
        (ROOT / "datasets/derivation" / f"{TINY}.toml").read_text()
    )
    kind = datatypes.find("derivation", folder, cache)
    assert kind.write_all(tmp_path / "out") == 6
    assert (tmp_path / "out/documented" / TINY / "test.jsonl").read_text().count("\n") == 20
