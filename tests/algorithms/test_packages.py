"""Adapters of packages that no test environment has: against stand-ins with their entry points.

What the packages themselves do is no matter here: that was tried by hand (docs/methods.md).
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins import adapter, made, module, problem, values
from torch_methods import folders, modules

from eqverdict import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LENGTH, TIME = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
NOTHING = (0.0,) * 7


X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))


# ------------------------------------------------------------------------------ written equations


@pytest.fixture(scope="module")
def written() -> Iterator[Any]:
    with modules(*folders("rils_rols")) as imported:
        yield imported("written_equations")


_TEXTS = st.recursive(
    st.sampled_from(["x0", "x1", "2.5", "-3", "1e-3", "pi"]),
    lambda part: st.one_of(
        st.builds("({})+({})".format, part, part),
        st.builds("({})-({})".format, part, part),
        st.builds("({})*({})".format, part, part),
        st.builds("({})/({})".format, part, part),
        st.builds("sin({})".format, part),
        st.builds("Abs({})".format, part),
        st.builds("pow2({})".format, part),
        st.builds("-({})".format, part),
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(text=_TEXTS)
def test_an_equation_means_what_its_text_states(written: Any, text: str) -> None:
    equation = written.in_names(text, {"x0": "v0", "x1": "v1"})
    row = {"x0": 0.7, "x1": -1.3, "pi": math.pi, "sin": math.sin}
    known = {**row, "Abs": abs, "pow2": lambda value: value**2, "__builtins__": {}}
    try:
        expected = eval(text, known)
    except (ZeroDivisionError, OverflowError):
        return
    [found] = written.values(equation, ("v0", "v1"), np.array([[0.7, -1.3]]))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        *("x7", "inf", "nan", "1e999", "x0.real", "x0 if x0 else 1", "f(x0)", "sin(x0, x1)", "'a'"),
        *(
            "x0 +",
            "[x0]",
            "lambda: x0",
            "True",
            "1j",
            "(" * 3000 + "x0" + ")" * 3000,
            "",
            "x0" * 99999,
        ),
        *("__import__('os')", "sin(x=x0)", "x0 @ x1", "x0 < 1"),
    ],
)
def test_what_is_no_equation_is_refused(written: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"equation|meaning|number"):
        written.in_names(text, {"x0": "v0", "x1": "v1"})


def test_functions_can_be_written_as_they_are_evaluated(written: Any) -> None:
    equation = written.in_names("log(x0)*sqrt(x0)", {"x0": "v"}, {"log": "log(abs({0}))"})
    assert equation == "(log(abs(v)) * sqrt(v))"
    assert written.in_names("x0^2", {"x0": -2.0}) == "((-2) ** 2)"


# ------------------------------------------------------------------------------------------ physo


class _Programs:
    """Stands for PhySO's batch of programs."""

    def __init__(self, programs: Sequence[tuple[str, Sequence[float]]]) -> None:
        self._programs = programs
        self.n_lengths = np.array([len(text.split()) for text, _ in programs])

    def get_prog(self, place: int, *, detach: bool) -> Any:
        assert detach
        text, constants = self._programs[place]
        table = SimpleNamespace(class_values=np.array([constants]))
        return SimpleNamespace(tokens=text.split(), free_consts=table)


def physo(
    epochs: Sequence[Sequence[tuple[str, Sequence[float], float]]], asked: list[Any]
) -> dict[str, ModuleType]:
    """Make a PhySO whose epochs are known."""

    def sr(inputs: Any, target: Any, **settings: Any) -> None:
        asked.append((inputs, target, settings))
        logger = settings["get_run_logger"]()
        for number, programs in enumerate(epochs):
            batch = SimpleNamespace(programs=_Programs([(t, c) for t, c, _ in programs]))
            rewards = np.array([reward for *_, reward in programs])
            logger.log(number, batch, None, rewards, None, None, None)
        raise AssertionError("nobody has ended the search")

    lengths: list[tuple[str, dict[str, int]]] = [
        (name, {}) for name in ("HardLengthPrior", "SoftLengthPrior", "PhysicalUnitsPrior")
    ]
    config = {
        "learning_config": {"observe_units": True},
        "free_const_opti_args": {"method_args": {}},
        "cell_config": {},
        "priors_config": lengths,
    }
    torch = module("torch", manual_seed=lambda _seed: None, set_num_threads=lambda _count: None)
    return {
        "torch": torch,
        "torch___dynamo": module("torch._dynamo"),
        "physo": module("physo", SR=sr),
        "physo__config": module("physo.config"),
        "physo__config__config0": module("physo.config.config0", config0=config),
    }


def test_physo_is_given_the_units_and_may_use_a_constant_of_each() -> None:
    a = np.array([0.4, 0.7, 1.0, 1.5])
    question = problem(
        a[:, None], 365.0 * a**1.5, units={"v0": LENGTH, "y0": TIME}, time_limit=1000.0
    )
    law = "mul c03 mul div x0 c02 sqrt div x0 c02"
    asked: list[Any] = []
    with adapter("physo", **physo([[(law, [9.0, 9.0, 2.0, 365.0], 1.0)]], asked)) as found:
        method = made("physo", found, constants=2)
        method.fit(question)
        [equation] = method.equations()
        [candidate] = method.candidates()
    [(inputs, _, settings_)] = asked
    assert inputs.shape == (1, 4)
    assert settings_["X_units"] == [list(LENGTH)]
    assert settings_["y_units"] == list(TIME)
    assert settings_["free_consts_units"] == [[0.0] * 7, [0.0] * 7, list(LENGTH), list(TIME)]
    assert settings_["free_consts_names"] == ["c00", "c01", "c02", "c03"]
    assert not settings_["use_protected_ops"]
    np.testing.assert_allclose(values(equation, question), 365.0 * (a / 2) ** 1.5)
    assert candidate.equations == (equation,)
    assert candidate.target == 0
    assert not method.stopped_early


def test_physo_without_units_and_data_of_any_size() -> None:
    inputs = np.array([[1e-30], [2e-30], [5e-30]])
    asked: list[Any] = []
    epochs = [[("mul c00 x0", [1.0], 1.0)]]
    with adapter("physo", **physo(epochs, asked)) as found:
        method = made("physo", found, constants=1)
        method.fit(problem(inputs, inputs[:, 0] * 1e40))
        [equation] = method.equations()
    [(scaled, target, settings_)] = asked
    assert settings_["X_units"] == [[0.0] * 7]
    assert settings_["free_consts_units"] == [[0.0] * 7]
    assert 0.1 < np.abs(scaled).max() < 10
    assert 0.1 < np.abs(target).max() < 10
    scales = target / scaled[0]
    np.testing.assert_allclose(
        values(equation, problem(inputs, inputs[:, 0])) * scales, inputs[:, 0] * 1e40, rtol=1e-9
    )


def test_physo_keeps_the_best_of_each_length_and_ends_in_time() -> None:
    epochs: list[list[tuple[str, list[float], float]]] = [
        [
            ("x0", [], 0.2),
            ("x1", [], 0.3),
            ("add x0 x1", [], 0.0),
            ("exp div x0 sub x0 x0", [], 0.9),
        ],
        [("x0", [], 0.1), ("sin x0", [], 0.4)],
    ]
    with adapter("physo", **physo(epochs * 500, [])) as found:
        method = made("physo", found, epochs=2)
        method.fit(problem(X, X[:, 0], X[:, 1]))
        offered = [(c.equations, c.target) for c in method.candidates()]
        assert offered == [
            (("v1",), 0),
            (("sin(v0)",), 0),
            (("v1",), 1),
            (("sin(v0)",), 1),
        ]  # what is finite nowhere, or has no reward, is not offered
        method.choose([0, 3])
        assert method.equations() == ["v1", "sin(v0)"]
        hurried = made("physo", found)
        hurried.fit(problem(X, X[:, 0], time_limit=0.0))
        assert hurried.stopped_early
        with pytest.raises(ValueError, match="finite"):
            made("physo", found).fit(problem(X * np.nan, X[:, 0]))
    with (
        adapter("physo", **physo([[("add x0 x1", [], 0.0)]], [])) as found,
        pytest.raises(RuntimeError, match="no expression for y0"),
    ):
        made("physo", found, epochs=1).fit(problem(X, X[:, 0]))


def test_physo_s_programs_are_read_token_by_token() -> None:
    with adapter("physo", **physo([], [])):
        programs = sys.modules["programs"]
        leaves = programs.allowed_symbols(problem(X, X[:, 0]), 0, 1)
        tree = programs.program_tree(["inv", "n2", "sub", "x0", "1.0"], leaves, [])
        from_text = sys.modules["scaling"].text(tree, ["v0", "v1"])
        assert parse(from_text, ("v0", "v1")).evaluate(
            {"v0": np.array([3.0]), "v1": np.array([0.0])}
        ) == pytest.approx([0.25])
        for tokens in (["add", "x0"], ["x0", "x1"], ["x9"], ["mystery", "x0"], []):
            with pytest.raises(ValueError, match=r"token|ended|end"):
                programs.program_tree(tokens, leaves, [])


# --------------------------------------------------------------------------------------- rils_rols


def rils_rols(model: str, simple: str, made_with: list[Any], **more: Any) -> dict[str, ModuleType]:
    class Regressor:
        def __init__(self, **parameters: Any) -> None:
            made_with.append(parameters)
            self.model, self.model_simp = model, simple
            self.fit_calls = more.get("fit_calls", parameters["max_fit_calls"])
            self.total_time = more.get("total_time", 0.0)

        def fit(self, inputs: Any, target: Any) -> None:
            made_with.append((inputs, target))
            more.get("used", str)(made_with[-2]["max_fit_calls"])

    return {
        "rils_rols": module("rils_rols"),
        "rils_rols__rils_rols": module("rils_rols.rils_rols", RILSROLSRegressor=Regressor),
    }


def test_rils_rols_gives_what_it_found_and_what_sympy_made_of_it() -> None:
    asked: list[Any] = []
    package = rils_rols("(2.000000*(x0))+sin(x1)", "sin(x1) + 2*x0", asked)
    with adapter("rils_rols", **package) as found:
        method = made("rils_rols", found)
        question = problem(X, 2 * X[:, 0] + np.sin(X[:, 1]), time_limit=10.9)
        method.fit(question)
        offered = [each.equations[0] for each in method.candidates()]
        [equation] = method.equations()
        predictions = method.predict(question)
    assert asked[0]["max_time"] in range(1, 12)  # whole seconds, up from 95 % of the limit
    assert len(offered) == 2
    np.testing.assert_allclose(values(equation, question), question.Y[:, 0])
    np.testing.assert_allclose(predictions, question.Y)
    assert not method.stopped_early


def test_rils_rols_has_an_answer_soon_and_runs_with_ever_more_calls() -> None:
    asked: list[Any] = []
    with adapter("rils_rols", **rils_rols("x0", "x0", asked)) as found:
        method = made("rils_rols", found)
        method.fit(problem(X, X[:, 0]))
        assert [each["max_fit_calls"] for each in asked[::2]] == [1000, 10_000, 100_000]
        assert len({each["random_state"] for each in asked[::2]}) == 1
        assert not method.stopped_early
        asked.clear()
        few = made("rils_rols", found, max_fit_calls=500)
        few.fit(problem(X, X[:, 0]))
        assert [each["max_fit_calls"] for each in asked[::2]] == [500]


def test_rils_rols_begins_no_run_that_would_be_cut_off() -> None:
    asked: list[Any] = []
    runs: list[int] = []
    with adapter("rils_rols", **rils_rols("x0", "x0", asked, used=runs.append)) as found:
        method = made("rils_rols", found)
        question = problem(X, X[:, 0], time_limit=2.0)
        question.budget.spent = lambda: 1e-4 * sum(runs)  # type: ignore[method-assign]
        method.fit(question)
    # 1000 calls took 0.1 s, so ten times as many 1 s; then too little is left for twice as many.
    assert runs == [1000, 10_000]
    assert method.stopped_early


def test_rils_rols_brings_data_of_any_size_to_its_six_decimals() -> None:
    asked: list[Any] = []
    with adapter("rils_rols", **rils_rols("x0", "x0", asked)) as found:
        method = made("rils_rols", found)
        tiny = problem(X * 1e-12, X[:, 0] * 1e9)
        method.fit(tiny)
        [equation] = method.equations()
    inputs, target = asked[1]
    assert 0.1 < np.abs(inputs).max() < 10
    assert 0.1 < np.abs(target).max() < 10
    ratio = values(equation, tiny) / tiny.X[:, 0]
    np.testing.assert_allclose(ratio, ratio[0])


def test_rils_rols_stopped_constant_or_broken() -> None:
    with adapter("rils_rols", **rils_rols("x0", "x0", [], fit_calls=5, total_time=10.0)) as found:
        method = made("rils_rols", found)
        method.fit(problem(X, X[:, 0], time_limit=10.0))
        assert method.stopped_early
    with adapter("rils_rols", **rils_rols("0", "0", [])) as found:
        method = made("rils_rols", found)
        method.fit(problem(X, np.full(len(X), 7.25)))
        assert method.equations() == ["7.25"]
    with adapter("rils_rols", **rils_rols("log(-x0)", "nan", [])) as found:
        with pytest.raises(RuntimeError, match="none of 6 is a finite equation"):
            made("rils_rols", found).fit(problem(X, X[:, 0]))
        with pytest.raises(ValueError, match="not finite"):
            made("rils_rols", found).fit(problem(X, X[:, 0] * np.inf))
        with pytest.raises(TypeError, match="hurry"):
            made("rils_rols", found, hurry=True)


# ------------------------------------------------------------------------------------------- bingo


class Hall(list[Any]):
    """A hall of fame that keeps everybody."""

    def update(self, people: Sequence[Any]) -> None:
        self.extend(people)


def bingo(
    texts: Sequence[str],
    made_with: list[Any],
    *,
    generation: Callable[[], None] = lambda: None,
    generations: int = 3,
) -> dict[str, ModuleType]:
    """Return the package: the first text is in the hall of fame, others in the population."""

    def graph(text: str, *, fit_set: bool = True) -> Any:
        return SimpleNamespace(
            get_formatted_string=lambda kind: {"sympy": text}[kind], fit_set=fit_set
        )

    class Regressor:
        def __init__(self, **parameters: Any) -> None:
            made_with.append(parameters)

        def _get_archipelago(self, *_: Any) -> Any:
            island: Any = SimpleNamespace(
                generational_age=0,
                hall_of_fame=Hall([graph(texts[0])]),
                population=[*map(graph, texts[1:]), graph("X_0/0", fit_set=False)],
                get_fitness_evaluation_count=lambda: 500 * island.generational_age,
            )

            def step() -> None:
                generation()
                island.generational_age += 1

            island._execute_generational_step = step
            return island

        def fit(self, inputs: Any, target: Any) -> None:
            self.archipelago = self._get_archipelago(inputs, target, 0)
            for _ in range(generations):
                self.archipelago._execute_generational_step()

        def get_pareto_front(self) -> list[Any]:
            return [SimpleNamespace(equation=graph(text)) for text in texts]

    package = "bingo.symbolic_regression.symbolic_regressor"
    found = {name: module(name) for name in ("bingo", "bingo.symbolic_regression")}
    found[package] = module(package, SymbolicRegressor=Regressor)
    return {name.replace(".", "__"): each for name, each in found.items()}


def test_bingo_s_logarithm_is_that_of_the_absolute_value() -> None:
    asked: list[Any] = []
    threads = os.environ["OMP_NUM_THREADS"]
    with adapter("bingo", **bingo(["log(X_0)", "sqrt(X_1) - (2.5)", "X_0 + X_7"], asked)) as found:
        method = made("bingo", found)
        method.fit(problem(-X, X[:, 0], time_limit=100.0))
        offered = [each.equations[0] for each in method.candidates()]
        assert sys.modules.get("mpi4py", "left alone") is None
    sys.modules.pop("mpi4py", None)
    assert os.environ["OMP_NUM_THREADS"] == threads  # for the tests after this one
    assert offered == ["log(abs(v0))", "(sqrt(abs(v1)) - 2.5)"]
    assert asked[0]["max_time"] > 1e6  # its own clock ends nothing
    assert (method.stopped_early, method.evaluations) == (False, 1500)


def test_bingo_ends_before_a_generation_that_may_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("mdbench.worker.budget.time.monotonic", lambda: now[0])

    def generation() -> None:
        now[0] += 10.0

    package = bingo(["X_0", "2.0*X_0"], [], generation=generation, generations=10**6)
    with adapter("bingo", **package) as found:
        method = made("bingo", found)
        method.fit(problem(X, X[:, 0], time_limit=100.0))
        offered = [each.equations[0] for each in method.candidates()]
    assert now[0] == 90.0  # of 95
    assert (method.stopped_early, method.evaluations) == (True, 9 * 500)
    assert offered == ["v0", "(2 * v0)"]  # the best of the last generation, as far as evaluated


def test_bingo_that_is_stopped_has_its_hall_of_fame() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with adapter("bingo", **bingo(["X_0", "2.0*X_0"], [], generation=stop)) as found:
        method = made("bingo", found)
        with pytest.raises(KeyboardInterrupt):
            method.fit(problem(X, X[:, 0]))
        assert [each.equations[0] for each in method.candidates()] == ["v0", "(2 * v0)"]


# --------------------------------------------------------------------------------------- aifeynman


class _Front:
    """Stands for the package's Pareto front: what is not finite is not taken."""

    def add(self, point: Any) -> bool:
        return bool(point.data != "worse")


@contextmanager
def aifeynman(
    run: Callable[[Any, Sequence[Any]], None], tmp_path: Path, patch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Yield the adapter with a stand-in for the package, whose run is given a front to fill."""
    patch.chdir(tmp_path)

    def run_aifeynman(*asked: Any, **more: Any) -> None:
        whole, part = package.ParetoSet(), package.ParetoSet()
        part.add(SimpleNamespace(data="x0*x0"))
        run(lambda text: whole.add(SimpleNamespace(data=text)), [*asked, more])

    package = module("S_run_aifeynman", ParetoSet=_Front, run_aifeynman=run_aifeynman)
    names = ("S_brute_force", "S_brute_force_comp", "S_brute_force_gen_sym", "S_brute_force_number")
    parts = {name: module(name) for name in names}
    torch = module("torch", manual_seed=lambda _seed: None, set_num_threads=lambda _count: None)
    stand_in = module("aifeynman", S_run_aifeynman=package, **parts)
    stand_ins = {"torch": torch, "torch___dynamo": module("torch._dynamo"), "aifeynman": stand_in}
    with adapter("aifeynman", **stand_ins) as found:
        yield found


def test_aifeynman_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(found: Callable[[str], None], asked: Sequence[Any]) -> None:
        assert asked[2:] == [60, "14ops.txt", {"polyfit_deg": 4, "NN_epochs": 4000}], asked
        rows = Path(asked[0], asked[1]).read_text(encoding="utf-8").splitlines()
        assert len(rows) == 30
        assert len(rows[0].split()) == 3
        for text in ("x0*x1", "1.5", "mystery(x0)", "worse", "-log(x0 - 9)"):
            found(text)

    with aifeynman(run, tmp_path, monkeypatch) as found:
        method = made("aifeynman", found)
        question = problem(X, X[:, 0] * X[:, 1], X[:, 0])
        method.fit(question)
        offered = [(each.equations[0], each.target) for each in method.candidates()]
    assert offered == [("(v0 * v1)", 0), ("1.5", 0), ("(v0 * v1)", 1), ("1.5", 1)]
    assert method.equations()[0] == "(v0 * v1)"
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"target0", "target1"}
    assert Path.cwd() == tmp_path


def _silent(*_: Any) -> None:
    """Find nothing."""


def _exits(*_: Any) -> None:
    os._exit(3)


def _finds_nan(found: Callable[[str], None], _: Sequence[Any]) -> None:
    found("nan")


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (_silent, "AI Feynman's answer for y0: it is empty"),
        (_exits, "status 3"),
        (_finds_nan, "none of 1 is a finite equation"),
    ],
)
def test_aifeynman_s_silence_is_a_failure(
    run: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        aifeynman(run, tmp_path, monkeypatch) as found,
        pytest.raises(RuntimeError, match=told),
    ):
        made("aifeynman", found).fit(problem(X, X[:, 0]))


def _ended(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or ") Z " in state.read_text(encoding="utf-8")


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, "it is not so after a minute"
        time.sleep(0.01)


def test_aifeynman_is_ended_with_all_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(found: Callable[[str], None], _: Sequence[Any]) -> None:
        found("x0")
        package: Any = sys.modules["aifeynman"]
        package.S_brute_force.subprocess.call(["feynman_sr_mdl_plus"], timeout=600)

    def go() -> None:
        Path("child").write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)

    program = module("aifeynman._symbolic_regress_mdl2", go=go)
    child = tmp_path / "scratch" / "target0" / "child"
    with aifeynman(run, tmp_path, monkeypatch) as found:
        monkeypatch.setitem(sys.modules, "aifeynman._symbolic_regress_mdl2", program)
        method = made("aifeynman", found)
        monkeypatch.setattr(
            found.SearchProcess, "_is_used_up", lambda *_: child.exists() and child.stat().st_size
        )
        method.fit(problem(X, X[:, 0]))
    assert method.equations() == ["v0"]
    assert method.stopped_early
    pid = int(child.read_text(encoding="utf-8"))
    _wait_until(lambda: _ended(pid))


@pytest.mark.parametrize("cpu_time", [True, False])
def test_a_program_of_aifeynman_is_ended_by_its_part_of_the_limit(
    monkeypatch: pytest.MonkeyPatch, cpu_time: bool
) -> None:
    def go() -> None:
        while True:
            pass

    for name, work in (("_mdl2", go), ("_mdl3", lambda: None)):
        module_name = f"aifeynman._symbolic_regress{name}"
        monkeypatch.setitem(sys.modules, module_name, module(module_name, go=work))
    with modules(*folders("aifeynman")) as imported:
        programs = imported("forked_programs").ForkedPrograms(0.001, 1e-9, cpu_time=cpu_time)
        ended_by = signal.SIGPROF if cpu_time else signal.SIGALRM
        for _ in range(3):  # the two on the target, and one of the others
            assert programs.call(["feynman_sr_mdl_plus"], timeout=20) == -ended_by
        assert (
            imported("forked_programs")
            .ForkedPrograms(1, 1, cpu_time=cpu_time)
            .call(["feynman_sr_mdl_mult"], timeout=60)
            == 0
        )


def test_only_the_front_of_the_whole_problem_is_taken_down() -> None:
    lines: list[str] = []
    with modules(*folders("aifeynman")) as imported:
        recording = imported("forked_programs").recording(_Front, lines.append)
        whole, part = recording(), recording()
        whole.add(SimpleNamespace(data="x0"))
        part.add(SimpleNamespace(data="x0*x0"))
        whole.add(SimpleNamespace(data="worse"))
    assert lines == ["x0"]
