"""The adapter of symbolic_regression.rs against programs that stand for its engine.

Building the engine needs Rust and a registry: that was tried by hand (docs/methods.md).
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from harness import ROOT
from stand_ins import adapter, made, problem, values

from mdbench import worker
from mdbench.worker import Budget, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "symbolic_regression_rs"
X = np.random.default_rng(0).uniform(0.5, 2.0, (30, 2))
_READ = """
    import struct, sys, time
    rows, columns = struct.unpack("<QQ", sys.stdin.buffer.read(16))
    numbers = struct.unpack(f"<{rows * (columns + 1)}d", sys.stdin.buffer.read())
    settings = dict(text.split("=") for text in sys.argv[1:])
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "engine_folder"
    folder.mkdir()
    monkeypatch.setattr(worker, "paths", {"engine": folder})
    return folder / "engine"


@pytest.fixture
def method(engine: Path) -> Iterator[Any]:
    with adapter(NAME) as imported:
        imported.paths["engine"] = engine.parent
        yield imported


def write(engine: Path, lines: str) -> None:
    body = textwrap.dedent(_READ) + textwrap.dedent(lines)
    engine.write_text(f"#!{sys.executable}\n{body}", encoding="utf-8")
    engine.chmod(0o755)


def test_the_engine_is_given_the_table_and_the_settings(engine: Path, method: Any) -> None:
    write(
        engine,
        """
        print(f"1.0 x0 + {numbers[0]!r}")
        print(f"0.5 x1 * {numbers[rows * columns]!r}")
        print(f"0.25 x0 * {settings['seed']} + {settings['maxsize']}")
        print("evaluations", rows + len(settings["unary_operators"].split(",")))
        """,
    )
    question = problem(X, X[:, 0] * X[:, 1])
    solver = made(NAME, method, seed=7, unary_operators=["sin", "exp"], maxsize=12)
    solver.fit(question)
    texts = [candidate.equations[0] for candidate in solver.candidates()]
    assert f"(v0 + {float(X[0, 0])!r})" in texts
    assert f"(v1 * {float(X[0, 0] * X[0, 1])!r})" in texts
    assert "((v0 * 7) + 12)" in texts
    assert solver.evaluations == 30 + 2
    assert not solver.stopped_early


def test_candidates_are_what_was_written_and_the_mean(engine: Path, method: Any) -> None:
    write(engine, 'print("2e-3 x0 * -1.5")\nprint("1e-9 exp(x0) / (x1 - -2.5)")')
    y = np.exp(X[:, 0]) / (X[:, 1] + 2.5)
    question = problem(X, y)
    solver = made(NAME, method)
    solver.fit(question)
    candidates = list(solver.candidates())
    assert len(candidates) == 3
    for candidate in candidates:
        assert candidate.predictions == pytest.approx(values(candidate.equations[0], question))
    assert solver.predict(question)[:, 0] == pytest.approx(y)


def test_a_search_without_an_end_is_ended_with_what_it_had(engine: Path, method: Any) -> None:
    write(
        engine,
        """
        print("0.5 x0", flush=True)
        print("evaluations 5", flush=True)
        print("0.25 x0 + cut in the mi", end="", flush=True)
        while True:
            time.sleep(1)
        """,
    )
    question = problem(X, X[:, 0], X[:, 1], time_limit=1.0)
    solver = made(NAME, method)
    solver.fit(question)
    assert solver.stopped_early
    assert solver.evaluations == 10
    assert {c.target for c in solver.candidates()} == {0, 1}
    assert "v0" in {c.equations[0] for c in solver.candidates()}


def test_work_of_the_running_engine_counts(engine: Path, method: Any) -> None:
    write(engine, 'print("0.5 x0", flush=True)\nwhile True:\n    pass')
    solver = made(NAME, method)
    solver.fit(problem(X, X[:, 0], budget=Budget(work=0.2)))
    assert solver.stopped_early


@pytest.mark.parametrize("lines", ["sys.exit(3)", "", "sys.stdin.close()\nsys.exit(2)"])
def test_an_engine_that_writes_nothing(engine: Path, method: Any, lines: str) -> None:
    write(engine, lines)
    solver = made(NAME, method)
    question = problem(X, X[:, 0])
    if lines:
        with pytest.raises(RuntimeError, match=r"the engine ended with status [23]"):
            solver.fit(question)
    else:
        solver.fit(question)
        assert solver.predict(question)[:, 0] == pytest.approx(np.full(30, X[:, 0].mean()))


def test_without_the_engine_the_method_is_unavailable(engine: Path, method: Any) -> None:
    with pytest.raises(Unavailable, match="no program 'engine'"):
        made(NAME, method)
    method.paths.clear()
    with pytest.raises(Unavailable, match=rf"paths\.engine in \$MDBENCH_SETTINGS/{NAME}\.toml"):
        made(NAME, method)
    assert not engine.exists()


# -------------------------------------------------------------------------------------- build.py


def run_build(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "algorithms" / NAME / "build.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_engine_is_built_by_cargo(tmp_path: Path) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "assert pathlib.Path('engine.rs').is_file()\n"
        "text = pathlib.Path('Cargo.toml').read_text()\n"
        "file = pathlib.Path('.cargo/config.toml')\n"
        "text += file.read_text() if file.is_file() else ''\n"
        "target = pathlib.Path('target/release')\n"
        "target.mkdir(parents=True)\n"
        "(target / 'engine').write_text(' '.join(sys.argv[1:]) + '\\n' + text)\n",
        encoding="utf-8",
    )
    cargo.chmod(0o755)
    done = run_build(str(tmp_path / "one"), "--cargo", str(cargo))
    assert done.returncode == 0
    assert f'engine = "{tmp_path / "one"}"' in done.stdout
    command, text = (tmp_path / "one" / "engine").read_text().split("\n", 1)
    assert command == "build --release"
    assert 'symbolic_regression = { version = "=0.11.0", default-features = false }' in text
    folders = ["--source", str(tmp_path / "s"), "--crates", str(tmp_path / "c")]
    assert run_build(str(tmp_path / "two"), "--cargo", str(cargo), *folders).returncode == 0
    command, text = (tmp_path / "two" / "engine").read_text().split("\n", 1)
    assert command == "build --release --offline"
    assert f'path = "{tmp_path / "s" / "symbolic_regression"}"' in text
    assert f'directory = "{tmp_path / "c"}"' in text


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    missing = run_build(str(tmp_path), "--cargo", str(tmp_path / "none"))
    assert missing.returncode == 1
    assert f"{tmp_path / 'none'} is not there; install Rust" in missing.stderr
    failing = run_build(str(tmp_path), "--cargo", "false")
    assert failing.returncode == 1
    assert "cargo has failed" in failing.stderr
    assert "Traceback" not in missing.stderr + failing.stderr
