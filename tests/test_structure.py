"""What a trivial job touches of the bench: few modules, functions and classes."""

from __future__ import annotations

import importlib.util

import pytest
from harness import ROOT


@pytest.mark.slow
@pytest.mark.build
def test_a_trivial_job_touches_little() -> None:
    spec = importlib.util.spec_from_file_location(
        "bench_structure", ROOT / "benchmarks" / "bench_structure.py"
    )
    assert spec is not None
    assert spec.loader is not None
    structure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(structure)
    counts = structure.trivial_job()
    assert {
        name: counts[name] for name, most in structure.HELD.items() if counts[name] > most
    } == {}
    assert counts["functions"] > 100  # they were seen
