"""Makes NumPy add up in the same order on all machines of a family, if set before it is loaded."""

from __future__ import annotations

import os
from pathlib import Path

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


def common_kernels(cpuinfo: Path = _CPUINFO) -> dict[str, str]:
    """Return the variables for routines that all x86 processors since 2013 can run.

    Where there is AVX-512, OpenBLAS and NumPy take others, which round otherwise: the data of a
    dataset would have other last digits, and its jobs other keys, than on a machine without.

    Parameters
    ----------
    cpuinfo
        What Linux knows of the processor.

    Returns
    -------
    dict[str, str]
        Empty where the processor has no AVX2, or where it is not known.
    """
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    flags = next((set(x.split()) for x in text.splitlines() if x.startswith("flags")), set())
    if not {"avx2", "fma"} <= flags:
        return {}
    found = {"OPENBLAS_CORETYPE": "Haswell"}
    if "avx512f" in flags:
        found["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
    return found
