"""One page with everything: no network, no scripts needed, nothing outside the file."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mdbench import __version__
from mdbench.drawing.numbers import cleanest_first, fixed, noise_name, percent, scientific
from mdbench.drawing.svg import COLOURS, marker
from mdbench.records import ANSWERED, RERUN_ALWAYS, Status
from mdbench.reports import figures, leaderboard
from mdbench.reports.entries import marked, measurements, report_order, run_conditions
from mdbench.reports.figures import heat_map
from mdbench.reports.language_models import (
    PROBE_HEADS,
    USAGE_HEADS,
    curves,
    model_usage,
    probe_rows,
    usage_row,
)
from mdbench.reports.leaderboard import heading
from mdbench.reports.systems import Scope, system_section
from mdbench.reports.tables import (
    CUT_EXPLAINED,
    Cell,
    cut_off,
    format_score,
    leaderboard_table,
    pooled,
    undecided,
    warning,
    without_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.language_models.contamination import ProbeReport
    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.entries import Case, Entry
    from mdbench.reports.leaderboard import Category, Leaderboard
    from mdbench.reports.systems import Draw

MOST_REASONS = 40
"""Kinds of failure that are listed for a data type."""


def page(
    results: Iterable[Record],
    boards: Mapping[str, Leaderboard],
    *,
    title: str = "mdbench report",
    picture: Draw | None = None,
    describe: Callable[[str, str], str] | None = None,
    derivatives: Mapping[str, str] | None = None,
    probes: Sequence[ProbeReport] = (),
    categories: Mapping[str, Sequence[Category]] | None = None,
    options: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Make the page.

    Parameters
    ----------
    results
        Those that count, of all data types.
    boards
        The comparisons of them, by data type.
    title
        The page's heading.
    picture
        Draws a system, given its results and the methods' numbers.
    describe
        Describes a dataset in a few words, given its data type and name.
    derivatives
        The letter of derivatives on the left-hand sides of a data type, where it is no d.
    probes
        What language models were found to know of the problems.
    categories
        Those of each data type that has several, with comparisons of their own.
    options
        The keys of the options of each data type.

    Returns
    -------
    str
        HTML in UTF-8.
    """
    results = sorted(results, key=report_order)
    methods = sorted({result.method for result in results})
    by_type: dict[str, list[Record]] = defaultdict(list)
    for result in results:
        by_type[result.data_type].append(result)
    numbers = _numbers([{one.method for one in ones} for ones in by_type.values()])
    noise = list(dict.fromkeys(result.snr_db for result in results))
    noise.sort(key=cleanest_first)
    protocols = sorted({result.protocol for result in results})
    known = {row.method: row for board in boards.values() for row in board.rows}
    references = {row.method for row in known.values() if row.reference}
    baselines = {row.method for row in known.values() if row.family == leaderboard.BASELINE}
    scope = Scope(numbers, noise, protocols, picture, describe, references, baselines)
    sections = [
        _section(kind, by_type[kind], board, scope, (derivatives or {}).get(kind, "d"))
        | {"parts": _parts(by_type[kind], (categories or {}).get(kind, ()))}
        for kind, board in boards.items()
    ]
    data_json = {
        "methods": [
            [m, known[m].family, int(known[m].reference), known[m].origin] for m in methods
        ],
        "noise": noise,
        "protocols": protocols,
        "statuses": [str(status) for status in Status],
        "answered": [str(status) for status in sorted(ANSWERED)],
        "silent": [str(status) for status in sorted(RERUN_ALWAYS)],
        "resamples": leaderboard.RESAMPLES,
        "coverage": leaderboard.COVERAGE,
        "cut": CUT_EXPLAINED,
        "types": {
            kind: _columns(board, methods, noise, protocols) for kind, board in boards.items()
        },
    }
    environment = Environment(
        loader=PackageLoader("mdbench.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    days = [result.measured.started.date().isoformat() for result in results]
    dims = sorted({result.dim for result in results if result.dim is not None})
    return environment.get_template("report.html.j2").render(
        title=title,
        version=__version__,
        sections=sections,
        models=_models(results, boards, numbers, probes),
        count=len(results),
        run_conditions=run_conditions(results, options),
        first=min(days, default=""),
        last=max(days, default=""),
        noise=[noise_name(snr_db, measured=measurements(results)) for snr_db in noise],
        dims=dims,
        families=sorted({row.family for row in known.values()}),
        protocols=protocols,
        resamples=leaderboard.RESAMPLES,
        coverage=percent(leaderboard.COVERAGE),
        data=Markup(_json(data_json)),  # noqa: S704 - `<` is escaped
    )


def _models(
    results: Sequence[Record],
    boards: Mapping[str, Leaderboard],
    numbers: Mapping[str, int],
    probes: Sequence[ProbeReport],
) -> dict[str, Any] | None:
    """Gather what the template shows of language models; None where nobody has asked one."""
    rows = [usage_row(one) for one in model_usage(results, boards)]
    if not rows and not probes:
        return None
    return {
        "heads": USAGE_HEADS,
        "rows": rows,
        "figures": [_safe(figure) for figure in curves(results, numbers).values()],
        "probe_heads": PROBE_HEADS,
        "probe_rows": probe_rows(probes),
    }


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
    data_type: str, results: Sequence[Record], board: Leaderboard, scope: Scope, derivative: str
) -> dict[str, Any]:
    """Gather what the template shows of a data type."""
    primary, numbers = board.primary, scope.numbers
    by_system: dict[str, list[Record]] = defaultdict(list)
    for result in results:
        by_system[result.system].append(result)
    unfit: dict[str, list[str]] = defaultdict(list)
    for case, floor in board.unfit.items():
        reason = f"the truth scores {format_score(primary, floor)}"
        unfit[case.system].append(f"{_case_name(case, scope.protocols)}: {reason}")
    systems = [
        system_section(
            f"{data_type}-{number}",
            ones,
            scope,
            board.known,
            unfit=unfit[name],
            derivative=derivative,
        )
        for number, (name, ones) in enumerate(by_system.items())
    ]
    heat = [
        (scope.noise.index(snr_db), board.noise_name(snr_db), Markup(heat_map(board, snr_db)))  # noqa: S704 - our own SVG
        for snr_db in board.noise_levels
    ]
    table = leaderboard_table(board)
    cd = figures.critical_difference(board, numbers)
    return {
        "name": data_type,
        "board": board,
        "columns": table.columns,
        "rows": table.rows,
        "undecided": undecided(board),
        "cut_off": cut_off(board.rows),
        "pooled": pooled(board),
        "marks": marked(board.known),
        "nothing": format_score(primary, primary.nothing),
        "resolution": format_score(primary, primary.resolution) if primary.resolution else "",
        "count": len(results),
        "ranked": len(board.ranked),
        "figures": [_safe(figure) for figure in figures.figures(board, numbers)],
        "legend": [(m, numbers[m] % COLOURS, _sign(numbers[m])) for m in sorted(board.losses)],
        "heat": heat,
        "cd": cd and _safe(cd),
        "pairs": [_pair(pair) for pair in board.pairs],
        "unfit": sorted(f"{name}: {why}" for name, reasons in unfit.items() for why in reasons),
        "reasons": _reasons(results),
        "systems": systems,
    }


def _parts(results: Sequence[Record], categories: Sequence[Category]) -> list[dict[str, Any]]:
    """Gather what is shown of each category; one without a heading where there is none."""
    if not categories:
        return [{"title": "", "systems": {one.system for one in results}}]
    found = []
    for each in categories:
        table = without_columns(leaderboard_table(each.board), lambda column, _: column.more)
        names = {one.system for one in results if one.dataset in each.datasets}
        found.append(
            {
                "title": heading(each.name),
                "systems": names,
                "columns": table.columns,
                "rows": table.rows,
            }
        )
    return found


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
        "verdict": f"{better} is better" if pair.corrected < 0.05 else "not significant",  # noqa: PLR2004
    }


def _reasons(results: Sequence[Record]) -> list[dict[str, Any]]:
    """Group the failures of a method by status and reason, the most frequent first."""
    groups: dict[tuple[str, Status, str], list[Record]] = defaultdict(list)
    for result in results:
        if result.status is not Status.OK:
            groups[result.method, result.status, result.reason].append(result)
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
    board: Leaderboard,
    methods: Sequence[str],
    noise: Sequence[float | None],
    protocols: Sequence[str],
) -> dict[str, Any]:
    """Write entries as columns for the page's script; small numbers instead of names.

    A metric's column ``v`` has its values, labels as their numbers: null without one, and
    nothing (an empty text) where the job is not scored by it.
    """
    systems: dict[str, int] = {}
    statuses = {status: number for number, status in enumerate(Status)}
    found: dict[str, list[Any]] = defaultdict(list)
    for one in board.entries:
        found["m"].append(methods.index(one.method))
        found["s"].append(systems.setdefault(one.case.system, len(systems)))
        found["n"].append(noise.index(one.case.snr_db))
        found["p"].append(protocols.index(one.case.protocol))
        found["d"].append(one.dim)
        found["x"].append(statuses[one.status])
        found["f"].append(one.floor)
        found["w"].append(one.wall_s)
        found["b"].append(one.memory_mb)
    specs = {spec.name: number for number, spec in enumerate(board.known)}
    return {
        **found,
        "specs": [
            spec.as_json()
            | {
                "warning": "" if spec.alarm is None else warning(spec),
                "v": [_coded(spec, one) for one in board.entries],
            }
            for spec in board.known
        ],
        "columns": [specs[c.key] if c.spec else c.key for c in leaderboard_table(board).columns],
    }


def _coded(spec: MetricSpec, one: Entry) -> float | str | None:
    value = one.values.get(spec.name, "")
    if isinstance(value, str):
        return spec.labels.index(value) if value else ""
    return int(value) if value in {0.0, 1.0} else value


def _json(value: Any) -> str:
    # Inside a script element only this sign could end it.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _safe(figure: figures.Figure) -> dict[str, Any]:
    svg = Markup(figure.svg)  # noqa: S704 - our own SVG, whose texts were escaped
    return {
        "title": figure.title,
        "caption": figure.caption,
        "svg": svg,
        "whole": figure.whole,
    }


def _sign(number: int) -> Markup:
    shape = marker(number, 8, 8, 5)
    svg = f'<svg class="sign m{number % COLOURS}" viewBox="0 0 16 16" aria-hidden="true">{shape}'
    return Markup(svg + "</svg>")  # noqa: S704 - our own SVG


def _case_name(case: Case, protocols: Sequence[str], system: str = "") -> str:
    parts = [system, noise_name(case.snr_db), case.protocol if len(protocols) > 1 else ""]
    return ", ".join(part for part in parts if part)
