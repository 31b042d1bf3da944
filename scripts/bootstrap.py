"""Makes an environment at the repository's root from its hashed lock, or removes all of them.

    bootstrap.py FOLDER LOCK KEY      as scripts/environment.sh calls it
    bootstrap.py --add FOLDER LOCK    what another lock has besides, as install.sh calls it
    bootstrap.py --clean              as install.sh calls it

Nothing is installed yet when this runs: standard library only.  pip is used to fetch one
package, uv, and uv installs the rest, which takes a third of the time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mdbench.errors import MdbenchError, UnavailableError  # noqa: E402
from mdbench.runtimes.environments.locks import split_requirements  # noqa: E402
from mdbench.runtimes.environments.removal import remove_all, remove_environments  # noqa: E402
from mdbench.runtimes.environments.subprocesses import (  # noqa: E402
    read_pip_settings,
    redact,
    running,
    uv_settings,
    with_package_count,
)
from mdbench.runtimes.environments.uv import (  # noqa: E402
    build_once,
    compile_bytecode,
    run_uv,
)
from mdbench.startup import UNFIT, why_unfit  # noqa: E402 - not installed yet
from mdbench.workspace import Workspace  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdbench.runtimes.environments.subprocesses import UvSettings


def main(arguments: list[str]) -> int:
    """Do what the arguments ask for, and return the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments == ["--clean"]:
            clean()
        elif arguments[0] == "--add":
            add(ROOT / arguments[1], ROOT / arguments[2])
        else:
            folder, lock, key = arguments
            prefix = ROOT / folder
            build_once(prefix, key, partial(make, prefix, ROOT / lock), say)
    except MdbenchError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("interrupted; the same command starts again")
        return 130
    return 0


def clean() -> None:
    """Remove all environments that were made here, the methods' too, and all images."""
    remove_environments([ROOT / name for name in (".venv", ".venv-dev", ".venv-docs")], say)
    remove_all(Workspace.find().home, say)


def make(prefix: Path, lock: Path) -> None:
    """Make the environment: an empty one, then uv, then all else."""
    # Resolved, so that an interpreter that is replaced by another version is noticed.
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    say(f"making {prefix.name} from {lock.name} with {base} (once; minutes on a slow network)")
    with_package_count(
        partial(fill, prefix, lock, base), f"making {prefix.name}", prefix, lock, say
    )()


def fill(prefix: Path, lock: Path, base: Path, report: Callable[[str], None]) -> None:
    """Fill the folder, reporting each step."""
    report("1 of 3: uv, which fetches the packages")
    uv_only = prefix / "uv.lock"
    requirements = split_requirements(lock.read_text(encoding="utf-8"))
    uv_only.write_text(requirements["uv"], encoding="utf-8")
    install_uv(str(prefix), str(base), str(uv_only))
    python = str(prefix / "bin" / "python")
    settings = settings_of(python)
    report("2 of 3: the packages")
    for step in (
        ["sync", "--require-hashes", str(lock)],
        ["install", "--no-deps", "--no-build-isolation", "--editable", "."],
    ):
        run_pip(prefix, step, settings, report)
    report("3 of 3: compiling them")
    # Where the checkout cannot be written later, every start would compile all of it.
    compile_bytecode(base, [prefix / "lib", ROOT / "eqverdict", ROOT / "mdbench"])
    if "numpy" in requirements and (why := why_unfit(python)):
        (prefix / UNFIT).write_text(f"{why}\n", encoding="utf-8")
        say(
            f"the common routines of linear algebra fail on this processor ({why}): it uses its "
            "own, and last digits may differ from those of other machines"
        )


def add(prefix: Path, lock: Path) -> None:
    """Install what another lock has besides; both locks agree on what they share."""
    say(f"adding what {lock.name} has to {prefix.name}")
    python = str(prefix / "bin" / "python")
    run_pip(prefix, ["install", "--require-hashes", "-r", str(lock)], settings_of(python), say)


def settings_of(python: str) -> UvSettings:
    """Return pip's settings as uv takes them: those of this Python, else of another one."""
    return uv_settings(read_pip_settings(sys.executable) or read_pip_settings(python), os.environ)


def run_pip(
    prefix: Path, arguments: list[str], settings: UvSettings, report: Callable[[str], None]
) -> None:
    """Run one command of ``uv pip`` in an environment."""
    run_uv(
        prefix / "bin" / "uv",
        ["pip", *arguments, "--python", str(prefix / "bin" / "python")],
        settings=settings,
        cwd=ROOT,
        failure=f"{prefix.name} cannot be made",
        on_line=lambda line: None if line.startswith(" ") else report(line),
    )


def install_uv(prefix: str, base: str, uv_only: str) -> None:
    """Install uv into a new environment, in the first way that this machine has.

    Raises
    ------
    UnavailableError
        If there is no way, or if the installation itself fails.
    """
    python = f"{prefix}/bin/python"
    install = ["install", "--quiet", "--require-hashes", "--no-deps", "--requirement", uv_only]
    empty = [base, "-m", "venv", "--without-pip", prefix]
    pip_outside = [sys.executable, "-m", "pip", "--python", python]
    pip_inside = [python, "-m", "pip"]
    uv_venv = ["uv", "venv", "--quiet", "--no-project", "--allow-existing"]
    ways = [
        ([empty, [*pip_outside, "--version"]], [*pip_outside, *install]),
        ([empty, [python, "-m", "ensurepip"]], [*pip_inside, *install]),
        ([["virtualenv", "--quiet", "--python", base, prefix]], [*pip_inside, *install]),
        ([[*uv_venv, "--python", base, prefix]], ["uv", "pip", *install, "--python", python]),
    ]
    for preparation, installation in ways:
        if all(run(command).returncode == 0 for command in preparation):
            done = run(installation)
            if done.returncode != 0:
                raise UnavailableError(
                    f"{prefix} cannot be made; pip reports:\n    {redact(done.stdout.strip())}",
                    "Check the network and pip's settings (python3 -m pip config list), "
                    "then run the same command again.",
                )
            return
    raise UnavailableError(
        f"{base} cannot make a virtual environment: it lacks pip, or venv with ensurepip, "
        "and there is no virtualenv and no uv on PATH.",
        "Install one of them (on Debian and Ubuntu: apt install python3-venv), "
        "or name another Python: MDBENCH_PYTHON=/path/to/python3.",
    )


def run(command: list[str], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program; one that does not exist, or does not end in time, has failed."""
    program = shutil.which(command[0])
    if program is None:
        return subprocess.CompletedProcess([], 127, "")
    try:
        with running(
            [program, *command[1:]],
            cwd=ROOT,
            # Settings that pip is given for the user's other work would misplace the package.
            env=os.environ | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            printed, _ = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(command, process.returncode, printed)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], 124, "")


def say(line: str) -> None:
    """Print a message for the user."""
    print(f"mdbench: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
