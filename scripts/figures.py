"""Draws the pictures of docs/results/gallery.md that are of single systems; see scripts/figures."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bundles import read_bundle
from result_blocks import standalone

from mdbench.cli.main import main as main_of_mdbench
from mdbench.datatypes import find
from mdbench.datatypes.base import PlotBudget, PlottedAnswer
from mdbench.datatypes.facts import Protocol
from mdbench.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
PICTURES = {
    "trajectory": ("ode", "lotka-volterra-simple", ("sindy", "linear"), 1),
    "unseen": ("ode", "lorenz-equations-periodic", ("sindy",), 1),
    "measurements": ("real", "kepler", ("operon", "linear"), 0),
    "field": ("pde", "burgers", (), 0),
}
"""Of each file: data type, system, the methods whose recorded answers are drawn, and which of the
system's pictures it is."""
EVALUATIONS = 100_000


REPORT = "equal-work"
"""The records whose report is in the README's picture."""
SIZE = "1280,900"
"""Pixels of that picture."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def photograph(out: Path) -> None:
    """Make the picture of the report's head with a browser, where there is one."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"No browser, and so no new {out.name}: apt install chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        records = ROOT / "docs" / "results" / f"{REPORT}.jsonl.xz"
        code = main_of_mdbench(["report", str(records), "--out", str(page)])
        if code:
            raise SystemExit(code)
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--user-data-dir={folder}/profile", f"--window-size={SIZE}"]
        shot = [browser, *options, f"--screenshot={out}", page.as_uri()]
        subprocess.run(shot, check=True, capture_output=True)


def main() -> None:
    """Draw all of them."""
    photograph(ROOT / "docs" / "figures" / "report.png")
    for name, (data_type, dataset, methods, number) in PICTURES.items():
        svg = draw(data_type, dataset, methods, number)
        (ROOT / "docs" / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")


def draw(data_type: str, dataset: str, methods: tuple[str, ...], number: int) -> str:
    """Draw a system as the report does, from the records in docs/results."""
    place = Workspace.find()
    kind = find(data_type, place.datasets / data_type, place.arrays / data_type)
    clean = kind.source(None).load(dataset, snr_db=None, seed=0, protocol=Protocol.STRICT)
    answers = [_recorded(data_type, dataset, method, i) for i, method in enumerate(methods)]
    drawn = re.findall(
        r'<svg class="(?:plot|panel)".*?</svg>',
        kind.plots(clean, answers, PlotBudget(EVALUATIONS)).html,
        re.DOTALL,
    )
    return standalone(drawn[number], {one.method: one.number for one in answers})


def _recorded(data_type: str, dataset: str, method: str, number: int) -> PlottedAnswer:
    one = next(
        one
        for one in read_bundle(ROOT / "docs" / "results", "edition-1")
        if (one.data_type, one.dataset, one.algorithm) == (data_type, dataset, method)
        and (one.snr_db, one.seed, one.protocol) == (None, 0, Protocol.STRICT)
        and one.part in {"", "fold=1"}
    )
    return PlottedAnswer(method, number, one.equations or (), {})


if __name__ == "__main__":
    main()
