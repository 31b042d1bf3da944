"""What has to be set before NumPy is loaded: its order of sums, and where modules come from.

It then adds up in the same order on all machines of a family.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_SEARCH_PATH = "PYTHONPATH"
_CPUINFO = Path("/proc/cpuinfo")
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def use_common_arithmetic() -> None:
    """Set one thread and common kernels for the BLAS, and common loops for NumPy.

    The last digits of data and of scores depend on both: a machine's cores and the year it was made
    in must not be part of a result.  What somebody has set counts.
    """
    for name, value in _wanted().items():
        os.environ.setdefault(name, value)


def unset() -> list[str]:
    """Return the variables that nobody has set, as ``NAME=value``.

    There are some where NumPy was loaded before this package.
    """
    return [f"{name}={value}" for name, value in _wanted().items() if name not in os.environ]


def _wanted() -> dict[str, str]:
    return {**dict.fromkeys(_THREADS, "1"), **common_kernels()}


UNFIT = ".mdbench-own-kernels"
"""A file in an environment's folder: the common routines failed when it was made, and why."""
_SIZES = (50, 100, 200, 435, 888, 1200, 2000)
"""Rows of the matrices of the self-test; at each size of blocks a library takes another way."""
_SELF_TEST_SECONDS = 300.0
_SELF_TEST = f"""
import numpy as np
generator = np.random.default_rng(0)
for rows in {_SIZES}:
    a = generator.standard_normal((rows, rows // 3))
    u, s, v = np.linalg.svd(a, full_matrices=False)
    q, r = np.linalg.qr(a)
    x = np.linalg.lstsq(a, a @ np.ones(a.shape[1]), rcond=None)[0]
    square = a.T @ a
    w, z = np.linalg.eigh(square)
    y = np.linalg.solve(square, square @ x)
    checks = (u * s @ v - a, q @ r - a, x - 1, z * w @ z.T - square, y - x)
    if not all(np.abs(each).max() < 1e-6 * rows for each in checks):
        raise SystemExit(f"wrong results for {{rows}} rows")
"""


def why_unfit(python: str) -> str:
    """Return why an environment cannot compute with the common routines; empty where it can.

    A library may crash on a processor by a way that our setting alone takes.  So it is tried in a
    process of its own.

    Parameters
    ----------
    python
        The interpreter of the environment.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), **common_kernels()}
    try:
        done = subprocess.run(
            [python, "-I", "-c", _SELF_TEST],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SELF_TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end in {_SELF_TEST_SECONDS:g} s"
    except OSError as error:
        return str(error)
    if done.returncode < 0:
        return f"it died by {signal.Signals(-done.returncode).name}"
    return (done.stderr.strip().splitlines() or ["it failed"])[-1] if done.returncode else ""


def common_kernels(cpuinfo: Path = _CPUINFO, prefix: Path = Path(sys.prefix)) -> dict[str, str]:
    """Return the variables for routines that all x86 processors since 2013 can run.

    Where there is AVX-512, OpenBLAS and NumPy take others, which round otherwise: the data of a
    dataset would have other last digits, and its jobs other keys, than on a machine without.

    Parameters
    ----------
    cpuinfo
        What Linux knows of the processor.
    prefix
        The folder of the environment.

    Returns
    -------
    dict[str, str]
        Empty where the processor has no AVX2, where it is not known, or where these routines failed
        when the environment was made (`UNFIT`).
    """
    if (prefix / UNFIT).exists():
        return {}
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    flags = next((set(x.split()) for x in text.splitlines() if x.startswith("flags")), set())
    if not {"avx2", "fma"} <= flags:
        return {}
    variables = {"OPENBLAS_CORETYPE": "Haswell"}
    if "avx512f" in flags:
        variables["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
    return variables


def drop_foreign_modules() -> None:
    """Take folders of ``PYTHONPATH`` off the search path, but for one that holds this package.

    On clusters a module system sets it for another Python, whose NumPy ours cannot load.
    """
    text = os.environ.pop(_SEARCH_PATH, "")
    folders = {os.path.abspath(each) for each in text.split(os.pathsep) if each}  # noqa: PTH100
    own = {each for each in folders if Path(each, _PACKAGE.name).resolve() == _PACKAGE}
    if own:
        os.environ[_SEARCH_PATH] = os.pathsep.join(sorted(own))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) not in folders - own]  # noqa: PTH100
