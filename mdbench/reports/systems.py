"""The sections of systems: the truth, each method's answer, and the answers as code."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from eqverdict.printers import (
    left_hand_side,
    mathml,
    name_as,
    names_in,
    print_as,
    rounded_to,
    sympy_symbols,
    tidied,
)
from mdbench.drawing.numbers import NOTHING, duration, noise_name
from mdbench.drawing.svg import COLOURS
from mdbench.errors import MdbenchError, counted
from mdbench.metrics.spec import ALL_SAMPLES, CONSTANT, FORM, LEVELS, PARTLY, PRINTED, RESTS
from mdbench.reports.classes import by_class, class_of
from mdbench.reports.entries import best_first, best_mark, marked, measurements, outcome
from mdbench.reports.tables import Cell, answer_cell, beaten, format_score

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mdbench.metrics.spec import MetricSpec
    from mdbench.records import Record
    from mdbench.reports.pictures import Draw

_RATE = "_t"
"""Suffix of the left-hand side of a state."""


class AnswerNames(NamedTuple):
    """The names in an answer.

    Attributes
    ----------
    states
        What the equations are of: the states whose rates they give, or the targets themselves.
    others
        Further names in them, such as inputs and columns.
    rates
        Whether they give rates.
    """

    states: tuple[str, ...]
    others: tuple[str, ...]
    rates: bool


def states_of(result: Record) -> AnswerNames:
    """Return the names in an answer's equations."""
    used = dict.fromkeys(name for text in result.equations or () for name in names_in(text))
    rates = all(target.endswith(_RATE) for target in result.targets)
    states = tuple(t.removesuffix(_RATE) if rates else t for t in result.targets)
    return AnswerNames(states, tuple(name for name in used if name not in states), rates)


def ordered(
    results: Iterable[Record], specs: Sequence[MetricSpec], references: Collection[str] = ()
) -> list[Record]:
    """Order answers of one system, the best first; methods that are given the truth come last."""
    key = best_first(specs)
    answers = (one for one in results if one.answered and one.equations)
    return sorted(answers, key=lambda one: (one.method in references, *key(one)))


def summary_line(result: Record, specs: Sequence[MetricSpec]) -> str:
    """Return in a line who answered, and how well."""
    held, _ = best_mark(specs, result.metrics)
    shown = [spec for spec in specs if spec is specs[0] or spec.weighs]
    scores = [
        f"{spec.title} {format_score(spec, value)}{_why_no_better(spec, specs, result)}"
        for spec in shown
        if not spec.mark and isinstance(value := result.metrics.get(spec.name), int | float)
    ]
    others = [counted(n, "alternative")] if (n := len(result.alternatives)) else []
    mark = [f"{held.mark} {held.title}"] if held else []
    return ", ".join([result.method, *mark, *scores, *others])


def _why_no_better(spec: MetricSpec, specs: Sequence[MetricSpec], result: Record) -> str:
    meaning = beaten(spec, specs, result).meaning
    return f" ({meaning})" if meaning else ""


def code(result: Record, language: str, digits: int | None = None) -> str:
    """Write an answer so that it can be pasted: a function, definitions, or a formula.

    Raises
    ------
    UsageError
        If there is no such language.
    EquationError
        If an equation is none.
    """
    texts = [
        text if digits is None else rounded_to(text, digits) for text in result.equations or ()
    ]
    system = states_of(result)
    used = (*(system.states if system.rates else ()), *system.others)
    names = [name_as(name, language) for name in used]
    # Where no equation gives a rate, v_x is no more than a name.
    derived = system.states if system.rates else ()
    known = (*system.states, *system.others)
    rights = [print_as(text, language, known, derivatives_of=derived) for text in texts]
    targets = [name_as(target, language) for target in result.targets]
    pairs = list(zip(targets, rights, strict=True))
    renamed = {
        new: old
        for new, old in zip([*names, *targets], [*used, *result.targets], strict=True)
        if new != old
    }
    notes = [f"# {new} is {old} in the data" for new, old in renamed.items()]
    match language:
        case "python":
            head = ["import numpy as np", *notes, "", "", f"def equations({', '.join(names)}):"]
            return _function(head, pairs)
        case "julia":
            return _function([*notes, f"function equations({', '.join(names)})"], pairs) + "\nend"
        case "sympy":
            lines = ["from sympy import *", *notes, "", *sympy_symbols(names)]
            return "\n".join([*lines, *(f"{left} = {right}" for left, right in pairs)])
        case "c":
            parameters = ", ".join([*(f"double {name}" for name in names), "double *result"])
            body = [
                f"    result[{place}] = {right};  /* {left} */"
                for place, (left, right) in enumerate(pairs)
            ]
            head = ["#include <math.h>", *(f"/* {note[2:]} */" for note in notes), ""]
            return "\n".join([*head, f"void equations({parameters}) {{", *body, "}"])
        case "latex":
            rows = [
                f"  {_left_in_latex(left, rates=system.rates)} &= {right}" for left, right in pairs
            ]
            return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}"
    pairs = [(left, tidied(right)) for left, right in pairs]
    return "\n".join(
        f"d{left.removesuffix(_RATE)}/dt = {right}" if system.rates else f"{left} = {right}"
        for left, right in pairs
    )


def _function(head: list[str], pairs: Sequence[tuple[str, str]]) -> str:
    body = [f"    {left} = {right}" for left, right in pairs]
    return "\n".join([*head, *body, f"    return {', '.join(left for left, _ in pairs)}"])


def _left_in_latex(target: str, *, rates: bool) -> str:
    name = target.removesuffix(_RATE) if rates else target
    name = print_as(name, "latex", derivatives_of=())
    return f"\\frac{{\\mathrm{{d}} {name}}}{{\\mathrm{{d}} t}}" if rates else name


CODED = {"python": "Python", "latex": "LaTeX", "sympy": "SymPy", "julia": "Julia", "c": "C"}
"""The languages that the best answer of a system is given in, and their names."""
LONGEST_CODED = 4000
"""Characters of the longest answer that is given as code, so that pages stay small."""
TOTAL = "d"
"""The letter of derivatives where no equation has others: there v_x is no more than a name."""
KEY = 8
"""Letters of a record's key that are shown."""
NAMES_SHOWN = 4
"""Texts of a note that are shown, such as the names of missing terms."""


@dataclass(frozen=True)
class Scope:
    """Values that all sections of a page share.

    Attributes
    ----------
    numbers
        The number of each method, which sets its colour and its sign.
    noise, classes
        All levels of the page, and all classes of records that are compared, in order.
    picture
        Draws a system, given its results and the methods' numbers.
    describe
        Describes a dataset in a few words, given its data type and name.
    references
        The methods that are given the truth, which count nowhere.
    baselines
        Those that others are only held against, which are counted by themselves.
    axes
        The axes of sweeps of each data type; see `mdbench.reports.phases`.
    files
        The address of the file of a record, by its key.
    every_seed
        Whether each seed has a line; else the first has one, for all.
    """

    numbers: Mapping[str, int]
    noise: Sequence[float | None]
    classes: Sequence[str]
    picture: Draw | None
    describe: Callable[[str, str], str] | None
    references: AbstractSet[str] = frozenset()
    baselines: AbstractSet[str] = frozenset()
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    every_seed: bool = False


@dataclass(frozen=True)
class Line:
    """One method's answer for a system."""

    method: str
    number: int
    noise: int
    noise_text: str
    noise_order: float
    record_class: int | None
    class_text: str
    seeds: str
    verdict: str
    css: str
    scores: tuple[Cell, ...]
    answer: Markup
    notes: Markup
    raw: Markup
    work: Cell
    key: str
    file: str


@dataclass(frozen=True)
class System:
    """A system's section."""

    name: str
    own: bool
    title: str
    dim: int | None
    truth: Markup
    scores: tuple[str, ...]
    lines: tuple[Line, ...]
    picture: Markup
    note: str
    found: str
    identifier: str
    classes: tuple[int, ...]
    unfit: tuple[str, ...]
    best: str
    codes: tuple[tuple[str, str], ...]
    first: bool = False


def system_section(
    identifier: str,
    results: Sequence[Record],
    scope: Scope,
    specs: Sequence[MetricSpec],
    *,
    unfit: Sequence[str] = (),
    derivative: str = TOTAL,
    named_classes: bool = False,
    first: bool = False,
) -> System:
    """Gather what is shown of a system.

    Parameters
    ----------
    identifier
        The section's, unique in the page.
    results
        All results of the system.
    scope
        What all sections share.
    specs
        The metrics of the data type, the primary one first.
    unfit
        Why some of its cases rank nobody.
    derivative
        The letter of derivatives on left-hand sides.
    named_classes
        Whether lines name the class of their records.
    first
        Whether it is shown open, before the boards.
    """
    example = results[0]
    drawn = scope.picture(results, scope.numbers) if scope.picture else None
    groups: dict[tuple[int, str, str, int], list[Record]] = defaultdict(list)
    for result in results:
        noise, seed = scope.noise.index(result.snr_db), result.seed if scope.every_seed else 0
        groups[noise, result.method, class_of(result).title, seed].append(result)
    known = next((one for one in results if one.truth), None)
    truth = (
        _equations(known.targets, known.truth or (), derivative, tidied=True) if known else Markup()
    )
    shown = [spec for spec in specs if spec is specs[0] or "answer" in spec.places]
    lines = [
        _line(ones, scope, specs, shown, derivative, class_text=title if named_classes else "")
        for (_, _, title, _), ones in sorted(groups.items())
    ]
    best = next(iter(ordered(results, specs, scope.references)), None)
    codes = _codes(best) if best else ()
    has = [any(line.scores[i].text != NOTHING for line in lines) for i in range(len(shown))]
    has[0] = True
    lines = [replace(line, scores=tuple(compress(line.scores, has))) for line in lines]
    return System(
        name=example.system,
        own=example.dataset_path is not None,
        title=_title(example, scope),
        dim=next((one.dim for one in results if one.dim is not None), None),
        truth=truth,
        scores=tuple(compress((spec.title for spec in shown), has)),
        lines=tuple(lines),
        picture=Markup(drawn.html if drawn else ""),  # noqa: S704 - our own, of escaped texts
        note=drawn.note if drawn else "",
        found=_found(results, specs, scope),
        identifier=identifier,
        classes=_classes(lines),
        unfit=tuple(unfit),
        best=summary_line(best, specs) if best and codes else "",
        codes=codes,
        first=first,
    )


def _classes(lines: Sequence[Line]) -> tuple[int, ...]:
    """Return the classes that have a line; none where a method that is in every class has one."""
    known = [line.record_class for line in lines if line.record_class is not None]
    return tuple(sorted({*known})) if len(known) == len(lines) else ()


def _title(first: Record, scope: Scope) -> str:
    if first.dataset_path is not None:
        return "own data"
    return scope.describe(first.data_type, first.dataset) if scope.describe else ""


def _codes(best: Record) -> tuple[tuple[str, str], ...]:
    """Write an answer in every language that has code to paste, where all of it can be written."""
    if sum(map(len, best.equations or ())) > LONGEST_CODED:
        return ()
    try:
        return tuple((title, code(best, language)) for language, title in CODED.items())
    except MdbenchError:
        return ()


def _found(results: Sequence[Record], specs: Sequence[MetricSpec], scope: Scope) -> str:
    """Return how many methods of each class have the first mark; empty where it is not known."""
    best = next(iter(marked(specs)), None)
    own = [one for one in results if one.method not in scope.references]
    if best is None or not any(best.name in one.metrics for one in own):
        return ""
    counts = {}
    for (_, class_), ones in by_class(own, scope.baselines).items():
        found = {one.method for one in ones if one.metrics.get(best.name) == 1}
        simple = found & scope.baselines
        counts[class_.title] = f"{best.title} by {counted(len(found - simple), 'method')}"
        counts[class_.title] += f" and {counted(len(simple), 'baseline')}" * bool(simple)
    if len(counts) == 1:
        return next(iter(counts.values()))
    return "; ".join(f"{title}: {text}" for title, text in counts.items())


def _line(
    results: Sequence[Record],
    scope: Scope,
    specs: Sequence[MetricSpec],
    shown: Sequence[MetricSpec],
    derivative: str,
    *,
    class_text: str,
) -> Line:
    """Show the first seed's answer, the number of seeds and how many have the mark."""
    shown_result = min(results, key=lambda result: (not result.answered, result.seed))
    flags = marked(specs)
    apart = shown_result.method in scope.references | scope.baselines
    seeds = f"seed {shown_result.seed}"
    if len(results) > 1 and flags:
        count = sum(each.metrics.get(flags[0].name) == 1 for each in results)
        seeds += f"; {count} of {len(results)} {flags[0].title}"
    elif len(results) > 1:
        seeds += f", one of {len(results)}"
    values = outcome(shown_result, specs).values if shown_result.answered else {}
    verdict, css = verdict_of(shown_result, specs)
    answer = Markup("<span class=reason>{}</span>").format(shown_result.reason)
    notes, raw = Markup(), Markup()
    if shown_result.answered:
        answer = _equations(
            shown_result.targets, shown_result.equations or (), derivative, tidied=True
        )
        if not shown_result.equations and shown_result.method in scope.baselines:
            answer = Markup("<span class=reason>no equations: it only predicts</span>")
        notes = _notes(shown_result, derivative)
        raw = _as_given(shown_result, answer, derivative)
    return Line(
        method=shown_result.method,
        number=scope.numbers[shown_result.method] % COLOURS,
        noise=scope.noise.index(shown_result.snr_db),
        noise_text=_noise(shown_result),
        noise_order=-1e9 if shown_result.snr_db is None else -shown_result.snr_db,
        record_class=None if apart else scope.classes.index(class_of(shown_result).title),
        class_text=class_text,
        seeds=seeds,
        verdict=verdict,
        css=css,
        scores=tuple(
            answer_cell(spec, values, beaten(spec, specs, shown_result)) for spec in shown
        ),
        answer=answer,
        notes=notes,
        raw=raw,
        work=work_cell(shown_result),
        key=shown_result.key[:KEY],
        file=scope.files.get(shown_result.key, ""),
    )


def verdict_of(record: Record, specs: Sequence[MetricSpec]) -> tuple[str, str]:
    """Return what an answer is in words, and its class in the page's style."""
    if not record.answered:
        return record.status.word, "bad"
    held, unknown = best_mark(specs, outcome(record, specs).values)
    if held is None:
        return "undecided" if unknown else record.status.word, ""
    return f"{held.mark} {held.title}", "good" if held is marked(specs)[0] else "close"


def work_cell(record: Record) -> Cell:
    """Return the work of a job in reference seconds; its wall time where work is not known."""
    work = record.measured.work_s
    seconds = record.measured.wall_s if work is None else work
    return Cell(NOTHING if seconds is None else duration(seconds), seconds)


NOTES = {
    "missing": "missing: ",
    "extra": "extra: ",
    "negligible": "negligible: ",
    "coefficients": "",
    RESTS: "",
    CONSTANT: "",
    PARTLY: "",
    ALL_SAMPLES: "on all samples: ",
    FORM: "",
    LEVELS: "values in the data: ",
    PRINTED: "as the method printed it: ",
}
"""Notes of scorers that are shown under an answer, and the words before them; others are shown
with the answer as it was given, on demand."""


TERMS = frozenset({"missing", "extra", "negligible"})
"""Notes whose texts are terms, each with the target before it."""


def _notes(record: Record, derivative: str) -> Markup:
    """Return the notes that are shown under an answer, terms as formulas."""
    lines = [
        _terms(word, record.notes[word], record.targets, derivative)
        if word in TERMS
        else Markup.escape(_note(word, record.notes[word]))
        for word in NOTES
        if record.notes.get(word)
    ]
    return Markup("<br>").join(lines)


def _terms(word: str, texts: Sequence[str], targets: Sequence[str], derivative: str) -> Markup:
    """Write terms as formulas; where there are several equations, after the one they are of."""
    by_target: dict[str, list[str]] = defaultdict(list)
    for text in texts[:NAMES_SHOWN]:
        target, colon, term = text.partition(": ")
        known = colon and target in targets
        by_target[target if known else ""].append(term if known else text)
    parts = []
    for target, terms in by_target.items():
        of = f"{left_hand_side(target, derivative)}: " if target and len(targets) > 1 else ""
        formulas = [mathml(term, derivatives=derivative != TOTAL, tidied=True) for term in terms]
        parts.append(of + ", ".join(formulas))
    more = "…" * (len(texts) > NAMES_SHOWN)
    return Markup(f"{NOTES[word]}{'; '.join(parts)}{more}")  # noqa: S704 - escaped by `mathml`


def _note(word: str, texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:NAMES_SHOWN]) + "…" * (len(texts) > NAMES_SHOWN)
    return f"{NOTES.get(word, f'{word}: ')}{shown}"


def _as_given(record: Record, answer: Markup, derivative: str) -> Markup:
    """Show on demand the equations as the method gave them, and further notes of the scorer."""
    as_written = _equations(record.targets, record.equations or (), derivative)
    pairs = zip(record.targets, record.equations or (), strict=False)
    lines = [f"{target} = {text}" for target, text in pairs]
    lines += [
        _note(word, texts) for word, texts in record.notes.items() if texts and word not in NOTES
    ]
    if not lines:
        return Markup()
    form = "<details class=raw><summary>as given</summary>{}<code>{}</code></details>"
    formulas = Markup() if as_written == answer else as_written
    return Markup(form).format(formulas, Markup("<br>").join(lines))  # noqa: S704 - escaped


def _noise(one: Record) -> str:
    """Return the name of the noise level; measurements are not called clean."""
    return noise_name(one.snr_db, measured=measurements([one]))


def _equations(
    targets: Sequence[str], equations: Sequence[str], derivative: str, *, tidied: bool = False
) -> Markup:
    """Set equations one below the other."""
    lines = []
    for number, text in enumerate(equations):
        left = left_hand_side(targets[number], derivative) if number < len(targets) else ""
        right = mathml(text, derivatives=derivative != TOTAL, tidied=tidied)
        lines.append(f"<div class=eq>{left} = {right}</div>")
    return Markup("".join(lines))  # noqa: S704 - all text in it was escaped
