from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
from pathlib import Path

import pytest
from harness import ROOT

from mdbench.errors import UnavailableError
from mdbench.runtimes.environments.locks import split_requirements
from mdbench.runtimes.environments.subprocesses import UvSettings
from mdbench.runtimes.environments.uv import (
    STAMP,
    build_once,
    cache_for_uv,
    compile_bytecode,
    discard,
    run_uv,
)


class Maker:
    """Makes an environment of one file, and counts."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.count = 0

    def __call__(self) -> None:
        assert [path.name for path in self.prefix.iterdir()] == [STAMP]
        self.count += 1
        (self.prefix / "bin").mkdir()
        (self.prefix / "bin" / "python").symlink_to(self.prefix.parent / "python")


@pytest.fixture
def made(tmp_path: Path) -> Maker:
    (tmp_path / "python").touch()
    maker = Maker(tmp_path / "env")
    build_once(maker.prefix, "key", maker, print)
    return maker


def test_an_environment_is_made_once(made: Maker) -> None:
    build_once(made.prefix, "key", made, print)
    assert made.count == 1


def test_another_key_makes_it_again(made: Maker) -> None:
    build_once(made.prefix, "other", made, print)
    assert made.count == 2


def test_an_interpreter_that_has_gone_makes_it_again(made: Maker) -> None:
    (made.prefix.parent / "python").unlink()
    build_once(made.prefix, "key", made, print)
    assert made.count == 2


def test_what_was_interrupted_is_made_again(made: Maker) -> None:
    def interrupted() -> None:
        (made.prefix / "half").mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_once(made.prefix, "other", interrupted, print)
    for key in ("key", ""):
        build_once(made.prefix, key, made, print)
    assert made.count == 3


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path) -> None:
    prefix = tmp_path / "env"
    prefix.mkdir()
    (prefix / "thesis.tex").touch()
    with pytest.raises(UnavailableError, match="in the way"):
        build_once(prefix, "key", Maker(prefix), print)
    assert not discard(prefix, print)
    assert (prefix / "thesis.tex").is_file()


def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    prefix = tmp_path / "file" / "env"
    with pytest.raises(UnavailableError, match=r"env cannot be made: .*\n.*may be written"):
        build_once(prefix, "key", Maker(prefix), print)


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    prefix = tmp_path / "env"
    prefix.mkdir()
    maker = Maker(prefix)
    build_once(prefix, "key", maker, print)
    assert maker.count == 1


def test_discard_leaves_nothing(made: Maker) -> None:
    assert discard(made.prefix, print)
    assert [path.name for path in made.prefix.parent.iterdir()] == ["python"]
    assert not discard(made.prefix, print)


def make_slowly(folder: Path) -> None:
    prefix = folder / "env"

    def make() -> None:
        with (folder / "makers").open("a", encoding="utf-8") as file:
            file.write("made\n")
        time.sleep(0.3)
        (prefix / "bin").mkdir()
        shutil.copy(folder / "makers", prefix / "bin" / "python")

    build_once(prefix, "key", make, print)
    assert (prefix / "bin" / "python").is_file()


def test_of_several_processes_one_makes_it_and_all_have_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=make_slowly, args=(tmp_path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (tmp_path / "makers").read_text(encoding="utf-8") == "made\n"


def test_bytecode_is_written_of_all_but_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "elsewhere"))
    # The environment may itself be in a folder of tests.
    prefix = tmp_path / "tests" / "env"
    package = prefix / "lib" / "python3" / "site-packages" / "package"
    (package / "tests").mkdir(parents=True)
    for path in (package / "module.py", package / "tests" / "module.py"):
        path.write_text("x = 1\n", encoding="utf-8")
    (package / "template.py").write_text("no {{ Python }}\n", encoding="utf-8")
    own = tmp_path / "checkout"
    (own / "below").mkdir(parents=True)
    (own / "below" / "module.py").write_text("x = 1\n", encoding="utf-8")
    compile_bytecode(Path(sys.executable), [prefix / "lib", own])
    compiled = [path.parent.parent for path in tmp_path.rglob("*.pyc")]
    assert sorted(compiled) == sorted([own / "below", package])


def fake_uv(folder: Path, script: str) -> Path:
    program = folder / "uv"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_uv_is_given_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/other")
    program = fake_uv(tmp_path, 'echo "$* $UV_INDEX ${VIRTUAL_ENV-none}"')
    settings = UvSettings({"UV_INDEX": "https://u:p@a.example"}, ("--no-index",))
    lines: list[str] = []

    def run(*arguments: str) -> None:
        run_uv(
            program, arguments, settings=settings, cwd=tmp_path, failure="", on_line=lines.append
        )

    run("pip", "sync")
    run("venv")
    assert lines == [
        "pip sync --no-index https://***@a.example none",
        "venv https://***@a.example none",
    ]


def test_a_failure_of_uv_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    script = "seq 100; echo 'error: https://me:secret@a.example refused' >&2; exit 2"
    with pytest.raises(UnavailableError) as caught:
        run_uv(
            fake_uv(tmp_path, script),
            ["pip"],
            settings=UvSettings({}),
            cwd=tmp_path,
            failure="It cannot be made",
        )
    text = str(caught.value)
    assert text.startswith("It cannot be made; uv reports:\n")
    assert "error: https://***@a.example refused" in text
    assert "100" in text
    assert "50" not in text
    assert "secret" not in text
    assert "pip config list" in text


def test_requirements_are_split_by_package() -> None:
    lock = (
        "# made by a program\n"
        "numpy==2.0.0 ; python_full_version < '3.12' \\\n"
        "    --hash=sha256:aa \\\n"
        "    --hash=sha256:bb\n"
        "    # via scipy\n"
        "numpy==2.1.0 ; python_full_version >= '3.12' \\\n"
        "    --hash=sha256:cc\n"
        "\n"
        "PyYAML==6\n"
    )
    assert split_requirements(lock) == {
        "numpy": (
            "numpy==2.0.0 ; python_full_version < '3.12' \\\n"
            "    --hash=sha256:aa \\\n"
            "    --hash=sha256:bb\n"
            "numpy==2.1.0 ; python_full_version >= '3.12' \\\n"
            "    --hash=sha256:cc\n"
        ),
        "pyyaml": "PyYAML==6\n",
    }
    assert split_requirements("") == {}


def test_uv_keeps_what_it_fetched_where_it_can(tmp_path: Path) -> None:
    project = str(ROOT / ".mdbench" / "uv-cache")
    home = tmp_path / "home"
    home.mkdir()
    assert cache_for_uv({"HOME": str(home)}) == {}
    assert cache_for_uv({"HOME": "/proc/none", "UV_CACHE_DIR": "/somewhere"}) == {}
    assert cache_for_uv({"HOME": "/proc/none", "XDG_CACHE_HOME": str(tmp_path)}) == {}
    for none in (
        {},
        {"HOME": ""},
        {"HOME": "/proc/none"},
        {"HOME": str(home), "XDG_CACHE_HOME": "/proc"},
    ):
        assert cache_for_uv(none) == {"UV_CACHE_DIR": project}, none


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("error: Failed to initialize cache at `/x`", "UV_CACHE_DIR"),
        ("error: No space left on device (os error 28)", "Free some space"),
        ("error: Failed to fetch: `https://...`", "pip config list"),
    ],
)
def test_advice_names_the_real_cause(tmp_path: Path, said: str, advice: str) -> None:
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\necho '{said}'\nexit 2\n")
    uv.chmod(0o755)
    with pytest.raises(UnavailableError, match=advice):
        run_uv(uv, ["pip"], settings=UvSettings({}, ()), cwd=tmp_path, failure="it failed")
