"""Signs of typography, such as ``²``, ``−`` and ``π``, replaced by those of a keyboard."""

from __future__ import annotations

import re
import unicodedata

from eqverdict.errors import AmbiguousError

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
)
"""Letters that are names, as LaTeX has commands for them; pi is a constant."""
LETTER = r"[A-Za-z]\w*(?:_\{\w+\})?"
"""The pattern of a name, with a subscript in braces or without."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx")
_SIGNS = str.maketrans(
    {
        "−": "-", "–": "-", "‐": "-", "‑": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "∙": "*",
        "•": "*", "÷": "/", "∕": "/", "⁄": "/", "≤": "<=", "⩽": "<=", "≥": ">=", "⩾": ">=",
        "≠": "!=", "′": "'", "’": "'", "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ",
        "\u202f": " ", "\u2062": "*", "ℯ": "E",
    }
)  # fmt: skip
_GREEK_LETTERS = {
    unicodedata.lookup(
        f"GREEK {'SMALL' if name.islower() else 'CAPITAL'} LETTER {greek.upper()}"
    ): name
    for name in GREEK
    for greek in ["lamda" if name.lower() == "lambda" else name]
} | {"ϵ": "epsilon", "ϑ": "theta", "ϕ": "phi", "µ": "mu", "ϱ": "rho", "ς": "sigma"}


_UNDER_ROOT = re.compile(
    r"[A-Za-z][A-Za-z0-9]*+(?:_\{\w+\}|_\w*+)?|\d++(?:\.\d*+)?(?:[eE][+-]?\d++)?|\.\d++"
)
"""The argument of a root without parentheses: one name or one number."""


def _roots(text: str) -> str:
    """Write ``√`` as ``sqrt``, of parentheses or of one name or number.

    Raises
    ------
    AmbiguousError
        If anything but a sign of arithmetic follows the name or the number.
    """
    while "√" in text:
        before, _, after = text.rpartition("√")
        after = after.lstrip()
        if after.startswith("("):
            text = f"{before}sqrt{after}"
            continue
        radicand = _UNDER_ROOT.match(after)
        rest = after[radicand.end() :].lstrip() if radicand else after
        if radicand is None or re.match(r"(?!(?:if|else|and|or)\b)[\w(√|^]|\*\*", rest):
            raise AmbiguousError(
                "it is not clear what a root sign without parentheses is of",
                "Write sqrt(2)*x or sqrt(2*x).",
            )
        text = f"{before}sqrt({radicand[0]}){after[radicand.end() :]}"
    return text


def in_ascii(text: str) -> str:
    """Replace signs of typography by those of a keyboard; what has no such meaning stays."""
    if text.isascii():
        return text
    text = re.sub("[⁰¹²³⁴-⁹⁻⁺]+", lambda found: f"^({found[0].translate(_SUPERSCRIPTS)})", text)
    below = "".join(map(chr, _SUBSCRIPTS))
    text = re.sub(
        f"_?[{below}]+", lambda found: f"_{{{found[0].strip('_').translate(_SUBSCRIPTS)}}}", text
    )
    if re.search(r"\d[¼-¾⅐-⅞]", text):
        raise AmbiguousError(
            "a number before a fraction can be a sum and a product", "Write 1 + 1/2."
        )
    text = re.sub(
        "[¼-¾⅐-⅞]",
        lambda found: f"({unicodedata.normalize('NFKC', found[0]).replace(chr(0x2044), '/')})",
        text,
    )
    text = text.translate(_SIGNS).replace("π", " pi ")
    for letter, name in _GREEK_LETTERS.items():
        if letter not in text:
            continue
        if re.search(rf"{letter}[^\W\d_]|[^\W\d_]{letter}", text):
            raise AmbiguousError(
                f"the letter {letter!a} next to another one can be a product and part of a name",
                f"Write {name} for the letter, and * for products.",
            )
        text = text.replace(letter, name)
    return _roots(text)
