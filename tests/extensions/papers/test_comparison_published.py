from __future__ import annotations

import pytest

from mdbench import datatypes
from mdbench.extensions.papers.published import Mark, read_published
from mdbench.workspace import Workspace

# Counted by hand in the paper's tables.
TICKS = {
    "ode": {
        "sindy": 10,
        "esindy": 9,
        "pysr": 14,
        "operon": 4,
        "eql": 0,
        "odeformer": 7,
        "end2end": 0,
        "udsr": 3,
    },
    "pde": {
        "pdefind": 5,
        "bayesian": 0,
        "wsindy": 6,
        "ewsindy": 6,
        "deepmod": 2,
        "pysr": 6,
        "operon": 4,
        "udsr": 0,
    },
}


@pytest.mark.parametrize("data_type", TICKS)
def test_the_tables_have_every_system_and_as_many_ticks_as_the_paper(data_type: str) -> None:
    published, place = read_published(), Workspace.find()
    kind = datatypes.find(data_type, place.datasets / data_type, place.arrays / data_type)
    table = published.marks[data_type]
    assert set(table) == set(kind.source().names())
    assert {frozenset(row) for row in table.values()} == {frozenset(TICKS[data_type])}
    for method, ticks in TICKS[data_type].items():
        assert len(published.found(data_type, method)) == ticks
        assert published.has(data_type, method)
    assert not published.has(data_type, "afp")
    assert published.of(data_type, "nowhere", "sindy") is None


def test_an_entry_is_shown_as_the_paper_has_it() -> None:
    published = read_published()
    assert str(published.of("pde", "navier_stokes_channel", "pdefind")) == "1e2 (82)"
    assert str(published.of("pde", "nls", "deepmod")) == "✗"
    signs = {"nearly": "±1", "none": "✗"}
    assert str(Mark.of("1e-2 (17) nearly", signs)) == "1e-2 (17) ±1"
    for text in ("1e-2", "1e-2 (17) far", "unheard-of"):
        with pytest.raises(ValueError, match="no entry"):
            Mark.of(text, signs)


def test_the_signs_are_the_marks_of_the_data_types() -> None:
    for kind in datatypes.classes(TICKS):
        marks = [spec.mark for spec in kind.metrics if spec.mark]
        assert read_published().best == marks[0]
        used = {
            mark.sign for row in read_published().marks[kind.name].values() for mark in row.values()
        }
        assert used <= {"", "✗", *marks}
