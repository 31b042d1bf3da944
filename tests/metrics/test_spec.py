from __future__ import annotations

import json
import math

import pytest

from mdbench import datatypes
from mdbench.metrics.spec import MetricSpec, flag


def test_losses_are_lower_for_what_is_better() -> None:
    error = MetricSpec(name="e", title="", explanation="")
    score = MetricSpec(name="s", title="", explanation="", better="higher")
    assert error.loss(0.1) < error.loss(0.2)
    assert score.loss(0.2) < score.loss(0.1)


def test_what_is_worse_than_the_alarm_is_marked() -> None:
    error = MetricSpec(name="e", title="", explanation="", alarm=1e-6)
    score = MetricSpec(name="s", title="", explanation="", better="higher", alarm=0.5)
    assert error.alarming(1e-5)
    assert not any(error.alarming(value) for value in (1e-7, 1e-6, None))
    assert score.alarming(0.4)
    assert not any(score.alarming(value) for value in (0.6, 0.5, "x"))
    assert not MetricSpec(name="m", title="", explanation="").alarming(math.inf)


def test_is_written_as_strict_json() -> None:
    text = json.dumps(MetricSpec(name="e", title="", explanation="").as_json(), allow_nan=False)
    assert json.loads(text)["on_failure"] == "inf"
    assert json.loads(json.dumps(flag("f", "", "", places={"board"}).as_json()))["places"] == [
        "board"
    ]


def test_metrics_of_every_data_type_are_written_as_strict_json() -> None:
    kinds = list(datatypes.classes(datatypes.names()))
    assert len(kinds) == len(datatypes.names()) >= 6
    for kind in kinds:
        for spec in kind.metrics:
            text = json.dumps(spec.as_json(), allow_nan=False)
            assert json.loads(text)["name"] == spec.name
            # A page computes shares again by these: what decides a value is not among them.
            callables = {name for name, value in vars(spec).items() if callable(value)}
            assert not callables & json.loads(text).keys()


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="f: a flag is aggregated by share"):
        MetricSpec(name="f", title="", explanation="", kind="flag")
    with pytest.raises(ValueError, match="l: labels belong"):
        MetricSpec(name="l", title="", explanation="", kind="label", aggregate="counts")
