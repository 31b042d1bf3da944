from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdbench.datatypes.base import Candidate, DataType, ScoredCandidate
from mdbench.metrics.spec import best_by_complexity, fitness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMPLEXITIES = st.integers(1, 500)
LOSSES = st.sampled_from([0.0, 1e-9, 0.1, 0.1000001, 1.0, 30.0, math.inf, math.nan])
# Few different values, so that there are many equals.
CANDIDATES = st.lists(st.tuples(LOSSES, st.integers(1, 6)), max_size=12)


def select(
    losses: Sequence[float],
    complexities: Sequence[int],
    fitness: Callable[[float, int], float] = fitness,
) -> int | None:
    """Return the index of the candidate that data types select by default."""
    candidates = [
        ScoredCandidate(Candidate(i, (), {}), loss, size, fitness(loss, size))
        for i, (loss, size) in enumerate(zip(losses, complexities, strict=True))
    ]
    kind: Any = None
    task: Any = SimpleNamespace(targets=("y",))
    found = DataType.select(kind, task, candidates)
    return None if found is None else found.indices[0]


def test_fitness_is_the_published_formula() -> None:
    assert fitness(0.0, 0) == 2.0
    assert fitness(1.0, 200) == pytest.approx(0.5 + math.exp(-1))
    assert fitness(1.0, 10, weight=0.5, length=10.0) == pytest.approx(0.5 + 0.5 * math.exp(-1))
    assert fitness(math.inf, 200) == pytest.approx(math.exp(-1))


@given(st.floats(0, 1e3), st.floats(1e-6, 1e3), COMPLEXITIES, st.integers(1, 100))
def test_fitness_falls_with_loss_and_with_complexity(
    loss: float, more: float, complexity: int, nodes: int
) -> None:
    assert fitness(loss + more, complexity) < fitness(loss, complexity)
    assert fitness(loss, complexity + nodes) < fitness(loss, complexity)


@given(CANDIDATES)
def test_keeps_the_first_of_the_best_at_each_complexity(
    candidates: list[tuple[float, int]],
) -> None:
    losses, complexities = [c[0] for c in candidates], [c[1] for c in candidates]
    expected = []
    for complexity in range(1, 7):
        here = [i for i, c in enumerate(complexities) if c == complexity]
        finite = [i for i in here if math.isfinite(losses[i])]
        expected += sorted(finite, key=lambda i: (losses[i], i))[:1]
    assert best_by_complexity(losses, complexities) == expected


@given(CANDIDATES)
def test_selects_the_fittest_of_all(candidates: list[tuple[float, int]]) -> None:
    losses, complexities = [c[0] for c in candidates], [c[1] for c in candidates]
    finite = [i for i, loss in enumerate(losses) if math.isfinite(loss)]
    chosen = select(losses, complexities)
    if not finite:
        assert chosen is None
        return
    assert chosen in finite
    assert fitness(*candidates[chosen]) == max(fitness(*candidates[i]) for i in finite)


def test_of_equal_fitness_the_simplest_wins() -> None:
    assert select([0.3, 0.2, 0.1], [30, 10, 20], fitness=lambda *_: 1.0) == 1


def test_of_equal_candidates_the_first_wins() -> None:
    assert select([0.5, 0.2, 0.2], [4, 4, 4]) == 1


def test_uses_the_fitness_that_is_given() -> None:
    losses, complexities = [0.5, 0.1], [1, 1000]
    assert select(losses, complexities) == 0
    assert select(losses, complexities, fitness=lambda loss, _: -loss) == 1


def test_no_candidate_is_no_winner() -> None:
    assert select([], []) is None
    assert select([math.nan, math.inf, -math.inf], [1, 1, 2]) is None


def test_refuses_lists_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="shorter"):
        best_by_complexity([0.1, 0.2], [1])
