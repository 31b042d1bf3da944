"""AI Feynman as its README runs it; there is no limit of time but that of the brute force."""

from pathlib import Path

import numpy as np
from aifeynman import run_aifeynman


def solve(X, y, seconds):
    """Return the last, most accurate line of its front."""
    del seconds
    folder = Path("scratch").resolve()
    np.savetxt(folder / "data.txt", np.column_stack([X, y]))
    run_aifeynman(f"{folder}/", "data.txt", 30, "14ops.txt", polyfit_deg=3, NN_epochs=500)
    lines = (folder / "results" / "solution_data.txt").read_text(encoding="utf-8").splitlines()
    return lines[-1].split()[-1]
