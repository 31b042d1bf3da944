"""A derivation as mathematics, and how well methods classify it in sets that are perturbed."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from sympy import exp
from sympy.printing.conventions import requires_partial
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import PRECEDENCE

from mdbench.datatypes.derivation.answers import CATEGORIES
from mdbench.datatypes.derivation.scores import TITLES
from mdbench.drawing.svg import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import sympy

    from mdbench.datatypes.derivation.answers import OperatorRow

_WIDTH, _LEFT, _RIGHT, _BAR, _GAP, _TOP = 480, 70, 12, 9, 10, 6


@dataclass(frozen=True)
class DerivationLine:
    """One line of a derivation.

    Attributes
    ----------
    number
        Of the step; a word for a candidate.
    operation
        What gave it, in words.
    sides
        The equation.
    """

    number: str
    operation: str
    sides: tuple[sympy.Expr, sympy.Expr]


@dataclass(frozen=True)
class MethodScores:
    """The scores of a method on a system.

    Attributes
    ----------
    accuracy
        By the title of a set: the share of sequences that are labelled rightly, and the ends of its
        interval where there are some.
    chose
        Which candidate of the derivation that is shown it takes for right.
    """

    method: str
    number: int
    accuracy: Mapping[str, tuple[float, float | None, float | None]]
    chose: str


def derivation_pictures(
    lines: Sequence[DerivationLine], asked: str, scores: Sequence[MethodScores]
) -> str:
    """Draw a derivation step by step with its candidates, who chose which, and bars of all sets.

    Parameters
    ----------
    lines
        The steps that are known, and then the right and the wrong candidate.
    asked
        The operation whose result is asked for.
    scores
        The scores of methods on them.

    Returns
    -------
    str
        HTML: two figures at most.
    """
    rows = "".join(
        f"<tr><td>{escape(line.number)}</td><td>{escape(line.operation)}</td>"
        f"<td>{_equation(line.sides)}</td></tr>"
        for line in lines
    )
    chosen = "".join(
        f"<li>{escape(one.method)}: {escape(one.chose)}</li>" for one in scores if one.chose
    )
    shown = (
        f"<figure><table><tbody>{rows}</tbody></table><figcaption>The first of the test: "
        f"what does {escape(asked)} give? Taken for right by</figcaption><ul>{chosen}</ul></figure>"
    )
    return shown + (_bars(scores) if scores else "")


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """SymPy's printer, which has no brackets at derivatives of sums and powers of exp, and d²x."""

    def parenthesize(self, item: Any, level: int, strict: bool = False) -> Any:
        if isinstance(item, exp) and level >= PRECEDENCE["Pow"]:
            level = PRECEDENCE["Func"] + 1
        return super().parenthesize(item, level, strict)

    def _print_Derivative(self, expr: Any) -> Any:  # noqa: N802 - SymPy calls it by this name
        d = "&#x2202;" if requires_partial(expr.expr) else self.mathml_tag(expr)
        order = sum(count for _, count in expr.variable_count)
        above, below = self._made("mrow"), self._made("mrow")
        above.appendChild(self._raised(self._made("mo", d), order))
        for variable, count in reversed(expr.variable_count):
            below.appendChild(self._made("mo", d))
            below.appendChild(self._raised(self._print(variable), count))
        fraction, row = self._made("mfrac"), self._made("mrow")
        fraction.appendChild(above)
        fraction.appendChild(below)
        row.appendChild(fraction)
        # How much of a product it is the derivative of is not seen either.
        row.appendChild(self.parenthesize(expr.expr, PRECEDENCE["Mul"]))
        return row

    def _made(self, tag: str, text: str = "") -> Any:
        element = self.dom.createElement(tag)
        if text:
            element.appendChild(self.dom.createTextNode(text))
        return element

    def _raised(self, base: Any, count: Any) -> Any:
        if count == 1:
            return base
        raised = self._made("msup")
        raised.appendChild(base)
        raised.appendChild(self._print(count))
        return raised


def _equation(sides: tuple[sympy.Expr, sympy.Expr]) -> str:
    # Each product has its dot: x(y) is the value of a function, of which there are some.
    left, right = (_Printer({"mul_symbol": "dot"}).doprint(side) for side in sides)
    return f"<math><mrow>{left}<mo>=</mo>{right}</mrow></math>"


def _bars(scores: Sequence[MethodScores]) -> str:
    """Draw a bar for each set and method, from 0 to 1, with a line for what a coin has."""
    sets = list(dict.fromkeys(name for one in scores for name in one.accuracy))
    height_each = len(scores) * _BAR + _GAP
    height = _TOP + height_each * len(sets) + 16
    wide = _WIDTH - _LEFT - _RIGHT
    drawn = []
    for place, name in enumerate(sets):
        y = _TOP + place * height_each
        drawn.append(f'<text x="4" y="{y + height_each / 2:.1f}">{escape(name)}</text>')
        for row, score in enumerate(scores):
            if name not in score.accuracy:
                continue
            value, low, high = score.accuracy[name]
            top = y + row * _BAR
            bar = (
                f'<path d="M{_LEFT} {top:.1f}h{value * wide:.1f}v{_BAR - 2}h{-value * wide:.1f}z"/>'
            )
            if low is not None and high is not None:
                ends = [_LEFT + min(1.0, max(0.0, end)) * wide for end in (low, high)]
                middle = f"{top + _BAR / 2 - 1:.1f}"
                line = f"M{ends[0]:.1f} {middle}H{ends[1]:.1f}"
                bar += f'<path d="{line}" stroke="currentColor"/>'
            title = f"{score.method}, {name}: {value:.3f}"
            drawn.append(
                f'<g class="m{score.number % COLOURS}"><title>{escape(title)}</title>{bar}</g>'
            )
    coin = _LEFT + wide / 2
    drawn.append(
        f'<path d="M{coin:.1f} {_TOP}V{height - 14}" stroke="currentColor" stroke-dasharray="2 3"/>'
        f'<text x="{coin:.1f}" y="{height - 3}" text-anchor="middle">0.5</text>'
    )
    keys = "".join(
        f'<span><svg class="m{one.number % COLOURS}" viewBox="0 0 12 8" aria-hidden="true">'
        f'<path d="M0 0h12v8h-12z"/></svg>{escape(one.method)}</span>'
        for one in scores
    )
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {height}" role="img"><title>Accuracy by set</title>'
        f'{"".join(drawn)}</svg><p class="legend">{keys}</p><figcaption>The share of sequences '
        "that are labelled rightly, by set; lines: 95 % intervals of the drop from the static set."
        "</figcaption></figure>"
    )


_OPERATOR_LEFT, _RATIOS = 150, 2.0
"""Width of an operator's name, and the largest ratio that is drawn."""


def operator_pictures(tables: Mapping[tuple[str, int], Sequence[OperatorRow]]) -> str:
    """Show which operators go with right labels: a figure, and a table of each method.

    Parameters
    ----------
    tables
        By the name and the number of a method.

    Returns
    -------
    str
        HTML; empty without tables.
    """
    if not any(tables.values()):
        return ""
    drawn = operator_bars(tables)
    keys = "".join(
        f'<span><svg class="m{number % COLOURS}" viewBox="0 0 12 8" aria-hidden="true">'
        f'<path d="M0 0h12v8h-12z"/></svg>{escape(method)}</span>'
        for method, number in tables
    )
    figure = (
        f'<figure>{drawn}<p class="legend">{keys}</p><figcaption>{OPERATORS_CAPTION}</figcaption>'
        "</figure>"
    )
    shown = "".join(
        f"<details><summary>{escape(method)}: operators behind right and wrong labels</summary>"
        f"{_html_table(rows)}</details>"
        for (method, _), rows in tables.items()
    )
    return figure + shown


def operators_head(rows: Sequence[OperatorRow]) -> list[str]:
    """Return the heads of the columns of `operator_cells`."""
    asked = [f"asked for: {TITLES[name]}" for name in _sets_asked(rows)]
    return ["operator", "derivations", "static", *asked, *CATEGORIES]


def _sets_asked(rows: Sequence[OperatorRow]) -> list[str]:
    return [name for name in TITLES if any(name in row.asked for row in rows)]


OPERATORS_CAPTION = (
    "How frequent each operator is among the steps of the derivations that a method labels rightly "
    "in the static set and in all perturbed ones, divided by its frequency in the static set: "
    "above 1 it goes with right labels."
)


def operator_cells(rows: Sequence[OperatorRow]) -> list[list[str]]:
    """Write the rows of the table: name, number, accuracies, and ratios of frequencies."""
    names = _sets_asked(rows)
    return [
        [
            row.operator,
            str(row.derivations),
            f"{row.accuracy:.3f}",
            *(f"{row.asked[name]:.3f}" if name in row.asked else "" for name in names),
            *("" if each is None else f"{each:.2f}" for each in row.ratios),
        ]
        for row in rows
    ]


def _html_table(rows: Sequence[OperatorRow]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in operators_head(rows))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for cells in operator_cells(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def operator_bars(tables: Mapping[tuple[str, int], Sequence[OperatorRow]]) -> str:
    """Draw as SVG, for each operator and method, the ratio of the category *All*, from 0 to 2."""
    category = CATEGORIES.index("All")
    names = list(dict.fromkeys(row.operator for rows in tables.values() for row in rows))
    height_each = len(tables) * _BAR + _GAP
    height = _TOP + height_each * len(names) + 16
    wide = (_WIDTH - _OPERATOR_LEFT - _RIGHT) / _RATIOS
    drawn = []
    for number, name in enumerate(names):
        y = _TOP + number * height_each
        drawn.append(f'<text x="4" y="{y + height_each / 2:.1f}">{escape(name)}</text>')
        for line, ((method, colour), rows) in enumerate(tables.items()):
            ratio = next((row.ratios[category] for row in rows if row.operator == name), None)
            if ratio is None:
                continue
            top, length = y + line * _BAR, min(ratio, _RATIOS) * wide
            title = escape(f"{method}, {name}: {ratio:.2f}")
            drawn.append(
                f'<g class="m{colour % COLOURS}"><title>{title}</title><path '
                f'd="M{_OPERATOR_LEFT} {top:.1f}h{length:.1f}v{_BAR - 2}h{-length:.1f}z"/></g>'
            )
    unit_x = _OPERATOR_LEFT + wide
    drawn.append(
        f'<path d="M{unit_x:.1f} {_TOP}V{height - 14}" stroke="currentColor"'
        ' stroke-dasharray="2 3"/>'
        f'<text x="{unit_x:.1f}" y="{height - 3}" text-anchor="middle">1</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img"><title>Operators behind right labels'
        f"</title>{''.join(drawn)}</svg>"
    )
