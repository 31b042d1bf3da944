"""A method that prints equations is never sent an input of the test under ``strict``.

What one job could pass to the next through a channel that no sandbox closes is then worth
nothing: each kind of data, in each view, is looked at as it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import HereRuntime, Quiet, add_method, execute

from eqverdict import parse
from mdbench.datatypes.base import Split
from mdbench.datatypes.equations.splits import (
    MOST_ROWS,
    check_split,
    compare_predictions,
)
from mdbench.datatypes.facts import Protocol
from mdbench.errors import AnswerError
from mdbench.records import Status
from mdbench.runs.plan import make_plan, resolve_jobs
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import CheckSplit, Task
    from mdbench.workspace import Workspace

KINDS: dict[str, dict[str, Any]] = {
    "a series as a table": {"data_type": "ode", "datasets": ("lotka-volterra-simple",)},
    "a series": {
        "data_type": "ode",
        "datasets": ("lotka-volterra-simple",),
        "view": "trajectory",
    },
    "a noisy series": {
        "data_type": "ode",
        "datasets": ("lotka-volterra-simple",),
        "view": "trajectory",
        "snr": (20.0,),
    },
    "several series": {
        "data_type": "ode",
        "datasets": ("lotka-volterra-simple+trajectories=2+test=second-start",),
        "view": "trajectory",
    },
    "a field as a table": {"data_type": "pde"},
    "a field": {"data_type": "pde", "view": "field"},
    "a law": {"data_type": "srsd", "datasets": ("feynman-i.12.1",)},
    "a surface": {"data_type": "surface", "datasets": ("EBS1",)},
    "measurements": {"data_type": "real", "datasets": ("kepler-binaries",)},
}
ORDERLESS = {"X", "u", "measured", "inputs"}
"""Arrays with values of the variables."""


def own_field(folder: Path) -> Path:
    t, x = np.linspace(0, 1, 30), np.linspace(0, 6, 12)
    u = np.sin(x[:, None] - t)[..., None]
    np.savez(folder / "wave.npz", t=t, x=x, u=u, du=-np.cos(x[:, None] - t)[..., None])
    return folder / "wave.npz"


def task_of(
    workspace: Workspace, tmp_path: Path, kind: str, protocol: Protocol = Protocol.STRICT
) -> tuple[Any, Task[Any]]:
    asked = dict(KINDS[kind])
    view, levels = asked.pop("view", "table"), asked.pop("snr", (None,))
    add_method(workspace, "any", more='takes = ["trajectories"]')
    toml = workspace.algorithms / "any" / "method.toml"
    text = toml.read_text(encoding="utf-8")
    text = text.replace('["ode"]', f'["{asked["data_type"]}"]').replace('"table"', f'"{view}"')
    toml.write_text(text, encoding="utf-8")
    if asked["data_type"] == "pde":
        asked["dataset_path"] = own_field(tmp_path)
    options = RunOptions(("any",), **asked, snr=levels, protocol=protocol)
    plan = make_plan(options, workspace)
    one = resolve_jobs(plan, HereRuntime())[0]
    return one.data_type, plan.catalog.task(one, plan.catalog.load(one.job))


@pytest.mark.parametrize("kind", KINDS)
def test_only_values_of_the_fit_are_sent(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    data_type, task = task_of(workspace, tmp_path, kind)
    check = data_type.prediction_check(task, 0)
    for name, array in check.inputs.items():
        sources = [task.refit.inputs[key] for key in ORDERLESS & set(task.refit.inputs)]
        known = sources if name in ORDERLESS else [task.refit.inputs[name]]
        assert np.isin(array, np.concatenate([values.ravel() for values in known])).all(), name
    assert set(check.inputs) == set(task.refit.inputs) - {"rows"}
    # The equations are evaluated at what the method was sent.
    states = check.inputs.get("X", check.inputs.get("u"))
    for place, name in enumerate(list(check.columns)[: states.shape[-1]]):
        assert np.array_equal(check.columns[name], states[..., place])
    again = data_type.prediction_check(task, 0)
    assert all(np.array_equal(again.inputs[name], check.inputs[name]) for name in check.inputs)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"several series"}))
def test_where_predictions_are_scored_the_test_is_sent(
    workspace: Workspace, tmp_path: Path, kind: str
) -> None:
    data_type, task = task_of(workspace, tmp_path, kind, Protocol.PUBLISHED)
    assert data_type.prediction_check(task, 0) is None


def table(n: int = 200, seed: int = 0) -> Split:
    x = np.random.default_rng(seed).uniform(0.5, 2.0, (n, 2))
    x[:, 1] = np.round(x[:, 1])  # of few values
    return Split({"X": x}, "Y", np.zeros((n, 1)), {"a": x[:, 0], "b": x[:, 1]})


@pytest.mark.parametrize("n", [1, 2, 3, 50, MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1, 9_000])
def test_the_size_of_a_check(n: int) -> None:
    check = check_split(table(n), 3)
    assert len(check.inputs["X"]) == min(n, MOST_ROWS) == len(check.targets)
    assert check.drawn is not None
    assert check.drawn.sum() == min(n, MOST_ROWS) // 2


TEXTS = {
    "a polynomial": "a**2 - 3*b",
    "a pole": "1/(a - 1.2)",
    "not everywhere finite": "sqrt(a - b)",
    "never finite": "log(-a)",
    "zero": "0",
    "large": "exp(300*a)",
}


def checked(text: str, change: Any = None, rows: str = "all") -> float:
    check: CheckSplit = check_split(table(), 1)
    with np.errstate(all="ignore"):
        values = parse(text, ("a", "b")).evaluate(check.columns)[:, None]
    predictions = np.array(np.broadcast_to(values, (200, 1)))
    if change is not None:
        assert check.drawn is not None
        masks = {"all": np.ones(200, bool), "given": ~check.drawn, "drawn": check.drawn}
        where = masks[rows]
        predictions[where] = change(predictions[where])
    return compare_predictions([values], predictions, check.drawn)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_predictions_by_the_equations_agree(text: str) -> None:
    assert checked(text) == 0.0


@pytest.mark.parametrize("text", [TEXTS[name] for name in ("a polynomial", "a pole")])
def test_predictions_in_single_precision_agree(text: str) -> None:
    assert checked(text, lambda p: p.astype(np.float32).astype(float)) < 1e-12


@pytest.mark.parametrize("rows", ["all", "given", "drawn"])
@pytest.mark.parametrize(
    "change",
    [lambda p: 1.05 * p, lambda p: p + 1, lambda p: -p, np.zeros_like, lambda p: p * np.nan],
    ids=["5 %", "shift", "sign", "zero", "nan"],
)
def test_predictions_by_another_law_are_refused_wherever_it_is_used(change: Any, rows: str) -> None:
    with pytest.raises(AnswerError, match=r"contradict its equations|are not finite"):
        checked(TEXTS["a polynomial"], change, rows)


def test_what_a_method_protects_near_a_pole_is_no_contradiction() -> None:
    assert checked(TEXTS["a pole"], lambda p: np.where(np.abs(p) > 20, 1.0, p), "drawn") == 0.0


SPY = """
    import numpy as np

    class Adapter:
        def __init__(self, *, seed, threads):
            pass
        def fit(self, problem):
            pass
        def predict(self, problem):
            for value in problem.X.ravel():
                print("sent", float(value).hex())
            return np.zeros((len(problem.X), 2))
        def equations(self):
            return ["0", "0"]
"""


@pytest.mark.parametrize("protocol", ["strict", "published"])
def test_a_channel_without_any_loss_passes_nothing_of_the_test(
    workspace: Workspace, tmp_path: Path, protocol: str
) -> None:
    """All that twenty jobs are sent, as if each could give it to all that come."""
    add_method(workspace, "spy", SPY)
    options = RunOptions(
        ("spy",),
        "ode",
        ("lotka-volterra-simple",),
        seeds=tuple(range(20)),
        protocol=Protocol(protocol),
        result_dir=tmp_path / "out",
    )
    plan = make_plan(options, workspace)
    records = execute(plan, HereRuntime(), Quiet()).records
    assert {record.status for record in records} == {Status.OK}, records[0].reason
    sent: set[float] = set()
    for record in records:
        assert record.log is not None
        log = (tmp_path / "out" / record.log).read_text(encoding="utf-8")
        sent |= {float.fromhex(line.split()[1]) for line in log.splitlines() if "sent " in line}
    one = resolve_jobs(plan, HereRuntime())[0]
    task = plan.catalog.task(one, plan.catalog.load(one.job))
    test = set(task.test.inputs["X"].ravel().tolist())
    if protocol == "strict":
        assert sent <= set(task.refit.inputs["X"].ravel().tolist())
        assert not sent & test
    else:
        assert test <= sent  # as that pipeline sends them: docs/isolation.md says so
