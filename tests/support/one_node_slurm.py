"""A SLURM of one node, brought up in a folder: Debian's own programs, no service, no user.

Needs root, ``munged``, ``slurmctld``, ``slurmd`` and the commands of a client (on Debian and
Ubuntu: ``apt install slurm-wlm munge``); nothing of theirs outside of the folder is read or
written.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
UP_SECONDS = 60.0

CONFIG = """
ClusterName=mdbench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
{plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0,requeue_setup_env_fail
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
MaxArraySize={max_array_size}
MinJobAge=300
KillWait=5
SlurmctldTimeout=30
SlurmdTimeout=30
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def _find(name: str) -> str | None:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(name, path=path) or shutil.which(f"{name}-wlm", path=path)


def missing() -> str:
    """Return why no SLURM can be started here; empty where it can."""
    if os.geteuid() != 0:
        return "SLURM is brought up by root"
    gone = [name for name in PROGRAMS if _find(name) is None]
    return f"no {', '.join(gone)} here" if gone else ""


class SlurmNode:
    """A SLURM that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "slurm.conf"

    def ask(self, *command: str) -> str:
        """Run a client's command."""
        done = subprocess.run(
            command,
            env=os.environ | {"SLURM_CONF": str(self.config)},
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        return done.stdout + done.stderr

    def logs(self) -> str:
        """Return the ends of the daemons' logs."""
        return "\n".join(
            f"{path.name}:\n{path.read_text(errors='replace')[-3000:]}"
            for path in sorted(self.folder.glob("*.log"))
        )


@contextmanager
def one_node_slurm(folder: Path, *, cpus: int = 2, max_array_size: int = 4) -> Iterator[SlurmNode]:
    """Bring SLURM up in a folder, and end it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    node = SlurmNode(folder)
    node.config.write_text(
        CONFIG.format(
            host=socket.gethostname().partition(".")[0],
            folder=folder,
            ctld_port=_free_port(),
            slurmd_port=_free_port(),
            plugins=_plugins(),
            cpus=cpus,
            max_array_size=max_array_size,
        ),
        encoding="utf-8",
    )
    environment = os.environ | {"SLURM_CONF": str(node.config)}
    commands = [
        [
            *("munged", "--foreground", "--force", f"--socket={folder}/munge.socket"),
            *(f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid"),
            *(f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"),
        ],
        ["slurmctld", "-D", "-i", "-f", str(node.config)],
        ["slurmd", "-D", "-f", str(node.config), "-d", str(_find("slurmstepd"))],
    ]
    with ExitStack() as stack:
        for command in commands:
            program = _find(command[0])
            assert program is not None
            process = subprocess.Popen(
                [program, *command[1:]],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(_end, process)
            if command[0] == "munged":
                _wait((folder / "munge.socket").exists, node)
        _wait(lambda: "idle" in node.ask("sinfo", "-h", "-o", "%t"), node)
        stack.callback(_cancel_all, node)
        yield node


def _cancel_all(node: SlurmNode) -> None:
    node.ask("scancel", "--user=root")
    end = time.monotonic() + UP_SECONDS
    while node.ask("squeue", "-h").strip() and time.monotonic() < end:
        time.sleep(0.2)


def _wait(condition: object, node: SlurmNode) -> None:
    assert callable(condition)
    end = time.monotonic() + UP_SECONDS
    while not condition():
        assert time.monotonic() < end, node.logs()
        time.sleep(0.2)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _plugins() -> str:
    """Name the folder of the plugins where the programs are not where they were built for."""
    program = _find("slurmctld")
    assert program is not None
    root = Path(program).resolve().parents[2]
    found = sorted(root.glob("usr/lib/*/slurm-wlm")) if root != Path("/") else []
    return f"PluginDir={found[0]}" if found else ""
