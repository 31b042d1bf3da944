"""Metrics of answers that are surfaces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eqverdict.grammar import read
from eqverdict.tree import Call, Chain, Power, names_in, parts
from mdbench.datatypes.surface.clouds import Distances
from mdbench.metrics.spec import MetricSpec, flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eqverdict.tree import Node

FAILURES = ("none", "fitting", "search")
FORMS = {
    "scaled": ("", "", ", in diagonals of the box that holds the true cloud"),
    "raw": ("raw_", "raw ", ", in the unit of the axes, as the published code has it"),
    "aligned": (
        "aligned_",
        "aligned ",
        ", in the unit of the axes, after the best similarity transform that is found",
    ),
}
"""The forms of distances: the beginning of their names and of their titles, and their units."""
DISTANCES = {
    "chamfer": ("Chamfer", "mean distance from either cloud to the nearest of the other, added"),
    "hausdorff": ("Hausdorff", "largest distance from either cloud to the nearest of the other"),
    "hausdorff_95": ("Hausdorff 95 %", "the same, of all but the farthest 5 %"),
}
_NOTHING = vars(Distances.of_nothing(1.0))
"""The score of no answer: that of a surface without points."""


def _distances() -> tuple[MetricSpec, ...]:
    specs = []
    for distance, (title, explanation) in DISTANCES.items():
        for form, (prefix, word, unit) in FORMS.items():
            shown = form == "scaled" and distance != "hausdorff_95"
            first = form == "scaled" and distance == "chamfer"
            specs.append(
                MetricSpec(
                    name=f"{prefix}{distance}",
                    title=f"{word}{title}",
                    explanation=f"{explanation}{unit}",
                    scale="log",
                    resolution=1e-12,
                    on_failure=_NOTHING[distance] if form == "scaled" else math.inf,
                    places=frozenset({"board", "answer", "brief", "figure"})
                    if first
                    else frozenset({"board", "answer"} if shown else set()),
                )
            )
    return tuple(specs)


TABLE = (
    MetricSpec(
        name="nmse",
        title="NMSE",
        explanation="squared error on the test data over the variance of the targets, both summed "
        "over the outputs",
        scale="log",
        resolution=1e-12,
        places=frozenset({"board", "answer"}),
    ),
    MetricSpec(
        name="nmse_ood",
        title="NMSE out of domain",
        explanation="the same on rows of which every input is out of the domain; 1e12 where a "
        "value is not finite",
        scale="log",
        resolution=1e-12,
        places=frozenset({"board", "answer"}),
    ),
)
COVERAGE = (
    MetricSpec(
        name="coverage_shape",
        title="coverage",
        explanation="share of the points of the true cloud at which the answer is finite",
        better="higher",
        on_failure=0.0,
        aggregate="mean",
        digits=3,
        places=frozenset({"board"}),
    ),
    MetricSpec(
        name="coverage_ood",
        title="coverage out of domain",
        explanation="share of the rows out of the domain at which the answer is finite",
        better="higher",
        on_failure=0.0,
        aggregate="mean",
        digits=3,
        places=frozenset(),
    ),
)
SYMBOLIC = (
    flag(
        "solution",
        "solutions",
        "answers that are the truth but for a constant term or factor of each equation; of "
        "implicit surfaces those with the same zeros in the box",
        places={"board", "brief", "figure"},
    ),
    MetricSpec(
        name="failure_kind",
        title="kinds of failure",
        explanation="why an answer is not the truth: search, a family of functions is missing or "
        "too many; fitting, the families are right, and the structure or a constant wrong",
        kind="label",
        labels=FAILURES,
        better="neither",
        on_failure=None,
        aggregate="counts",
    ),
)
SHAPES = _distances()


_FAMILIES = {
    "trigonometric": "sin cos tan cot",
    "inverse trigonometric": "asin acos atan arcsin arccos arctan",
    "exponential": "exp",
    "hyperbolic": "sinh cosh tanh",
    "inverse hyperbolic": "asinh acosh atanh arcsinh arccosh arctanh",
    "logarithmic": "log ln",
    "root": "sqrt",
    "modulus": "abs Abs",
    "step": "sign max min Max Min",
}
_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def families(equations: Sequence[str], variables: Sequence[str]) -> frozenset[str]:
    """Return the families of functions of variables in equations; polynomials have none.

    Examples
    --------
    >>> sorted(families(["x**2*sin(y)/(1 + 0.2*y**2)"], ["x", "y"]))
    ['rational', 'trigonometric']
    >>> families(["sin(2)*x + 1/3"], ["x", "y"])
    frozenset()
    """
    trees = (read(text, variables) for text in equations)
    return frozenset(family for tree in trees for node in parts(tree) for family in _of(node))


def failure(
    truth: Sequence[str],
    equations: Sequence[str],
    variables: Sequence[str],
    *,
    identified: bool | None,
) -> str | None:
    """Return how an answer fails.

    Parameters
    ----------
    identified
        Whether it is the truth; None where that could not be decided.

    Returns
    -------
    str or None
        One of `FAILURES`: ``search`` where a family of functions is missing or too many, else
        ``fitting``: the structure or a constant is wrong.  None where it is not known whether it is
        the truth, and its families are the truth's.

    References
    ----------
    Kabra et al., "SurfaceBench", section 5.4.
    """
    if identified:
        return "none"
    if families(truth, variables) != families(equations, variables):
        return "search"
    return None if identified is None else "fitting"


def _of(node: Node) -> Iterator[str]:
    match node:
        case Call() if _hangs(node):
            yield _OF.get(node.function, node.function)
        case Power() if _hangs(node.exponent):
            yield "exponential"
        case Power(exponent=exponent) if _hangs(node.base):
            value = 1.0 if exponent.constant is None else float(exponent.constant)
            if not value.is_integer():
                yield "root"
            if value < 0:
                yield "rational"
        case Chain():
            if any(symbol == "/" and _hangs(operand) for symbol, operand in node.rest):
                yield "rational"


def _hangs(node: Node) -> bool:
    return any(True for _ in names_in(node))
