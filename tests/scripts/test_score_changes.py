from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import score_changes

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "file,key,data_type,algorithm,system,score,before,after,equations\n"


def rows(*changes: tuple[str, str, str]) -> str:
    lines = (f"a,k,ode,m,s,{score},{old},{new},u0" for score, old, new in changes)
    return HEAD + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("0.0", "1.0", "0 → 1"),
        ("1.0", "", "1 → undecided"),
        ("None", "0.0", "undecided → 0"),
        ("near", "apart", "near → apart"),
        ("0.25", "0.5", "higher"),
        ("0.5", "1.0", "higher"),
        ("1e-10", "1e-11", "lower"),
        ("", "0.25", "undecided → a number"),
        ("ok", "timeout", "ok → timeout"),
    ],
)
def test_names_what_became_what(before: str, after: str, name: str) -> None:
    assert score_changes.kind(before, after) == name


def test_the_table_counts_changes_and_keeps_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, page = tmp_path / "c.csv", tmp_path / "page.md"
    changes.write_text(
        rows(("f1", "0.0", "0.4"), ("f1", "0.1", "0.5"), ("identified", "1.0", "0.0"))
    )
    page.write_text("before\n<!-- changes -->\n<!-- end -->\nafter\n")
    monkeypatch.setattr(score_changes, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["score_changes.py", str(changes)])
    score_changes.main()
    made = page.read_text()
    assert "| ode | `f1` | 2 | higher: 2 |  |" in made
    assert "| ode | `identified` | 1 | 1 → 0: 1 |  |" in made
    page.write_text(made.replace("higher: 2 |  |", "higher: 2 | multiplied out |"))
    changes.write_text(rows(("f1", "0.0", "0.4")))
    score_changes.main()
    made = page.read_text()
    assert "| ode | `f1` | 1 | higher: 1 | multiplied out |" in made
    assert "identified" not in made
    assert made.startswith("before\n")
    assert made.endswith("<!-- end -->\nafter\n")
