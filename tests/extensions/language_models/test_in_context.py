"""The method that asks a language model about each sequence of a derivation, through the bench."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from asking_bench import with_model
from harness import ROOT, HereRuntime, Quiet, execute, imported, known, make_workspace
from model_server import Stub

from mdbench import datatypes
from mdbench.datatypes.facts import Protocol
from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.records import comparable
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions
from mdbench.worker import Problem, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mdbench.records import Record

TEXTS = [f"[premise, e{n}] [SEP] [cos, 1] [SEP] candidate {n}" for n in range(12)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def workspace(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MDBENCH_METHODS", str(ROOT / "algorithms"))
    return make_workspace(tmp_path, home)


@pytest.fixture
def module() -> Iterator[Any]:
    with imported("in_context") as found:
        yield found


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Answer: right", True),
        ("Both sides agree.\n**Answer:** wrong.", False),
        ("Answer: wrong\nNo, wait.\nANSWER: Right", True),
        ("Is the answer right? I think it is.\nAnswer: `wrong`", False),
        ("The candidate is incorrect.", False),
        ("Yes.", True),
        ("It is not right.", None),
        ("wrong\nI do not know.", False),
        ("The derivative of cos is -sin.", None),
        ("x", None),
    ],
)
def test_what_an_answer_says(module: Any, text: str, verdict: bool | None) -> None:
    assert module.verdict_of(text) is verdict


class Scripted:
    """Says for each question what stands in a table."""

    def __init__(self, says: Any) -> None:
        self.says = says
        self.asked: list[list[dict[str, str]]] = []

    def chat(self, messages: Any, **_: Any) -> list[Reply]:
        self.asked.append(messages)
        return [Reply(self.says(messages[-1]["content"]), "stop", 1, 1)]


def predicted(module: Any, model: Any, texts: list[str], **given: Any) -> list[float]:
    module.language_model = lambda: model
    adapter = module.Adapter(seed=3, threads=1, **given)
    labels = np.array([[float(n % 3 == 0)] for n in range(len(TEXTS))])
    adapter.fit(Problem("sequence", ("s",), ("right",), {"X": np.array(TEXTS), "Y": labels}))
    asked = Problem("sequence", ("s",), ("right",), {"X": np.array(texts)})
    return [float(value) for value in adapter.predict(asked)[:, 0]]


@pytest.mark.parametrize("examples", [0, 1, 2, 5, 8])
def test_the_examples_are_of_the_training_balanced_and_the_same_for_all(
    module: Any, examples: int
) -> None:
    model = Scripted(lambda _: "Answer: wrong")
    predicted(module, model, ["a [SEP] b [SEP] c", "d [SEP] e [SEP] f"], examples=examples)
    first, second = model.asked
    assert first[:-1] == second[:-1]
    assert first[-1]["content"] == "Known: a\nOperation: b\nCandidate: c"
    shown = first[1:-1]
    questions = [each["content"] for each in shown if each["role"] == "user"]
    answers = [each["content"] for each in shown if each["role"] == "assistant"]
    assert len(questions) == len(set(questions)) == len(answers) == examples
    assert abs(answers.count("Answer: right") - answers.count("Answer: wrong")) == examples % 2
    for question, answer in zip(questions, answers, strict=True):
        right = int(question.rpartition("candidate ")[2]) % 3 == 0
        assert answer == f"Answer: {'right' if right else 'wrong'}"


def test_what_is_asked_twice_is_asked_once_and_what_says_nothing_is_not_right(module: Any) -> None:
    model = Scripted(lambda text: "Answer: right" if "yes" in text else "In prose.")
    texts = ["a [SEP] b [SEP] yes", "a [SEP] b [SEP] maybe", "a [SEP] b [SEP] yes"]
    assert predicted(module, model, texts) == [1, 0, 1]
    assert len(model.asked) == 2


def run(workspace: Any, results: Path, **more: Any) -> Record:
    given = {"llm_model": "asked", "llm_calls": 500, **more}
    options = RunOptions(
        ("in_context",),
        "derivation",
        datasets=("differentiate-tiny",),
        result_dir=results,
        n_jobs=1,
        **given,
    )
    plan = make_plan(options, workspace)
    plan = with_model(plan, breaker=CircuitBreaker(0.1, 0.001))
    with closing(plan.connections["llm"]):
        (record,) = execute(plan, HereRuntime(), Quiet()).records
    return record


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Return the label of each candidate, by the question that asks about it."""
    cache = tmp_path_factory.mktemp("cache")
    kind = datatypes.find("derivation", ROOT / "datasets" / "derivation", cache)
    dataset = kind.source().load(
        "differentiate-tiny", snr_db=None, seed=0, protocol=Protocol.STRICT
    )
    rows = dataset.rows["test"]
    with imported("in_context") as found:
        return {
            found._question(text): bool(label)
            for text, label in zip(rows.texts, rows.labels, strict=True)
        }


def test_a_model_that_knows_is_right_everywhere_and_a_replay_gives_the_same(
    workspace: Any, tmp_path: Path, labels: dict[str, bool]
) -> None:
    def knows(request: dict[str, Any], _: str) -> str:
        right = labels[request["messages"][-1]["content"]]
        return f"<think>Answer: wrong?</think>It is.\nAnswer: {'right' if right else 'wrong'}"

    with Stub(write=knows) as stub:
        live = run(workspace, tmp_path / "live", llm_url=stub.url)
    assert live.status == "ok"
    assert known(known(live.llm).calls) == len(labels)
    scored = {name: value for name, value in live.metrics.items() if name.endswith("_accuracy")}
    assert len(scored) >= 4
    assert {value for name, value in scored.items() if not name.startswith("leak")} == {1.0}
    replay = run(workspace, tmp_path / "again", llm_replay=tmp_path / "live")
    assert comparable(replay) == comparable(live)


def test_what_the_budget_leaves_out_is_not_right(workspace: Any, tmp_path: Path) -> None:
    with Stub(write=lambda *_: "Answer: right") as stub:
        record = run(workspace, tmp_path / "few", llm_url=stub.url, llm_calls=5)
    assert record.status == "ok"
    assert known(record.llm).calls == 5
    kept = (tmp_path / "few" / known(record.log)).read_text(encoding="utf-8")
    assert "5 of " in kept
    assert "different sequences have an answer" in kept


def test_a_model_that_writes_prose_has_no_right_candidate(workspace: Any, tmp_path: Path) -> None:
    with Stub(mode="prose") as stub:
        record = run(workspace, tmp_path / "prose", llm_url=stub.url)
    assert record.status == "ok"
    assert record.metrics["static_f1"] == 0
    assert record.metrics["static_accuracy"] == 0.5
