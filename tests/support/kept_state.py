"""What the kernel keeps when a job has ended: an adapter that leaves a bit in each, and reads it.

This file is the adapter, too.  A job with an even seed leaves one bit in all of `PLACES`, the next
one reads what it finds there.  `passed` is given what was printed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import socket
import struct
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MACHINE = "machine"
"""What no namespace has a copy of."""
BITS = (0, 1, 1, 0, 1, 0, 0, 1)
"""The bits that are left: the first by seed 0 for seed 1, the next by seed 2 for seed 3."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_NAME = "mdbench-test-kept"
_TIMES = (10**9, 2 * 10**9)
"""Seconds that stand for a bit where times are kept."""
_STEP = 4096
"""A counter stands for a bit by whether it is even when it is divided by this."""
_LONGEST, _IN_VAIN = 0.5, 100
"""Seconds, and steps in vain, after which a counter is given up."""


class Place:
    """Something that is kept.

    Parameters
    ----------
    name, per
        What it is, and what the kernel keeps it with.
    """

    def __init__(
        self, name: str, per: str, put: Callable[[int], Any], get: Callable[[], int | None]
    ) -> None:
        self.name, self.per, self.put, self.get = name, per, put, get


def _counter(
    name: str, per: str, read: Callable[[], int], step: Callable[[], Any], size: int = _STEP
) -> Place:
    """Return a place that is a counter, which can only be counted up."""

    def put(bit: int) -> None:
        end = time.monotonic() + _LONGEST
        first = read()
        for number in count():
            now = read()
            if now // size % 2 == bit and size // 8 < now % size < size // 2:
                return
            if time.monotonic() > end or (number == _IN_VAIN and now == first):
                return
            step()

    return Place(name, per, put, lambda: read() // size % 2)


def _times(name: str, per: str, place: Callable[[], str | int]) -> Place:
    """Return a place that is the times of a file."""

    def get() -> int | None:
        return {int(each): bit for bit, each in enumerate(_TIMES)}.get(
            int(os.stat(place()).st_atime)  # noqa: PTH116 - may be an open file
        )

    return Place(name, per, lambda bit: os.utime(place(), (_TIMES[bit],) * 2), get)


def _mode(name: str, per: str, place: Callable[[], str | int]) -> Place:
    modes = (0o700, 0o710)

    def get() -> int | None:
        mode = os.stat(place()).st_mode & 0o777  # noqa: PTH116 - may be an open file
        return modes.index(mode) if mode in modes else None

    return Place(name, per, lambda bit: os.chmod(place(), modes[bit]), get)  # noqa: PTH101


def _ioctl(name: str, read: int, write: int, values: tuple[int, int]) -> Place:
    """Return a place that is a number of the job's folder."""

    def put(bit: int) -> None:
        with _opened(".") as folder:
            fcntl.ioctl(folder, write, struct.pack("l", values[bit]))

    def get() -> int | None:
        with _opened(".") as folder:
            found = struct.unpack("i", fcntl.ioctl(folder, read, bytes(8))[:4])[0]
        return values.index(found) if found in values else None

    return Place(name, "inode", put, get)


@contextlib.contextmanager
def _opened(path: str) -> Any:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _time_wait(bit: int) -> None:
    """Leave a connection that has been closed, whose port the kernel keeps for a minute."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(("127.0.0.1", 21_000 + 2 * os.getuid() % 100 + bit))
        client.connect(listener.getsockname())
        server = listener.accept()[0]
    server.close()
    listener.close()


def _ports() -> int | None:
    text = Path("/proc/net/tcp").read_text(encoding="ascii")
    found = [bit for bit in (0, 1) if f":{21_000 + 2 * os.getuid() % 100 + bit:04X} " in text]
    return found[0] if len(found) == 1 else None


def _datagrams() -> int:
    lines = Path("/proc/net/snmp").read_text(encoding="ascii").splitlines()
    return int(
        next(line for line in lines if line.startswith("Udp: ") and "In" not in line).split()[2]
    )


def _send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", 9))


def _loopback_packets() -> int:
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if "lo:" in line).split(":")[1].split()[1])


def _inode_of_new_file(folder: str) -> int:
    path = f"{folder}/{_NAME}"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)
        Path(path).unlink()


def _inode_of(make: Callable[[], Iterable[int]]) -> int:
    made = list(make())
    try:
        return os.fstat(made[0]).st_ino
    finally:
        for each in made:
            os.close(each)


def _fork() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def _file(folder: str) -> Place:
    path = Path(folder, _NAME)

    def put(bit: int) -> None:
        path.unlink(missing_ok=True)
        if bit:
            path.touch()

    return Place(f"a file in {folder}", "file system", put, lambda: int(path.exists()))


def _many_entries(bit: int) -> None:
    for number in range(2000 * bit):
        Path("." + "x" * 200 + str(number)).touch()
    for number in range(2000 * bit):
        Path("." + "x" * 200 + str(number)).unlink()


def _holes(bit: int) -> None:
    """Leave files behind, whose inodes are taken as long as they are there."""
    for number in range(500 * bit):
        Path(f"{_NAME}-{number}").touch()


def _is_sparse() -> int:
    found = []
    for number in range(8):
        path = Path(f"{_NAME}-{number}")
        path.touch()
        found.append(path.stat().st_ino)
    return int(found[-1] - found[0] > 100 or found[0] - Path.cwd().stat().st_ino > 100)


def _flag(descriptor: int, bit: int) -> None:
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_APPEND
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_APPEND * bit)


def _status_flag(descriptor: int) -> Place:
    return Place(
        f"flags of the open file {descriptor}",
        "open file",
        lambda bit: _flag(descriptor, bit),
        lambda: int(bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)),
    )


def _pipe_size(bit: int) -> None:
    fcntl.fcntl(2, fcntl.F_SETPIPE_SZ, (2**16, 2**17)[bit])


def _answers() -> int:
    """Return the pipe to the host: the first that can be written after the log."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
                return descriptor
    raise FileNotFoundError


def _orders() -> int:
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            if mode & 0o170000 == 0o010000 and not (
                fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
            ):
                return descriptor
    raise FileNotFoundError


def _leave_in_orders(bit: int) -> None:
    if bit:
        with _opened_to_write(f"/proc/self/fd/{_orders()}") as pipe:
            os.write(pipe, b'{"type":"left"}\n')


@contextlib.contextmanager
def _opened_to_write(path: str) -> Any:
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_left() -> int:
    return int(bool(select.select([_orders()], [], [], 0)[0]))


def _nice(bit: int) -> None:
    if bit:
        os.setpriority(os.PRIO_USER, os.getuid(), os.getpriority(os.PRIO_PROCESS, 0) + 1)


_NICE_AT_IMPORT = os.getpriority(os.PRIO_PROCESS, 0)


def _hint(bit: int) -> None:
    with _opened(np.__file__) as file:
        fcntl.fcntl(file, 1036, struct.pack("Q", 2 + bit))


def _hinted() -> int | None:
    with _opened(np.__file__) as file:
        return {2: 0, 3: 1}.get(struct.unpack("Q", fcntl.fcntl(file, 1035, bytes(8)))[0])


def _group_file(*names: str) -> Path:
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in kinds.split(",") or [""]:
            for name in names:
                for place in (
                    Path("/sys/fs/cgroup", kind, path.lstrip("/")),
                    Path("/sys/fs/cgroup", kind),
                ):
                    if (place / name).is_file():
                        return place / name
    raise FileNotFoundError


def _peak_of_group() -> int:
    return int(_group_file("memory.peak", "memory.max_usage_in_bytes").read_text(encoding="ascii"))


def _from_line(path: str, start: str, column: int = 1) -> int:
    for line in Path(path).read_text(encoding="ascii").splitlines():
        if line.startswith(start):
            return int(line.split()[column])
    raise FileNotFoundError(path)


def _cookie() -> int:
    with socket.socket(socket.AF_UNIX) as one:
        return int.from_bytes(one.getsockopt(socket.SOL_SOCKET, 57, 8), "little")


def _shared_page() -> Any:
    """Open a file that all jobs may read and none has mapped."""
    folder = Path(np.__file__).parent
    texts = [path for path in folder.rglob("*.pyi") if path.stat().st_size > 4096]
    return _opened(str(max(texts, key=lambda path: (path.stat().st_size, path.name))))


def _load_or_drop_page(bit: int) -> None:
    with _shared_page() as file:
        if bit:
            os.pread(file, 1, 0)
        else:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _page_is_loaded() -> int:
    with _shared_page() as file:
        try:
            os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return 0
    return 1


PLACES = (
    Place("port of a closed connection (TIME_WAIT)", "network namespace", _time_wait, _ports),
    _counter("datagrams, /proc/net/snmp", "network namespace", _datagrams, _send, 256),
    _counter("packets of loopback", "network namespace", _loopback_packets, _send, 256),
    _counter("process numbers", "process namespace", _fork, _fork, 256),
    _times("times of the job's folder", "inode", lambda: "."),
    _times("times of the folder above", "inode", lambda: ".."),
    _times("times of /dev", "inode", lambda: "/dev"),
    _times("times of /tmp", "inode", lambda: "/tmp"),
    _times("times of /dev/shm", "inode", lambda: "/dev/shm"),
    _times("times of the log's pipe", "inode", lambda: 2),
    _times("times of the pipe of answers", "inode", _answers),
    _mode("rights of the job's folder", "inode", lambda: "."),
    _mode("rights of the log's pipe", "inode", lambda: 2),
    _mode("rights of the pipe of answers", "inode", _answers),
    Place(
        "attributes of the job's folder (xattr)",
        "inode",
        lambda bit: os.setxattr(".", f"user.{_NAME}", b"%d" % bit),
        lambda: int(os.getxattr(".", f"user.{_NAME}")),
    ),
    _ioctl("flags of the job's folder", 0x80086601, 0x40086602, (0x80000, 0x800C0)),
    _ioctl("generation of the job's folder", 0x80087601, 0x40087602, (4711, 4712)),
    Place(
        "size of the job's folder",
        "inode",
        _many_entries,
        lambda: int(Path().stat().st_size > 10**5),
    ),
    Place(
        "size of the log's pipe",
        "inode",
        _pipe_size,
        lambda: {2**16: 0, 2**17: 1}.get(fcntl.fcntl(2, fcntl.F_GETPIPE_SZ)),
    ),
    Place("hint on how a library's file is written", "inode", _hint, _hinted),
    Place("pages of a library's file in memory", "inode", _load_or_drop_page, _page_is_loaded),
    Place("bytes in the pipe of orders", "open file", _leave_in_orders, _is_left),
    _status_flag(0),
    _status_flag(1),
    Place(
        "flags of the open pipe of answers",
        "open file",
        lambda bit: _flag(_answers(), bit),
        lambda: int(bool(fcntl.fcntl(_answers(), fcntl.F_GETFL) & os.O_APPEND)),
    ),
    *map(_file, ("/tmp", "/dev/shm", "/dev", "/dev/pts", "/var/tmp", "..")),
    _counter(
        "inode numbers of /tmp",
        "file system",
        lambda: _inode_of_new_file("/tmp"),
        lambda: _inode_of_new_file("/tmp"),
        64,
    ),
    _counter(
        "inode numbers of /dev/shm",
        "file system",
        lambda: _inode_of_new_file("/dev/shm"),
        lambda: _inode_of_new_file("/dev/shm"),
        64,
    ),
    Place("inodes that the files of a job leave taken", "file system", _holes, _is_sparse),
    Place(
        "priority of the worker",
        "user",
        _nice,
        lambda: int(os.getpriority(os.PRIO_PROCESS, 0) > _NICE_AT_IMPORT),
    ),
    _counter("most memory of the group", "cgroup", _peak_of_group, lambda: None, 2**22),
    _counter(
        "forks, /proc/stat", MACHINE, lambda: _from_line("/proc/stat", "processes"), _fork, 512
    ),
    _counter(
        "page faults, /proc/vmstat",
        MACHINE,
        lambda: _from_line("/proc/vmstat", "pgfault"),
        lambda: np.ones(2**16),
        2**18,
    ),
    _counter("inode numbers of pipes", MACHINE, lambda: _inode_of(os.pipe), lambda: None, 2**13),
    _counter(
        "inode numbers of memory files",
        MACHINE,
        lambda: _inode_of(lambda: [os.memfd_create("x")]),
        lambda: None,
        2**13,
    ),
    _counter("cookies of sockets", MACHINE, _cookie, lambda: None, 2**13),
)
"""All that is tried."""


class Adapter:
    """Leaves the bits, or reads them."""

    def __init__(self, *, seed: int, threads: int) -> None:
        del threads
        self._seed = seed

    def fit(self, problem: Any) -> None:
        self._targets = len(problem.targets)
        round_, reads = divmod(self._seed, 2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        found: dict[str, int | None] = {}
        for place in PLACES:
            found[place.name] = None
            with contextlib.suppress(OSError, ValueError, StopIteration):
                if reads:
                    found[place.name] = place.get()
                else:
                    place.put(BITS[round_])
        if reads:
            os.write(2, b"\nfound " + json.dumps(found).encode() + b"\n")

    def predict(self, problem: Any) -> Any:
        return np.zeros((len(problem.X), self._targets))

    def equations(self) -> list[str]:
        return ["0"] * self._targets


def passed(logs: Iterable[bytes]) -> Mapping[str, bool]:
    """Return of each place whether all bits that were left were found.

    Parameters
    ----------
    logs
        What the jobs with odd seeds have printed, in order.
    """
    found = [json.loads(log.partition(b"\nfound ")[2].partition(b"\n")[0]) for log in logs]
    assert len(found) == len(BITS)
    return {
        place.name: all(one[place.name] == bit for one, bit in zip(found, BITS, strict=True))
        for place in PLACES
    }
