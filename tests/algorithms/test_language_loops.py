"""The loops that ask a language model: what they ask, and what they make of the replies."""

from __future__ import annotations

import json
import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from language_loops import (
    LOOPS,
    KnowingModel,
    code,
    error,
    good,
    kind_of,
    law_class,
    loop,
    other,
    table,
)
from sweeps import paired, sampled
from torch_methods import ALGORITHMS, folders, modules, specification

from eqverdict import parse
from mdbench.worker import BudgetSpent, LanguageModelError, Problem, Reply, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEEDS = range(5, 8)


def said(text: str, reason: str = "stop") -> Reply:
    return Reply(text, reason, 1, 1)


class Scripted(KnowingModel):
    """Says what a function of the number of the completion says."""

    def __init__(self, name: str, script: Any) -> None:
        super().__init__(name, probability=0.0)
        self.script = script

    def say(self, draw: float) -> Reply:  # noqa: ARG002 - nothing is drawn
        found = self.script(self.calls - 1)
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, Reply) else said(found)


@pytest.mark.parametrize("name", sampled(LOOPS, least=2))
def test_finds_what_a_model_knows_now_and_then_and_draws_do_not(name: str) -> None:
    problem, found = table(), 0
    for seed in SEEDS:
        model = KnowingModel(name, probability=0.02, seed=seed)
        with loop(name, model, seed=seed, samples=300) as adapter:
            adapter.fit(problem)
            found += error(adapter, problem) < 1e-12
            assert model.calls <= 300
    assert found == len(SEEDS)
    # What is drawn does not hang on the loop: one has all its draws, the others enough.
    with loop(f"{name}_nollm", samples=300 if name == "direct" else 100) as adapter:
        adapter.fit(problem)
        assert error(adapter, problem) > 1e-3


MODES = {
    "prose": "I believe that it is a product of all variables, dear friend.",
    "empty": "",
    "bad JSON": '["x0 + C", "x1',
    "wrong fence": "~~~json\n{}\n~~~",
    "endless loop": code("x0").replace("return x0", "while True: pass"),
    "forbidden import": code("x0").replace("import numpy as np", "import os"),
    "cut off": said(code("x0").rstrip().removesuffix("```"), "length"),
    "cut off in thinking": said("<think>" + code("x0"), "length"),
    "thinking without an end": "<think>" + code("x0"),
    "no numbers": code("np.log(-x0)"),
    "numbers for expressions": "[1, 2, 3]",
    "empty list": "[]",
    "brackets": "[" * 5000,
    "half of a letter": code("'\ud800' + x0"),
    "a class that loops": law_class("self.p0", 1).replace("return", "while self:"),
}


@pytest.mark.parametrize(("name", "mode"), paired(LOOPS, MODES))
def test_useless_replies_are_counted_and_end_in_the_loops_own_start(name: str, mode: str) -> None:
    problem = table(60)
    small = {"generations": 10} if name == "lasr" else {}
    with loop(name, Scripted(name, lambda _: MODES[mode]), samples=20, **small) as adapter:
        if name == "direct":
            with pytest.raises(RuntimeError, match="none of 20 replies has a formula for y"):
                adapter.fit(problem)
        else:
            adapter.fit(problem)
            assert len(adapter.equations()) == 1
            assert not adapter.stopped_early
        assert 0 < sum(adapter.asker.useless.values()) <= 20
        assert adapter.asker.asked <= 20


FENCES: dict[str, Callable[[str], str]] = {
    "plain": good,
    "thinking first": lambda name: f"<think>{other(name, 0.5)}</think>" + good(name),
    "another language": lambda name: good(name).replace("```python", "```javascript"),
    "tildes": lambda name: good(name).replace("```", "~~~"),
    "not closed": lambda name: good(name).rstrip().removesuffix("```"),
    "none": lambda name: good(name).replace("```python\n", "").replace("```", ""),
    "indented": lambda name: "\n".join(f"    {line}" for line in good(name).splitlines()),
    "the last of two": lambda name: other(name, 0.5) + "\nBetter:\n" + good(name),
}


@pytest.mark.parametrize(("name", "fence"), paired(LOOPS, FENCES))
def test_the_answer_is_found_however_it_is_wrapped(name: str, fence: str) -> None:
    problem = table(60)
    reply = FENCES[fence](name)
    with loop(name, Scripted(name, lambda _: reply), samples=30) as adapter:
        adapter.fit(problem)
        assert error(adapter, problem) < 1e-12


@pytest.mark.parametrize("name", ["llmsr", "openevolve", "sga"])
def test_what_was_whole_before_a_reply_was_cut_off_is_used(name: str) -> None:
    problem = table(60)
    text = good(name) + "\nAnother way:\n" + other(name, 0.5).rstrip().removesuffix("```")
    with loop(name, Scripted(name, lambda _: said(text, "length")), samples=30) as adapter:
        adapter.fit(problem)
        assert error(adapter, problem) < 1e-12
        assert not adapter.asker.useless


@pytest.mark.parametrize("name", ["direct", "llmsr", "openevolve"])
def test_a_body_alone_is_taken(name: str) -> None:
    body = "y = params[0] * x0\nreturn y + params[1] * x1"
    X = table(50).X
    problem = Problem("table", ("x0", "x1", "x2"), ("y",), {"X": X, "Y": X[:, :1] * 2 + X[:, 1:2]})
    with loop(name, Scripted(name, lambda _: f"```\n{body}\n```"), samples=4) as adapter:
        adapter.fit(problem)
        assert error(adapter, problem) < 1e-20


@pytest.mark.parametrize("name", LOOPS)
def test_a_budget_that_is_spent_ends_the_search_and_not_the_job(name: str) -> None:
    def script(count: int) -> Any:
        return BudgetSpent("spent") if count >= 25 else other(name, count / 100)

    with loop(name, Scripted(name, script), samples=200) as adapter:
        adapter.fit(table(60))
        assert adapter.asker.over
        assert not adapter.stopped_early
        assert adapter.equations()


class Failing(KnowingModel):
    """Answers one request in so many; 0 for none."""

    def __init__(self, name: str, one_in: int) -> None:
        super().__init__(name, probability=0.0)
        self.one_in = one_in

    def chat(self, messages: Any, n: int = 1, **settings: Any) -> list[Reply]:
        replies = super().chat(messages, n, **settings)
        if not self.one_in or len(self.requests) % self.one_in:
            raise LanguageModelError("HTTP 500")
        return replies


@pytest.mark.parametrize("name", LOOPS)
def test_an_endpoint_that_fails_five_times_in_a_row_ends_the_job(name: str) -> None:
    model = Failing(name, 0)
    with (
        loop(name, model, samples=200) as adapter,
        pytest.raises(LanguageModelError, match="HTTP 500"),
    ):
        adapter.fit(table(60))
    assert len(model.requests) == 5


def test_an_endpoint_that_never_answers_is_a_failure_whatever_ends_the_search() -> None:
    model = Failing("sga", 0)
    with (
        loop("sga", model, samples=20) as adapter,
        pytest.raises(LanguageModelError, match="HTTP 500"),
    ):
        adapter.fit(table(60))
    assert len(model.requests) == 3


@pytest.mark.parametrize("name", LOOPS)
def test_an_endpoint_that_fails_now_and_then_loses_samples(name: str) -> None:
    with loop(name, Failing(name, 3), samples=60) as adapter:
        adapter.fit(table(60))
        assert adapter.asker.useless["the endpoint failed: HTTP 500"] > 0
        assert adapter.asker.asked <= 60


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("name", LOOPS)
def test_a_wrong_number_of_completions_is_taken_as_it_is(name: str, count: int) -> None:
    class Wrong(KnowingModel):
        def chat(self, messages: Any, n: int = 1, **settings: Any) -> list[Reply]:
            del n
            return super().chat(messages, count, **settings)

    model = Wrong(name, probability=0.0)
    with loop(
        name, model, samples=20, **({"generations": 10} if name == "lasr" else {})
    ) as adapter:
        adapter.fit(table(60))
        assert adapter.asker.asked <= 20


@pytest.mark.parametrize("name", LOOPS)
def test_the_same_replies_give_the_same_search(name: str) -> None:
    runs = []
    for seed in (0, 0, 1):
        model = KnowingModel(name, probability=0.0)
        with loop(name, model, seed=seed, samples=30) as adapter:
            adapter.fit(table(60))
            runs.append((model.requests, [each.equations for each in adapter.candidates()]))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]


@pytest.mark.parametrize("name", LOOPS)
def test_seeds_and_numbers_of_completions_are_asked_for(name: str) -> None:
    model = KnowingModel(name, probability=0.0)
    with loop(name, model, samples=30, max_tokens=77) as adapter:
        adapter.fit(table(60))
    assert model.calls == 30 or name == "lasr"
    assert {request["max_tokens"] for request in model.requests} == {77}
    seeds = [request["seed"] for request in model.requests]
    assert len(set(seeds)) == len(seeds)
    settings = {(request["n"], request["temperature"]) for request in model.requests[:2]}
    expected = {"direct": {(4, 0.8)}, "llmsr": {(4, 0.8)}, "sga": {(4, 0.5), (12, 1.0)}}
    assert settings == expected.get(name, {(1, 0.7)})


@pytest.mark.parametrize("name", LOOPS)
def test_several_targets_each_have_a_front(name: str) -> None:
    X = table(80).X
    Y = np.stack([2 * X[:, 0] * X[:, 1], 3 * X[:, 2] ** 2 + 1], axis=1)
    problem = Problem("table", ("lambda", "np", "x2"), ("p", "q"), {"X": X, "Y": Y})
    both = {
        "code": code(
            "params[0] * lambda_ * np_, params[0] * x2 ** 2 + params[1]", "lambda_, np_, x2"
        ),
        "class": law_class(
            "self.p0 * lambda_ * np_, self.p1 * x2 ** 2 + self.p2", 3, "lambda_, np_, x2"
        ),
        "list": json.dumps(["C*lambda_*np_", "C*x2**2+C"]),
    }[kind_of(name)]
    model = Scripted(name, lambda _: both)
    with loop(name, model, samples=60) as adapter:
        adapter.fit(problem)
        assert error(adapter, problem) < 1e-12
        candidates = list(adapter.candidates())
        assert {each.target for each in candidates} == {0, 1}
        columns = dict(zip(problem.variables, X.T, strict=True))
        for each in candidates:
            there = parse(each.equations[0], problem.variables).evaluate(columns)
            np.testing.assert_allclose(np.broadcast_to(there, 80), each.predictions, rtol=1e-9)
        first, second = (
            next(i for i, each in enumerate(candidates) if each.target == target)
            for target in (0, 1)
        )
        adapter.choose([first, second])
        assert adapter.equations() == [candidates[i].equations[0] for i in (first, second)]
        np.testing.assert_array_equal(
            adapter.predict(problem)[:, 1], candidates[second].predictions
        )


@pytest.mark.parametrize("name", LOOPS)
def test_candidates_say_after_how_many_calls_they_were_found(name: str) -> None:
    problem = table(60)
    model = Scripted(name, lambda count: good(name) if count == 30 else other(name, 0.5))
    with loop(name, model, samples=200) as adapter:
        adapter.fit(problem)
        candidates = list(adapter.candidates())
    assert all(each.target is None and each.predictions.shape == (60, 1) for each in candidates)
    first, last = candidates[0].hyperparameters["calls"], candidates[-1].hyperparameters["calls"]
    assert 0 <= first < last == model.calls
    assert 31 <= last < 60


@pytest.mark.parametrize("name", LOOPS)
def test_what_the_bench_gives_is_in_the_prompts_and_the_targets_are_not(name: str) -> None:
    told = Problem(
        "table",
        ("x0", "x1", "x2"),
        ("y",),
        table(60).arrays,
        description="x0 is a length in metres.",
    )
    model = KnowingModel(name, probability=0.0)
    with loop(name, model, samples=40) as adapter:
        adapter.fit(told)
    asked = [
        "\n".join(message["content"] for message in request["messages"])
        for request in model.requests
    ]
    assert all(text.count("x0 is a length in metres.") <= 1 for text in asked)
    assert sum("x0 is a length in metres." in text for text in asked) > len(asked) / 2
    shows_rows = [f"{told.Y[row, 0]:.5g}" in asked[0] for row in range(60)]
    assert sum(shows_rows) == (20 if name == "direct" else 0)


@pytest.mark.parametrize("name", LOOPS)
def test_a_fit_that_is_stopped_from_outside_has_a_front(name: str) -> None:
    """The worker asks for candidates after it has ended a fit whose time is up."""

    class Stopped(KnowingModel):
        def chat(self, messages: Any, n: int = 1, **settings: Any) -> list[Reply]:
            if self.calls >= 20:
                raise KeyboardInterrupt
            return super().chat(messages, n, **settings)

    with loop(name, Stopped(name, probability=0.0), samples=200) as adapter:
        with pytest.raises(KeyboardInterrupt):
            adapter.fit(table(60))
        candidates = list(adapter.candidates())
    assert candidates
    assert all(np.isfinite(each.predictions).all() for each in candidates)


@pytest.mark.parametrize("name", LOOPS[:-1])  # lasr's clock is AFP's
def test_time_that_is_up_ends_the_search(name: str) -> None:
    with loop(name, KnowingModel(name, probability=0.0), samples=10**6) as adapter:
        if name == "direct":
            with pytest.raises(RuntimeError, match="none of 0 replies"):
                adapter.fit(table(60, time_limit=1e-9))
        else:
            adapter.fit(table(60, time_limit=1e-9))
            assert adapter.equations()
        assert adapter.stopped_early


def test_without_asking_lasr_is_afp_to_the_bit() -> None:
    X = table(80).X
    Y = np.stack([np.sin(X[:, 0]) * X[:, 1], X[:, 2] / (1 + X[:, 0])], axis=1)
    problem = Problem("table", ("x0", "x1", "x2"), ("p", "q"), {"X": X, "Y": Y})
    small = {"population_size": 80, "generations": 25, "stop_threshold": 0.0}
    fronts = {}
    for name, more in (("afp", {}), ("lasr", {"probability": 0.0})):
        with modules(*folders(name)) as imported:
            given = specification(name)["hyperparameters"] | small | more
            adapter = imported("adapter").Adapter(seed=3, threads=1, **given)
            adapter.fit(problem)
            fronts[name] = [
                (each.target, each.equations, each.predictions.tobytes())
                for each in adapter.candidates()
            ]
    assert fronts["afp"] == fronts["lasr"]
    assert len(fronts["afp"]) >= 4


def test_llmsr_shows_versions_worst_first_and_no_scores() -> None:
    model = KnowingModel("llmsr", probability=0.0)
    with loop("llmsr", model, samples=80) as adapter:
        adapter.fit(table(60))
        prompts = [request["messages"][0]["content"] for request in model.requests]
        assert all(len(request["messages"]) == 1 for request in model.requests)
        scores: dict[str, float] = {}
        for island in adapter.islands:
            for score, texts in island.clusters.items():
                scores |= {text.partition(":\n")[2]: score for text in texts}
    last = [re.findall(r"def equation_v(\d)\(x0, x1, x2, params\):\n```", p) for p in prompts]
    assert {*map(tuple, last)} == {("1",), ("2",)}  # after one version, or two
    for prompt in prompts:
        shown = [prompt.partition(f"def equation_v{place}(")[2] for place in (0, 1)]
        if not shown[1]:
            continue
        bodies = [text.partition(":\n")[2].partition("\n\n")[0] for text in shown]
        assert scores[bodies[0]] <= scores[bodies[1]]


def test_llmsr_begins_the_worse_half_of_its_islands_again_after_a_count() -> None:
    with loop(
        "llmsr", KnowingModel("llmsr", probability=0.0), samples=50, reset_every=48
    ) as adapter:
        adapter.fit(table(60))
        sizes = [island.count for island in adapter.islands]
        best = sorted(island.best for island in adapter.islands)
    assert len(sizes) == 10
    # 50 programs and 10 to begin with; what was on five islands is gone but for one each.
    assert sum(sizes) < 60
    assert sum(size <= 3 for size in sizes) >= 5
    assert best[0] > -1.0


def test_llmsr_does_not_store_what_has_no_value() -> None:
    with loop("llmsr", Scripted("llmsr", lambda _: code("np.log(-x0)")), samples=20) as adapter:
        adapter.fit(table(60))
        assert [island.count for island in adapter.islands] == [1] * 10
        assert adapter.asker.useless == Counter(
            {"the formula has no finite value for some row": 20}
        )


def test_clusters_are_drawn_by_score_and_short_programs_rather() -> None:
    shared = ALGORITHMS / "shared"
    with modules(shared / "language_loops", shared / "programs") as imported:
        island = imported("program_islands").ProgramIsland()
    island.add("short", -0.1)
    island.add("long" * 30, -0.1)
    island.add("bad", -0.4)
    random = Random(0)
    drawn = Counter(island.draw(random, 1, 0.1)[0] for _ in range(4000))
    good_share = 1 / (1 + np.exp(-3))
    short_share = 1 / (1 + np.exp(-115 / 120))
    assert drawn["bad"] / 4000 == pytest.approx(1 - good_share, abs=0.02)
    assert drawn["short"] / 4000 == pytest.approx(good_share * short_share, abs=0.03)
    assert any(len(set(pair)) == 1 for pair in (island.draw(random, 2, 0.1) for _ in range(50)))


def test_sga_shows_the_results_of_the_best_of_which_the_best_is_last() -> None:
    def script(count: int) -> str:
        if count == 3:
            return law_class("exit()", 0)
        return law_class(f"self.p0 * x{count % 3} ** {count % 4} + self.p1", 2)

    model = Scripted("sga", script)
    with loop("sga", model, samples=32) as adapter:
        adapter.fit(table(60))
        laws = adapter.laws
    first, later = model.requests[0]["messages"], model.requests[2]["messages"]
    assert [each["role"] for each in first] == ["system", "user", "assistant", "user"]
    assert [each["role"] for each in later] == ["system", "user"] + ["assistant", "user"] * 5
    losses = [
        float(each["content"].partition("Lowest loss: ")[2].partition(".\n")[0].rstrip("."))
        for each in later
        if "Lowest loss" in each["content"]
    ]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 5
    assert "Fitted parameters: p0 = " in later[-1]["content"]
    failed = [law for law in laws if "This failed" in law.feedback]
    assert len(failed) == 1
    assert failed[0].loss == float("inf")
    assert len(laws) == 33


def test_openevolve_keeps_the_best_of_each_cell_and_of_all() -> None:
    model = KnowingModel("openevolve", probability=0.0)
    with loop("openevolve", model, samples=120, islands=3, population=12, archive=5) as adapter:
        adapter.fit(table(60))
        for island in adapter.islands:
            assert len(island.programs) <= 12
            for cell, program in island.cells.items():
                assert adapter._cell(program)[0] == cell[0]
        best = sorted((each.score for each in adapter._all), reverse=True)
        assert adapter.archive[0].score == best[0]
        assert len(adapter.archive) == 5
    text = model.requests[-1]["messages"][1]["content"]
    assert "The best so far:" in text
    assert "The program to be improved:\nscore " in text


def test_openevolve_applies_changes() -> None:
    first = "params[0] * x0 + params[1] * x1 + params[2] * x2 + params[3]"
    form = "<<<<<<< SEARCH\n    return {}\n=======\n    return params[0] * x1\n>>>>>>> REPLACE"
    better, whole = form.format(first), form.format("nothing")
    replies = iter([better, whole, code("x0"), "", better])
    model = Scripted("openevolve", lambda _: next(replies))
    with loop(
        "openevolve", model, samples=5, islands=1, exploration=0.0, exploitation=0.0, mode="diff"
    ) as adapter:
        adapter.fit(table(60))
        assert adapter._all[1].text.endswith("return params[0] * x1")
        assert adapter._all[1].parent == 0
        reasons = set(adapter.asker.useless)
    assert "a SEARCH block is no part of the program" in reasons
    assert "there is no SEARCH/REPLACE block in the reply" in reasons
    assert "<<<<<<< SEARCH" in model.requests[0]["messages"][1]["content"]
    with pytest.raises(ValueError, match="mode is 'patch'"), loop("openevolve", mode="patch"):
        pass


@pytest.fixture(name="library")
def _library() -> Iterator[Any]:
    with modules(*folders("lasr")) as imported:
        yield imported


def test_lasr_reads_what_the_search_can_hold(library: Any) -> None:
    concepts, trees = library("concept_library"), library("trees")
    functions = ["add", "sub", "mul", "div", "sin", "sqrt", "square"]
    X = np.random.default_rng(0).uniform(0.5, 2, (9, 2))
    expected = {
        "C*a - b/2": X[:, 0] - X[:, 1] / 2,
        "-a**2 + b**-1": -(X[:, 0] ** 2) + 1 / X[:, 1],
        "sin(a)**3*sqrt(b)": np.sin(X[:, 0]) ** 3 * np.sqrt(X[:, 1]),
        "a**0.5": np.sqrt(X[:, 0]),
        "-C": np.full(9, -1.0),
    }
    for text, values in expected.items():
        tree = concepts.as_tree(text, ["a", "b"], functions)
        np.testing.assert_allclose(trees.evaluate(tree, X), values, rtol=1e-12)
    tree = concepts.as_tree("2.5*a + sin(b*3)", ["a", "b"], functions)
    assert concepts.masked(tree, ["a", "b"]) == "C*a + sin(b*C)"
    for text in (
        "exp(a)",
        "a**b",
        "a**0",
        "a**9",
        "z",
        "a < b",
        "import os",
        "a; b",
        "f(a)",
        "",
        "a**1e400",
    ):
        with pytest.raises(ValueError, match=r"."):
            concepts.as_tree(text, ["a", "b"], functions)


def test_lasr_keeps_a_library_and_merges_what_is_beyond_it(library: Any) -> None:
    concepts, asking = library("concept_library"), library("asking")
    told = iter(range(1000))
    model = Scripted("lasr", lambda _: json.dumps([f"idea {next(told)}" for _ in range(5)]))
    asker = asking.Asker(model, samples=100, seed=0, max_tokens=100)
    learned = concepts.ConceptLibrary(
        asker,
        situation="What?",
        names=["a"],
        functions=["add", "mul"],
        random=Random(0),
        expressions=5,
        context=2,
        most=3,
        temperature=0.7,
    )
    tree = concepts.as_tree("C*a + a", ["a"], ["add", "mul"])
    learned.learn([tree] * 7, [tree])
    assert len(learned.concepts) == 2
    assert model.requests[-1]["messages"][1]["content"].count("- C*a + a") == 6
    learned.learn([tree], [tree])
    assert asker.asked == 3
    before = learned.concepts
    assert "Earlier statements:\n- idea" in model.requests[-1]["messages"][1]["content"]
    assert len(before) == 5
    assert before[0] in {f"idea {number}" for number in range(10, 15)}
    learned.tree("Propose.", [tree])
    shown = model.requests[-1]["messages"][1]["content"]
    ideas = [line for line in shown.splitlines() if line.startswith("- idea")]
    assert len(ideas) == 2
    assert all(line.removeprefix("- ") in before[:3] for line in ideas)


def test_lasr_asks_as_often_as_it_should() -> None:
    model = KnowingModel("lasr", probability=0.0)
    given = {"population_size": 100, "generations": 20, "iteration": 100, "samples": 10**6}
    with loop("lasr", model, probability=0.05, stop_threshold=0.0, **given) as adapter:
        adapter.fit(table(60))
    assert 60 < model.calls < 160  # of 2100 children and newcomers
    with pytest.raises(ValueError, match=r"probability is 1\.5"), loop("lasr", probability=1.5):
        pass


def test_a_formula_with_too_many_constants_comes_with_shorter_ones() -> None:
    X = table(80).X
    problem = Problem("table", ("x0", "x1", "x2"), ("y",), {"X": X, "Y": 2 * X[:, :1] * X[:, 1:2]})
    body = "params[0] * x0 * x1 + params[1] * x2 + params[2] * np.sin(x0) + params[3]"
    with loop(
        "direct", Scripted("direct", lambda _: code(body)), samples=4, stop_threshold=0.0
    ) as adapter:
        adapter.fit(problem)
        shortest = next(
            each for each in adapter.candidates() if np.allclose(each.predictions, problem.Y)
        )
    assert shortest.equations[0] in {"2*x0*x1", "2.0*x0*x1"} or "x2" not in shortest.equations[0]


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("name", LOOPS)
def test_what_is_not_finite_is_refused(name: str, broken: float) -> None:
    arrays = {key: array.copy() for key, array in table(60).arrays.items()}
    arrays["Y"][3] = broken
    problem = Problem("table", ("x0", "x1", "x2"), ("y",), arrays)
    with (
        loop(name, KnowingModel(name, probability=0.0)) as adapter,
        pytest.raises(ValueError, match="not finite"),
    ):
        adapter.fit(problem)


def test_of_many_rows_some_are_drawn() -> None:
    problem = table(3000)
    with loop("direct", KnowingModel("direct", probability=0.2), max_rows=50) as adapter:
        adapter.fit(problem)
        assert adapter.fronts.X.shape == (50, 3)
        assert error(adapter, problem) < 1e-12


MANY = 60_000
HOSTILE = {
    "backticks": "`" * MANY,
    "fences": "```\n" * MANY,
    "newlines": "\n" * MANY + "def",
    "openings": "<<<<<<< SEARCH\n" * 5000,
    "brackets of lists": '["' * MANY,
    "thoughts": "<think>" * MANY + "</think>",
    "functions": "def f(\n" * MANY,
    "headings": "### Plan\n" * 5000,
    "attributes": code("x0" + ".a" * 8000),
    "calls": code("x0" + "()" * 8000),
    "subscripts": code("x0" + "[0]" * 5000),
    "choices": code("x0 if 1 else " * 1400 + "1"),
    "powers": code("x0" + "**x0" * 4000),
    "calls in calls": code("np.sin(" * 90 + "x0" + ")" * 90),
    "null": "\0" * 100,
    "lone surrogate": code("'\ud800' + x0"),
}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_reply_is_looked_at_without_end(text: str) -> None:
    """Each of these made a pattern or a parser that looks ahead work for minutes, or fall."""
    shared = ALGORITHMS / "shared"
    with modules(shared / "language_loops", shared / "programs") as imported:
        replies, reading = imported("replies"), imported("formula_reading")
        reply = HOSTILE[text]
        refused = 0
        ways: tuple[Callable[[], object], ...] = (
            lambda: reading.read_function(
                replies.code_of(replies.reply_text(said(reply))), ["x0"], 1, parameters=3
            ),
            lambda: reading.read_class(replies.code_of(replies.reply_text(said(reply))), ["x0"], 1),
            lambda: replies.text_list(replies.reply_text(said(reply))),
        )
        for read in ways:
            try:
                read()
            except ValueError:
                refused += 1
        assert refused == 3
        assert replies.changes(reply) == []
        replies.section(reply, "Plan")


@pytest.mark.parametrize("name", ["direct", "llmsr", "openevolve", "sga", "lasr"])
@pytest.mark.parametrize(
    ("budget", "asked"),
    [({"calls": 24}, 24), ({"calls": 7, "money": 1e9, "price": [1.0, 2.0]}, 7)],
)
def test_a_control_keeps_the_budget_of_its_method(
    name: str, budget: dict[str, Any], asked: int
) -> None:
    with loop(f"{name}_nollm", samples=300, control_budget=budget) as adapter:
        adapter.fit(table())
        assert adapter.asker.asked == asked


def test_tokens_of_a_control_are_a_quarter_of_its_letters() -> None:
    """A control ends where its method would, had its model written what is drawn."""
    for limit in (5_000, 8_000):
        budget = {"completion_tokens": limit, "longest": 1024}
        with loop("direct_nollm", control_budget=budget) as adapter:
            adapter.fit(table())
            model = adapter.asker._model
            used = model._used["completion_tokens"]
            assert limit - 1024 - 200 < used <= limit
            assert 0 < adapter.asker.asked < 1000


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(
    "budget", [{"completion_tokens": 16_383}, {"money": 1e-9, "price": [1.0, 2.0]}]
)
def test_a_control_whose_budget_has_not_one_completion_is_unavailable(
    name: str, budget: dict[str, Any]
) -> None:
    with loop(f"{name}_nollm", control_budget=budget) as adapter, pytest.raises(Unavailable) as no:
        adapter.fit(table())
    assert "16,384 tokens" in str(no.value)


def test_the_first_prompt_of_an_island_shows_its_one_program_once() -> None:
    model = KnowingModel("llmsr", probability=0.0)
    with loop("llmsr", model, samples=60) as adapter:
        adapter.fit(table())
    shown = [each["messages"][0]["content"].count("    return ") for each in model.requests]
    assert shown[0] == 1
    assert {*shown} == {1, 2}
