"""What candidates are compared with, and that nothing of one problem is taken for another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT

from mdbench import datatypes
from mdbench.datatypes.base import Candidate
from mdbench.datatypes.equations.selection import scatters
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
