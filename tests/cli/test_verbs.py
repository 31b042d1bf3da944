"""The door of verbs: those of the core, of folders of extensions, and of installed packages."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import typer.main

from mdbench import doors
from mdbench.cli import main
from mdbench.cli.main import app
from mdbench.cli.verbs import FURTHER, GROUPS, MORE, VERBS, first_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Output = pytest.CaptureFixture[str]

GREET = '''\
from pathlib import Path
from typing import Annotated
import typer

def greet(
    name: str,
    times: Annotated[int, typer.Option(min=1, help="How often.")] = 1,
    sign: Annotated[list[str] | None, typer.Option(help="What ends it.")] = None,
    out: Path | None = None,
) -> int:
    """Greet somebody.

    Not on the first page.
    """
    text = f"Hello {name}{''.join(sign or ['.'])}\\n" * times
    out.write_text(text) if out else print(text, end="")
    return 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of extensions that the environment names."""
    modules = set(sys.modules)
    path = tmp_path / "extensions"
    path.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(doors.VARIABLE, str(path))
    doors.packages.cache_clear()
    yield path
    doors.packages.cache_clear()
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def add(folder: Path, name: str, code: str, verbs: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "verbs.py").write_text(code, encoding="utf-8")
    text = f"[mdbench.verbs]\n{verbs}\n"
    (folder / name / "entry_points.txt").write_text(text, encoding="utf-8")


def added(page: str) -> str:
    """Return what stands below the heading of extensions, without those that come with the core."""
    lines = page.partition("\nMore:\n")[2].partition("\n\n")[0].splitlines()
    own = {*VERBS.core, "lab", "llm", "place", "registry"}
    return "\n".join(line for line in lines if line.split()[0] not in own)


def test_an_extension_adds_a_verb_by_one_file(folder: Path, capsys: Output) -> None:
    add(folder, "greeting", GREET, "greet = greeting.verbs:greet")
    assert main(["--help"]) == 0
    assert added(capsys.readouterr().out).split() == ["greet", "Greet", "somebody."]
    assert main(["greet", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--times" in page
    assert "How often." in page
    assert "Not on the first page." in page
    assert main(["greet", "you", "--times", "2", "--sign", "!", "--sign=?"]) == 3
    assert capsys.readouterr().out == "Hello you!?\nHello you!?\n"
    assert main(["greet", "you", "-o", str(folder / "out.txt")]) == 3
    assert (folder / "out.txt").read_text() == "Hello you.\n"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["greet", "you", "--times", "0"], "mdbench greet --help"),
        (["greet", "you", "--tims", "1"], "mdbench greet --help"),
        (["greet", "you", "--times", "1", "--times", "2"], "--times was given 2 times."),
        (["gret", "you"], "Did you mean 'greet'"),
    ],
)
def test_mistyped_options_of_an_extension_are_named(
    typed: list[str], says: str, folder: Path, capsys: Output
) -> None:
    add(folder, "greeting", GREET, "greet = greeting.verbs:greet")
    assert main(typed) == 2
    assert says in capsys.readouterr().err


def test_an_option_that_is_a_verb_now_is_answered_with_the_verb(
    folder: Path, capsys: Output
) -> None:
    moved = "greet = greeting.verbs:greet\n[mdbench.moved_options]\nshow --hail = greet"
    add(folder, "greeting", GREET, moved)
    assert main(["show", "results", "--hail"]) == 2
    assert "mdbench greet" in capsys.readouterr().err
    assert main(["report", "results", "--hail"]) == 2
    assert "mdbench greet" not in capsys.readouterr().err


def test_an_installed_package_adds_a_verb(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    del folder
    site = tmp_path / "site"
    add(site, "greeter-1.0.dist-info", "", "greet = greeter_of_a_package:greet")
    (site / "greeter_of_a_package.py").write_text(GREET, encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n"
    (site / "greeter-1.0.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    assert main(["--help"]) == 0
    assert "greet" in added(capsys.readouterr().out)
    assert main(["greet", "you"]) == 3
    assert capsys.readouterr().out == "Hello you.\n"


@pytest.mark.parametrize(
    "code",
    ["import no_such_module_anywhere", "def greet(", "1 / 0", "other = 1"],
)
def test_a_broken_extension_leaves_the_other_verbs(code: str, folder: Path, capsys: Output) -> None:
    add(folder, "broken", code, "broken = broken.verbs:greet")
    add(folder, "greeting", GREET, "greet = greeting.verbs:greet")
    assert main(["--help"]) == 0
    page = added(capsys.readouterr().out)
    assert "cannot be loaded" in " ".join(page.split())
    assert "Greet somebody." in page
    assert main(["greet", "you"]) == 3
    capsys.readouterr()
    assert main(["broken"]) == 2
    error = capsys.readouterr().err
    assert "The verb broken (broken.verbs:greet) cannot be loaded" in error
    assert "Traceback" not in error


def test_a_verb_of_the_core_is_not_replaced(folder: Path, capsys: Output) -> None:
    add(folder, "greeting", GREET, "list = greeting.verbs:greet")
    assert main(["--help"]) == 0
    assert added(capsys.readouterr().out) == ""
    assert main(["list", "--help"]) == 0
    assert "Greet" not in capsys.readouterr().out


def test_the_first_page_has_each_verb_of_the_core_on_one_line(capsys: Output) -> None:
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    for heading, verbs in GROUPS.items():
        lines = page.partition(f"\n{heading}:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.split()[0] for line in lines if line.startswith("  ")] == [
            name for name in verbs if name not in FURTHER
        ] or heading == MORE
        assert all(len(line) < 60 for line in lines)
    assert sum(map(len, GROUPS.values())) == len(VERBS.core)
    assert sum(map(len, first_page().values())) <= 16
    assert main(["help"]) == 0
    page = capsys.readouterr().out
    for name in VERBS.names():
        assert f"\n  {name} " in page


@pytest.mark.extension("community")
@pytest.mark.extension("laboratory")
def test_a_verb_of_a_group_is_typed_with_its_group(capsys: Output) -> None:
    for typed, verb in (
        ("fresh", "lab fresh"),
        ("identifiable", "lab identifiable"),
        ("lab-rivals", "lab rivals"),
        ("audit", "registry audit"),
    ):
        assert main([typed, "x"]) == 2
        assert f"Type: mdbench {verb}" in capsys.readouterr().err
        assert main([*verb.split(), "--help"]) == 0
        assert f"Usage: mdbench {verb} " in capsys.readouterr().out
    assert main(["lab"]) == 0
    assert "similarity" in capsys.readouterr().out
    assert main(["lab", "rival"]) == 2
    error = capsys.readouterr().err
    assert "Did you mean 'rivals'" in error
    assert "mdbench lab --help" in error
    assert main(["help", "lab", "rivals"]) == 0
    assert "--seconds" in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS.core)
def test_a_verb_says_what_it_does_and_which_options_may_be_given_several_times(verb: str) -> None:
    assert inspect.getdoc(VERBS.load(verb))
    program: Any = typer.main.get_command(app)
    command = program.commands[verb]
    assert command.name == verb
    for option in command.params:
        if "several" in (option.help or "") and option.opts[0].startswith("-"):
            assert option.multiple, option.opts


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("lab fresh --seed 1 --data-type a --data-type b", "Problems of a are not drawn."),
        ("lab identifiable rc-circuit --snr 20 --snr 10", "--snr was given 2 times."),
        ("lab identifiable rc-circuit --snr 20,10", "Invalid value for '--snr'"),
    ],
)
@pytest.mark.extension("laboratory")
def test_options_are_given_as_often_as_the_verb_declares(
    typed: str, says: str, capsys: Output
) -> None:
    assert main(typed.split()) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "modules"), [("--help", set()), ("score x0 x0", {"results"}), ("run -h", {"run"})]
)
def test_the_module_of_a_verb_is_imported_when_it_is_typed(typed: str, modules: set[str]) -> None:
    code = (
        "import sys; from mdbench.cli import main; main(sys.argv[1:]);"
        "print(*[name for name in sys.modules if name.startswith('mdbench.cli.commands.')])"
    )
    line = [sys.executable, "-c", code, *typed.split()]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    names = {name.rpartition(".")[2] for name in printed.splitlines()[-1].split()}
    assert names == modules
