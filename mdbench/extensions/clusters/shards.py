"""A plan in pieces: each is done by one task of a cluster, which writes results files of its own.

A folder ``.shards/<name>`` in the results folder holds the pieces of one round: the jobs with their
keys (``shards.pickle``), a folder of results files for each piece, what the tasks print, and what
has been submitted (``tasks.json``).  What is known of jobs is read from the records, and from
nothing else: a task may end in any way, and be begun again in the same place, where it goes on.
"""

from __future__ import annotations

import heapq
import json
import os
import pickle
import shutil
import signal
import socket
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mdbench.backends.local import LocalBackend
from mdbench.errors import MdbenchError, RecordsError, counted
from mdbench.records import RecordStore, Status
from mdbench.runs.catalog import Catalog
from mdbench.runs.execute import execute
from mdbench.runs.plan import Plan
from mdbench.runs.worker_pool import GRACE_S
from mdbench.workspace import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mdbench.extensions.clusters.node import NodeRequest
    from mdbench.records import Record
    from mdbench.runs.spec import JobSpec

FOLDER: Final = ".shards"
"""The folder, inside that of results, of jobs that a cluster has and results files do not."""


@dataclass(frozen=True)
class Shard:
    """One piece of a plan, which one task does; it can be pickled.

    Attributes
    ----------
    seconds
        How long the task may take.
    """

    folder: Path
    number: int
    seconds: float

    def __call__(self) -> None:
        """Do the jobs of the piece that have no record yet."""
        files = ShardFiles.read(self.folder)
        with files.trouble(self.number).open("w", encoding="utf-8") as trouble:
            try:
                self._run(files)
            except MdbenchError as error:
                json.dump([socket.gethostname(), error.message, error.hint], trouble)

    def _run(self, files: ShardFiles) -> None:
        order = files.order
        for number in (signal.SIGTERM, signal.SIGUSR2):  # the end is near, or somebody else's turn
            signal.signal(number, signal.default_int_handler)
        if order.seen_from.is_dir():
            os.chdir(order.seen_from)
        runtime = order.open(_print)
        try:
            plan = Plan(
                tuple(job for job, _ in files.shards[self.number]),
                Catalog(order.workspace(), _print),
                order.result_dir,
                1,
                fresh_sandbox=order.fresh_sandbox,
                retries=order.retries,
                record_dir=files.records(self.number),
                connections=order.open_connections(),
            )
            backend = LocalBackend(calibrated=True, seconds=self.seconds, grace_s=GRACE_S)
            execute(plan, runtime, _Printer(), backend)
        finally:
            runtime.close()


def _print(text: str) -> None:
    os.write(1, f"{text}\n".encode())


class _Printer:
    """Writes into the task's log how it goes on."""

    def message(self, text: str) -> None:
        _print(text)

    def prepared(self, to_run: int, done: int) -> None:
        _print(f"{counted(to_run, 'job')} to do, {done} done")

    def job_started(self, job: JobSpec) -> None:
        _print(f"{job} ...")

    def job_ended(self, job: JobSpec, record: Record) -> None:
        _print(f"{job}: {record.status.word} {record.reason}")


@dataclass(frozen=True)
class ShardFiles:
    """The files of one round.

    Attributes
    ----------
    shards
        The jobs of each piece with their keys.
    """

    folder: Path
    order: NodeRequest
    shards: Sequence[Sequence[tuple[JobSpec, str]]]

    @classmethod
    def make(
        cls,
        result_dir: Path,
        order: NodeRequest,
        shards: Sequence[Sequence[tuple[JobSpec, str]]],
    ) -> ShardFiles:
        """Write down the pieces of a round in a folder of its own."""
        folder = result_dir.absolute() / FOLDER / uuid.uuid4().hex[:12]
        content = pickle.dumps((order, shards))
        write_whole(folder / "shards.pickle", lambda file: file.write(content))
        return cls(folder, order, shards)

    @classmethod
    def read(cls, folder: Path) -> ShardFiles:
        """Read them again."""
        content = (folder / "shards.pickle").read_bytes()
        order, shards = pickle.loads(content)  # noqa: S301 - of the same user's own folder
        return cls(folder, order, shards)

    def records(self, number: int) -> Path:
        """Return the folder of a piece's results files."""
        return self.folder / f"{number:05d}"

    def trouble(self, number: int) -> Path:
        """Return the file in which a task reports why it could do nothing."""
        return self.folder / f"{number:05d}.trouble"

    @property
    def prints(self) -> Path:
        """The folder of what tasks print."""
        return self.folder / "tasks"

    def submitted(self, kind: str, ids: Sequence[str]) -> None:
        """Write down what has been submitted."""
        content = json.dumps({"kind": kind, "ids": list(ids)}).encode()
        write_whole(self.folder / "tasks.json", lambda file: file.write(content))

    def tasks(self) -> tuple[str, list[str]]:
        """Return what has been submitted: to what kind of executor, and the numbers there."""
        try:
            content = json.loads((self.folder / "tasks.json").read_bytes())
        except FileNotFoundError:
            return "", []
        return str(content["kind"]), list(content["ids"])

    def troubles(self) -> list[tuple[str, str, str]]:
        """Return why tasks could do nothing: the machine, the message and the hint."""
        troubles = []
        for number in range(len(self.shards)):
            try:
                text = self.trouble(number).read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
            if text:
                host, message, hint = json.loads(text)
                troubles.append((host, message, hint))
        return troubles

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class CollectedRecords:
    """The new records in the files of a round.

    Attributes
    ----------
    lines
        By results file, the key and the line of each new record.
    twice
        Keys of which a record was there more than once, in other pieces; the first counts.
    foreign
        How many records of each piece are of keys that were not asked of it.
    """

    lines: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    foreign: Counter[int] = field(default_factory=Counter)


class ShardCollector:
    """Collector of the records of a round: each once, from its files, as they arrive."""

    def __init__(self, files: ShardFiles) -> None:
        self._files = files
        self._wanted = [{key for _, key in shard} for shard in files.shards]
        self._read: dict[Path, int] = {}
        self.missing = {key for keys in self._wanted for key in keys}

    def poll(self) -> CollectedRecords:
        """Read what is new, whole lines only."""
        collected = CollectedRecords()
        for number in range(len(self._files.shards)):
            folder = self._files.records(number)
            for path in sorted(folder.glob("*.jsonl")):
                for line in self._new_lines(path):
                    self._take(collected, number, path.stem, line)
        return collected

    def _new_lines(self, path: Path) -> Iterator[bytes]:
        position = self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(position)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written, or was torn
                position += len(line)
                yield line
        self._read[path] = position

    def _take(self, collected: CollectedRecords, number: int, name: str, line: bytes) -> None:
        try:
            data = json.loads(line)
            key, status = str(data["key"]), data["status"]
        except (ValueError, KeyError, TypeError):
            raise RecordsError(
                f"{self._files.records(number)} has a line that is no record: {line[:40]!r}",
                "Remove the folder; its jobs are then done again.",
            ) from None
        if status == Status.INTERRUPTED:
            return  # it has to be done again
        if key not in self._wanted[number]:
            collected.foreign[number] += 1
        elif key not in self.missing:
            collected.twice.append(key)
        else:
            self.missing.discard(key)
            collected.lines.setdefault(name, []).append((key, line))


def merge(files: ShardFiles, result_dir: Path) -> CollectedRecords:
    """Merge the records of a round into the results files, each key once, and remove the round.

    Records that were not asked for stay where they are.

    Raises
    ------
    RecordsError
        If a results file cannot be written, or if a piece has a line that is no record.
    """
    collected = ShardCollector(files).poll()
    for name, lines in collected.lines.items():
        store = RecordStore(result_dir / f"{name}.jsonl")
        with store.open_for_writing(lambda record, _, own=name: record.results == own) as writer:  # type: ignore[misc]
            writer.append_lines([line for line in lines if line[0] not in writer.earlier])
    if not collected.foreign:
        files.remove()
    return collected


def unmerged_rounds(result_dir: Path) -> list[ShardFiles]:
    """Return the rounds of earlier commands whose records are not in the results files yet."""
    folders = sorted((result_dir.absolute() / FOLDER).glob("*/shards.pickle"))
    return [ShardFiles.read(path.parent) for path in folders]


def merge_earlier_round(files: ShardFiles, result_dir: Path) -> str:
    """Merge a round of an earlier command whose tasks have ended; return a message."""
    found = merge(files, result_dir)
    count = sum(map(len, found.lines.values()))
    return f"{counted(count, 'record')} of an earlier command brought home from {FOLDER}."


def partition(
    jobs: Sequence[tuple[JobSpec, str]], seconds: Sequence[float], pieces: int
) -> list[list[tuple[JobSpec, str]]]:
    """Partition jobs into pieces that take about as long, jobs of one method together.

    The longest jobs go first, each to the piece that has least to do (Graham 1969). A piece does
    the jobs of a method one after the other, in a warm worker.
    """
    loads = [(0.0, number) for number in range(pieces)]
    dealt: list[list[int]] = [[] for _ in range(pieces)]
    for index in sorted(range(len(jobs)), key=lambda index: -seconds[index]):
        load, number = heapq.heappop(loads)
        dealt[number].append(index)
        heapq.heappush(loads, (load + seconds[index], number))
    return [
        [jobs[i] for i in sorted(each, key=lambda i: (jobs[i][0].algorithm, -seconds[i]))]
        for each in dealt
        if each
    ]
