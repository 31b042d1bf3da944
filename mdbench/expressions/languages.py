"""Equations in the languages in which people go on with them: Python, SymPy, Julia, C, LaTeX."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from mdbench.errors import UsageError, did_you_mean

from .functions import ALIASES, CONSTANTS, FUNCTIONS
from .grammar import check, read
from .tree import Call, Chain, Negation, Node, Number, Power, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["LANGUAGES", "names_in", "rounded_to", "sympy_symbols", "written_as"]

Language = Literal["plain", "python", "sympy", "julia", "c", "latex"]
LANGUAGES: tuple[Language, ...] = ("plain", "python", "sympy", "julia", "c", "latex")

_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)")
_DECIMAL = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w)")
_PARTS = re.compile(r"([A-Za-z]+?)_?(\d*)(?:_([a-z]+))?")
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
    product
        What stands between factors.
    fractions
        Whether a quotient is written as one above the other.
    whole_exponents
        Whether a whole exponent may stand there as it is.
    variable
        Writes a name.
    """

    functions: Mapping[str, str]
    constants: Mapping[str, str]
    power: str = "{0}**{1}"
    calls_power: bool = False
    number: Callable[[str], str] = str
    product: str = "*"
    fractions: bool = False
    whole_exponents: bool = True
    variable: Callable[[str], str] = str


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


def _with_point(text: str) -> str:
    """Write a number so that C takes it for one with decimals: 1/2 would be 0."""
    return text if re.search(r"[.eE]", text) else f"{text}.0"


def _in_latex(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    if not exponent:
        return mantissa
    ten = f"10^{{{int(exponent)}}}"
    return ten if mantissa == "1" else f"{mantissa} \\cdot {ten}"


def _is_greek(name: str) -> bool:
    try:
        return bool(unicodedata.lookup(f"GREEK SMALL LETTER {name}"))
    except KeyError:
        return False


def _latex_name(name: str) -> str:
    found = _PARTS.fullmatch(name)
    if found is None:
        return f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"
    letters, number, along = found.groups()
    written = letters
    if len(letters) > 1:
        written = f"\\{letters}" if _is_greek(letters) else f"\\mathrm{{{letters}}}"
    if number:
        written += f"_{{{number}}}"
    return f"\\partial_{{{along}}} {written}" if along else written


_WRITINGS: dict[str, _Writing] = {
    # NumPy's integers, which abs(3) is one of, have no negative powers, and overflow.
    "python": _Writing(_in_numpy(), {"pi": "np.pi", "E": "np.e"}, number=_with_point),
    "sympy": _Writing(
        _calls("{name}({{0}})", abs="Abs({0})", max="Max({0}, {1})", min="Min({0}, {1})"),
        {"pi": "pi", "E": "E"},
    ),
    "julia": _Writing(_calls("{name}({{0}})"), {"pi": "pi", "E": "exp(1)"}, power="{0}^{1}"),
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
    ),
    "latex": _Writing(
        {name: f"\\{name}\\left({{0}}\\right)" for name in _USUAL}
        | {
            name: f"\\operatorname{{{name}}}\\left({{0}}\\right)"
            for name in ("acosh", "asinh", "atanh", "sign")
        }
        | {name: f"\\arc{name[1:]}\\left({{0}}\\right)" for name in ("acos", "asin", "atan")}
        | {name: f"\\{name}\\left({{0}}, {{1}}\\right)" for name in ("max", "min")}
        | {"abs": "\\left|{0}\\right|", "sqrt": "\\sqrt{{{0}}}"},
        {"pi": "\\pi", "E": "\\mathrm{e}"},
        power="{{{0}}}^{{{1}}}",
        number=_in_latex,
        product=" \\, ",
        fractions=True,
        whole_exponents=False,
        variable=_latex_name,
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


def written_as(text: str, language: str, variables: Sequence[str] | None = None) -> str:
    r"""Write an equation in another language.

    Parameters
    ----------
    text
        The right-hand side, in the bench's own writing.
    language
        One of `LANGUAGES`; Python's is for NumPy's arrays, imported as ``np``.
    variables
        The names that it may use; by default all that are in it.

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
    '1.5*u0^2/(1 + abs(u1))'
    >>> written_as("1.5*u0**2/(1 + abs(u1))", "c")
    '1.5*pow(u0, 2.0)/(1.0 + fabs(u1))'
    >>> print(written_as("1.5*u0**2/(1 + abs(prey))", "latex"))
    \frac{1.5 \, {u_{0}}^{2}}{1 + \left|\mathrm{prey}\right|}
    """
    if language not in LANGUAGES:
        raise UsageError(f"There is no language {language!r}.", did_you_mean(language, LANGUAGES))
    check(text)
    tree = read(text, names_in(text) if variables is None else variables)
    return text if language == "plain" else _write(tree, _WRITINGS[language])


def _write(node: Node, way: _Writing) -> str:  # noqa: PLR0911 - one for each kind of node
    match node:
        case Number():
            return way.constants.get(node.text) or way.number(node.text)
        case Variable():
            return way.variable(node.name)
        case Negation():
            return f"-{_inside(node.operand, _PRODUCT, way)}"
        case Power():
            # A sign in an exponent is no trouble behind a brace or a comma; else it has brackets.
            free = way.calls_power or way.fractions
            base = _write(node.base, way) if way.calls_power else _inside(node.base, _ATOM, way)
            if way.whole_exponents and isinstance(node.exponent, Number):
                return way.power.format(base, _write(node.exponent, replace(way, number=str)))
            above = _write(node.exponent, way) if free else _inside(node.exponent, _ATOM, way)
            return way.power.format(base, above)
        case Call():
            arguments = [_write(one, way) for one in node.arguments]
            return way.functions[ALIASES.get(node.function, node.function)].format(*arguments)
        case Chain() if node.rest[0][0] in "+-":
            return _sum(node, way)
        case Chain():
            return _fraction(node, way) if way.fractions else _product(node, way)


def _strength(node: Node, way: _Writing) -> int:
    match node:
        case Chain():
            return _SUM if node.rest[0][0] in "+-" else _PRODUCT
        case Negation():
            return _SIGN
        case Power():
            return _ATOM if way.calls_power else _POWER
        case Number() if way.fractions and "cdot" in way.number(node.text):
            return _PRODUCT
        case Call():
            return _ATOM
    return _ATOM


def _inside(node: Node, least: int, way: _Writing) -> str:
    written = _write(node, way)
    if _strength(node, way) >= least:
        return written
    return f"\\left({written}\\right)" if way.fractions else f"({written})"


def _sum(node: Chain, way: _Writing) -> str:
    parts = [_inside(node.first, _SUM, way)]
    # What is added keeps its brackets where it begins with a sign, as in a - (-b).
    parts += [
        f" {symbol} {_inside(part, _PRODUCT, way)}"
        if not isinstance(part, Negation)
        else f" {symbol} {_inside(part, _ATOM, way)}"
        for symbol, part in node.rest
    ]
    return "".join(parts)


def _product(node: Chain, way: _Writing) -> str:
    written = _inside(node.first, _PRODUCT, way)
    for symbol, part in node.rest:
        written += f"{symbol}{_inside(part, _POWER, way)}"
    return written


def _fraction(node: Chain, way: _Writing) -> str:
    above = [node.first, *(part for symbol, part in node.rest if symbol == "*")]
    below = [part for symbol, part in node.rest if symbol == "/"]
    if not below:
        return _factors(above, way)
    return f"\\frac{{{_factors(above, way)}}}{{{_factors(below, way)}}}"


def _factors(nodes: Sequence[Node], way: _Writing) -> str:
    if len(nodes) == 1:
        return _write(nodes[0], way)
    written = _inside(nodes[0], _PRODUCT, way)
    for node in nodes[1:]:
        part = _inside(node, _POWER, way)
        between = " \\cdot " if part[:1].isdigit() else way.product
        written += f"{between}{part}"
    return written
