"""Computes which laws their published ranges do not tell from simpler functions; see the script."""

from __future__ import annotations

from mdbench.datatypes.srsd.datasets import Problems
from mdbench.datatypes.srsd.indistinguishable import simpler_function, write_list
from mdbench.workspace import Workspace


def main() -> None:
    """Write the list, and print it."""
    workspace = Workspace.find()
    listed = {}
    for problem in Problems(workspace.datasets / "srsd").problems.values():
        simpler = simpler_function(problem.law, problem.domain)
        if simpler is not None:
            listed[problem.name] = simpler
            print(f"{problem.name}: {simpler.function}, {simpler.difference:.1e}", flush=True)
    write_list(listed, workspace)


if __name__ == "__main__":
    main()
