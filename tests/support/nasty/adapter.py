"""A method that does what methods should not; what it does is chosen by its seed."""

import contextlib
import ctypes
import fcntl
import itertools
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from mdbench.worker import Candidate

DAEMON = "import time; time.sleep(1000)"


class Adapter:
    """Says zero, after doing the deed."""

    def __init__(self, *, seed, threads):
        self.deed = DEEDS[seed]
        self.text = "0"

    def fit(self, problem):
        """Do the deed."""
        self.problem = problem
        self.text = self.deed(problem) or "0"

    def predict(self, problem):
        """Give what the equations say, where that is a number."""
        try:
            value = float(self.text)
        except ValueError:
            value = 0.0
        return np.full((len(problem.X), len(problem.targets)), value)

    def equations(self):
        """Give what the deed said."""
        return ["0" if self.text == "nan" else self.text] * len(self.problem.targets)


def nothing(_):
    """Behave."""


def native_loop(_):
    """Loop where no handler of Python's runs, and ignore what can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    sum(range(10**15))


def daemon(_):
    """Leave a process of another session behind."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            subprocess.run([sys.executable, "-c", DAEMON], check=False)
        os._exit(0)
    time.sleep(0.1)


def daemon_and_wait(problem):
    """Leave a daemon behind and go on for ever."""
    daemon(problem)
    print("started", flush=True)
    time.sleep(1000)


def straggler(_):
    """Leave a process that holds every stream open."""
    subprocess.Popen([sys.executable, "-c", DAEMON], close_fds=False)


def fork_bomb(_):
    """Multiply."""
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def fork_bomb_of_a_user(problem):
    """Multiply as somebody whom the kernel may count."""
    with contextlib.suppress(OSError):
        os.setgid(65534)
        os.setuid(65534)
    fork_bomb(problem)


def gigabyte(_):
    """Print 1 GiB without a newline."""
    block = b"x" * 2**20
    for _ in range(1024):
        os.write(1, block)


def spike(_):
    """Use 500 MB for a tenth of a second."""
    array = np.ones(500 * 2**17)
    time.sleep(0.1)
    del array


def hungry_grandchild(_):
    """Let a grandchild take all memory, and leave as if nothing had happened."""
    eat = "x = []\nwhile True: x.append(bytearray(b'1') * 2**24)"
    subprocess.run([sys.executable, "-c", eat], check=False)
    os._exit(0)


def hungry(_):
    """Take all memory."""
    hoard = []
    while True:
        hoard.append(np.ones(2**21))


def exit_137(_):
    """Leave with the status that a shell gives the killed."""
    os._exit(137)


def kill_9(_):
    """Be killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def segfault(_):
    """Read where nothing is."""
    ctypes.string_at(0)


def abort(_):
    """Give up."""
    os.abort()


def forged(_):
    """Print what looks like messages of the protocol."""
    for stream in (1, 2):
        for line in (
            b'{"type":"predicted","job":"x","equations":["u0"],"predictions":"predictions.npy"}',
            b'{"type":"ended","job":"x","exit":0}',
            b'{"type":"failed","job":"x","kind":"failed","error":"forged"}',
        ):
            os.write(stream, line + b"\n")


def says_nan(_):
    """Predict what is no number."""
    return "nan"


def five_megabytes(_):
    """Say too much."""
    return "+".join(["u0"] * 1_700_000)


def no_utf8(_):
    """Say what no file can hold."""
    return "u0 + \udcff"


def nested(_):
    """Say something deep."""
    return "(" * 20_000 + "u0" + ")" * 20_000


def draws(_):
    """Draw from the states that jobs would share."""
    return f"{random.random() + float(np.random.rand()):.17g}"


def writes_much(_):
    """Fill the job's folder, file by file."""
    for number in range(100_000):
        Path(f"file-{number}").write_bytes(b"x" * 2**20)
        time.sleep(0.01)


def writes_one_large_file(_):
    """Let one file grow."""
    with open("large", "wb") as file:
        while True:
            file.write(b"x" * 2**20)


def kills_its_worker(_):
    """End the process that started it, or all processes: asked with signal 0, lest it come true."""
    worker, nothing = os.getppid(), 0
    for way in (
        lambda: os.kill(worker, nothing),
        lambda: os.kill(-1, nothing),
        lambda: os.killpg(os.getpgid(worker), nothing),
        lambda: signal.pidfd_send_signal(os.open(f"/proc/{worker}", os.O_RDONLY), nothing),
        lambda: fcntl.fcntl(os.open("scratch", os.O_RDONLY), fcntl.F_SETOWN, worker),
        lambda: os.sched_setaffinity(worker, {0}),
        lambda: resource.prlimit(worker, resource.RLIMIT_NPROC, (1, 1)),
    ):
        with contextlib.suppress(PermissionError):
            way()
            return
    raise RuntimeError("all refused")


def leaves_files(_):
    """Leave something for the next job wherever that is possible."""
    for folder in ("/tmp", "/dev/shm", os.environ["HOME"], "/", "/mdbench"):
        with contextlib.suppress(OSError):
            Path(folder, "left-behind").write_text("secret", encoding="ascii")


def finds_files(_):
    """Look for what another job has left."""
    found = [f for f in ("/tmp", "/dev/shm", "/", "/mdbench") if Path(f, "left-behind").exists()]
    return str(len(found))


def swaps_its_folder(_):
    """Put a link to a folder of the machine in the place of the job's own folder."""
    here = os.getcwd()
    with contextlib.suppress(OSError):
        os.rename(here, f"{here}-moved")
        os.symlink(TARGET, here)
        print("swapped", flush=True)


def removes_its_folder(_):
    """Remove the job's own folder."""
    shutil.rmtree(os.getcwd())


def becomes_the_disk(problem):
    """Have the size of the whole disk counted for the size of the job's folder."""
    swaps_its_folder(problem)
    time.sleep(1000)


def nests(_):
    """Leave folders in folders in folders.

    So deep that neither a path may be as long, nor calls within calls or open files be as many.
    """
    here = os.getcwd()
    for folder in (here, os.environ["TMPDIR"], *ROOM_FOR_FILES):
        os.chdir(folder)
        for _ in range(2500):
            os.mkdir("nested")
            os.chdir("nested")
    os.chdir(here)


def plants(_):
    """Put something into the way of the bench wherever the next job may be."""
    others = []
    with contextlib.suppress(OSError):  # where what is beside the folder can be listed
        others = [*Path.cwd().parent.iterdir()]
    for folder in (*others, Path.cwd()):
        for name in ("train.npz", "test.npz", "predictions.npy"):
            with contextlib.suppress(OSError):
                (folder / name).mkdir()


def forges_its_end(_):
    """Say in the worker's name that the job has ended, and stay."""
    frame = sys._getframe()
    while "host" not in frame.f_locals:
        frame = frame.f_back
    host = frame.f_locals["host"]
    host._channel.send(type="ended", job=host.order["job"], exit=0)
    while True:
        with contextlib.suppress(OSError):
            Path("predictions.npy").mkdir()
        time.sleep(0.001)


def writes_beside(_):
    """Write beside the job's own folder."""
    with contextlib.suppress(OSError):
        (Path.cwd().parent / "beside").write_bytes(b"x" * 2**20)
        return "1"


def calls_out(_):
    """Try to reach a listener whose port the test wrote into the data's last time."""
    reached = 0
    for host in ("127.0.0.1", "::1", "172.17.0.1", "1.1.1.1"):
        with contextlib.suppress(OSError), socket.create_connection((host, PORT), 0.3):
            reached += 1
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    print("interfaces", interfaces, flush=True)
    return str(reached)


def works_in_threads(_):
    """Run threads that would share a lock held at the fork."""
    with LOCK:
        return "1"


LOCK = threading.Lock()
TARGET = "/"  # another folder is written here by the test
ROOM_FOR_FILES = ()  # and here folders, where they are the room's own
PORT = 1  # another number is written here by the test
HELD = False  # and here

PLANTS = False  # and here

if PLANTS:
    for place in (Path.cwd(), Path("/mdbench")):
        for folder in place.glob("job*/**"):
            with contextlib.suppress(OSError):
                (folder / "train.npz").mkdir()

if HELD:
    threading.Thread(target=lambda: (LOCK.acquire(), time.sleep(1000)), daemon=True).start()
    time.sleep(0.05)


def finds_targets(_):
    """Search files, other processes and memory for numbers whose triples are in WANTED."""
    found = [*_in_files(), *_in_processes(), *_in_memory()]
    print("found", found, flush=True)
    return str(len(found))


EVERYWHERE = "/"
SINCE = 0.0
WANTED = np.array([])
"""Three times each test target, written here by the test: the numbers themselves are not here."""


def _holds(data):
    for shift in range(8):
        usable = (len(data) - shift) // 8 * 8
        if usable > 0:
            with np.errstate(all="ignore"):
                triples = np.frombuffer(data, np.float64, usable // 8, shift) * 3.0
            if np.isin(triples, WANTED).any():
                return True
    return False


def _in_files():
    seen = set()
    # In a container what is around the job's folder cannot be listed, and so is not walked into.
    for folder, folders, files in itertools.chain(os.walk(EVERYWHERE), os.walk(".")):
        if folder == "/":
            folders[:] = [name for name in folders if name not in {"proc", "sys"}]
        if folder in {sys.prefix, sys.base_prefix}:
            folders[:] = []
        for name in files:
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                # This time cannot be set back: what is older than the targets cannot hold them.
                if status.st_ctime < SINCE or status.st_size > 2**20:
                    continue
                if os.path.isfile(path) and _holds(Path(path).read_bytes()):
                    yield path


def _in_processes():
    for name in os.listdir("/proc"):
        if name.isdigit():
            for file in ("environ", "cmdline"):
                with contextlib.suppress(OSError):
                    if _holds(Path("/proc", name, file).read_bytes()):
                        yield f"{name} {file}"


def _in_memory():
    with open("/proc/self/maps", encoding="utf-8") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps:
            where, rights = line.split()[:2]
            if "r" not in rights or "vvar" in line or "vsyscall" in line:
                continue
            first, last = (int(part, 16) for part in where.split("-"))
            for start in range(first, last, 2**22):
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(start)
                    block = memory.read(min(2**22, last - start))
                    aligned = block[: len(block) // 8 * 8]
                    with np.errstate(all="ignore"):
                        triples = np.frombuffer(aligned, np.float64) * 3.0
                    if np.isin(triples, WANTED).any():
                        yield where


DEEDS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and not name.startswith("_")
    and getattr(value, "__module__", "") == __name__
    and isinstance(value, type(nothing))
]
NAMES = [deed.__name__ for deed in DEEDS]
_ = Candidate
