"""The findings of an edition in words, each from its records.

A finding names the column, the table or the figure that shows it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from edition_results import (
    FEWEST,
    REPLAY,
    TOO_FEW,
    only_negligible,
    predictors,
    share_text,
)
from findings import BASELINES, marks

from mdbench.drawing.numbers import cleanest_first, noise_name, scientific
from mdbench.errors import counted
from mdbench.method_spec import DESIGNED_HERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from edition_results import Recovered, Results, Suite


_RANDOM: Final = "direct_nollm"
"""The method that draws formulas at random, and fits their constants."""
_NAMED: Final = 4
"""Methods like each other that are named."""
_CLOSE: Final = 1e-6
"""The NMSE below which an answer fits as if it were right."""


def suites_finding(results: Results) -> str:
    """Say in one paragraph who is best in the suites with most cases, and how far the run is."""
    found = results.shown
    if not found:
        return TOO_FEW
    wanted = {"ODEBench", "fields", "SRSD", "surfaces"}
    parts = [_best(one) for one in found if one.suite.title in wanted] or [_best(found[0])]
    methods = {method for one in found for method in one.verdicts}
    number = sum(one.jobs for one in found)
    best = "; ".join(parts)
    return (
        f"**{best[:1].upper()}{best[1:]}.** {len(methods)} methods with equal work in each suite "
        f"are compared on {counted(number, 'job')} of {counted(len(found), 'suite')} that every "
        "method of a suite has done."
    )


def _best(one: Recovered) -> str:
    """Say which methods recover most of a suite, and the best that was not designed here."""
    shares = one.shares
    levels = sorted(set(shares.values()), reverse=True)
    text = f"of {counted(one.jobs, 'job')} on {one.suite.what} "
    if levels[0] == 0:
        return f"{text}no method identifies one"
    top = _like(shares, levels[0])
    text += f"{_names(top)} {'identify' if len(top) > 1 else 'identifies'} "
    text += f"{levels[0] * one.jobs:.0f}"
    if len(levels) > 1 and levels[1] > 0:
        text += f", then {_names(_like(shares, levels[1]))} {levels[1] * one.jobs:.0f}"
        elsewhere = (shares[name] for name in shares if marks().get(name) != DESIGNED_HERE)
        other = max(elsewhere, default=levels[1])
        if other < levels[1]:
            text += f", and the best from elsewhere {_names(_like(shares, other))} "
            text += f"{other * one.jobs:.0f}"
    return text


def _like(shares: Mapping[str, float], share: float) -> list[str]:
    """Return the methods with a share, in order."""
    return sorted(name for name, value in shares.items() if value == share)


def _names(names: Sequence[str]) -> str:
    some = [f"`{name}`" for name in names[:_NAMED]]
    if more := len(names) - len(some):
        some.append(counted(more, "other"))
    return " and ".join([", ".join(some[:-1]), some[-1]]) if len(some) > 1 else some[0]


def edition_findings(results: Results) -> str:
    """Write the findings as a numbered list; each names its column or its figure."""
    found = results.shown
    if not found:
        return TOO_FEW
    by_title = {one.suite.title: one for one in found}
    lines = []
    for one in found:
        text = _best(one)
        lines.append(f"{text[:1].upper()}{text[1:]} (column *{one.suite.title}*).")
    lines += [
        line
        for line in (
            _of_noise(by_title.get("ODEBench"), by_title.get("ODEBench, 20 dB")),
            _of_levels(results),
            _of_protocol(
                by_title.get("released fields"), by_title.get("released fields, published")
            ),
            _of_nobody(found),
            _of_random_formulas(by_title.get("SRSD")),
            _of_seeds(results),
            _of_fit(results),
            _of_negligible(results),
            _of_predictions(results),
            _of_derivations(results),
            _of_silence(results),
            _of_size(results),
            _of_work(results, found),
        )
        if line
    ]
    numbered = (f"{number}. {line}" for number, line in enumerate(lines, start=1))
    return "\n".join(numbered)


def _of_noise(clean: Recovered | None, noisy: Recovered | None) -> str:
    if clean is None or noisy is None:
        return ""
    most, left = max(clean.shares.values()), max(noisy.shares.values())
    none = sum(share == 0 for share in noisy.shares.values())
    return (
        f"Noise of 20 dB takes most of it: the best method identifies {most:.0%} of the clean "
        f"systems of ODEBench and {left:.0%} of the noisy ones, and {none} of {len(noisy.shares)} "
        "methods none (columns *ODEBench* and *ODEBench, 20 dB*)."
    )


def _at(snr_db: float | None) -> str:
    return "clean" if snr_db is None else f"at {noise_name(snr_db)}"


def _of_levels(results: Results) -> str:
    """Say what the best of the methods of all levels identifies at each, on the same systems."""
    ours = results.of_every_level
    found: dict[float | None, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for one in ours:
        found[one.snr_db][one.method].append(one.answered and one.metrics.get("identified") == 1)
    systems = {one.system for one in ours}
    if len(systems) < FEWEST:
        return ""
    parts = []
    for level in sorted(found, key=cleanest_first):
        shares = {name: fmean(values) for name, values in found[level].items()}
        best = min(shares, key=lambda name: (-shares[name], name))
        parts.append(f"{shares[best]:.0%} {_at(level)} (`{best}`)")
    return (
        f"Of {counted(len(systems), 'system')} of ODEBench that the "
        f"{counted(len(found[None]), 'method')} with all levels have, the best identifies "
        f"{', '.join(parts)} (figure of noise)."
    )


def _of_protocol(strict: Recovered | None, published: Recovered | None) -> str:
    if strict is None or published is None:
        return ""
    best, other = max(strict.shares.values()), max(published.shares.values())
    return (
        f"On the released fields the best method identifies {best:.0%} under our protocol, and "
        f"{other:.0%} under MDBench's own (the two columns *released fields*)."
    )


def _of_nobody(found: Iterable[Recovered]) -> str:
    by_job: dict[tuple[Suite, str], float] = defaultdict(float)
    for one in found:
        for each in one.verdicts.values():
            for job in {job.case.system for job in each}:
                by_job[one.suite, job] += any(
                    value for at, value in each.items() if at.case.system == job
                )
    none = sum(value == 0 for value in by_job.values())
    alone = sum(value == 1 for value in by_job.values())
    return (
        f"{none} of {len(by_job)} cases are identified by no method, and {alone} by one alone "
        "(all columns)."
    )


def _of_random_formulas(laws: Recovered | None) -> str:
    if laws is None or _RANDOM not in laws.verdicts:
        return ""
    share = laws.shares[_RANDOM]
    others = [value for name, value in laws.shares.items() if not name.endswith("_nollm")]
    no_more = sum(value <= share for value in others)
    return (
        f"Chance is an opponent: `{_RANDOM}`, the best of random formulas with fitted constants, "
        f"identifies {share * laws.jobs:.0f} of {counted(laws.jobs, 'law')} of SRSD, and {no_more} "
        f"of {counted(len(others), 'method')} no more (column *SRSD*)."
    )


def _of_seeds(results: Results) -> str:
    several, found, split = results.chance
    if found < FEWEST:
        return ""
    return (
        f"What one seed finds another may miss: of {counted(several, 'clean case')} that a method "
        f"has run with two or three seeds any identifies {found}, and another seed misses {split} "
        "of these (all suites)."
    )


def _of_fit(results: Results) -> str:
    close = [
        verdict
        for one in results.records
        if one.method not in BASELINES and one.answered
        if isinstance(error := one.metrics.get("nmse"), float) and error < _CLOSE
        if (verdict := one.metrics.get("identified")) is not None
    ]
    if len(close) < FEWEST:
        return ""
    wrong = sum(verdict != 1 for verdict in close)
    return (
        f"A small error is no proof: of {len(close)} answers whose NMSE on the test is below "
        f"{scientific(_CLOSE)}, {wrong / len(close):.0%} are not the true equations (all suites)."
    )


def _of_negligible(results: Results) -> str:
    ours = [
        one
        for one in results.records
        if one.method not in BASELINES and one.answered and one.metrics.get("identified") == 0
    ]
    only = Counter(one.method for one in ours if only_negligible(one))
    if not only:
        return ""
    most = [
        f"`{name}` {count}"
        for name, count in sorted(only.items(), key=lambda each: (-each[1], each[0]))[:3]
    ]
    return (
        f"{only.total()} of {len(ours)} answers that are not identified have all true terms, and "
        f"besides them only terms below a thousandth of the target; most are of {', '.join(most)} "
        "(table of negligible terms)."
    )


def _of_predictions(results: Results) -> str:
    errors = results.errors
    if len(errors) < FEWEST:
        return ""
    left = {
        name: median(each[name] for each in errors.values()) for name in next(iter(errors.values()))
    }
    order = sorted(left, key=lambda name: (left[name], name))
    first = order[0]
    text = (
        f"Of {len(errors)} tables without a law `{first}` leaves least unexplained in the median, "
        f"{share_text(left[first])} of the variance"
    )
    written = next((name for name in order if name not in predictors() | BASELINES), None)
    if first in predictors() and written is not None:
        text += f"; of methods with equations `{written}`, {share_text(left[written])}"
    if "linear" in left and first != "linear":
        text += f"; least squares {share_text(left['linear'])}"
    return f"{text} (table *without a law*)."


def _of_derivations(results: Results) -> str:
    rows = results.labelled
    order = [name for name in rows if name != REPLAY]
    if not order:
        return ""
    first = rows[order[0]]
    return (
        f"On small sets of derivations `{order[0]}` labels {first['static']:.0%} of the static "
        f"steps rightly, and {first['EE']:.0%} with the sides exchanged (table of derivations)."
    )


def _of_silence(results: Results) -> str:
    silent = results.without_answer
    if not silent:
        return ""
    several = [f"`{name}` in {none} of {every} jobs" for name, (none, every) in silent.items()]
    return (
        f"Some methods need more work than a job has, and give no answer: {', '.join(several)} "
        "(all suites, sign °)."
    )


def _of_size(results: Results) -> str:
    sizes = results.sizes
    wrong = [ratio for each in sizes.values() for ratio in each["other"]]
    if len(wrong) < FEWEST:
        return ""
    larger = sum(ratio > 1 for ratio in wrong) / len(wrong)
    return (
        f"Of answers that are not identified {larger:.0%} are larger than the truth; in the median "
        f"they have {median(wrong):.1f} times its nodes (figure of sizes)."
    )


def _of_work(results: Results, found: Iterable[Recovered]) -> str:
    ode = next((one for one in found if one.suite.title == "ODEBench"), None)
    if ode is None:
        return ""
    work = results.work(ode)
    shares = ode.shares
    quick = {name: shares[name] for name in shares if work.get(name, math.inf) < 1}
    if not quick or len(quick) == len(shares):
        return ""
    slow = {name: share for name, share in shares.items() if name not in quick}
    first, other = max(quick, key=lambda name: quick[name]), max(slow, key=lambda name: slow[name])
    return (
        f"Work does not decide: of the {len(quick)} methods that need less than one reference "
        f"second for a system of ODEBench the best identifies {quick[first]:.0%} (`{first}`), of "
        f"the {len(slow)} others {slow[other]:.0%} (`{other}`; figure of work)."
    )
