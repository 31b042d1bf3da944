"""Runs AI Feynman in the working folder, on ``data.txt``: ``run_target.py SETTINGS``.

Each equation of its front is written to ``found.jsonl`` when it is found.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main(settings: dict[str, Any]) -> None:
    """Run it."""
    import numpy as np  # noqa: PLC0415 - the tests import this module without them
    import torch  # noqa: PLC0415
    from aifeynman import S_run_aifeynman as package  # noqa: PLC0415

    np.random.seed(settings["seed"])  # noqa: NPY002 - the package draws from it
    torch.manual_seed(settings["seed"])
    torch.set_num_threads(settings["threads"])
    package.ParetoSet = recording(package.ParetoSet, Path("found.jsonl"))
    package.run_aifeynman(
        "./",
        "data.txt",
        settings["seconds"],
        settings["operations"],
        polyfit_deg=settings["degree"],
    )


def recording(pareto_set: Any, file: Path) -> Any:
    """Return a class of Pareto fronts whose first instance records what is added to it.

    The others are of parts of the problem, in variables of their own.
    """
    made: list[Any] = []

    class Recording(pareto_set):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def add(self, point: Any) -> Any:
            new = super().add(point)
            if new and self is made[0]:
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(str(point.data)) + "\n")
            return new

    return Recording


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
