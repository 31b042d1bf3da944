r"""Equations in LaTeX, brought to the notation of `eqverdict.notations`.

Read is what SymPy, PySR and mdbench print, and what people write in the same manner:

- numbers, letters, Greek letters, ``x_{0}``, ``\mathrm{prey}``, ``\partial_{xx} u``, ``\pi``;
- ``+ - \cdot \times / \div``, products without a sign, ``^``, ``\frac``, ``\sqrt[3]{x}``, ``|x|``;
- functions with brackets, with a power (``\sin^{2}{\left(x \right)}``), or of one thing, as in
  ``\sin x``;
- ``\begin{cases}`` with comparisons.

A run of letters, such as ``xy``, is a product in LaTeX and a name elsewhere: it is read if it is a
variable, or if each of its letters is one, and refused otherwise.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from eqverdict.errors import AmbiguousError, EquationError
from eqverdict.notations.derivatives import is_along
from eqverdict.notations.typography import GREEK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_MAX_DEPTH = 64
_TOKEN = re.compile(
    r"(?P<command>\\(?:[A-Za-z]+\*?|.))|(?P<number>\d+\.?\d*|\.\d+)|(?P<letters>[A-Za-z]+)"
    r"|(?P<space>[ \t\r\n~]+)|(?P<other>.)",
    re.DOTALL,
)
_SPACES = frozenset(
    {"\\,", "\\;", "\\:", "\\!", "\\ ", "\\quad", "\\qquad", "\\displaystyle", "\\limits"}
)
_SIZES = frozenset(
    f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")
) | {"\\left", "\\right", "\\middle", "\\mleft", "\\mright"}
_TIMES = frozenset({"*", "\\cdot", "\\times", "\\ast"})
_WORDS = frozenset(
    f"\\{name}"
    for name in (
        "mathrm",
        "mathit",
        "mathbf",
        "mathsf",
        "mathtt",
        "text",
        "textrm",
        "textit",
        "texttt",
    )
)
_FUNCTIONS = {
    f"\\{name}": name
    for name in [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "exp",
        "ln",
        "max",
        "min",
    ]
} | {"\\arcsin": "asin", "\\arccos": "acos", "\\arctan": "atan"}
_RELATIONS = {
    "<": "<", ">": ">", "\\lt": "<", "\\gt": ">", "\\le": "<=", "\\leq": "<=", "\\leqslant": "<=",
    "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", "=": "==", "\\ne": "!=", "\\neq": "!=",
}  # fmt: skip
_JOINTS = {"\\wedge": "and", "\\land": "and", "\\vee": "or", "\\lor": "or"}
_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "\\{": "\\}",
    "|": "|",
    "\\lvert": "\\rvert",
    "\\vert": "\\vert",
}
_ONE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ALLOWED = "LaTeX that is read: see the page on the notations of equations."


def from_latex(text: str, variables: Collection[str] | None) -> str:
    r"""Return an equation in LaTeX as one that `notations` reads, with every product written out.

    Parameters
    ----------
    text
        The right-hand side, without dollar signs.
    variables
        The names it may use; None if any letter is one.

    Raises
    ------
    EquationError
        If it is no LaTeX that is read here, or could mean two things.

    Examples
    --------
    >>> from_latex(r"\frac{x_{0}}{2} + \sin^{2}{\left(x_{1} \right)}", None)
    '((x_{0})/(2)) + ((sin(x_{1}))**(2))'
    """
    return _Reader(text, variables).read()


class _Reader:
    """Recursive descent over LaTeX's tokens, each method returning text."""

    def __init__(self, text: str, variables: Collection[str] | None) -> None:
        self.text = text
        self.variables = variables
        tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
        dropped = _SPACES | _SIZES
        self.tokens = [match.group() for match in tokens if match.group() not in dropped]
        self.starts = [match.start() for match in tokens if match.group() not in dropped]
        self.place = 0
        self.depth = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        taken = self.next
        self.place += 1
        return taken

    def expect(self, token: str) -> None:
        if self.next != token:
            raise self.error(f"expected {token!r}, and found")
        self.place += 1

    def error(self, message: str) -> EquationError:
        if not self.next:
            return EquationError(f"{message} the end of LaTeX {self.text[-40:]!a}", _ALLOWED)
        start = self.starts[self.place]
        return EquationError(
            f"{message} {self.text[start : start + 40]!a} at position {start + 1}", _ALLOWED
        )

    def read(self) -> str:
        tree = self.sum()
        if self.next:
            raise self.error("expected an operator or the end, and found")
        return tree

    def sum(self) -> str:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise EquationError(
                f"LaTeX is nested deeper than {_MAX_DEPTH} brackets: {self.text[:40]!a}"
            )
        text = ""
        while self.next in {"+", "-"}:
            text += self.take()
        text += self.product()
        while self.next in {"+", "-"}:
            text += f" {self.take()} "
            while self.next in {"+", "-"}:
                text += self.take()
            text += self.product()
        self.depth -= 1
        return text

    def product(self) -> str:
        of_field = self.next == "\\partial"  # 2 behind a derivative is no part of a name
        factors = [self.factor()]
        operator = "*"
        while True:
            if self.next in _TIMES:
                self.take()
                operator = "*"
            elif self.next in {"/", "\\div"}:
                self.take()
                operator = "/"
            elif not self.begins_factor():
                break
            elif operator == "/":
                raise AmbiguousError(
                    "a product without a sign behind a division has two meanings: "
                    f"{self.text[:50]!a}",
                    "Write \\frac{}{}, or the product with \\cdot.",
                )
            elif (self.next[0].isdigit() or self.next[0] == ".") and not of_field:
                raise self.error("a number behind a factor needs \\cdot before it:")
            else:
                operator = "*"
            sign = ""
            while self.next in {"+", "-"}:
                sign += self.take()
            of_field = self.next == "\\partial"
            factors += [operator, f"({sign}{self.factor()})" if sign else self.factor()]
        return "".join(factors) if len(factors) == 1 else f"({''.join(factors)})"

    def begins_factor(self) -> bool:
        token = self.next
        if not token or token in {
            ")",
            "]",
            "}",
            "\\}",
            "|",
            "\\rvert",
            "\\vert",
            ",",
            "&",
            "\\\\",
            "\\end",
            ";",
        }:
            return token in {"|", "\\vert"} and not self.bars
        return token not in {*_RELATIONS, *_JOINTS, "+", "-", "^", "_"}

    bars = 0
    """Open bars: the next one closes."""

    def factor(self) -> str:
        of_field = self.next == "\\partial"
        base = self.atom()
        if of_field and self.next == "^":
            raise AmbiguousError(
                f"the power in {self.text[:50]!a} can be of a derivative and of what is derived",
                "Write brackets: \\left(\\partial_x u\\right)^2 or \\partial_x \\left(u^2\\right).",
            )
        while self.next == "^":
            self.take()
            base = f"(({base})**({self.group()}))"
        return base

    def group(self) -> str:
        """Read what stands above: braces, or one digit, letter or command."""
        if self.next == "{":
            return self.atom()
        token = self.next
        if token[:1].isdigit() and len(token) > 1:  # x^23 is x^2 3
            raise AmbiguousError(
                f"x^{token} is x^{{{token[0]}}} {token[1:]} in LaTeX", f"Write ^{{{token}}}."
            )
        if token[:1].isalpha() and len(token) > 1:
            raise AmbiguousError(
                f"x^{token} is x^{{{token[0]}}} {token[1:]} in LaTeX", f"Write ^{{{token}}}."
            )
        return self.atom()

    def atom(self) -> str:
        token = self.next
        if not token:
            raise self.error("expected a number, a name or a bracket, and found")
        if token[0].isdigit() or (token[0] == "." and len(token) > 1):
            return self.take()
        if token[0].isalpha():
            return self.letters()
        if token in {"(", "[", "{", "\\{"}:
            self.take()
            inner = self.sum()
            self.expect(_CLOSING[token])
            # {u_{0}}: braces that only keep together
            return inner if _SINGLE.fullmatch(inner) else f"({inner})"
        if token in {"|", "\\vert", "\\lvert"}:
            self.take()
            self.bars += 1
            inner = self.sum()
            self.bars -= 1
            self.expect(_CLOSING[token])
            return f"abs({inner})"
        return self.command()

    def command(self) -> str:
        """Read a function, a fraction, a root, a word, a Greek letter or cases."""
        command = self.next
        name = command[1:]
        if command in {"\\partial", "\\begin"}:
            return self.derivative() if name == "partial" else self.cases()
        readers: dict[str, Callable[[], str]] = {
            "\\log": self.logarithm,
            "\\sqrt": self.root,
            "\\pi": lambda: "pi",
            **dict.fromkeys(("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"), self.fraction),
            **{each: partial(self.called, function) for each, function in _FUNCTIONS.items()},
            **{each: partial(self.word, function=False) for each in _WORDS},
            "\\operatorname": partial(self.word, function=True),
            "\\operatorname*": partial(self.word, function=True),
            **{f"\\{letter}": partial(self.greek, letter) for letter in GREEK},
        }
        if command not in readers:
            raise self.error("there is no place in an equation for")
        self.take()
        return readers[command]()

    def fraction(self) -> str:
        above, below = self.braces(), self.braces()
        return f"(({above})/({below}))"

    def root(self) -> str:
        order = ""
        if self.next == "[":
            self.take()
            order = self.sum()
            self.expect("]")
        inner = self.braces()
        return f"(({inner})**(1/({order})))" if order else f"sqrt({inner})"

    def greek(self, letter: str) -> str:
        behind = self.text[self.starts[self.place - 1] + len(letter) + 1 :]
        if letter == "theta" and behind.startswith("\\left("):
            raise AmbiguousError(
                "\\theta\\left(x\\right) is Heaviside's function in SymPy, elsewhere a product",
                "Write \\theta \\cdot, or the function's value.",
            )
        return self.subscripted(letter)

    def braces(self) -> str:
        r"""Read an argument: braces, or one digit or letter as in ``\frac12``."""
        if self.next.isdigit():  # \frac12
            first = self.next[0]
            self.tokens[self.place] = self.next[1:]
            self.place += not self.next
            return first
        if self.next != "{" and len(self.next) > 1 and not self.next.startswith("\\"):
            raise AmbiguousError(
                f"the argument {self.next!a} needs braces in LaTeX", "Write {...}."
            )
        return self.atom()

    def letters(self) -> str:
        run = self.take()
        if self.next == "_" or len(run) == 1 or self.known(run):
            last = len(run) == 1 or self.known(run) or self.known_with_subscript(run)
            if last:
                if run == "e" and self.next == "^" and not self.known("e"):
                    self.take()
                    return f"exp({self.group()})"
                return self.subscripted(run)
        if self.variables is not None and all(letter in self.variables for letter in run[:-1]):
            final = run[-1]
            if final in self.variables or self.next == "_":
                return f"({'*'.join([*run[:-1], self.subscripted(final)])})"
        raise AmbiguousError(
            f"{run} is a product of letters in LaTeX, and a name elsewhere",
            f"Write \\mathrm{{{run}}} for a name and {' '.join(run)} for a product.",
        )

    def known(self, name: str) -> bool:
        return self.variables is not None and name in self.variables

    def known_with_subscript(self, name: str) -> bool:
        return self.variables is not None and any(
            each.startswith(name) and re.fullmatch(r"_?\w+", each[len(name) :])
            for each in self.variables
        )

    def subscripted(self, name: str) -> str:
        if self.next != "_":
            return name
        self.take()
        if self.next == "{":
            self.take()
            below = ""
            while self.next not in {"}", ""}:
                token = self.take()
                below += "" if token in {*_WORDS, "{", "}", ","} else token.replace("\\_", "_")
            self.expect("}")
        else:
            below = self.take()
            if len(below) > 1:
                raise AmbiguousError(
                    f"{name}_{below} needs braces in LaTeX", f"Write {name}_{{{below}}}."
                )
        if not re.fullmatch(r"[A-Za-z0-9_]+", below):
            raise EquationError(f"the subscript {below!a} is no part of a name", _ALLOWED)
        return f"{name}_{{{below}}}"

    def word(self, *, function: bool) -> str:
        r"""Read ``\mathrm{prey}`` and ``\operatorname{atan}``."""
        self.expect("{")
        name = ""
        while self.next not in {"}", ""}:
            name += self.take().replace("\\_", "_")
        self.expect("}")
        if not _ONE_WORD.fullmatch(name):
            raise EquationError(f"{name!a} is no name of a variable or a function", _ALLOWED)
        if name == "e" and not self.known("e"):
            return "E"
        if function and not self.known(name):
            return self.called(name)
        return self.subscripted(name)

    def derivative(self) -> str:
        r"""Read ``\partial_{xx} u_{0}`` as the name ``u0_xx``."""
        self.take()
        below = self.subscripted("")
        along = below[2:-1]
        bracket = self.next in {"(", "["}
        name = self.atom()
        if bracket and is_along(along):
            return f"({name})_{along}"
        if not along or not re.fullmatch(r"[A-Za-z]\w*(_\{\w+\})?", name):
            raise EquationError("a derivative is read as \\partial_{xx} u", _ALLOWED)
        return f"{name.replace('_{', '').replace('}', '')}_{along}"

    def logarithm(self) -> str:
        if self.next != "_":
            return self.called("log")
        base = self.subscripted("")[2:-1]
        if base not in {"2", "10"}:
            raise EquationError(
                f"a logarithm to the base {base!a} is not read", "Write \\frac{\\log x}{\\log b}."
            )
        return self.called(f"log{base}")

    def called(self, name: str) -> str:
        power = ""
        if self.next == "^":
            self.take()
            power = self.group().strip("()")
            if not power.isdigit():
                raise AmbiguousError(
                    f"{name}^{power} can be a power and an inverse function",
                    "Write the power outside: \\left(\\sin x\\right)^{-1}, or \\arcsin.",
                )
        wrapped = self.next == "{"
        if wrapped:
            self.take()
        if self.next in {"(", "["}:
            opening = self.take()
            arguments = [self.sum()]
            while self.next == ",":
                self.take()
                arguments.append(self.sum())
            self.expect(_CLOSING[opening])
            inner = ", ".join(arguments)
        elif wrapped:
            inner = self.sum()
        else:
            inner = self.factor()
            if self.begins_factor():
                raise AmbiguousError(
                    f"the argument of {name} in {self.text[:60]!a} can end in two places",
                    "Write brackets around it.",
                )
        if wrapped:
            self.expect("}")
        text = f"{name}({inner})"
        return f"(({text})**({power}))" if power else text

    def cases(self) -> str:
        self.take()
        self.expect("{")
        if self.take() != "cases":
            raise self.error("of environments only cases is read, and not")
        self.expect("}")
        rows = []
        while True:
            value = self.sum()
            self.expect("&")
            rows.append(f"({value}, {self.condition()})")
            if self.next == "\\\\":
                self.take()
            if self.next == "\\end":
                break
        self.take()
        for token in ("{", "cases", "}"):
            self.expect(token)
        return f"Piecewise({', '.join(rows)})"

    def condition(self) -> str:
        if self.next in {"\\text", "\\mathrm", "\\textrm"}:
            self.take()
            self.expect("{")
            word = ""
            while self.next not in {"}", ""}:
                word += self.take()
            self.expect("}")
            if word.strip() in {"otherwise", "else"}:
                return "True"
            if word.strip() not in {"for", "if", "when"}:
                raise EquationError(
                    f"the word {word!a} is no condition", "Write for, if or otherwise."
                )
        text = self.sum()
        while self.next in _RELATIONS or self.next in _JOINTS:
            text += f" {(_RELATIONS | _JOINTS)[self.take()]} {self.sum()}"
        return text


_SINGLE = re.compile(r"[A-Za-z]\w*(_\{\w+\})?|\d+\.?\d*")
