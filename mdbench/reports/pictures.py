"""Pictures of systems, each with the best answers, as their data types draw them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mdbench.data.columns import OwnNames
from mdbench.datatypes.base import PlotBudget, Plots, PlottedAnswer
from mdbench.datatypes.facts import Protocol
from mdbench.errors import MdbenchError, RecordsError, printable
from mdbench.records import Record
from mdbench.records.files import attached, unpack_answers
from mdbench.reports.entries import best_first

if TYPE_CHECKING:
    from mdbench.datatypes.base import DataType, Source
    from mdbench.metrics.spec import MetricSpec

Draw: TypeAlias = Callable[[Sequence[Record], Mapping[str, int]], Plots]
"""Draws a system, given its results and the methods' numbers."""
MOST_DRAWN = 3
"""Methods in a picture: those with a mark on clean data, then those with good scores."""
ALL_EVALUATIONS = 600_000
"""Work that all simulations of a page may take together, some 5 s; later pictures have none.

Unlike a limit in seconds it gives the same page for the same records.
"""


class Pictures:
    """Draws systems, and makes no arrays that take long.

    Parameters
    ----------
    find
        Gives a data type by its name; None where there is none of the name.
    folders
        Those that the names of files in records are relative to.
    evaluations
        The work that all simulations may take together.
    """

    def __init__(
        self,
        find: Callable[[str], DataType[Any, Any] | None],
        folders: Sequence[Path] = (),
        *,
        evaluations: int = ALL_EVALUATIONS,
    ) -> None:
        self.find, self.folders = find, folders
        self.budget = PlotBudget(evaluations)
        self._kinds: dict[str, DataType[Any, Any] | None] = {}
        self._sources: dict[tuple[str, str | None], Source[Any] | None] = {}

    def draw(self, results: Sequence[Record], numbers: Mapping[str, int]) -> Plots:
        """Draw the system that results are of.

        Parameters
        ----------
        results
            All of one system, in the order of reports.
        numbers
            The number of each method, which sets its colour.
        """
        first = results[0]
        if first.data_type not in self._kinds:
            self._kinds[first.data_type] = self.find(first.data_type)
        kind = self._kinds[first.data_type]
        if kind is None or not kind.has_plots:
            return Plots()
        source = self._source(kind, first.dataset_path)
        if source is None or first.dataset not in source.names():
            return Plots()
        if not source.is_cached(first.dataset, first.options):
            return Plots(note=_command(kind, first.options))
        try:
            dataset = source.load(
                first.dataset, snr_db=None, seed=0, protocol=Protocol.STRICT, options=first.options
            )
            if first.dataset_path and _changed(results, dataset.fingerprint):
                return Plots(note=f"No picture, as {first.dataset_path} has changed since.")
            answers, notes = _best(results, kind.metrics, numbers, self.folders)
            drawn = kind.plots(dataset, answers, self.budget)
            return replace(drawn, note=" ".join(filter(None, [drawn.note, *notes])))
        except MdbenchError as error:
            return Plots(note=f"No picture: {error.message}")

    def _source(self, kind: DataType[Any, Any], path: str | None) -> Source[Any] | None:
        key = kind.name, path
        if key not in self._sources:
            self._sources[key] = None
            with suppress(MdbenchError):  # files that are no longer there
                self._sources[key] = kind.source(None if path is None else Path(path))
        return self._sources[key]


def _command(kind: DataType[Any, Any], options: Mapping[str, Any]) -> str:
    words = [f"mdbench data --data-type {kind.name} --out DIR"]
    for option in kind.options:
        if option.changes_system and option.key in options:
            words += [option.name, str(options[option.key])] if option.metavar else [option.name]
    return (
        "No picture, as its arrays are not on this machine. Those of all systems are made, in some "
        f"minutes, by: {' '.join(words)}"
    )


def _best(
    results: Sequence[Record],
    specs: Sequence[MetricSpec],
    numbers: Mapping[str, int],
    folders: Sequence[Path],
) -> tuple[list[PlottedAnswer], list[str]]:
    """Choose who is drawn, by strict answers on clean data; not those that are given the truth.

    Notes are of kept answers that are missing or damaged: those methods are drawn without them.
    """
    best: dict[str, Record] = {}
    for record in results:
        if record.snr_db is None and record.answered and record.protocol == Protocol.STRICT:
            best.setdefault(record.method, record)
    shown = [one for one in best.values() if one.truth is None or one.equations != one.truth]
    answers, notes = [], []
    for record in sorted(shown, key=best_first(specs))[:MOST_DRAWN]:
        labels, note = _read_kept_answer(record, folders)
        notes += [note] * bool(note)
        own = OwnNames(record.names).all_internal(record.equations or ())
        answers.append(
            PlottedAnswer(record.method, numbers[record.method], own, record.metrics, labels)
        )
    return answers, notes


def _read_kept_answer(record: Record, folders: Sequence[Path]) -> tuple[bytes | None, str]:
    """Return what is kept of an answer, or None, with the reason where it ought to be there."""
    if not record.answers:
        return None, ""
    file = attached(folders, record.answers)
    if file is None:
        return None, f"{record.method}: {printable(record.answers)} is not next to its record."
    try:
        return unpack_answers(file), ""
    except RecordsError as error:
        return None, f"{record.method}: {error.message}"


def _changed(results: Sequence[Record], fingerprint: str) -> bool:
    """Return whether results on clean data are of other arrays."""
    clean = [one.key_parts.get("dataset") for one in results if one.snr_db is None]
    return any(known not in {None, fingerprint} for known in clean)
