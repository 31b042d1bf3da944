"""Wrong and undecided verdicts of the scorer, and its time, on labelled pairs.

Run as ``python benchmarks/bench_scorer.py [SEEDS] [--referees]``.  With ``--referees`` some of the
pairs are put to SRBench's own rule and to the package sreval, in an environment of its own, and
``mdbench score`` is timed.
"""

from __future__ import annotations

import json
import resource
import select
import statistics
import subprocess
import sys
import time
import venv
from collections import Counter
from typing import TYPE_CHECKING

from bench_comparison import pairs as drawn_pairs
from labelled import Pair, answers, ends, laws, pairs

from mdbench.expressions.fidelity.compare import Verdict, compare
from mdbench.expressions.fidelity.skeleton import same_skeleton
from mdbench.expressions.srbench import srbench_solution, symbolic_solution
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SREVAL = "sreval==0.1.1"
FEW = 330
"""Pairs for the referees, which take long."""
LIMIT_S = 20.0
"""Wall time that the outside referee has for a pair: it has no limit of its own."""
REFEREE = """
import json, sys
import numpy as np
import sreval, sympy
from sympy.parsing.sympy_parser import parse_expr
for line in sys.stdin:
    asked = json.loads(line)
    names = list(asked["box"])
    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    words = {**symbols, "max": sympy.Max, "min": sympy.Min, "abs": sympy.Abs}
    try:
        made = [parse_expr(asked[key], local_dict=words) for key in ("truth", "answer")]
        ran = [sympy.lambdify(list(symbols.values()), each) for each in made]
        with np.errstate(all="ignore"):
            found = sreval.check(
                candidate_infix=asked["answer"], truth_infix=asked["truth"], variables=names,
                candidate_fn=lambda x: ran[1](*x.T) + 0*x[:, 0],
                truth_fn=lambda x: ran[0](*x.T) + 0*x[:, 0],
                box=list(asked["box"].values()), candidate_tokens=[""], truth_tokens=[""],
            )
        print(json.dumps(bool(found.recovered)), flush=True)
    except Exception:
        print("null", flush=True)
"""


def identified(pair: Pair) -> bool | None:
    """Ask for the verdict on terms."""
    law = pair.law
    found = compare([law.text], [pair.prediction], law.names, domain=law.ranges).verdict
    return None if found is Verdict.UNDECIDED else found is Verdict.IDENTIFIED


def solved(pair: Pair) -> bool | None:
    """Ask for the verdict of SRBench's definition."""
    return symbolic_solution(pair.law.text, pair.prediction, pair.law.domain, seconds=20).solved


def skeleton(pair: Pair) -> bool | None:
    """Ask whether some choice of constants makes the answer the truth, as a record has it."""
    law = pair.law
    if identified(pair):
        return True
    ranges = tuple((name, *each) for name, each in law.ranges.items())
    return same_skeleton(law.text, pair.prediction, law.names, law.names, ranges)


def srbench(pair: Pair) -> bool | None:
    """Ask for the verdict of SRBench's code."""
    return srbench_solution(pair.law.text, pair.prediction, pair.law.names, seconds=20).solved


class Sreval:
    """The package sreval, which decides whether two equations are equal, in its own environment."""

    def __init__(self) -> None:
        folder = Workspace.find().home / "benchmarks" / "sreval"
        self.python = folder / "bin" / "python"
        if not self.python.exists():
            venv.create(folder, with_pip=True)
            install = [str(self.python), "-m", "pip", "install", "-q", SREVAL, "sympy==1.14.0"]
            subprocess.run(install, check=True)
        self.process: subprocess.Popen[str] | None = None

    def __call__(self, pair: Pair) -> bool | None:
        """Ask; None where it fails, or takes too long."""
        box = {name: ends(spread) for name, spread in pair.law.domain.items()}
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-W", "ignore", "-c", REFEREE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"truth": pair.law.text, "answer": pair.prediction, "box": box}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
        answer = self.process.stdout.readline() if ready else ""
        if not answer:
            self.process.kill()
            self.process.communicate()
            self.process = None
            return None
        verdict: bool | None = json.loads(answer)
        return verdict


def count(
    title: str, ask: Callable[[Pair], bool | None], corpus: Sequence[Pair], label: str
) -> None:
    """Print how often a verdict is wrong, and how long it takes."""
    counts: Counter[str] = Counter()
    times = []
    for pair in corpus:
        right = getattr(pair, label)
        if right is None:
            continue
        start = time.perf_counter()
        verdict = ask(pair)
        times.append(1e3 * (time.perf_counter() - start))
        counts["same" if right else "other"] += 1
        if verdict is right:
            continue
        kind = "undecided" if verdict is None else f"false {'positive' if verdict else 'negative'}"
        counts[kind] += 1
        if ask in {identified, solved, skeleton}:
            print(f"  {title}, {kind}: {pair.law.name}, {pair.what}: {pair.prediction[:300]}")
    times.sort()
    print(
        f"{title}: {counts['same']} are, {counts['other']} are not; "
        f"{counts['false positive']} false positives, {counts['false negative']} false "
        f"negatives, {counts['undecided']} undecided; "
        f"median {statistics.median(times):.1f} ms, "
        f"95 % below {times[int(0.95 * len(times))]:.1f}, most {times[-1]:.1f}",
        flush=True,
    )


def time_score(number: int = 20) -> None:
    """Print how long ``mdbench score`` takes on two equations of 30 nodes, start-up included."""
    times, cpus, before = [], [], 0.0
    for truth, answer in drawn_pairs(number, "polynomials, sin and exp"):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "mdbench", "score", truth, answer, "--columns", "x0,x1,x2,x3"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        times.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before)
        before += cpus[-1]
    for what, measured in (("wall", times), ("CPU", cpus)):
        middle = statistics.median(measured)
        print(f"mdbench score, {what}: median {middle:.2f} s, most {max(measured):.2f}", flush=True)


def main() -> None:
    """Print the tables."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    truths = [*laws(), *answers()]
    corpus = [
        pair for seed in range(*numbers or [1]) for law in truths for pair in pairs(law, seed)
    ]
    print(f"{len(corpus)} pairs of {len(truths)} equations")
    if "--referees" in sys.argv:
        time_score()
        few = corpus[:: len(corpus) // FEW]
        count("SRBench's rule", srbench, few, "solution")
        count("sreval", Sreval(), few, "equal")
        return
    asked: list[tuple[str, Callable[[Pair], bool | None]]] = [
        ("identified", identified),
        ("skeleton", skeleton),
        ("solution", solved),
    ]
    for title, ask in asked:
        count(title, ask, corpus, title)


if __name__ == "__main__":
    main()
