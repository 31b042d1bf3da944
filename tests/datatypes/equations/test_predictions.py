"""Answers without equations: scored by their predictions alone, on every data type that can."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mdbench import datatypes
from mdbench.datatypes.base import Answer, Candidate, with_fewer_rows
from mdbench.datatypes.equations.base import EquationTask
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from mdbench.datatypes.base import DataType, Task

KINDS = ("ode", "srsd", "real")
NEEDS_EQUATIONS = {"complexity", "agreement", "identified", "skeleton", "units"}


def opened(kind: str) -> DataType[Any, Any]:
    place = Workspace.find()
    return datatypes.find(kind, place.datasets / kind, place.arrays / kind)


def task_of(kind: DataType[Any, Any], protocol: Protocol = Protocol.STRICT) -> Task[Any]:
    name = kind.check_datasets[-1]
    dataset = kind.source().load(name, snr_db=None, seed=0, protocol=protocol, options={})
    task: Task[Any] = kind.task(dataset, "table", protocol)
    return task


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("protocol", list(Protocol))
def test_predictions_have_the_errors_that_equations_with_these_values_have(
    name: str, protocol: Protocol
) -> None:
    kind = opened(name)
    whole = task_of(kind, protocol)
    task = kind.predicted(whole)
    assert whole.has_equations
    assert not task.has_equations
    assert not kind.why_not_predicted(task)
    means = np.mean(whole.refit.targets.reshape(-1, whole.refit.targets.shape[-1]), axis=0)
    texts = tuple(repr(float(mean)) for mean in means)
    values = np.broadcast_to(means, whole.test.targets.shape).copy()
    wanted = kind.score(whole, kind.read_answer(whole, Answer(texts, values))).metrics
    answer = kind.read_answer(task, Answer((), values))
    assert answer.equations == ()
    found = kind.score(task, answer).metrics
    assert set(found) == set(kind.metric_names(task)) <= set(kind.of_predictions)
    assert kind.metrics[0].name in found
    assert not NEEDS_EQUATIONS & set(found)
    for metric, value in found.items():
        assert value == pytest.approx(wanted[metric], rel=1e-12)
    assert kind.primary_score(task, answer) == found[kind.metrics[0].name]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_not_finite_or_not_there_is_no_answer(name: str) -> None:
    kind = opened(name)
    task = kind.predicted(task_of(kind))
    values = task.test.targets.copy()
    values.flat[0] = np.nan
    with pytest.raises(AnswerError, match=r"1 of .* predictions are not finite"):
        kind.read_answer(task, Answer((), values))
    with pytest.raises(AnswerError, match="no predictions"):
        kind.read_answer(task, Answer(()))


@pytest.mark.parametrize("name", KINDS)
def test_a_grid_is_chosen_from_by_rows_that_are_held_out(name: str) -> None:
    kind = opened(name)
    task = kind.predicted(task_of(kind))
    assert not kind.compares_equations(task)
    fit, compared = kind.fit_and_validation(task, "grid")

    def rows(part: Any) -> set[tuple[float, ...]]:
        return set(map(tuple, np.column_stack([part.inputs["X"], part.targets]).tolist()))

    assert not rows(fit) & rows(compared)
    once, _ = kind.fit_and_validation(task, "none")
    assert rows(once) >= rows(fit)
    good, bad = (
        kind.evaluate_candidate(
            task, compared, Candidate(number, (), {}, predictions=compared.targets * factor)
        )
        for number, factor in enumerate((1.0, 2.0))
    )
    assert good.loss < bad.loss
    selected = kind.select(task, [bad, good])
    assert selected is not None
    assert selected.candidates == (good,)


def test_surfaces_and_rates_that_are_not_known_ask_for_equations() -> None:
    kind = opened("surface")
    assert "surface" in kind.why_not_predicted(task_of(kind))
    ode = opened("ode")
    task = task_of(ode)
    assert isinstance(task, EquationTask)
    own = replace(task, held_out=task.evidence)  # as of own data
    assert "not known" in ode.why_not_predicted(own)


@pytest.mark.parametrize("name", [*KINDS, "surface"])
def test_of_many_rows_some_are_drawn_for_the_fit_alone(name: str) -> None:
    task = task_of(opened(name))
    count = len(task.refit.targets)
    same = with_fewer_rows(task, count, seed=0)
    assert same.refit is task.refit
    most = count // 2
    fewer, again, other = (with_fewer_rows(task, most, seed) for seed in (0, 0, 1))
    assert len(fewer.refit.targets) == most
    assert fewer.test is task.test
    assert fewer.validation is task.validation
    assert (task.train is task.refit) == (fewer.train is fewer.refit)
    np.testing.assert_array_equal(fewer.refit.targets, again.refit.targets)
    assert not np.array_equal(fewer.refit.inputs["X"], other.refit.inputs["X"])
    whole = np.column_stack([task.refit.inputs["X"], task.refit.targets])
    part = np.column_stack([fewer.refit.inputs["X"], fewer.refit.targets])
    places = [int(np.flatnonzero((whole == row).all(axis=1))[0]) for row in part]
    assert len(set(places)) == most
    for column, values in fewer.refit.columns.items():
        np.testing.assert_array_equal(values, task.refit.columns[column][places])
