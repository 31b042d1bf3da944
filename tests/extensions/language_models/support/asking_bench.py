"""A method that asks a language model as long as it may, and runs of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import isolated
from harness import Quiet, execute

from mdbench.extensions.language_models.availability import CircuitBreaker
from mdbench.runs.plan import make_plan
from mdbench.runs.study import RunOptions

if TYPE_CHECKING:
    from model_server import Stub

    from mdbench.extensions.language_models.connection import LlmConnection
    from mdbench.records import Record
    from mdbench.runs.plan import Plan

ACCESS = "[access]\nllm = true"

ASKER = '''
import json, os, re
import numpy as np
from mdbench.worker import BudgetSpent, Candidate, LanguageModelError, language_model


class Adapter:
    """Asks until it may not, and keeps the best of the replies."""

    def __init__(self, *, seed, threads, n=4):
        self.seed, self.n = seed, n

    def fit(self, problem):
        llm = language_model()
        self.problem, self.found, asked, lost = problem, [], 0, 0
        prompt = f"Variables: {', '.join(problem.variables)}. {problem.description or ''}"
        while True:
            try:
                said = [{"role": "user", "content": f"{prompt} {asked}"}]
                replies = llm.chat(said, n=self.n, seed=self.seed)
            except BudgetSpent:
                break
            except LanguageModelError as error:
                print("lost:", error)
                lost += 1
                if lost == 5:
                    raise
                continue
            asked += len(replies)
            for reply in replies:
                if match := re.search(r"```\\n(.+?)\\n```", reply.text):
                    self.found.append((match[1], asked))
        print("asked", asked)
        self.found = self.found or [("0", asked)]

    def candidates(self):
        for text, asked in self.found:
            equations = (text,) * len(self.problem.targets)
            yield Candidate(equations, hyperparameters={"calls": asked})

    def choose(self, indices):
        self.chosen = self.found[indices[0]][0]

    def equations(self):
        return [self.chosen] * len(self.problem.targets)

    def predict(self, problem):
        names = {name: problem.X[:, i] for i, name in enumerate(problem.variables)}
        names |= {"sin": np.sin, "cos": np.cos, "exp": np.exp}
        value = eval(self.chosen, {"__builtins__": {}}, names) + np.zeros(len(problem.X))
        return np.stack([value] * len(problem.targets), axis=-1)
'''


def asking(*given: Any, **options: Any) -> RunOptions:
    """Return options of a run, those of language models among them."""
    return RunOptions(*given, **options)


def with_model(plan: Plan, **changes: Any) -> Plan:
    """Return a plan whose connection to a language model, if it has one, is changed."""
    connections = {
        name: replace(cast("LlmConnection", connection), **changes)
        for name, connection in plan.connections.items()
    }
    return replace(plan, connections=connections)


class Bench(isolated.Bench):
    def add(self, text: str = "", more: str = ACCESS, name: str = "nasty") -> None:
        super().add(text, more, name)

    def ask(
        self, stub: Stub | None, folder: str = "results", *, patience: float = 0.02, **changes: Any
    ) -> list[Record]:
        options = asking(
            algorithms=("nasty",),
            data_type="ode",
            datasets=("harmonic-oscillator",),
            result_dir=self.workspace.root / folder,
            n_jobs=1,
            timeout_s=60.0,
            llm_model="asked",
            llm_url=None if stub is None else stub.url,
            llm_calls=20,
        )
        plan = make_plan(replace(options, **changes), self.workspace)
        plan = with_model(plan, breaker=CircuitBreaker(patience, 0.001))
        try:
            return list(execute(plan, self.runtime, Quiet()).records)
        finally:
            for connection in plan.connections.values():
                connection.close()

    def found(self, what: bytes) -> list[str]:
        """Name the files below the workspace in which something stands."""
        files = [path for path in self.workspace.root.rglob("*") if path.is_file()]
        return [str(path) for path in files if what in path.read_bytes()]
