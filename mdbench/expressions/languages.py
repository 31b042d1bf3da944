"""Equations in the languages in which people go on with them: Python, SymPy, Julia, C, LaTeX."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from mdbench.errors import UsageError, did_you_mean
from mdbench.expressions.grammar import check, read
from mdbench.expressions.setting import Alphabet, Setter
from mdbench.expressions.tree import (
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
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mdbench.expressions.setting import End

__all__ = ["LANGUAGES", "name_as", "names_in", "rounded_to", "sympy_symbols", "written_as"]

Language = Literal["plain", "python", "sympy", "julia", "c", "latex"]
LANGUAGES: tuple[Language, ...] = ("plain", "python", "sympy", "julia", "c", "latex")

_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)")
_DECIMAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w)")
_PARTS = re.compile(r"([A-Za-z]+?)_?(\d*)(?:_([a-z]+))?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ON_TOP = frozenset(f"\\{name}" for name in FUNCTIONS)
_GREEK = _words(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega"
)
"""The letters that LaTeX has commands for."""
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
"""How strongly parts hang together."""
_USUAL = sorted({ALIASES.get(name, name) for name in FUNCTIONS})


@dataclass(frozen=True)
class _Writing:
    """How a language writes what languages write in different ways.

    Attributes
    ----------
    functions
        By our name: how a call is written, ``{0}`` and ``{1}`` for its arguments.
    constants
        By our name.
    power
        Writes base and exponent; the base is in brackets where it hangs together less than a
        power, unless `calls_power`.
    calls_power
        Whether a power is a call.
    number
        Writes a number.
    whole_exponents
        Whether a whole exponent may stand there as it is.
    reserved
        Words that no variable can be called by.
    """

    functions: Mapping[str, str]
    constants: Mapping[str, str]
    power: str = "{0}**{1}"
    calls_power: bool = False
    number: Callable[[str], str] = str
    whole_exponents: bool = True
    reserved: Collection[str] = frozenset(keyword.kwlist)


class _Code(NamedTuple):
    """A part as it is written, and how strongly that hangs together."""

    text: str
    strength: int


def _calls(pattern: str, **others: str) -> dict[str, str]:
    plain = {name: pattern.format(name=name) for name in _USUAL}
    two = {name: plain[name].replace("{0}", "{0}, {1}") for name in ("max", "min")}
    return plain | two | others


def _in_numpy() -> dict[str, str]:
    arcs = {
        name: f"np.arc{name[1:]}({{0}})"
        for name in _USUAL
        if name.startswith("a") and name != "abs"
    }
    return _calls(
        "np.{name}({{0}})",
        **arcs,
        cot="(1/np.tan({0}))",
        max="np.maximum({0}, {1})",
        min="np.minimum({0}, {1})",
    )


def _plain_number(text: str) -> str:
    """Write a number so that every language reads it: Python takes no 007, and Julia no 2.*x."""
    mantissa, e, exponent = text.lower().partition("e")
    whole, point, decimals = mantissa.partition(".")
    whole = whole.lstrip("0") or "0"
    return f"{whole}{point}{decimals or '0' if point else ''}{e}{exponent}"


def _with_point(text: str) -> str:
    """Write a number with decimals: in C 1/2 would be 0, and in Julia 10^20 negative."""
    plain = _plain_number(text)
    return plain if re.search(r"[.e]", plain) else f"{plain}.0"


_WRITINGS: dict[str, _Writing] = {
    # NumPy's integers, which abs(3) is one of, have no negative powers, and overflow.
    "python": _Writing(
        _in_numpy(),
        {"pi": "np.pi", "E": "np.e"},
        number=_with_point,
        reserved={*keyword.kwlist, "np", "equations"},
    ),
    "sympy": _Writing(
        _calls("{name}({{0}})", abs="Abs({0})", max="Max({0}, {1})", min="Min({0}, {1})"),
        {"pi": "pi", "E": "E"},
        number=_plain_number,
        reserved={*keyword.kwlist, "symbols", "Abs", "Max", "Min"},
    ),
    "julia": _Writing(
        _calls("{name}({{0}})"),
        {"pi": "pi", "E": "exp(1)"},
        power="{0}^{1}",
        number=_with_point,
        reserved=_words(
            "baremodule begin break catch const continue do else elseif end export false finally "
            "for function global if import in isa let local macro module quote return struct true "
            "try using where while equations"
        ),
    ),
    "c": _Writing(
        _calls(
            "{name}({{0}})",
            abs="fabs({0})",
            max="fmax({0}, {1})",
            min="fmin({0}, {1})",
            cot="(1.0/tan({0}))",
            sign="(({0} > 0.0) - ({0} < 0.0))",
        ),
        {"pi": "acos(-1.0)", "E": "exp(1.0)"},
        power="pow({0}, {1})",
        calls_power=True,
        number=_with_point,
        whole_exponents=False,
        reserved=_words(
            "auto break case char const continue default do double else enum extern float for goto "
            "if inline int long register restrict return short signed sizeof static struct switch "
            "typedef union unsigned void volatile while fabs fmax fmin pow result equations"
        ),
    ),
}


def names_in(text: str) -> tuple[str, ...]:
    """Give the variables of an equation, in the order in which they first stand there.

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


def sympy_symbols(names: Sequence[str]) -> list[str]:
    """Give the line that makes SymPy's symbols of names, real ones; none for no names.

    Examples
    --------
    >>> sympy_symbols(["prey", "hunter"])
    ["[prey, hunter] = symbols('prey hunter', real=True, seq=True)"]
    """
    made = f"symbols({' '.join(names)!r}, real=True, seq=True)"
    return [f"[{', '.join(names)}] = {made}"] if names else []


def written_as(
    text: str,
    language: str,
    variables: Sequence[str] | None = None,
    *,
    derivatives_of: Collection[str] | None = None,
) -> str:
    r"""Write an equation in another language.

    Parameters
    ----------
    text
        The right-hand side, in the bench's own writing.
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
    >>> written_as("1.5*u0**2/(1 + abs(u1))", "python")
    '1.5*u0**2/(1.0 + np.abs(u1))'
    >>> written_as("1.5*u0**2/(1 + abs(u1))", "julia")
    '1.5*u0^2/(1.0 + abs(u1))'
    >>> written_as("1.5*u0**2/(1 + abs(u1))", "c")
    '1.5*pow(u0, 2.0)/(1.0 + fabs(u1))'
    >>> print(written_as("1.5*u0**2/(1 + abs(prey))", "latex"))
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
        return Setter(_in_latex(derivatives_of, names)).markup(tree)
    return _write(tree, language).text


def name_as(name: str, language: str) -> str:
    """Give what a variable is called in a language: what it has as a word gets an underscore.

    No two names become the same.

    Examples
    --------
    >>> name_as("lambda", "python"), name_as("lambda_", "python"), name_as("lambda", "c")
    ('lambda_', 'lambda__', 'lambda')
    """
    way = _WRITINGS.get(language)
    return f"{name}_" if way and name.rstrip("_") in way.reserved else name


def _write(node: Node, language: str) -> _Code:  # noqa: PLR0911 - one for each kind of node
    way = _WRITINGS[language]
    match node:
        case Number():
            return _Code(way.constants.get(node.text) or way.number(node.text), _ATOM)
        case Variable():
            return _Code(name_as(node.name, language), _ATOM)
        case Negation():
            return _Code(f"-{_inside(_write(node.operand, language), _PRODUCT)}", _SIGN)
        case Power():
            return _power(node, language)
        case Call():
            arguments = [_write(one, language).text for one in node.arguments]
            name = ALIASES.get(node.function, node.function)
            return _Code(way.functions[name].format(*arguments), _ATOM)
        case Chain() if node.rest[0][0] in "+-":
            return _sum(node, language)
        case Chain():
            return _product(node, language)


def _power(node: Power, language: str) -> _Code:
    way = _WRITINGS[language]
    base, above = _write(node.base, language), _write(node.exponent, language)
    if way.calls_power:
        return _Code(way.power.format(base.text, above.text), _ATOM)
    if way.whole_exponents and isinstance(node.exponent, Number):
        text = way.constants.get(node.exponent.text) or _plain_number(node.exponent.text)
        return _Code(way.power.format(_inside(base, _ATOM), text), _POWER)
    return _Code(way.power.format(_inside(base, _ATOM), _inside(above, _ATOM)), _POWER)


def _inside(part: _Code, least: int) -> str:
    """Put a part in brackets where it hangs together less than is needed, or begins with a sign.

    Behind another sign a minus is the operator ``--`` of C, and nothing that Julia knows.
    """
    plain = part.strength >= least and not part.text.startswith("-")
    return part.text if plain else f"({part.text})"


def _leading(part: _Code, least: int) -> str:
    """Write what a sum or a product begins with: a minus may stand there."""
    return part.text if part.strength >= least else f"({part.text})"


def _sum(node: Chain, language: str) -> _Code:
    written = _leading(_write(node.first, language), _SUM)
    for symbol, part in node.rest:
        written += f" {symbol} {_inside(_write(part, language), _PRODUCT)}"
    return _Code(written, _SUM)


def _product(node: Chain, language: str) -> _Code:
    written = _leading(_write(node.first, language), _PRODUCT)
    for symbol, part in node.rest:
        written += f"{symbol}{_inside(_write(part, language), _POWER)}"
    return _Code(written, _PRODUCT)


def _latex_word(name: str) -> str:
    return f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"


def _latex_name(name: str) -> tuple[str, End]:
    found = _PARTS.fullmatch(name)
    if found is None or found[3]:
        return _latex_word(name), "word"
    letters, number, _ = found.groups()
    written, end = letters, "name"
    if letters in _GREEK:
        written = f"\\{letters}"
    elif len(letters) > 1:
        written, end = f"\\mathrm{{{letters}}}", "word"
    return f"{written}_{{{number}}}" if number else written, end  # type: ignore[return-value]


def _in_latex(derivatives_of: Collection[str] | None, names: Collection[str]) -> Alphabet:
    def variable(name: str) -> tuple[str, End]:
        if "_" in name and name.replace("_", "", 1) in names:  # x_1 beside x1
            return _latex_word(name), "word"
        found = _PARTS.fullmatch(name)
        state = name.rpartition("_")[0]
        if found and found[3] and (derivatives_of is None or state in derivatives_of):
            return f"\\partial_{{{found[3]}}} {_latex_name(state)[0]}", "derivative"
        return _latex_name(name)

    return replace(_LATEX, variable=variable)


def _latex_function(name: str) -> str:
    usual = ALIASES.get(name, name)
    if usual in {"acosh", "asinh", "atanh", "sign"}:
        return f"\\operatorname{{{usual}}}"
    return f"\\arc{usual[1:]}" if usual in {"acos", "asin", "atan"} else f"\\{usual}"


def _latex_power(base: str, above: str) -> str:
    """Raise a part; what TeX takes for one sign, or what is no part, needs no braces."""
    plain = base.isdigit() or base in _ON_TOP
    return f"{base}^{{{above}}}" if plain else f"{{{base}}}^{{{above}}}"


_LATEX = Alphabet(
    sign="-",
    minus=" - ",
    plus=" + ",
    comma=", ",
    times=" \\, ",
    thin=" \\, ",
    dot=" \\cdot ",
    row=str,
    brackets="\\left({}\\right)".format,
    bars="\\left|{}\\right|".format,
    root="\\sqrt{{{}}}".format,
    fraction="\\frac{{{}}}{{{}}}".format,
    power=_latex_power,
    digits=_plain_number,
    number=str,
    constants={"pi": "\\pi", "E": "\\mathrm{e}"},
    variable=_latex_name,
    function=_latex_function,
)
