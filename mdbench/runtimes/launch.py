"""Options and variables of every worker, the wait for its first message, and its user."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mdbench.errors import MethodError, UnavailableError
from mdbench.runtimes.base import WorkerGoneError, WorkerTimeoutError
from mdbench.runtimes.processes import worker_cores
from mdbench.runtimes.protocol import PROTOCOL, Broken, Hello, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mdbench.methods import Method
    from mdbench.runtimes.worker import JsonLinesWorker


WORKER_COMMAND = ("-s", "-B", "-m", "mdbench.worker")
"""Arguments of the method's Python: no user site, no bytecode written, and the worker's module."""

WORKER_PACKAGE = Path(__file__).resolve().parent.parent / "worker"
"""The folder of the worker's code."""

_START_SECONDS = 120.0
"""How long an adapter may take to be imported."""
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",  # PyTorch, too
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "PYTHON_JULIACALL_THREADS",
)
"""What libraries read when they are loaded, which is when the worker starts."""
_KERNEL_VARIABLES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES")
"""What somebody sets to compute as another processor would: it is meant for methods, too."""
_T = TypeVar("_T")


def lay_out_worker(folder: Path, *, linked: bool = True) -> Path:
    """Make a folder for PYTHONPATH from which ``mdbench.worker`` is imported, and nothing else.

    It is a real folder, so that processes which a method starts find the module too.

    Parameters
    ----------
    folder
        Where to make it.
    linked
        Whether the worker's code is linked to; else there is an empty folder in its place.
    """
    path = folder / "path"
    package = path / "mdbench"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    if linked:
        (package / "worker").symlink_to(WORKER_PACKAGE)
    else:
        (package / "worker").mkdir()
    return path


def worker_environment(threads: int, *, home: str, path: str) -> dict[str, str]:
    """Return the variables of a worker that are the same everywhere.

    Parameters
    ----------
    threads
        Threads that numerical libraries are to use.
    home
        Folder for what a method writes outside of any job.
    path
        Folder from which ``mdbench.worker`` is imported.
    """
    kernel = {name: os.environ[name] for name in _KERNEL_VARIABLES if name in os.environ}
    return (
        dict.fromkeys(_THREAD_VARIABLES, str(threads))
        | kernel
        | {
            "HOME": home,
            "TMPDIR": home,
            "PYTHONPATH": path,
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
        }
    )


def worker_options(method: Method, output_mb: int) -> list[str]:
    """Return the worker's options that come from the method and its limits."""
    options = [f"--output-mb={output_mb}", *(f"--uses={name}" for name in method.spec.uses)]
    if not method.spec.fork_safe:
        options.append("--no-fork")
    return options


def inside_paths(inside: str, names: Iterable[str]) -> dict[str, str]:
    """Return what the user's folders and files are called in a sandbox, by name."""
    return {name: f"{inside}/paths/{name}" for name in names}


def path_options(places: Mapping[str, str]) -> list[str]:
    """Return the worker's options for the user's folders and files."""
    return [f"--path={name}={place}" for name, place in places.items()]


def await_hello(worker: JsonLinesWorker, method: Method) -> None:
    """Wait until a new worker has imported its adapter; it is closed where it does not.

    Raises
    ------
    MethodError
        If the adapter cannot be imported; with the reason.
    UnavailableError
        If the adapter says so at its import.
    """
    try:
        message = worker.receive(_START_SECONDS)
    except WorkerTimeoutError:
        worker.close()
        raise MethodError(
            f"{method.adapter} was not imported within {_START_SECONDS:.0f} s",
            "Move slow work from import time into fit().",
        ) from None
    except (WorkerGoneError, ProtocolError) as error:
        breach = worker.breach()
        worker.close()
        tail = worker.log.stray.decode(errors="replace").strip()
        raise MethodError(
            f"{method.adapter} cannot be imported: {breach.reason if breach else error}"
            + (f"\n{tail}" if tail else ""),
            f"To see more: mdbench check {method.name}",
        ) from None
    if isinstance(message, Broken):
        worker.close()
        if message.kind == "unavailable":
            raise UnavailableError(message.error)
        raise MethodError(
            f"{method.adapter} cannot be imported: {message.error}",
            f"Mend the adapter, then: mdbench check {method.name}",
        )
    if not isinstance(message, Hello) or message.protocol != PROTOCOL:
        worker.close()
        raise MethodError(f"{method.adapter}: its worker speaks another protocol: {message!r}")
    worker.hello = message


def run_in_launcher_thread(call: Callable[[], _T]) -> _T:
    """Call from a thread that lives as long as this process, and give the result.

    The kernel ends a process that asked to die with its parent when the *thread* that started
    it ends.  What is started is pinned to the cores that are meant for it, if there are any.
    """
    cores = worker_cores()
    return _launcher().submit(lambda: _called(call, cores)).result()


def _called(call: Callable[[], _T], cores: tuple[int, ...] | None) -> _T:
    if not cores:
        return call()
    before = os.sched_getaffinity(0)  # of this thread, which what it starts inherits
    try:
        os.sched_setaffinity(0, cores)
        return call()
    finally:
        os.sched_setaffinity(0, before)


@cache
def _launcher() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="mdbench-launcher")


NOBODY_UID = 65534
"""The number of the user, and of the group, that own nothing."""

_READ = stat.S_IROTH
_ENTER = stat.S_IROTH | stat.S_IXOTH
_PASS = stat.S_IXOTH


def can_drop_privileges(whole: Iterable[Path], roots: Iterable[Path], *, same_place: bool) -> bool:
    """Whether root should let somebody without rights do the work.

    Parameters
    ----------
    whole
        Small folders, of which all is looked at.
    roots
        Environments, of which the top is looked at.
    same_place
        Whether they are found below the same folders then, which must let others pass.
    """
    if os.getuid() != 0:
        return False
    folders = [*whole, *roots]
    if same_place and not all(_has(each, _PASS) for one in folders for each in _above(one)):
        return False
    return all(map(_can_read_all, whole)) and all(
        _has(each, _ENTER) for one in roots for each in (one, one / "lib") if each.exists()
    )


def _above(folder: Path) -> set[Path]:
    return {*folder.absolute().parents, *folder.resolve().parents}


def _can_read_all(folder: Path) -> bool:
    for place, _, files in os.walk(folder):
        if not _has(place, _ENTER):
            return False
        if not all(_has(os.path.join(place, name), _READ) for name in files):  # noqa: PTH118
            return False
    return True


def _has(path: str | Path, rights: int) -> bool:
    with suppress(OSError):
        return os.stat(path).st_mode & rights == rights  # noqa: PTH116
    return False
