"""The runtime ``apptainer``: each method in an image that needs neither a daemon nor root.

Clusters have Apptainer (once Singularity) where they have no Docker.  An image holds a method's
environment and is made of that of Docker or Podman, so it has the same definition; the method's
folder and the worker's code are shown to it.  Workers are processes as those of ``venv``, with the
same limits, and Apptainer in the place of bubblewrap.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mdbench.errors import UnavailableError
from mdbench.installation import command
from mdbench.runtimes import processes
from mdbench.runtimes.base import Enforcement, Prepared
from mdbench.runtimes.environments import docker_cli
from mdbench.runtimes.environments.checkouts import get_checkouts
from mdbench.runtimes.environments.images import IMAGE_PYTHON, Images
from mdbench.runtimes.environments.uv import file_lock
from mdbench.runtimes.job_folder import folder_mb
from mdbench.runtimes.venv import VenvRuntime, VenvWorker, enforcement_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mdbench.methods import Method
    from mdbench.runtimes.base import Limits
    from mdbench.runtimes.environments.docker_cli import Program

PROGRAMS = ("apptainer", "singularity")
"""Names of the program, the first choice first."""
ALONE = ("--containall", "--no-home", "--net", "--network", "none", "--no-privs")
"""Nothing of the machine: its files, processes, variables, network and rights."""
_ENGINES: tuple[Program, ...] = ("docker", "podman")
_OWN_VARIABLES = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "XDG_RUNTIME_DIR")
_ANSWER_SECONDS = 60.0
_BUILD_SECONDS = 3600.0
_HINT = (
    "Load the cluster's module (module load apptainer) or install Apptainer, or use --runtime venv."
)


def find_program() -> str:
    """Return the path of Apptainer.

    Raises
    ------
    UnavailableError
        If it is not on the path.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise UnavailableError("Apptainer is not on the path.", _HINT)
    return program


class ApptainerRuntime(VenvRuntime):
    """Runs workers in images by Apptainer.

    Images are files or folders in ``apptainer/`` below `home`: ``NAME-HASH.sif``, with
    ``NAME-HASH.json`` next to it, which names its lock.  They are built where an engine
    is, and may be copied to where none is.
    """

    name: ClassVar[str] = "apptainer"

    def __init__(self, home: Path, on_line: Callable[[str], None] | None = None) -> None:
        super().__init__(home, on_line, wrapped=True)
        self._folder = home.absolute() / "apptainer"
        self._report = on_line or (lambda _: None)

    def probe(self) -> Enforcement:
        version = _run(["--version"], "Apptainer does not answer")
        tried = "no image yet to try it with"
        for image in sorted(self._folder.glob("*.json")):
            command = [*ALONE, str(_image_at(image)), IMAGE_PYTHON, "-I", "-c", "pass"]
            _run(["exec", *command], "Apptainer cannot run an image here")
            tried = "tried"
            break
        return enforcement_of(f"{version.strip()} ({tried})", walls="hard")

    def missing(self) -> str:
        return "" if any(self._folder.glob("*.json")) or _engine() else _no_images(self._folder)

    def identity(self, method: Method) -> dict[str, str]:
        try:
            return {"image": self._made_of(method)}
        except UnavailableError as error:
            return {"image": f"unavailable: {error.message}"[:200]}

    def _made_of(self, method: Method) -> str:
        """Return what a method's image is, or would be, made of; nothing is built."""
        if found := self._find(method.name, _sha256(method.lock)):
            return str(found["identity"])
        if (engine := _engine()) is None:
            raise UnavailableError(_no_images(self._folder))
        return Images(self._home, self._report, engine).identity(
            *(method.name, method.lock, method.spec.system_packages, method.fetch, method.sources)
        )

    def prepare(self, method: Method) -> Prepared:
        with self._programs.track():
            described = self._described(method)
            checkouts = get_checkouts(method, self._home, self._on_line)
        return Prepared(
            command=(IMAGE_PYTHON, str(described["path"])),
            identity=str(described["identity"]),
            python=str(described["python"]),
            packages=dict(described["packages"]),
            details={"image": Path(described["path"]).name, "base_image": described["base"]},
            checkouts=checkouts,
        )

    def size_mb(self, prepared: Prepared) -> float:
        path = Path(prepared.command[1])
        return folder_mb(path) if path.is_dir() else path.stat().st_size / 2**20

    def _worker(
        self,
        prepared: Prepared,
        folders: Mapping[str, Path],
        options: Sequence[str],
        limits: Limits,
        paths: Mapping[str, Path],
    ) -> ApptainerWorker:
        python, image = prepared.command
        return ApptainerWorker(
            image, (python,), folders, options, limits, paths=paths, report=self._on_line
        )

    def _described(self, method: Method) -> dict[str, Any]:
        """Return the description of a method's image, which is built where there is none."""
        lock = _sha256(method.lock)
        if found := self._find(method.name, lock):
            return found
        engine = _engine()
        if engine is None:
            raise UnavailableError(
                f"{self._folder} has no image of {method.name} with this lock, and building one "
                "needs Docker or Podman, which are not here.",
                "Build it on a machine that has one of them "
                f"({command(f'./install.sh --runtime apptainer {method.name}')}), "
                f"and copy {self._folder.name}/{method.name}-* to that folder.",
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        with file_lock(self._folder / f"{method.name}.lock", self._report):
            return self._find(method.name, lock) or self._build(method, lock, engine)

    def _find(self, name: str, lock: str) -> dict[str, Any] | None:
        for file in sorted(self._folder.glob(f"{name}-*.json")):
            with suppress(OSError, ValueError, KeyError):
                found = dict(json.loads(file.read_text("utf-8")))
                if found["method"] == name and found["lock"] == lock:
                    return {**found, "path": str(_image_at(file))}
        return None

    def _build(self, method: Method, lock: str, engine: Program) -> dict[str, Any]:
        made = Images(self._home, self._report, engine).build_environment(method)
        file = self._folder / f"{method.name}-{made.identity[:12]}.json"
        image, archive = file.with_suffix(".sif"), file.with_suffix(".tar")
        part = file.with_suffix(".sif.part")
        self._report(f"making the image {image.name}")
        save = ["save", *(["--format", "docker-archive"] if engine == "podman" else [])]
        try:
            docker_cli.docker(
                [*save, "--output", str(archive), made.tag],
                f"{made.tag} cannot be saved",
                timeout=_BUILD_SECONDS,
                program=engine,
            )
            _run(
                ["build", "--force", str(part), f"docker-archive:{archive}"],
                f"{image.name} cannot be built",
                _BUILD_SECONDS,
            )
            part.replace(image)
        finally:
            for left in (archive, part):
                left.unlink(missing_ok=True)
        described = {
            "method": method.name,
            "lock": lock,
            "identity": made.identity,
            "python": made.python,
            "packages": made.packages,
            "base": made.base,
        }
        file.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
        return {**described, "path": str(image)}


class ApptainerWorker(VenvWorker):
    """A worker process in an image.

    Parameters
    ----------
    image
        The image: a file or a folder.
    others
        As of `VenvWorker`.
    """

    def __init__(self, image: str, *others: Any, **more: Any) -> None:
        self._image = image
        super().__init__(*others, wrapped=True, **more)

    def _interpreter(self, python: str) -> list[Path]:  # noqa: ARG002 - it is in the image
        if not Path(self._image).exists():
            raise UnavailableError(
                f"The image {self._image} has gone.", "Give the same command again."
            )
        return []

    def _may_become_nobody(
        self,
        used: Sequence[Path],  # noqa: ARG002 - of the interface
        interpreter: Sequence[Path],  # noqa: ARG002 - the same
        *,
        wrapped: bool,  # noqa: ARG002 - the same
    ) -> bool:
        return False

    def _wrap(
        self,
        command: list[str],
        *,
        read_only: Mapping[str, Path],
        writable: Mapping[str, Path],
        environment: Mapping[str, str],
    ) -> tuple[list[str], dict[str, str]]:
        mounts = [("ro", path, inside) for inside, path in read_only.items()]
        mounts += [("rw", path, inside) for inside, path in writable.items()]
        options = [f"--mount={mount_of(*each)}" for each in mounts]
        inside = {**self._passed_on, **environment, "PATH": PATH_IN_IMAGE_PROGRAMS}
        own = _environment() | {f"APPTAINERENV_{name}": value for name, value in inside.items()}
        return (
            [find_program(), "exec", *ALONE, "--pwd", "/tmp", *options, self._image, *command],  # noqa: S108
            own,
        )

    def _root(self) -> int | None:
        """Return the worker's own process, below those of Apptainer."""
        if self._process.poll() is not None:
            return None
        if self._found is None:
            wanted = f"{IMAGE_PYTHON}\0".encode()
            for pid in processes.tree(self._process.pid):
                with suppress(OSError):
                    if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(wanted):
                        self._found = pid
                        break
        return self._found

    def interrupt(self) -> None:
        self._interrupted = True
        if self._process.poll() is not None:
            return  # its number may be another process's by now
        for pid in reversed(processes.tree(self._process.pid)):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self._process.kill()


PATH_IN_IMAGE_PROGRAMS = "/opt/env/bin:/usr/local/bin:/usr/bin:/bin"
"""PATH inside."""


def mount_of(mode: str, path: Path, inside: str) -> str:
    """Return the value of ``--mount``, which is a row of CSV.

    Examples
    --------
    >>> print(mount_of("ro", Path("/a,b"), "/mdbench/x"))
    type=bind,"source=/a,b",destination=/mdbench/x,ro
    """
    row = io.StringIO()
    fields = ["type=bind", f"source={path}", f"destination={inside}", *(["ro"] * (mode == "ro"))]
    csv.writer(row, lineterminator="").writerow(fields)
    return row.getvalue()


def _sha256(lock: Path) -> str:
    try:
        return hashlib.sha256(lock.read_bytes()).hexdigest()
    except OSError as error:
        raise UnavailableError(f"{lock} cannot be read: {error.strerror}.") from None


def _environment() -> dict[str, str]:
    """Return the variables of Apptainer itself.

    None of the user's that would show a job more of the machine, such as ``APPTAINER_BIND``; inside
    are those with the prefix ``APPTAINERENV_`` alone.
    """
    return {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}


def _engine() -> Program | None:
    """Return an engine that images can be built with, if there is one."""
    return next((each for each in _ENGINES if docker_cli.why_no_engine(each) is None), None)


def _image_at(description: Path) -> Path:
    """Return the image of a description: a file, or a folder of that name."""
    file = description.with_suffix(".sif")
    return file if file.exists() else description.with_suffix("")


def _no_images(folder: Path) -> str:
    return f"there are no images in {folder}, and neither Docker nor Podman to build them with"


def _run(arguments: Sequence[str], failure: str, seconds: float = _ANSWER_SECONDS) -> str:
    """Run Apptainer and return what it prints.

    Raises
    ------
    UnavailableError
        If it fails; with its last line.
    """
    try:
        done = subprocess.run(
            [find_program(), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=os.environ if arguments[0] == "build" else _environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{failure}: {error}.", _HINT) from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UnavailableError(f"{failure}: {said[-1] if said else done.returncode}", _HINT)
    return done.stdout
