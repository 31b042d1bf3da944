"""Common part of the loops over programs: data, questions, and fronts for the bench."""

from __future__ import annotations

import keyword
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from asking import Asker, SearchOver
from formula_graphs import ProgramError
from formula_reading import MAX_PARAMETERS, read_function
from grammar_draws import DrawingModel, GrammarDraws
from program_fronts import FrontProgram, ProgramFronts
from replies import ReplyError, code_of, reply_text

from mdbench.worker import Candidate, Problem, language_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from formula_reading import ReadProgram
    from numpy.typing import NDArray

    from mdbench.worker import Reply

    Array = NDArray[np.float64]

__all__ = ["UNREADABLE", "ProgramLoop", "counted", "python_names", "renamed", "situation_of"]

UNREADABLE = (ReplyError, ProgramError)
"""Errors that a reply that cannot be used raises."""
_SHARE_OF_TIME = 0.9
"""Part of the remaining time for the search; the rest is for the fronts."""
_TAKEN = {"np", "numpy", "math", "torch", "params", "self", "pi", "e", "C"}


def python_names(variables: Sequence[str]) -> list[str]:
    """Return names that Python takes for arguments: the problem's own where it does."""
    found: list[str] = []
    for name in variables:
        while keyword.iskeyword(name) or name in _TAKEN or name in found:
            name += "_"  # noqa: PLW2901
        found.append(name)
    return found


def renamed(text: str, name: str) -> str:
    """Return a function's text with another name."""
    return re.sub(r"^def \w+", f"def {name}", text, count=1)


def situation_of(problem: Problem, targets: Sequence[str]) -> str:
    """Return the question and the description of the problem: the same for all loops."""
    lines = [
        f"Variables: {', '.join(python_names(problem.variables))}.",
        f"They were measured; wanted is a formula that gives {', '.join(targets)} from them.",
    ]
    description: Any = getattr(problem, "description", None)
    if description:
        lines += ["", str(description)]
    return "\n".join(lines)


def counted(
    candidate: Candidate, calls: int, problem: Problem, *, from_model: bool | None = None
) -> Candidate:
    """Add after how many completions a candidate was found; one of a single target is of all.

    Parameters
    ----------
    from_model
        Whether a reply has it, and not the program to begin with; None where nobody knows.
    """
    found: dict[str, Any] = {"calls": calls}
    if from_model is not None:
        found["from_model"] = from_model
    candidate = replace(candidate, hyperparameters=found)
    if len(problem.targets) > 1 or candidate.predictions is None:
        return candidate
    return replace(candidate, predictions=candidate.predictions[:, np.newaxis], target=None)


class ProgramLoop:
    """A search that asks for programs, and fits their constants.

    Each output of a program is its own formula with its own constants: the bench may
    choose for each target from another program.

    Parameters
    ----------
    seed
        Seed of everything that is drawn.
    threads
        Not used: the search has one thread.
    samples
        Largest number of completions.
    parameters
        A program may use ``params[0]`` to ``params[parameters - 1]``; at least one more than there
        are variables, as far as `MAX_PARAMETERS` goes.
    starts, iterations
        Settings of each fit of constants.
    max_rows
        Largest number of samples in the search; of more, a random part is drawn.
    max_tokens
        Largest number of tokens of a completion.
    temperature
        Temperature of sampling.
    stop_threshold
        The search ends where every target is explained up to this part of its variance.
    drawn_size
        The largest expression that a control draws.
    control_budget
        Limits of what the method may ask for of which this is the control.
    """

    nollm = False
    """Whether random draws of the grammar replace replies."""

    def __init__(
        self,
        *,
        seed: int,
        threads: int,
        samples: int,
        parameters: int,
        starts: int,
        iterations: int,
        max_rows: int,
        max_tokens: int,
        temperature: float,
        stop_threshold: float,
        drawn_size: int = 20,
        control_budget: dict[str, Any] | None = None,
    ) -> None:
        del threads
        self._control_budget = control_budget
        if samples < 1 or parameters < 1 or starts < 1:
            raise ValueError(
                f"samples = {samples}, parameters = {parameters}, starts = {starts}: "
                "each must be 1 or more"
            )
        self.seed, self.temperature = seed, temperature
        self._samples, self._max_tokens = samples, max_tokens
        self._parameters = min(parameters, MAX_PARAMETERS)
        self._fitting = {"starts": starts, "iterations": iterations, "max_rows": max_rows}
        self._stop_threshold = stop_threshold
        self._drawn_size = drawn_size
        self.stopped_early = False
        self._members: list[FrontProgram] = []
        self._chosen: list[FrontProgram] = []

    def search(self) -> None:
        """Ask until `SearchOver` is raised, or all is done."""
        raise NotImplementedError

    def drawn(self) -> str:
        """Write a reply of drawn expressions, as a model would write it here."""
        body = ", ".join(self.drawn_expression() for _ in self.problem.targets)
        return f"```python\n{self.header('equation')}\n    return {body}\n```"

    def drawn_expression(self) -> str:
        """Draw one expression in ``params``."""
        return self._draws.expression(lambda index: f"params[{index}]")[0]

    def fit(self, problem: Problem) -> None:
        """Search.

        Raises
        ------
        ValueError
            If the data are not finite.
        RuntimeError
            If no reply could be used.
        """
        if not (np.isfinite(problem.X).all() and np.isfinite(problem.Y).all()):
            raise ValueError("the data have values that are not finite")
        self.problem = problem
        self.names = python_names(problem.variables)
        self.parameters = max(self._parameters, min(MAX_PARAMETERS, 1 + len(problem.variables)))
        self._draws = GrammarDraws(self.seed, self.names, max_size=self._drawn_size)
        self.fronts = ProgramFronts(
            problem, seed=self.seed, parameters=self.parameters, **self._fitting
        )
        self.asker = Asker(
            DrawingModel(self.drawn, self._control_budget) if self.nollm else language_model(),
            samples=self._samples,
            seed=self.seed,
            max_tokens=self._max_tokens,
            is_late=problem.budget.after(_SHARE_OF_TIME * problem.budget.remaining()),
        )
        try:
            self.search()
        except SearchOver:
            pass
        finally:
            print(self.asker.summary())  # noqa: T201 - for the log
        self.stopped_early = self.asker.late
        self.fronts.shorten()
        self._members = list(self.fronts.members())
        self._chosen = []
        for target, name in enumerate(problem.targets):
            members = [member for member in self._members if member.target == target]
            if not members:
                reasons = self.asker.useless.most_common(1)
                reason = f"; most often: {reasons[0][0]}" if reasons else ""
                raise RuntimeError(
                    f"none of {self.asker.asked} replies has a formula for {name} that is finite "
                    f"on the data{reason}"
                )
            self._chosen.append(min(members, key=lambda member: member.error))

    def candidates(self) -> Iterator[Candidate]:
        """Yield the front of each target, as far as it was found."""
        finished = len(self._chosen) == len(self.problem.targets)
        self._members = self._members if finished else list(self.fronts.members())
        for member in self._members:
            candidate = Candidate((member.equation,), member.predictions, target=member.target)
            yield counted(candidate, member.calls, self.problem, from_model=member.calls > 0)

    def choose(self, indices: Sequence[int]) -> None:
        """Use these candidates, one a target; before, those of least error are used."""
        self._chosen = [self._members[index] for index in indices]

    def equations(self) -> list[str]:
        """Return the chosen right-hand side of each target."""
        return [member.equation for member in self._chosen]

    def predict(self, problem: Problem) -> Array:
        """Evaluate the chosen equations; return (n, targets)."""
        columns = [member.values(problem.X) for member in self._chosen]
        return np.stack(columns, axis=1)

    def ask(
        self, messages: Sequence[dict[str, str]], n: int = 1, temperature: float | None = None
    ) -> list[Reply]:
        """Ask the model."""
        given = self.temperature if temperature is None else temperature
        replies = self.asker.ask(messages, n, temperature=given)
        self.fronts.calls = self.asker.asked
        return replies

    def read(self, reply: Reply) -> ReadProgram:
        """Read the function in a reply; where only its body was written, that.

        Raises
        ------
        ReplyError, ProgramError
            If it cannot be used.
        """
        text = reply_text(reply)
        try:
            code = code_of(text)
        except ReplyError:
            lines = [line for line in text.splitlines() if not line.strip().startswith("```")]
            if not any(line.lstrip().startswith("return ") for line in lines):
                raise
            inner = "\n".join(f"    {line.strip()}" for line in lines)
            code = f"{self.header('equation')}\n{inner}\n"
        return self.read_code(code)

    def read_code(self, code: str) -> ReadProgram:
        """Read a function's text."""
        return read_function(
            code, self.names, len(self.problem.targets), parameters=self.parameters
        )

    def judged(self, program: ReadProgram, reply: Reply | None = None) -> float:
        """Fit a program, and return its error: the mean over the targets, infinite for no value.

        Parameters
        ----------
        reply
            The reply that has it, which is reported on if the error is finite.

        Raises
        ------
        SearchOver
            If all is explained.
        """
        fits = self.fronts.judge(program.roots)
        error = float(np.mean([fitted.error for fitted in fits]))
        self.report(reply, error)
        self.end_where_done()
        return error

    def report(self, reply: Reply | None, error: float) -> None:
        """Report the error of what a reply has, where it is finite."""
        if reply is not None and np.isfinite(error):
            self.asker.report(reply, f"error {error:.4g} of the variance")

    def end_where_done(self) -> None:
        """Raise `SearchOver` where every target is explained."""
        if self.fronts.lowest() <= self._stop_threshold:
            raise SearchOver

    def linear(self) -> ReadProgram:
        """Return the program to begin with: a constant and a multiple of every variable."""
        used = self.names[: self.parameters - 1]
        terms = [f"params[{place}] * {name}" for place, name in enumerate(used)]
        text = " + ".join([*terms, f"params[{len(used)}]"])
        each = ", ".join([text] * len(self.problem.targets))
        return self.read_code(f"{self.header('equation')}\n    return {each}\n")

    def header(self, name: str) -> str:
        """Return the first line of a function of that name."""
        return f"def {name}({', '.join([*self.names, 'params'])}):"

    def situation(self) -> str:
        """Return the question and the description of the problem."""
        return situation_of(self.problem, self.problem.targets)

    def rules(self, name: str = "equation") -> str:
        """Return the rules for a program of that name."""
        count = len(self.problem.targets)
        several = (
            ""
            if count == 1
            else f" Return {count} expressions separated by commas, in the order "
            f"{', '.join(self.problem.targets)}; the numbers in params are fitted for each of them "
            "on its own, so that indices may be used again."
        )
        return (
            f"Write one Python function with the header `{self.header(name)}`. Its arguments "
            "are arrays of equal length; `params` holds unknown numbers, `params[0]` to "
            f"`params[{self.parameters - 1}]`, which are fitted to the data afterwards: use them "
            "for coefficients and leave numbers in only where they are part of the structure. "
            "Allowed are assignments to new names, + - * / **, and functions such as np.sin, "
            "np.cos, np.exp, np.log, np.sqrt, np.abs, np.tanh, np.maximum. There may be no loops, "
            "no branches, no np.where and no imports of other modules." + several
        )
