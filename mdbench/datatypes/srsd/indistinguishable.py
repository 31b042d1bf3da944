"""Laws that no data within their published ranges tell from a simpler function.

Of Clausius and Mossotti's law ``1 + x/(1 - x/3)`` only ``1 + x`` can be seen where x is below 1e-6.
``datasets/srsd/indistinguishable.json`` lists such problems, each with the simpler function and the
largest relative difference on the domain; ``scripts/indistinguishable`` computes it.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from eqverdict.grammar import read
from eqverdict.interval_eval import known_value
from eqverdict.tree import Call, Variable, parts, text_of, with_part
from mdbench.workspace import Workspace, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eqverdict.tree import Node

BOUND = 1e-12
"""Functions that differ by no more, over their size, are one to data in double precision."""
_FILE = "indistinguishable.json"
_DRAWN, _CORNERS, _FIRST = 200, 64, 3
_NEAR_ZERO = {
    **dict.fromkeys(("sin", "tan", "tanh", "sinh", "asin", "atan"), ("{z}",)),
    "cos": ("1", "1 - {z}**2/2"),
    "cosh": ("1", "1 + {z}**2/2"),
    "exp": ("1", "1 + {z}"),
    "log": ("{z} - 1",),
}
"""What functions are near 0, the logarithm near 1."""


@dataclass(frozen=True)
class Simpler:
    """A simpler function, and its largest relative difference from a law on the law's domain."""

    function: str
    difference: float


def simpler_function(
    law: str, domain: Mapping[str, Mapping[str, Any]], bound: float = BOUND
) -> Simpler | None:
    """Return the simplest function of a law's parts that its ranges do not tell from it.

    Each part is replaced by 0, by 1, and each function by what it is near 0.

    Parameters
    ----------
    law
        The right-hand side.
    domain
        The range of each variable, as `Problem.domain` has it.
    bound
        The largest relative difference, at points drawn in the domain and at its corners.

    Returns
    -------
    Simpler or None
        None where each such function differs by more.

    Examples
    --------
    >>> tiny = {"x": {"low": 1e-9, "high": 1e-7, "sign": "positive"}}
    >>> simpler_function("1 + x/(1 - x/3)", tiny).function
    '(1 + (x / (1 - (0 / 3))))'
    >>> simpler_function("1 + x/(1 - x/3)", {"x": tiny["x"] | {"high": 1.0}}) is None
    True
    """
    tree = read(law, tuple(domain))
    points = _points(domain)
    known = [(point, number) for point in points if (number := _value(tree, point)) is not None]
    best: tuple[tuple[int, ...], float, str] | None = None
    for other in _candidates(tree, tuple(domain)):
        if _size(other) >= _size(tree):
            continue
        largest = _difference(other, known, bound) if known else None
        if largest is not None:
            best = min(filter(None, (best, (_size(other), largest, text_of(other)))))
    return None if best is None else Simpler(best[2], best[1])


def _size(tree: Node) -> tuple[int, ...]:
    """Return how many functions an equation has, and how often a variable."""
    nodes = list(parts(tree))
    return tuple(sum(isinstance(node, kind) for node in nodes) for kind in (Call, Variable))


def _candidates(tree: Node, names: tuple[str, ...]) -> Iterator[Node]:
    for part in parts(tree):
        if part.constant is not None or part is tree:
            continue
        texts = ["0", "1"]
        if isinstance(part, Call):
            z = f"({text_of(part.arguments[0])})"
            texts += [text.format(z=z) for text in _NEAR_ZERO.get(part.function, ())]
        for text in texts:
            yield with_part(tree, part, read(text, names))


def _difference(
    other: Node, known: Sequence[tuple[Mapping[str, float], Any]], bound: float
) -> float | None:
    """Return the largest relative difference; None if it is above the bound somewhere."""
    largest = 0.0
    for point, number in known:
        value = _value(other, point)
        if value is None:
            return None
        size = abs(value) + abs(number)
        share = 0.0 if size.is_zero() else float(((abs(value - number)) / size).upper())
        if not share <= bound:
            return None
        largest = max(largest, share)
    return largest


def _value(tree: Node, point: Mapping[str, float]) -> Any:
    try:
        return known_value(tree, point)
    except ArithmeticError:
        return None


def _points(domain: Mapping[str, Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return points of a domain, always the same: some drawn, and its corners."""
    generator = random.Random("points")  # noqa: S311 - the same for all, not secrets
    names = list(domain)
    drawn = [{name: _drawn(domain[name], generator) for name in names} for _ in range(_DRAWN)]
    ends = [(float(domain[name]["low"]), float(domain[name]["high"])) for name in names]
    corners = [dict(zip(names, c, strict=True)) for c in islice(product(*ends), _CORNERS)]
    # Where differences are largest comes first.
    return [*reversed(corners), *drawn]


def _drawn(spread: Mapping[str, Any], generator: random.Random) -> float:
    low, high = float(spread["low"]), float(spread["high"])
    wide = low > 0 and high > 100 * low
    value = (
        math.exp(generator.uniform(math.log(low), math.log(high)))
        if wide
        else generator.uniform(low, high)
    )
    negative = spread["sign"] == "negative" or (
        spread["sign"] == "mixed" and generator.random() < 0.5  # noqa: PLR2004 - even odds
    )
    return -value if negative else value


def write_list(listed: Mapping[str, Simpler], workspace: Workspace) -> None:
    """Write the list of problems, sorted by name."""
    content = {name: asdict(listed[name]) for name in sorted(listed)}
    text = json.dumps(content, indent=1) + "\n"
    write_whole(workspace.datasets / "srsd" / _FILE, lambda file: file.write(text.encode()))


@cache
def indistinguishable() -> Mapping[str, Simpler]:
    """Read the list of problems."""
    path = Workspace.find().datasets / "srsd" / _FILE
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return {name: Simpler(**entry) for name, entry in content.items()}


def is_attainable(dataset: str, snr_db: float | None) -> bool:  # noqa: ARG001 - any noise hides more
    """Whether a problem's law can be told from simpler functions by data in its ranges."""
    return dataset.partition("+")[0] not in indistinguishable()
