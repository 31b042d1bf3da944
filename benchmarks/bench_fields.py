"""Results of a method on the fields for development, and of the bench's selection.

Run as ``python benchmarks/bench_fields.py METHOD [SYSTEM ...] [SNR ...] [WAY ...] [published]``.  A
way, such as ``differences``, takes the fields as others publish them, and ``published`` is the
protocol.  For each field and
level: what is identified, and for each target whether its truth was among the candidates and what
the bench took.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from development_fields import SYSTEMS, WAYS, as_published, clean_field, dataset  # noqa: E402
from harness import imported  # noqa: E402 - a method is imported as in the tests

from eqverdict.fidelity.compare import Verdict, compare  # noqa: E402
from mdbench import datatypes  # noqa: E402
from mdbench.datatypes.base import Candidate  # noqa: E402
from mdbench.datatypes.facts import Protocol  # noqa: E402
from mdbench.errors import AnswerError  # noqa: E402
from mdbench.methods import find as find_method  # noqa: E402
from mdbench.worker import Problem  # noqa: E402

if TYPE_CHECKING:
    from mdbench.datatypes.base import ScoredCandidate
    from mdbench.datatypes.equations.base import EquationTask

LEVELS = (None, 40.0, 30.0, 20.0, 10.0)
MOST = 12
"""Signs in an equation that is compared with the truth; longer ones are not it."""


def main() -> None:
    """Print what is found, field by field."""
    method, *some = sys.argv[1:]
    levels = (*[None] * ("clean" in some), *(float(one) for one in some if one.isdigit())) or LEVELS
    ways = [one for one in some if one in WAYS]
    protocol = Protocol.PUBLISHED if "published" in some else Protocol.STRICT
    some = [one for one in some if one in SYSTEMS]
    found: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory() as cache, imported(method) as module:
        kind = datatypes.find("pde", ROOT / "datasets" / "pde", Path(cache))
        spec = find_method(method, ROOT / "algorithms").spec
        for name in some or SYSTEMS:
            fields = {way: as_published(name, way) for way in ways}
            clean = None if ways else clean_field(SYSTEMS[name])
            cases: list[tuple[float | str | None, Any]] = (
                [(level, clean) for level in levels] if clean else list(fields.items())
            )
            for case, field in cases:
                if not np.isfinite(field.u).all():  # Euler's method may not be stable
                    continue
                level = None if isinstance(case, str) else case
                shown = case if isinstance(case, str) else f"{level:g} dB" if level else "clean"
                task = kind.task(dataset(name, field, level), "field", protocol)
                start = time.process_time()
                right, note = judged(kind, task, module.Adapter, spec, protocol)
                found.setdefault(shown, []).append(right)
                seconds = time.process_time() - start
                print(f"{name:<22}{shown:<12}{'yes' if right else '-':<5}{note} {seconds:.1f} s")
                sys.stdout.flush()
    print({shown: f"{sum(each)} of {len(each)}" for shown, each in found.items()})


def judged(
    kind: Any, task: EquationTask[Any], adapter: Any, spec: Any, protocol: Protocol
) -> tuple[bool, str]:
    """Fit and select; return for each target whether its truth was there and selected."""
    part = task.refit
    problem = Problem(
        task.view,
        task.variables,
        task.targets,
        {**part.inputs, part.target_name: part.targets},
    )
    offers: list[ScoredCandidate] = []
    if spec.tuning == "front":
        fitted = adapter(seed=0, threads=1, **spec.fixed(protocol, "pde"))
        fitted.fit(problem)
        proposed = list(fitted.candidates())
    else:
        grid = spec.combinations(protocol, "pde")
        given = spec.fixed(protocol, "pde")
        proposed = list(adapter.sweep(problem, problem, grid, seed=0, threads=1, **given))
    for number, each in enumerate(proposed):
        proposal = Candidate(number, each.equations, {}, each.target)
        try:
            offers.append(kind.evaluate_candidate(task, part, proposal))
        except AnswerError:
            continue
    choice = kind.select(task, offers)
    notes = []
    right = True
    for target, truth in enumerate(task.dataset.truth):
        own = [one for one in offers if one.candidate.target in (target, None)]
        texts = [
            one.candidate.equations[0 if one.candidate.target is not None else target]
            for one in own
        ]
        true = [k for k, text in enumerate(texts) if is_true(truth, text, task)]
        taken = choice.equations[target] if choice else "0"
        ok = is_true(truth, taken, task)
        right = right and ok
        notes.append(
            "taken"
            if ok
            else f"there, not taken: {short(taken)}"
            if true
            else f"absent: {short(taken)}"
        )
    return right, "; ".join(notes)


def short(text: str) -> str:
    """Write numbers with three digits."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda m: f"{float(m[0]):.3g}", text)[:150]


_known: dict[tuple[str, str], bool] = {}


def is_true(truth: str, text: str, task: EquationTask[Any]) -> bool:
    """Whether an equation is the true one, by the rule of fidelity."""
    if text.count(" + ") + text.count(" - ") > MOST:
        return False
    key = truth, text
    if key not in _known:
        _known[key] = compare([truth], [text], task.variables).verdict is Verdict.IDENTIFIED
    return _known[key]


if __name__ == "__main__":
    main()
