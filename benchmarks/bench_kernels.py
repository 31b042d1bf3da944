"""Agreement of answers to the 63 ODE systems between processors.

Each method is run as on three processors: with OpenBLAS's kernel for AVX-512, for AVX2 and for
neither, and without what the latter two lack in NumPy and in the C library's functions.  The data
are made again on each, unless they are to be the same.  The first is run twice: what differs there
is no processor's doing.

    bench_kernels.py                                    all methods, clean data
    bench_kernels.py --same-data --with-noise sindy     some of them, on five levels of noise
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mdbench.data.trajectory import read_npz
from mdbench.records import RecordStore
from mdbench.runs.reproduce import largest_difference
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mdbench.records import Record

    Question = tuple[str, float | None]

METHODS = ("sindy", "esindy", "afp")
BUDGETS = {"afp": {"population_size": 200, "generations": 100}}
"""A search that is ended by the clock gives another answer on every day; these end before."""
TIMEOUT_S = 3600
_WIDE = ("V4", "AVX512")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS)
    parser.add_argument("--with-noise", action="store_true")
    parser.add_argument("--same-data", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the records")
    arguments = parser.parse_args()
    more = ["--with-noise"] if arguments.with_noise else []
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.keep or Path(folder)
        root = _workspace(Path(folder) / "root", arguments.methods)
        for method in arguments.methods:
            found, homes = {}, {}
            for name, variables in processors().items():
                home = Path(folder) / name.replace(" ", "-")
                _share(home, data=arguments.same_data)
                homes[name] = home / "data" / "ode"
                results = place / home.name
                _run([method, *more], results, variables | _places(root, home))
                found[name] = _read(results / f"{method}-ode.jsonl")
            _report(method, found, homes)


def processors() -> dict[str, dict[str, str]]:
    """Return the variables that have everything compute as on each processor, the first twice."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    wide = [each for each in extensions if any(part in each for part in _WIDE)]
    own = "SkylakeX" if wide else "Haswell"
    return {
        own: _without(own, ()),
        f"{own} again": _without(own, ()),
        **({"Haswell": _without("Haswell", wide)} if wide else {}),
        "Prescott": _without("Prescott", extensions)
        | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-FMA,-FMA4"},
    }


def _without(kernel: str, extensions: Iterable[str]) -> dict[str, str]:
    return {"OPENBLAS_CORETYPE": kernel, "NPY_DISABLE_CPU_FEATURES": " ".join(extensions)}


def _workspace(root: Path, methods: Sequence[str]) -> Path:
    """Make a workspace of the same systems and methods, with budgets of their own for some."""
    here = Workspace.find()
    (root / "algorithms").mkdir(parents=True)
    (root / "datasets").symlink_to(here.datasets)
    for folder in here.algorithms.iterdir():
        place = root / "algorithms" / folder.name
        if folder.name not in methods or folder.name not in BUDGETS:
            place.symlink_to(folder)
            continue
        shutil.copytree(folder, place)
        text = (place / "method.toml").read_text(encoding="utf-8")
        for key, value in BUDGETS[folder.name].items():
            text = re.sub(rf"^{key} = .*", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
        (place / "method.toml").write_text(text, encoding="utf-8")
    return root


def _share(home: Path, *, data: bool) -> None:
    """Make a place for data, where the methods' environments are those that are there."""
    home.mkdir(exist_ok=True)
    for name in ("envs", "data") if data else ("envs",):
        shared = Workspace.find().home / name
        shared.mkdir(parents=True, exist_ok=True)
        if not (home / name).exists():
            (home / name).symlink_to(shared)


def _places(root: Path, home: Path) -> dict[str, str]:
    return {"MDBENCH_ROOT": str(root), "MDBENCH_HOME": str(home)}


def _run(arguments: list[str], results: Path, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "mdbench", "run", "--data-type", "ode", "--runtime", "venv"]
    command += ["--timeout", str(TIMEOUT_S), "--result-dir", str(results), "--algorithm"]
    subprocess.run(
        [*command, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ | variables
    )


def _read(path: Path) -> dict[Question, Record]:
    return {(record.dataset, record.snr_db): record for record in RecordStore(path).read()}


def _report(method: str, found: dict[str, dict[Question, Record]], homes: dict[str, Path]) -> None:
    """Hold all against the first."""
    first, *others = found
    print(f"\n{method}: {len(found[first])} jobs; held against {first}\n")
    print(
        "| processor | kernel, threads | data | largest difference | equations, to the bit "
        "| the same terms | verdicts | largest difference |\n|---|---|" + 6 * "---:|"
    )
    for name in others:
        pairs = [(found[first][question], found[name][question]) for question in found[first]]
        _row(name, pairs, _apart(homes[first], homes[name]))


def _apart(one: Path, other: Path) -> float:
    """Return the largest distance of trajectories, of a state's largest size."""
    apart = 0.0
    for path in other.glob("*.npz"):
        if (one / path.name).exists():
            ours, theirs = read_npz(one / path.name).u, read_npz(path).u
            size = np.abs(ours).max(axis=0)
            apart = max(apart, float((np.abs(ours - theirs) / np.where(size, size, 1)).max()))
    return apart


def _row(name: str, pairs: list[tuple[Record, Record]], apart: float) -> None:
    kernels = {
        f"{new.measured.blas_kernel}, {new.measured.blas_threads}"
        for _, new in pairs
        if new.measured.blas_kernel
    }
    data = sum(old.key_parts["dataset"] == new.key_parts["dataset"] for old, new in pairs)
    bits = sum(old.equations == new.equations for old, new in pairs)
    verdicts = sum(_verdict(old) == _verdict(new) for old, new in pairs)
    differences = {
        _said(new): largest_difference(old.equations, new.equations) for old, new in pairs
    }
    known = [each for each in differences.values() if each is not None]
    print(
        f"| {name} | {' / '.join(sorted(kernels))} | {data} | {apart:.1e} | {bits} "
        f"| {len(known)} | {verdicts} | {max(known, default=0.0):.1e} |"
    )
    if 0 < len(known) < len(pairs) and len(pairs) - len(known) <= len(pairs) // 10:
        print("  other terms: " + ", ".join(n for n, each in differences.items() if each is None))


_VERDICTS = ("identified", "one_term_off")


def _verdict(record: Record) -> str:
    scores = [f"{name} {record.metrics[name]}" for name in _VERDICTS if name in record.metrics]
    return ", ".join(scores) or record.status


def _said(record: Record) -> str:
    return record.dataset + ("" if record.snr_db is None else f" at {record.snr_db:g} dB")


if __name__ == "__main__":
    main()
