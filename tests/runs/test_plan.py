"""Every option changes the plan, or is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import HereRuntime, add_method, make_workspace

from mdbench.datatypes.facts import Choice, Protocol
from mdbench.errors import DataError, MethodError, UsageError
from mdbench.records import Status
from mdbench.runs.plan import Plan, balanced, make_plan, resolve_jobs
from mdbench.runs.services import options_of
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = RunOptions(algorithms=("one",), data_type="ode")


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    workspace = make_workspace(tmp_path)
    add_method(workspace, "one")
    add_method(workspace, "two", more="threads = 2")
    add_method(workspace, "no-ode", more="")
    toml = workspace.algorithms / "no-ode" / "method.toml"
    toml.write_text(
        toml.read_text(encoding="utf-8").replace('["ode"]', '["pde"]'), encoding="utf-8"
    )
    add_method(workspace, "field")
    toml = workspace.algorithms / "field" / "method.toml"
    toml.write_text(
        toml.read_text(encoding="utf-8").replace('"table"', '"field"'), encoding="utf-8"
    )

    def make(**changes: Any) -> Plan:
        return make_plan(replace(PLAIN, **changes), workspace)

    return make


def test_plain_plan_is_all_clean_systems(plan: Callable[..., Plan]) -> None:
    jobs = plan().jobs
    assert len(jobs) == 63
    assert jobs[0].dataset == "rc-circuit"
    assert {(j.algorithm, j.snr_db, j.seed, j.protocol) for j in jobs} == {
        ("one", None, 0, "strict")
    }


def csv(folder: Path) -> Path:
    t = np.linspace(0, 1, 50)
    file = folder / "mine.csv"
    np.savetxt(file, np.column_stack([t, np.exp(-t)]), delimiter=",", header="t,x", comments="")
    return file


TOGGLES: dict[str, Callable[[Plan, Plan], bool]] = {
    "algorithms": lambda _, new: {j.algorithm for j in new.jobs} == {"one", "two"},
    "datasets": lambda _, new: {j.dataset for j in new.jobs} == {"lorenz-equations-chaotic"},
    "dataset_path": lambda _, new: {j.dataset for j in new.jobs} == {"mine"},
    "result_dir": lambda _, new: new.files == {"one-ode": Path("elsewhere/one-ode.jsonl")},
    "study": lambda _, new: {j.study for j in new.jobs} == {"5" * 64},
    "with_noise": lambda _, new: len(new.jobs) == 63 * 5,
    "snr": lambda _, new: {j.snr_db for j in new.jobs} == {None, 25.0},
    "n_jobs": lambda old, new: new.n_jobs == 7 != old.n_jobs,
    "timeout_s": lambda _, new: {j.timeout_s for j in new.jobs} == {3.5},
    "work_s": lambda _, new: {(j.work_s, j.timeout_s) for j in new.jobs} == {(3.5, 95.0)},
    "seeds": lambda _, new: {j.seed for j in new.jobs} == {3, 4},
    "save_pareto": lambda _, new: all(j.save_pareto for j in new.jobs),
    "protocol": lambda _, new: {j.protocol for j in new.jobs} == {Protocol.PUBLISHED},
    "choice": lambda _, new: {j.choice for j in new.jobs} == {Choice.OWN},
    "threads": lambda _, new: {j.limits.threads for j in new.jobs} == {3},
    "memory_mb": lambda _, new: {j.limits.memory_mb for j in new.jobs} == {512},
    "processes": lambda _, new: {j.limits.processes for j in new.jobs} == {9},
    "output_mb": lambda _, new: {j.limits.output_mb for j in new.jobs} == {77},
    "rerun": lambda _, new: new.rerun == {Status.TIMEOUT},
    "retries": lambda _, new: new.retries == 5,
    "memory_total_mb": lambda _, new: new.memory_total_mb == 4096,
    "fresh_sandbox": lambda _, new: new.fresh_sandbox,
    "seed": lambda _, new: {j.seed for j in new.jobs} == {7},
}

VALUES: dict[str, Any] = {
    "study": "5" * 64,
    "algorithms": ("one", "two"),
    "datasets": ("lorenz*chaotic",),
    "result_dir": Path("elsewhere"),
    "with_noise": True,
    "snr": (None, 25.0),
    "n_jobs": 7,
    "timeout_s": 3.5,
    "work_s": 3.5,
    "seeds": (3, 4),
    "save_pareto": True,
    "protocol": Protocol.PUBLISHED,
    "choice": Choice.OWN,
    "threads": 3,
    "memory_mb": 512,
    "processes": 9,
    "output_mb": 77,
    "rerun": frozenset({Status.TIMEOUT}),
    "retries": 5,
    "memory_total_mb": 4096,
    "fresh_sandbox": True,
    "seed": (7,),
}


@pytest.mark.parametrize("option", sorted(TOGGLES))
def test_every_option_changes_the_plan(
    option: str, plan: Callable[..., Plan], tmp_path: Path
) -> None:
    value = VALUES[option] if option in VALUES else csv(tmp_path)
    old, new = plan(), plan(**{option: value})
    assert old != new
    assert TOGGLES[option](old, new)


def test_no_option_is_left_out_of_the_test() -> None:
    others = {"data_type", "options", "special", "runtime", "require"}
    for kind in ("job_options", "run_options"):
        others |= getattr(options_of(kind), "__dataclass_fields__", {}).keys()
    # Where, and how many at a time.
    others |= {"backend", "scheduler", "slurm", "notify"}
    assert set(TOGGLES) | others == set(RunOptions.__dataclass_fields__)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"data_type": "odes"}, UsageError, "Did you mean ode"),
        ({"algorithms": ("on",)}, UsageError, "one"),
        ({"algorithms": ()}, UsageError, "--algorithm"),
        ({"algorithms": ("no-ode",)}, UsageError, "does not do ode"),
        ({"algorithms": ("field",)}, MethodError, "'view' is 'field'"),
        ({"datasets": ("lorentz",)}, UsageError, "Did you mean lorenz"),
        ({"datasets": ("rc-circuit", "xyz*")}, UsageError, "'xyz\\*' matches none"),
        ({"with_noise": True, "snr": (40.0,)}, UsageError, "both"),
        ({"seed": (0,), "seeds": (1,)}, UsageError, "both"),
        ({"special": ("--dummy-columns",)}, UsageError, "'--dummy-columns' is no option"),
        ({"special": ("--sedd=1",)}, UsageError, "Did you mean --seed"),
        ({"special": ("--wings=1",)}, UsageError, "Options of ode: --derivatives"),
        ({"dataset_path": Path("/nowhere/at/all.csv")}, DataError, "/nowhere/at/all.csv"),
    ],
)
def test_what_makes_no_sense_is_refused(
    changes: dict[str, Any], error: type[Exception], words: str, plan: Callable[..., Plan]
) -> None:
    with pytest.raises(error, match=words):
        plan(**changes)


def test_order_is_method_noise_seed_dataset(plan: Callable[..., Plan]) -> None:
    jobs = plan(
        algorithms=("two", "one"),
        datasets=("lorenz*", "rc-circuit"),
        snr=(None, 20.0),
        seeds=(1, 0),
    ).jobs
    assert [(j.algorithm, j.snr_db, j.seed) for j in jobs[::4]] == [
        (a, s, n) for a in ("two", "one") for s in (None, 20.0) for n in (1, 0)
    ]
    assert next(j.dataset for j in jobs[:4]) == "rc-circuit"


def test_names_repeated_are_run_once(plan: Callable[..., Plan]) -> None:
    assert len(plan(datasets=("rc-circuit", "rc-circuit", "rc-c*t")).jobs) == 1


@pytest.fixture
def pde_plan(tmp_path: Path) -> Callable[..., Plan]:
    workspace = make_workspace(tmp_path)
    for name, more in (("all-rows", ""), ("few-rows", "max_rows = 500")):
        add_method(workspace, name, more=more)
        toml = workspace.algorithms / name / "method.toml"
        text = toml.read_text(encoding="utf-8").replace('["ode"]', '["ode", "pde"]')
        toml.write_text(text, encoding="utf-8")
    options = RunOptions(("all-rows", "few-rows"), "pde", ("advection_diffusion_2d",))

    def make(**changes: Any) -> Plan:
        return make_plan(replace(options, **changes), workspace)

    return make


def test_rows_are_limited_by_the_method_unless_the_user_states_otherwise(
    pde_plan: Callable[..., Plan],
) -> None:
    few = {"special": ("--max-rows", "70")}
    assert [job.options for job in pde_plan().jobs] == [{}, {"max_rows": 500}]
    assert [job.options for job in pde_plan(**few).jobs] == [{"max_rows": 70}] * 2
    ready = resolve_jobs(pde_plan(**few), HereRuntime())
    assert [one.parts["max_rows"] for one in ready] == ["70", "70"]
    assert "max_rows" not in resolve_jobs(pde_plan(), HereRuntime())[0].parts
    plan = pde_plan(**few, seeds=(5,))
    one = resolve_jobs(plan, HereRuntime())[0]
    task = plan.catalog.task(one, plan.catalog.load(one.job))
    assert len(task.refit.targets) == 70
    # Where nothing can be left out, a method's own limit means nothing.
    assert not any(job.options for job in pde_plan(data_type="ode", datasets=()).jobs)
    with pytest.raises(UsageError, match="'--max-rows' is no option of a run"):
        pde_plan(data_type="ode", datasets=(), **few)


def test_the_variant_is_the_data_s_and_stands_in_the_key(pde_plan: Callable[..., Plan]) -> None:
    right = resolve_jobs(pde_plan(), HereRuntime())
    released = resolve_jobs(pde_plan(special=("--variant=released",)), HereRuntime())
    assert "variant" not in right[0].parts
    assert released[0].parts["variant"] == "released"
    assert released[0].parts["dataset"] != right[0].parts["dataset"]
    with pytest.raises(UsageError, match=r"--variant is 'relased'(.|\n)*released"):
        pde_plan(special=("--variant", "relased"))
    with pytest.raises(UsageError, match="'--variant' is no option of a run"):
        pde_plan(data_type="ode", datasets=(), special=("--variant", "released"))


def test_an_option_that_does_not_go_with_a_view_is_refused(
    pde_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(pde_plan().catalog.data_type("pde"))
    options = tuple(replace(option, views=("field",)) for option in kind.options)
    monkeypatch.setattr(kind, "options", options)
    assert not any(job.options for job in pde_plan().jobs)
    with pytest.raises(UsageError, match=r"--max-rows does not go with all-rows.* it goes with: f"):
        pde_plan(special=("--max-rows", "70"))


@pytest.mark.parametrize("ends", [1, 7, 63, 100, 400])
def test_wherever_a_balanced_run_ends_all_methods_have_the_same_cases(
    plan: Callable[..., Plan], ends: int
) -> None:
    jobs = plan(algorithms=("one", "two"), snr=(None, 20.0), seeds=(0, 1)).jobs
    order = balanced(jobs)
    assert set(order) == set(jobs)
    assert order != list(jobs)

    def cases(method: str) -> set[tuple[Any, ...]]:
        return {job.question for job in order[:ends] if job.algorithm == method}

    assert len(cases("one") ^ cases("two")) <= 1
    assert [job.seed for job in order] == sorted(job.seed for job in order)
    # A sample of all systems and levels, not the first ones: both levels are there early.
    assert ends < 7 or len({job.snr_db for job in order[:ends]}) == 2


def test_the_balanced_order_does_not_depend_on_what_else_is_planned(
    plan: Callable[..., Plan],
) -> None:
    few = balanced(plan(datasets=("l*",), snr=(None, 20.0)).jobs)
    many = balanced(plan(algorithms=("two", "one"), snr=(20.0, None, 40.0)).jobs)
    assert [job for job in many if job in few] == few


def test_a_run_has_a_limit_on_its_jobs(plan: Callable[..., Plan]) -> None:
    levels = tuple(level / 1000 for level in range(2000))
    with pytest.raises(UsageError, match=r"126,000 jobs; a run may have 100,000"):
        plan(datasets=(), snr=levels)
    assert len(plan(datasets=("rc-circuit",), snr=levels).jobs) == len(levels)
