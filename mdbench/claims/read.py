"""Claims of papers: what a paper says that a method reaches, where it says so, and how it was got.

A paper is a file in ``papers/``.  Numbers that reports have already (``mdbench/reports``:
``published.toml`` and ``published_sets/``) are not written a second time: ``[[table]]`` names the
tables and the conditions, and each of their numbers is a claim.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from mdbench.datatypes.facts import Choice, Protocol  # noqa: TC001 - pydantic reads them
from mdbench.errors import DataError, UsageError, did_you_mean
from mdbench.reports.comparison import papers_of_sets, read_published, read_published_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CASES = "mdbench"
"""The name of the tables that have an entry for each system."""


class Conditions(BaseModel):
    """How numbers of a paper were got; what is left out is not compared with the records.

    Attributes
    ----------
    place
        Where the numbers stand: the table or figure, or the file in which they were read.
    protocol, variant, choice
        As of a run.
    limit_s, cores
        Seconds that a fit could take, and on how many cores; None where the paper does not say.
    unlike
        Why no record of this benchmark can be held against them; empty where one can.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    place: str = Field(min_length=1)
    protocol: Protocol | None = None
    variant: str = ""
    choice: Choice | None = None
    limit_s: PositiveFloat | None = None
    cores: PositiveInt = 1
    unlike: str = ""

    @property
    def core_seconds(self) -> float | None:
        """The budget of a fit."""
        return None if self.limit_s is None else self.limit_s * self.cores


class Claim(Conditions):
    """One number of a paper.

    Attributes
    ----------
    method, data_type, metric
        As this benchmark names them; free text where the claim is `unlike`.
    set
        A group of datasets or a dataset, with what was asked of it behind a plus sign, such as
        ``srbench+noise=0.01``; empty for all datasets of the type.
    snr_db
        The signal-to-noise ratio; None for clean data.
    median
        Whether the value is a median over the cases; else a mean, or the share of a flag.
    cases
        Over how many cases; None where the paper does not say.
    relation
        ``equal``: the method has this value; ``reaches``: it has this value or a better one.
    by_case
        The value of each dataset, where the paper prints them.
    """

    method: str = Field(min_length=1)
    data_type: str = ""
    set: str = ""
    snr_db: float | None = None
    metric: str = Field(min_length=1)
    value: float = Field(allow_inf_nan=False)
    median: bool = False
    cases: PositiveInt | None = None
    relation: Literal["equal", "reaches"] = "equal"
    by_case: dict[str, float] | None = Field(default=None, exclude=True)

    @property
    def data(self) -> str:
        """The data in words."""
        noise = "" if self.snr_db is None else f", {self.snr_db:g} dB"
        return f"{self.set or self.data_type}{noise}"


class Table(Conditions):
    """Tables that reports have, whose numbers are claims under the same conditions.

    Attributes
    ----------
    name
        The name of the tables.
    data_type
        Of which only these are meant; empty for all.
    unlike_metrics
        By metric, why its numbers are of another definition than this benchmark's.
    """

    name: str
    data_type: str = ""
    unlike_metrics: dict[str, str] = {}


class Paper(BaseModel):
    r"""A paper and its claims.

    Attributes
    ----------
    cite
        The key for ``\cite``; the file's name.
    where
        The journal or conference, with the number by which it is found.
    unread
        Why there are no claims of the paper's own, where none of its numbers could be read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cite: str = Field(default="", exclude=True)
    title: str = Field(min_length=1)
    authors: str = Field(min_length=1)
    year: int = Field(ge=1900, le=2100)
    where: str = Field(min_length=1)
    unread: str = ""
    table: tuple[Table, ...] = ()
    claim: tuple[Claim, ...] = ()

    @property
    def name(self) -> str:
        """The paper as a table names it."""
        return f"{self.authors} {self.year}"

    def claims(self) -> list[Claim]:
        """Return all claims, those of tables first."""
        return [*(one for table in self.table for one in _claims_of(table)), *self.claim]


def read_papers(extra: Sequence[Path] = ()) -> list[Paper]:
    """Return the papers of this benchmark and those of further files, in the order of their names.

    Raises
    ------
    DataError
        If a file cannot be read or has a wrong key; it names the key and what is allowed.
    """
    folder = resources.files("mdbench.claims").joinpath("papers")
    own = sorted(Path(str(each)) for each in folder.iterdir() if each.name.endswith(".toml"))
    return [read_paper(path) for path in [*own, *extra]]


def read_paper(path: Path) -> Paper:
    """Read a paper's file.

    Raises
    ------
    DataError
        As `read_papers`.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no readable TOML file: {error}") from None
    try:
        paper = Paper.model_validate({**content, "cite": path.stem})
    except ValidationError as error:
        raise _explain(path, error) from None
    for number, table in enumerate(paper.table, start=1):
        if table.name not in [CASES, *papers_of_sets()]:
            raise DataError(
                f"{path}: table {number} is named {table.name!r}.",
                did_you_mean(table.name, [CASES, *papers_of_sets()]),
            )
    if not (paper.claims() or paper.unread):
        raise DataError(
            f"{path} has no claims.", "Add one as [[claim]], or the reason as unread = '...'."
        )
    return paper


def chosen(papers: Sequence[Paper], names: Sequence[str]) -> list[Paper]:
    """Return the papers of some names.

    Raises
    ------
    UsageError
        If there is no such paper.
    """
    known = {paper.cite: paper for paper in papers}
    for name in names:
        if name not in known:
            raise UsageError(f"There is no paper {name!r}.", did_you_mean(name, known))
    return [known[name] for name in names] if names else [*papers]


def _claims_of(table: Table) -> Iterator[Claim]:
    """Yield a claim for each number of a table, without those of other data types."""
    given = table.model_dump(exclude={"name", "data_type", "unlike_metrics"})
    if table.name == CASES:
        yield from _shares(table, given)
        return
    sets = read_published_sets(table.name)
    for data_type, groups in sets.values.items():
        if table.data_type not in {"", data_type}:
            continue
        for group, rows in groups.items():
            for method, values in rows.items():
                for metric, value in values.items():
                    why = table.unlike_metrics.get(metric) or table.unlike
                    yield Claim(
                        **{**given, "unlike": why},
                        method=method,
                        data_type=data_type,
                        set=group,
                        metric=metric,
                        value=value,
                        median=metric in sets.medians,
                    )


def _shares(table: Table, given: Mapping[str, Any]) -> Iterator[Claim]:
    """Yield for each method the share of systems that a table of systems marks as identified."""
    published = read_published()
    for data_type, systems in published.marks.items():
        if table.data_type not in {"", data_type}:
            continue
        for method in dict.fromkeys(name for row in systems.values() for name in row):
            cases = {
                system: float(row[method].sign == published.best)
                for system, row in systems.items()
                if method in row
            }
            yield Claim(
                **given,
                method=method,
                data_type=data_type,
                metric="identified",
                value=sum(cases.values()) / len(cases),
                cases=len(cases),
                by_case=cases,
            )


def _explain(path: Path, error: ValidationError) -> DataError:
    first = min(
        error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden"
    )  # a key that is misspelt is often the one that is missing
    key = ".".join(map(str, first["loc"]))
    models: dict[str, type[BaseModel]] = {"claim": Claim, "table": Table}
    model = models.get(str(first["loc"][0]), Paper)
    keys = [name for name, field in model.model_fields.items() if not field.exclude]
    if first["type"] == "extra_forbidden":
        hint = did_you_mean(str(first["loc"][-1]), keys)
        return DataError(f"{path}: key {key!r} is not known.", f"{hint} All: {', '.join(keys)}.")
    if first["type"] == "missing":
        return DataError(f"{path}: key {key!r} is missing.", f"The keys are: {', '.join(keys)}.")
    return DataError(f"{path}: key {key!r} is {first['input']!r}: {first['msg']}")
