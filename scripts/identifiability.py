"""Computes what noisy samples can say of each system; see the script."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

import mdbench.cli  # noqa: F401  # isort: skip - sets how NumPy adds up, before it is loaded
from mdbench import datatypes
from mdbench.datatypes.equations.identifiability import read_findings, write_findings
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.information import Information
from mdbench.datatypes.ode.systems import read_system
from mdbench.datatypes.pde.information import FieldInformation
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mdbench.datatypes.equations.identifiability import Findings


def _of_system(path: Path) -> Findings:
    return Information.of_system(read_system(path)).findings()


def _systems(workspace: Workspace) -> Iterator[tuple[str, Callable[[], Findings]]]:
    for path in sorted((workspace.datasets / "ode").glob("*.toml")):
        yield read_system(path).name, partial(_of_system, path)


def _fields(workspace: Workspace) -> Iterator[tuple[str, Callable[[], Findings]]]:
    """Yield the fields that are in few boxes, and in whose terms no constant is in a function."""
    kind = datatypes.find("pde", workspace.datasets / "pde", workspace.arrays / "pde")
    source = kind.source()
    for name in sorted(source.names()):
        dataset = source.load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)
        information = FieldInformation.of_dataset(dataset)
        if information.has_products_only and information.is_in_few_boxes:
            yield name, information.findings


def main() -> int:
    """Compute what is missing or asked for, and write the file again after each system."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", help="only these, and again")
    asked = parser.parse_args()
    workspace = Workspace.find()
    for data_type, systems in (("ode", _systems), ("pde", _fields)):
        folder = workspace.datasets / data_type
        known = read_findings(folder)
        for name, compute in systems(workspace):
            if name not in asked.systems if asked.systems else name in known:
                continue
            known[name] = compute()
            least = min(known[name].terms, key=lambda each: each.misfit)
            print(f"{name}: least misfit {least.misfit:.3g} of {least.rival}", flush=True)
            write_findings(folder, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
