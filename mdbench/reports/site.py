"""One page with everything: no network, no scripts needed, nothing outside the file."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mdbench import __version__
from mdbench.records import Status
from mdbench.reports import figures, leaderboard
from mdbench.reports.entries import ENDS, VERDICTS, entry
from mdbench.reports.heat import heat_map
from mdbench.drawing.numbers import NOTHING, cleanest_first, duration, fixed, noise_name, scientific
from mdbench.reports.results import report_order
from mdbench.drawing.svg import COLOURS, marker
from mdbench.reports.systems import Cell, Scope, system_section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.reports.entries import Case, Entry
    from mdbench.reports.leaderboard import Board, Kind, Row
    from mdbench.reports.pictures import Drawn
    from mdbench.reports.results import Result

__all__ = ["COLUMNS", "Cell", "cells", "page"]

COLUMNS = (
    ("rank", "mean rank over the systems that all ranked methods attempted; 1 is best"),
    ("method", ""),
    ("family", ""),
    ("NMSE", "median error on the test data, raised to the noise floor"),
    ("95 %", "bootstrap interval of that median, whole systems drawn anew"),
    ("× floor", "median of the error over that of the true equations on the same inputs"),
    ("identified", "answers with all true terms, no other, coefficients within 5 %"),
    ("one off", "answers with one term missing or extra"),
    ("F1", "of terms, median; 0 without an answer"),
    (
        "R² test",
        "jobs with R² above 0.9, simulated through the test window from its first true state",
    ),
    ("R² unseen", "the same from the second initial condition, which no method is given"),
    ("broke off", "simulations that did not come to the last time, by cause"),
    ("residual", "median error on clean data, whatever noise the method was given"),
    ("R² accuracy", "jobs whose R² on the test data is above 0.999"),
    ("solutions", "answers that are the truth but for a constant term or factor"),
    ("NED", "normalized edit distance to the truth, mean; 1 without an answer"),
    ("nodes", "median complexity of the answers"),
    ("answers", "jobs with an answer, of all"),
    ("time", "median wall time of a job"),
    ("total", "wall time of all jobs"),
    ("memory", "peak of any job, MB"),
    ("not ok", "jobs that ended otherwise than ok, by cause"),
)
"""The leaderboard's columns, each with what it means."""
OF_SIMULATIONS = ("R² test", "R² unseen", "broke off")
"""Those that only a data type with simulations has."""
OF_RESIDUALS = ("residual",)
OF_TABLES = ("R² accuracy", "solutions", "NED")
"""Those of SRSD and SRBench."""
WRAPPED = ("identified", "one off", "R² test", "R² unseen", "broke off", "solutions", "not ok")
"""Those that may take two lines where there is little room."""
MOST_REASONS = 40
"""Kinds of failure that are listed for a data type."""


def cells(row: Row) -> list[Cell]:
    """Write a line of the leaderboard, in the order of `COLUMNS`."""
    interval = NOTHING
    if row.low is not None and row.high is not None:
        interval = f"{scientific(row.low)} … {scientific(row.high)}"
    judged = row.judged > 0

    def share(count: int, of: int) -> Cell:
        if not of:
            return Cell(NOTHING)
        return Cell(f"{count}/{of} ({fixed(100 * count / of)}\xa0%)", count / of)

    name = f"{row.method} (reference)" if row.reference else row.method
    return [
        Cell(fixed(row.rank, 2), row.rank),
        Cell(name, row.method),
        Cell(row.family, row.family),
        Cell(scientific(row.median), row.median),
        Cell(interval, row.low),
        Cell(fixed_or_power(row.above_floor), row.above_floor),
        share(row.identified, row.judged),
        share(row.one_term_off, row.judged),
        Cell(fixed(row.f1, 2) if judged else NOTHING, row.f1 if judged else None),
        share(row.holds, row.simulated),
        share(row.holds_unseen, row.simulated_unseen),
        _causes(row.ended),
        Cell(scientific(row.residual), row.residual),
        share(row.accurate, row.tabled),
        share(row.solved, row.compared),
        Cell(fixed(row.distance, 2), row.distance),
        Cell(fixed(row.complexity), row.complexity),
        Cell(f"{row.answered}/{row.jobs}", row.answered / row.jobs),
        Cell(duration(row.wall_s), row.wall_s),
        Cell(duration(row.total_s), row.total_s),
        Cell(fixed(row.memory_mb), row.memory_mb),
        _causes(row.causes),
    ]


def _causes(counts: Mapping[str, int]) -> Cell:
    # Only the commas are places to break a line.
    parts = (f"{n}_{cause}".replace("_", "\xa0") for cause, n in counts.items())
    text = ", ".join(parts)
    return Cell(text or NOTHING, sum(counts.values()))


def shown_columns(board: Board) -> list[int]:
    """Choose the columns that say something about a data type, by their numbers."""
    hidden: tuple[str, ...] = ()
    if not board.has_simulations:
        hidden += OF_SIMULATIONS
    if not board.has_residuals:
        hidden += OF_RESIDUALS
    if not any(row.tabled for row in board.rows):
        hidden += OF_TABLES
    return [number for number, (name, _) in enumerate(COLUMNS) if name not in hidden]


def fixed_or_power(value: float | None) -> str:
    """Write a ratio: with one digit behind the point, or as a power where it is large."""
    if value is None or not 1000 < value < math.inf:  # noqa: PLR2004 - still easy to read
        return fixed(value, 1)
    return scientific(value)


def page(
    results: Iterable[Result],
    kinds: Mapping[str, Kind],
    *,
    title: str = "mdbench report",
    picture: Callable[[Sequence[Result], Mapping[str, int]], Drawn] | None = None,
    describe: Callable[[str, str], str] | None = None,
) -> str:
    """Make the page.

    Parameters
    ----------
    results
        Those that stand, of all data types.
    kinds
        What is known of the methods.
    title
        The page's heading.
    picture
        Draws a system, given its results and the methods' numbers.
    describe
        Says in a few words what a dataset is, given its data type and name.

    Returns
    -------
    str
        HTML in UTF-8.
    """
    results = sorted(results, key=report_order)
    methods = sorted({result.algorithm for result in results})
    by_type: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_type[result.data_type].append(result)
    numbers = _numbers([{one.algorithm for one in ones} for ones in by_type.values()])
    noise = list(dict.fromkeys(result.snr_db for result in results))
    noise.sort(key=cleanest_first)
    protocols = sorted({result.protocol for result in results})
    scope = Scope(numbers, noise, protocols, picture, describe)
    sections, data = [], {}
    for data_type, ones in by_type.items():
        entries = [entry(one) for one in ones]
        board = leaderboard.board(entries, kinds)
        sections.append(_section(data_type, ones, board, scope))
        columns = _columns(board.entries, methods, noise, protocols)
        data[data_type] = {**columns, "shown": shown_columns(board)}
    families = {method: kinds.get(method, leaderboard.Kind()) for method in methods}
    data_json = {
        "methods": [[m, families[m].family, int(families[m].reference)] for m in methods],
        "noise": noise,
        "protocols": protocols,
        "statuses": [str(status) for status in Status],
        "ends": ENDS,
        "types": data,
    }
    environment = Environment(
        loader=PackageLoader("mdbench.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    dims = sorted({result.dim for result in results if result.dim is not None})
    return environment.get_template("report.html.j2").render(
        title=title,
        version=__version__,
        sections=sections,
        columns=COLUMNS,
        count=len(results),
        first=min((r.measured.started[:10] for r in results if r.measured.started), default=""),
        last=max((r.measured.started[:10] for r in results), default=""),
        noise=[noise_name(snr_db) for snr_db in noise],
        dims=dims,
        families=sorted({kind.family for kind in families.values()}),
        protocols=protocols,
        resamples=leaderboard.RESAMPLES,
        round_off=f"{leaderboard.ROUND_OFF:g}",
        coverage=f"{leaderboard.COVERAGE:.0%}",
        data=Markup(_json(data_json)),  # noqa: S704 - `<` is escaped
    )


def _numbers(together: Sequence[AbstractSet[str]]) -> dict[str, int]:
    """Number methods so that those of one data type share a colour only where they must."""
    found: dict[str, int] = {}
    everyone = set[str]().union(*together)
    for method in sorted(everyone, key=lambda m: (-sum(m in ones for ones in together), m)):
        near = [found[m] % COLOURS for ones in together if method in ones for m in ones & {*found}]
        free = (n for n in range(COLOURS * (len(found) + 1)) if n not in found.values())
        found[method] = min(free, key=lambda n: (near.count(n % COLOURS), n))
    return found


def _section(
    data_type: str, results: Sequence[Result], board: Board, scope: Scope
) -> dict[str, Any]:
    """Gather what the template shows of a data type."""
    by_system: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_system[result.system].append(result)
    unfit: dict[str, list[str]] = defaultdict(list)
    for case, reason in board.unfit.items():
        unfit[case.system].append(f"{_case_name(case, scope.protocols)}: {reason}")
    systems = [
        system_section(f"{data_type}-{number}", ones, scope, unfit[name])
        for number, (name, ones) in enumerate(by_system.items())
    ]
    heat = []
    for snr_db in scope.noise:
        if any(result.snr_db == snr_db for result in results):
            svg = heat_map(board, snr_db)
            heat.append((noise_name(snr_db), Markup(svg)))  # noqa: S704 - our own SVG
    numbers = scope.numbers
    cd = figures.critical_difference(board, numbers)
    shown = shown_columns(board)
    written = [cells(row) for row in board.rows]
    return {
        "name": data_type,
        "board": board,
        "columns": [(*COLUMNS[number], COLUMNS[number][0] in WRAPPED) for number in shown],
        "rows": [[row[number] for number in shown] for row in written],
        "count": len(results),
        "ranked": len(board.ranked),
        "figures": [_safe(figure) for figure in figures.figures(board, numbers)],
        "legend": [(m, numbers[m] % COLOURS, _sign(numbers[m])) for m in sorted(board.losses)],
        "heat": heat,
        "cd": cd and _safe(cd),
        "pairs": [_pair(pair) for pair in board.pairs],
        "unfit": sorted(
            (_case_name(c, scope.protocols, c.system), r) for c, r in board.unfit.items()
        ),
        "reasons": _reasons(results),
        "systems": systems,
        "judged": any(row.judged for row in board.rows),
    }


def _pair(pair: leaderboard.Pair) -> dict[str, Any]:
    test = pair.test
    better = pair.method if test.effect < 0 else pair.other
    return {
        "names": f"{pair.method} – {pair.other}",
        "n": test.n,
        "wins": test.wins,
        "ties": test.zeros,
        "losses": test.losses,
        "effect": Cell(fixed(test.effect, 2), abs(test.effect)),
        "p": Cell(scientific(test.p), test.p),
        "corrected": Cell(scientific(pair.corrected), pair.corrected),
        "says": f"{better} is better" if pair.corrected < 0.05 else "not told apart",  # noqa: PLR2004
    }


def _reasons(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Group the failures of a method by status and reason, the most frequent first."""
    groups: dict[tuple[str, Status, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.status is not Status.OK:
            groups[result.algorithm, result.status, result.reason].append(result)
    most = sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_REASONS]
    return [
        {
            "method": method,
            "status": str(status),
            "reason": reason,
            "count": len(ones),
            "example": ones[0].system,
        }
        for (method, status, reason), ones in most
    ]


def _columns(
    entries: Sequence[Entry],
    methods: Sequence[str],
    noise: Sequence[float | None],
    protocols: Sequence[str],
) -> dict[str, list[Any]]:
    """Write entries as columns for the page's script; small numbers instead of names."""
    systems: dict[str, int] = {}
    statuses = {status: number for number, status in enumerate(Status)}
    found: dict[str, list[Any]] = defaultdict(list)
    for one in entries:
        found["m"].append(methods.index(one.method))
        found["s"].append(systems.setdefault(one.case.system, len(systems)))
        found["n"].append(noise.index(one.case.snr_db))
        found["p"].append(protocols.index(one.case.protocol))
        found["d"].append(one.dim)
        found["x"].append(statuses[one.status])
        found["e"].append(None if math.isinf(one.nmse) else one.nmse)
        found["f"].append(one.floor)
        found["c"].append(one.complexity)
        found["j"].append(int(one.judged))
        found["v"].append(_place_in(VERDICTS, one.verdict))
        found["g"].append(one.f1)
        found["h"].append(_truth_number(one.holds))
        found["u"].append(_truth_number(one.holds_unseen))
        found["k"].append(_place_in(ENDS, one.ended))
        found["q"].append(one.residual)
        found["a"].append(_truth_number(one.accurate))
        found["o"].append(_truth_number(one.solved))
        found["z"].append(one.distance)
        found["w"].append(one.wall_s)
        found["b"].append(one.memory_mb)
    return {**found, "systems": list(systems)}


def _place_in(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else -1


def _truth_number(value: bool | None) -> int:
    return -1 if value is None else int(value)


def _json(value: Any) -> str:
    # Inside a script element only this sign could end it.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _safe(figure: figures.Figure) -> dict[str, Any]:
    svg = Markup(figure.svg)  # noqa: S704 - our own SVG, whose texts were escaped
    return {"title": figure.title, "caption": figure.caption, "svg": svg}


def _sign(number: int) -> Markup:
    shape = marker(number, 8, 8, 5)
    svg = f'<svg class="sign m{number % COLOURS}" viewBox="0 0 16 16" aria-hidden="true">{shape}'
    return Markup(svg + "</svg>")  # noqa: S704 - our own SVG


def _case_name(case: Case, protocols: Sequence[str], system: str = "") -> str:
    parts = [system, noise_name(case.snr_db), case.protocol if len(protocols) > 1 else ""]
    return ", ".join(part for part in parts if part)
