"""Commands of two versions one after the other, and of one version next to a yardstick.

A machine is never as fast as the minute before.  So what is compared is run in turn (A B A B ...),
and what counts is the median of the ratios of the pairs, of CPU seconds of whole process trees.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = Path(__file__).with_name("ratios.json")
"""The ratios of this version's commands to the yardstick, as they were when they were written."""
MOST = 2.0
"""Factor of its committed ratio of CPU seconds at which a command is too slow.

One version had 1.0 to 1.74 times the committed ratios on machines that memory made slow, where it
took as much as the version before in turns: the yardstick needs less memory than a run.
"""
MOST_INSTRUCTIONS = 1.1
"""The same of instructions, which no machine changes."""
_TRIES = 3
"""How often a command that is too slow is measured again before that is believed."""
_YARDSTICK = """
import json, decimal, argparse, dataclasses, email.message, logging, tokenize, io
counts = {}
for number in range(300000):
    counts[number % 97] = counts.get(number % 89, 0) + number
texts = [json.dumps({"a": [number, str(number)], "b": number / 7}) for number in range(8000)]
values = [json.loads(text) for text in texts]
values.sort(key=lambda value: value["b"])
source = "".join(f"def f{number}(x):\\n    return x + {number}\\n" for number in range(400))
compile(source, "yardstick", "exec")
list(tokenize.generate_tokens(io.StringIO(source).readline))
"""
"""A program that does what a start does: imports, dictionaries, texts, parsing and compiling."""


class Version(NamedTuple):
    """A tree of the project's files, and what it is called."""

    name: str
    root: Path

    def environment(self, *, bare: bool = False) -> dict[str, str]:
        """Return the variables with which its own code is run, on its own methods and datasets.

        Parameters
        ----------
        bare
            Whether no environment is to be found installed: `list` has the size of each.
        """
        made = os.environ.get("MDBENCH_HOME") or str(ROOT / ".mdbench")
        home = str(self.root / "none") if bare else made
        own = {"PYTHONPATH": str(self.root), "MDBENCH_ROOT": str(self.root), "MDBENCH_HOME": home}
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, **own, "PYTHONHASHSEED": "0"}


HERE = Version("here", ROOT)


def arguments_of(document: str | None, pairs: int) -> argparse.Namespace:
    """Read the options of a benchmark, whose first line of documentation is its help.

    Parameters
    ----------
    pairs
        How often each command is measured by default.
    """
    parser = argparse.ArgumentParser(description=(document or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--against", metavar="COMMIT")
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    parser.add_argument("--pairs", type=int, default=pairs)
    return parser.parse_args()


def command(*arguments: str) -> list[str]:
    """Return the command line of mdbench with some arguments."""
    return [sys.executable, "-m", "mdbench", *arguments]


def yardstick() -> list[str]:
    """Return the command line of the yardstick."""
    return [sys.executable, "-c", _YARDSTICK]


def cpu_s(line: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Run a command, and return the CPU seconds of all its processes.

    Raises
    ------
    SystemExit
        If it fails; with what it printed last.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        line,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tempfile.gettempdir(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Pairs(NamedTuple):
    """What two commands took, run in turn: seconds, or instructions."""

    first: list[float]
    second: list[float]

    @property
    def ratio(self) -> float:
        """The median of the first's over the second's."""
        return statistics.median(a / b for a, b in zip(self.first, self.second, strict=True))


def in_turn(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Pairs:
    """Measure two things in turn, after each was done once for what is made on first use."""
    first(), second()
    found = [(first(), second()) for _ in range(pairs)]
    return Pairs([one for one, _ in found], [other for _, other in found])


@contextmanager
def checkout(commit: str | None) -> Iterator[Version | None]:
    """Unpack another version of this repository; that of the last tag if None is named.

    Yields
    ------
    Version or None
        None where there is no tag.
    """
    if commit is None:
        found = _git("describe", "--tags", "--abbrev=0", "HEAD")
        if found is None:
            yield None
            return
        commit = found.strip()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "tree.tar")
        if _git("archive", f"--output={archive}", commit) is None:
            raise SystemExit(f"There is no commit {commit!r} here.")
        root = Path(folder, "tree")
        root.mkdir()
        subprocess.run(["tar", "-xf", archive, "-C", root], check=True)
        yield Version(commit, root)


def _git(*arguments: str) -> str | None:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def count_instructions(line: Sequence[str], environment: Mapping[str, str]) -> float | None:
    """Count a command's instructions, without the kernel's; None where nothing here can.

    The processor counts them, where the machine lets it, and else Valgrind: it takes twenty times
    as long.  The count does not depend on the machine's speed or load.
    """
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        for program, prefix, pattern in (
            (
                "perf",
                ["stat", "-x,", "-e", "instructions:u", "-o", str(counts)],
                r"(?m)^([1-9]\d*),[^,]*,instructions",
            ),
            (
                "valgrind",
                [
                    *("--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={folder}/out"),
                    f"--log-file={counts}",
                ],
                r"I +refs: +([1-9][\d,]*)",
            ),
        ):
            if shutil.which(program) is None:
                continue
            subprocess.run(
                [program, *prefix, *line],
                env=environment,
                capture_output=True,
                check=False,
                cwd=folder,  # where no version is: -m looks there first
            )
            found = re.search(pattern, counts.read_text()) if counts.exists() else None
            if found:
                return float(found[1].replace(",", ""))
    return None


def can_count_instructions() -> bool:
    """Whether there is something here that counts instructions."""
    return count_instructions([sys.executable, "-S", "-c", ""], HERE.environment()) is not None


def check(measured: Mapping[str, Callable[[], float]]) -> int:
    """Measure ratios to the yardstick, and compare them with the committed ones.

    A command that seems too slow is measured again: noise goes, and a slide stays.

    Returns
    -------
    int
        1 if one is too slow, else 0.
    """
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    slow = 0
    for name, measure in measured.items():
        factor = MOST_INSTRUCTIONS if name.endswith("instructions") else MOST
        most = factor * committed[name]
        ratio = measure()
        for _ in range(_TRIES - 1):
            if ratio <= most:
                break
            ratio = min(ratio, measure())
        slow += ratio > most
        verdict = "too slow" if ratio > most else "ok"
        print(f"{name:28} {ratio:8.3f}  committed {committed[name]:8.3f}  {verdict}", flush=True)
    if slow:
        print(
            f"Allowed are {MOST} times the committed ratio, {MOST_INSTRUCTIONS} of instructions."
            "  If it is meant: --write"
        )
    return int(slow > 0)


def write(measured: Mapping[str, Callable[[], float]]) -> None:
    """Measure ratios, and write them where `check` reads them."""
    committed = json.loads(COMMITTED.read_text(encoding="utf-8")) if COMMITTED.exists() else {}
    for name, measure in measured.items():
        committed[name] = round(measure(), 3)
        print(f"{name:28} {committed[name]:8.3f}", flush=True)
    COMMITTED.write_text(json.dumps(committed, indent=2, sort_keys=True) + "\n", encoding="utf-8")
