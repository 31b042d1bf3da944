from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from reporting import compare, data, many, texts

from mdbench.drawing.svg import Axis, Figure, Plot, marker, ticks
from mdbench.reports import figures

NUMBERS = {"linear": 0, "operon": 1, "sindy": 2, "truth": 3, "zero": 4}


def test_all_figures_are_drawn_with_every_method() -> None:
    titles = [
        "NMSE by noise",
        "Identified by noise",
        "Nodes by noise",
        "NMSE against nodes",
        "Run time by dimension",
    ]
    other = ["Accuracy by noise", "Likelihood by noise", "Run time by dimension"]
    for found, wanted in ((compare(many()), titles), (compare(texts(), "texts"), other)):
        drawn = figures.figures(found, NUMBERS)
        assert [figure.title for figure in drawn] == wanted
        for figure in drawn:
            inside = [node.text for node in ET.fromstring(figure.svg).iter("title")]
            # linear has not attempted all, and its curve would be over other jobs.
            assert set(inside) & {*NUMBERS} == {*NUMBERS} - {"linear"}


def test_a_point_lies_where_its_number_states() -> None:
    axis = Axis([1e-4, 1e2], log=True)
    plot = Plot("t", ["a", "b"], axis, ("x", "y"), "none")
    top, bottom = plot.at_y(1e2), plot.at_y(1e-4)
    assert plot.at_y(1e-1) == pytest.approx((top + bottom) / 2)
    assert plot.at_y(math.inf) < top  # a failure lies above all answers
    assert plot.at_x(1) - plot.at_x(0) == pytest.approx((480 - 58 - 12) / 2)


@pytest.mark.parametrize(
    ("low", "high", "log"), [(0, 1, False), (3, 97, False), (1e-12, 1e6, True), (2, 30, True)]
)
def test_ticks_are_few_even_and_inside(low: float, high: float, log: bool) -> None:
    found = ticks(low, high, log=log)
    assert 2 <= len(found) <= 8
    assert all(low <= tick <= high * 1.001 for tick in found)
    assert all(a < b for a, b in pairwise(found))


def test_pareto_is_what_brute_force_finds() -> None:
    generator = np.random.default_rng(0)
    points = [tuple(map(float, point)) for point in generator.integers(0, 12, (40, 2))]
    beaten = {p for p in points for q in points if q != p and q[0] <= p[0] and q[1] <= p[1]}
    assert figures.pareto(points) == sorted(set(points) - beaten)  # type: ignore[arg-type]
    assert figures.pareto([(1.0, math.inf)]) == []


def test_bars_join_what_is_closer_than_the_critical_difference() -> None:
    assert figures._bars([1.0, 1.5, 2.2, 4.0], 1.0) == [(1.0, 1.5), (1.5, 2.2)]
    assert figures._bars([1.0, 1.1, 1.2], 5.0) == [(1.0, 1.2)]
    assert figures._bars([1.0, 3.0], 1.0) == []


def test_the_diagram_names_all_ranked_methods() -> None:
    found = compare(many())
    diagram = figures.critical_difference(found, NUMBERS)
    assert diagram is not None
    text = "".join(ET.fromstring(diagram.svg).itertext())
    assert all(method in text for method in found.ranked)
    assert "truth" not in text
    assert figures.critical_difference(compare([data()]), NUMBERS) is None


def test_signs_of_the_first_49_methods_differ() -> None:
    drawn = {(marker(n, 0, 0), n % 7) for n in range(49)}
    assert len(drawn) == 49


def test_shares_are_those_of_all_jobs_that_are_judged_by_the_flag() -> None:
    records = [
        *(
            data("sindy", f"s{i}", scores={"identified": flag})
            for i, flag in enumerate((1, 0, None))
        ),
        data("sindy", "s5", status="crashed"),
        data("sindy", "s6", status="crashed"),
        data("sindy", "s7", status="interrupted"),
        *(data(m, "s0", snr_db=20.0) for m in ("sindy", "truth", "zero")),  # one level: no figure
        *(data("truth", f"s{i}", verdict="identified") for i in (0, 1, 2, 5, 6)),
        *(data("zero", f"s{i}", status="crashed") for i in (0, 1, 2, 5, 6)),
    ]
    drawn = figures.figures(compare(records), NUMBERS)
    (svg,) = (figure.svg for figure in drawn if figure.title == "Identified by noise")
    plot = Plot("t", ["clean", "20"], Axis([100.0, 0.0], log=False, zero=True), ("", ""))
    assert svg.index(">n 5</tspan>") < svg.index(">n 1</tspan>")
    for name, share in (("sindy", 20.0), ("truth", 100.0), ("zero", 0.0)):
        (place,) = re.findall(rf'data-m="{name}" data-o="(\S+)" data-p="(\S+) (\S+)"', svg)
        aside, x, y = map(float, place)
        assert x == pytest.approx(plot.at_x(0) + aside, abs=0.2)
        assert y == pytest.approx(plot.at_y(share), abs=0.1)


def places(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'data-p="(\S+) (\S+)"', svg)]


def test_methods_that_have_the_same_values_stand_side_by_side() -> None:
    names = [f"method{i}" for i in range(12)]
    numbers = {name: i for i, name in enumerate(names)}
    records = [
        data(name, snr_db=snr_db, nmse=1e-3, complexity=7, verdict="identified")
        for name in names
        for snr_db in (None, 40.0, 30.0, 20.0, 10.0)
    ]
    for figure in figures.figures(compare(records), numbers):
        at = places(figure.svg)
        assert len(at) == 12
        apart = [x for x, _ in sorted(at)]
        assert all(right - left > 4.4 for left, right in pairwise(apart)), figure.title
        if "data-places" in figure.svg:  # none reaches the next place
            width = (480 - 58 - 12) / len(
                json.loads(re.findall('data-places="(.*?)"', figure.svg)[0])
            )
            assert apart[-1] - apart[0] < width


def test_marks_move_aside_until_they_hide_none() -> None:
    marks: list[tuple[float, float]] = []
    for _ in range(30):
        marks.append((figures._move_aside(300.0, 50.0, marks), 50.0))
    at = sorted(x for x, _ in marks)
    assert all(right - left > 4.4 for left, right in pairwise(at))
    assert figures._move_aside(300.0, 60.0, marks) == 300.0


def test_failures_lie_above_all_answers_and_scores_of_cases_that_rank_nobody_nowhere() -> None:
    records = [
        data("sindy", nmse=1e-3),
        data("zero", status="crashed"),
        data("zero", "noisy", status="crashed", floor=2.0),
        data("sindy", "noisy", nmse=1e5, floor=2.0),
        data("sindy", nmse=1e-2, snr_db=20.0),
        data("zero", status="crashed", snr_db=20.0),
    ]
    figure = figures.figures(compare(records), NUMBERS)[0]
    assert ">none<" in figure.svg
    assert "10<tspan" not in figure.svg.partition(">none<")[2]
    assert "“none” is no answer" in figure.caption


def test_the_better_end_of_the_front_is_the_upper_one_where_higher_is_better() -> None:
    assert figures.pareto([(1.0, -0.5), (2.0, -0.75), (3.0, -0.6)]) == [(1.0, -0.5), (2.0, -0.75)]


def test_labels_of_methods_stay_apart_and_off_the_axis() -> None:
    names = [f"method{i}" for i in range(6)]
    found = compare([data(name, nmse=1e-12, complexity=5) for name in names])
    numbers = {name: i for i, name in enumerate(names)}
    (drawn,) = (f for f in figures.figures(found, numbers) if f.title.startswith("NMSE against"))
    heights = sorted(map(float, re.findall(r'class="halo" x="[^"]*" y="([^"]*)"', drawn.svg)))
    assert len(heights) == 6
    assert all(below - above >= 13 for above, below in pairwise(heights))
    assert heights[-1] <= 330 - 46


def figure_of(records: list[dict[str, Any]], title: str, **numbers: int) -> Figure:
    names = {one["algorithm"]: n for n, one in enumerate(records)}
    drawn = figures.figures(compare(records), names | numbers)
    return next(figure for figure in drawn if figure.title == title)


def test_no_figure_along_an_axis_with_one_place() -> None:
    for records in ([data("a"), data("b")], [data("a", snr_db=20.0), data("b", snr_db=20.0)]):
        titles = [one.title for one in figures.figures(compare(records), {"a": 0, "b": 1})]
        assert titles == ["NMSE against nodes"]


def test_lines_do_not_cross_levels_without_data() -> None:
    levels = (None, 40.0, 30.0, 20.0)
    records = [data("a", snr_db=level, nmse=1e-3, complexity=5) for level in levels]
    # No answer has no nodes.
    records += [
        data("b", snr_db=level, status="crashed" if level == 30.0 else "ok") for level in levels
    ]
    svg = figure_of(records, "Nodes by noise").svg
    lines = dict(re.findall(r'data-m="(\w)".*?class="line"[^>]*d="([^"]*)"', svg))
    assert [re.sub("[^ML]", "", lines[name]) for name in "ab"] == ["MLLL", "MLM"]


@pytest.mark.parametrize("count", [2, 5, 12, 20, 30])
@pytest.mark.parametrize("spread", [0.0, 1.0, 12.0])
def test_every_label_has_a_line_to_its_mark_and_stays_inside(count: int, spread: float) -> None:
    generator = np.random.default_rng(count)
    records = [
        data(f"m{i}", nmse=10 ** -(spread * generator.random()), complexity=5 + i % 3)
        for i in range(count)
    ]
    svg = figure_of(records, "NMSE against nodes").svg
    labels = re.findall(r'class="halo" x="([^"]*)" y="([^"]*)"[^>]*>(\w+)<', svg)
    lines = re.findall(r'class="lead" d="M(\S+) (\S+)L(\S+) (\S+)h4"', svg)
    marks = {
        name: (float(x), float(y))
        for name, x, y in re.findall(r'data-m="(\w+)" data-o="\S+" data-p="(\S+) (\S+)"', svg)
    }
    assert len(marks) == count
    assert len(labels) == len(lines) == min(count, 21)
    for (x, y, name), line in zip(labels, lines, strict=True):
        x0, y0, x1, y1 = map(float, line)
        assert (x0, y0) == pytest.approx((marks[name][0] + 4.5, marks[name][1]), abs=0.2)
        assert (x1, y1) == pytest.approx((float(x) - 8, float(y) - 4), abs=0.2)
        assert float(x) + 7.6 * len(name) <= 480
    heights = sorted(float(y) for _, y, _ in labels)
    assert all(below - above >= 12.9 for above, below in pairwise(heights))
    assert heights[0] >= 8
    assert heights[-1] <= 330 - 46


def test_the_truth_takes_no_decades_of_the_axis() -> None:
    records = [data("sindy", nmse=1e-2), data("operon", nmse=1e-3), data("truth", nmse=1e-12)]
    figure = figure_of(records, "NMSE against nodes")
    low, high, _ = map(float, re.findall(r'data-y="(.*?)"', figure.svg)[0].split())
    assert 1e-4 < low < 1e-3
    assert 1e-2 < high < 1e-1
    (height,) = re.findall(r'class="split" d="M58 (\S+?)H', figure.svg)
    assert float(height) == pytest.approx(330 - 46, abs=0.1)
    assert "dotted line is truth" in figure.caption


@pytest.mark.parametrize("seed", range(30))
def test_labels_of_ticks_are_round_and_differ(seed: int) -> None:
    generator = np.random.default_rng(seed)
    low = 10 ** generator.uniform(-13, 5)
    for high in (low * 10 ** generator.uniform(0.001, 14), low * 1.5, low * 8):
        for log in (True, False):
            axis = Axis([low, high], log=log)
            found = ticks(axis.low, axis.high, log=log)
            labels = [axis.label(each) for each in found]
            assert len({*labels}) == len(labels) >= 2
            for tick in found if log else ():
                mantissa = float(f"{tick:.6e}".split("e")[0])
                assert mantissa in {1, 2, 3, 5} or high / low < 30
    assert Axis([1e-11, 9e-11], log=True).label(2e-11).startswith("2·10<tspan")


def test_the_cases_that_noise_allows_are_a_step_at_each_level() -> None:
    """Its height is their share of those of which something is known; clean data have none."""
    board = compare(many())
    known = next(spec for spec in board.known if spec.name == "identified")
    levels = [level for level in board.noise_levels if level is not None]
    allowed = {level: k / len(levels) for k, level in enumerate(levels)}
    systems = sorted({job.case.system for job in board.plan.jobs})

    def attainable(system: str, snr_db: float | None) -> bool | None:
        if snr_db is None:
            return True
        return systems.index(system) < round(allowed[snr_db] * len(systems))

    order = [row.method for row in board.drawn]
    found = figures.by_noise(replace(known, attainable=attainable), board, NUMBERS, order)
    assert found is not None
    assert "dotted steps" in found.caption
    steps = re.findall(r'class="split" d="M[\d.]+ ([\d.]+)h', found.svg)
    assert len(steps) == len(levels)
    assert sorted(map(float, steps), reverse=True) == [float(step) for step in steps]
    without = figures.by_noise(known, board, NUMBERS, order)
    assert without is not None
    assert "split" not in without.svg
    assert "dotted steps" not in without.caption
