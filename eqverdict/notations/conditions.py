"""Conditions and choices, made of the functions that an equation may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eqverdict.errors import AmbiguousError, EquationError
from eqverdict.grammar import MAX_NODES, Reader, quoted
from eqverdict.notations.functions import defined_everywhere, is_zero
from eqverdict.printers import PlainPrinter
from eqverdict.tree import Call, Chain, Node, Number, children

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ONE, ZERO = Number(None, "1"), Number(None, "0")


class ConditionReader(Reader):
    """A reader that knows which nodes are conditions: 1 where they hold, and 0 elsewhere."""

    def __init__(self, text: str, variables: Collection[str]) -> None:
        super().__init__(text, variables)
        self.truths: dict[int, Node] = {}
        """Nodes that are 0 or 1, as comparisons are."""
        self.equalities: set[int] = set()
        """Those that are 1 at single points only, or everywhere else."""
        self.sizes: dict[int, tuple[Node, int]] = {}
        """Nodes with the number of nodes that they have when they are written out."""

    def compared(self, relation: str, first: Node, second: Node) -> Node:
        """Return 1 where a comparison holds and 0 elsewhere, of the functions that there are."""
        if relation in {"<", "<="}:
            relation, first, second = relation.replace("<", ">"), second, first
        above = first if is_zero(second) else Chain(None, first, (("-", second),))
        sign = Call(None, "sign", (above,))
        match relation:
            case ">":
                return self.truth(self.call_of("max", sign, ZERO))
            case ">=":
                return self.truth(self.call_of("min", Chain(None, sign, (("+", ONE),)), ONE))
        size = self.truth(Call(None, "abs", (sign,)))
        found = size if relation == "!=" else self.opposite(size)
        self.equalities.add(id(found))
        return found

    def truth(self, node: Node) -> Node:
        """Note that a node is 0 or 1."""
        self.truths[id(node)] = node
        return node

    def as_truth(self, node: Node) -> Node:
        """Return a node that is 0 or 1."""
        if self.truths.get(id(node)) is not node:
            raise AmbiguousError(
                f"what is no comparison is used as one in {quoted(self.text)}", "Write x > 0."
            )
        return node

    def opposite(self, node: Node) -> Node:
        """Return 1 minus a condition."""
        return self.truth(Chain(None, ONE, (("-", node),)))

    def call_of(self, name: str, *arguments: Node) -> Node:
        """Return a call."""
        return Call(None, name, arguments)

    def product_of(self, *factors: Node) -> Node:
        """Return a product."""
        return Chain(None, factors[0], tuple(("*", factor) for factor in factors[1:]))

    def branches(self, cases: Sequence[tuple[Node, Node | None]]) -> Node:
        """Return a choice among values as a sum, each times 1 or 0.

        The sum equals the choice only where every value is finite: 0 times infinity is no number.
        """
        if cases[-1][1] is not None:
            raise EquationError(
                f"Piecewise has no value where none of its conditions holds: {quoted(self.text)}",
                "Give it a last branch with the condition True.",
            )
        self.refuse_large(*(node for case in cases for node in case if node is not None))
        for branch, _ in cases:
            if not defined_everywhere(branch):
                raise AmbiguousError(
                    f"the branch {quoted(PlainPrinter().print(branch))} has no value somewhere and "
                    "cannot be left out where another branch counts",
                    "Branches that are read have a value everywhere: they have no division by a "
                    "variable, and no root or logarithm of one.",
                )
        result = cases[-1][0]
        for branch, condition in reversed(cases[:-1]):
            holds = self.as_truth(condition) if condition is not None else ONE
            otherwise = Chain(None, ONE, (("-", holds),))
            terms = [self.product_of(holds, branch), self.product_of(otherwise, result)]
            if is_zero(result):
                result = terms[0]
            else:
                result = terms[1] if is_zero(branch) else Chain(None, terms[0], (("+", terms[1]),))
        return result

    def refuse_large(self, *nodes: Node) -> None:
        """Raise an error where a part that counts several times makes an equation too large."""
        if any(self.size_of(node) > MAX_NODES for node in nodes):
            raise EquationError(
                f"an equation of more than {MAX_NODES:,} nodes is too large, as each condition "
                f"counts twice: {quoted(self.text)}",
                "Write fewer choices within conditions.",
            )

    def size_of(self, node: Node) -> int:
        """Count the nodes of a tree, each part that is used twice as two."""
        if id(node) not in self.sizes:
            self.sizes[id(node)] = node, 1 + sum(map(self.size_of, children(node)))
        return self.sizes[id(node)][1]
