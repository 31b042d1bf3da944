"""Tables of samples of laws: SRSD's, SRBench's, and those of the user's problem files."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mdbench.data.noise import generator_of
from mdbench.datatypes.base import NO_OPTIONS, Background, Dataset, Source
from mdbench.datatypes.equations.files import Suites, named
from mdbench.datatypes.srsd import FACTS, target_noise
from mdbench.datatypes.srsd.laws import SRSD, Spread, draw, read_problem
from mdbench.errors import DataError, UsageError
from mdbench.installation import page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.facts import Protocol
    from mdbench.datatypes.srsd.laws import FormulaProblem

    Array = NDArray[np.float64]

ROWS = 10_000
TRAINING, VALIDATION = 8_000, 1_000
"""Rows of the splits by position; the rest is the test."""
_SRBENCH_ROWS = 100_000
"""Rows of a table of PMLB, of which SRBench draws."""

_SUFFIX = re.compile(
    r"(?P<problem>.*?)(\+(?P<variant>released|paper))?(?P<dummies>\+dummy)?"
    r"(\+noise=(?P<noise>[^+]+))?"
)
_DUMMY_COLUMNS = (1, 2, 3)
_DUMMY_EXPONENTS = (-32, 32)
"""A dummy column spans the decade on either side of ten to one of these powers."""


@dataclass(frozen=True)
class ProblemName:
    """A problem with its options, and its name: ``feynman-i.12.1+dummy+noise=0.01``.

    Attributes
    ----------
    problem
        The name of the problem.
    variant
        ``released`` for the slips of the released datasets, ``paper`` for the ranges of the
        paper's tables, empty for neither.
    dummies
        Whether columns that have nothing to do with the target are mixed in.
    noise
        The standard deviation of the noise of the training targets, relative to the root of
        their mean square.
    """

    problem: str
    variant: str = ""
    dummies: bool = False
    noise: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.problem}{f'+{self.variant}' if self.variant else ''}"
            f"{'+dummy' if self.dummies else ''}{f'+noise={self.noise!r}' if self.noise else ''}"
        )

    @property
    def released(self) -> bool:
        """Whether the slips of the released datasets are wanted."""
        return self.variant == "released"

    @classmethod
    def read(cls, name: str) -> ProblemName:
        """Parse a name.

        Raises
        ------
        UsageError
            If the name ends in what is no noise level.
        """
        match = _SUFFIX.fullmatch(name)
        if match is None:
            raise UsageError(f"There is no dataset {name!r}.")
        noise = target_noise(match["noise"]) if match["noise"] else 0.0
        return cls(match["problem"], match["variant"] or "", bool(match["dummies"]), noise)


@dataclass(frozen=True, eq=False)
class SrsdDataset(Dataset):
    """A table of samples of a law.

    Attributes
    ----------
    x
        The variables, those without influence included, (rows, number of columns).
    y
        The targets, without noise, (rows,).
    y_training
        The targets of the first rows as a method may see them, with noise.
    domain
        How each column was drawn, for the comparison of equations: see `FormulaProblem.domain`.
    set
        How hard the problem is: one of `SETS`, or another text in a user's problem.
    split
        By which rule the rows were cut: one of `SPLITS`.
    cuts
        The rows of the first fit end at the first of them, those of the choice at the second; the
        rest is the test.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    y_training: Array = field(repr=False)
    domain: Mapping[str, Mapping[str, Any]] = field(repr=False)
    set: str
    split: str = SRSD
    cuts: tuple[int, int] = (TRAINING, TRAINING + VALIDATION)


class Problems(Source[SrsdDataset]):
    """The problems in a folder, or one in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def problems(self) -> Suites[FormulaProblem]:
        """All problems by name: easy ones first, then in the order of their numbers."""
        if not self.path.exists():
            raise DataError(f"There is nothing at {self.path}.")
        suites = Suites(self.path, read_problem, FACTS.order)
        if not suites.own.unordered:
            raise DataError(
                f"{self.path} has no problems: no file ends in .toml",
                f"Give a problem file, or a folder of them: see {page('srsd')}.",
            )
        if unclear := [name for name in suites.unordered if "+" in name]:
            raise DataError(f"{unclear[0]}: a problem's name has no '+'", "Rename its file.")
        return suites

    def problem(self, ask: ProblemName) -> FormulaProblem:
        """Return a problem, with the ranges that its variant has.

        Raises
        ------
        DataError, UsageError
            If there is none of that name, or its file cannot be read.
        """
        problem = named(ask.problem, self.problems)
        return problem.as_in_paper() if ask.variant == "paper" else problem

    def names(self) -> list[str]:
        return list(self.problems.own)

    def groups(self) -> dict[str, list[str]]:
        groups = self.problems.own.groups("set")
        for title, suite in self.problems.suites.items():
            groups |= suite.groups("set") | {title: list(suite)}
        return groups

    def laws(self, name: str) -> tuple[str, ...]:
        return (self.problem(ProblemName.read(name)).law,)

    def title(self, name: str) -> str:
        return named(ProblemName.read(name).problem, self.problems).title

    def background(self, name: str) -> Background:
        ask = ProblemName.read(name)
        problem = named(ask.problem, self.problems)
        if ask.dummies:  # other columns, of which some mean nothing
            return Background(meanings={"y": problem.title})
        names, meanings = {}, {"y": problem.title}
        for column, text in problem.meanings.items():
            name_, _, meaning = text.partition(": ")
            names[column], meanings[column] = name_, meaning
        return Background(names=names, meanings=meanings)

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,
        protocol: Protocol,  # noqa: ARG002 - the samples are the same
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - all is in the name
    ) -> SrsdDataset:
        if snr_db is not None:
            raise UsageError("srsd has no noise levels in dB.", "It has --target-noise 0.01.")
        ask = ProblemName.read(name)
        problem = self.problem(ask)
        formula = problem.released_data if ask.released else problem.law
        count = ROWS if problem.split == SRSD else _SRBENCH_ROWS
        x, y = draw(problem, formula, count, accurate=not ask.released)
        truth = problem.released_truth if ask.released else problem.law
        spreads = dict(problem.spreads)
        if ask.dummies:
            x, truth, spreads = _with_dummies(problem, x, truth)
        if problem.split == SRSD:
            cuts = TRAINING, TRAINING + VALIDATION
            y_training = y[: cuts[0]]
        else:
            order, border = _as_srbench(len(y), ask.problem, seed)
            x, y = x[order], y[order]
            cuts = border - border // 10, border
            y_training = y[:border]
        if ask.noise:
            y_training = _noisy(y_training, ask.problem, ask.noise, seed)
        sha256 = hashlib.sha256(f"{truth}\n{x.shape}\n".encode())
        for array in (x, y, y_training):
            sha256.update(np.ascontiguousarray(array).tobytes())
        return SrsdDataset(
            name=name,
            dim=1,
            snr_db=None,
            truth=(truth,),
            target_source="equations",
            fingerprint=sha256.hexdigest(),
            x=x,
            y=y,
            y_training=y_training,
            domain=replace(problem, spreads=spreads).domain,
            set=problem.set,
            split=problem.split,
            cuts=cuts,
        )


def _as_srbench(rows: int, name: str, seed: int) -> tuple[NDArray[np.intp], int]:
    """Choose rows as SRBench does: a quarter, drawn by the seed, is the test.

    Of more than 10,000 others as many are drawn, with replacement.

    Returns
    -------
    order
        The places of the training rows, and behind them of the test's.
    border
        Where the test begins.
    """
    generator = generator_of("srbench split", name, seed)
    order = generator.permutation(rows)
    test = -(-rows // 4)
    train, out = order[test:], order[:test]
    if len(train) > ROWS:
        train = generator.choice(train, ROWS)
    return np.concatenate([train, out]), len(train)


def _with_dummies(
    problem: FormulaProblem, x: Array, truth: str
) -> tuple[Array, str, dict[str, Spread]]:
    """Mix in one to three columns that the target does not depend on, at random places.

    Their magnitudes are log-uniform over two decades around a random power of ten, in single
    precision, with random signs in about half of the columns. So are those of SRSD's own dummy
    columns.
    """
    generator = generator_of("srsd dummies", problem.name)
    order: list[str | None] = list(problem.spreads)
    columns = dict(zip(problem.spreads, x.T, strict=True))
    added: list[tuple[Spread, Array]] = []
    for _ in range(generator.choice(_DUMMY_COLUMNS)):
        k = int(generator.integers(*_DUMMY_EXPONENTS, endpoint=True))
        sign = "mixed" if generator.random() < 0.5 else "positive"  # noqa: PLR2004 - even odds
        spread = Spread("log-uniform", 10.0 ** (k - 1), 10.0 ** (k + 1), sign)
        values = spread.draw(len(x), generator).astype(np.float32).astype(np.float64)
        order.insert(int(generator.integers(len(order), endpoint=True)), None)
        added.append((spread, values))
    new_names: dict[str, str] = {}
    spreads, arrays = {}, []
    for index, old in enumerate(order):
        if old is None:
            spread, values = added.pop(0)
        else:
            new_names[old] = f"x{index}"
            spread, values = problem.spreads[old], columns[old]
        spreads[f"x{index}"] = spread
        arrays.append(values)
    truth = re.sub(r"\bx\d+\b", lambda match: new_names[match[0]], truth)
    return np.stack(arrays, axis=-1), truth, spreads


def _noisy(y: Array, name: str, gamma: float, seed: int) -> Array:
    """Add normal noise of gamma times the root mean square (SRSD, eq. S2, as SRBench has it)."""
    generator = generator_of("srsd noise", name, repr(gamma), seed)
    deviation = gamma * math.sqrt(float(np.mean(np.square(y))))
    return y + deviation * generator.standard_normal(y.shape)
