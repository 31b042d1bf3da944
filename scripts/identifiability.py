"""Computes what noisy samples can say of each system; see the script."""

from __future__ import annotations

import argparse
import sys

from mdbench.datatypes.equations.identifiability import read_findings, write_findings
from mdbench.datatypes.ode.information import Information
from mdbench.datatypes.ode.systems import read_system
from mdbench.workspace import Workspace


def main() -> int:
    """Compute what is missing or asked for, and write the file again after each system."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", help="only these, and again")
    asked = parser.parse_args()
    folder = Workspace.find().root / "datasets" / "ode"
    known = read_findings(folder)
    for path in sorted(folder.glob("*.toml")):
        if asked.systems and path.stem not in asked.systems:
            continue
        system = read_system(path)
        if not asked.systems and known.get(system.name):
            continue
        of = Information.of_system(system)
        known[system.name] = of.findings()
        least = min(known[system.name].terms, key=lambda each: each.misfit)
        print(f"{system.name}: least misfit {least.misfit:.3g} of {least.rival}", flush=True)
        write_findings(folder, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
