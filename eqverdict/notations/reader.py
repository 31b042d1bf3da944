"""The reader of the notations of `eqverdict.notations`, but for LaTeX."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from eqverdict.errors import AmbiguousError, EquationError, counted
from eqverdict.grammar import POWERS, quoted, read
from eqverdict.notations.conditions import ONE, ZERO, ConditionReader
from eqverdict.notations.derivatives import ALONG, derivative, is_along
from eqverdict.notations.functions import (
    AMBIGUOUS,
    AT_ZERO,
    BRANCHES,
    CAPITALS,
    CHAINS,
    FOLDED,
    NUMBERS,
    RELATIONS,
    SUFFIX,
    TEMPLATES,
    WORDS,
    filled,
    template,
)
from eqverdict.tree import (
    ALIASES,
    CONSTANTS,
    FUNCTIONS,
    Call,
    Chain,
    Negation,
    Node,
    Number,
    Power,
    Variable,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Collection

_NO_BOUND = Number(None, "None")
"""The bound of ``np.clip(x, 0, None)`` that is none."""


class NotationReader(ConditionReader):
    """Reads what `grammar.Reader` does, and the notations of this module.

    Trees are made without the values of their constant parts: they are printed, and read again.
    """

    pattern = re.compile(
        r"""(?P<space>[ \t\r\n]*)(?:
            (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
          | (?:(?:np|numpy|math|sympy|sp|jnp|torch)\.(?=[A-Za-z]))?
            (?P<name>[A-Za-z_][A-Za-z_0-9]*(?:_?\{\w+\})?)
          | (?P<symbol>\*\*|//|\.\^|\.\*|\./|\.\+|\.-|<=|>=|==|!=|&&|[-+*/^(),|<>&!~?:\[\]])
          | (?P<end>\Z)
          | (?P<other>.)
        )""",
        re.VERBOSE | re.DOTALL,
    )

    def __init__(self, text: str, variables: Collection[str] | None) -> None:
        super().__init__(text, variables or ())
        self.any_name = variables is None
        self.bars = 0
        """Open bars of sizes: the next bar closes one."""
        self.end = 0
        """Where the last token that was taken ends."""

    def advance(self) -> None:
        """Go on to the next token; of elementwise operators the dot does not count."""
        super().advance()
        if self.symbol in {".^", ".*", "./", ".+", ".-"}:
            self.symbol = self.symbol[1:]

    def take(self) -> str:
        """Go on to the next token, and return the text of the one left behind."""
        symbol, self.end = self.symbol, self.next.end()
        taken = super().take()
        return symbol or taken

    def settled(self, node: Node, *parts: Node) -> Node:  # noqa: ARG002 - as the base has it
        """Return the node: what is constant is worked out when the result is read."""
        return node

    def read(self) -> Node:
        """Read the whole text."""
        tree = self.value()
        if self.next.lastgroup != "end":
            raise self.error("expected an operator or the end, and found")
        if id(tree) in self.equalities:
            raise AmbiguousError(
                f"{quoted(self.text)} can be an equation and a comparison",
                "Write the right-hand side alone, or a name = before it.",
            )
        self.refuse_large(tree)
        return tree

    # Comparisons, from the loosest to the tightest.

    def value(self) -> Node:
        """Read a sum, a comparison, or a choice: ``c ? a : b``, ``a if c else b``."""
        first = self.either()
        if self.symbol == "?":
            self.take()
            then = self.value()
            self.expect(":")
            return self.branches([(then, first), (self.value(), None)])
        if self.word == "if":
            self.take()
            condition = self.either()
            if self.word != "else":
                raise self.error("expected 'else', and found")
            self.take()
            return self.branches([(first, condition), (self.value(), None)])
        return first

    @property
    def word(self) -> str | None:
        """The name that comes next, if it is a word of Python's for conditions."""
        name = self.next["name"]
        return name if name in WORDS and name not in self.variables else None

    def either(self) -> Node:
        """Read conditions with "or" between them."""
        condition = self.both()
        while self.word == "or" or (self.symbol == "|" and not self.bars):
            if self.take() == "|" and self.symbol == "|":
                self.take()
            condition = self.truth(
                self.call_of("max", self.as_truth(condition), self.as_truth(self.both()))
            )
        return condition

    def both(self) -> Node:
        """Read conditions with "and" between them."""
        condition = self.negated()
        while self.symbol in {"&", "&&"} or self.word == "and":
            self.take()
            condition = self.truth(
                self.product_of(self.as_truth(condition), self.as_truth(self.negated()))
            )
        return condition

    def negated(self) -> Node:
        """Read a condition with "not" before it, or without."""
        if self.symbol in {"!", "~"} or self.word == "not":
            self.take()
            return self.opposite(self.as_truth(self.negated()))
        return self.comparison()

    def comparison(self) -> Node:
        """Read a sum, or sums with signs of comparison between them."""
        first = self.sum()
        condition: Node | None = None
        while self.symbol in {"<", ">", "<=", ">=", "==", "!="}:  # 0 < x < 1, too
            relation = self.take()
            second = self.sum()
            one = self.compared(relation, first, second)
            condition = one if condition is None else self.truth(self.product_of(condition, one))
            first = second
        return first if condition is None else condition

    # Products without a sign.

    def product(self) -> Node:
        """Read factors with *, / or nothing between them."""
        start = self.next.start(str(self.next.lastgroup))
        first = last = self.factor()
        factors: list[tuple[str, Node]] = []
        while True:
            if self.symbol == "//":
                above = Chain(None, first, tuple(factors)) if factors else first
                first, factors = self.floored(above), []
                if self.begins_factor():
                    self.refuse_ambiguous_product(start, first, [("/", first)])
                continue
            if self.symbol in {"*", "/"}:
                operator = self.take()
                start = self.next.start(str(self.next.lastgroup))
                last = self.factor()
            elif self.begins_factor():
                self.refuse_ambiguous_product(start, last, factors)
                operator, start = "*", self.next.start(str(self.next.lastgroup))
                last = self.power()
            else:
                break
            factors.append((operator, last))
        if not factors:
            return first
        self.count(len(factors))
        return Chain(None, first, tuple(factors))

    def floored(self, above: Node) -> Node:
        """Read what follows ``//``, Python's sign of whole division."""
        self.take()
        below = self.factor()
        self.count(2)
        if not any(isinstance(part, Variable) for node in (above, below) for part in parts(node)):
            raise AmbiguousError(
                f"// between numbers in {quoted(self.text)} is a whole division in Python, and a "
                "fraction in Julia",
                "Write 1/2 for the fraction, or its whole part as a number.",
            )
        return Call(None, "floor", (Chain(None, above, (("/", below),)),))

    def begins_factor(self) -> bool:
        """Whether a factor comes next, without a sign before it."""
        if self.symbol == "|":
            return not self.bars and self.text[: self.end][-1:].isdigit()
        return self.symbol == "(" or (
            self.next.lastgroup in {"number", "name"} and self.word not in WORDS
        )

    def refuse_ambiguous_product(
        self, start: int, factor: Node, before: list[tuple[str, Node]]
    ) -> None:
        """Raise an error where two factors side by side could be something else than a product."""
        while isinstance(factor, Negation):
            factor = factor.operand
        spaced = self.next.start(str(self.next.lastgroup)) > self.end
        if before and before[-1][0] == "/":
            raise AmbiguousError(
                f"{quoted(self.text)} can be read in two ways, as (1/2)*x and 1/(2*x) are",
                "Write the product with *, and brackets around what is divided by.",
            )
        if isinstance(factor, Power) and not self.closed:
            whole = isinstance(factor.exponent, Number | Negation)
            if not (whole and spaced) and not (whole and self.text[self.end - 1].isalpha()):
                raise AmbiguousError(
                    f"the exponent in {quoted(self.text, start)} can end in two places",
                    "Write the product with *.",
                )
        if isinstance(factor, Number):
            self.refuse_suffix(factor, start, spaced=spaced)
        elif self.next.lastgroup == "number":
            raise self.error("expected an operator, and found")
        if isinstance(factor, Variable) and self.symbol == "(":
            raise AmbiguousError(
                f"{factor.name}(...) at {self.place(start)} can be a product and a function",
                f"Write {factor.name}*(...).",
            )

    def refuse_suffix(self, number: Number, start: int, *, spaced: bool) -> None:
        """Raise an error where what is behind a number could be a part of it."""
        if self.next.lastgroup == "number":
            # PySINDy writes a constant term as 1.5 1
            if not (spaced and self.next["number"] == "1"):
                raise self.error("expected an operator, and found")
        elif not spaced and (name := self.next["name"]):
            euler = re.match(r"e\s*(\^|\*\*)", self.text[self.next.start("name") :])
            unknown = name not in self.variables and not euler
            if number.text == "0" or (unknown and SUFFIX.fullmatch(name)):
                raise AmbiguousError(
                    f"{quoted(self.text, start)} can be a number with a suffix and a product",
                    "Write the number alone, or the product with *.",
                )

    @property
    def closed(self) -> bool:
        """Whether what was taken last is a closing bracket."""
        return self.text[: self.end][-1:] in {")", "]"}

    def power(self) -> Node:
        """Read an atom with an exponent, or without."""
        base = self.atom()
        if self.symbol not in {"**", "^"}:
            return base
        self.take()
        exponent = self.factor()
        if isinstance(base, Variable) and base.name == "e" and "e" not in self.variables:
            return Call(None, "exp", (exponent,))
        self.count()
        return Power(None, base, exponent)

    # Atoms.

    def atom(self) -> Node:
        """Read a number, a name, a call, a size or what is in brackets."""
        if self.symbol == "|":
            return self.size()
        if self.next.lastgroup != "name":
            return self.bracket() if self.symbol in {"(", "["} else super().atom()
        start = self.next.start("name")
        name = self.take()
        function = self.is_function(name) and name not in self.variables
        if self.symbol == "(" or (self.symbol == "[" and function):
            return self.call(name, start)
        if not function or self.symbol not in {"**", "^", "|"}:
            return self.named(name, start)
        if self.symbol == "|":  # ln|x|
            return self.applied(CAPITALS.get(name, name), [self.size()], start)
        return self.raised_call(name, start)

    def raised_call(self, name: str, start: int) -> Node:
        """Read ``sin^2(x)``."""
        self.take()
        exponent = self.bracket() if self.symbol == "(" else self.factor()
        if not (
            isinstance(exponent, Number) and exponent.text.isdigit() and int(exponent.text) > 1
        ):
            raise AmbiguousError(
                f"{name} with an exponent at {self.place(start)} can be a power and an inverse",
                f"Write ({name}(x))**(-1), or the name of the inverse function.",
            )
        if self.symbol != "(":
            raise self.error("expected '(', and found")
        self.count()
        return Power(None, self.call(name, start), exponent)

    def bracket(self) -> Node:
        """Read what is in brackets; it may be a comparison."""
        closing = {"(": ")", "[": "]"}[self.take()]
        bars, self.bars = self.bars, 0
        node = self.value()
        self.expect(closing)
        self.bars = bars
        along = (self.next["name"] or "").strip("_{}")
        behind = self.text[self.end : self.end + 1] == "_"
        if behind and closing == ")" and is_along(along):
            self.take()
            variables = None if self.any_name else self.variables
            for letter in along:
                node = derivative(node, letter, variables)
        return node

    def size(self) -> Node:
        """Read what is between bars."""
        self.take()
        self.bars += 1
        inner = self.value()
        self.bars -= 1
        self.expect("|")
        self.count()
        return Call(None, "abs", (inner,))

    def named(self, name: str, start: int) -> Node:
        """Return the variable or the constant of a name."""
        name = self.in_usual_order(self.resolved(name))
        if name in {"True", "False", "true", "false"} and name not in self.variables:
            self.count()
            return self.truth(ONE if name.lower() == "true" else ZERO)
        if name not in self.variables and name in NUMBERS:
            name = NUMBERS[name]
        if name == "e" and self.text[start - 1 : start] == ".":  # np.e
            name = "E"
        if (self.any_name or name == "e") and name not in {*CONSTANTS, *FUNCTIONS, *POWERS}:
            if (
                name == "e"
                and not self.any_name
                and "e" not in self.variables
                and self.symbol not in {"**", "^"}
            ):
                return super().named(name, start)
            self.count()
            return Variable(None, name)
        return super().named(name, start)

    def in_usual_order(self, name: str) -> str:
        """Return ``u_xy`` for ``u_yx`` where the problem has the field u and that derivative."""
        head, _, along = name.rpartition("_")
        other = f"{head}_{''.join(sorted(along, key=ALONG.index))}" if is_along(along) else name
        known = other in self.variables and head in self.variables
        return other if known and name not in self.variables else name

    def resolved(self, name: str) -> str:
        """Return the name that ``x_{0}`` stands for."""
        head, brace, below = name.partition("{")
        if not brace:
            return name
        head, below = head.rstrip("_"), below.rstrip("}")
        names = [f"{head}{below}", f"{head}_{below}"]
        known = [each for each in names if each in self.variables]
        if len(known) > 1:
            raise AmbiguousError(
                f"{head}_{{{below}}} can be {names[0]} and {names[1]}", "Write the name itself."
            )
        return known[0] if known else names[0 if below.isdigit() else 1]

    def call(self, name: str, start: int) -> Node:
        """Read the arguments of a function, or the time of a state."""
        name = self.resolved(name)
        if name in self.variables or (self.any_name and not self.is_function(name)):
            return self.of_time(name, start)
        if name == "Log" and self.symbol == "[":  # Mathematica's
            name = "log"
        if name in AMBIGUOUS:
            raise AmbiguousError(
                f"the function {name} has more than one meaning", f"Write {AMBIGUOUS[name]}."
            )
        name = CAPITALS.get(name, name)
        return self.applied(name, self.arguments(name), start)

    def is_function(self, name: str) -> bool:
        """Whether a name is that of a function."""
        tables: tuple[Collection[str], ...] = (
            FUNCTIONS, POWERS, TEMPLATES, CHAINS, FOLDED, RELATIONS, BRANCHES, CAPITALS, AMBIGUOUS,
            {"And", "Or", "Not", "Piecewise", "clip", "cond", "heaviside"},
        )  # fmt: skip
        return any(name in table for table in tables)

    def of_time(self, name: str, start: int) -> Node:
        """Read ``x(t)`` as the state x."""
        self.take()
        if self.next["name"] != "t":
            if self.any_name and name not in self.variables:
                return super().call(name, start)
            raise AmbiguousError(
                f"{name}(...) at {self.place(start)} can be a product and a function",
                f"Write {name}*(...).",
            )
        self.take()
        self.expect(")")
        self.count()
        return Variable(None, name)

    def arguments(self, name: str) -> list[Node]:
        """Read arguments in round brackets, or in square ones as Mathematica has."""
        if name == "Piecewise":
            return self.pairs()
        opening = self.take()
        bars, self.bars = self.bars, 0
        values = [self.value()]
        while self.symbol == ",":
            self.take()
            if name == "clip" and self.next["name"] == "None":
                self.take()
                values.append(_NO_BOUND)
            else:
                values.append(self.value())
        self.expect({"(": ")", "[": "]"}[opening])
        self.bars = bars
        return values

    def pairs(self) -> list[Node]:
        """Read the pairs of ``Piecewise((a, x > 0), (b, True))``: values and conditions in turn."""
        self.take()
        nodes: list[Node] = []
        while True:
            opening = self.symbol
            if opening != "(":
                raise self.error("expected a pair of a value and a condition, and found")
            self.take()
            nodes.append(self.value())
            self.expect(",")
            nodes.append(self.value())
            self.expect(")")
            if self.symbol != ",":
                break
            self.take()
        self.expect(")")
        return nodes

    def applied(self, name: str, arguments: list[Node], start: int) -> Node:
        """Return a function of its arguments."""
        self.count()
        if name in {*BRANCHES, "Piecewise", "cond"}:
            return self.chosen(name, arguments)
        if name in RELATIONS or name in {"And", "Or", "Not"}:
            return self.condition(name, arguments)
        if name == "clip":
            self.expect_arguments(name, arguments, 3)
            x, low, high = arguments
            x = x if low is _NO_BOUND else self.call_of("max", x, low)
            return x if high is _NO_BOUND else self.call_of("min", x, high)
        if len(arguments) > 1 and name in FOLDED:
            return reduce(lambda one, other: self.call_of(FOLDED[name], one, other), arguments)
        if len(arguments) > 1 and name in CHAINS:
            return Chain(None, arguments[0], tuple((CHAINS[name], each) for each in arguments[1:]))
        return self.usual(name, arguments, start)

    def chosen(self, name: str, arguments: list[Node]) -> Node:
        """Return the value of a function that chooses among its arguments."""
        if name == "cond":  # PySR's: y where x is positive, 0 elsewhere
            self.expect_arguments(name, arguments, 2)
            holds = self.compared(">", arguments[0], ZERO)
            return self.branches([(arguments[1], holds), (ZERO, None)])
        if name in BRANCHES:
            self.expect_arguments(name, arguments, 3)
            return self.branches([(arguments[1], arguments[0]), (arguments[2], None)])
        cases: list[tuple[Node, Node | None]] = []
        for branch, condition in zip(arguments[::2], arguments[1::2], strict=True):
            always = condition is ONE
            cases.append((branch, None if always else condition))
            if always:
                break
        return self.branches(cases)

    def condition(self, name: str, arguments: list[Node]) -> Node:
        """Return a condition that is written as a function."""
        if name in RELATIONS:
            self.expect_arguments(name, arguments, 2)
            return self.compared(RELATIONS[name], *arguments)
        truths = [self.as_truth(each) for each in arguments]
        if name == "And":
            return self.truth(self.product_of(*truths))
        if name == "Or":
            return self.truth(reduce(lambda one, other: self.call_of("max", one, other), truths))
        self.expect_arguments(name, arguments, 1)
        return self.opposite(truths[0])

    def usual(self, name: str, arguments: list[Node], start: int) -> Node:
        """Return a function of one or two arguments."""
        if name in {"log", "ln"} and len(arguments) == 2:  # noqa: PLR2004
            raise AmbiguousError(
                "log of two arguments takes the base first in some languages and last in others",
                "Write log(x)/log(b).",
            )
        if name in POWERS:
            self.expect_arguments(name, arguments, 1)
            return Power(None, arguments[0], Number(None, POWERS[name]))
        if name in {"heaviside", "Heaviside"}:
            return self.step(name, arguments)
        if name in FUNCTIONS:
            self.expect_arguments(name, arguments, FUNCTIONS[name].arity)
            return Call(None, ALIASES.get(name, name), tuple(arguments))
        if name in TEMPLATES:
            tree, arity = template(name)
            self.expect_arguments(name, arguments, arity)
            return filled(tree, dict(zip("xy", arguments, strict=False)))
        return super().call(name, start)

    def step(self, name: str, arguments: list[Node]) -> Node:
        """Return Heaviside's function, whose value at 0 is the second argument."""
        if name == "Heaviside" and len(arguments) == 1:
            arguments = [*arguments, Number(None, "0.5")]  # SymPy's
        elif len(arguments) == 1:
            raise AmbiguousError(
                f"the function {name} has more than one value at 0",
                "Write heaviside(x, 0), heaviside(x, 0.5) or heaviside(x, 1).",
            )
        self.expect_arguments(name, arguments, 2)
        x, at_zero = arguments
        number = at_zero.text if isinstance(at_zero, Number) else ""
        number = f"{float(number):g}" if number and number not in CONSTANTS else ""
        if number in AT_ZERO:
            return filled(read(AT_ZERO[number], ("x",)), {"x": x})
        tree = read("max(sign(x), 0) + y*(1 - abs(sign(x)))", ("x", "y"))
        return filled(tree, {"x": x, "y": at_zero})

    def expect_arguments(self, name: str, arguments: list[Node], count: int) -> None:
        """Refuse another number of arguments."""
        if len(arguments) != count:
            raise EquationError(
                f"{name} is given {counted(len(arguments), 'argument')} in {quoted(self.text)}",
                f"It takes {count}.",
            )
