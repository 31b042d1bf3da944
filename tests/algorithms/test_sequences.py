"""Methods on sequences: what they see, what they are to find, and what they cannot."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, HereRuntime, Quiet, execute, imported
from sweeps import sampled

from mdbench import datatypes
from mdbench.authoring.check import check_method
from mdbench.datatypes.base import Answer, Split
from mdbench.datatypes.derivation.calculus import calculation
from mdbench.datatypes.derivation.datasets import (
    alternative_results,
    expression_exchange,
    variable_renaming,
)
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.records import texts, trees
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.datatypes.facts import Protocol
from mdbench.methods import load
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.runtimes.environments.venvs import prepare
from mdbench.worker import Problem, Unsupported
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import Task

LIGHT = (
    "majority", "candidate_only", "operation_candidate", "operand_candidate", "tfidf_lr",
    "tagged_lr", "boosting", "replay",
)  # fmt: skip
"""Those whose packages the development environment has, too."""
VIEWS = {"replay": "trees"}
GREEK_OF = {"x": "xi", "y": "omega", "F": "alpha"}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Cut some 2-step derivations, in both views."""
    folder = tmp_path_factory.mktemp("derivations")
    (folder / "mine.toml").write_text(
        "title = 'two steps'\nsteps = 2\ntrain = 500\nvalidation = 60\ntest = 200\n"
    )
    kind = datatypes.find("derivation", folder, folder / "cache")
    dataset = kind.source().load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)
    return kind, {view: kind.task(dataset, view, Protocol.STRICT) for view in kind.views}


def problem(part: Split, *, targets: bool = True) -> Problem:
    arrays = dict(part.inputs) | ({"Y": part.targets} if targets else {})
    return Problem("sequence", ("sequence",), ("right",), arrays)


_known: dict[str, dict[str, float]] = {}


def scores_of(name: str, task: Any) -> dict[str, float]:
    if name not in _known:
        _known[name] = _scores_of(name, task)
    return _known[name]


def _scores_of(name: str, task: Any) -> dict[str, float]:
    kind, tasks = task
    own: Task[Any] = tasks[VIEWS.get(name, "sequence")]
    with imported(name) as module:
        adapter = module.Adapter(seed=0, threads=1)
        adapter.fit(problem(own.refit))
        predictions = adapter.predict(problem(own.test, targets=False))
        again = adapter.predict(problem(own.test, targets=False))
    assert predictions.shape == own.test.targets.shape
    assert np.array_equal(predictions, again)
    return dict(kind.score(own, kind.read_answer(own, Answer((), predictions))).metrics)


def test_replay_is_right_about_everything(task: Any) -> None:
    found = scores_of("replay", task)
    for name in ("static", "vr", "ee", "ar"):
        assert found[f"{name}_accuracy"] == 1
    assert found["all_sets"] == 1


def test_the_majority_is_a_coin(task: Any) -> None:
    found = scores_of("majority", task)
    assert found["static_accuracy"] == 0.5
    assert found["both_signs"] == 0


def test_who_sees_the_candidate_alone_is_no_better_than_a_coin(task: Any) -> None:
    found = scores_of("candidate_only", task)
    assert 0.4 < found["static_accuracy"] < 0.6
    # Labels swapped, candidates the same.
    assert found["static_accuracy"] + found["ar_accuracy"] == pytest.approx(1)


@pytest.mark.parametrize("name", ["operation_candidate", "operand_candidate"])
def test_a_probe_sees_no_known_equation(name: str) -> None:
    with imported(name) as module:
        for index in range(20):
            example = generate(GeneratorSettings(steps=3), "main", index)
            for text in texts(example):
                known, rest = text.split(" [SEP] ", 1)
                assert known
                numbers, question = module.Adapter.numbers, module.Adapter.question
                assert numbers(question(text)) == numbers(question(f"x = y [SEP] {rest}"))


@pytest.mark.parametrize("name", ["operation_candidate", "operand_candidate"])
def test_a_probe_knows_most_where_negatives_are_of_other_operators(name: str, task: Any) -> None:
    assert scores_of(name, task)["static_accuracy"] > 0.8


def test_the_operator_s_name_is_a_coin_where_both_candidates_are_of_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("hard")
    (folder / "mine.toml").write_text(
        "title = 'hard'\nsteps = 2\nnegatives = 'balanced'\n"
        "train = 500\nvalidation = 60\ntest = 200\n"
    )
    kind = datatypes.find("derivation", folder, folder / "cache")
    dataset = kind.source().load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)
    tasks = {view: kind.task(dataset, view, Protocol.STRICT) for view in kind.views}
    probe, reader, truth = (
        _scores_of(name, (kind, tasks)) for name in ("operation_candidate", "boosting", "replay")
    )
    assert probe["same_operator_derivations"] > 30
    assert 0.4 < probe["same_operator_accuracy"] < 0.6
    assert probe["static_accuracy"] < reader["static_accuracy"] - 0.1
    assert truth["static_accuracy"] == truth["all_derivations"] == 1


def test_replay_knows_every_last_operator(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("open")
    (folder / "mine.toml").write_text(
        "title = 'open'\nsteps = 3\nmode = 'open'\ntrain = 40\nvalidation = 20\ntest = 120\n"
    )
    kind = datatypes.find("derivation", folder, folder / "cache")
    dataset = kind.source().load("mine", snr_db=None, seed=0, protocol=Protocol.STRICT)
    tasks = {view: kind.task(dataset, view, Protocol.STRICT) for view in kind.views}
    found = _scores_of("replay", (kind, tasks))
    assert found["static_accuracy"] == found["all_derivations"] == 1


@pytest.mark.parametrize("name", sampled(("tagged_lr", "boosting"), least=1))
def test_who_knows_the_operation_finds_most(name: str, task: Any) -> None:
    found = scores_of(name, task)
    assert found["static_accuracy"] > 0.85
    assert found["ar_accuracy"] > 0.85


def test_words_with_the_operation_are_the_same_where_sides_are_swapped() -> None:
    settings = GeneratorSettings(steps=4)
    with imported("tagged_lr") as module:
        words = module.Adapter.words
        for index in range(20):
            example = generate(settings, "main", index)
            for own, swapped in zip(
                texts(example), texts(expression_exchange(example)), strict=True
            ):
                assert own != swapped
                assert Counter(words(own)) == Counter(words(swapped))
            right, wrong = texts(example)
            assert Counter(words(right)) != Counter(words(wrong))


def test_numbers_do_not_depend_on_how_long_names_are() -> None:
    text = (
        "[premise, F{(x,y)} = x + y^{2}] [SEP] [differentiate, 1, x] [SEP] "
        r"\frac{\partial}{\partial x} F{(x,y)} = \frac{\partial}{\partial x} (x + y^{2})"
    )
    greek = re.sub(r"\b[xyF]\b", lambda name: rf"\{GREEK_OF[name[0]]}", text)
    with imported("boosting") as module:
        own, other = (module.numbers(module.split_sequence(each)) for each in (text, greek))
    assert r"\omega" in greek
    assert own == other


def test_a_bag_of_words_is_not_enough(task: Any) -> None:
    assert scores_of("tfidf_lr", task)["all_sets"] < 0.5


@pytest.mark.parametrize("name", LIGHT)
def test_labels_that_are_none_are_refused(name: str, task: Any) -> None:
    _, tasks = task
    part = tasks[VIEWS.get(name, "sequence")].validation
    wrong = Split(part.inputs, "Y", np.full_like(part.targets, np.nan))
    with imported(name) as module, pytest.raises(ValueError, match="labels"):
        module.Adapter(seed=0, threads=1).fit(problem(wrong))


def test_replay_needs_trees(task: Any) -> None:
    _, tasks = task
    with imported("replay") as module, pytest.raises(Unsupported, match="trees"):
        module.Adapter(seed=0, threads=1).fit(problem(tasks["sequence"].train))


def test_replay_agrees_with_what_made_the_data() -> None:
    settings = GeneratorSettings(steps=4, evaluation=200)
    with imported("replay") as module:
        for index in range(12):
            one = generate(settings, "replay", index)
            renamed = variable_renaming(one, 0)
            for each in (one, renamed, expression_exchange(one), alternative_results(one)):
                right, wrong = trees(each)  # type: ignore[arg-type]
                assert module.is_result(json.loads(right)), index
                assert not module.is_result(json.loads(wrong)), index
        for task in ("differentiate", "integrate"):
            for index in range(3):
                calculated = calculation(
                    GeneratorSettings(task=task, premise_size=2), "replay", index
                )
                right, wrong = trees(calculated)
                assert module.is_result(json.loads(right))
                assert not module.is_result(json.loads(wrong))


def test_replay_reads_nothing_but_expressions() -> None:
    with imported("replay") as module:
        for text in ("__import__('os')", "open('x')", "Symbol('x').name", "[1]"):
            with pytest.raises((ValueError, KeyError)):
                module.read(text)


def test_boosting_takes_sequences_apart() -> None:
    text = (
        r"[premise, f{(x,y)} = y \cos{(x)}], [[minus, 1, x^{2}], f{(x,y)} - x^{2} = "
        r"y \cos{(x)} - x^{2}] [SEP] [substitute_LHS_for_RHS, 2, 1] [SEP] a = b"
    )
    with imported("boosting") as module:
        asked = module.split_sequence(text)
        assert asked.first == ("f{(x,y)} - x^{2}", r"y \cos{(x)} - x^{2}")
        assert asked.second == ("f{(x,y)}", r"y \cos{(x)}")
        assert asked.candidate == ("a", "b")
        assert asked.operand == ()
        operand = module.split_sequence(
            text.replace("substitute_LHS_for_RHS, 2, 1", "add, 1, x^{2}")
        )
        assert "".join(operand.operand) == "x^{2}"
        assert operand.second == ("", "")
        plain = module.split_sequence("a b [SEP] b [SEP] a")
        assert plain.first == ("", "a b")
        lengths = {len(module.numbers(each)) for each in (asked, operand, plain)}
        assert len(lengths) == 1


def test_replay_is_no_rival() -> None:
    assert load(ROOT / "algorithms" / "replay").spec.given == ("truth",)


@pytest.mark.slow
def test_the_contract_is_kept(tmp_path: Path) -> None:
    workspace = Workspace(ROOT, tmp_path / "home")
    for name in ("majority", "replay"):
        findings = list(check_method(name, workspace, HereRuntime()))
        assert all(each.passed for each in findings), [f for f in findings if not f.passed]
        assert len(findings) > 6


@pytest.mark.slow
def test_a_run_of_all_light_methods(tmp_path: Path) -> None:
    workspace = Workspace(ROOT, tmp_path / "home")
    asked = RunOptions(LIGHT, "derivation", ("structured-2-tiny",), result_dir=tmp_path / "results")
    done = execute(make_plan(asked, workspace), HereRuntime(), Quiet()).records
    found = {record.algorithm: record for record in done}
    assert {str(record.status) for record in done} == {"ok"}, {r.reason for r in done}
    assert found["replay"].metrics["static_accuracy"] == 1
    assert found["majority"].metrics["static_accuracy"] == 0.5


TRANSFORMER = ROOT / "algorithms" / "transformer"
LEARNS = f"""
import json, sys
sys.path[:0] = [{str(TRANSFORMER)!r}, {str(ROOT)!r}]
import numpy as np, torch
from adapter import Adapter
from network import Reader
from vocabulary import STAND_INS, Vocabulary
from mdbench.worker import Problem

def problem(texts, labels=None, limit=None):
    arrays = {{"X": np.array(texts)}}
    if labels is not None:
        arrays["Y"] = np.array(labels, float)[:, None]
    return Problem("sequence", ("sequence",), ("right",), arrays, time_limit=limit)

rng = np.random.default_rng(0)
letters = list("abcfghjk")
texts = [" ".join([rng.choice(letters), "[SEP] b [SEP]", r"\\\\sin x" if n % 2 else r"\\\\cos x"])
         for n in range(200)]
labels = [n % 2 for n in range(200)]
small = dict(layers=1, width=16, heads=2, epochs=6, rate=1e-2)
out = {{}}
one, two = (Adapter(seed=3, threads=1, **small) for _ in range(2))
for each in (one, two):
    each.fit(problem(texts, labels))
first, second = (each.predict(problem(texts)) for each in (one, two))
out["accuracy"] = float(((first[:, 0] > 0.5) == labels).mean())
out["same"] = bool(np.array_equal(first, second))
alone = np.concatenate([one.predict(problem([text])) for text in texts[:20]])
out["padding"] = float(np.abs(alone - first[:20]).max())
out["range"] = [float(first.min()), float(first.max())]
greek = one.predict(problem([text.replace("b", r"\\\\beta") for text in texts]))
out["greek"] = float(((greek[:, 0] > 0.5) == labels).mean())
late = Adapter(seed=0, threads=1, **small)
late.fit(problem(texts, labels, limit=1e-6))
out["late"] = late.stopped_early and late.predict(problem(texts)).shape == (200, 1)
words = Vocabulary.of(["a + b [SEP] e"])
numbers = words.numbers("a + zz yy zz", 256)
out["stand_ins"] = numbers[2] == numbers[4] != numbers[3] and max(numbers[2:]) <= STAND_INS
out["cut"] = words.numbers("a a a b", 2) == words.numbers("a b", 9)
exchanged = words.exchanged(words.numbers("a b a + e", 9), rng.permutation(STAND_INS))
out["exchanged"] = (exchanged[0] == exchanged[2] != exchanged[1]
                    and exchanged[3:] == words.numbers("+ e", 9))
out["parameters"] = sum(p.numel() for p in Reader(100, 3, 128, 4, 256).parameters())
try:
    Adapter(seed=0, threads=1).fit(problem(texts, [np.nan] * 200))
except ValueError as error:
    out["refused"] = str(error)
print(json.dumps(out))
"""


@pytest.mark.build
def test_the_transformer_learns_in_its_environment() -> None:
    spec = tomllib.loads((TRANSFORMER / "method.toml").read_text(encoding="utf-8"))
    python = prepare(
        "transformer", TRANSFORMER / "requirements.lock", spec["python"], Workspace.find().home
    ).python
    run = subprocess.run(
        [str(python), "-c", LEARNS], capture_output=True, text=True, check=False, timeout=1800
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["accuracy"] == 1
    assert found["greek"] > 0.9
    assert found["padding"] < 1e-5
    assert 0 <= found["range"][0] < found["range"][1] <= 1
    assert 400_000 < found["parameters"] < 2_000_000
    assert "labels" in found["refused"]
    for what in ("same", "late", "stand_ins", "cut", "exchanged"):
        assert found[what], what


ENCODER = ROOT / "algorithms" / "hf_encoder"
TUNES = f"""
import json, sys
sys.path[:0] = [{str(ENCODER)!r}, {str(ROOT)!r}]
import numpy as np
import torch
from adapter import Adapter
from mdbench.worker import Problem, Unavailable
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

folder = sys.argv[1]
words = ["[PAD]", "[UNK]", "[SEP]", "a", "b", "sin", "cos"]
tokenizer = Tokenizer(models.WordLevel({{w: n for n, w in enumerate(words)}}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", sep_token="[SEP]"
).save_pretrained(folder)
config = BertConfig(
    vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=64, num_labels=2,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)
torch.manual_seed(int(sys.argv[2]))
BertForSequenceClassification(config).save_pretrained(folder)

def problem(texts, labels=None, limit=None):
    arrays = {{"X": np.array(texts)}}
    if labels is not None:
        arrays["Y"] = np.array(labels, float)[:, None]
    return Problem("sequence", ("sequence",), ("right",), arrays, time_limit=limit)

texts = ["a [SEP] b [SEP] " + ("sin" if n % 2 else "cos") for n in range(80)]
labels = [n % 2 for n in range(80)]
out = {{}}
one, two = (Adapter(seed=0, threads=1, checkpoint=folder, rate=3e-3, epochs=12) for _ in range(2))
for each in (one, two):
    each.fit(problem(texts, labels))
first, second = (each.predict(problem(texts)) for each in (one, two))
out["accuracy"] = float(((first[:, 0] > 0.5) == labels).mean())
out["same"] = bool(np.array_equal(first, second))
out["shape"] = list(first.shape)
import contextlib, io
from batches import batches
said = io.StringIO()
with contextlib.redirect_stdout(said):
    kept = Adapter(seed=0, threads=1, checkpoint=folder, rate=3e-3, epochs=4, frozen=1)
    kept.fit(problem(texts, labels))
    more = dict(rate=3e-3, epochs=4, frozen=1, cached=True)
    quick = Adapter(seed=0, threads=1, checkpoint=folder, **more)
    quick.fit(problem(texts, labels))
lines = said.getvalue().splitlines()
out["device"] = sum(line.startswith("device: cpu; PyTorch") for line in lines)
out["epochs"] = sum(" on 16 held out" in line for line in lines)
before = BertForSequenceClassification.from_pretrained(folder)
same = [torch.equal(a, b) for (name, a), b in zip(
    kept._model.named_parameters(), before.parameters(), strict=True)
    if "embeddings" in name or "encoder" in name]
out["frozen"] = all(same) and len(same) > 10
out["cached"] = float(np.abs(kept.predict(problem(texts)) - quick.predict(problem(texts))).max())
# The last sequences are all labelled wrongly: the best epoch is the one that has learnt least.
with contextlib.redirect_stdout(said):
    other = Adapter(seed=0, threads=1, checkpoint=folder, rate=3e-3, epochs=12)
    other.fit(problem(texts, labels[:64] + [1 - each for each in labels[64:]]))
out["chosen"] = float(((other.predict(problem(texts[:64]))[:, 0] > 0.5) == labels[:64]).mean())
lengths = [int(each) for each in np.random.default_rng(0).integers(1, 99, 1000)]
drawn = batches(lengths, 8, np.random.default_rng(1))
out["batches"] = sorted(place for each in drawn for place in each) == list(range(1000))
padding = sum(len(b) * max(lengths[p] for p in b) for b in drawn) / sum(lengths)
out["padding"] = padding
wrong = dict()
for what in (dict(frozen=2), dict(cached=True), dict(held_out=1.0)):
    try:
        Adapter(seed=0, threads=1, checkpoint=folder, **what).fit(problem(texts, labels))
    except ValueError as error:
        wrong[next(iter(what))] = str(error)
out["wrong"] = wrong
late = Adapter(seed=0, threads=1, checkpoint=folder)
late.fit(problem(texts, labels, limit=1e-6))
out["late"] = late.stopped_early
try:
    Adapter(seed=0, threads=1).fit(problem(texts, labels))
except Unavailable as reason:
    out["without"] = str(reason)
print(json.dumps(out))
"""


@pytest.mark.build
def test_a_local_checkpoint_is_fine_tuned_and_none_is_no_failure(tmp_path: Path) -> None:
    spec = tomllib.loads((ENCODER / "method.toml").read_text(encoding="utf-8"))
    python = prepare(
        "hf_encoder", ENCODER / "requirements.lock", spec["python"], Workspace.find().home
    ).python
    run = subprocess.run(
        [str(python), "-c", TUNES, str(tmp_path), "0"],
        capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["accuracy"] == 1
    assert found["same"]
    assert found["late"]
    assert found["shape"] == [80, 1]
    assert found["device"] == 2
    assert found["epochs"] == 8
    assert found["frozen"]
    assert found["cached"] < 1e-2  # float16
    assert found["chosen"] < 1
    assert found["batches"]
    assert found["padding"] < 1.1
    assert "at most 1" in found["wrong"]["frozen"]
    assert "frozen" in found["wrong"]["cached"]
    assert "held_out" in found["wrong"]["held_out"]
    assert "no checkpoint" in found["without"]
