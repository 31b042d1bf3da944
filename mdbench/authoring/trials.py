"""Small jobs of one method, which leave no records; and modules that its environment lacks."""

from __future__ import annotations

import ast
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from eqverdict.limited_process import PARSER_LOCK
from mdbench.datatypes.facts import Protocol
from mdbench.records import Status
from mdbench.runs.calibration import SpeedGauge
from mdbench.runs.plan import ResolvedJob
from mdbench.runs.scoring import ScoredResult, score_result
from mdbench.runs.session import JobSession
from mdbench.runs.spec import JobSpec
from mdbench.runtimes.base import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mdbench.datatypes.base import Dataset, DataType, Task
    from mdbench.methods import Method
    from mdbench.runtimes.base import Prepared, Runtime
    from mdbench.runtimes.worker import Worker

_WORK_TIMEOUT_S = 60.0
"""Seconds of wall time in which a little work is used up, however busy the machine is."""


class Advice(NamedTuple):
    """What repairs a breach, in the words of the language of the method.

    Attributes
    ----------
    digits
        What writes a number with all its digits.
    refuse, unknown
        How data are refused, and hyperparameters that there are not.
    late
        What to look for besides time in a try that its limit has ended.
    """

    digits: str
    refuse: str
    unknown: str
    late: str = ""


_ADVICE = {
    False: Advice(
        digits="repr",
        refuse="raise an error, or Unsupported and why",
        unknown="name each hyperparameter in __init__ (and in sweep)",
    ),
    True: Advice(
        digits="%.17g",
        refuse='send {"type":"failed","job":...,"kind":"unsupported","error":"why"}',
        unknown='send {"type":"failed",...} where hyperparameters of job.json has a name that the '
        "program does not know",
        late=".  Did the program flush its standard output after each message "
        "(fflush(stdout) in C)?  A line that stays in its buffer never arrives",
    ),
}
"""For adapters, and for programs in any language."""


class Trials:
    """Runs small jobs of one method in a warm worker, leaving no records."""

    def __init__(
        self,
        method: Method,
        runtime: Runtime,
        prepared: Prepared,
        seconds: float,
        used: Callable[[float], None],
    ) -> None:
        self.method = method
        self._used = used
        self.seconds = min(method.spec.timeout, seconds)
        self._runtime = runtime
        self._prepared = prepared
        self._held: Worker | None = None
        self._gauge: SpeedGauge | None = None
        self._logs = Path(tempfile.mkdtemp(prefix="mdbench-check-"))
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            self._held.close()
        shutil.rmtree(self._logs, ignore_errors=True)

    @property
    def advice(self) -> Advice:
        """What repairs a breach: of an adapter in Python, or of a program."""
        return _ADVICE[bool(self.method.spec.program)]

    def more_time(self, status: Status) -> str:
        """Return what to do about a try that was ended by its time."""
        if status not in {Status.TIMEOUT, Status.PARTIAL}:
            return ""
        name = self.method.name
        late = self.advice.late if status is Status.TIMEOUT else ""
        return (
            f"{late}.  For more time: mdbench check {name} --timeout {self.seconds * 6:g}; or give "
            "a small budget in [check.hyperparameters]"
        )

    def task(self, data_type: DataType[Any, Any], dataset: Dataset) -> Task[Any]:
        """Split a dataset for the method."""
        spec = self.method.spec
        task: Task[Any] = data_type.task(dataset, spec.view, Protocol.STRICT)
        return task if spec.equations else data_type.predicted(task)

    def worker(self) -> Worker:
        """Return a worker that can serve a job."""
        if self._held is not None and not self._held.alive:
            self._held.close()
            self._held = None
        if self._held is None:
            limits = Limits(self.method.spec.threads, self.method.spec.memory_mb)
            self._held = self._runtime.start(self.method, self._prepared, limits)
        return self._held

    def _calibrated(self) -> SpeedGauge:
        """Return the speed of this machine, by which work is measured."""
        if self._gauge is None:
            self._gauge = SpeedGauge()
            self._gauge.calibrate()
        return self._gauge

    def run(
        self,
        data_type: DataType[Any, Any],
        task: Task[Any],
        dataset: str,
        more: dict[str, object] | None = None,
        seed: int = 0,
        *,
        work_s: float | None = None,
    ) -> ScoredResult:
        """Do one job under the check's own budget; or with so much work, as a run does it."""
        spec = self.method.spec
        small = spec.check.hyperparameters if work_s is None else {}
        job = JobSpec(
            algorithm=self.method.name,
            data_type=data_type.name,
            dataset=dataset,
            snr_db=None,
            seed=seed,
            protocol=Protocol.STRICT,
            timeout_s=self.seconds if work_s is None else _WORK_TIMEOUT_S,
            work_s=work_s,
            threads=spec.threads,
            save_pareto=False,
            memory_mb=spec.memory_mb,
        )
        self._count += 1
        parts = {"check": str(self._count)}
        resolved = ResolvedJob(job, self.method, data_type, data_type.source(), parts)
        worker = self.worker()
        folder = worker.make_folder()
        name = secrets.token_hex(16)
        worker.begin_log(self._logs / str(self._count), name)
        try:
            outcome = JobSession(
                resolved,
                task,
                worker=worker,
                folder=folder,
                name=name,
                gauge=None if work_s is None else self._calibrated(),
                hyperparameters={**small, **(more or {})},
            ).run()
        finally:
            worker.log.end()
            worker.remove_folder(folder)
        self._used(outcome.costs.cpu_s or 0.0)
        return score_result(data_type, task, outcome)


_MOST = 5_000
"""Modules that are looked at."""


def missing_modules(method: Method, prepared: Prepared) -> list[str]:
    """Return the top-level names that are imported and not there, in one pass.

    Modules are read and not run: those that the adapter imports when it is imported, those that
    these import, and so on.  Imports inside of functions, and those that a ``try`` expects to fail,
    do not count.

    Parameters
    ----------
    method
        The method.
    prepared
        Its environment; of one that is no folder here, such as a container's, nothing is known.

    Returns
    -------
    list of str
        In the order in which they would be met.
    """
    python = Path(prepared.command[0])
    folders = sorted((python.parent.parent / "lib").glob("python*/site-packages"))
    if not folders:
        return []
    return list(dict.fromkeys(_missing(method, folders[0])))


def _missing(method: Method, packages: Path) -> Iterator[str]:
    places = [method.folder, *method.used, packages]
    waiting = [(method.adapter, "")]
    seen = {method.adapter}
    while waiting and len(seen) < _MOST:
        file, package = waiting.pop(0)
        for name in _imports(file, package):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top == "mdbench":
                continue
            paths = _find(name, places)
            if not paths:
                yield top
            for path in paths:
                if path[0] not in seen:
                    seen.add(path[0])
                    waiting.append(path)


def _find(name: str, places: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return the files of a module and of the packages that it is in; none if it is not there."""
    parts = name.split(".")
    for search_path in places:
        paths = []
        folder = search_path
        for depth, part in enumerate(parts):
            inner = ".".join(parts[: depth + 1])
            if (init := folder / part / "__init__.py").is_file():
                paths.append((init, inner))
            elif (folder / f"{part}.py").is_file():
                paths.append((folder / f"{part}.py", inner.rpartition(".")[0]))
            elif not depth and ((folder / part).is_dir() or any(folder.glob(f"{part}.*.so"))):
                return [(search_path / part, inner)]  # compiled, or without an __init__
            folder /= part
        if paths:
            return paths
        if any(search_path.glob(f"{parts[0]}.*so")):
            return [(search_path / parts[0], parts[0])]
    return []


def _imports(file: Path, package: str) -> Iterator[str]:
    """Yield the full names of the modules that a file imports when it is imported."""
    try:
        with PARSER_LOCK:
            tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        statement = waiting.pop(0)
        match statement:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                if base:
                    yield base
                    yield from (f"{base}.{each.name}" for each in names if level and not module)
            case ast.If(body=body, orelse=orelse) if not _for_types(statement.test):
                waiting = [*body, *orelse, *waiting]
            case ast.With(body=body) | ast.ClassDef(body=body):
                waiting = [*body, *waiting]


def _for_types(test: ast.expr) -> bool:
    """Whether a condition is that of imports for type checkers alone."""
    return "TYPE_CHECKING" in ast.dump(test)
