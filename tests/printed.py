"""Readers of printed equations, none of which knows how they were printed.

Each gives the value that somebody would work out who sees nothing but what is printed.  What can be
read in two ways, or only by who knows what was meant, is `Misread`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mdbench.expressions.functions import ALIASES
from mdbench.expressions.grammar import read
from mdbench.expressions.languages import names_in
from mdbench.expressions.tree import Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

Value: TypeAlias = "NDArray[np.longdouble]"
Columns: TypeAlias = "Mapping[str, Value]"


class Misread(Exception):  # noqa: N818 - it names what happens to the reader
    """What is printed cannot be read, or in more ways than one."""


def _cot(x: Any) -> Any:
    return 1 / np.tan(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sinh", "cosh", "tanh")},
    "abs": np.abs,
    "cot": _cot,
    "exp": np.exp,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "sign": np.sign,
    "sqrt": np.sqrt,
}
EVERY = FUNCTIONS | {alias: FUNCTIONS[name] for alias, name in ALIASES.items()}
PI, E = map(
    np.longdouble,
    ("3.14159265358979323846264338327950288", "2.71828182845904523536028747135266250"),
)
DIGITS = 4
"""Of numbers on the page."""


# ---------------------------------------------------------------- what was meant


def exactly(text: str) -> Any:
    return np.longdouble(text)


def rounded(text: str) -> Any:
    """Round as on the page."""
    return np.longdouble(f"{float(text):.{DIGITS}g}")


def meant(text: str, columns: Columns, number: Callable[[str], Any] = exactly) -> Any:
    """Work out what the bench reads in a text, number by number in extended precision."""
    with np.errstate(all="ignore"):
        return _meant(read(text, tuple(columns)), columns, number)


def in_doubles(text: str, columns: Columns, number: Callable[[str], Any] = exactly) -> Any:
    """Work it out in double precision; where that is something else, rounding is all there is."""
    with np.errstate(all="ignore"):
        return _meant(
            read(text, tuple(columns)), _doubles(columns), lambda text: np.float64(number(text))
        )


def _meant(node: Node, columns: Columns, number: Callable[[str], Any]) -> Any:
    match node:
        case Number(text=text):
            named = {"pi": PI, "E": E}.get(text)
            return number(text) if named is None else type(number("1"))(named)
        case Variable(name=name):
            return columns[name]
        case Negation(operand=operand):
            return -_meant(operand, columns, number)
        case Power(base=base, exponent=exponent):
            return _meant(base, columns, number) ** _meant(exponent, columns, number)
        case Call(function=function, arguments=arguments):
            return EVERY[function](*(_meant(each, columns, number) for each in arguments))
        case Chain(first=first, rest=rest):
            total = _meant(first, columns, number)
            for sign, part in rest:
                other = _meant(part, columns, number)
                total = OPERATORS[sign](total, other)
            return total


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def points(names: Iterable[str], count: int = 8) -> dict[str, Value]:
    """Draw values of names, of both signs and some sizes; the same ones each time."""
    scales = np.array([1.0, 0.3, 2.0, 5.0, 1.0, 0.1, 3.0, 0.7] * (count // 8 + 1))[:count]
    found = {}
    for name in sorted(names):
        generator = np.random.default_rng(list(name.encode()))
        signs = np.where(np.arange(count) % 2 == 0, 1.0, generator.choice([-1.0, 1.0], count))
        values = generator.uniform(0.2, 1.0, count) * scales * signs
        found[name] = values.astype(np.longdouble)
    return found


def agree(found: Any, expected: Any, in_doubles: Any = None) -> bool:
    """Whether values are the same wherever they are real, and not lost to rounding.

    Parameters
    ----------
    in_doubles
        The same worked out in double precision, where `found` is: where it differs from what is
        expected, rounding is all that there is to see.
    """
    expected = np.atleast_1d(np.asarray(expected, np.longdouble))
    found = np.broadcast_to(np.asarray(found, np.longdouble), expected.shape)
    with np.errstate(all="ignore"):
        good = np.isfinite(expected) & (np.abs(expected) < 1e100) & (np.abs(expected) > 1e-100)
        if in_doubles is not None:
            near = np.broadcast_to(np.asarray(in_doubles, np.longdouble), expected.shape)
            good &= np.abs(near - expected) <= 1e-9 * np.abs(expected)
        same = np.abs(found - expected) <= 1e-6 * np.abs(expected)
    return bool(np.all(same[good]))


def tells(expected: Any) -> bool:
    """Whether there is a value to compare."""
    expected = np.asarray(expected, np.longdouble)
    return bool(np.any(np.isfinite(expected) & (np.abs(expected) > 1e-100)))


# ---------------------------------------------------------------- a row of mathematics


@dataclass(frozen=True)
class Token:
    """What is seen in a row.

    ``number``, ``name``, ``function``, ``sign`` (+ − , brackets), ``space`` (an invisible product),
    ``dot``, ``bar``, ``open bar``, ``close bar``, ``derivative``; or with parts: ``power``,
    ``fraction``, ``root``.
    """

    kind: str
    text: str = ""
    parts: tuple[tuple[Token, ...], ...] = ()
    upright: bool = False
    word: bool = False


@dataclass
class Row:
    """Reads a row as a mathematician does who sees no structure but what is there to be seen."""

    tokens: Sequence[Token]
    columns: Columns
    bars: int = 0
    at: int = field(default=0)

    def value(self) -> Any:
        with np.errstate(all="ignore"):
            found = self.sum()
        if self.at < len(self.tokens):
            raise Misread(f"{self.tokens[self.at]} where the end was due")
        return found

    @property
    def next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end")

    def is_sign(self, *signs: str) -> bool:
        return self.next.kind == "sign" and self.next.text in signs

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Any:
        negative = self.is_sign("-")
        if negative:
            self.take()
        total = self.product()
        total = -total if negative else total
        while self.is_sign("+", "-"):
            sign = self.take().text
            if self.is_sign("+", "-"):
                raise Misread(f"two signs: {sign}{self.next.text}")
            total = OPERATORS[sign](total, self.product())
        return total

    def product(self) -> Any:
        last, total = self.next, self.factor()
        last = self.tokens[self.at - 1]
        while self.next.kind in {"space", "dot"}:
            joint = self.take()
            if self.is_sign("-") and joint.kind == "space":
                return total  # nobody sees the product: x −2y
            if joint.kind == "space":
                self.check(last, self.next)
            total = total * self.factor()
            last = self.tokens[self.at - 1]
        return total

    def check(self, left: Token, right: Token) -> None:
        """Refuse what reads as something else where nothing stands between two factors."""
        begins = _begins(right)
        if begins.kind == "number":
            raise Misread(f"a number behind {left.text}")
        if left.kind == "name" and right.kind == "sign" and right.text == "(":
            raise Misread(f"{left.text}( is the call of a function")
        if left.kind == "power" and right.kind == "sign" and right.text == "(":
            base = left.parts[0]
            if len(base) == 1 and base[0].kind == "name" and not base[0].upright:
                raise Misread(f"a power of {base[0].text} before a bracket is that of a function")
        # A function behind one letter or one number is told by its upright letters.
        if begins.kind in {"name", "function"} and left.kind in {"name", "power"}:
            end = left if left.kind == "name" else _begins(left)
            if end.word or (begins.word and not _is_fraction(right)):
                raise Misread(f"{end.text} and {begins.text} are one word")

    def factor(self) -> Any:  # noqa: C901, PLR0911, PLR0912 - one for each kind
        token = self.take() if self.at < len(self.tokens) else Token("end")
        match token:
            case Token("number", text):
                return np.longdouble(text)
            case Token("name", text):
                return self.named(token)
            case Token("sign", "("):
                inner, bars = None, self.bars
                self.bars = 0
                inner = self.sum()
                self.bars = bars
                self.expect(")")
                return inner
            case Token("bar" | "open bar"):
                self.bars += 1
                inner = self.sum()
                self.bars -= 1
                if self.next.kind not in {"bar", "close bar"}:
                    raise Misread("a bar is not closed")
                closed = self.take()
                if closed.kind == "bar" and self.next.kind == "space":
                    raise Misread("a bar before a factor may open or close")
                return np.abs(inner)
            case Token("function", text):
                return self.call(text)
            case Token("fraction", _, (above, below)):
                return self.inside(above) / self.inside(below)
            case Token("root", _, (inside,)):
                return np.sqrt(self.inside(inside))
            case Token("power", _, (base, above)):
                return self.power(base, above)
            case Token("derivative", along):
                named = self.take() if self.at < len(self.tokens) else Token("end")
                if named.kind != "name":
                    raise Misread(f"the derivative of {named}")
                if self.next.kind == "space":
                    raise Misread("how much is under the derivative?")
                return self.columns[f"{named.text}_{along}"]
        raise Misread(f"{token} where a value was due")

    def inside(self, tokens: Sequence[Token]) -> Any:
        return Row(tokens, self.columns).value()

    def named(self, token: Token) -> Any:
        if token.text == "e" and (token.upright or "e" not in self.columns):
            return E
        if token.text == "pi" and "pi" not in self.columns:
            return PI
        if token.text not in self.columns:
            raise Misread(f"nothing is called {token.text}")
        return self.columns[token.text]

    def call(self, name: str, power: Any = None) -> Any:
        if not self.is_sign("("):
            raise Misread(f"what is the argument of {name}?")
        self.take()
        arguments = [self.sum()]
        while self.is_sign(","):
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        found = EVERY[name](*arguments)
        return found if power is None else found**power

    def power(self, base: Sequence[Token], above: Sequence[Token]) -> Any:
        if len(base) == 1 and base[0].kind == "function":
            whole = len(above) == 1 and above[0].kind == "number" and above[0].text.isdigit()
            if not whole:
                raise Misread(f"{base[0].text} to {above} may be the inverse function")
            return self.call(base[0].text, self.inside(above))
        if not _is_one(base):
            raise Misread(f"what is raised: {base}?")
        return self.inside(base) ** self.inside(above)

    def expect(self, sign: str) -> None:
        if not self.is_sign(sign):
            raise Misread(f"{self.next} where {sign} was due")
        self.take()


def _begins(token: Token) -> Token:
    """Give what is seen first: that of a power is its base, that of a fraction what is above."""
    while token.kind in {"power", "fraction"} and token.parts[0]:
        token = token.parts[0][0]
    return token


def _is_fraction(token: Token) -> bool:
    while token.kind == "power" and token.parts[0]:
        token = token.parts[0][0]
    return token.kind == "fraction"


def _is_one(base: Sequence[Token]) -> bool:
    """Whether an exponent behind these tokens can belong to nothing less than all of them."""
    if len(base) == 1:
        return base[0].kind in {"number", "name", "root"}
    ends = {("sign", "(", "sign", ")"), ("bar", "", "bar", ""), ("open bar", "", "close bar", "")}
    if (base[0].kind, base[0].text, base[-1].kind, base[-1].text) not in ends:
        return False
    depth = 0
    for place, token in enumerate(base):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        depth += {"open bar": 1, "close bar": -1}.get(token.kind, 0)
        if depth == 0 and base[0].kind != "bar" and place < len(base) - 1:
            return False
    return True


# ---------------------------------------------------------------- MathML


def of_mathml(math: ET.Element, columns: Columns) -> Any:
    """Read a ``math`` element from its markup alone."""
    return Row(_row(list(math)), columns).value()


_SIGNS = {"−": "-", "+": "+", "-": "-", "(": "(", ")": ")", ",": ","}


def _row(children: Sequence[ET.Element]) -> tuple[Token, ...]:
    """Read a row: that parts are in a row of their own is not seen."""
    return tuple(token for child in children for token in _tokens(child))


def _tokens(element: ET.Element) -> tuple[Token, ...]:  # noqa: PLR0911 - one for each element
    text = (element.text or "").strip()
    match element.tag.rpartition("}")[2]:
        case "mrow" | "mstyle":
            return _row(list(element))
        case "mn":
            return (Token("number", text),)
        case "mi":
            if text in EVERY:
                return (Token("function", text),)
            upright = element.get("mathvariant") == "normal"
            name = {"π": "pi"}.get(text, text)
            return (Token("name", name, upright=upright, word=len(text) > 1),)
        case "mo" if text in _SIGNS:
            return (Token("sign", _SIGNS[text]),)
        case "mo":
            kinds = {"\u2062": "space", "⋅": "dot", "|": "bar"}
            return (Token(kinds[text]),)
        case "msub":
            base, below = element
            if base.tag == "mo" and base.text == "∂":
                return (Token("derivative", below.text or ""),)
            return (Token("name", f"{base.text}{below.text}", word=len(base.text or "") > 1),)
        case "msup":
            return (Token("power", parts=(_tokens(element[0]), _tokens(element[1]))),)
        case "mfrac":
            return (Token("fraction", parts=(_tokens(element[0]), _tokens(element[1]))),)
        case "msqrt":
            return (Token("root", parts=(_row(list(element)),)),)
    raise Misread(f"the element {element.tag}")


# ---------------------------------------------------------------- LaTeX

_LATEX = re.compile(
    r"\s*(?:(?P<command>\\(?:[A-Za-z]+|.))|(?P<number>\d+\.?\d*|\.\d+)|(?P<other>\S))"
)
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau"
_GREEK_LETTERS = frozenset(f"{_GREEK} upsilon phi chi psi omega pi".split())
"""The letters that LaTeX has commands for."""


def of_latex(text: str, columns: Columns) -> Any:
    r"""Read the LaTeX of a formula, as far as formulas of the bench have it; braces are not seen."""
    reader = _Latex(text, columns)
    tokens = reader.group(None)
    return Row(tokens, columns).value()


class _Latex:
    def __init__(self, text: str, columns: Columns) -> None:
        self.items = [match[0].strip() for match in _LATEX.finditer(text)]
        self.columns = columns
        self.at = 0

    def take(self) -> str:
        self.at += 1
        if self.at > len(self.items):
            raise Misread("LaTeX ends too early")
        return self.items[self.at - 1]

    @property
    def next(self) -> str:
        return self.items[self.at] if self.at < len(self.items) else ""

    def group(self, end: str | None) -> tuple[Token, ...]:
        """Read until a brace is closed, or to the end."""
        found: list[tuple[Token, ...]] = []
        while self.next != (end or ""):
            one = self.one()
            if self.next == "^":
                if one and one[0].kind == "power":
                    raise Misread("a double superscript")
                self.take()
                one = (Token("power", parts=(one, self.argument())),)
            found.append(one)
        if end:
            self.take()
        return tuple(token for one in found for token in one)

    def argument(self) -> tuple[Token, ...]:
        """Read what stands in braces, or a single sign, as TeX does."""
        if self.next != "{":
            one = self.one()
            if len(one) != 1 or len(one[0].text) > 1:
                raise Misread("an argument without braces")
            return one
        self.take()
        return self.group("}")

    def word(self) -> str:
        """Read the letters in braces as they are."""
        if self.take() != "{":
            raise Misread("no brace")
        found = ""
        while (item := self.take()) != "}":
            found += item.replace("\\_", "_")
        return found

    def one(self) -> tuple[Token, ...]:  # noqa: C901, PLR0911, PLR0912 - one for each command
        item = self.take()
        match item:
            case "{":
                return self.group("}")
            case "+" | "-" | "," | "(" | ")":
                return (Token("sign", item),)
            case "\\left" | "\\right":
                fence = self.take()
                if fence == "|":
                    return (Token("open bar" if item == "\\left" else "close bar"),)
                return (Token("sign", fence),)
            case "\\,":
                return (Token("space"),)
            case "\\cdot":
                return (Token("dot"),)
            case "\\frac":
                return (Token("fraction", parts=(self.argument(), self.argument())),)
            case "\\sqrt":
                return (Token("root", parts=(self.argument(),)),)
            case "\\operatorname":
                return (Token("function", self.word()),)
            case "\\mathrm":
                return self.named(self.word(), upright=True)
            case "\\partial":
                if self.take() != "_":
                    raise Misread("a derivative along nothing")
                return (Token("derivative", self.word()),)
        name = item.removeprefix("\\")
        if item.startswith("\\") and name in EVERY:
            return (Token("function", name),)
        if item.startswith("\\") and name not in _GREEK_LETTERS:
            raise Misread(f"LaTeX has no {item}")
        if item.startswith("\\") or re.fullmatch("[A-Za-z]", item):
            return self.named(name)
        if re.fullmatch(r"[\d.]+", item):
            return (Token("number", item),)
        raise Misread(f"{item} in LaTeX")

    def named(self, name: str, *, upright: bool = False) -> tuple[Token, ...]:
        word = upright and len(name) > 1
        if self.next == "_":
            self.take()
            below = self.word()
            direct = f"{name}{below}"
            name = direct if direct in self.columns else f"{name}_{below}"
        return (Token("name", name, upright=upright and name == "e", word=word),)


# ---------------------------------------------------------------- code


def of_python(text: str, columns: Columns) -> Any:
    """Run Python's code for NumPy."""
    with np.errstate(all="ignore"):
        return eval(text, {"np": np, "__builtins__": {}}, dict(_doubles(columns)))


def of_sympy_syntax(text: str, columns: Columns) -> Any:
    """Run Python's code for SymPy, with functions of numbers in place of SymPy's."""
    named = FUNCTIONS | {"Abs": np.abs, "Max": np.maximum, "Min": np.minimum}
    names = {name: _of_floats(function) for name, function in named.items()}
    with np.errstate(all="ignore"):
        scope = {**names, "pi": float(PI), "E": float(E), **_doubles(columns)}
        return eval(text, {"__builtins__": {}}, scope)


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that has no whole numbers of 64 bits: SymPy has none."""
    return lambda *arguments: function(*(np.asarray(each, np.float64) for each in arguments))


def of_plain(text: str, columns: Columns) -> Any:
    """Read the bench's own writing by Python's grammar, with ``^`` as ``**``."""
    scope = {**EVERY, "square": np.square, "cube": lambda x: x**3}
    tree = ast.parse(text.replace("^", "**").strip(), mode="eval")
    with np.errstate(all="ignore"):
        code = compile(ast.fix_missing_locations(_Floats().visit(tree)), "<plain>", "eval")
        return eval(
            code, {"__builtins__": {}, "pi": PI, "E": E, "L": np.longdouble} | scope, dict(columns)
        )


class _Floats(ast.NodeTransformer):
    """Makes every number one of extended precision."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802 - its name
        text = ast.Constant(repr(node.value))
        return ast.Call(ast.Name("L", ast.Load()), [text], [])


def _doubles(columns: Columns) -> dict[str, NDArray[np.float64]]:
    return {name: np.asarray(column, np.float64) for name, column in columns.items()}


# ---------------------------------------------------------------- C


def in_c(texts: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Write one C file that has all formulas: functions of an array."""
    lines = ["#include <math.h>"]
    for place, (text, names) in enumerate(zip(texts, columns, strict=True)):
        given = "".join(f" double {name} = a[{i}]; (void){name};" for i, name in enumerate(names))
        lines.append(f"double f{place}(const double *a) {{ (void)a;{given} return {text}; }}")
    return "\n".join(lines)


# ---------------------------------------------------------------- Julia

_JULIA = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>[-+*/^(),]))"
)


def of_julia(text: str, columns: Columns) -> Any:
    """Read Julia's code by the precedence in its manual ("Mathematical Operations").

    From weak to strong: ``+ -``, ``* /``, unary minus, a number before a name or a bracket, and
    ``^``, which is right-associative, takes a minus on its right, and binds what a minus on its
    left is before.  Whole numbers are Int64: they wrap, and have no negative powers but those of
    literals.  ``2.`` before an operator is an error, and ``--`` is no operator.
    """
    with np.errstate(all="ignore"):
        reader = _Julia(text, columns)
        found = reader.sum()
    if reader.kind != "end":
        raise Misread(f"{reader.text} in Julia")
    return found


class _Julia:
    def __init__(self, text: str, columns: Columns) -> None:
        if "--" in text or "++" in text:
            raise Misread("two signs are no operator of Julia")
        if re.search(r"(?<![\w.])\d+\.(?=\s*[-+*/^])(?!\d)", text):
            raise Misread("a number that ends with a point before an operator")
        self.columns = _doubles(columns)
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _JULIA.match(text, at)
            if match is None:
                raise Misread(f"{text[at : at + 10]} in Julia")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self.tokens.append(("end", ""))

    @property
    def kind(self) -> str:
        return self.tokens[0][0]

    @property
    def text(self) -> str:
        return self.tokens[0][1] if self.kind != "number" else ""

    def take(self) -> str:
        return self.tokens.pop(0)[1]

    def sum(self) -> Any:
        total = self.product()
        while self.text in {"+", "-"}:
            total = _joined(self.take(), total, self.product())
        return total

    def product(self) -> Any:
        total = self.unary()
        while self.text in {"*", "/"}:
            total = _joined(self.take(), total, self.unary())
        return total

    def unary(self) -> Any:
        if self.text in {"-", "+"}:
            negative = self.take() == "-"
            found = self.unary()
            return _wrapped(-found) if negative else found
        return self.beside()

    def beside(self) -> Any:
        is_number = self.kind == "number"
        found = self.power()
        if is_number and (self.kind == "name" or self.text == "("):
            raise Misread("a number before a name or a bracket")  # never printed
        return found

    def power(self) -> Any:
        base = self.atom()
        if self.text != "^":
            return base
        self.take()
        literal = self.kind == "number" or (self.text == "-" and self.tokens[1][0] == "number")
        minus = False
        while self.text in {"-", "+"}:
            minus ^= self.take() == "-"
        above = self.power()
        above = -above if minus else above
        if isinstance(base, int) and isinstance(above, int):
            if above < 0 and not literal:
                raise Misread("a negative power of a whole number")
            return _wrapped(base**above) if above >= 0 else float(base) ** above
        return np.asarray(base, np.float64) ** above

    def atom(self) -> Any:
        kind, text = self.tokens.pop(0)
        if kind == "number":
            if not text.isdigit():
                return np.float64(text)
            if int(text) >= 2**63:
                raise Misread("a whole number too large for Int64")
            return int(text)
        if kind == "name" and self.text == "(":
            self.take()
            arguments = [self.sum()]
            while self.text == ",":
                self.take()
                arguments.append(self.sum())
            self.close()
            if text in {"abs", "sign", "max", "min"} and all(isinstance(a, int) for a in arguments):
                return int(FUNCTIONS[text](*arguments))
            return FUNCTIONS[text](*arguments)
        if kind == "name":
            return float(PI) if text == "pi" else self.columns[text]
        if text == "(":
            found = self.sum()
            self.close()
            return found
        raise Misread(f"{text} in Julia")

    def close(self) -> None:
        if self.take() != ")":
            raise Misread("no closing bracket in Julia")


def _wrapped(number: Any) -> Any:
    return (number + 2**63) % 2**64 - 2**63 if isinstance(number, int) else number


def _joined(sign: str, a: Any, b: Any) -> Any:
    whole = isinstance(a, int) and isinstance(b, int)
    if sign == "/" and whole:
        return np.float64(a) / np.float64(b)
    return _wrapped(OPERATORS[sign](a, b))


# ---------------------------------------------------------------- random trees

_LEAVES = ("x", "y", "u0", "u12", "prey", "x", "y", "pi", "E", "2", "3", "0.5", "1", "1.5", "10")
_NUMBERS = ("0.7883", "1.2e3", "1e5", "2.5e-4", "1e-3", "12345.678", "7", "0.333333333")
_CALLS = ("sin", "cos", "tanh", "exp", "log", "sqrt", "abs", "sinh", "atan", "sign", "tan")
_EXPONENTS = ("2", "3", "(-1)", "-2", "0.5", "(1/2)", "1.5", "(-0.5)", "x", "(-y)", "2.0", "(x/3)")


def random_text(draw: np.random.Generator, size: int) -> str:  # noqa: PLR0911, C901 - one each
    """Draw an equation: negative factors, nested signs, powers of negatives and of products."""

    def one(part: int) -> str:
        return random_text(draw, part)

    if size <= 1:
        leaves = _NUMBERS if draw.random() < 0.25 else _LEAVES
        return str(draw.choice(leaves))
    left = int(draw.integers(1, size))
    kind = int(draw.integers(0, 16))
    a, b = f"({one(left)})", f"({one(size - left)})"
    if draw.random() < 0.5:  # with no more brackets than there are in it
        a, b = a[1:-1], b[1:-1]
    match kind:
        case 0 | 1:
            return f"{a} + {b}"
        case 2 | 3:
            return f"{a} - {b}"
        case 4 | 5 | 6:
            return f"{a}*{b}"
        case 7 | 8:
            return f"{a}/{b}"
        case 9:
            return f"-{a}*{b}"
        case 10:
            return f"{a}*(-{b})"
        case 11:
            return f"-({one(size - 1)})"
        case 12:
            return f"({one(size - 1)})**{draw.choice(_EXPONENTS)}"
        case 13:
            return f"-{a}**{draw.choice(_EXPONENTS)}"
        case 14:
            if draw.random() < 0.1:
                return f"max({a}, {b})"
            return f"{draw.choice(_CALLS)}({one(size - 1)})"
        case _:
            return f"{draw.choice(_CALLS)}({one(size - 1)})**{draw.choice(_EXPONENTS)}"


def known_names(text: str) -> tuple[str, ...]:
    """Give the names of an equation."""
    return names_in(text)
