"""The page of an edition: recovery by suite, its findings and figures, by hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from edition_findings import edition_findings, suites_finding
from edition_page import (
    best_table,
    derivations_table,
    edition_figures,
    elsewhere_table,
    field_figures,
    methods_table,
    negligible_table,
    predictions_table,
    ranges_table,
    sizes_table,
    suites_table,
    surface_figures,
)
from edition_results import SUITES, Results
from effort import effort_table, not_measured
from reporting import boards, data, result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mdbench.records import Record


def job(method: str, system: str, found: float | None, **changes: Any) -> Record:
    nodes = changes.pop("nodes", 5.0)
    budget = {"timeout_s": 110.0, "work_s": 2.0, "threads": 1}
    work = changes.pop("work", 1.5)
    scores = {"identified": found, "complexity": nodes, "nmse": 1e-3}
    one = result(method, system, scores=scores, budget=budget, **changes)
    measured = one.measured.model_copy(update={"work_s": work})
    return one.model_copy(update={"measured": measured})


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def systems(**of: Sequence[float]) -> list[Record]:
    """Make a record of each verdict: the n-th of a method is of the n-th system."""
    return [
        job(method, f"s{place}", verdict)
        for method, verdicts in of.items()
        for place, verdict in enumerate(verdicts)
    ]


def test_a_record_belongs_to_one_suite_at_most() -> None:
    many = [
        job("sindy", name, 1.0, snr_db=snr_db, protocol=protocol, data_type=kind, options=options)
        for name in ("lorenz", "dysts-lorenz", "srbench-i.1")
        for snr_db in (None, 20.0, 40.0)
        for protocol in ("strict", "published")
        for kind in ("ode", "pde", "srsd", "surface", "real", "derivation")
        for options in ({}, {"variant": "released"})
    ]
    counts = [sum(suite.holds(one) for suite in SUITES) for one in many]
    assert set(counts) == {0, 1}
    assert all(any(suite.holds(one) for one in many) for suite in SUITES)


def test_only_jobs_of_all_methods_of_a_suite_are_compared() -> None:
    ones = systems(sindy=[1, 1, 0, 1, 1, 1], operon=[1, 0, 0, 0, 0])
    ones += [job("operon", f"dysts-{place}", 1.0) for place in range(3)]
    (ode, flows) = Results(ones).suites
    assert (ode.suite.title, ode.jobs, ode.cases) == ("ODEBench", 5, 6)
    assert ode.shares == {"sindy": 0.8, "operon": 0.2}
    assert (flows.suite.title, flows.shares) == ("flows", {"operon": 1.0})


def test_baselines_and_undecided_jobs_count_for_nobody() -> None:
    ones = systems(sindy=[1, 1], truth=[1, 1], zero=[0, 0])
    ones.append(job("operon", "s0", None))
    ones.append(job("operon", "s1", 0.0))
    (ode,) = Results(ones).suites
    assert ode.jobs == 1
    assert ode.shares == {"sindy": 1.0, "operon": 0.0}


def test_the_table_has_shares_intervals_and_marks_ours_and_the_best() -> None:
    ones = systems(integral=[1] * 6, operon=[1, 0, 0, 0, 0, 0])
    ones += [job("afp", f"f{place}", 1.0, data_type="pde") for place in range(5)]
    ones += [job("afp", f"srbench-{place}", 1.0, data_type="srsd") for place in range(4)]
    text = suites_table(Results(ones))
    motion, fields = text.split("**Fields**")
    head, _, number, first, second = motion.strip().splitlines()[2:]
    assert cells(head) == ["method", "ODEBench"]
    assert cells(number) == ["*jobs compared*", "6"]
    assert cells(first) == ["integral ‡", "**100% [54\u00a0…\u00a0100%]**"]
    assert re.fullmatch(r"17% \[0\s…\s\d+%\]", cells(second)[1])
    assert cells(fields.strip().splitlines()[-1]) == ["afp §", "**100% [48\u00a0…\u00a0100%]**"]
    assert "SRBench" not in text  # of four jobs nothing is shown
    assert suites_table(Results([])).startswith("No suite has five jobs")


def ended(method: str, system: str, found: float, count: int | None, **changes: Any) -> Record:
    """Make a record of a job that its limit of work ended."""
    one = job(method, system, found, status=changes.pop("status", "partial"), **changes)
    measured = one.measured.model_copy(update={"evaluations": count})
    return one.model_copy(update={"measured": measured})


def short_jobs(short: int) -> list[Record]:
    """Make eight jobs of three methods; as many as asked of `dsr` were ended too early."""
    ones = [ended("dsr", f"s{n}", float(n > 5), 500 if n < short else 20_000) for n in range(8)]
    ones += systems(sindy=[1] + [0] * 7)
    return ones + [ended("physo", f"s{n}", 0.0, None, status="timeout") for n in range(8)]


@pytest.mark.parametrize(
    ("short", "shown"), [(4, r"\*\*25% \[.*\]\*\*"), (5, r"not measured \(≥ 25%\), 5 of 8")]
)
def test_a_share_of_mostly_unmeasured_jobs_is_not_shown_as_one(short: int, shown: str) -> None:
    results = Results(short_jobs(short))
    lines = suites_table(results, measured=True).splitlines()
    rows = {cells(line)[0]: cells(line)[1:] for line in lines if line.startswith("|")}
    assert rows["method"] == ["ODEBench", "partial", "evaluations", "no answer"]
    assert re.fullmatch(shown, rows["dsr §"][0])
    assert rows["physo"] == ["not measured, 8 of 8", "100%", "–", "8\xa0timeout"]
    assert rows["sindy §"][0].startswith("12%" if short == 4 else "**12%")  # the best measured one
    assert rows["sindy §"][1:] == ["0%", "–", "–"]
    best = "dsr § 25%, sindy § 12%" if short == 4 else "sindy § 12%"
    assert cells(best_table(results, measured=True).splitlines()[-1])[-1] == best
    # The page of edition 1 has all shares as they were.
    assert "not measured" not in suites_table(results)


def test_a_table_of_measurements_is_not_measured_where_most_of_its_folds_are_not() -> None:
    folds = [
        ended("dsr", f"t{n}", 0.0, count, data_type="real", part=f"fold {fold}", floor=0.1)
        for n in range(5)
        for fold, count in enumerate((500, 500 if n else 20_000, 20_000))
    ]
    (one,) = Results(folds).suites
    assert (one.jobs, not_measured(Results(folds), one)) == (5, {"dsr": 4})


def test_what_the_jobs_had_to_work_with_is_counted_by_method() -> None:
    ones = short_jobs(5)
    ones.append(job("sindy", "s8", 0.0, status="crashed"))
    table = effort_table(Results([*ones, *systems(zero=[0] * 9)]))
    rows = {cells(line)[0]: cells(line)[1:] for line in table.splitlines()[2:]}
    assert rows == {
        "dsr §": ["8", "5", "100%", "500", "–"],
        "physo": ["8", "8", "100%", "–", "8\xa0timeout"],
        "sindy §": ["9", "0", "0%", "–", "1\xa0crashed"],
    }


def test_the_best_of_a_suite_are_named_with_all_that_are_as_good() -> None:
    found = {"integral": 6, "sindy": 5, "afp": 2, "bingo": 2, "eql": 2, "operon": 1, "zero": 6}
    ones = systems(**{name: [1] * right + [0] * (6 - right) for name, right in found.items()})
    ones += [job("afp", f"f{place}", 0.0, data_type="pde") for place in range(5)]
    _, _, ode, fields = best_table(Results(ones)).splitlines()
    best = "integral ‡ 100%, sindy § 83%, afp § 33% and 2 others"
    assert cells(ode) == ["systems of ODEBench", "6", "6", best]
    assert cells(fields)[1:] == ["5", "1", "none identifies one"]
    (only,) = best_table(Results(systems(eql=[1] * 5, afp=[0] * 5))).splitlines()[2:]
    assert cells(only)[-1] == "eql § 100%"
    assert cells(best_table(Results(ones)).splitlines()[1])[-1] == ":--"  # a text, which wraps
    assert best_table(Results([])).startswith("No suite has five jobs")


def test_a_method_that_has_just_begun_does_not_take_the_cases_from_the_others() -> None:
    ones = systems(sindy=[1] * 12, operon=[0] * 12, afp=[1, 0] * 6, eql=[1] * 6, parfam=[1] * 5)
    found = Results(ones)
    (ode,) = found.suites
    assert (ode.jobs, set(ode.verdicts)) == (6, {"sindy", "operon", "afp", "eql"})
    assert found.begun[ode.suite] == ["parfam"]
    assert "Begun, and not compared yet: parfam (ODEBench)." in suites_table(found)
    assert "Begun" not in suites_table(Results([one for one in ones if one.method != "parfam"]))


def test_findings_name_all_methods_that_are_equally_good() -> None:
    right = {"integral": 6, "shooting": 4, "sindy": 2, "afp": 2, "bingo": 2, "eql": 2, "operon": 2}
    ones = systems(**{name: [1] * found + [0] * (6 - found) for name, found in right.items()})
    text = edition_findings(Results(ones))
    assert (
        "`integral` identifies 6, then `shooting` 4, and the best from elsewhere "
        "`afp`, `bingo`, `eql`, `operon` and 1 other 2 (column"
    ) in text
    none = edition_findings(Results(systems(integral=[1] * 6, sindy=[0] * 6, afp=[0] * 6)))
    assert "`integral` identifies 6 (column" in none
    ours = edition_findings(Results(systems(integral=[1] * 6, shooting=[0, 1, 1, 1, 1, 1])))
    assert "`integral` identifies 6, then `shooting` 5 (column" in ours


def test_methods_that_mostly_give_no_answer_have_a_sign_and_are_named() -> None:
    ones = systems(integral=[1] * 6, operon=[0] * 6)
    ones += [
        job(name, f"s{place}", 0.0, status="timeout" if place < late else "ok")
        for name, late in (("physo", 6), ("gplearn", 4), ("afp", 3))
        for place in range(6)
    ]
    # A job that could not be begun says nothing of its method.
    ones += [job("operon", f"x{place}", 0.0, status="unavailable") for place in range(9)]
    rows = {
        cells(line)[0] for line in suites_table(Results(ones)).splitlines() if line.startswith("|")
    }
    assert {"integral ‡", "operon", "physo °", "gplearn °", "afp §"} <= rows
    assert "`physo` in 6 of 6 jobs, `gplearn` in 4 of 6 jobs (all" in edition_findings(
        Results(ones)
    )
    assert "give no answer" not in edition_findings(
        Results(systems(integral=[1] * 6, operon=[0] * 6))
    )
    nothing = edition_findings(Results(systems(integral=[0] * 6, operon=[0] * 6)))
    assert "Of 6 jobs on systems of ODEBench no method identifies one (column" in nothing


def test_nobody_is_best_where_nobody_recovers_anything() -> None:
    text = suites_table(Results(systems(integral=[0] * 6, operon=[0] * 6)))
    assert "**0%" not in text


def test_the_finding_names_the_best_and_the_best_from_elsewhere() -> None:
    ones = systems(integral=[1] * 6, shooting=[1] * 5 + [0], operon=[1, 0, 0, 0, 0, 0])
    assert suites_finding(Results(ones)).startswith(
        "**Of 6 jobs on systems of ODEBench `integral` identifies 6, then `shooting` 5, "
        "and the best from elsewhere `operon` 1.**"
    )
    assert "no suite" not in suites_finding(Results(ones)).lower()
    assert suites_finding(Results(ones[:2])).startswith("No suite has five jobs")


def test_findings_are_numbered_and_follow_from_the_records() -> None:
    ones = [
        *systems(sindy=[1, 1, 1, 0, 0, 0], operon=[1, 0, 0, 0, 0, 0], truth=[1] * 6),
        *(job("sindy", f"s{place}", float(place < 1), snr_db=20.0) for place in range(6)),
        *(job("operon", f"s{place}", 0.0, snr_db=20.0, nodes=15.0) for place in range(6)),
    ]
    lines = edition_findings(Results(ones)).splitlines()
    assert [line.partition(".")[0] for line in lines] == list(map(str, range(1, len(lines) + 1)))
    text = "\n".join(lines)
    assert "identifies 50% of the clean" in text
    assert "17% of the noisy ones, and 1 of 2 methods none" in text
    assert "the best identifies 50% clean (`sindy`), 17% at 20 dB (`sindy`) (figure" in text
    # Clean: s0 by both, s1 and s2 by one, three by none; noisy: s0 by one, five by none.
    assert "8 of 12 cases are identified by no method, and 3 by one alone" in text
    # Wrong: 3 + 5 of 5 nodes, 5 of 5 (noisy, sindy) and 6 of 15 nodes; the truth has 5.
    assert "32% are larger than the truth; in the median they have 1.0 times its nodes" in text
    assert edition_findings(Results([])).startswith("No suite")


@pytest.mark.parametrize("quick", [0.1, 3.0])
def test_what_work_decides_is_said_where_some_are_quick(quick: float) -> None:
    ones = [
        job(method, f"s{place}", share, work=work)
        for method, work, share in (("sindy", quick, 1.0), ("operon", 2.0, 0.0))
        for place in range(6)
    ]
    said = "the 1 methods that need less than one reference second" in edition_findings(
        Results(ones)
    )
    assert said == (quick < 1)


def test_folds_of_a_table_are_one_case() -> None:
    def fold(method: str, table: str, part: int, right: float) -> Record:
        scores = {"fvu": 0.1, "same_law": right}
        options = {"fold": part}
        return result(
            method, table, scores=scores, data_type="real", options=options, floor=0.1
        ).model_copy(update={"part": str(part)})

    ones = [
        fold(method, table, part, right)
        for method, rights in (("operon", (1.0, 1.0, 0.0)), ("afp", (1.0, 0.0, 0.0)))
        for table in ("bode", "hubble")
        for part, right in enumerate(rights)
    ]
    (tables,) = Results(ones).suites
    assert (tables.jobs, tables.shares) == (2, {"operon": 1.0, "afp": 0.0})
    # A table with a fold missing is not compared.
    (fewer,) = Results(ones[:-1]).suites
    assert fewer.jobs == 1


def test_figures_show_recovery_against_work_by_noise_and_sizes() -> None:
    raw = [
        data(method, f"s{place}", identified=found, complexity=5.0, snr_db=snr_db)
        for method, found in (("sindy", 1.0), ("operon", 0.0), ("truth", 1.0))
        for place in range(6)
        for snr_db in (None, 20.0)
    ]
    ones = systems(sindy=[1] * 6, operon=[0] * 6, truth=[1] * 6)
    drawn = {one.title: one for one in edition_figures(Results(ones), boards(raw).values())}
    assert list(drawn) == [
        "ODEBench: recovery against work",
        "Identified by noise",
        "Size of the answers",
    ]
    assert "Share of 6 jobs" in drawn["ODEBench: recovery against work"].caption
    assert set(drawn["Identified by noise"].legend) == {"sindy", "operon"}
    assert ">operon<" in drawn["Size of the answers"].svg
    assert edition_figures(Results([]), []) == []
    old = [job("sindy", f"s{place}", 1.0, work=None) for place in range(6)]
    assert [one.title for one in edition_figures(Results(old), [])] == []


def test_versions_are_named_and_a_change_during_the_run_is_seen() -> None:
    ones = [
        job("sindy", f"s{place}", 1.0, key_parts={"adapter": letter * 64, "environment": "e" * 64})
        for place, letter in enumerate("ab")
    ]
    line = methods_table(Results(ones)).splitlines()[2]
    assert cells(line) == ["sindy §", "`aaaaaaaaaaaa`, `bbbbbbbbbbbb`", "`eeeeeeeeeeee`"]


def test_published_numbers_are_of_methods_without_a_record() -> None:
    before = elsewhere_table(Results(systems(sindy=[1])))
    assert "| pysr | ODEBench | 14 of 63 | identified, by MDBench |" in before
    assert "| sindy |" not in before
    assert "+noise" not in before
    assert "| pysr |" not in elsewhere_table(Results(systems(pysr=[1])))


TABLES = ("auto", "bikeshare", "carseats", "college", "credit")


def fold(method: str, table: str, part: int, fvu: float, **changes: Any) -> Record:
    nodes = changes.pop("nodes", None)
    scores = {"fvu": fvu, **({"complexity": nodes} if nodes else {})}
    options = {"fold": part}
    one = result(method, table, scores=scores, data_type="real", options=options, **changes)
    return one.model_copy(update={"part": str(part)})


def predictions() -> list[Record]:
    errors = {"random_forest": (0.1, 0.3), "operon": (0.2, 0.4), "mean": (1.0, 1.2)}
    return [
        fold(method, table, part, error, nodes=7.0 if method == "operon" else None)
        for method, both in errors.items()
        for table in TABLES
        for part, error in enumerate(both)
    ]


def test_tables_without_a_law_are_compared_by_what_is_left_unexplained() -> None:
    ones = predictions()
    # Of a table with a law, and of one that operon has a fold less of, nothing is said.
    ones += [fold("operon", "bode", part, 0.0) for part in range(2)]
    ones += [
        fold(name, "engel", part, 0.0) for name in ("random_forest", "mean") for part in (0, 1)
    ]
    ones += [fold("operon", "engel", 0, 0.0), fold("truth", "auto", 0, 0.0)]
    rows = [cells(line) for line in predictions_table(Results(ones)).splitlines()[2:]]
    assert rows == [
        ["*tables compared*", "5", "", ""],
        ["random_forest ▫", "0.20 [0.20 … 0.20]", "1.0", "–"],
        ["operon", "0.30 [0.30 … 0.30]", "2.0", "7"],
        ["mean", "1.10 [1.10 … 1.10]", "3.0", "–"],
    ]
    few = predictions_table(Results(ones[:4]))
    assert few == "No five tables have a record of every method yet: 2 have."


def test_no_answer_leaves_more_than_all_unexplained_and_equal_errors_share_a_rank() -> None:
    ones = [
        one.model_copy(update={"status": "timeout"})
        if (one.method, one.part) == ("operon", "1")
        else one
        for one in predictions()
    ]
    ones += [fold("linear", table, part, 0.2) for table in TABLES for part in range(2)]
    rows = {
        cells(line)[0]: cells(line)[1:3]
        for line in predictions_table(Results(ones)).splitlines()[3:]
    }
    assert rows["operon"] == ["> 10 [> 10 … > 10]", "4.0"]
    assert rows["random_forest ▫"][1] == rows["linear"][1] == "1.5"


def test_the_findings_name_the_best_predictor_the_best_equation_and_least_squares() -> None:
    ones = systems(sindy=[1] * 6, operon=[0] * 6) + predictions()
    ones += [fold("linear", table, part, 0.5) for table in TABLES for part in range(2)]
    assert (
        "Of 5 tables without a law `random_forest` leaves least unexplained in the median, 0.20 of "
        "the variance; of methods with equations `operon`, 0.30; least squares 0.50 (table"
    ) in edition_findings(Results(ones))
    assert "without a law" not in edition_findings(Results(systems(sindy=[1] * 6, operon=[0] * 6)))


def test_derivations_are_means_over_the_sets_that_all_methods_have() -> None:
    def labels(method: str, dataset: str, share: float, **changes: Any) -> Record:
        scores = dict.fromkeys(("static_accuracy", "ee_accuracy", "all_derivations"), share)
        return result(method, dataset, scores=scores, data_type="derivation", **changes)

    ones = [
        *(labels("replay", name, 1.0) for name in ("a", "b", "c")),
        *(labels("boosting", name, share) for name, share in (("a", 0.9), ("b", 0.8))),
        labels("tfidf_lr", "a", 0.5),
        labels("tfidf_lr", "b", 0.5, status="timeout"),
    ]
    rows = [cells(line) for line in derivations_table(Results(ones)).splitlines()[2:]]
    assert [row[:2] for row in rows] == [
        ["replay", "1.000"],
        ["boosting", "**0.850**"],
        ["tfidf_lr", "0.250"],
    ]
    text = edition_findings(Results([*systems(sindy=[1] * 6, operon=[0] * 6), *ones]))
    assert "`boosting` labels 85% of the static steps rightly, and 85% with" in text
    assert derivations_table(Results([])).startswith("No set of derivations")


def test_answers_that_are_wrong_by_negligible_terms_alone_are_counted() -> None:
    def wrong(method: str, place: int, **notes: tuple[str, ...]) -> Record:
        return job(method, f"s{place}", 0.0).model_copy(update={"notes": notes})

    tiny, large = "y: 2e-11", "y: 0.5*x0"
    ones = [
        *systems(sindy=[1, 1, 1, 1, 0, 0], psrn=[1, 0, 0]),
        wrong("psrn", 3, extra=(tiny,), negligible=(tiny,)),
        wrong("psrn", 4, extra=(tiny, large), negligible=(tiny,)),
        wrong("psrn", 5, extra=(tiny,), negligible=(tiny,), missing=("y: x1",)),
    ]
    rows = [cells(line) for line in negligible_table(Results(ones)).splitlines()]
    assert rows[0] == ["method", "ODEBench"]
    assert rows[2:] == [["*jobs compared*", "6"], ["psrn", "1 to 2"]]
    text = edition_findings(Results(ones))
    assert "1 of 7 answers that are not identified have all true terms" in text
    assert "most are of `psrn` 1" in text
    none = systems(sindy=[1] * 6, operon=[0] * 6)
    assert negligible_table(Results(none)).startswith("No answer on the compared jobs")
    assert "negligible" not in edition_findings(Results(none))


def test_how_many_answers_that_fit_are_not_right_is_a_finding() -> None:
    ones = systems(sindy=[1] * 6, operon=[0] * 6)
    assert "small error" not in edition_findings(Results(ones))
    near = [
        one.model_copy(update={"metrics": {**one.metrics, "nmse": 1e-7}})
        for one in systems(afp=[1, 1, 1, 0, 0, 0])
    ]
    text = edition_findings(Results([*ones, *near]))
    assert "of 6 answers whose NMSE on the test is below 1.0e-6, 50% are not the true" in text


def test_noise_is_shown_by_the_same_systems_at_each_level() -> None:
    ones = [
        job(method, f"s{place}", 1.0, snr_db=snr_db)
        for method in ("sindy", "integral", "truth")
        for snr_db, systems_of_it in ((None, 8), (40.0, 7), (20.0, 6))
        for place in range(systems_of_it)
    ]
    ones += [
        job("operon", f"s{place}", 1.0, snr_db=snr_db)
        for place in (0, 7)
        for snr_db in (None, 20.0)
    ]
    ones += [job("sindy", f"dysts-{place}", 1.0) for place in range(3)]
    kept = Results(ones).of_every_level
    assert {one.method for one in kept} == {"sindy", "integral"}
    for level in (None, 40.0, 20.0):
        for method in ("sindy", "integral"):
            systems_of_it = {
                one.system for one in kept if (one.method, one.snr_db) == (method, level)
            }
            assert systems_of_it == {f"s{place}" for place in range(6)}
    assert Results([one for one in ones if one.snr_db is None]).of_every_level == []
    assert (
        "Of 6 systems of ODEBench that the 2 methods with all levels have, the best identifies "
        "100% clean (`integral`), 100% at 40 dB (`integral`), 100% at 20 dB (`integral`) (figure of"
    ) in edition_findings(Results([one for one in ones if one.method != "operon"]))


def test_other_seeds_are_compared_with_the_first_and_count_in_no_suite() -> None:
    ones = systems(operon=[1.0] * 9, eql=[0.0] * 9)
    others = [job("operon", f"s{place}", float(place < 4), seed=1) for place in range(7)]
    results = Results([*ones, *others])
    assert results.chance == (7, 7, 3)
    assert [suite.jobs for suite in results.suites] == [9]
    text = edition_findings(results)
    assert "of 7 clean cases that a method has run with two or three seeds any identifies 7" in text
    assert "another seed misses 3 of these" in text


def test_a_copy_another_version_and_noise_are_no_second_seed() -> None:
    first = job("operon", "lorenz", 1.0)
    second = job("operon", "lorenz", 0.0, seed=1)
    copy = second.measured.model_copy(update={"of_seed": 0})
    other = second.model_copy(update={"key_parts": {**second.key_parts, "adapter": "b" * 64}})
    noisy = [job("operon", "lorenz", float(seed), seed=seed, snr_db=20.0) for seed in (0, 1)]
    for one in ([second.model_copy(update={"measured": copy})], [other], noisy):
        assert Results([first, *one]).chance == (0, 0, 0)
    assert Results([first, second]).chance == (1, 1, 1)


def test_methods_that_find_no_more_than_random_draws_are_counted() -> None:
    def laws(method: str, verdicts: Sequence[float]) -> list[Record]:
        return [
            job(method, f"feynman-{place}", verdict, data_type="srsd")
            for place, verdict in enumerate(verdicts)
        ]

    ones = [
        *laws("direct_nollm", [1, 0, 0, 0, 0]),
        *laws("lasr_nollm", [1, 1, 0, 0, 0]),
        *laws("operon", [0, 1, 0, 0, 0]),
        *laws("afp", [1, 1, 1, 0, 0]),
    ]
    text = edition_findings(Results(ones))
    assert "identifies 1 of 5 laws of SRSD, and 1 of 2 methods no more" in text
    assert "Chance" not in edition_findings(Results(laws("operon", [0] * 5) + laws("afp", [1] * 5)))


def surface(method: str, place: int, kind: str | None) -> Record:
    changes = {"data_type": "surface", "status": "timeout" if kind is None else "ok"}
    one = job(method, f"s{place}", float(kind == "none"), **changes)
    scores = {"failure_kind": kind, "nmse": 0.1, "nmse_ood": 2.0} if kind is not None else {}
    return one.model_copy(update={"metrics": {**one.metrics, **scores}})


def test_surfaces_that_every_method_has_are_drawn_with_what_fails() -> None:
    kinds = ["none", "fitting", "search", "search", None, "none", "none"]
    ones = [surface("long_name_of_a_method", place, kind) for place, kind in enumerate(kinds)]
    ones += [surface("operon", place, "search") for place in range(6)]
    failures, errors = surface_figures(Results(ones))
    titles = re.findall(r"<title>long_name_of_a_method: (\d+) of 6, (.*?)</title>", failures.svg)
    assert [int(count) for count, _ in titles] == [2, 1, 2, 1]
    assert "Of 6 surfaces" in failures.caption
    assert "long_name_of_a_method, outside: median 2 of 6" in errors.svg
    assert ">1</text>" in errors.svg  # the one without an answer
    assert surface_figures(Results(ones[:4])) == []


def test_names_of_methods_end_where_the_drawing_begins() -> None:
    ones = [surface("long_name_of_a_method", place, "none") for place in range(6)]
    for figure in surface_figures(Results(ones)):
        starts = map(float, re.findall(r'd="M([\d.]+) ', figure.svg))
        assert min(starts) > 7 * len("long_name_of_a_method")


def law(method: str, place: int, sizes: tuple[float, float | None] | None) -> Record:
    status = "timeout" if sizes is None else "ok"
    one = job(method, f"srbench-{place}", 0.0, data_type="srsd", status=status)
    scores = dict(zip(("complexity", "simplified_complexity"), sizes or (None, None), strict=True))
    return one.model_copy(update={"metrics": {**one.metrics, **scores}})


def test_sizes_are_medians_of_answers_with_both_next_to_the_published_ones() -> None:
    ones = [law("gp_gomea", place, (20.0 + place, 10.0 + place)) for place in range(8)]
    ones += [law("mine", 0, None), law("mine", 1, (90.0, None))]
    ones += [law("mine", place, (3.0, 2.0)) for place in range(2, 6)]
    head, _, shared, gomea, mine = map(cells, sizes_table(Results(ones)).splitlines())
    assert head[:4] == ["method", "answers", "nodes", "simplified"]
    assert shared[1] == "6"
    assert gomea == ["gp_gomea §", "6", "22.5", "12.5", "33.75", "22.75"]  # SRBench's gpgomea
    assert mine == ["mine", "4", "3", "2", "–", "–"]
    assert "No suite" in sizes_table(Results(ones[:3]))


def solved(method: str, law: str, solution: float, distance: float | None) -> Record:
    status = "timeout" if distance is None else "ok"
    one = job(method, law, 0.0, data_type="srsd", status=status)
    scores = {"srbench_solution": solution, "normalized_edit_distance": distance}
    return one.model_copy(update={"metrics": {**one.metrics, **scores}})


def test_ranges_are_compared_on_laws_that_both_suites_have() -> None:
    laws = [f"law-{number}" for number in range(8)]
    groups = {"easy": laws[:4], "medium": laws[4:7], "hard": laws[7:], "other": ["law-9"]}
    ones = [solved("afp", f"srbench-{law}", 1.0, 0.0) for law in laws]
    ones += [solved("afp", law, 0.0, 0.25) for law in laws[1:]]
    ones += [solved("afp", "not-in-srbench", 1.0, 0.0)]
    ones += [solved("mine", f"srbench-{law}", float(law == "law-3"), 1.5) for law in laws[:7]]
    ones += [solved("mine", law, float(law < "law-4"), None) for law in laws]
    head, _, shared, afp, mine = map(cells, ranges_table(Results(ones), groups).splitlines())
    assert head[-3:] == ["SRSD's, easy", "SRSD's, medium", "SRSD's, hard"]
    # Without law-0, which afp has not, and law-7, which mine has not.
    assert shared[1:] == ["*6*", "*6*", "", "", "*6*", "*3*", "*3*", "*0*"]
    weighted = f"{100 * (0.2 * 4 + 0.025 * 3 + 0.0) / 8:.1f} %"
    assert afp[:6] == ["afp §", "100.0 %", "0.0 %", "21.1 %", weighted, "0.000"]
    assert afp[6:] == ["0.250", "0.250", "–"]
    assert mine == ["mine", "16.7 %", "0.0 %", "–", "–", "1.000", "1.000", "1.000", "–"]
    assert "No suite" in ranges_table(Results(ones[:8]), groups)


def test_fields_are_drawn_by_noise_on_those_that_every_method_has() -> None:
    ones = [
        job(method, f"f{place}", 1.0, data_type="pde", snr_db=snr_db, nodes=nodes, status=status)
        for snr_db, most in ((None, 7), (20.0, 6))
        for method, nodes, status in (("weakform", 7.0, "ok"), ("pdefind", 9.0, "timeout"))
        for place in range(most - (method == "pdefind"))
    ]
    errors, nodes, work = field_figures(Results(ones))
    assert [each.title for each in (errors, nodes, work)] == [
        "NMSE",
        "Nodes of the equations",
        "Work of a job (s)",
    ]
    assert "weakform, clean: median 7 of 6" in nodes.svg
    assert "weakform, 20 dB: median 7 of 5" in nodes.svg
    assert ">6</text>" in errors.svg  # pdefind has no answer
    assert ">5</text>" in errors.svg
    assert "weakform, clean: median 1.5 of 6" in work.svg
    assert "6 clean, 5 20 dB" in errors.caption
    assert field_figures(Results(ones[:4])) == []
