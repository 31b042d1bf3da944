"""Wrong and undecided verdicts of the scorer, and its time, on labelled pairs.

Run as ``python benchmarks/bench_scorer.py [SEEDS] [--first SEED] [--adversarial | --moved
[--share SHARE] | --referees]``.  With ``--adversarial`` only the pairs of ``adversarial.py`` are
scored, with ``--moved`` only those of ``moved_constants.py``: a tenth of all moves for each seed.
With ``--referees`` some of the pairs are put to SRBench's own rule and to the package sreval, in an
environment of its own, and ``mdbench score`` is timed.
"""

from __future__ import annotations

import argparse
import json
import resource
import select
import statistics
import subprocess
import sys
import time
import venv
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adversarial import hidden_pairs, rewritten_pairs
from bench_comparison import pairs as drawn_pairs
from labelled import Pair, answers, ends, laws, pairs
from moved_constants import moved_pairs

from eqverdict.fidelity.compare import Verdict, compare
from eqverdict.fidelity.skeleton import same_skeleton
from eqverdict.srbench import srbench_solution, symbolic_solution
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SREVAL = "sreval==0.1.1"
MOVES = 0.1
"""The share of all moves of constants that is drawn for a seed."""
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


SHOWN = 5
"""Wrong verdicts of a kind of pair that are printed."""


@dataclass
class Tally:
    """The verdicts on pairs of one kind, and their times in milliseconds."""

    counts: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)

    def row(self) -> list[str]:
        """Return the numbers as text."""
        kinds = ("same", "other", "false positive", "false negative", "undecided")
        times = sorted(self.times)
        measured = (statistics.median(times), times[int(0.95 * len(times))], times[-1])
        return [
            *(str(self.counts[kind]) for kind in kinds),
            *(f"{each:.1f}" for each in measured),
        ]


_HEADS = (
    *("pairs", "are", "are not", "false positives", "false negatives", "undecided"),
    *("median ms", "95 %", "most"),
)


def count(
    title: str, ask: Callable[[Pair], bool | None], corpus: Iterable[Pair], label: str
) -> None:
    """Print how often a verdict is wrong, and how long it takes, for each kind of pair and all."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for pair in corpus:
        right = getattr(pair, label)
        if right is None:
            continue
        start = time.perf_counter()
        verdict = ask(pair)
        spent = 1e3 * (time.perf_counter() - start)
        found = "same" if right else "other", wrong_kind(verdict, right=right)
        for tally in (tallies[pair.what], tallies[f"{title}, all"]):
            tally.times.append(spent)
            tally.counts.update(word for word in found if word)
        kept = tallies[pair.what].counts[found[1]] <= SHOWN
        if found[1] and kept and ask in {identified, solved, skeleton}:
            print(f"  {title}, {found[1]}: {pair.law.name}, {pair.what}: {pair.law.text[:150]} | "
                  f"{pair.prediction[:300]}")  # fmt: skip
    for row in (_HEADS, ["---"] * len(_HEADS)):
        print(f"| {' | '.join(row)} |")
    for kind in sorted(tallies, key=lambda kind: kind.endswith(", all")):
        print(f"| {kind} | {' | '.join(tallies[kind].row())} |", flush=True)


def wrong_kind(verdict: bool | None, *, right: bool) -> str:
    """Name how a verdict is wrong; empty where it is right."""
    if verdict is right:
        return ""
    return "undecided" if verdict is None else f"false {'positive' if verdict else 'negative'}"


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


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=1, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--adversarial", action="store_true")
    chosen.add_argument("--moved", action="store_true")
    chosen.add_argument("--referees", action="store_true")
    parser.add_argument("--share", type=float, default=MOVES, help="of all moves, for each seed")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    wanted = arguments()
    seeds = range(wanted.first, wanted.first + wanted.seeds)
    if wanted.adversarial:
        for title, make in (("rewritten", rewritten_pairs), ("hidden", hidden_pairs)):
            count(title, identified, [pair for seed in seeds for pair in make(seed)], "identified")
        return
    if wanted.moved:
        moved = (pair for seed in seeds for pair in moved_pairs(seed, wanted.share))
        count("moved", identified, moved, "identified")
        return
    truths = [*laws(), *answers()]
    corpus = [pair for seed in seeds for law in truths for pair in pairs(law, seed)]
    print(f"{len(corpus)} pairs of {len(truths)} equations")
    if wanted.referees:
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
