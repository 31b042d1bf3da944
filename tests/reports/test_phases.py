"""Phase diagrams of sweeps, against counts by hand and by brute force."""

from __future__ import annotations

import itertools
import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from reporting import compare, data, result

from mdbench.datatypes.ode.data_type import Ode
from mdbench.datatypes.ode.sweeps import parse_sweep, swept
from mdbench.reports.html import page
from mdbench.reports.phases import (
    EVERY,
    MOST,
    SNR,
    phase_figures,
    phase_tables,
    phases_of,
    split_name,
)

AXES = Ode.axes


def record(method: str, dataset: str, found: float | None, **more: Any) -> dict[str, Any]:
    return data(method, dataset, scores={"identified": found}, **more)


def test_the_usual_value_of_an_axis_has_its_place_among_the_others() -> None:
    names = swept(["a", "b"], parse_sweep("noise=0,0.1,0.02"))
    records = [record(m, n, float("0.1" not in n)) for m in ("sindy", "operon") for n in names]
    (found,) = phases_of(compare(records), AXES)
    assert (found.x, found.xs, found.y, found.ys) == ("noise", ("0", "0.02", "0.1"), "", ("",))
    assert found.systems == (EVERY, "a", "b")
    assert found.shares["sindy", "a", "0.1", ""] == (0, 1)
    assert found.shares["operon", EVERY, "0.02", ""] == (2, 2)
    samples = [record("sindy", n, 1.0) for n in swept(["a"], parse_sweep("samples=100,20"))]
    (found,) = phases_of(compare([*samples, record("sindy", "a", 1.0)]), AXES)
    assert found.xs == ("20", "100", "usual")
    assert found.systems == ("a",)


def test_shares_are_those_of_brute_force() -> None:
    """Of seeds, failures, undecided and interrupted jobs, along two axes and for each third."""
    generator = random.Random(4)
    sweep = parse_sweep("samples=20,50,80;noise=0,0.1;uneven=0,0.2")
    records = []
    for method, name, seed in itertools.product(
        ("sindy", "operon"), swept(["a", "b", "c"], sweep), (0, 1, 2)
    ):
        status = generator.choice(["ok", "ok", "partial", "timeout", "interrupted"])
        flag = generator.choice([0.0, 1.0, None])
        records.append(record(method, name, flag, seed=seed, status=status))
    every = phases_of(compare(records), AXES)
    assert [one.held for one in every] == [(("uneven", "0"),), (("uneven", "0.2"),)]
    for one in every:
        assert (one.x, one.y) == ("samples", "noise")
        for method, system, x, y in itertools.product(one.methods, one.systems, one.xs, one.ys):
            values = []
            for each in records:
                base, given = split_name(each["dataset"], AXES)
                at = {axis: given.get(axis, AXES[axis]) for axis in ("samples", "noise", "uneven")}
                if (
                    each["algorithm"] == method
                    and system in {base, EVERY}
                    and (at["samples"], at["noise"], at["uneven"]) == (x, y, one.held[0][1])
                ):
                    if each["status"] == "timeout":
                        values.append(0)
                    elif (
                        each["status"] != "interrupted"
                        and each["metrics"]["identified"] is not None
                    ):
                        values.append(int(each["metrics"]["identified"]))
            want = (sum(values), len(values)) if values else None
            assert one.shares.get((method, system, x, y)) == want


def test_noise_levels_are_an_axis_of_a_sweep_and_no_sweep_of_their_own() -> None:
    levels = [record("sindy", "a", 1.0, snr_db=snr) for snr in (None, 40.0, 20.0)]
    assert phases_of(compare(levels), AXES) == []
    more = [record("sindy", "a+samples=20", 0.0, snr_db=snr) for snr in (None, 40.0, 20.0)]
    (found,) = phases_of(compare([*levels, *more]), AXES)
    assert (found.x, found.xs) == (SNR, ("clean", "40", "20"))
    assert (found.y, found.ys) == ("samples", ("20", "usual"))


@pytest.mark.parametrize("names", [["a", "b"], ["a+dummy", "a"], ["a+noise=0.1"]])
def test_without_a_sweep_there_is_no_diagram(names: list[str]) -> None:
    board = compare([record("sindy", name, 1.0) for name in names])
    assert phase_figures(board, AXES) == []
    assert phase_tables(board, AXES) == []
    assert phase_figures(board, {}) == []


def test_a_picture_has_a_box_for_each_condition_that_was_run() -> None:
    names = swept(["a<b", "c"], parse_sweep("samples=20,50;noise=0,0.1,0.2"))
    records = [record("sindy", name, 1.0) for name in names]
    records += [record("operon", name, 0.0) for name in names[:4]]
    (figure,) = phase_figures(compare(records), AXES)
    root = ET.fromstring(figure.svg)
    boxes = root.findall("rect")
    hovers = [box.findtext("title", "") for box in boxes]
    # Each system's, and those of all systems.
    assert len(boxes) == 12 + 6 + 4 + 2
    assert "sindy, a<b, noise=0.2, samples=50: 1 of 1" in hovers
    assert "sindy, all, noise=0, samples=20: 2 of 2" in hovers
    shades = {box.get("fill-opacity") for box in boxes}
    assert shades == {"0.00", "1.00"}
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    places = set()
    for box in boxes:
        x, y, w, h = (float(box.get(key, "nan")) for key in ("x", "y", "width", "height"))
        assert 0 < x < x + w < width
        assert 0 < y < y + h < height
        places.add((x, y))
    assert len(places) == len(boxes)
    at = dict(zip(hovers, boxes, strict=True))

    def place(noise: str, samples: int, axis: str) -> float:
        hover = f"sindy, c, noise={noise}, samples={samples}: 1 of 1"
        return float(at[hover].get(axis, "nan"))

    assert place("0", 20, "x") < place("0.1", 20, "x") < place("0.2", 20, "x")
    assert place("0", 20, "y") > place("0", 50, "y")  # upwards


def test_too_many_diagrams_are_counted() -> None:
    sweep = parse_sweep(
        "samples=20,30,40,50;noise=0,0.1,0.2,0.3;uneven=0,0.1,0.2;missing=0,0.1,0.2;dimension=0,1,2"
    )
    board = compare([record("sindy", name, 1.0) for name in swept(["a"], sweep)])
    found = phase_figures(board, AXES)
    assert len(found) == MOST
    assert "3 diagrams of further conditions are left out" in found[-1].caption


@pytest.mark.extension("papers")
def test_the_page_and_the_tables_have_it() -> None:
    from mdbench.extensions.papers.export import markdown_tables  # noqa: PLC0415 - it may be taken away

    names = swept(["a", "b"], parse_sweep("samples=20,50"))
    records = [record("sindy", name, float("50" in name)) for name in names]
    board = compare(records)
    (table,) = phase_tables(board, AXES)
    assert [cell.text for cell in table.rows[0]] == ["sindy", "0 of 2", "2 of 2"]
    text = markdown_tables({"ode": board}, axes={"ode": AXES})
    assert "### Identified by samples" in text
    assert "| sindy | 0 of 2 | 2 of 2 |" in text
    results = [result("sindy", name, scores={"identified": 1.0}) for name in names]
    with_axes = page(results, {"ode": board}, axes={"ode": AXES})
    assert "Where identification begins" in with_axes
    assert len(re.findall('class="phases"', with_axes)) == 1
    assert "Where identification begins" not in page(results, {"ode": board})
