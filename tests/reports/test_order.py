"""The order of two methods is their own: nothing that is added changes it, on whatever is shown."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from reporting import KINDS, SPECS, data
from sweeps import sampled

from mdbench.records import Record
from mdbench.reports import leaderboard
from mdbench.reports.classes import latest
from mdbench.reports.comparison import changes
from mdbench.reports.html import page
from mdbench.reports.leaderboard import MethodFacts
from mdbench.reports.terminal import leaderboards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mdbench.reports.leaderboard import Leaderboard

TYPES = ("ode", "texts", "points")
PRIMARY = {"ode": "nmse", "texts": "accuracy", "points": "hit"}
NOISE = (None, 20.0)
FACTS = KINDS | {"oracle": MethodFacts("other", reference=True), "flat": MethodFacts("baseline")}


class Campaign:
    """Made-up records: methods on the same systems, noise levels and seeds, with failures."""

    def __init__(self, seed: int, *, mixed: bool = False) -> None:
        self.random = random.Random(seed)
        self.data_type = TYPES[seed % 3]
        self.systems = [f"s{n}" for n in range(self.random.randint(3, 9))]
        self.seeds = range(self.random.randint(1, 3))
        self.methods = [f"m{n}" for n in range(self.random.randint(2, 5))]
        self.records: list[dict[str, Any]] = []
        for skill, method in enumerate(self.methods):
            # The last of several may lack some cases, as in the middle of a run.
            short = skill == len(self.methods) - 1 > 1 and self.random.random() < 0.5
            systems = self.systems[:2] if short else self.systems
            seeds = range(self.random.randint(1, len(self.seeds))) if mixed else self.seeds
            self.records += self.of(method, systems, seeds, 0.3 * skill)

    def score(self, skill: float) -> float | None:
        draw = self.random.random()
        if draw < 0.03:
            return None  # undecided
        if self.data_type == "ode":
            # Ties, and answers better than the truth, are common.
            return float(f"1e{-round(self.random.gauss(6 - skill, 4))}")
        if self.data_type == "texts":
            return round(float(self.random.random() ** (1 + skill)), 1)
        return float(draw > 0.5)

    def of(
        self,
        method: str,
        systems: Iterable[str],
        seeds: Iterable[int],
        skill: float,
        **changes: Any,
    ) -> list[dict[str, Any]]:
        """Make the records of a method."""
        return [
            self.one(method, system, snr_db, seed, self.score(skill), **changes)
            for system in systems
            for snr_db in NOISE
            for seed in seeds
        ]

    def one(
        self,
        method: str,
        system: str,
        snr_db: float | None,
        seed: int,
        score: float | None,
        **changes: Any,
    ) -> dict[str, Any]:
        status = changes.pop("status", None)
        status = status or ("timeout" if self.random.random() < 0.15 else "ok")
        # The truth fits each system in one way, whoever is asked.
        floor = {"s1": 2.0, "s2": 1e-3}.get(system, 0.0) if self.data_type == "ode" else None
        more = {"floor": floor, "snr_db": snr_db, "seed": seed, "data_type": self.data_type}
        scores = {PRIMARY[self.data_type]: score}
        return data(method, system, scores=scores, status=status, **more | changes)

    @property
    def perfect(self) -> float:
        """The best score that there is."""
        return 0.0 if self.data_type == "ode" else 1.0


def few_easy_cases(made: Campaign) -> list[dict[str, Any]]:
    system = made.random.choice(made.systems)
    seeds = made.random.choice([made.seeds, [0], [7]])
    return [made.one("new", system, snr_db, n, made.perfect) for snr_db in NOISE for n in seeds]


def several_with_few_cases(made: Campaign) -> list[dict[str, Any]]:
    found = []
    for name in ("new", "newer", "newest", "last"):
        found += made.of(name, made.systems[:1], [made.seeds[-1]], -9.0)
    return found


def fails_but_on_few(made: Campaign) -> list[dict[str, Any]]:
    return [
        made.one(
            "new",
            system,
            snr_db,
            seed,
            made.perfect,
            status="ok" if system == made.systems[0] else "crashed",
        )
        for system in made.systems
        for snr_db in NOISE
        for seed in made.seeds
    ]


def systems_of_its_own(made: Campaign) -> list[dict[str, Any]]:
    return made.of("new", ["easy"], made.seeds, 0.0)


def fewer_seeds(made: Campaign) -> list[dict[str, Any]]:
    return made.of("new", made.systems, [0], 0.0)


def middling(made: Campaign) -> list[dict[str, Any]]:
    return made.of("new", made.systems, made.seeds, 1.0)


def slower_machine(made: Campaign) -> list[dict[str, Any]]:
    found = made.of("new", made.systems, made.seeds, 0.5, wall_s=59.0)
    for one in found:
        one["measured"]["speed"] = 0.02
        one["provenance"] = one["provenance"] | {
            "machine": {"cpu": "slow", "cores": 1, "memory_mb": 512, "os": "old"}
        }
    return found


def a_reference(made: Campaign) -> list[dict[str, Any]]:
    return [one | {"floor": 3.0} for one in made.of("oracle", made.systems, made.seeds, -9.0)]


def a_baseline(made: Campaign) -> list[dict[str, Any]]:
    return made.of("flat", [*made.systems, "easy"], range(5), -9.0)


def more_seeds(made: Campaign) -> list[dict[str, Any]]:
    return made.of(made.methods[0], made.systems, range(len(made.seeds), 9), -3.0)


def a_longer_budget(made: Campaign) -> list[dict[str, Any]]:
    budget = data()["budget"] | {"timeout_s": 3600.0}
    return made.of(made.methods[0], made.systems, made.seeds, -9.0, budget=budget)


def unsupported(made: Campaign) -> list[dict[str, Any]]:
    return made.of("new", made.systems, made.seeds, 0.0, status="unsupported")


def data_of_ones_own(made: Campaign) -> list[dict[str, Any]]:
    return made.of(made.methods[-1], ["mine"], made.seeds, 0.0, dataset_path="mine.csv")


ADDED: tuple[Callable[[Campaign], list[dict[str, Any]]], ...] = (
    few_easy_cases,
    several_with_few_cases,
    fails_but_on_few,
    systems_of_its_own,
    fewer_seeds,
    middling,
    slower_machine,
    a_reference,
    a_baseline,
    more_seeds,
    a_longer_budget,
    unsupported,
    data_of_ones_own,
)


def board_of(records: list[dict[str, Any]], data_type: str) -> Leaderboard:
    results = latest(Record.model_validate(one) for one in records)
    return leaderboard.boards(results, FACTS, SPECS)[data_type]


def orders(records: list[dict[str, Any]], data_type: str, kept: set[str]) -> dict[str, list[str]]:
    """Return the order of methods wherever one is shown, of those that are kept."""
    from mdbench.extensions.papers.export import latex_tables, leaderboard_markdown  # noqa: PLC0415 - it may be taken away

    results = latest(Record.model_validate(one) for one in records)
    boards = leaderboard.boards(results, FACTS, SPECS)
    first = boards[data_type]
    (table, *_) = leaderboards(boards)
    html = page(results, boards)
    shown = html[html.index('<table class="board') :]
    latex = latex_tables(boards)
    by_rank = [row for row in first.rows if row.rank is not None]
    found = {
        "rows": [row.method for row in first.rows],
        "ranks": [row.method for row in sorted(by_rank, key=lambda row: row.rank or 0)],
        "terminal": [str(cell).rstrip("*†") for cell in table.columns[1].cells],
        "page": re.findall(r'<td data-v="(\w+)">', shown[: shown.index("</table>")]),
        "markdown": re.findall(r"(?m)^\| [^|]+ \| \*?(\w+)", leaderboard_markdown(first))[1:],
        "latex": re.findall(
            r"(?m)^(?:\\textcolor\{gray\}\{)?(\w+)[^&]* & .* & ",
            latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")],
        ),
    }
    return {name: [each for each in order if each in kept] for name, order in found.items()}


@pytest.mark.extension("papers")
@pytest.mark.parametrize("added", ADDED, ids=lambda added: added.__name__)
def test_what_is_added_never_changes_the_order_of_the_others(
    added: Callable[[Campaign], list[dict[str, Any]]],
) -> None:
    # Where the methods have unlike seeds, another method with all cases may decide which count.
    apart = added not in {more_seeds, fewer_seeds, middling, slower_machine, fails_but_on_few}
    for seed in range(12):
        made = Campaign(seed, mixed=apart and seed % 2 == 1)
        more = added(made)
        touched = {one["algorithm"] for one in more}
        if added is a_longer_budget or added is data_of_ones_own:
            touched = set()  # these have boards of their own
        kept = {*made.methods} - touched
        before = [r.method for r in board_of(made.records, made.data_type).rows if r.method in kept]
        after = board_of([*made.records, *more], made.data_type)
        assert [row.method for row in after.rows if row.method in kept] == before, seed


@pytest.mark.extension("papers")
@pytest.mark.parametrize("added", sampled(ADDED, share=0.4), ids=lambda added: added.__name__)
def test_all_that_is_shown_has_the_same_order(
    added: Callable[[Campaign], list[dict[str, Any]]],
) -> None:
    for seed in (1, 2, 3):
        made = Campaign(seed)
        records = [*made.records, *added(made)]
        everybody = {one["algorithm"] for one in records}
        found = orders(records, made.data_type, everybody)
        rows = found.pop("rows")
        ranks = found.pop("ranks")
        assert ranks == [each for each in rows if each in ranks]
        assert found == dict.fromkeys(found, rows), seed


def test_the_others_are_compared_with_an_earlier_run_as_before() -> None:
    for seed in range(9):
        made, again = Campaign(seed), Campaign(seed + 60)
        again.systems, again.seeds = made.systems, made.seeds
        again.data_type = made.data_type
        later = [r for m in made.methods for r in again.of(m, made.systems, made.seeds, 0.5)]
        sides = [made.records, later]
        alone = compared(sides)
        more = few_easy_cases(made)
        assert compared([side + more for side in sides], kept={*made.methods}) == alone


def compared(sides: list[list[dict[str, Any]]], kept: set[str] | None = None) -> list[Any]:
    before, after = ([Record.model_validate(one) for one in side] for side in sides)
    return [
        (one.method, one.pairs, one.better, one.worse, one.same, one.test)
        for one in changes(before, after, SPECS).methods
        if kept is None or one.method in kept
    ]


def test_equal_shared_scores_are_a_tie_however_many_seeds_one_has() -> None:
    for seed in range(10):
        made = Campaign(seed)
        shared = made.of("a", made.systems, [0], 0.0)
        same = [one | {"algorithm": "b"} for one in shared]
        for more in (made.of("b", made.systems, [1], skill) for skill in (-9.0, 0.0, 9.0)):
            found = board_of([*shared, *same, *more], made.data_type)
            assert {row.method: row.rank for row in found.rows} == {"a": 1, "b": 1}
            assert found.pairs == () or found.pairs[0].test.zeros == found.pairs[0].test.n


def test_seeds_that_all_have_narrow_the_interval() -> None:
    made = Campaign(0)
    made.systems = [f"s{n}" for n in range(3, 20)]
    generator = random.Random(5)

    def width(seeds: int) -> float:
        records = [
            made.one(method, system, None, seed, 10 ** generator.gauss(-3, 2), status="ok")
            for method in "ab"
            for system in made.systems
            for seed in range(seeds)
        ]
        row = board_of(records, "ode").rows[0]
        assert row.low is not None
        assert row.high is not None
        return row.high / row.low

    few = [width(1) for _ in range(10)]
    many = [width(8) for _ in range(10)]
    assert sum(many) < 0.6 * sum(few)


def test_where_seeds_differ_from_case_to_case_those_of_most_methods_count() -> None:
    made = Campaign(0)
    folds = {"s0": 2, "s3": 3, "s4": 1}
    records = [
        made.one(method, system, None, seed, 0.5, status="ok")
        for method in ("a", "b", "c")
        for system, count in folds.items()
        for seed in range(count)
    ]
    found = board_of(records, "ode")
    assert len(found.plan.jobs) == 6
    assert found.ranked == ("a", "b", "c")
    # One without the last seed of a case is short of it, and the others are compared on all.
    short = [r for r in records if (r["algorithm"], r["system"], r["seed"]) != ("a", "s3", 2)]
    found = board_of(short, "ode")
    assert len(found.plan.jobs) == 6
    assert found.ranked == ("b", "c")
    assert [row.method for row in found.rows] == ["b", "c", "a"]
    assert found.rows[-1].coverage == pytest.approx(5 / 6)
    assert {(pair.method, pair.other) for pair in found.partial_pairs} == {("a", "b"), ("a", "c")}
