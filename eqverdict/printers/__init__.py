"""Printers of equations: Python, SymPy, Julia, C, LaTeX and MathML.

A printer visits the tree and makes of each node a `Part`: its text and what the brackets around it
follow from.  `CodePrinter` is for programming languages, `MathPrinter` for mathematics.
"""

from __future__ import annotations

import keyword
import re
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, ClassVar

from eqverdict.errors import EquationError, UsageError, did_you_mean
from eqverdict.grammar import check, read
from eqverdict.printers.mathematics import (
    ATOM,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    LatexPrinter,
    MathMLPrinter,
    Part,
    Printer,
    plain_number,
)
from eqverdict.tidy import tidy, with_powers
from eqverdict.tree import ALIASES, CONSTANTS, Call, Chain, Negation, Node, Number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "LANGUAGES",
    "LONGEST",
    "left_hand_side",
    "mathml",
    "name_as",
    "names_in",
    "print_as",
    "rounded_to",
    "sympy_symbols",
    "tidied",
]

LANGUAGES = ("plain", "python", "sympy", "julia", "c", "latex")
LONGEST = 600
"""Characters of an equation that is shown as MathML; a longer one is shown as text."""

_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)")
_UNTIDY = re.compile(
    r"\b([A-Za-z_]\w*)(?:\*[^-+()]*)?\*\1\b"  # a factor twice
    r"|(?<![\w.])[01](?:\.0*)?(?![\w.])|[-+*/] *\(?-|\d\) *\*|(?<![\w.])[\d.]+ *[*/] *\d"
)
"""What `tidied` looks at: repeated factors, 0 and 1, two signs in a row, products of numbers."""
_DECIMAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w)")


class CodePrinter(Printer):
    """Base of the printers of programming languages."""

    reserved: ClassVar[str]
    """Words that no variable can have as its name, with spaces between them."""
    prefix: ClassVar[str] = ""
    """Text before the name of a function."""
    functions: ClassVar[Mapping[str, str]] = {}
    """Calls that are not written by our name, with ``{0}`` and ``{1}`` for the arguments."""
    power: ClassVar[str] = "{0}**{1}"

    def name(self, name: str) -> str:
        """Return the name of a variable; a reserved word gets an underscore."""
        return f"{name}_" if name.rstrip("_") in self.reserved.split() else name

    def _literal(self, text: str) -> str:
        """Return a number with decimals: in C 1/2 would be 0, and in Julia 10^20 negative."""
        plain = plain_number(text)
        return plain if re.search(r"[.e]", plain) else f"{plain}.0"

    def _number(self, text: str) -> Part:
        return Part(self.constants.get(text) or self._literal(text), ATOM)

    def _variable(self, name: str) -> Part:
        return Part(self.name(name), ATOM)

    def _negation(self, node: Negation) -> Part:
        return Part(f"-{self._inside(node.operand, PRODUCT)}", SIGN)

    def _power(self, base: Node, exponent: Node) -> Part:
        if isinstance(exponent, Number):  # a whole one may stand there as it is
            above = self.constants.get(exponent.text) or plain_number(exponent.text)
        else:
            above = self._inside(exponent, ATOM)
        return Part(self.power.format(self._inside(base, ATOM), above), POWER)

    def _call(self, node: Call) -> Part:
        name = ALIASES.get(node.function, node.function)
        arguments = [self.print(each) for each in node.arguments]
        if name in self.functions:
            return Part(self.functions[name].format(*arguments), ATOM)
        return Part(f"{self.prefix}{name}({', '.join(arguments)})", ATOM)

    def _sum(self, node: Chain) -> Part:
        rest = (f" {symbol} {self._inside(part, PRODUCT)}" for symbol, part in node.rest)
        return Part(self._leading(node.first, SUM) + "".join(rest), SUM)

    def _product(self, node: Chain) -> Part:
        rest = (f"{symbol}{self._inside(part, POWER)}" for symbol, part in node.rest)
        return Part(self._leading(node.first, PRODUCT) + "".join(rest), PRODUCT)

    def _inside(self, node: Node, least: int) -> str:
        """Return a part, in brackets where it binds less or begins with a sign.

        Behind another sign a minus is the operator ``--`` of C, and an error in Julia.
        """
        part = self._visit(node)
        plain = part.strength >= least and not part.text.startswith("-")
        return part.text if plain else f"({part.text})"

    def _leading(self, node: Node, least: int) -> str:
        """Return what a sum or a product begins with: a minus may stand there."""
        part = self._visit(node)
        return part.text if part.strength >= least else f"({part.text})"


class PlainPrinter(CodePrinter):
    """Writes mdbench's own notation, every number as it was."""

    constants: ClassVar = {"pi": "pi", "E": "E"}
    reserved = ""

    def _literal(self, text: str) -> str:
        return text

    def _power(self, base: Node, exponent: Node) -> Part:
        return Part(f"{self._inside(base, ATOM)}**{self._inside(exponent, ATOM)}", POWER)


class ReadablePrinter(PlainPrinter):
    """Writes our own notation for reading: 3 and not 3.0."""

    def _literal(self, text: str) -> str:
        return text.removesuffix(".0")


class PythonPrinter(CodePrinter):
    """Writes Python for NumPy's arrays, imported as ``np``.

    Numbers are floats: NumPy's integers have no negative powers, and overflow.
    """

    constants: ClassVar = {"pi": "np.pi", "E": "np.e"}
    reserved = " ".join([*keyword.kwlist, "np", "equations", "__debug"])
    prefix = "np."
    functions: ClassVar = {
        "acos": "np.arccos({0})",
        "acosh": "np.arccosh({0})",
        "asin": "np.arcsin({0})",
        "asinh": "np.arcsinh({0})",
        "atan": "np.arctan({0})",
        "atanh": "np.arctanh({0})",
        "cot": "(1/np.tan({0}))",
        "max": "np.maximum({0}, {1})",
        "min": "np.minimum({0}, {1})",
    }


class SympyPrinter(CodePrinter):
    """Writes Python for SymPy's symbols."""

    constants: ClassVar = {"pi": "pi", "E": "E"}
    reserved = " ".join([*keyword.kwlist, "symbols", "Abs", "Max", "Min", "__debug"])
    functions: ClassVar = {"abs": "Abs({0})", "max": "Max({0}, {1})", "min": "Min({0}, {1})"}

    def _literal(self, text: str) -> str:
        return plain_number(text)


class JuliaPrinter(CodePrinter):
    """Writes Julia."""

    constants: ClassVar = {"pi": "pi", "E": "exp(1)"}
    power = "{0}^{1}"
    reserved = (
        "baremodule begin break catch const continue do else elseif end export false finally for "
        "function global if import in isa let local macro module quote return struct true try "
        "using where while equations"
    )


class CPrinter(CodePrinter):
    """Writes C."""

    constants: ClassVar = {"pi": "acos(-1.0)", "E": "exp(1.0)"}
    functions: ClassVar = {
        "abs": "fabs({0})",
        "max": "fmax({0}, {1})",
        "min": "fmin({0}, {1})",
        "cot": "(1.0/tan({0}))",
        "sign": "(({0} > 0.0) - ({0} < 0.0))",
    }
    reserved = (
        "auto break case char const continue default do double else enum extern float for goto if "
        "inline int long register restrict return short signed sizeof static struct switch typedef "
        "union unsigned void volatile while fabs fmax fmin pow result equations "
        # words of later C and of compilers, and macros of math.h and of systems
        "alignas alignof asm bool constexpr false nullptr static_assert thread_local true typeof "
        "typeof_unqual linux unix i386 NAN INFINITY HUGE HUGE_VAL HUGE_VALF HUGE_VALL MAXFLOAT "
        "X_TLOSS DOMAIN SING OVERFLOW UNDERFLOW TLOSS PLOSS M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI "
        "M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 FP_NAN FP_INFINITE FP_ZERO "
        "FP_SUBNORMAL FP_NORMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling "
        "SNAN SNANF SNANL FP_FAST_FMA FP_INT_UPWARD FP_INT_DOWNWARD FP_INT_TOWARDZERO "
        "FP_INT_TONEAREST FP_INT_TONEARESTFROMZERO"
    )

    def _power(self, base: Node, exponent: Node) -> Part:
        return Part(f"pow({self.print(base)}, {self.print(exponent)})", ATOM)


_CODE: Mapping[str, CodePrinter] = {
    "python": PythonPrinter(),
    "sympy": SympyPrinter(),
    "julia": JuliaPrinter(),
    "c": CPrinter(),
}


def names_in(text: str) -> tuple[str, ...]:
    """Return the variables of an equation, in the order of their first use.

    Examples
    --------
    >>> names_in("2e3*prey - sin(hunter)*pi*prey")
    ('prey', 'hunter')
    """
    found = dict.fromkeys(name for name, called in _NAME.findall(text) if not called)
    return tuple(name for name in found if name not in CONSTANTS)


def rounded_to(text: str, digits: int) -> str:
    """Round the numbers of an equation that have a point or an exponent; others are exact.

    Examples
    --------
    >>> rounded_to("0.33333333*u0**2 - 1.2345678e-7*u12", 3)
    '0.333*u0**2 - 1.23e-07*u12'
    """

    def short(number: re.Match[str]) -> str:
        found = number.group()
        return f"{float(found):.{digits}g}" if re.search(r"[.eE]", found) else found

    return _DECIMAL.sub(short, text)


def tidied(text: str) -> str:
    """Return an equation for reading: constants folded, powers, and no factors of 1.

    What is too long, is no equation, or has nothing of that is returned as it is.

    Examples
    --------
    >>> tidied("u0*u0"), tidied("1*cos(u1)*1/u0"), tidied("a step in words")
    ('u0**2', 'cos(u1)/u0', 'a step in words')
    """
    if len(text) > LONGEST or not _UNTIDY.search(text):
        return text
    try:
        check(text)
        return ReadablePrinter().print(with_powers(tidy(read(text, names_in(text)))))
    except EquationError:
        return text


def sympy_symbols(names: Sequence[str]) -> list[str]:
    """Return the line that makes SymPy's symbols of names, real ones; none for no names.

    Examples
    --------
    >>> sympy_symbols(["prey", "hunter"])
    ["[prey, hunter] = symbols('prey hunter', real=True, seq=True)"]
    """
    made = f"symbols({' '.join(names)!r}, real=True, seq=True)"
    return [f"[{', '.join(names)}] = {made}"] if names else []


def print_as(
    text: str,
    language: str,
    variables: Sequence[str] | None = None,
    *,
    derivatives_of: Collection[str] | None = None,
) -> str:
    r"""Return an equation in another language.

    Parameters
    ----------
    text
        The right-hand side, in mdbench's own writing.
    language
        One of `LANGUAGES`; Python's is for NumPy's arrays, imported as ``np``.
    variables
        The names that it may use; by default all that are in it.
    derivatives_of
        In LaTeX, the names whose derivatives are written ``u0_xx``; by default those of all.

    Raises
    ------
    UsageError
        If there is no such language.
    EquationError
        If the text is no equation.

    Examples
    --------
    >>> print_as("1.5*u0**2/(1 + abs(u1))", "python")
    '1.5*u0**2/(1.0 + np.abs(u1))'
    >>> print_as("1.5*u0**2/(1 + abs(u1))", "julia")
    '1.5*u0^2/(1.0 + abs(u1))'
    >>> print_as("1.5*u0**2/(1 + abs(u1))", "c")
    '1.5*pow(u0, 2.0)/(1.0 + fabs(u1))'
    >>> print(print_as("1.5*u0**2/(1 + abs(prey))", "latex"))
    \frac{1.5 \, {u_{0}}^{2}}{1 + \left|\mathrm{prey}\right|}
    """
    if language not in LANGUAGES:
        raise UsageError(f"There is no language {language!r}.", did_you_mean(language, LANGUAGES))
    check(text)
    names = names_in(text) if variables is None else variables
    tree = read(text, names)
    if language == "plain":
        return text
    if language == "latex":
        return LatexPrinter(names, derivatives_of).print(tree)
    return _CODE[language].print(tree)


def name_as(name: str, language: str) -> str:
    """Return the name of a variable in a language: a reserved word gets an underscore.

    No two names become the same.

    Examples
    --------
    >>> name_as("lambda", "python"), name_as("lambda_", "python"), name_as("lambda", "c")
    ('lambda_', 'lambda__', 'lambda')
    """
    printer = _CODE.get(language)
    return name if printer is None else printer.name(name)


def mathml(text: str, *, derivatives: bool = True, tidied: bool = False) -> str:
    """Return a right-hand side as MathML, its numbers rounded to four digits.

    Parameters
    ----------
    text
        The equation; every name in it that is not called and is no constant is a variable.
    derivatives
        Whether a name such as ``u0_xx`` is a derivative, and not only a name.
    tidied
        Whether constants are folded, and factors of 1 left out: see `tidy`.

    Returns
    -------
    str
        A ``math`` element whose ``alttext`` is the text as it was given, or ``data-text`` where it
        is tidied and differs; a ``code`` element where the text is too long or is no equation.

    Examples
    --------
    >>> mathml("u0**2")
    '<math alttext="u0**2"><msup><msub><mi>u</mi><mn>0</mn></msub><mn>2</mn></msup></math>'
    """
    forms = _mathml_forms(text, derivatives=derivatives)
    if forms is None:
        return f"<code>{escape(text)}</code>"
    given, tidy_form = forms
    differs = tidied and given != tidy_form
    attribute, inner = ("data-text", tidy_form) if differs else ("alttext", given)
    return f'<math {attribute}="{escape(text)}">{inner}</math>'


@lru_cache(maxsize=1024)
def _mathml_forms(text: str, *, derivatives: bool) -> tuple[str, str] | None:
    """Return the MathML of a text, as it is and tidied; None where it is none, or too long."""
    if len(text) > LONGEST:
        return None
    printer = MathMLPrinter(derivatives=derivatives)
    try:
        check(text)
        node = read(text, names_in(text))
        return printer.print(node), printer.print(with_powers(tidy(node)))
    except EquationError:
        return None


def left_hand_side(target: str, d: str = "d") -> str:
    """Return the MathML of an equation's left side: ``u0_t`` as a derivative by the letter `d`."""
    return f"<math>{MathMLPrinter().left_hand_side(target, d)}</math>"
