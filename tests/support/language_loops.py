"""The loops that ask a language model, with a model here that knows a law now and then."""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from torch_methods import folders, modules, specification

from mdbench.worker import Problem, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOOPS = ("direct", "llmsr", "openevolve", "sga", "lasr")
QUICK = {"starts": 2, "iterations": 25}
SMALL: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("direct", "llmsr", "openevolve"), QUICK),
    "lasr": {"population_size": 60, "generations": 60, "probability": 0.06, "iteration": 10},
    "sga": {**QUICK, "steps": 20},
}
"""What is smaller in tests than in method.toml."""

FORMULA = "a*sin(b*x0*x1)/(c + x2**2) + d*x0*exp(-x2*x1)"
"""The law of `table`, which random draws do not find."""
_PARTS = {
    "code": FORMULA.replace("sin", "np.sin").replace("exp", "np.exp"),
    "class": FORMULA.replace("sin", "torch.sin").replace("exp", "torch.exp"),
    "list": FORMULA,
}


def put_in(text: str, constant: Callable[[int], str]) -> str:
    """Write something for a, b, c and d."""
    for place, letter in enumerate("abcd"):
        text = text.replace(f"{letter}*", f"{constant(place)}*").replace(
            f"({letter} ", f"({constant(place)} "
        )
    return text


def code(body: str, names: str = "x0, x1, x2") -> str:
    """Write a reply with a function."""
    head = f"Here it is.\n```python\nimport numpy as np\n\ndef equation({names}, params):\n"
    return f"{head}    return {body}\n```\n"


def law_class(body: str, parameters: int, names: str = "x0, x1, x2") -> str:
    """Write a reply with a class."""
    sets = "".join(
        f"        self.p{place} = nn.Parameter(torch.tensor(1.0))\n" for place in range(parameters)
    )
    return (
        "### Analysis\nNone.\n\n### Plan\nA product.\n\n### Code\n"
        "```python\nclass Law(nn.Module):\n"
        f"    def __init__(self):\n        super().__init__()\n{sets}\n"
        f"    def forward(self, {names}):\n        return {body}\n```\n"
    )


def good(name: str) -> str:
    """Return the reply that holds the law, in the form of the loop."""
    kind = kind_of(name)
    if kind == "code":
        return code(put_in(_PARTS[kind], lambda place: f"params[{place}]"))
    if kind == "class":
        return law_class(put_in(_PARTS[kind], lambda place: f"self.p{place}"), 4)
    return "I think of these: " + json.dumps([put_in(_PARTS[kind], lambda _place: "C")] * 5)


def other(name: str, draw: float) -> str:
    """Return a reply that can be used, and is not the law."""
    power, function = 1 + int(draw * 1e6) % 4, ("sin", "cos", "exp")[int(draw * 1e9) % 3]
    kind = kind_of(name)
    if kind == "code":
        return code(f"params[0] * np.{function}(x1) * x2 ** {power} + params[1]")
    if kind == "class":
        return law_class(f"self.p0 * torch.{function}(x1) * x2 ** {power} + self.p1", 2)
    return json.dumps([f"C*{function}(x1)*x2**{power}", "x0*x1"])


def kind_of(name: str) -> str:
    return {"sga": "class", "lasr": "list"}.get(name.removesuffix("_nollm"), "code")


class KnowingModel:
    """Knows the law with a probability; what it says follows from the request alone."""

    def __init__(self, name: str, *, probability: float, seed: int = 0) -> None:
        self.name, self.probability, self.seed = name, probability, seed
        self.requests: list[dict[str, Any]] = []
        self.calls = 0

    def say(self, draw: float) -> Reply:
        text = good(self.name) if draw < self.probability else other(self.name, draw)
        return Reply(text, "stop", 10, 10)

    def chat(self, messages: Any, n: int = 1, **settings: Any) -> list[Reply]:
        self.requests.append({"messages": messages, "n": n, **settings})
        replies = []
        for number in range(n):
            request = json.dumps([messages, settings, number, self.seed], sort_keys=True)
            draw = int.from_bytes(hashlib.sha256(request.encode()).digest()[:6]) / 2**48
            self.calls += 1
            replies.append(self.say(draw))
        return replies


@contextmanager
def loop(name: str, model: Any = None, **changes: Any) -> Iterator[Any]:
    """Yield a method's adapter, which asks this model."""
    with modules(*folders(name)) as imported:
        adapter = imported("adapter")
        for module in ("program_loops", "library_evolution"):
            if module in sys.modules:
                sys.modules[module].__dict__["language_model"] = lambda: model
        given = specification(name)["hyperparameters"] | SMALL.get(name.removesuffix("_nollm"), {})
        yield adapter.Adapter(**{"seed": 0, "threads": 1, "samples": 300, **given, **changes})


def table(rows: int = 50, **more: Any) -> Problem:
    """Return rows of the law."""
    X = np.random.default_rng(5).uniform(0.5, 3, (rows, 3))
    a, b, c = X.T
    y = 1.7 * np.sin(1.2 * a * b) / (0.6 + c**2) + 0.8 * a * np.exp(-c * b)
    return Problem("table", ("x0", "x1", "x2"), ("y",), {"X": X, "Y": y[:, None]}, **more)


def error(adapter: Any, problem: Problem) -> float:
    """Return the least error of a candidate for the target that is explained worst."""
    least = []
    for target in range(len(problem.targets)):
        y = problem.Y[:, target]
        offs = [
            each.predictions.reshape(-1) - y
            for each in adapter.candidates()
            if each.target in {None, target}
        ]
        least.append(min(float(np.mean(off**2)) for off in offs) / float(y.var()))
    return max(least)
