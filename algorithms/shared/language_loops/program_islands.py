"""LLM-SR: programs bred on islands by a model that continues a row of versions.

Shojaee, Meidani, Gupta, Farimani, Reddy: ICLR 2025, arXiv:2404.18400; the islands are those of
Romera-Paredes et al., Nature 625, 2024, 468-475.  Written after the papers.
"""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

from program_loops import UNREADABLE, ProgramLoop, renamed

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IslandSearch", "ProgramIsland"]


class ProgramIsland:
    """Programs of one island, those of exactly one score together."""

    def __init__(self) -> None:
        self.clusters: dict[float, list[str]] = {}
        self.count = 0

    def add(self, text: str, score: float) -> None:
        """Store a program."""
        self.clusters.setdefault(score, []).append(text)
        self.count += 1

    @property
    def best(self) -> float:
        """The highest score."""
        return max(self.clusters)

    def draw(self, random: Random, count: int, temperature: float) -> list[str]:
        """Draw programs of clusters, with preference for good ones; return them worst first.

        There are no more of them than clusters, so that the first prompt of an island shows its
        one program once.  Of several a cluster may be drawn twice, as by the authors.
        """
        scores = sorted(self.clusters)
        weights = softmax([score / temperature for score in scores])
        drawn = sorted(random.choices(scores, weights, k=min(count, len(scores))))
        return [self._member(self.clusters[score], random) for score in drawn]

    @staticmethod
    def _member(texts: Sequence[str], random: Random) -> str:
        """Draw a program of a cluster, with preference for short ones."""
        lengths = [len(text) for text in texts]
        least, most = min(lengths), max(lengths)
        weights = softmax([-(length - least) / (most + 1e-6) for length in lengths])
        return random.choices(texts, weights)[0]


def softmax(logits: Sequence[float]) -> list[float]:
    """Return probabilities in proportion to the exponentials."""
    top = max(logits)
    sizes = [math.exp(logit - top) for logit in logits]
    total = sum(sizes)
    return [size / total for size in sizes]


class IslandSearch(ProgramLoop):
    """Islands of programs; the score is minus the error over the variance.

    Parameters
    ----------
    islands
        Number of islands; all begin with the linear program.
    completions
        Asked for with one prompt.
    examples
        Earlier versions in a prompt.
    start_temperature, temperature_period
        Clusters are drawn by the softmax of their score over a temperature that falls from its
        start to nothing while so many programs come to an island, and then begins again.
    reset_every
        After so many completions the worse half of the islands is reset, each to the best
        program of an island of the better half.
    others
        Those of `ProgramLoop`.
    """

    def __init__(
        self,
        *,
        islands: int,
        completions: int,
        examples: int,
        start_temperature: float,
        temperature_period: int,
        reset_every: int,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self._count, self._completions, self._examples = islands, completions, examples
        self._start_temperature, self._period = start_temperature, temperature_period
        self._reset_every = reset_every

    def search(self) -> None:
        """Breed until the budget or the time is used up."""
        random = Random(self.seed)  # noqa: S311 - a search, no secret
        first = self.linear()
        score = -self.judged(first)
        self.islands = [ProgramIsland() for _ in range(self._count)]
        self._best_texts = [first.text] * self._count
        for island in self.islands:
            island.add(first.text, score)
        resets = 0
        while True:
            number = random.randrange(self._count)
            island = self.islands[number]
            done = (island.count % self._period) / self._period
            temperature = max(1e-9, self._start_temperature * (1 - done))
            examples = island.draw(random, self._examples, temperature)
            message = {"role": "user", "content": self._prompt(examples)}
            for reply in self.ask([message], self._completions):
                try:
                    program = self.read(reply)
                    error = self.judged(program, reply)
                except UNREADABLE as reason:
                    self.asker.note(reason, reply)
                    continue
                if not math.isfinite(error):
                    self.asker.note("the formula has no finite value for some row", reply)
                    continue
                if -error > island.best:
                    self._best_texts[number] = program.text
                island.add(program.text, -error)
            if self.asker.asked // self._reset_every > resets:
                resets = self.asker.asked // self._reset_every
                self._reset(random)

    def _reset(self, random: Random) -> None:
        """Reset the worse half of the islands; of equals chance decides."""
        order = sorted(
            range(self._count), key=lambda place: (self.islands[place].best, random.random())
        )
        lost, kept = order[: self._count // 2], order[self._count // 2 :]
        for place in lost:
            founder = random.choice(kept)
            text, score = self._best_texts[founder], self.islands[founder].best
            self.islands[place] = ProgramIsland()
            self.islands[place].add(text, score)
            self._best_texts[place] = text

    def _prompt(self, examples: Sequence[str]) -> str:
        """Show earlier versions, worst first, and the header of the next one."""
        shown = [renamed(text, f"equation_v{place}") for place, text in enumerate(examples)]
        name = f"equation_v{len(examples)}"
        code = "\n\n\n".join(["import numpy as np", *shown, self.header(name)])
        wanted = (
            "Below are versions of the function, each fitting the data at least as well as the "
            f"one before. Write {name}, which should fit better: think about which terms, "
            "products and functions could be missing or wrong. Answer with the complete function "
            "in one fenced block of Python."
        )
        return "\n\n".join([self.situation(), self.rules(name), wanted, f"```python\n{code}\n```"])
