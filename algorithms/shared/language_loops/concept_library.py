"""LaSR's library of concepts, and the questions that its operators ask.

Grayeli, Sehgal, Costilla-Reyes, Cranmer, Chaudhuri: NeurIPS 2024, arXiv:2409.09359.  Written after
the paper: trees are shown with ``C`` for every number, and what comes back is read, never run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from asking import SearchOver
from formula_graphs import ProgramError, number, variable
from formula_reading import formula_of
from replies import ReplyError, reply_text, text_list
from scaling import text
from trees import CONSTANT, FUNCTIONS, Node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from asking import Asker
    from formula_graphs import GraphNode

    from mdbench.worker import Reply

__all__ = ["ConceptLibrary", "as_tree", "masked"]

_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_SIGNS = {name: sign for sign, name in _OPERATORS.items()} | {"square": "**2", "cube": "**3"}
_LARGEST_POWER = 8
_SHOWN = 5
"""Good and bad expressions from which hypotheses are made."""
_REMEMBERED = 2
"""Hypotheses of a call that are kept."""
_LONGEST_CONCEPT = 300
_Thing = TypeVar("_Thing")


def masked(tree: Node, names: Sequence[str]) -> str:
    """Write a tree with ``C`` for every number."""
    return text(_without_numbers(tree, len(names)), [*names, "C"])


def _without_numbers(tree: Node, column: int) -> Node:
    if tree.name == CONSTANT:
        return Node.variable(column)
    if not tree.constants:
        return tree
    return Node(tree.name, tuple(_without_numbers(child, column) for child in tree.children))


def as_tree(expression: str, names: Sequence[str], functions: Sequence[str]) -> Node:
    """Read what a model writes; ``C`` is 1.

    Parameters
    ----------
    names
        Names of the columns.
    functions
        Of `trees.FUNCTIONS`: those that a tree may have.

    Raises
    ------
    ProgramError
        If it is no expression of these.
    """
    known = {name: variable(column) for column, name in enumerate(names)}
    return _tree(formula_of(expression, known | {"C": number(1.0)}), functions)


def _tree(node: GraphNode, functions: Sequence[str]) -> Node:
    if node.name == "number":
        return Node.constant(node.value)
    if node.name == "variable":
        return Node.variable(int(node.value))
    if node.name == "**":
        return _power(node, functions)
    parts = tuple(_tree(part, functions) for part in node.parts)
    if node.name == "neg":
        if parts[0].name == CONSTANT:
            return Node.constant(-parts[0].own)
        return _made("mul", (Node.constant(-1.0), *parts), functions)
    return _made(_OPERATORS.get(node.name, node.name), parts, functions)


def _made(name: str, parts: tuple[Node, ...], functions: Sequence[str]) -> Node:
    if name not in functions or FUNCTIONS[name].arity != len(parts):
        raise ProgramError(f"there is no {name} in this search")
    return Node(name, parts)


def _power(node: GraphNode, functions: Sequence[str]) -> Node:
    base = _tree(node.parts[0], functions)
    exponent = node.parts[1]
    sign = -1.0 if exponent.name == "neg" else 1.0
    if exponent.name == "neg":
        exponent = exponent.parts[0]
    if exponent.name != "number":
        raise ProgramError("an exponent is no number")
    value = sign * exponent.value
    size = abs(value)
    if size == 0.5:  # noqa: PLR2004
        found = _made("sqrt", (base,), functions)
    elif not size.is_integer() or not 0 < size <= _LARGEST_POWER:
        raise ProgramError(f"the exponent {value:g} is not one of 1/2, 1, ..., {_LARGEST_POWER}")
    elif size == 2 and "square" in functions:  # noqa: PLR2004
        found = Node("square", (base,))
    elif size == 3 and "cube" in functions:  # noqa: PLR2004
        found = Node("cube", (base,))
    else:
        found = base
        for _ in range(int(size) - 1):
            found = _made("mul", (found, base), functions)
    return found if value > 0 else _made("div", (Node.constant(1.0), found), functions)


class ConceptLibrary:
    """Concepts that a search has learned, in words, and the model asked for trees and for words.

    Parameters
    ----------
    asker
        Asks, and counts.
    situation
        The problem, as the bench describes it.
    names
        Names of the columns.
    functions
        That a tree may have.
    random
        Generator of all draws, used for nothing else.
    expressions
        Asked for at a time.
    context
        Concepts in a question.
    most
        Concepts that questions draw from: the first ones.
    temperature
        Temperature of sampling.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        situation: str,
        names: Sequence[str],
        functions: Sequence[str],
        random: Random,
        expressions: int,
        context: int,
        most: int,
        temperature: float,
    ) -> None:
        self.concepts: list[str] = []
        self.asker = asker
        self._situation = situation
        self._names, self._functions = list(names), list(functions)
        self._random = random
        self._expressions, self._context, self._most = expressions, context, most
        self._temperature = temperature
        self._reply: Reply | None = None

    def tree(self, request: str, shown: Sequence[Node]) -> Node | None:
        """Ask for expressions, and draw one of those that can be read; None if none can."""
        ideas = self._random.sample(
            self.concepts[: self._most], min(self._context, len(self.concepts[: self._most]))
        )
        parts = [self._situation]
        if ideas:
            parts.append("What may help:\n" + "\n".join(f"- {idea}" for idea in ideas))
        if shown:
            parts.append(
                "Expressions:\n" + "\n".join(f"- {masked(tree, self._names)}" for tree in shown)
            )
        parts.append(
            f"{request} Write {self._expressions} of them, each with a few words on why, and end "
            "with all of them as one JSON list of texts."
        )
        signs = [_SIGNS.get(name, name) for name in self._functions]
        system = (
            "You propose expressions to a search for a formula. Only the variables may be used, "
            f"brackets, and {' '.join(signs)}. Write C for every number; its value is found "
            "afterwards."
        )
        found = []
        texts = self._asked(system, "\n\n".join(parts))
        for expression in texts:
            try:
                found.append(as_tree(expression, self._names, self._functions))
            except ProgramError as error:
                self.asker.note(error)
        if texts and self._reply is not None:
            said = f"{len(found)} of {len(texts)} expressions can be read"
            self.asker.report(self._reply, said)
        return self._random.choice(found) if found else None

    def learn(self, good: Sequence[Node], bad: Sequence[Node]) -> None:
        """Ask what separates good expressions from bad ones; keep some, and merge older ideas.

        Parameters
        ----------
        good, bad
            To be drawn from.
        """
        lines = ["These fit well:"]
        lines += [f"- {masked(tree, self._names)}" for tree in self._some(good)]
        lines += ["", "These fit badly:"]
        lines += [f"- {masked(tree, self._names)}" for tree in self._some(bad)]
        request = (
            f"{self._situation}\n\n" + "\n".join(lines) + f"\n\nGive {self._expressions} short "
            "statements on what the good ones have in common and the bad ones lack, and end with "
            "them as one JSON list of texts."
        )
        system = "You read the course of a search for a formula, and say what it has shown."
        statements = self._asked(system, request)
        self.concepts += self._random.sample(statements, min(_REMEMBERED, len(statements)))
        beyond = self.concepts[self._most :]
        if not beyond or self.asker.over:
            return
        ideas = self._some(beyond)
        request = (
            "Earlier statements:\n" + "\n".join(f"- {idea}" for idea in ideas) + "\n\nMake of them "
            f"{self._expressions} statements that say more or hold more widely, and end with "
            "them as one JSON list of texts."
        )
        merged = self._asked(system, request)
        if merged:
            self.concepts.insert(0, self._random.choice(merged))

    def _some(self, things: Sequence[_Thing]) -> list[_Thing]:
        return self._random.sample(list(things), min(_SHOWN, len(things)))

    def _asked(self, system: str, request: str) -> list[str]:
        """Ask for a list of texts; return none if the reply has none, or the budget is used up."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": request}]
        try:
            replies = self.asker.ask(messages, temperature=self._temperature)
            self._reply = replies[0] if replies else None
            return [
                each[:_LONGEST_CONCEPT]
                for reply in replies[:1]
                for each in text_list(reply_text(reply))
            ]
        except SearchOver:
            return []
        except ReplyError as error:
            self.asker.note(error, self._reply)
            return []
