"""The tables and figures of an edition's page, from its records."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from math import inf
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from box_plots import Drawn, Scored, boxes, boxes_caption, inside_and_outside, kinds_of_failure
from edition_results import (
    FEWEST,
    LABELS,
    REPLAY,
    TOO_FEW,
    Results,
    only_negligible,
    predictors,
    share_text,
)
from effort import HEAD, effort_cells, not_measured, records_of, share_cell
from findings import named, share_interval, to_table
from scipy.stats import rankdata

from mdbench.datatypes.facts import Protocol
from mdbench.drawing.numbers import noise_name
from mdbench.drawing.svg import RIGHT, Axis, Plot
from mdbench.errors import counted
from mdbench.extensions.papers.published import papers_of_sets, read_published, read_published_sets
from mdbench.reports.columns import hides_share
from mdbench.reports.coverage import Job
from mdbench.reports.entries import Case
from mdbench.reports.figures import LETTER, LONGEST_LABEL, by_noise, name_and_mark
from mdbench.reports.ranking import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from edition_results import Recovered

    from mdbench.records import Record
    from mdbench.reports.leaderboard import Leaderboard

_DRAWN: Final = 20
"""Methods of a figure with names: as many as there is space for."""


_RULES: Final = {
    "srbench_solution": "solved, by SRBench",
    "solution": "solved",
    "skeleton": "equal but for constants, by a language model",
}
"""The metrics of papers' tables that are shown, and what they say."""


_SIZES: Final = ("complexity", "simplified_complexity")
_NAMED: Final = 3
"""Methods that a line of the best names."""
_LINES: Final = 8
"""Methods of a figure of lines."""


PARTS: Final = {
    "Equations of motion": ("ode",),
    "Fields": ("pde",),
    "Laws, surfaces and measurements": ("srsd", "surface", "real"),
}
"""The tables of the page, and the data types of their columns."""


def _shown(method: str, silent: Iterable[str] = ()) -> str:
    return f"{named(method)}{' °' * (method in silent)}"


def suites_table(results: Results, *, measured: bool = False) -> str:
    """Write the share that each method recovered of each suite, a table for each kind of data.

    Parameters
    ----------
    measured
        Whether a share of jobs most of which were ended too early is "not measured", and whether
        what the jobs had to work with stands next to the shares.  Edition 1 has neither.

    Returns
    -------
    str
        Markdown; in brackets the 95 % interval when cases, and of each its seeds, are drawn again.
        The best of a column is bold.  The first line of a table has the number of jobs.
    """
    found = results.shown
    silent = results.without_answer
    parts = []
    for title, kinds in PARTS.items():
        ours = [one for one in found if one.suite.data_type in kinds]
        if not ours:
            continue
        shares = {one.suite: one.shares for one in ours}
        methods = {method for one in ours for method in one.verdicts}
        means = {
            name: fmean(each[name] for each in shares.values() if name in each) for name in methods
        }
        order = sorted(methods, key=lambda name: (-means[name], name))
        lines = [["*jobs compared*", *(str(one.jobs) for one in ours)]]
        lines += [[_shown(name, silent), *(_cell(one, name) for one in ours)] for name in order]
        head = ["method", *(one.suite.title for one in ours)]
        if measured:
            lines = [lines[0], *_measured_lines(results, ours, order)]
            lines[0] += [""] * len(HEAD)
            head += HEAD
        table = to_table(head, lines)
        parts.append(f"**{title}**\n\n{table}")
    new = {one.suite.title: results.begun[one.suite] for one in found}
    if any(new.values()):
        several = [f"{', '.join(names)} ({title})" for title, names in new.items() if names]
        parts.append(f"Begun, and not compared yet: {'; '.join(several)}.")
    return "\n\n".join(parts) or TOO_FEW


def _measured_lines(
    results: Results, ours: Sequence[Recovered], order: Iterable[str]
) -> Iterator[list[str]]:
    counts = [not_measured(results, one) for one in ours]
    records = [records_of(results, one) for one in ours]
    for name in order:
        cells = []
        for one, count in zip(ours, counts, strict=True):
            cells.append(share_or_why(one, name, count))
        jobs = [each for by_method in records for each in by_method.get(name, ())]
        yield [_shown(name), *cells, *effort_cells(jobs)]


def share_or_why(one: Recovered, method: str, count: Mapping[str, int]) -> str:
    """Write a method's share of a suite, or that most of its jobs were ended too early.

    Parameters
    ----------
    count
        By method the jobs that are not measured.
    """
    known = {name for name, number in count.items() if not hides_share(number, one.jobs)}
    hidden = share_cell(one, method, count[method]) if method in count else ""
    return hidden or _cell(one, method, known)


def best_table(results: Results, *, measured: bool = False) -> str:
    """Write of each suite the methods that recover most, the first three and all like the third.

    Parameters
    ----------
    measured
        Whether methods are left out most of whose jobs were ended too early.

    Returns
    -------
    str
        Markdown: a line for each suite, with its jobs and how many methods were compared.
    """
    lines = []
    for one in results.shown:
        shares = one.shares
        count = not_measured(results, one) if measured else {}
        some = [
            name
            for name in one.verdicts
            if shares[name] > 0 and not hides_share(count.get(name, 0), one.jobs)
        ]
        best = [name for name in some if shares[name] >= shares[some[:_NAMED][-1]]]
        shown = [f"{_shown(name)} {shares[name]:.0%}" for name in best[:_NAMED]]
        others = len(best) - _NAMED
        more = f" and {counted(others, 'other')}" if others > 0 else ""
        text = f"{', '.join(shown)}{more}" if best else "none identifies one"
        lines.append([one.suite.what, str(one.jobs), str(len(shares)), text])
    head = ["identified", "jobs", "methods", "the best"]
    return to_table(head, lines, texts=(0, 3)) if lines else TOO_FEW


_KEPT: Final = "\N{NO-BREAK SPACE}"
"""Between the ends of an interval: a narrow column breaks its line before the bracket."""


def _cell(one: Recovered, method: str, known: Collection[str] = ()) -> str:
    """Write a share, in bold where it is the largest; `known` are the methods that are measured."""
    if method not in one.verdicts:
        return "–"
    share = one.shares[method]
    low, high = share_interval(one.verdicts[method])
    text = f"{share:.0%}"
    if low is not None and high is not None:
        text += f" [{100 * low:.0f}{_KEPT}…{_KEPT}{high:.0%}]"
    largest = max(value for name, value in one.shares.items() if not known or name in known)
    return f"**{text}**" if share == largest > 0 else text


def negligible_table(results: Results) -> str:
    """Write what each method would identify if negligible terms too many did not count.

    Returns
    -------
    str
        Markdown, on the same jobs as the tables of recovery: ``a to b`` where leaving out what is
        negligible raises a count, of methods of which it raises any.
    """
    shown = [one for one in results.shown if one.suite.data_type != "real"]
    forgiving = [
        one.model_copy(update={"metrics": {**one.metrics, "identified": 1.0}})
        if only_negligible(one)
        else one
        for one in results.records
    ]
    other = {one.suite: one for one in Results(forgiving).suites}
    counts = {
        one.suite.title: {
            name: (round(sum(each.values())), round(sum(other[one.suite].verdicts[name].values())))
            for name, each in one.verdicts.items()
        }
        for one in shown
    }
    counts = {title: each for title, each in counts.items() if any(b > a for a, b in each.values())}
    gains = Counter[str]()
    for each in counts.values():
        for name, (before, after) in each.items():
            gains[name] += after - before
    methods = [name for name, gain in sorted(gains.items(), key=lambda x: (-x[1], x[0])) if gain]
    if not methods:
        return "No answer on the compared jobs is wrong by negligible terms alone."
    lines = [
        ["*jobs compared*", *(str(one.jobs) for one in shown if one.suite.title in counts)],
        *(
            [_shown(name), *(_change(each.get(name)) for each in counts.values())]
            for name in methods
        ),
    ]
    return to_table(["method", *counts], lines)


def _change(counts: tuple[int, int] | None) -> str:
    if counts is None:
        return "–"
    before, after = counts
    return f"{before} to {after}" if after > before else str(before)


def predictions_table(results: Results) -> str:
    """Write how well each method predicts the tables of which no law is known.

    Returns
    -------
    str
        Markdown: the median over tables of the share of the variance that is left unexplained (FVU,
        the mean of the folds; no answer leaves all of it and more), with the 95 % interval when
        tables are drawn again, the mean rank by it, and the median nodes.  Compared are tables of
        which every method has a record of every fold.
    """
    folds, errors = results.folds, results.errors
    if len(errors) < FEWEST:
        return f"No five tables have a record of every method yet: {len(errors)} have."
    everyone = sorted(next(iter(errors.values())))
    of_tables = [rankdata([each[name] for name in everyone]) for each in errors.values()]
    ranks = dict(zip(everyone, map(fmean, zip(*of_tables, strict=True)), strict=True))
    lines = [["*tables compared*", str(len(errors)), "", ""]]
    for name in sorted(everyone, key=lambda name: (ranks[name], name)):
        jobs = {
            Job(Case(table, None, Protocol.STRICT), ""): each[name]
            for table, each in errors.items()
        }
        low, high = interval(jobs, mean=False)
        nodes = [
            size
            for table in errors
            for one in folds[table][name].values()
            if one.answered and isinstance(size := one.metrics.get("complexity"), int | float)
        ]
        sign = " ▫" * (name in predictors())
        spread = "" if low is None or high is None else f" [{share_text(low)} … {share_text(high)}]"
        lines.append(
            [
                f"{_shown(name)}{sign}",
                f"{share_text(median(jobs.values()))}{spread}",
                f"{ranks[name]:.1f}",
                f"{median(nodes):.0f}" if nodes else "–",
            ]
        )
    return to_table(["method", "unexplained, median", "mean rank", "nodes, median"], lines)


def derivations_table(results: Results) -> str:
    """Write the share of right labels of each method on the small sets of derivations.

    Returns
    -------
    str
        Markdown: means over the sets and seeds that every method has.
    """
    rows = results.labelled
    if not rows:
        return "No set of derivations has a record of every method yet."
    best = {
        title: max(row[title] for name, row in rows.items() if name != REPLAY) for title in LABELS
    }
    lines = []
    for name, row in rows.items():
        shares = {title: f"{value:.3f}" for title, value in row.items()}
        if name != REPLAY:
            shares = {
                title: f"**{text}**" if row[title] == best[title] else text
                for title, text in shares.items()
            }
        lines.append([_shown(name), *shares.values()])
    return to_table(["method", *LABELS], lines)


def ranges_table(results: Results, groups: Mapping[str, Sequence[str]]) -> str:
    """Write what the ranges of SRSD cost a method, as table S16 of its paper does.

    The laws are those of the Feynman database that SRSD has with realistic ranges and SRBench with
    the database's own, and that every method of both suites has.  Solutions are by SRBench's rule;
    an edit distance is normalized, and 1 where there is no answer.

    Parameters
    ----------
    groups
        The datasets of each set of SRSD.

    Returns
    -------
    str
        Markdown: a row a method; published shares are those of all 116 and 120 laws.
    """
    suites = {one.suite.title: one for one in results.shown}
    if not {"SRBench", "SRSD"} <= suites.keys():
        return TOO_FEW
    groups = {name: groups[name] for name in read_published_sets("srsd").values["srsd"]}
    start = suites["SRBench"].suite.start
    sides = [
        {
            method: {one.dataset.removeprefix(start): one for one in records}
            for method, records in _compared(results, suites[title]).items()
        }
        for title in ("SRBench", "SRSD")
    ]
    laws = set.intersection(*(set(rows) for side in sides for rows in side.values()))
    set_of = {law: name for name, members in groups.items() for law in members if law in laws}
    printed = [
        _published_shares(paper, sets, "srbench_solution")
        for paper, sets in (("srbench", {"srbench-feynman": laws}), ("srsd", groups))
    ]
    counts = [f"*{sum(each == name for each in set_of.values())}*" for name in groups]
    lines = [["*laws*", f"*{len(laws)}*", f"*{len(laws)}*", "", "", f"*{len(laws)}*", *counts]]
    for method in sorted(sides[0].keys() & sides[1].keys()):
        before, after = ([side[method][law] for law in sorted(laws)] for side in sides)
        lines.append(
            [
                named(method),
                *(f"{100 * _share_solved(each):.1f} %" for each in (before, after)),
                *(f"{100 * rates[method]:.1f} %" if method in rates else "–" for rates in printed),
                _edit_distance(before),
                *(
                    _edit_distance([one for one in after if set_of.get(one.dataset) == name])
                    for name in groups
                ),
            ]
        )
    head = ["method", "solutions, SRBench's ranges", "SRSD's", "published, SRBench's", "SRSD's"]
    return to_table([*head, "NED, SRBench's", *(f"SRSD's, {name}" for name in groups)], lines)


def _share_solved(records: Sequence[Record]) -> float:
    return fmean(_metric(one, "srbench_solution") == 1.0 for one in records)


def _edit_distance(records: Sequence[Record]) -> str:
    distances = [min(_metric(one, "normalized_edit_distance"), 1.0) for one in records]
    return f"{fmean(distances):.3f}" if distances else "–"


def _published_shares(
    paper: str, groups: Mapping[str, Collection[str]], metric: str
) -> dict[str, float]:
    """Return a paper's share of each method over several sets together, weighted by their laws."""
    sets = read_published_sets(paper).values["srsd"]
    laws = sum(map(len, groups.values()))
    return {
        method: sum(len(members) * sets[name][method][metric] for name, members in groups.items())
        / laws
        for method in set.intersection(*(set(sets[name]) for name in groups))
    }


def sizes_table(results: Results) -> str:
    """Write the sizes of answers to SRBench's laws, as they are and simplified, and SRBench's own.

    Returns
    -------
    str
        Markdown: medians of the laws that every method has, over the answers of which SymPy decided
        the simplified size; published are the medians of SRBench's Feynman laws.
    """
    one = next((each for each in results.shown if each.suite.title == "SRBench"), None)
    if one is None:
        return TOO_FEW
    published = next(
        sets["srbench-feynman"]
        for paper in map(read_published_sets, papers_of_sets())
        for sets in paper.values.values()
        if "srbench-feynman" in sets
    )
    theirs = {name.replace("_", ""): values for name, values in published.items()}
    sizes = {
        method: [pair for each in records if inf not in (pair := _pair_of_sizes(each))]
        for method, records in _compared(results, one).items()
    }
    lines = [["*laws compared*", str(one.jobs), *[""] * 4]]
    for method, pairs in sorted(sizes.items()):
        ours = [f"{median(values):.4g}" for values in zip(*pairs, strict=True)] or ["–", "–"]
        own = theirs.get(method.replace("_", ""), {})
        printed = [f"{own[name]:.4g}" if name in own else "–" for name in _SIZES]
        lines.append([named(method), str(len(pairs)), *ours, *printed])
    head = ["method", "answers", "nodes", "simplified", "SRBench: nodes", "simplified"]
    return to_table(head, lines)


def field_figures(results: Results) -> list[Drawn]:
    """Draw errors, sizes and work on fields simulated here, without noise and at 20 dB.

    The jobs of a level are those that all methods of its suite have, the methods in the order of
    the share that they recovered without noise.
    """
    levels = {
        noise_name(each.suite.snr_db): each
        for each in results.shown
        if each.suite.title in {"fields", "fields, 20 dB"}
    }
    compared = {level: _compared(results, one) for level, one in levels.items()}
    drawn = []
    for title, value in _OF_FIELDS.items():
        rows: dict[str, dict[str, tuple[float, ...]]] = {}
        for level, by_method in compared.items():
            for method, records in by_method.items():
                rows.setdefault(method, {})[level] = tuple(
                    found for each in records if (found := value(each)) is not None
                )
        if rows:
            counts = ", ".join(f"{one.jobs} {level}" for level, one in levels.items())
            text = f"{boxes_caption(rows)} Of the fields that every method has: {counts}."
            drawn.append(Drawn(title, text, boxes(title, rows, log=True)))
    return drawn


def _compared(results: Results, one: Recovered) -> dict[str, list[Record]]:
    """Return the records of the systems that every method of a suite has, by method."""
    shared = {job.case.system for job in next(iter(one.verdicts.values()))}
    found: dict[str, list[Record]] = {method: [] for method in one.verdicts}
    for each in results.held[one.suite]:
        if each.method in found and each.system in shared:
            found[each.method].append(each)
    return found


def _pair_of_sizes(one: Record) -> tuple[float, ...]:
    return tuple(_metric(one, name) for name in _SIZES)


def _metric(one: Record, name: str) -> float:
    value = one.metrics.get(name) if one.answered else None
    return float(value) if isinstance(value, int | float) else inf


_OF_FIELDS: Final[Mapping[str, Callable[[Record], float | None]]] = {
    "NMSE": lambda one: _metric(one, "nmse"),
    "Nodes of the equations": lambda one: _metric(one, "complexity"),
    "Work of a job (s)": lambda one: one.measured.work_s or None,
}


def surface_figures(results: Results) -> list[Drawn]:
    """Draw errors in and out of the domain, and the kinds of failure, of surfaces.

    The jobs are those that all methods of the suite have, the methods in the order of the share
    that they recovered.
    """
    one = next((each for each in results.shown if each.suite.data_type == "surface"), None)
    if one is None:
        return []
    scored: Scored = {
        method: [each.metrics if each.answered else {"nmse_ood": None} for each in records]
        for method, records in _compared(results, one).items()
    }
    return [
        replace(each, caption=f"{each.caption} Of {one.jobs} surfaces, which every method has.")
        for each in (kinds_of_failure(scored), inside_and_outside(scored))
        if each is not None
    ]


def edition_figures(results: Results, boards: Iterable[Leaderboard]) -> list[Drawn]:
    """Draw recovery against work, recovery by noise, and the sizes of answers.

    Parameters
    ----------
    boards
        Of the records of `of_every_level`.
    """
    numbers = {
        name: number for number, name in enumerate(sorted({one.method for one in results.records}))
    }
    found = {one.suite.title: one for one in results.shown}
    if not found:
        return []
    drawn = [
        figure
        for title in ("ODEBench", "SRSD", "surfaces")
        if title in found and (figure := _against_work(found[title], results, numbers)) is not None
    ]
    board = next(iter(boards), None)
    known = {each.name: each for each in board.known} if board else {}
    systems = {job.case.system for job in board.plan.jobs} if board else set()
    if board is not None and "identified" in known and len(systems) >= FEWEST:
        best = list(board.ranked)[:_LINES]
        lines = by_noise(known["identified"], board, numbers, best)
        if lines is not None:
            text = (
                f"{lines.caption} The methods that are run at all levels, on the "
                f"{counted(len(systems), 'system')} that all of them have at each level."
            )
            legend = {name: numbers[name] for name in best}
            drawn.append(Drawn(lines.title, text, lines.svg, legend))
    rows = {
        method: {name: tuple(each) for name, each in kinds.items()}
        for method, kinds in sorted(results.sizes.items())
    }
    if rows:
        text = (
            "Nodes of the answers over those of the truth, all suites. A box is from the lower to "
            "the upper quartile, its line the median, the thin line from the 10 % to the 90 % "
            "quantile. From above: identified answers, then the others."
        )
        drawn.append(
            Drawn("Size of the answers", text, boxes("nodes, times the truth", rows, log=True))
        )
    return drawn


def _against_work(one: Recovered, results: Results, numbers: Mapping[str, int]) -> Drawn | None:
    work = results.work(one)
    best = [name for name in one.verdicts if name in work][:_DRAWN]
    if not best:  # records of earlier versions have no work
        return None
    places = {name: (max(work[name], 1e-3), 100 * one.shares[name]) for name in best}
    title = f"{one.suite.title}: recovery against work"
    right = RIGHT + 18 + LETTER * min(LONGEST_LABEL, max(map(len, places)))
    x = Axis([at for at, _ in places.values()], log=True)
    y = Axis([share for _, share in places.values()], log=False, zero=True)
    plot = Plot(title, x, y, ("work of a job (reference seconds)", "identified (%)"), right=right)
    name_and_mark(plot, places, numbers)
    text = (
        f"Share of {counted(one.jobs, 'job')} that were identified, against the median work of a "
        "job."
    )
    if len(one.verdicts) > len(places):
        text += f" The {len(places)} best of {len(one.verdicts)} methods."
    return Drawn(title, text, plot.render())


def methods_table(results: Results) -> str:
    """Write of which files and which environment the records of each method are.

    Returns
    -------
    str
        Markdown: the first digits of the sums that are a part of each record's key; several where
        a method was changed during the run.
    """
    made: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in results.records:
        for part in ("adapter", "environment"):
            if digest := one.key_parts.get(part):
                made[one.method][part].add(digest[:12])
    lines = [
        [_shown(name), _digests(parts["adapter"]), _digests(parts["environment"])]
        for name, parts in sorted(made.items())
    ]
    return to_table(["method", "adapter", "environment"], lines)


def _digests(digests: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(digests))


def elsewhere_table(results: Results) -> str:
    """Write the published numbers of methods without a record here, each with its conditions.

    Returns
    -------
    str
        Markdown: shares of systems, fields, laws and surfaces without noise, as papers count them.
    """
    here = {one.method for one in results.records}
    paper = read_published()
    lines = []
    for data_type, systems in paper.marks.items():
        entries = [(name, mark.sign) for row in systems.values() for name, mark in row.items()]
        cases = "ODEBench" if data_type == "ode" else "released fields"
        for name in sorted({name for name, _ in entries} - here):
            signs = [sign for method, sign in entries if method == name]
            number = f"{signs.count(paper.best)} of {len(signs)}"
            lines.append([name, cases, number, f"identified, by {paper.title}"])
    for each in map(read_published_sets, papers_of_sets()):
        groups = [pair for sets in each.values.values() for pair in sets.items()]
        for group, by_method in (pair for pair in groups if "+" not in pair[0]):
            for name, values in sorted(by_method.items()):
                rule = next((key for key in _RULES if key in values), None)
                if name not in here and rule is not None:
                    share = f"{values[rule]:.0%}"
                    lines.append([name, f"{each.title}, {group}", share, _RULES[rule]])
    return to_table(["method", "cases", "published", "by the rule"], lines, texts=(0, 1, 3))
