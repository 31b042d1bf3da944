"""A page, a text and JSON of results of each data type: records that the repository has."""

from __future__ import annotations

import json
import lzma
from typing import TYPE_CHECKING

import pytest
from harness import ROOT

from mdbench import datatypes
from mdbench.cli import main

if TYPE_CHECKING:
    from pathlib import Path

BUNDLES = {
    "ode": "mock-models-ode",
    "pde": "seed-rows",
    "srsd": "seed-rows",
    "surface": "seed-rows",
    "real": "measurements",
    "derivation": "derivation-small",
}


def test_each_data_type_has_a_bundle() -> None:
    assert set(BUNDLES) == set(datatypes.names())


@pytest.mark.parametrize("name", BUNDLES)
def test_results_of_a_data_type_are_shown(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = ROOT / "docs" / "results" / f"{BUNDLES[name]}.jsonl.xz"
    lines = lzma.decompress(packed.read_bytes()).decode().splitlines()
    own = [line for line in lines if json.loads(line)["data_type"] == name]
    chosen = own[:: max(1, len(own) // 24)]
    assert len(chosen) >= 20
    results, out = tmp_path / "results", tmp_path / "report.html"
    results.mkdir()
    (results / f"some-{name}.jsonl").write_text("".join(f"{line}\n" for line in chosen))
    assert main(["report", str(results), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert all(json.loads(line)["algorithm"] in text for line in chosen)
    capsys.readouterr()
    assert main(["report", str(results), "--json"]) == 0
    assert name in json.loads(capsys.readouterr().out)["data_types"]
    assert main(["report", str(results), "--text"]) == 0
    assert "method" in capsys.readouterr().out
