"""The reference runs: what each command of ``scripts/results`` runs, and the page that has it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class StudyRun(NamedTuple):
    """A run by study files, whose records are kept as bundles.

    Attributes
    ----------
    files
        Studies; the bundle of each has its name.
    data_type
        Of the tables on the page.
    page
        The page, in ``docs``.
    prefix
        What its blocks on the page have before their names.
    paper
        Whether what the paper prints is on the same data under the same protocol.
    """

    files: tuple[str, ...]
    data_type: str
    page: str
    prefix: str = ""
    paper: bool = False

    @property
    def bundles(self) -> tuple[str, ...]:
        """The names of the bundles."""
        return tuple(PurePath(file).stem for file in self.files)


STUDIES = {
    "edition-2-long": StudyRun(("studies/edition-2-long.toml",), "srsd", "edition-2.md"),
    "edition-1": StudyRun(("studies/edition-1.toml",), "ode", "edition-1.md"),
    "laws-of-edition-1": StudyRun(
        ("studies/edition-1.toml",), "srsd", "results-srsd.md", "edition"
    ),
    "fields-of-edition-1": StudyRun(
        ("studies/edition-1.toml",), "pde", "results-pde.md", "edition"
    ),
    "surfaces-of-edition-1": StudyRun(
        ("studies/edition-1.toml",), "surface", "results-surface.md", "edition"
    ),
    "equal-work": StudyRun(("studies/equal-work.toml",), "ode", "results-equal-work.md"),
    "fresh-ranks": StudyRun(("studies/fresh-ranks.toml",), "ode", "results-fresh.md"),
    "fresh-ranks-srsd": StudyRun(
        ("studies/fresh-ranks-srsd.toml",), "srsd", "results-fresh.md", "laws"
    ),
    "noise": StudyRun(("studies/noise.toml",), "ode", "results-noise.md"),
    "whose-merit": StudyRun(
        ("studies/whose-merit-ode.toml", "studies/whose-merit-pde.toml"), "ode", "whose-merit.md"
    ),
    "ode-published": StudyRun(
        ("studies/ode-published.toml",), "ode", "results-ode.md", "alike", paper=True
    ),
    "engine-published": StudyRun(
        ("studies/engine-published.toml",), "ode", "results-ode.md", "engine"
    ),
    "parity": StudyRun(("studies/ode-published.toml",), "ode", "published-parity.md"),
    "ranks-of-edition-1": StudyRun(
        ("studies/edition-1.toml",), "srsd", "published-parity.md", "srbench"
    ),
    "srbench-order": StudyRun(
        ("studies/srbench-order.toml",), "srsd", "published-parity.md", "minute"
    ),
    "derivation-small": StudyRun(
        ("studies/derivation-small.toml",), "derivation", "results-derivation.md", "kept"
    ),
    "derivation-sizes": StudyRun(
        ("studies/derivation-sizes.toml",), "derivation", "results-derivation.md", "sizes"
    ),
    "derivation-leak": StudyRun(
        ("studies/derivation-leak.toml",), "derivation", "results-derivation.md", "leak"
    ),
    "mock-models": StudyRun(
        (
            "studies/mock-models-ode.toml",
            "studies/mock-models-srsd.toml",
            "studies/mock-models-surface.toml",
        ),
        "ode",
        "results-language-models.md",
    ),
    "measurements": StudyRun(("studies/measurements.toml",), "real", "results-real.md", "kept"),
    "laws-of-seed-rows": StudyRun(("studies/seed-rows.toml",), "srsd", "results-srsd.md", "drawn"),
    "fields-of-seed-rows": StudyRun(("studies/seed-rows.toml",), "pde", "results-pde.md", "levels"),
    "surfaces-of-seed-rows": StudyRun(
        ("studies/seed-rows.toml",), "surface", "results-surface.md", "noisy"
    ),
    "srsd-search": StudyRun(("studies/srsd-search.toml",), "srsd", "results-srsd.md", "search"),
    "srsd-aifeynman": StudyRun(
        ("studies/srsd-aifeynman.toml",), "srsd", "results-srsd.md", "aifeynman"
    ),
    "srsd-noise": StudyRun(("studies/srsd-noise.toml",), "srsd", "results-srsd.md", "target"),
    "fastsrb": StudyRun(("studies/fastsrb.toml",), "srsd", "results-srsd.md", "fastsrb"),
    "pde-released": StudyRun(
        ("studies/pde-released.toml",), "pde", "results-pde.md", "released", paper=True
    ),
    "deepmod-published": StudyRun(
        ("studies/deepmod-published.toml",), "pde", "results-pde.md", "deepmod"
    ),
}
"""The runs; their records are in the repository."""
PREFIXES = {run.prefix for run in STUDIES.values()}
"""What blocks of further runs on a page have before their names."""


def page_of(name: str, docs: Path) -> Path:
    """Return the page of a run."""
    return docs / "results" / STUDIES[name].page


def runs_of(bundle: str) -> list[str]:
    """Return the runs that a bundle belongs to; none where no page has it."""
    return [name for name, run in STUDIES.items() if bundle in run.bundles]
