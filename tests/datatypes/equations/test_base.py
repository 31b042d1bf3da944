"""Answers that are equations, as all data types of such answers read and judge them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT, known, number
from hypothesis import given
from hypothesis import strategies as st

from eqverdict import parse
from mdbench.data.field import Field
from mdbench.datatypes import find
from mdbench.datatypes.base import Answer, Candidate
from mdbench.datatypes.equations import selection as evidence_module
from mdbench.datatypes.equations import terms
from mdbench.datatypes.equations.splits import CONTRADICTION
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.systems import integrate, read_system
from mdbench.datatypes.pde.tasks import CachedColumns, PdeDataset, Rows
from mdbench.errors import AnswerError, EquationError

if TYPE_CHECKING:
    from pathlib import Path

    from mdbench.datatypes.base import DataType, Scores
    from mdbench.datatypes.equations.base import EquationTask

STRICT, PUBLISHED = Protocol.STRICT, Protocol.PUBLISHED
TRUTH = ("u0*(1.84 - 1.45*u1)", "1.62*u0*u1 - 3*u1")


@pytest.fixture(scope="module")
def ode(tmp_path_factory: pytest.TempPathFactory) -> DataType[Any, Any]:
    return find("ode", ROOT / "datasets" / "ode", tmp_path_factory.mktemp("cache"))


def prey(
    ode: DataType[Any, Any],
    protocol: Protocol = STRICT,
    snr_db: float | None = None,
    view: str = "table",
) -> EquationTask[Any]:
    source = ode.source()
    loaded = source.load("lotka-volterra-simple", snr_db=snr_db, seed=0, protocol=protocol)
    task: EquationTask[Any] = ode.task(loaded, view, protocol)
    return task


def judge(
    kind: DataType[Any, Any], task: EquationTask[Any], *equations: str, predictions: Any = None
) -> Scores:
    return kind.score(task, kind.read_answer(task, Answer(equations, predictions)))


def test_an_ode_answer_is_compared_and_integrated(ode: DataType[Any, Any]) -> None:
    task = prey(ode, snr_db=20.0)
    found = judge(ode, task, *TRUTH).metrics
    assert (found["identified"], found["one_term_off"], found["f1"]) == (1.0, 0.0, 1.0)
    assert found["term_edit_distance"] == 0.0
    # Noise is no matter: both trajectories are compared with the clean truth.
    assert found["follows"] == found["follows_unseen"] == 1.0
    assert min(number(found["r2_test"]), number(found["r2_unseen"])) > 0.999
    assert found["simulation_ended"] == "whole"
    assert set(found) == set(ode.metric_names(task)) - {"agreement"}  # nobody was asked
    scores = judge(ode, task, "u0**3", "1.62*u0*u1 - 3*u1 + 1e-6*u0")
    found = scores.metrics
    assert (found["identified"], found["one_term_off"]) == (0.0, 0.0)
    assert scores.notes["missing"] == ["u0_t: 1.84*u0", "u0_t: -1.45*u0*u1"]
    assert scores.notes["extra"] == ["u0_t: u0**3", "u1_t: 1e-06*u0"]
    assert scores.notes["negligible"] == ["u1_t: 1e-06*u0"]
    assert found["simulation_ended"] == "blew_up"
    assert found["follows"] == found["follows_unseen"] == 0.0
    assert not {"r2_test", "r2_unseen"} & set(found)


def test_the_unseen_trajectory_is_that_of_the_second_initial_condition(
    ode: DataType[Any, Any],
) -> None:
    dataset = ode.source().load("harmonic-oscillator", snr_db=None, seed=0, protocol=STRICT)
    system = read_system(ROOT / "datasets" / "ode" / "harmonic-oscillator.toml")
    _, u, _ = integrate(system, system.initial_conditions[1])
    assert np.array_equal(dataset.unseen().u, u)
    assert not np.array_equal(dataset.unseen().u, dataset.clean.u)


def test_what_is_not_known_is_not_judged(ode: DataType[Any, Any]) -> None:
    task = prey(ode)
    alone = replace(task, dataset=replace(task.dataset, truth=None, unseen=None))
    gone = set(ode.metric_names(task)) - set(ode.metric_names(alone))
    assert {"identified", "f1", "r2_unseen", "follows_unseen"} <= gone
    assert set(judge(ode, alone, "u0", "u1").metrics) <= set(ode.metric_names(alone))


def test_terms_that_cannot_be_multiplied_out_are_undecided(
    ode: DataType[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: Any, **__: Any) -> None:
        raise EquationError("too many products")

    monkeypatch.setattr(terms, "score_terms", give_up)
    found = judge(ode, prey(ode), "u0", "u1")
    assert found.metrics["identified"] is found.metrics["f1"] is None
    assert set(found.notes) == {"states"}


def test_a_state_of_infinite_error_has_all_of_it(ode: DataType[Any, Any]) -> None:
    scores = judge(ode, prey(ode), TRUTH[0], "1e200*u1")
    first, second = scores.notes["states"]
    assert first.endswith(", 0% of the error")
    assert second.endswith(": inf, 100% of the error")


def test_the_score_is_of_the_equations_and_a_contradiction_is_refused(
    ode: DataType[Any, Any],
) -> None:
    task = prey(ode)
    exact = task.test.targets
    with pytest.raises(AnswerError, match=r"contradict its equations: .* 1 of their root mean sq"):
        judge(ode, task, "0", "0", predictions=exact)
    near = exact * (1.0 + 0.9 * math.sqrt(CONTRADICTION))
    scored = judge(ode, task, *TRUTH, predictions=near).metrics
    assert scored["nmse"] == pytest.approx(0.0, abs=1e-20)
    assert scored["agreement"] == pytest.approx(0.81 * CONTRADICTION, rel=0.02)
    with pytest.raises(AnswerError, match="contradict"):
        judge(ode, task, *TRUTH, predictions=exact * 1.02)
    published = prey(ode, PUBLISHED)
    cheat = judge(ode, published, "0", "0", predictions=published.test.targets).metrics
    assert (cheat["nmse"], cheat["agreement"]) == (0.0, 1.0)
    poor = judge(ode, published, *TRUTH, predictions=0.5 * published.test.targets).metrics
    assert poor["nmse"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("equations", "reason"),
    [
        (("u0",), "1 equation; 2 expected"),
        (("u0", "u7"), "u7"),
        (("u0", "__import__('os')"), "expected a number"),
        (("u0", "log(-u0)"), r"30 of 60 values of the equations on the test inputs"),
        (("u0", "1/(u1 - u1)"), "30 of 60 values"),
    ],
)
def test_what_may_not_be_scored_is_refused(
    ode: DataType[Any, Any], equations: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(AnswerError, match=reason):
        ode.read_answer(prey(ode), Answer(equations))


def test_predictions_that_are_not_finite_are_refused_in_both_protocols(
    ode: DataType[Any, Any],
) -> None:
    for protocol in Protocol:
        task = prey(ode, protocol)
        bad = task.test.targets.copy()
        bad[3, 1] = math.nan
        with pytest.raises(AnswerError, match="1 of 60 predictions are not finite"):
            ode.read_answer(task, Answer(TRUTH, bad))


def test_candidates_are_compared_by_their_equations_but_under_published(
    ode: DataType[Any, Any],
) -> None:
    for protocol in Protocol:
        task = prey(ode, protocol)
        part = ode.fit_and_validation(task, "grid")[1]
        boast = Candidate(0, ("0", "0"), {}, predictions=part.targets)
        assert ode.compares_equations(task) is (protocol is STRICT)
        if protocol is PUBLISHED:
            with pytest.raises(AnswerError, match="an equation is zero"):
                ode.evaluate_candidate(task, part, boast)
            boast = replace(boast, equations=("u0*0 + 1e-9", "1e-9"))
        offer = ode.evaluate_candidate(task, part, boast)
        assert offer.loss == pytest.approx(1.0 if protocol is STRICT else 0.0, abs=1e-6)


def test_a_candidate_for_one_target_is_compared_with_that_target(
    ode: DataType[Any, Any],
) -> None:
    task = prey(ode)
    part = ode.fit_and_validation(task, "front")[1]
    second = ode.evaluate_candidate(task, part, Candidate(0, (TRUTH[1],), {}, target=1))
    evidence = known(task.evidence)
    values = (1.62 * evidence.columns["u0"] - 3) * evidence.columns["u1"]
    assert second.loss == pytest.approx(evidence.loss(values, 1))
    assert second.fitness == pytest.approx(
        -np.log(second.loss + evidence.floors[1]) - 2 * evidence_module.PIECE
    )
    wrong = ode.evaluate_candidate(task, part, Candidate(1, (TRUTH[1],), {}, target=0))
    assert wrong.loss > 0.1
    with pytest.raises(AnswerError, match="not finite"):
        ode.evaluate_candidate(task, part, Candidate(2, ("log(-u0)",), {}, target=1))


def test_the_fittest_wins_and_every_target_must_have_one(ode: DataType[Any, Any]) -> None:
    task = prey(ode)
    part = ode.fit_and_validation(task, "front")[1]
    texts = [("0", 0), (TRUTH[0], 0), (f"{TRUTH[0]} + 0*u0", 0), (TRUTH[1], 1)]
    offers = [
        ode.evaluate_candidate(task, part, Candidate(n, (text,), {}, target=target))
        for n, (text, target) in enumerate(texts)
    ]
    choice = ode.select(task, offers)
    assert choice is not None
    assert (choice.equations, choice.indices) == (TRUTH, [1, 3])
    assert choice.fitness == pytest.approx((offers[1].fitness + offers[3].fitness) / 2)
    assert ode.select(task, offers[:3]) is None
    assert ode.select(task, []) is None


def test_a_pde_answer_is_scored_on_clean_data_and_also_as_published(tmp_path: Path) -> None:
    """u = exp(-t) sin(x) solves u_t = u_xx: a coefficient c leaves (1 - c)**2."""
    x, t = np.linspace(0.0, 6.0, 121), np.linspace(0.0, 1.0, 101)
    u = (np.sin(x)[:, None] * np.exp(-t))[..., None]
    clean = Field(t, {"x": x}, u)
    noisy = replace(clean, u=u * 1.5)
    dataset = PdeDataset(
        "heat", 1, 20.0, ("u0_xx",), "", "", given=noisy, clean=clean, explicit=(),
        rows=Rows(None, 0), derivatives="smooth",
    )  # fmt: skip
    pde = find("pde", ROOT / "datasets" / "pde", tmp_path)
    task = pde.task(dataset, "field", STRICT)
    task = replace(task, held_out=None)  # the states are exact here, whatever the data say
    found: dict[float, Any] = {c: judge(pde, task, f"{c}*u0_xx").metrics for c in (0.0, 0.5, 1.0)}
    assert found[0.0]["nmse"] == pytest.approx(1.0)
    assert found[0.5]["nmse"] == pytest.approx(0.25, rel=1e-2)
    assert found[1.0]["nmse"] < 1e-4
    # The noisy states are half as large again: all that an answer says of them is, too.
    assert found[1.0]["published_nmse"] == pytest.approx(0.25, rel=1e-2)
    published: dict[str, Any] = dict(
        judge(pde, pde.task(dataset, "field", PUBLISHED), "u0_xx").metrics
    )
    assert published["residual"] < 1e-4
    assert published["nmse"] == pytest.approx(found[1.0]["published_nmse"], rel=1e-6)


def test_columns_are_made_once_while_memory_suffices() -> None:
    made = []

    class Columns(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            made.append(name)
            return super().__getitem__(name)

    kept = CachedColumns(Columns(a=np.zeros(4), b=np.ones(4)), limit=40)
    for _ in range(2):
        assert kept["a"].sum() == 0.0
        assert kept["b"].sum() == 4.0
    assert made == ["a", "b", "b"]
    assert (list(kept), len(kept), "c" in kept) == (["a", "b"], 2, False)
    with pytest.raises(KeyError):
        kept["c"]


def test_a_candidate_with_no_finite_error_cannot_win(ode: DataType[Any, Any]) -> None:
    task = prey(ode)
    with pytest.raises(AnswerError, match="not finite"):
        ode.evaluate_candidate(task, task.refit, Candidate(0, ("1e300*u0", "u1"), {}))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("0", 0),
        ("3.5", 1),
        ("u0 - 2*u1", 2),
        ("u0*(1 - u1)", 3),
        ("1/(1 + 1/(1 + u0))", 5),
        ("-(u0 + 1)", 2),
        ("sin(2*u0 + 1)", 4),
        ("u0**2.5", 2),
        ("2**u0", 2),
        ("max(u0, 2)", 2),
        ("1.5*u0 + 2.0*sin(u1) - 0.5*u0*u1", 4),
    ],
)
def test_pieces_are_what_could_be_left_out(text: str, pieces: int) -> None:
    assert parse(text, ("u0", "u1")).pieces == pieces


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=3), st.integers(0, 30))
def test_a_piece_has_to_lower_the_product_of_the_losses_by_40_percent(
    losses: list[float], pieces: int
) -> None:
    floors = np.full(len(losses), 1e-12)
    before = evidence_module.preference(np.array(losses), floors, pieces)
    lower = np.array(losses)
    for share, wins in ((0.58, True), (0.65, False)):
        lower[0] = losses[0] * share
        assert (evidence_module.preference(lower, floors, pieces + 1) > before) is wins
