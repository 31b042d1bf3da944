"""The examples of methods to copy: each is checked, run and ranked as the guide says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from harness import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

COMPILERS = {"linear_c": "cc", "quadratic_rust": "rustc"}
"""What has to be on the machine; continuous integration installs both."""
EXAMPLES = ["ffx", "stepwise", *COMPILERS]
SYSTEMS = "rc-circuit,harmonic-oscillator"


def typed(folder: Path, *words: str) -> str:
    """Type a command of mdbench in a folder, with the examples as they are in the repository."""
    environment = {**os.environ, "COLUMNS": "160", "PYTHONPATH": str(ROOT)}
    environment |= {"DOCKER_HOST": "unix:///nonexistent"}  # so that no image is made
    done = subprocess.run(
        [sys.executable, "-m", "mdbench", *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_keeps_the_contract_and_has_a_rank(name: str, tmp_path: Path) -> None:
    compiler = COMPILERS.get(name, "cp")
    if shutil.which(compiler, path="/usr/bin:/bin") is None:  # sandboxes have no home folder
        pytest.skip(f"no compiler ({compiler}) in /usr/bin")
    methods = ("--methods", str(ROOT / "examples" / "methods"))
    said = typed(tmp_path, "check", name, *methods)
    assert f"{name} keeps its contract." in said
    assert "warning" not in said
    assert "2 of 2 problems have an answer" in said  # within two reference seconds
    assert re.search(rf"--methods \S+ --algorithm {name} --data-type ode --work 2, then", said)
    data = ("--data-type", "ode", "--dataset", SYSTEMS, "--snr", "clean", "--work", "2")
    typed(tmp_path, "run", "--algorithm", name, *methods, *data)
    rank = r"ode, work 2.0 s, strict, clean: rank \d+ of \d+, (\d) of 2"
    ranked = re.search(rank, typed(tmp_path, "place", name))
    assert ranked is not None
    if name == "stepwise":  # both laws are among the polynomials that it knows
        assert ranked[1] == "2"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no compiler (rustc)")
@pytest.mark.parametrize("variables", [1, 2, 3])
def test_the_example_in_rust_solves_least_squares(tmp_path: Path, variables: int) -> None:
    """Its coefficients are those of NumPy, whatever the order of the stored array."""
    program = tmp_path / "quadratic_fit"
    source = ROOT / "examples" / "methods" / "quadratic_rust" / "quadratic_fit.rs"
    subprocess.run(["rustc", "--edition", "2021", "-O", "-o", program, source], check=True)
    rng = np.random.default_rng(variables)
    X = np.asfortranarray(rng.normal(size=(60, variables)))
    X[:, -1] = X[:, 0] * 3  # for two and more a column that another gives
    Y = rng.normal(size=(60, 2))
    np.savez(tmp_path / "train.npz", X=X, Y=Y)
    np.savez(tmp_path / "test.npz", X=X)
    names = ", ".join(f'"u{i}"' for i in range(variables))
    order = f'{{"job": "a \\"b\\", c", "hyperparameters": {{}}, "variables": [{names}]}}'
    (tmp_path / "job.json").write_text(order, encoding="utf-8")
    messages = '{"type":"describe","job":"a","choose":null}\n{"type":"predict","job":"a"}\n'
    done = subprocess.run(
        [program], cwd=tmp_path, input=messages, capture_output=True, text=True, check=True
    )
    kinds = [re.match(r'{"type":"(\w+)","job":"a \\"b\\", c",', line) for line in lines(done)]
    assert [kind and kind[1] for kind in kinds] == ["fitted", "described", "predicted"]
    np.testing.assert_allclose(np.load(tmp_path / "predictions.npy"), best(X, Y), atol=1e-8)


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stdout.splitlines()


def best(X: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best fit of Y by 1, the variables, their squares and products."""
    products = [X[:, i] * X[:, j] for i in range(X.shape[1]) for j in range(i + 1)]
    features = np.column_stack([np.ones(len(X)), X, *products])
    fitted: NDArray[np.float64] = features @ np.linalg.lstsq(features, Y, rcond=None)[0]
    return fitted
