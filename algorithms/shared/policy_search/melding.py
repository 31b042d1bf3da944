"""Genetic programming that begins with what the policy wrote (Mundhenk et al., NeurIPS 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from growth import Growth, Rules
from numpy.typing import NDArray
from tapes import Shapes, pad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokens import Tokens

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

__all__ = ["Melding", "meld"]


@dataclass(frozen=True)
class Melding:
    """Settings of the genetic programming.

    Parameters
    ----------
    population, generations
        Sizes; 0 generations for none.
    crossover, mutation
        Probabilities for each individual.
    tournament
        Individuals in each.
    returned
        Number of the best that the policy learns from.
    """

    population: int = 100
    generations: int = 20
    crossover: float = 0.5
    mutation: float = 0.5
    tournament: int = 5
    returned: int = 50

    def __post_init__(self) -> None:
        for name in ("population", "tournament"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if self.generations < 0:
            raise ValueError(f"generations is {self.generations}; it must be 0 or more")


def meld(
    start: Sequence[list[int]],
    rewards: Array,
    plan: Melding,
    *,
    tokens: Tokens,
    rules: Rules,
    random: np.random.Generator,
    evaluate: Callable[[Integers], Array],
    late: Callable[[], bool],
) -> tuple[list[list[int]], Array]:
    """Evolve expressions; return the best that were seen, best first, and their rewards.

    Parameters
    ----------
    start, rewards
        The first individuals; the best of them are taken where there are too many.
    evaluate
        Gives rewards (B,) of codes (B, L).
    late
        Whether the time is over.
    """
    order = np.argsort(-rewards, kind="stable")[: plan.population]
    people = [start[i] for i in order]
    fitness = rewards[order]
    seen = {tuple(one): float(value) for one, value in zip(people, fitness, strict=True)}
    for _ in range(plan.generations):
        if late() or len(people) < 2:  # noqa: PLR2004
            break
        children = _breed(
            people, fitness, plan, tokens=tokens, longest=rules.max_length, random=random
        )
        fine = Growth(len(children), tokens, rules).follow(pad(children))
        children = [child for child, good in zip(children, fine, strict=True) if good]
        if not children:
            continue
        values = evaluate(pad(children))
        seen.update(zip(map(tuple, children), values.tolist(), strict=True))
        # The best of the last generation is kept.
        best = int(np.argmax(fitness))
        people = [people[best], *children]
        fitness = np.concatenate([fitness[best : best + 1], values])
    ranked = sorted(seen.items(), key=lambda each: (-each[1], each[0]))[: plan.returned]
    return [list(one) for one, _ in ranked], np.array([value for _, value in ranked])


def _breed(
    people: Sequence[list[int]],
    fitness: Array,
    plan: Melding,
    *,
    tokens: Tokens,
    longest: int,
    random: np.random.Generator,
) -> list[list[int]]:
    """Select by tournaments, cross neighbours, change some."""
    draws = random.integers(len(people), size=(plan.population, plan.tournament))
    winners = draws[np.arange(len(draws)), np.argmax(fitness[draws], axis=1)]
    chosen = [people[i] for i in winners]
    ends = Shapes.of(pad(chosen), tokens.arity).end
    children = list(chosen)
    for first in range(0, len(chosen) - 1, 2):
        if random.random() < plan.crossover:
            a, b = chosen[first], chosen[first + 1]
            i, j = int(random.integers(len(a))), int(random.integers(len(b)))
            k, m = int(ends[first, i]), int(ends[first + 1, j])
            children[first] = a[:i] + b[j:m] + a[k:]
            children[first + 1] = b[:j] + a[i:k] + b[m:]
    children = [
        _mutate(child, tokens, random) if random.random() < plan.mutation else child
        for child in children
    ]
    return [
        child if len(child) <= longest else old for child, old in zip(children, chosen, strict=True)
    ]


def _mutate(one: list[int], tokens: Tokens, random: np.random.Generator) -> list[int]:
    """Change a token for another of its arity, or a subtree for a small new one."""
    at = int(random.integers(len(one)))
    arity = tokens.arity
    if random.random() < 0.5:  # noqa: PLR2004
        alike = np.flatnonzero(arity == arity[one[at]])
        return [*one[:at], int(random.choice(alike)), *one[at + 1 :]]
    end, waiting = at, 1
    while waiting:
        waiting += int(arity[one[end]]) - 1
        end += 1
    leaves = np.flatnonzero(arity == 0)
    root = int(random.integers(len(tokens)))
    new = [root]
    for _ in range(int(arity[root])):
        inner = int(random.integers(len(tokens))) if random.random() < 0.3 else -1  # noqa: PLR2004
        if inner >= 0 and arity[inner]:
            new += [inner, *random.choice(leaves, int(arity[inner])).tolist()]
        else:
            new.append(int(random.choice(leaves)))
    return one[:at] + new + one[end:]
