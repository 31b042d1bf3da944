"""SGA: a model proposes classes, Adam fits them, and the results go back to the model.

Ma, Wang, Guo, Sun, Tenenbaum, Rus, Gan, Matusik: ICML 2024, arXiv:2405.09783, as far as it is about
formulas.  Written after the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asking import SearchOver
from formula_fitting import Adam
from formula_reading import MAX_PARAMETERS, read_class
from program_loops import UNREADABLE, ProgramLoop
from replies import code_of, reply_text, section

if TYPE_CHECKING:
    from mdbench.worker import Reply

__all__ = ["FeedbackSearch", "ProposedLaw"]


@dataclass(frozen=True)
class ProposedLaw:
    """A model's proposal, and the result of its fit.

    Attributes
    ----------
    plan, code
        Texts.
    loss
        Infinite where it failed.
    feedback
        The part of the next prompt that describes it.
    """

    plan: str
    code: str
    loss: float
    feedback: str


class FeedbackSearch(ProgramLoop):
    """Rounds of proposals; the best so far are shown in the next one.

    Parameters
    ----------
    exploiting, exploring
        Completions of a round at the low and at the high temperature.
    low_temperature
        The high one is `temperature`.
    shown
        Proposals in a prompt, the best last.
    steps, rate, clip
        Settings of Adam.
    others
        Those of `ProgramLoop`.
    """

    def __init__(
        self,
        *,
        exploiting: int,
        exploring: int,
        low_temperature: float,
        shown: int,
        steps: int,
        rate: float,
        clip: float,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self._groups = ((exploiting, low_temperature), (exploring, self.temperature))
        self._shown = shown
        self._adam = Adam(steps=steps, rate=rate, clip=clip)

    def search(self) -> None:
        """Run rounds until the budget or the time is used up."""
        self.laws = [self._tried("Begin with a linear law.", self._linear_class())]
        rounds = 0
        while True:
            rounds += 1
            messages = self._conversation(rounds)
            found: list[ProposedLaw] = []
            for count, temperature in self._groups:
                if not count:
                    continue
                replies = self._asked(messages, count, temperature, found)
                found += [self._proposed(reply) for reply in replies]
            self.laws += found

    def _asked(
        self,
        messages: list[dict[str, str]],
        count: int,
        temperature: float,
        found: list[ProposedLaw],
    ) -> list[Reply]:
        try:
            return self.ask(messages, count, temperature)
        except SearchOver:
            self.laws += found
            raise

    def drawn(self) -> str:
        """Write a class of drawn expressions."""
        names: list[str] = []

        def constant(_index: int) -> str:
            names.append(f"self.c{len(names)}")
            return names[-1]

        body = ", ".join(self._draws.expression(constant)[0] for _ in self.problem.targets)
        body = body.replace("np.", "torch.")
        return f"### Plan\nA draw.\n\n### Code\n```python\n{self._class(names, body)}```\n"

    def _class(self, parameters: list[str], body: str) -> str:
        sets = [f"        {name} = nn.Parameter(torch.tensor(1.0))\n" for name in parameters]
        return (
            "class Law(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"{''.join(sets)}\n    def forward({', '.join(['self', *self.names])}):\n"
            f"        return {body}\n"
        )

    def _linear_class(self) -> str:
        names: list[str] = []
        outputs: list[str] = []
        for _ in self.problem.targets:
            first = len(names)
            names += [f"self.c{first + place}" for place in range(len(self.names) + 1)]
            terms = [f"{names[first + place]} * {name}" for place, name in enumerate(self.names)]
            outputs.append(" + ".join([*terms, names[-1]]))
        if len(names) > MAX_PARAMETERS:
            return self._class(["self.c0"], ", ".join(["self.c0"] * len(outputs)))
        return self._class(names, ", ".join(outputs))

    def _proposed(self, reply: Reply) -> ProposedLaw:
        try:
            text = reply_text(reply)
            code = code_of(text)
        except UNREADABLE as error:
            self.asker.note(error, reply)
            return ProposedLaw("", "", math.inf, f"Nothing could be run: {error}.")
        return self._tried(section(text, "Plan"), code, reply)

    def _tried(self, plan: str, code: str, reply: Reply | None = None) -> ProposedLaw:
        """Fit a class with Adam, and each of its formulas once more for the front."""
        try:
            program = read_class(code, self.names, len(self.problem.targets))
        except UNREADABLE as error:
            self.asker.note(error, reply)
            return ProposedLaw(plan, code, math.inf, f"This failed: {error}.")
        constants, loss, curve = self._adam.fit(
            program.roots, self.fronts.X, self.fronts.Y, program.start
        )
        for target, root in enumerate(program.roots):
            self.fronts.fit(target, root, constants)
        self.report(reply, loss)
        self.end_where_done()
        if not math.isfinite(loss):
            self.asker.note("the formula has no finite value for some row", reply)
            return ProposedLaw(plan, program.text, loss, "This has no finite value for some row.")
        fitted = ", ".join(
            f"{name} = {value:.4g}" for name, value in zip(program.names, constants, strict=True)
        )
        course = ", ".join(f"{each:.3g}" for each in curve)
        feedback = (
            f"Fitted parameters: {fitted or 'there are none'}.\n"
            f"Loss every hundred steps: {course}.\nLowest loss: {loss:.4g}."
        )
        return ProposedLaw(plan, program.text, loss, feedback)

    def _conversation(self, rounds: int) -> list[dict[str, str]]:
        """Return the messages of a round."""
        system = (
            "You propose laws for measured data as small PyTorch modules, and improve them from "
            "what their fits show."
        )
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": f"{self.situation()}\n\n{self._format()}"},
        ]
        distinct: dict[str, ProposedLaw] = {}
        for law in self.laws:
            distinct.setdefault(law.code, law)
        best = sorted(distinct.values(), key=lambda law: law.loss)[: self._shown]
        for law in reversed(best):
            said_then = f"### Plan\n{law.plan}\n\n### Code\n```python\n{law.code.rstrip()}\n```"
            messages += [
                {"role": "assistant", "content": said_then},
                {"role": "user", "content": law.feedback},
            ]
        last = f"{self._format()}\n\nThis is round {rounds + 1}: propose a law with a lower loss."
        messages[-1]["content"] += f"\n\n{last}"
        return messages

    def _format(self) -> str:
        count = len(self.problem.targets)
        gives = "the formula" if count == 1 else f"the {count} formulas, separated by commas"
        return (
            "Answer in three parts with the headings `### Analysis` (what the fits so far show), "
            "`### Plan` (the law that you propose next, step by step) and `### Code`: one fenced "
            "block with a class Law(nn.Module). Its __init__ takes no arguments and sets each "
            "unknown number as `self.NAME = nn.Parameter(torch.tensor(1.0))`, single numbers only; "
            f"`forward({', '.join(['self', *self.names])})` returns {gives}. Use + - * / ** and "
            "functions such as torch.sin, torch.exp, torch.log, torch.sqrt, torch.tanh. No loops, "
            "no branches, no other attributes, no imports."
        )
