"""Share of cases in which each rule selects the truth where it is among a method's candidates.

Run as ``python benchmarks/bench_selection.py [ode|dev|pde|srsd] [SEEDS] [LEVEL ...]``, such as
``pde 1 clean 20``; without levels all are asked about.  All rules choose among the same candidates,
those of SINDy (63 ODE systems), PDE-FIND (six PDE systems) or AFP-FE (the 30 easy problems of SRSD,
with noise in the targets; fewer generations than usual) on the data that `strict` gives; what is
identified is decided as in every record.  ``dev`` has SINDy on the systems of ``--dataset dev``.
It takes minutes, for srsd half an hour.

Two more rules are for trajectories.  They integrate each candidate from the first sample of the
smoothed curve, and refuse one whose solution ends early, or is too far from the samples: in one of
the states the mean square of the distance is more than `FAR` times the variance of the noise.
"""

from __future__ import annotations

import itertools
import math
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from harness import imported  # noqa: E402 - a method is imported as in the tests

from eqverdict import parse  # noqa: E402
from eqverdict.fidelity.compare import Verdict, compare  # noqa: E402
from mdbench import datatypes  # noqa: E402
from mdbench.datatypes.base import Candidate  # noqa: E402
from mdbench.datatypes.facts import Protocol  # noqa: E402
from mdbench.datatypes.ode.simulation import simulate  # noqa: E402
from mdbench.errors import AnswerError  # noqa: E402
from mdbench.methods import find as find_method  # noqa: E402
from mdbench.metrics.regression import nmse  # noqa: E402
from mdbench.metrics.spec import best_by_complexity, fitness  # noqa: E402
from mdbench.worker import Problem  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdbench.datatypes.base import Split
    from mdbench.datatypes.equations.base import EquationTask

METHODS = {
    "ode": ("sindy", "trajectory"),
    "pde": ("pdefind", "field"),
    "srsd": ("afp_fe", "table"),
}
QUICK = (
    "burgers",
    "kdv",
    "advection1d",
    "nls",
    "heat_soil_uniform_1d_p1",
    "advection_diffusion_2d",
)
DECIBELS = (None, 40.0, 30.0, 20.0, 10.0)
LEVELS = {"ode": DECIBELS, "pde": DECIBELS, "srsd": (0.0, 0.001, 0.01, 0.1)}
"""Of noise: in dB, or of the targets relative to their root mean square."""
SEARCH = {"generations": 100}
"""Hyperparameters of a search that give it an end without a clock."""
MOST_PIECES = 20
"""Of candidates that are compared with the truth; larger ones are not it."""


@dataclass(frozen=True)
class Known:
    """Input of the rules on a candidate, and whether it is the truth."""

    differences: float
    integral: np.ndarray
    floors: np.ndarray
    samples: int
    complexity: int
    pieces: int
    preferred: float
    right: bool
    distance: float | None = None
    """The mean square of the distance of its solution from the samples, of the worst state, over
    the variance of the noise; infinite where the solution ends early, None of what has none."""


def within_a_factor(found: Sequence[Known]) -> Known:
    """Take the simplest within a factor of two of the best loss or of the floor."""
    losses = [float(np.mean(each.integral)) for each in found]
    most = 2 * max(min(losses), float(np.mean(found[0].floors)))
    return min(
        (each for each, loss in zip(found, losses, strict=True) if loss <= most),
        key=lambda each: (each.pieces, float(np.mean(each.integral))),
    )


def papers(found: Sequence[Known]) -> Known:
    """Take what the paper's fitness prefers, on differences."""
    kept = best_by_complexity(
        [each.differences for each in found], [each.complexity for each in found]
    )
    return max(
        (found[i] for i in kept), key=lambda each: fitness(each.differences, each.complexity)
    )


def criterion(cost: Callable[[int], float]) -> Callable[[Sequence[Known]], Known]:
    """Make a rule of ``n log loss + cost k``, on integrals; `cost` depends on n."""

    def rule(found: Sequence[Known]) -> Known:
        def value(each: Known) -> float:
            n = each.samples * len(each.integral)
            likely = each.samples * float(np.sum(np.log(each.integral + 1e-30)))
            return likely + cost(n) * each.pieces

        return min(found, key=value)

    return rule


FAR = 25.0
"""Variances of the noise by which a solution may be away."""


def strict(found: Sequence[Known]) -> Known:
    """Take what the rule of `strict` prefers."""
    return max(found, key=lambda each: each.preferred)


def integrated(most: float) -> Callable[[Sequence[Known]], Known]:
    """Make the rule `strict` of those candidates whose distance is less; of all if none is."""

    def rule(found: Sequence[Known]) -> Known:
        near = [each for each in found if each.distance is None or each.distance < most]
        return strict(near or found)

    return rule


SAMPLES = 120
"""That a state of a trajectory or field counts for; of tables all rows."""
RULES: dict[str, Callable[[Sequence[Known]], Known]] = {
    "the paper's fitness": papers,
    "AIC": criterion(lambda _: 2.0),
    "BIC, MDL": criterion(lambda n: float(np.log(n))),
    "within a factor": within_a_factor,
    "strict": strict,
    "strict, whole": integrated(math.inf),
    "strict, near": integrated(FAR),
}


def main() -> None:
    """Print for each level how often the truth was there, and how often each rule took it."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "ode"
    name = "ode" if asked == "dev" else asked
    seeds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 1)  # noqa: PLR2004
    method, view = METHODS[name]
    levels = [None if text == "clean" else float(text) for text in sys.argv[3:]] or LEVELS[name]
    print(f"{'level':<8}{'there':>7}" + "".join(f"{rule:>21}" for rule in RULES))
    with tempfile.TemporaryDirectory() as cache, imported(method) as module:
        kind = datatypes.find(name, ROOT / "datasets" / name, Path(cache))
        source = kind.source()
        group = "easy" if name == "srsd" else asked
        systems = QUICK if name == "pde" else source.groups().get(group) or source.names()
        spec = find_method(method, ROOT / "algorithms").spec
        for level in levels:
            there, taken = 0, Counter[str]()
            for seed, system in itertools.product(seeds, systems):
                task = kind.task(_data(source, name, system, level, seed), view, Protocol.STRICT)
                found = candidates(kind, task, _proposed(task, module.Adapter, spec, name, seed))
                if not any(each.right for each in found):
                    continue
                there += 1
                taken.update(rule for rule, choose in RULES.items() if choose(found).right)
            shown = f"{level:g}" + ("" if name == "srsd" else " dB") if level else "clean"
            print(
                f"{shown:<8}{there:>7}" + "".join(f"{taken[rule]:>21}" for rule in RULES),
                flush=True,
            )


def _data(source: Any, name: str, system: str, level: float | None, seed: int) -> Any:
    if name != "srsd":
        return source.load(system, snr_db=level, seed=seed, protocol=Protocol.STRICT)
    asked = f"{system}+noise={level!r}" if level else system
    return source.load(asked, snr_db=None, seed=seed, protocol=Protocol.STRICT)


def _proposed(task: EquationTask[Any], adapter: Any, spec: Any, kind: str, seed: int) -> list[Any]:
    """Fit all settings, or search once; return what is proposed for all targets together."""
    problem = problem_of(task, task.refit)
    try:
        if spec.tuning == "grid":
            grid = spec.combinations(Protocol.STRICT, kind)
            return list(adapter.sweep(problem, problem, grid, seed=seed, threads=1))
        made = adapter(seed=seed, threads=1, **spec.fixed(Protocol.STRICT, kind) | SEARCH)
        made.fit(problem)
        return list(made.candidates())
    except (ValueError, RuntimeError):
        return []  # nothing was found


def candidates(kind: Any, task: EquationTask[Any], proposed: list[Any]) -> list[Known]:
    """Return the input of the rules on a pool."""
    found = []
    assert task.evidence is not None
    samples = len(task.refit.targets) if task.view == "table" else SAMPLES
    # Many settings of a grid have one answer, and no rule chooses otherwise for having it twice.
    different = {tuple(each.equations): each for each in proposed}
    for number, each in enumerate(different.values()):
        try:
            offer = kind.evaluate_candidate(task, task.refit, Candidate(number, each.equations, {}))
        except AnswerError:
            continue
        read = [parse(text, task.variables) for text in each.equations]
        values = np.stack([one.evaluate(task.refit.columns) for one in read], axis=-1)
        integral = [
            task.evidence.loss(one.evaluate(task.evidence.columns), target)
            for target, one in enumerate(read)
        ]
        pieces = sum(one.pieces for one in read)
        right = pieces <= MOST_PIECES and (
            compare(task.dataset.truth, each.equations, task.variables).verdict
            is Verdict.IDENTIFIED
        )
        found.append(
            Known(
                nmse(values, task.refit.targets),
                np.array(integral),
                task.evidence.floors,
                samples,
                offer.complexity,
                pieces,
                offer.fitness,
                right,
                _distance(kind, task, each.equations),
            )
        )
    return found


def _distance(kind: Any, task: EquationTask[Any], equations: Sequence[str]) -> float | None:
    if task.view != "trajectory":
        return None
    (given, *_), _ = task.dataset.parted(task.dataset.given)
    curve = kind._smoothed(task.dataset, [given])[0]  # noqa: SLF001 - as methods are given it
    solution = simulate(equations, curve.t, curve.u)
    if solution.r2 is None:
        return math.inf
    squares = np.mean((solution.states - given.u) ** 2, axis=0)
    return float(np.max(squares / np.maximum(curve.variances, np.finfo(float).tiny)))


def problem_of(task: EquationTask[Any], part: Split) -> Problem:
    """Make what an adapter is given."""
    arrays = {**part.inputs, part.target_name: part.targets}
    return Problem(task.view, task.variables, task.targets, arrays)


if __name__ == "__main__":
    main()
