"""The worker, driven by hand over its pipes, against the golden conversations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from mdbench.runtimes.worker import WORKER_COMMAND, lay_out_worker
from mdbench.worker import Problem
from mdbench.worker.supervisor import _empty, _mounts_below

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parents[1] / "golden" / "protocol"

ADAPTERS = {
    "grid": """
        class Adapter:
            def __init__(self, *, seed, threads, shift, slope):
                if slope < 0:
                    raise ValueError("slopes are positive")
                self.shift, self.slope = shift, slope
            def fit(self, problem):
                assert problem.Y.shape == problem.X.shape
            def predict(self, problem):
                assert "Y" not in problem.arrays
                return self.slope * problem.X + self.shift
            def equations(self):
                return [f"{self.slope}*u0 + {self.shift}"]
    """,
    "front": """
        import random
        import numpy as np
        from mdbench.worker import Candidate

        class Adapter:
            def __init__(self, *, seed, threads):
                self.seed = seed
                self.draws = random.random(), np.random.random()
            def fit(self, problem):
                self.n = len(problem.X)
            def candidates(self):
                assert self.draws == (random.Random(3).random(), np.random.RandomState(3).random())
                for value in (0.0, float(self.seed)):
                    yield Candidate((str(value),), np.full(self.n, value), target=0)
            def choose(self, indices):
                (self.value,) = [(0.0, 3.0)[index] for index in indices]
            def predict(self, problem):
                return np.full((len(problem.X), 1), self.value)
            def equations(self):
                return [str(self.value)]
    """,
    "labels": """
        import numpy as np

        class Adapter:  # without equations()
            def __init__(self, *, seed, threads, word):
                self.word = word
            def fit(self, problem): ...
            def predict(self, problem):
                return np.full((len(problem.X), 1), self.word)
    """,
    "failures": """
        import os, signal
        from mdbench.worker import Unavailable, Unsupported

        class Adapter:
            def __init__(self, *, seed, threads, how):
                self.how = how
            def fit(self, problem):
                print("a method's own words")
                if self.how == "raise":
                    raise ValueError("no luck\\ntoday")
                if self.how == "decline":
                    raise Unsupported("not with one variable")
                if self.how == "lack":
                    raise Unavailable("no weights\\nhere")
                if self.how == "exit":
                    os._exit(7)
                os.kill(os.getpid(), signal.SIGSEGV)
    """,
}


class Driver:
    """A worker, and the host's end of its pipes."""

    def __init__(self, folder: Path, adapter: str, *options: str) -> None:
        (folder / "adapter.py").write_text(dedent(adapter), encoding="utf-8")
        self.folder = folder
        self.log = (folder / "log").open("w+b")
        command = [sys.executable, *WORKER_COMMAND, str(folder), *options]
        environment = os.environ | {"PYTHONPATH": str(lay_out_worker(folder))}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=folder,
            env=environment,
        )

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def printed(self) -> bytes:
        self.log.seek(0)
        return self.log.read()

    def close(self) -> int:
        self.process.communicate(timeout=120)
        self.log.close()
        return self.process.returncode


def order(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "type": "job",
        "job": "j",
        "folder": str(folder),
        "view": "table",
        "variables": ["u0"],
        "targets": ["u0_t"],
        "equations": True,
        "compares": True,
        "tuning": "none",
        "hyperparameters": {},
        "grid": [],
        "seed": 0,
        "threads": 1,
        "time_limit": None,
    } | changes


def matches(wanted: Any, found: Any) -> bool:
    """Compare a message to a golden one, whose <...> stand for what differs from run to run."""
    if wanted in ("<number>", "<pid>"):
        return isinstance(found, int | float) and found >= 0
    if wanted in ("<kernel>", "<threads>"):
        return found is None or isinstance(found, str if wanted == "<kernel>" else int)
    if wanted == "<python>":
        return isinstance(found, str)
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and list(wanted) == list(found)
            and all(matches(value, found[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(matches, wanted, found))
    return bool(wanted == found)


def write_problem(folder: Path) -> None:
    X = np.linspace(0.0, 1.0, 6)[:, None]
    np.savez(folder / "train.npz", X=X[:3], Y=2 * X[:3])
    np.savez(folder / "validation.npz", X=X[3:5])
    np.savez(folder / "refit.npz", X=X[:5], Y=2 * X[:5])
    np.savez(folder / "test.npz", X=X[5:])


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_golden_conversation(name: str, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    write_problem(job)
    driver = Driver(tmp_path, ADAPTERS[name])
    for line in (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        ((speaker, message),) = json.loads(line).items()
        if speaker == "host":
            driver.send({k: str(job) if v == "<folder>" else v for k, v in message.items()})
        else:
            found = driver.receive()
            assert matches(message, found), (message, found)
    assert driver.close() == 0


def test_arrays_of_the_golden_grid(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    write_problem(job)
    driver = Driver(tmp_path, ADAPTERS["grid"])
    driver.receive()
    driver.send(
        order(
            job,
            tuning="grid",
            hyperparameters={"shift": 1.0},
            grid=[{"slope": 1.0}, {"slope": 3.0}],
        )
    )
    assert driver.receive()["type"] == "started"
    assert driver.receive()["predictions"] == "candidates-0.npy"
    x = np.array([0.6, 0.8])[:, None]
    assert np.allclose(np.load(job / "candidates-0.npy"), [x + 1, 3 * x + 1])
    driver.receive()
    driver.send({"type": "refit", "job": "j", "hyperparameters": {"slope": 3.0}})
    driver.receive()
    driver.send({"type": "describe", "job": "j", "choose": None})
    assert driver.receive()["equations"] == ["3.0*u0 + 1.0"]
    driver.send({"type": "predict", "job": "j"})
    assert driver.receive()["type"] == "predicted"
    assert np.allclose(np.load(job / "predictions.npy"), [[4.0]])
    assert driver.close() == 0


def test_texts_are_predicted_as_texts(tmp_path: Path) -> None:
    write_problem(tmp_path)
    driver = Driver(tmp_path, ADAPTERS["labels"])
    driver.receive()
    driver.send(order(tmp_path, equations=False, hyperparameters={"word": "größer"}))
    assert [driver.receive()["type"] for _ in range(2)] == ["started", "fitted"]
    driver.send({"type": "describe", "job": "j", "choose": None})
    assert driver.receive()["equations"] == []
    driver.send({"type": "predict", "job": "j"})
    driver.receive()
    assert np.load(tmp_path / "predictions.npy").tolist() == [["größer"]]
    assert driver.close() == 0


def test_prints_go_to_the_log_and_end_with_the_mark(tmp_path: Path) -> None:
    write_problem(tmp_path)
    driver = Driver(tmp_path, ADAPTERS["failures"])
    driver.receive()
    driver.send(order(tmp_path, job="loud", hyperparameters={"how": "raise"}))
    assert [driver.receive()["type"] for _ in range(3)] == ["started", "failed", "ended"]
    driver.close()
    printed = (tmp_path / "log").read_bytes()
    assert printed.startswith(b"a method's own words\nTraceback")
    assert printed.endswith(b"\0end of loud\0\n")


def test_no_fork_serves_one_job_and_ends(tmp_path: Path) -> None:
    write_problem(tmp_path)
    driver = Driver(tmp_path, ADAPTERS["failures"], "--no-fork")
    hello = driver.receive()
    assert hello["forks"] is False
    driver.send(order(tmp_path, hyperparameters={"how": "decline"}))
    assert driver.receive()["pid"] == hello["pid"]
    assert [driver.receive()["type"] for _ in range(2)] == ["failed", "ended"]
    assert driver.close() == 0


def test_an_import_may_say_that_something_is_missing(tmp_path: Path) -> None:
    says = "from mdbench.worker import Unavailable\nraise Unavailable('no\\nJulia')"
    driver = Driver(tmp_path, says)
    assert driver.receive() == {"type": "broken", "kind": "unavailable", "error": "no Julia"}
    assert driver.close() == 1


@pytest.mark.parametrize(
    ("adapter", "error"),
    [
        ("raise RuntimeError('broken at import')", "RuntimeError: broken at import"),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("x = 1", "has no class Adapter"),
        ("Adapter = 3", "is no class"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import mdbench.records", "ModuleNotFoundError: No module named 'mdbench.records'"),
    ],
)
def test_adapter_that_cannot_be_imported(adapter: str, error: str, tmp_path: Path) -> None:
    driver = Driver(tmp_path, adapter)
    message = driver.receive()
    assert message["type"] == "broken"
    assert error in message["error"]
    assert driver.close() == 1


def test_predictions_of_other_shapes_go_into_batches_of_their_own(tmp_path: Path) -> None:
    write_problem(tmp_path)
    driver = Driver(
        tmp_path,
        """
        import numpy as np
        from mdbench.worker import Candidate
        class Adapter:
            def __init__(self, *, seed, threads): ...
            def fit(self, problem): ...
            def candidates(self):
                for shape in [(5, 1), (5, 1), (4, 1), (5, 1)]:
                    yield Candidate(("1",), np.ones(shape))
        """,
    )
    driver.receive()
    driver.send(order(tmp_path, tuning="front"))
    driver.receive()
    assert [len(driver.receive()["items"]) for _ in range(3)] == [2, 1, 1]
    assert [np.load(tmp_path / f"candidates-{n}.npy").shape for n in range(3)] == [
        (2, 5, 1),
        (1, 4, 1),
        (1, 5, 1),
    ]
    driver.process.kill()
    driver.close()


def test_every_job_starts_from_the_same_state(tmp_path: Path) -> None:
    write_problem(tmp_path)
    driver = Driver(
        tmp_path,
        """
        import random
        import numpy as np
        seen = []
        class Adapter:
            def __init__(self, *, seed, threads): ...
            def fit(self, problem):
                seen.append(1)
                raise ValueError(f"{len(seen)} {random.random()} {np.random.random()}")
        """,
    )
    driver.receive()
    errors = []
    for name in ("first", "second"):
        driver.send(order(tmp_path, job=name, seed=5))
        driver.receive()
        errors.append(driver.receive()["error"])
        driver.receive()
    assert errors[0] == errors[1]
    driver.close()


def test_problem_names_what_it_has() -> None:
    problem = Problem("table", ("u0",), ("u0_t",), {"X": np.zeros((2, 1))})
    assert problem.X.shape == (2, 1)
    with pytest.raises(AttributeError, match=r"no array 'Y'; it has \['X'\]"):
        _ = problem.Y


def test_folders_are_emptied_around_what_is_mounted_in_them(tmp_path: Path) -> None:
    mounted = tmp_path / "some where" / "mounted"
    (mounted / "inside").mkdir(parents=True)
    for path in (tmp_path / "file", tmp_path / "some where" / "file", mounted / "inside" / "file"):
        path.touch()
    (tmp_path / "folder" / "folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(mounted)
    _empty(str(tmp_path), (str(mounted),))
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    there = "some where/mounted"
    assert left == {"some where", there, f"{there}/inside", f"{there}/inside/file"}
    assert "/proc" in _mounts_below(("",))
    assert _mounts_below((str(tmp_path),)) == ()
