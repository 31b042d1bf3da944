"""The rules by which a record is held against one of another processor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import add_method

from mdbench.cli import main
from mdbench.records import Record
from mdbench.runs.reproduce import (
    TOLERANCE,
    TOLERANCE_OF_DATA,
    Agreement,
    compare_records,
    largest_difference,
)

if TYPE_CHECKING:
    from mdbench.workspace import Workspace

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "schema-1.jsonl"
EXAMPLE = json.loads(GOLDEN.read_text(encoding="utf-8").splitlines()[0])

PRODUCT = """
import os
import numpy as np

class Adapter:
    def __init__(self, *, seed, threads): ...
    def fit(self, p):
        self.text = {{"Haswell": {first!r}, "Nehalem": {second!r}}}[os.environ["OPENBLAS_CORETYPE"]]
    def candidates(self): ...
    def predict(self, p):
        return eval(self.text, {{"u0": p.X[:, :1]}}) + 0 * p.X[:, :1]
    def equations(self):
        return [self.text]
"""


def made(
    first: str = "1.84*u0 - 1.45*u0*u1",
    kernel: str | None = "Haswell",
    threads: int = 1,
    cpu: str = "AMD EPYC",
    dataset: str = "ab",
    **changes: Any,
) -> Record:
    machine = {**EXAMPLE["provenance"]["machine"], "cpu": cpu}
    measured = {**EXAMPLE["measured"], "blas_kernel": kernel, "blas_threads": threads}
    return Record.model_validate(
        {
            **EXAMPLE,
            "equations": [first, EXAMPLE["equations"][1]],
            "measured": measured,
            "provenance": {**EXAMPLE["provenance"], "machine": machine},
            "key_parts": {**EXAMPLE["key_parts"], "dataset": dataset},
            **changes,
        }
    )


def times(factor: float) -> str:
    return f"{1.84 * factor!r}*u0 - 1.45*u0*u1"


@pytest.mark.parametrize(
    ("other", "chaotic", "expected"),
    [
        ({}, False, Agreement.SAME),
        ({"kernel": "SkylakeX"}, False, Agreement.SAME),
        ({"kernel": "SkylakeX"}, True, Agreement.SAME),
        # Equal kernels: to the bit.
        ({"first": times(1 + 1e-15)}, False, Agreement.OTHER),
        ({"first": times(1 + 1e-15)}, True, Agreement.OTHER),
        ({"metrics": {"nmse": 1.6e-13}}, False, Agreement.OTHER),
        # Other kernels, or as many threads of the same: to a tolerance, for the same data.
        ({"first": times(1 + 1e-12), "kernel": "SkylakeX"}, False, Agreement.NEARLY),
        ({"first": times(1 + 1e-12), "threads": 2}, False, Agreement.NEARLY),
        ({"first": times(1 + 1e-12), "kernel": "SkylakeX"}, True, Agreement.NEARLY),
        ({"metrics": {"nmse": 1.6e-13}, "kernel": "SkylakeX"}, False, Agreement.NEARLY),
        ({"first": times(1 + 9 * TOLERANCE), "kernel": "Zen"}, False, Agreement.OTHER),
        ({"first": times(1 + 9 * TOLERANCE), "kernel": "Zen"}, True, Agreement.CHAOTIC),
        ({"first": "1.84*u0", "kernel": "Zen"}, False, Agreement.OTHER),
        ({"first": "1.84*u0", "kernel": "Zen"}, True, Agreement.CHAOTIC),
        ({"status": "partial", "kernel": "Zen"}, False, Agreement.OTHER),
        ({"equations": None, "kernel": "Zen"}, False, Agreement.OTHER),
        # Data that another kernel made: to a wider one.
        (
            {"first": times(1 + 9 * TOLERANCE), "kernel": "Zen", "dataset": "cd"},
            False,
            Agreement.NEARLY,
        ),
        (
            {"first": times(1 + 9 * TOLERANCE_OF_DATA), "kernel": "Zen", "dataset": "cd"},
            False,
            Agreement.OTHER,
        ),
        ({"first": times(1 + 1e-12), "dataset": "cd"}, False, Agreement.OTHER),
    ],
)
def test_rules(other: dict[str, Any], chaotic: bool, expected: Agreement) -> None:
    found = compare_records(made(), made(**other), chaotic=chaotic)
    assert found.sameness is expected
    assert found.data == ("dataset" not in other)
    named = other.get("kernel"), other.get("threads")
    assert (found.kernels is None) == (named == (None, None))


def test_where_a_kernel_is_unknown_the_processor_decides() -> None:
    nearly = times(1 + 1e-12)
    older = made(kernel=None)
    assert (
        compare_records(older, made(nearly, kernel=None), chaotic=False).sameness is Agreement.OTHER
    )
    found = compare_records(older, made(nearly, kernel=None, cpu="Xeon"), chaotic=False)
    assert found.sameness is Agreement.NEARLY
    assert found.kernels == ("an unknown kernel on AMD EPYC", "an unknown kernel on Xeon")
    found = compare_records(older, made(nearly, threads=4), chaotic=False)
    assert found.sameness is Agreement.NEARLY
    assert found.kernels == ("an unknown kernel on AMD EPYC", "Haswell, 4 threads")


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (("2*u0 + u1",), ("u1 + u0*2",), 0.0),
        (("4*exp(0.5*u0)",), ("4*exp(0.5000001*u0)",), 2e-7),
        (("4*x*y_xx + exp(k)",), ("5*x*y_xx + exp(k)",), 0.25),
        (("0",), ("0",), 0.0),
        (("0",), ("1e-9*u0",), None),
        (("u0", "u1"), ("u0", "0"), None),
        (("u0",), ("u0", "u1"), None),
        (("u0",), ("u0 ? 1",), None),
        (None, ("u0",), None),
    ],
)
def test_largest_difference(
    one: tuple[str, ...] | None, other: tuple[str, ...], difference: float | None
) -> None:
    assert largest_difference(one, other) == (
        None if difference is None else pytest.approx(difference, rel=1e-6)
    )


@pytest.fixture
def workspace(command_line: Workspace) -> Workspace:
    return command_line


@pytest.mark.parametrize(
    "case",
    [
        (
            "2.000000001*u0",
            "linear",
            ["the same result but for rounding", "differ by up to 5.0e-10", "1 of 1 record"],
        ),
        ("3.0*u0", "linear", ["another result", "['2.0*u0'] -> ['3.0*u0']", "0 of 1 record"]),
        (
            "3.0*u0",
            "genetic",
            ["another result of a chaotic search", "0 of 0 records", "1 more cannot be"],
        ),
    ],
)
def test_reproduce_names_the_kernels(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, str, list[str]],
) -> None:
    second, family, words = case
    folder = add_method(workspace, "m", PRODUCT.format(first="2.0*u0", second=second))
    toml = (folder / "method.toml").read_text(encoding="utf-8")
    (folder / "method.toml").write_text(toml.replace("baseline", family), encoding="utf-8")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    line = ["--algorithm", "m", "--data-type", "ode", "--dataset", "rc-circuit"]
    assert main(["run", *line]) == 0
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    capsys.readouterr()
    assert main(["reproduce", "results/m-ode.jsonl"]) == ("0 of 1 record" in " ".join(words))
    text = capsys.readouterr().out
    for each in [*words, "BLAS: Haswell, 1 thread -> Nehalem, 1 thread"]:
        assert each in text
