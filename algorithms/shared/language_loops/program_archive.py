"""A quality-diversity search over programs in the manner of OpenEvolve: own form.

After what AlphaEvolve (Novikov et al. 2025, arXiv:2506.13131) and OpenEvolve describe: islands,
each a MAP-Elites grid (Mouret and Clune 2015, arXiv:1504.04909) of complexity and diversity; an
archive of elites; prompts with metrics, earlier attempts, and inspiring programs; migration around
the ring.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from program_loops import UNREADABLE, ProgramLoop
from replies import ReplyError, changes, reply_text

if TYPE_CHECKING:
    from mdbench.worker import Reply

__all__ = ["ArchiveSearch", "ArchivedProgram"]

_FLOOR = 1e-9
"""Added to an error before its logarithm is taken."""
_WORD = re.compile(r"\w+|[^\w\s]")
_REFERENCES = 10


@dataclass(frozen=True)
class ArchivedProgram:
    """A program that was evaluated.

    Attributes
    ----------
    number
        In the order in which they were made.
    text
        The function.
    score
        Minus the decimal logarithm of the error.
    size
        Nodes of its formulas.
    parent
        The number of the program that it was made of, or None.
    """

    number: int
    text: str
    score: float
    size: int
    parent: int | None = None


class _Island:
    """A grid of the best program in each cell, and all programs of the island."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], ArchivedProgram] = {}
        self.programs: list[ArchivedProgram] = []


class ArchiveSearch(ProgramLoop):
    """Islands of elites.

    Parameters
    ----------
    islands, population, archive
        Number of islands, of programs of an island, and of elites of all of them together.
    bins
        Number of bins of each feature of the grid.
    exploration, exploitation
        How often a parent is any program of its island, and one of the archive; else it is drawn
        among the elites of the grid.
    top, diverse
        Programs shown for inspiration: the best of the island, and others from its grid.
    migrate_every, migrants
        After so many programs of an island that share of its best goes to both neighbours.
    mode
        ``rewrite``, whole functions, or ``diff``, blocks to be searched and replaced.
    others
        Those of `ProgramLoop`.
    """

    def __init__(
        self,
        *,
        islands: int,
        population: int,
        archive: int,
        bins: int,
        exploration: float,
        exploitation: float,
        top: int,
        diverse: int,
        migrate_every: int,
        migrants: float,
        mode: str,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        if mode not in {"rewrite", "diff"}:
            raise ValueError(f"mode is {mode!r}; it may be one of ['rewrite', 'diff']")
        self._count, self._population, self._archive_size = islands, population, archive
        self._bins, self._top, self._diverse = bins, top, diverse
        self._exploration, self._exploitation = exploration, exploitation
        self._migrate_every, self._migrants = migrate_every, migrants
        self._mode = mode

    def search(self) -> None:
        """Go round the islands until the budget or the time is used up."""
        self._random = Random(self.seed)  # noqa: S311 - a search, no secret
        self.islands = [_Island() for _ in range(self._count)]
        self.archive: list[ArchivedProgram] = []
        self._all: list[ArchivedProgram] = []
        self._failures: list[str] = [""] * self._count
        self._generations = [0] * self._count
        first = self._made(self.linear().text, None)
        for island in range(self._count):
            self._store(first, island)
        turn = 0
        while True:
            island = turn % self._count
            turn += 1
            parent = self._parent(island)
            for reply in self.ask(self._messages(island, parent)):
                try:
                    self._store(self._made(self._code(reply, parent), parent, reply), island)
                    self._failures[island] = ""
                except UNREADABLE as error:
                    self.asker.note(error, reply)
                    self._failures[island] = str(error)
                self._generations[island] += 1
                if self._generations[island] % self._migrate_every == 0:
                    self._migrate(island)

    def _code(self, reply: Reply, parent: ArchivedProgram) -> str:
        if self._mode == "rewrite":
            return self.read(reply).text
        hunks = changes(reply_text(reply))
        if not hunks:
            raise ReplyError("there is no SEARCH/REPLACE block in the reply")
        text = parent.text + "\n"
        for old, new in hunks:
            if not old or old not in text:
                raise ReplyError("a SEARCH block is no part of the program")
            text = text.replace(old, new, 1)
        return text

    def drawn(self) -> str:
        """Write a whole function, or the block that replaces the whole function."""
        if self._mode == "rewrite":
            return super().drawn()
        raise ValueError("mode is 'diff'; the control draws whole programs: use 'rewrite'")

    def _made(
        self, text: str, parent: ArchivedProgram | None, reply: Reply | None = None
    ) -> ArchivedProgram:
        program = self.read_code(text)
        error = self.judged(program, reply)
        if not math.isfinite(error):
            raise ReplyError("the formula has no finite value for some row")
        made = ArchivedProgram(
            len(self._all),
            program.text,
            -math.log10(error + _FLOOR),
            sum(root.size for root in program.roots),
            None if parent is None else parent.number,
        )
        self._all.append(made)
        return made

    def _store(self, program: ArchivedProgram, number: int) -> None:
        island = self.islands[number]
        cell = self._cell(program)
        holder = island.cells.get(cell)
        if holder is None or program.score > holder.score:
            island.cells[cell] = program
        island.programs.append(program)
        if len(island.programs) > self._population:
            elites = {each.number for each in island.cells.values()}
            others = [each for each in island.programs if each.number not in elites]
            worst = min(others or island.programs, key=lambda each: (each.score, -each.number))
            island.programs.remove(worst)
        if program not in self.archive:
            self.archive.append(program)
            self.archive.sort(key=lambda each: (-each.score, each.number))
            del self.archive[self._archive_size :]

    def _cell(self, program: ArchivedProgram) -> tuple[int, int]:
        """Return a program's place in the grid: by size in steps that double, and by diversity."""
        complexity = min(self._bins - 1, int(1.5 * math.log2(program.size)))
        diversity = min(self._bins - 1, int(self._bins * self._difference(program)))
        return complexity, diversity

    def _difference(self, program: ArchivedProgram) -> float:
        """Return the difference from the first programs, 0 to 1, by the words they share."""
        words = set(_WORD.findall(program.text))
        shares = []
        for other in self._all[:_REFERENCES]:
            if other.number != program.number:
                theirs = set(_WORD.findall(other.text))
                shares.append(len(words & theirs) / len(words | theirs))
        return 1.0 - sum(shares) / len(shares) if shares else 0.0

    def _parent(self, number: int) -> ArchivedProgram:
        island, kind = self.islands[number], self._random.random()
        if kind < self._exploration:
            return self._random.choice(island.programs)
        if kind < self._exploration + self._exploitation:
            return self._random.choice(self.archive)
        return self._random.choice(list(island.cells.values()))

    def _migrate(self, number: int) -> None:
        programs = sorted(self.islands[number].programs, key=lambda each: -each.score)
        for program in programs[: max(1, int(self._migrants * len(programs)))]:
            for neighbour in {(number + 1) % self._count, (number - 1) % self._count} - {number}:
                self._store(program, neighbour)

    def _messages(self, number: int, parent: ArchivedProgram) -> list[dict[str, str]]:
        island = self.islands[number]
        best = sorted(set(island.programs), key=lambda each: (-each.score, each.number))
        top = best[: self._top]
        others = [each for each in island.cells.values() if each not in top]
        diverse = self._random.sample(others, min(self._diverse, len(others)))
        lineage = [self._all[parent.parent]] if parent.parent is not None else []
        parts = [self.situation(), self.rules()]
        if lineage:
            parts.append(f"It was made of this one:\n{self._shown(lineage[0])}")
        if self._failures[number]:
            parts.append(f"The last attempt here failed: {self._failures[number]}.")
        parts.append("The best so far:\n" + "\n\n".join(map(self._shown, top)))
        if diverse:
            parts.append("Others, of other kinds:\n" + "\n\n".join(map(self._shown, diverse)))
        parts.append(f"The program to be improved:\n{self._shown(parent)}")
        parts.append(self._wanted())
        system = "You improve programs that describe measured data; a higher score is better."
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": "\n\n".join(parts)},
        ]

    def _shown(self, program: ArchivedProgram) -> str:
        complexity, diversity = self._cell(program)
        return (
            f"score {program.score:.4f}, size {program.size}, complexity bin {complexity}, "
            f"diversity bin {diversity}\n```python\n{program.text}\n```"
        )

    def _wanted(self) -> str:
        if self._mode == "rewrite":
            return "Answer with the whole improved function in one fenced block of Python."
        return (
            "Answer with one or more changes, each in this form, where the first part is copied "
            "letter by letter from the program to be improved:\n"
            "<<<<<<< SEARCH\nlines as they are\n=======\nlines as they should be\n>>>>>>> REPLACE"
        )
