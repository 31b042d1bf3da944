"""Which backend a run gets, from a command line and from a study."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mdbench.backends import open_backend
from mdbench.backends.local import LocalBackend
from mdbench.errors import UsageError
from mdbench.runs.plan import TASKS
from mdbench.runs.study import RunOptions, Study

if TYPE_CHECKING:
    from pathlib import Path


def asked(**given: object) -> RunOptions:
    return RunOptions.of({"algorithm": ["zero"], "data_type": "ode", **given})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"backend": "dask"}, "DaskBackend"),
        ({"scheduler": "tcp://nowhere:1"}, "DaskBackend"),
        ({"backend": "submitit-local"}, "SlurmBackend"),
    ],
)
@pytest.mark.extension("clusters")
def test_the_one_asked_for(given: dict[str, object], kind: str) -> None:
    assert type(open_backend(asked(**given))).__name__ == kind


def test_without_a_name_jobs_run_here() -> None:
    assert type(open_backend(asked())) is LocalBackend


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"backend": "dusk"}, "Did you mean dask"),
        ({"backend": "slurm", "scheduler": "tcp://a:1"}, "--scheduler does not go with"),
        ({"slurm": ["partition=long"]}, "Give --backend slurm"),
        ({"backend": "slurm", "slurm": ["partition"]}, "KEY=VALUE"),
        ({"backend": "slurm"}, "There is no SLURM here"),
    ],
)
@pytest.mark.extension("clusters")
def test_what_does_not_go(
    given: dict[str, object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError) as caught:
        open_backend(asked(**given))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("package", "backend"), [("distributed", "dask"), ("submitit", "submitit-local")]
)
@pytest.mark.extension("clusters")
def test_what_is_not_installed_is_named(
    package: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=f"pip install .*{package}"):
        open_backend(asked(backend=backend))


@pytest.mark.extension("clusters")
def test_a_study_has_it_once_and_it_may_be_typed_too(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'schema = 1\nalgorithm = "zero"\ndata_type = "ode"\nbackend = "slurm"\n'
        'slurm = ["partition=long", "time=60"]\nmemory_total = "16G"\nretries = 3\n',
        encoding="utf-8",
    )
    whole = Study.read(file).whole
    assert (whole.backend, dict(whole.slurm)) == ("slurm", {"partition": "long", "time": "60"})
    assert (whole.memory_total_mb, whole.retries) == (16 * 1024, 3)
    assert Study.read(file, {"backend": "dask"}).whole.backend == "dask"
    assert TASKS > 1
