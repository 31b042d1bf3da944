"""Both versions of control groups are read, made where that is allowed, and left to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import known

from mdbench.runtimes import processes, usage
from mdbench.runtimes.usage import Group, UsageMeter, can_make, group_of, make_group

USES = "x = bytearray(b'1') * (150 * 2**20); t = 0\nfor i in range(10**7): t += i"


def second_version(folder: Path, **files: str) -> Group:
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text, encoding="ascii")
    return Group(folder, folder, 2)


def test_the_second_version_is_read(tmp_path: Path) -> None:
    group = second_version(
        tmp_path,
        cpu_stat="usage_usec 1500000\nuser_usec 1\n",
        memory_current=str(50 * 2**20),
        memory_peak=str(70 * 2**20),
        memory_stat=f"anon 1\nfile {30 * 2**20}\nshmem {10 * 2**20}\n",
        memory_events="low 0\noom 2\noom_kill 2\n",
    )
    assert (group.cpu_s(), group.memory_mb(), group.peak_mb()) == (1.5, 50.0, 70.0)
    assert (group.cached_mb(), group.killed_for_memory()) == (20.0, 2)
    assert group.folders == (tmp_path,)
    assert group.limit(80)
    assert (tmp_path / "memory.max").read_text(encoding="ascii") == str(80 * 2**20)


def test_what_the_kernel_does_not_count_is_not_known(tmp_path: Path) -> None:
    for version in (1, 2):
        group = Group(tmp_path, tmp_path, version)
        assert (group.cpu_s(), group.peak_mb(), group.killed_for_memory()) == (None, None, 0)


@pytest.mark.parametrize(
    ("mounts", "lines", "wanted"),
    [
        (
            {"cpu": ("/c/cpu", "/"), "cpuacct": ("/c/cpu", "/"), "memory": ("/c/memory", "/a")},
            "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/x\n",
            ("/c/cpu", "/c/memory/b", 1),
        ),
        ({"": ("/c", "/")}, "0::/user.slice/a.scope\n", ("/c/user.slice/a.scope",) * 2 + (2,)),
        ({}, "0::/\n", None),
    ],
)
def test_a_process_has_its_place(
    mounts: dict[str, tuple[str, str]],
    lines: str,
    wanted: tuple[str, str, int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usage, "_mounts", lambda: mounts)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: lines)
    found = group_of(os.getpid())
    assert (found and (str(found.cpu), str(found.memory), found.version)) == wanted


def test_a_group_counts_limits_and_goes() -> None:
    if "memory" not in can_make():
        pytest.skip("no groups can be made here")
    group = known(make_group())
    meter = UsageMeter(lambda: None, lambda: group)
    meter.begin()
    subprocess.run(group.joining([sys.executable, "-c", USES]), check=True)
    costs = meter.end()
    assert costs.by == "cgroup"
    assert 0.1 < known(costs.cpu_s) < 20
    assert 150 < known(costs.peak_memory_mb) < 400
    assert not meter.killed_for_memory()
    assert group.limit(100)
    meter.begin()
    done = subprocess.run(group.joining([sys.executable, "-c", USES]), check=False)
    assert done.returncode != 0
    assert meter.killed_for_memory()
    assert known(meter.end().peak_memory_mb) <= 100
    group.remove()
    assert not any(folder.exists() for folder in group.folders)


def test_without_a_group_what_is_seen_is_reported() -> None:
    root = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {USES!r}])",
        ]
    )
    meter = UsageMeter(lambda: root.pid, lambda: None)
    meter.begin()
    while root.poll() is None:
        meter.sample()
        time.sleep(0.02)
    costs = meter.end()
    assert costs.by == "samples"
    assert 0.1 < known(costs.cpu_s) < 20
    assert 150 < known(costs.peak_memory_mb) < 400


def test_where_nothing_is_seen_nothing_is_reported() -> None:
    meter = UsageMeter(lambda: None, lambda: None)
    meter.begin()
    meter.sample()
    costs = meter.end()
    assert (costs.cpu_s, costs.peak_memory_mb, costs.by) == (None, None, None)


ENDS = "import subprocess, sys\nfor _ in range(3): subprocess.run([sys.executable, '-c', {uses!r}])"
TWICE = "import os\nif os.fork() == 0 and os.fork() == 0:\n    {uses}\n    os._exit(0)"
BURN = "sum(range(6 * 10**6))"


@pytest.mark.parametrize("program", [BURN, ENDS.format(uses=BURN), TWICE.format(uses=BURN)])
def test_cpu_time_is_known_while_a_job_runs_and_never_falls(program: str) -> None:
    """Without a group: that of children which have ended, and of those that nobody waits for."""
    root = subprocess.Popen(
        [sys.executable, "-c", f"{program}\nimport time\ntime.sleep(100)"],
    )
    meter = UsageMeter(lambda: root.pid, lambda: None)
    meter.begin()
    found = [0.0]
    try:
        end = time.monotonic() + 60
        while found[-1] < 0.05 and time.monotonic() < end:
            found.append(known(meter.cpu_s()))
            time.sleep(0.01)
    finally:
        processes.kill_tree(root.pid)
        root.kill()
        root.wait()
    found.append(known(meter.cpu_s()))
    assert found == sorted(found)
    assert found[-1] >= 0.05


def test_cpu_time_that_nobody_can_see_is_not_known() -> None:
    meter = UsageMeter(lambda: None, lambda: None)
    meter.begin()
    assert meter.cpu_s() is None
