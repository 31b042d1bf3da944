from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT

from mdbench.datatypes import find
from mdbench.datatypes.base import Answer
from mdbench.datatypes.facts import Protocol
from mdbench.records import Status
from mdbench.runs.scoring import JobResult, score_result

if TYPE_CHECKING:
    from mdbench.datatypes.base import DataType, Task

STRICT = Protocol.STRICT


@pytest.fixture(scope="module")
def posed(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataType[Any, Any], Task[Any]]:
    ode = find("ode", ROOT / "datasets" / "ode", tmp_path_factory.mktemp("cache"))
    data = ode.source().load("rc-circuit", snr_db=None, seed=0, protocol=STRICT)
    return ode, ode.task(data, "table", STRICT)


def test_an_answer_is_scored(posed: tuple[DataType[Any, Any], Task[Any]]) -> None:
    kind, task = posed
    truth = Answer(task.dataset.truth, task.test.targets)
    done = score_result(kind, task, JobResult(Status.OK, answer=truth))
    assert (done.outcome.status, done.equations) == (Status.OK, task.dataset.truth)
    assert done.scores.metrics["identified"] == 1.0


def test_what_the_data_type_refuses_is_invalid(
    posed: tuple[DataType[Any, Any], Task[Any]],
) -> None:
    kind, task = posed
    cheat = Answer(("0",), task.test.targets)
    done = score_result(kind, task, JobResult(Status.OK, answer=cheat))
    assert done.outcome.status is Status.INVALID_OUTPUT
    assert "contradict" in done.outcome.reason
    assert (done.equations, done.scores.metrics) == (None, {})


@pytest.mark.parametrize("text", ["2.0*square(u0)+erf(u1)", "u0 +", "nan*u0", "u9", "", " "])
@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("ode", "harmonic-oscillator"),
        ("srsd", "feynman-i.12.1"),
        ("real", "kepler"),
        ("surface", "EBS4"),
    ],
)
def test_what_cannot_be_read_has_no_metric_in_any_record(
    tmp_path_factory: pytest.TempPathFactory, name: str, dataset: str, text: str
) -> None:
    kind = find(name, ROOT / "datasets" / name, tmp_path_factory.getbasetemp() / "unreadable")
    data = kind.source().load(dataset, snr_db=None, seed=0, protocol=STRICT)
    task = kind.task(data, "table", STRICT)
    [variable, *_] = task.variables
    for place in range(len(task.targets)):
        texts = ["1"] * len(task.targets)
        texts[place] = text.replace("u0", variable)
        done = score_result(kind, task, JobResult(Status.OK, answer=Answer(tuple(texts))))
        assert done.outcome.status is Status.INVALID_OUTPUT
        assert (done.equations, done.scores.metrics) == (None, {})


def test_the_best_guess_at_a_late_answer_may_be_none(
    posed: tuple[DataType[Any, Any], Task[Any]],
) -> None:
    kind, task = posed
    late = JobResult(
        Status.PARTIAL, answer=Answer(("log(-1 - u0**2)",)), timeout_reason="ran longer than 1 s"
    )
    done = score_result(kind, task, late)
    assert done.outcome.status is Status.TIMEOUT
    assert done.outcome.reason.startswith("ran longer than 1 s; of its best candidate: ")
    assert "not finite" in done.outcome.reason


def test_without_an_answer_there_is_nothing_to_judge(
    posed: tuple[DataType[Any, Any], Task[Any]],
) -> None:
    kind, task = posed
    crash = JobResult(Status.CRASHED, "killed by signal 9")
    assert score_result(kind, task, crash).outcome is crash


def test_a_scorer_that_fails_leaves_all_undecided(
    posed: tuple[DataType[Any, Any], Task[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, task = posed
    raw = Answer(task.dataset.truth, task.test.targets)

    def fails(*_: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(kind, "own_scores", fails)
    done = score_result(kind, task, JobResult(Status.OK, answer=raw))
    assert (done.outcome.status, done.equations) == (Status.OK, task.dataset.truth)
    assert set(done.scores.metrics) == set(kind.metric_names(task))
    assert set(done.scores.metrics.values()) == {None}
    [told] = done.scores.notes["scorer"]
    assert "SVD did not converge" in told
    monkeypatch.setattr(kind, "values", fails)
    refused = score_result(kind, task, JobResult(Status.OK, answer=raw))
    assert refused.outcome.status is Status.INVALID_OUTPUT
    assert "SVD did not converge" in refused.outcome.reason
