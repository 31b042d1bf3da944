"""What candidates are compared with, and that nothing of one problem is taken for another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT

from eqverdict import parse
from mdbench import datatypes
from mdbench.datatypes.base import Candidate
from mdbench.datatypes.equations.selection import NoisyRows, scatters
from mdbench.datatypes.facts import Protocol

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("n", [2, 9, 40, 105, 1999, 2001])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_scatter_within_windows_is_the_mean_of_their_variances(n: int, parts: int) -> None:
    u = np.random.default_rng(n).standard_normal((n, 3)).cumsum(axis=0) + 1e3
    window = max(8, n // parts)
    size = min(window, n)
    starts = range(0, n - size + 1, max(1, window // 2))
    for state, found in enumerate(scatters(u, window)):
        own = u[:, state]
        expected = np.mean([np.var(own[at : at + size], ddof=1) for at in starts])
        assert found == pytest.approx(expected, rel=1e-12)
        alone = np.ascontiguousarray(own)
        assert float(scatters(alone, window)) == float(scatters(alone[:, None], window)[0])


def test_a_candidate_has_the_loss_of_its_own_problem_and_target_however_often_it_comes(
    tmp_path: Path,
) -> None:
    kind = datatypes.find("ode", ROOT / "datasets" / "ode", tmp_path)
    source = kind.source()
    texts = ("0.5*u0 - u1", "u0*u1")
    asked = [(texts, None), (texts[::-1], None), ((texts[0],), 0), ((texts[0],), 1)]

    def losses(name: str, *, rounds: int) -> list[list[float]]:
        data = source.load(name, snr_db=20.0, seed=0, protocol=Protocol.STRICT)
        task = kind.task(data, "table", Protocol.STRICT)
        candidates = [Candidate(i, text, {}, target) for i, (text, target) in enumerate(asked)]
        return [
            [kind.evaluate_candidate(task, task.train, one).loss for one in candidates]
            for _ in range(rounds)
        ]

    names = ["harmonic-oscillator", "lotka-volterra-competition"]
    found = {name: losses(name, rounds=3) for name in names}
    for name, several in found.items():
        assert several[0] == several[1] == several[2] == losses(name, rounds=1)[0]
        assert len(set(several[0])) == len(asked)
    assert not set(found[names[0]][0]) & set(found[names[1]][0])


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
def test_the_form_that_made_rows_is_preferred_to_one_that_fits_them_better(noise: float) -> None:
    """By the constants alone, a form of whole numbers costs as much as one of a single constant."""
    x = np.linspace(0.2, 3.0, 32)
    right = "1.3*x**2"
    longer = [
        f"1.3*x**2 {sign} sin({rate}*x)*cos(x + {shift})/(x + {far})**2"
        for sign in "+-"
        for rate in range(1, 8)
        for shift in range(5)
        for far in (1, 3, 5)
    ]
    fooled = {False: 0, True: 0}
    for seed in range(20):
        y = 1.3 * x**2 + noise * np.std(x**2) * np.random.default_rng(seed).standard_normal(32)
        for structure in fooled:
            rows = NoisyRows(
                {"x": x}, np.zeros(1), y[:, None], np.array([np.var(y)]), structure=structure
            )
            weighed = []
            for text in (right, *longer):
                equation = parse(text, ("x",))
                loss = rows.loss(equation.evaluate({"x": x}), 0)
                weighed.append(rows.preference(np.array([loss]), [0], [equation]))
            fooled[structure] += int(np.argmax(weighed) != 0)
    assert fooled[True] == 0 < fooled[False]


def test_a_price_of_the_form_leaves_a_form_that_rows_need() -> None:
    x = np.linspace(0.2, 3.0, 32)
    y = 1.3 * x**2 + 0.8 * np.sin(4 * x)
    rows = NoisyRows({"x": x}, np.full(1, 1e-6), y[:, None], np.array([np.var(y)]), structure=True)
    weighed = []
    for text in ("1.3*x**2 + 0.8*sin(4*x)", "1.3*x**2", "1.9*x"):
        equation = parse(text, ("x",))
        loss = rows.loss(equation.evaluate({"x": x}), 0)
        weighed.append(rows.preference(np.array([loss]), [0], [equation]))
    assert int(np.argmax(weighed)) == 0
