"""``mdbench data`` writes one configuration, the project's or the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdbench.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TEXT = "title = 'x'\nsteps = 2\ntrain = 8\nvalidation = 4\ntest = 4\n"


def test_a_configuration_of_the_user_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text(TEXT)
    words = ["data", "--data-type", "derivation", "--dataset-path", str(tmp_path / "mine.toml")]
    assert main([*words, "--dataset", "mine", "--out", str(tmp_path / "out"), "--seed", "1"]) == 0
    assert "6 files" in capsys.readouterr().out
    assert (tmp_path / "out/documented/mine/test.jsonl").read_text().count("\n") == 2
    assert main([*words, "--dataset", "other", "--out", str(tmp_path / "out")]) == 2
    assert "other" in capsys.readouterr().err
    assert main([*words, "--dataset", "mine"]) == 2
    assert "--dataset goes with --out" in capsys.readouterr().err
