"""Computes what noisy samples can say of each system; see the script."""

from __future__ import annotations

import argparse
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import mdbench.cli  # noqa: F401  # isort: skip - sets how NumPy adds up, before it is loaded
from mdbench import datatypes
from mdbench.datatypes.equations.identifiability import read_findings, write_findings
from mdbench.datatypes.facts import Protocol
from mdbench.datatypes.ode.information import Information
from mdbench.datatypes.ode.sweeps import Conditions
from mdbench.datatypes.ode.systems import read_system
from mdbench.datatypes.pde.information import FieldInformation
from mdbench.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mdbench.datatypes.base import Source
    from mdbench.datatypes.equations.identifiability import Findings

TRAJECTORIES: Final = 4
"""The number of trajectories of each system of which it is computed as well as of one."""


def _systems(workspace: Workspace) -> Iterator[tuple[str, Callable[[], Findings]]]:
    """Yield each system as methods are given it, and with several trajectories."""
    several = Conditions(trajectories=TRAJECTORIES)
    names = [read_system(path).name for path in sorted(workspace.datasets.glob("ode/*.toml"))]
    for name in (*names, *(f"{name}{several}" for name in names)):
        yield name, partial(_of_system, workspace, name)


def _of_system(workspace: Workspace, name: str) -> Findings:
    return Information.of_dataset(_clean(workspace, "ode", name)).findings()


def _fields(workspace: Workspace) -> Iterator[tuple[str, Callable[[], Findings]]]:
    """Yield the fields that are in few boxes, and in whose terms no constant is in a function."""
    for name in sorted(_source(workspace, "pde").names()):
        information = FieldInformation.of_dataset(_clean(workspace, "pde", name))
        if information.has_products_only and information.is_in_few_boxes:
            yield name, information.findings


def _clean(workspace: Workspace, data_type: str, name: str) -> Any:
    return _source(workspace, data_type).load(name, snr_db=None, seed=0, protocol=Protocol.STRICT)


@cache
def _source(workspace: Workspace, data_type: str) -> Source[Any]:
    folders = workspace.datasets / data_type, workspace.arrays / data_type
    return datatypes.find(data_type, *folders).source()


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
