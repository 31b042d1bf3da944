"""Accepted forms of a law are held against the law by our rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curated_forms import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LAWS = """
quotient:
  prepared: "v1 / (v2 - neg(v3))"
  vars:
    v0: {}
    v1: {sample_range: [1.0, 5.0], sample_type: uni_pos}
    v2: {sample_range: [1.0, 5.0], sample_type: uni_neg}
    v3: {sample_range: [7.0, 9.0], sample_type: uni_pos}
  accept:
    - "v1 / (v2 + v3)"
    - "1 / (v2/v1 + v3/v1)"
    - "v1 / (v2 - v3)"
    - "2 * v1 / (v2 + v3)"
root:
  prepared: "(v1^2)^0.5"
  vars:
    v1: {sample_range: [1.0, 5.0], sample_type: uni_neg}
  accept: ["-v1", "v1", "neg(v1))"]
both_signs:
  prepared: "(v1^2)^0.5"
  vars:
    v1: {sample_range: [1.0, 5.0], sample_type: uni_pos_neg}
  accept: ["v1", "abs(v1)"]
"""


def test_forms_that_are_not_the_law_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "expressions.yaml"
    path.write_text(LAWS, encoding="utf-8")
    main(str(path))
    *lines, counts = capsys.readouterr().out.splitlines()
    named = [line.rpartition(": ")[0] for line in lines if "unreadable" not in line]
    # A sign, a factor that no law has, and roots that are positive, by the range of the inputs.
    assert named == [
        "quotient: v1 / (v2 - v3)",
        "quotient: 2 * v1 / (v2 + v3)",
        "root: v1",
        "both_signs: v1",
    ]
    assert next(line for line in lines if "unreadable" in line).startswith("root: neg(v1)): ")
    assert "identified: 4" in counts
    assert "unreadable: 1" in counts
