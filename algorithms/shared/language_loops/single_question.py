"""One question, asked many times: what a model knows or guesses without feedback."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from program_loops import UNREADABLE, ProgramLoop

__all__ = ["SingleQuestion"]


class SingleQuestion(ProgramLoop):
    """Best of n answers to one question that shows some rows of the data; constants are fitted.

    Parameters
    ----------
    rows_shown
        Rows of the data in the question; 0 for none.
    completions
        Asked for at a time.
    others
        Those of `ProgramLoop`.
    """

    def __init__(self, *, rows_shown: int, completions: int, **others: Any) -> None:
        super().__init__(**others)
        self._rows_shown, self._completions = rows_shown, completions

    def search(self) -> None:
        """Repeat the question."""
        messages = [
            {"role": "system", "content": "You find the formula behind measured data."},
            {"role": "user", "content": self._question()},
        ]
        while True:
            for reply in self.ask(messages, self._completions):
                try:
                    if not math.isfinite(self.judged(self.read(reply), reply)):
                        self.asker.note("the formula has no finite value for some row", reply)
                except UNREADABLE as error:
                    self.asker.note(error, reply)

    def _question(self) -> str:
        parts = [self.situation()]
        if self._rows_shown:
            X, Y = self.fronts.X, self.fronts.Y
            draw = np.random.default_rng(self.seed)
            rows = np.sort(draw.choice(len(X), min(self._rows_shown, len(X)), replace=False))
            lines = [", ".join([*self.names, *self.problem.targets])]
            lines += [", ".join(f"{value:.5g}" for value in (*X[row], *Y[row])) for row in rows]
            parts.append("Some of the data:\n" + "\n".join(lines))
        parts.append(self.rules())
        parts.append("Answer with the function alone, in one fenced block of Python.")
        return "\n\n".join(parts)
