"""Searches in processes of their own, and the two methods that use them, with stand-ins."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sympy
from stand_ins import adapter, made, module, problem, values
from torch_methods import folders, modules

from mdbench.worker import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

Send = Callable[[Any], None]
X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))


@pytest.fixture(scope="module")
def search_process() -> Iterator[Any]:
    with modules(*folders("eggp")) as imported:
        yield imported("search_process").SearchProcess


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_a_search_finds_arrives_and_what_it_changes_does_not(search_process: Any) -> None:
    changed: list[int] = []

    def search(send: Send) -> None:
        for number in range(3):
            changed.append(number)
            send((number, "x" * 100_000 * number))  # more than a pipe holds

    process = search_process(search, Budget(), float("inf"), 1)
    assert list(process) == [(0, ""), (1, "x" * 100_000), (2, "x" * 200_000)]
    assert (changed, process.stopped) == ([], False)


@pytest.mark.parametrize("work", [None, 0.2])
def test_a_search_that_does_not_end_is_ended_by_the_budget(
    search_process: Any, work: float | None
) -> None:
    def search(send: Send) -> None:
        send(os.getpid())
        while True:
            pass

    budget = Budget(None if work else 0.2, work=work)
    process = search_process(search, budget, 0.2, 1)
    sent = list(process)  # nothing where the limit was over before the process had begun
    assert process.stopped
    assert not any(_alive(pid) for pid in sent)
    assert budget.spent() >= 0.2  # with the CPU time of the process, now that it has ended


def test_a_work_limit_does_not_count_a_search_s_waiting(search_process: Any) -> None:
    def search(send: Send) -> None:
        time.sleep(1.0)
        send("done")

    # To fork a process of this size may take a tenth of a second.
    process = search_process(search, Budget(work=1e9), 0.5, 1)
    begun = time.monotonic()
    assert list(process) == ["done"]
    assert time.monotonic() - begun >= 1.0
    assert not process.stopped


def _raises(_: Send) -> None:
    raise ArithmeticError("no such number")


def _exits(_: Send) -> None:
    os._exit(3)


@pytest.mark.parametrize(
    ("end", "said"),
    [(_raises, "ArithmeticError: no such number"), (_exits, "ended with status 3")],
)
def test_a_search_that_fails_is_an_error_unless_it_has_found_something(
    search_process: Any,
    capsys: pytest.CaptureFixture[str],
    end: Callable[[Send], None],
    said: str,
) -> None:
    with pytest.raises(RuntimeError, match=said):
        list(search_process(end, Budget(), float("inf"), 1))

    def late(send: Send) -> None:
        send("x0")
        end(send)

    assert list(search_process(late, Budget(), float("inf"), 1)) == ["x0"]
    assert said in capsys.readouterr().out


def test_a_search_ends_with_the_one_that_asks(search_process: Any) -> None:
    def search(send: Send) -> None:
        while True:
            send(os.getpid())

    found = iter(search_process(search, Budget(), float("inf"), 1))
    pid = next(found)
    found.close()
    assert not _alive(pid)


# -------------------------------------------------------------------------------- eggp and symregg


class _Frame(dict[str, Any]):
    """As much of a DataFrame as is used."""


def package(name: str, fit: Callable[[Any], tuple[Sequence[str], Sequence[float]]]) -> ModuleType:
    class Estimator:
        def __init__(self, gen: int = 1, nPop: int = 1, **parameters: Any) -> None:
            self.gen, self.nPop, self.parameters = gen, nPop, parameters

        def get_params(self) -> dict[str, Any]:
            names = ("nonterminals", "maxSize", "optIter", "optRepeat", "alg")
            return dict.fromkeys(("gen", "nPop", *names))

        def fit(self, inputs: Any, target: Any) -> None:
            self.shape = inputs.shape, target.shape
            texts, losses = fit(self)
            self.results = _Frame(Expression=list(texts), loss_train=np.array(losses))

    return module(name, **{"eggp": {"EGGP": Estimator}, "symregg": {"SymRegg": Estimator}}[name])


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHCRTS", "")
        yield


@pytest.mark.parametrize("name", ["eggp", "symregg"])
def test_searches_get_longer_until_one_is_exact(name: str) -> None:
    law = 2.5 * X[:, 0] ** 2 / X[:, 1]

    def fit(search: Any) -> tuple[list[str], list[float]]:
        if search.gen < 4 * first:
            return [f"(x0 * {search.gen}.0)", "0.0"], [1.0, 2.0]
        return ["((2.5 * Square(x0)) * Recip(x1))", "Log(x0)"], [1e-31, 3.0]

    with adapter(name, **{name: package(name, fit)}) as found:
        method = made(name, found)
        first = method._generations
        question = problem(X, law)
        method.fit(question)
        offered = [each.equations[0] for each in method.candidates()]
        [equation] = method.equations()
        predictions = method.predict(question)
    np.testing.assert_allclose(values(equation, question), law)
    np.testing.assert_allclose(predictions[:, 0], law)
    assert offered[0] == repr(float(law.mean()))
    # A search that takes no time is followed by one of 25 times its generations.
    assert [f"(v0 * {gen})" in offered for gen in (first, 25 * first)] == [1, 0]
    assert not method.stopped_early


def test_a_search_that_hangs_costs_a_part_of_the_budget(tmp_path: Path) -> None:
    mark = tmp_path / "hung"

    def fit(_: Any) -> tuple[list[str], list[float]]:
        if not mark.exists():
            mark.touch()
            time.sleep(60)
        return ["x0"], [1e-31]

    with adapter("eggp", eggp=package("eggp", fit)) as found:
        method = made("eggp", found)
        method.fit(problem(X, X[:, 0], time_limit=2.0))
        assert method.equations() == ["v0"]
        assert not method.stopped_early


def test_what_ends_all_searches_leaves_the_mean() -> None:
    def fit(_: Any) -> tuple[list[str], list[float]]:
        time.sleep(60)
        return [], []

    with adapter("symregg", symregg=package("symregg", fit)) as found:
        method = made("symregg", found, rounds=3)
        method.fit(problem(X, X[:, 0], time_limit=0.2))
        assert method.equations() == [repr(float(X[:, 0].mean()))]
        assert method.stopped_early
        with pytest.raises(ValueError, match="not finite"):
            made("symregg", found).fit(problem(X * np.nan, X[:, 0]))
        with pytest.raises(TypeError, match="no_such"):
            made("symregg", found, no_such=1)


# -------------------------------------------------------------------------------------------- psrn


def psrn(fronts: Sequence[Sequence[tuple[str, float]]], asked: list[Any]) -> dict[str, ModuleType]:
    """Make a package whose rounds give these fronts, and after them none."""

    class Regressor:
        def __init__(self, **settings: Any) -> None:
            asked.append(settings)
            self.pareto_frontier: list[tuple[str, float, float, int]] = []

        def display_expr_table(self) -> None:
            raise AssertionError("it is shown to nobody")

        def fit(self, inputs: Any, target: Any, *, threshold: float, **_: Any) -> None:
            assert inputs.shape[0] == len(target)
            for front in [*fronts, *[fronts[-1]] * 1000]:
                print("megabytes of progress")  # noqa: T201 - as the package does
                self.display_expr_table()
                self.pareto_frontier = [(text, 0.0, error, 1) for text, error in front]
                if min(error for _, error in front) < threshold:
                    return

    nothing = module("psrn")
    torch = module(
        "torch",
        manual_seed=lambda _: None,
        set_num_threads=lambda _: None,
        device=lambda name: name,
    )
    return {
        "torch": torch,
        "torch___dynamo": module("torch._dynamo"),
        "psrn": nothing,
        "psrn__model": nothing,
        "psrn__model__regressor": module("psrn.model.regressor", PSRN_Regressor=Regressor),
    }


def test_psrn_keeps_the_fronts_of_all_rounds(capfd: pytest.CaptureFixture[str]) -> None:
    rounds = [[("1.5*x0", 0.5), ("sin(x1)", 0.7)], [("x0*x1**2", 1e-30)]]
    asked: list[Any] = []
    with adapter("psrn", **psrn(rounds, asked)) as found:
        method = made("psrn", found, variables=5)
        question = problem(X, X[:, 0] * X[:, 1] ** 2)
        method.fit(question)
        offered = {each.equations[0] for each in method.candidates()}
        [equation] = method.equations()
    np.testing.assert_allclose(values(equation, question), question.Y[:, 0])
    assert {"(1.5 * v0)", "sin(v1)"} < offered
    assert not method.stopped_early
    assert "progress" not in capfd.readouterr().out


def test_psrn_ends_after_as_many_rounds_as_are_asked_for() -> None:
    with adapter("psrn", **psrn([[("x0", 0.5)], [("x1", 0.4)]], [])) as found:
        method = made("psrn", found, rounds=1)
        method.fit(problem(X, X[:, 0] + X[:, 1]))
        offered = {each.equations[0] for each in method.candidates()}
        assert "v0" in offered
        assert "v1" not in offered
        with pytest.raises(ValueError, match="not finite"):
            method.fit(problem(X, X[:, 0] * np.nan))
        with pytest.raises(TypeError, match="hurry"):
            made("psrn", found, hurry=True)


# -------------------------------------------------------------------------------------------- epde


def epde(epochs: Sequence[Sequence[str]], asked: list[Any]) -> dict[str, ModuleType]:
    """Make a package whose epochs have these equations, and later ones those of the last."""

    class Search:
        def __init__(self, **settings: Any) -> None:
            asked.append(settings)
            self.optimizer, self._epoch = self, -1

        def set_moeadd_params(self, *, population_size: int, training_epochs: int) -> None:
            asked.append((population_size, training_epochs))

        def fit(self, data: Any, *, derivs: Any, additional_tokens: Any, **_: Any) -> None:
            asked.append(
                (data[0].shape, derivs[0].shape, [one.labels for one in additional_tokens])
            )
            print("the package's progress")  # noqa: T201 - as the package does
            self.optimize(1)

        def optimize(self, epochs: int) -> None:
            self._epoch += epochs

        def equations(self, *, only_print: bool, num: int) -> list[list[Any]]:
            assert (only_print, num) == (False, 8)
            forms = epochs[min(self._epoch, len(epochs) - 1)]
            errors = range(len(forms), 0, -1)
            return [
                [SimpleNamespace(text_form=f"{form}\n{{}}", obj_fun=(float(error), 2.0))]
                for form, error in zip(forms, errors, strict=True)
            ]

    class Tokens:
        def __init__(self, kind: str, labels: list[str], columns: Any, **_: Any) -> None:
            assert kind == "columns"
            assert set(labels) == set(columns)
            self.labels = labels

    torch = module("torch", manual_seed=lambda _: None, set_num_threads=lambda _: None)
    nothing = module("epde")
    return {
        "torch": torch,
        "torch___dynamo": module("torch._dynamo"),
        "epde": nothing,
        "epde__interface": nothing,
        "epde__interface__interface": module("epde.interface.interface", EpdeSearch=Search),
        "epde__interface__prepared_tokens": module(
            "epde.interface.prepared_tokens", CacheStoredTokens=Tokens
        ),
    }


_FIRST_EPOCH = [
    "0.0 * x0{power: 2.0} + 3.0 = x0{power: 1.0}",  # without the target
    "2.0 * dx0/dx0{power: 1.0} * x1{power: 1.0} + 1.0 = x0{power: 1.0}",
    "1.0 * x0{power: 1.0} + 0.0 = dx0/dx0{power: 2.0}",
    "-0.5 * x0{power: 1.0} + 1.5 = dx0/dx0{power: 1.0}",
]
_SECOND_EPOCH = [
    "0.5 * dx0/dx0{power: 1.0} + 0.0 * x1{power: 1.0} + -1.0 = x0{power: 1.0} * x1{power: 2.0}"
]


def test_epde_solves_what_its_epochs_have_for_the_target(
    capfd: pytest.CaptureFixture[str],
) -> None:
    asked: list[Any] = []
    with adapter("epde", **epde([_FIRST_EPOCH, _SECOND_EPOCH], asked)) as found:
        method = made("epde", found, epochs=3)
        question = problem(X, 2 * X[:, 0] * X[:, 1] ** 2 + 2)
        method.fit(question)
        offered = {each.equations[0] for each in method.candidates()}
        [equation] = method.equations()
    np.testing.assert_allclose(values(equation, question), question.Y[:, 0])
    assert len(offered) == 5  # the mean, two of the first epoch and two of the second
    assert any("1.5" in one for one in offered)
    assert "progress" not in capfd.readouterr().out


def test_epde_is_given_columns_and_refuses_what_it_cannot_read() -> None:
    with adapter("epde", **epde([_FIRST_EPOCH], [])) as found:
        with pytest.raises(ValueError, match="not finite"):
            made("epde", found).fit(problem(X * np.nan, X[:, 0]))
        with pytest.raises(TypeError, match="no_such"):
            made("epde", found, no_such=1)
        method = made("epde", found, epochs=1)
        method.fit(problem(X, 1.5 - X[:, 0] / 2))
        [equation] = method.equations()
        found_values = values(equation, problem(X, X[:, 0]))
        np.testing.assert_allclose(found_values, 1.5 - X[:, 0] / 2)


# ------------------------------------------------------------------------------------------ parfam


def parfam(formulas: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, ModuleType]:
    """Make a package of whose families a fit gives the first formula, and pruned the second."""

    class Wrapper:
        def __init__(self, *, iterate: bool, config_name: str) -> None:
            assert iterate
            self.model_parameters = config_name
            numbers = {"lambda_1_finetuning": "1e-5", "enforce_function_iterate": "'False'"}
            self.config = {"TRAININGPARAMETERS": numbers}

    class Model:
        def get_formula(self, coefficients: str, *, decimals: int) -> str:
            assert decimals == 12
            return coefficients

        def predict(self, coefficients: str, inputs: Any) -> Any:
            names = {f"x{place}": column for place, column in enumerate(np.asarray(inputs).T)}
            return np.asarray(sympy.lambdify(list(names), coefficients)(*names.values()))

    def train(x: Any, y: Any, _: None, settings: Any, family: Any, seed: int, **__: Any) -> Any:
        assert (len(x), settings["max_dataset_length"], seed) == (len(y), len(y), settings["seed"])
        print("the package's progress")  # noqa: T201 - as the package does
        return (None,) * 4 + (family["first"], 1)

    torch = module(
        "torch",
        manual_seed=lambda _: None,
        set_num_threads=lambda _: None,
        tensor=np.asarray,
        linalg=np.linalg,
    )
    names = {
        "get_complete_model_parameter_list": lambda size, *_: [
            {"first": first, "pruned": pruned} for first, pruned in formulas[size]
        ],
        "hyperparameter_training": train,
        "evaluate_test_iterative_finetuning": lambda family, *_: (None, family["pruned"]),
        "setup_model": lambda *_: Model(),
    }
    return {
        "torch": torch,
        "torch___dynamo": module("torch._dynamo"),
        "parfam": module("parfam"),
        "parfam__parfamwrapper": module("parfam.parfamwrapper", ParFamWrapper=Wrapper),
        "parfam__train": module("parfam.train", **names),
    }


_FAMILIES = {
    "small": [("x0 + 0.1*x1", "x0"), ("x0 + x1", "9.0*x1"), ("0.9*x0*x1", "x0*x1")],
    "big": [("x0 + 0.1*x1", "x0"), ("x1", "x1")],
}


def test_parfam_prunes_each_best_family_and_ends_at_one_that_is_right(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with adapter("parfam", **parfam(_FAMILIES)) as found:
        method = made("parfam", found)
        question = problem(X, X[:, 0] * X[:, 1])
        method.fit(question)
        offered = {each.equations[0] for each in method.candidates()}
        assert method.equations() == ["(v0 * v1)"]
    assert {"(v0 + (0.1 * v1))", "v0", "(v0 + v1)", "((0.9 * v0) * v1)"} < offered
    assert "(9.0 * v1)" not in offered  # x0 + x1 is worse than x0, and is not pruned
    assert "v1" not in offered  # of a family behind the right one
    assert not method.stopped_early
    assert "progress" not in capfd.readouterr().out


def test_parfam_tries_no_family_twice_and_no_more_than_are_asked_for() -> None:
    with adapter("parfam", **parfam(_FAMILIES)) as found:
        for families, last in ((5, True), (3, False)):
            method = made("parfam", found, families=families)
            method.fit(problem(X, 7.0 - X[:, 0]))
            offered = [each.equations[0] for each in method.candidates()]
            assert len(offered) == len(set(offered))
            assert ("v1" in offered) == last
        with pytest.raises(ValueError, match="not finite"):
            made("parfam", found).fit(problem(X * np.nan, X[:, 0]))
        with pytest.raises(TypeError, match="no_such"):
            made("parfam", found, no_such=1)


# ------------------------------------------------------------------------------------------- pykan


def kan(formula: Callable[[Any], str | None]) -> dict[str, ModuleType]:
    """Make a package whose networks give these formulas; None for one that fails."""

    class Network:
        def __init__(self, **settings: Any) -> None:
            self.settings = settings
            Path(settings["ckpt_path"]).mkdir(parents=True, exist_ok=True)

        def fit(self, data: Any, **_: Any) -> None:
            self.inputs, self.targets = data["train_input"], data["train_label"]
            # The driver gelsy has another answer each time.
            assert torch.linalg.lstsq(self.inputs, self.targets) == "gelsd"

        def prune(self) -> Network:
            return self

        def auto_symbolic(self, **_: Any) -> None:
            if formula(self) is None:
                raise UnboundLocalError("coef")

        def symbolic_formula(self, names: Any, normal: Any, back: Any) -> Any:
            means, spreads = normal
            text = str(formula(self))
            for name, mean, spread in zip(names, means, spreads, strict=True):
                text = text.replace(name, f"(({name}-{mean})/{spread})")
            ([mean], [spread]) = back
            return [sympy.sympify(f"({text})*{spread} + {mean}")], names

    torch = module(
        "torch",
        float64=np.float64,
        tensor=lambda array: array,
        manual_seed=lambda _: None,
        set_num_threads=lambda _: None,
        set_default_dtype=lambda _: None,
        linalg=SimpleNamespace(lstsq=lambda *_, driver="gelsy": driver),
    )
    return {
        "torch": torch,
        "torch___dynamo": module("torch._dynamo"),
        "kan": module("kan", KAN=Network),
    }


def test_kan_gives_formulas_in_the_problem_s_own_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def formula(network: Any) -> str | None:
        if len(network.settings["width"]) == 3:
            return None
        np.testing.assert_allclose(network.inputs.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(network.inputs.std(axis=0), 1)
        # Of normal inputs and targets, the law again: y = 3*x0 - 2.
        return "x0"

    with adapter("pykan", **kan(formula)) as found:
        method = made("pykan", found, rounds=1, hidden=[[[1, 0]], []])
        question = problem(X, 3.0 * X[:, 0] - 2.0)
        method.fit(question)
        offered = [each.equations[0] for each in method.candidates()]
        [equation] = method.equations()
    np.testing.assert_allclose(values(equation, question), question.Y[:, 0])
    assert len(offered) == 3  # the mean, the formula, and with rounded numbers
    assert "3*v0" in offered[2].replace(" ", "").replace("3.0", "3")
    assert not method.stopped_early


def test_kan_s_failures_leave_the_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with adapter("pykan", **kan(lambda _: None)) as found:
        method = made("pykan", found, rounds=1)
        method.fit(problem(X, X[:, 0]))
        assert method.equations() == [repr(float(X[:, 0].mean()))]
        with pytest.raises(ValueError, match="not finite"):
            method.fit(problem(X * np.inf, X[:, 0]))
