"""Follows pages to the letter on a bare Debian: see scripts/newcomer.

A page's commands are its blocks of the languages ``console`` (with ``$`` and what is printed) and
``shell``, and its indented blocks all lines of which are commands.  Indented Python is run, too.
Files that a page shows, with their name before, are written.  Standard library only.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = (
    *("README.md", "docs/index.md"),
    *("docs/tutorial-data.md", "docs/tutorial-method.md", "docs/tutorial-package.md"),
    "docs/tutorial-paper.md",
)
PACKAGES: Final = "python3,python3-venv,git,ca-certificates"
HOME: Final = "/home/newcomer"
COMMANDS: Final = re.compile(r"\./|\.venv/|scripts/|git |export |mdbench |pip |rm |#|[A-Z_]+=\S+ ")
"""How the lines of a block of commands begin."""
SPELT: Final = {
    "./run.sh": "mdbench run",
    ".venv/bin/mdbench": "mdbench",
    ".venv/bin/python": "python",
}
"""What a clone's user types, and what a package's."""
SKIPPED: Final = {
    "git clone": "a package is no clone",
    "scripts/": "they are for work on mdbench",
}
"""Lines that a package's user does not type, by their beginning, with the reason."""
_BLOCK: Final = re.compile(
    r"^```(?P<language>\w+)\n(?P<fenced>.*?)^```$"
    r"|(?<=\n\n)(?P<indented>(?:    [^\n]*\n|\n(?=    ))+)",
    re.DOTALL | re.MULTILINE,
)
_NAMED: Final = re.compile(r"`([\w./-]+)`:\s*\Z")
"""The last words before a file's text."""
_CHANGE: Final = re.compile(r"\bcd (\S+)")
_TIMES: Final = ".times"
_TIME: Final = re.compile(r"(?<![\w.])[\d.]+ (?:s|ms|min)\b")


class Step(NamedTuple):
    """A file to write, or a command to run.

    Parameters
    ----------
    name
        Of the file, from the clone's folder; none for a command.
    shown
        What the page shows of the command's output.
    folder
        Where the command is run, from the clone's folder: commands before it may have changed it.
    """

    name: str
    text: str
    shown: str | None = None
    folder: str = "."

    @property
    def needs_engine(self) -> bool:
        """Whether it is a command that a machine without an engine of containers refuses."""
        return not self.name and "--runtime docker" in self.text


def steps(text: str) -> list[Step]:
    """Return what a page has to type, in its order."""
    found: list[Step] = []
    folder = "."
    for block in _BLOCK.finditer(text):
        language, body = block["language"], block["fenced"]
        if body is None:
            body = "".join(f"{line[4:]}\n" for line in block["indented"].rstrip().split("\n"))
        lines = [line for line in body.split("\n") if line]
        if language == "console":
            for one in filter(None, re.split(r"^(?=\$ )", body, flags=re.MULTILINE)):
                command, _, shown = one.removeprefix("$ ").partition("\n")
                found.append(Step("", command, shown, folder))
                for name in _CHANGE.findall(command):
                    folder = posixpath.normpath(posixpath.join(folder, name))
        elif language in {"shell", None} and all(map(COMMANDS.match, lines)):
            found += [Step("", line) for line in lines if line[0] != "#"]
        elif language is not None:
            named = _NAMED.search(text[: block.start()])
            if named is None:
                raise ValueError(f"which file is this?\n{body}")
            found.append(Step(named[1], body))
        elif re.match(r"import |from \w+ import ", body):
            found += [Step("snippet.py", body), Step("", ".venv/bin/python snippet.py")]
    return found


def packaged_steps(text: str) -> list[Step]:
    """Return what a page has to type, as a package's user types it."""
    packaged = []
    for step in steps(text):
        words = step.text
        for own, other in SPELT.items():
            words = words.replace(own, other)
        if not words.startswith(tuple(SKIPPED)):
            packaged.append(step._replace(text=words))
    return packaged


def shown_as(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed: ``...`` is anything, times are any times."""

    def plain(text: str) -> list[str]:
        lines = (" ".join(_TIME.sub("TIME", line).split()) for line in text.splitlines())
        return [line for line in lines if line]

    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", r"[^\n]*") + r"\n"
        for line in plain(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in plain(printed))) is not None


def missing_programs() -> str:
    """Say which of the programs that a `Bare` needs are not here, and what to type; or nothing."""
    missing = [name for name in ("mmdebstrap", "bwrap") if shutil.which(name) is None]
    what = f"not found: {', '.join(missing)}; type: apt install mmdebstrap bubblewrap"
    return what if missing else ""


class Bare:
    """A bare Debian in a folder, in which commands are run."""

    def __init__(self, root: Path, home: Path, source: Path) -> None:
        self.root = root
        self.home = home
        self._binds = [*machine_paths(), (source, Path("/source"))]

    def make(self, suite: str) -> None:
        """Install the packages that the pages ask for, and nothing else."""
        if (self.root / "usr").is_dir():
            return
        subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=minbase",
                # A mirror may be a copy of an earlier day.
                '--aptopt=Acquire::Check-Valid-Until "false"',
                f"--include={PACKAGES}",
                suite,
                self.root,
            ],
            check=True,
        )

    def run(self, command: str, folder: str) -> subprocess.CompletedProcess[str]:
        """Run a command as somebody who has just logged in, with this machine's network."""
        binds = [
            word for here, there in self._binds for word in ("--ro-bind", str(here), str(there))
        ]
        variables = {
            name: value
            for name, value in os.environ.items()
            if re.match(r"(PIP|UV|SSL|REQUESTS|CURL)_|.*_proxy$", name, re.IGNORECASE)
        }
        variables |= {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin", "COLUMNS": "120"}
        return subprocess.run(
            [
                *("bwrap", "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev"),
                *("--tmpfs", "/tmp", "--bind", str(self.home), HOME, *binds),
                *("--unshare-pid", "--unshare-ipc", "--die-with-parent", "--chdir", folder),
                *("sh", "-c", f"exec 2>&1; trap 'times >~/{_TIMES}' EXIT; {command}"),
            ],
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def work(self) -> float:
        """Return the CPU seconds of the last command and of all that it started."""
        text = (self.home / _TIMES).read_text(encoding="utf-8")
        return sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", text))


def machine_paths() -> list[tuple[Path, Path]]:
    """Return what the root needs of this machine to reach an index: settings, certificates."""
    settings = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    words = re.split(r"[\s'\"=]+", f"{settings} {' '.join(os.environ.values())}")
    named = {
        Path(word.removeprefix("file://")) for word in words if re.match(r"(file://)?/\w", word)
    }
    # The folder of an index on the disk has its files beside it.
    wanted = {
        path.parent if path.name == "simple" else path
        for path in named
        if path.name == "simple" or re.search(r"cert|ssl|wheel|pip|ca-", str(path))
    }
    wanted |= {Path("/etc/resolv.conf"), Path("/etc/hosts"), Path("/etc/pip.conf")}
    wanted |= {Path("/etc/xdg/pip"), Path("/etc/ssl/certs")}
    found = [(path, path) for path in sorted(wanted) if path.exists() and "bin" not in path.parts]
    own = Path.home() / ".config" / "pip"
    return [*found, (own, Path(HOME) / ".config" / "pip")] if own.exists() else found


def follow(bare: Bare, page: str) -> bool:
    """Run all that a page has to type, and say how it went."""
    clone = f"{HOME}/mdbench"
    text = (ROOT / page).read_text(encoding="utf-8")
    print(f"{page}:", flush=True)
    for step in steps(text):
        if step.name:
            (bare.home / "mdbench" / step.name).write_text(step.text, encoding="utf-8")
            continue
        if step.text.startswith("git clone "):
            continue  # `main` has done it
        if step.needs_engine:
            print(f"    not run, as it needs an engine: {step.text}")
            continue
        problem = run_step(bare, step.text, f"{clone}/{step.folder}", step.shown)
        if problem is not None:
            print(problem, flush=True)
            return False
    return True


def run_step(bare: Bare, command: str, folder: str, shown: str | None = None) -> str | None:
    """Run a command and print how long it took; return what is wrong with it, None if nothing."""
    begin = time.monotonic()
    done = bare.run(command, folder)
    seconds, work = time.monotonic() - begin, bare.work()
    print(f"    {seconds:6.1f} s {work:6.1f} CPU s  {command}", flush=True)
    wrong = done.returncode != 0 or "Traceback" in done.stdout
    if not wrong and (shown is None or shown_as(done.stdout, shown)):
        return None
    wanted = "" if shown is None else f"\n--- the page has:\n{shown}"
    return f"--- status {done.returncode}, printed:\n{done.stdout}{wanted}"


def megabytes(folder: Path) -> float:
    """Return what a folder takes on the disk, in MB."""
    done = subprocess.run(
        ["du", "-s", "--block-size=1000", folder], capture_output=True, check=True
    )
    return int(done.stdout.split()[0]) / 1000


def newcomer(suite: str, folder: Path, pages: list[str]) -> bool:
    """Follow the pages on one release."""
    root, home = folder / suite, folder / f"{suite}-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    source = folder / f"{suite}-source.git"
    shutil.rmtree(source, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, source], check=True)
    bare = Bare(root, home, source)
    bare.make(suite)
    version = bare.run("cat /etc/debian_version; python3 -V", "/").stdout.split()
    print(f"Debian {version[0]}, Python {version[2]}, {megabytes(root):.0f} MB")
    cloned = bare.run("git -c safe.directory='*' clone --quiet /source mdbench", HOME)
    if cloned.returncode != 0:
        print(cloned.stdout)
        return False
    clone = home / "mdbench"
    size = megabytes(clone)
    for page in pages:
        # What a page has made may not serve the next one; environments and data may.
        bare.run("git clean -qfdx -e .venv -e .venv.lock -e .mdbench", f"{HOME}/mdbench")
        if not follow(bare, page):
            return False
        print(f"    {megabytes(clone) - size:.0f} MB in the clone after it", flush=True)
    return True


def main() -> int:
    """Follow the pages on each release; 1 where one does not do what it says."""
    parser = argparse.ArgumentParser(prog="scripts/newcomer", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", help="releases of Debian, and pages (all by default)")
    parser.add_argument("--keep", type=Path, help="folder of the roots, which are kept")
    asked = parser.parse_args()
    pages = [name for name in asked.names if name.endswith(".md")]
    suites = [name for name in asked.names if name not in pages]
    if missing := missing_programs():
        print(missing)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = (asked.keep or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        done = [newcomer(suite, folder, pages or list(PAGES)) for suite in suites]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
