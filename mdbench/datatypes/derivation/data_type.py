"""Symbolic derivations (Meadows et al. 2023): the next equation against a wrong one.

The answers are labels.  A system is the configuration of a generator; its sequences are made on
first use.  A method is fitted once and predicts once, on all sets of the test together: who made
a row, which row is its pair and what its label is never leaves the host.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import sympy

from eqverdict.limited_process import PARSER_LOCK
from mdbench.data.descriptions import refuse_other_files
from mdbench.datatypes.base import (
    NO_OPTIONS,
    Answer,
    Candidate,
    Dataset,
    DataType,
    PlotBudget,
    Plots,
    PlottedAnswer,
    ScoredCandidate,
    Scores,
    Source,
    Split,
    Task,
)
from mdbench.datatypes.derivation import FACTS
from mdbench.datatypes.derivation.answers import (
    kept_labels,
    operator_table,
    read_labels,
    write_labels,
)
from mdbench.datatypes.derivation.calculus import Calculation
from mdbench.datatypes.derivation.datasets import make_all, sets_of
from mdbench.datatypes.derivation.records import authors_record, read_record
from mdbench.datatypes.derivation.scores import (
    OF_PAIRS,
    SETS,
    TITLES,
    SequenceRows,
    accuracy,
    f1,
    probe,
    scores,
    specs,
)
from mdbench.datatypes.derivation.settings import GENERATORS, GeneratorSettings, read_settings
from mdbench.datatypes.derivation.steps import symbol
from mdbench.errors import AnswerError, DataError, RecordsError, UsageError, did_you_mean
from mdbench.installation import page
from mdbench.workspace import read_toml, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mdbench.datatypes.derivation.plots import DerivationLine, MethodScores
    from mdbench.datatypes.derivation.steps import Derivation, Step
    from mdbench.datatypes.facts import Protocol
    from mdbench.metrics.spec import Value

    Array = NDArray[np.float64]

_SPLITS = ("train", "validation", "test")
_THRESHOLD = 0.5


@dataclass(frozen=True, eq=False)
class Sequences(Dataset):
    """All sequences of a configuration, each split in an order without information.

    Attributes
    ----------
    file
        The compressed records of its examples.
    """

    settings: GeneratorSettings
    rows: Mapping[str, SequenceRows] = field(repr=False)
    file: Path = field(repr=False)


@dataclass(frozen=True)
class Labels(Answer):
    """For each sequence of the test whether the candidate is held for right."""

    right: NDArray[np.bool_] = field(kw_only=True, repr=False)


class DerivationType(DataType[Sequences, Task[Sequences]]):
    """Next-equation prediction, and what perturbations do to it.

    Views: ``sequence`` has the array ``X`` of texts; ``trees`` has ``trees`` as well, the same as
    JSON.  Targets are ``Y``, (n, 1), 1.0 where the candidate is right.
    """

    name = "derivation"
    scorer_version = 2
    from_files = True
    views = FACTS.views
    families = FACTS.families
    metrics = specs()
    check_datasets = ("structured-2-tiny", "differentiate-tiny")
    snr_levels = False
    has_plots = True

    def source(self, path: Path | None = None) -> Source[Sequences]:
        """Open the project's configurations; or one of the user's, or a folder of them."""
        if path is not None:
            refuse_other_files(path)
        return _Configurations(self, self.systems if path is None else path)

    def task(self, dataset: Sequences, view: str, protocol: Protocol) -> Task[Sequences]:
        """Show the splits; the last fit is given training and validation together.

        Raises
        ------
        UsageError
            If there is no such view.
        """
        if view not in self.views:
            raise UsageError(f"{self.name} has no view {view!r}.", did_you_mean(view, self.views))

        def part(*splits: str) -> Split:
            rows = [dataset.rows[split] for split in splits]
            inputs = {"X": np.array([text for each in rows for text in each.texts])}
            if view == "trees":
                # Bytes: a quarter of the memory, and JSON has nothing but ASCII.
                inputs["trees"] = np.array([tree for each in rows for tree in each.trees], "S")
            labels = np.concatenate([each.labels for each in rows]).astype(np.float64)
            return Split(inputs, "Y", labels[:, None])

        return Task(
            dataset,
            view,
            protocol,
            ("sequence",),
            ("right",),
            part("train"),
            part("validation"),
            part("train", "validation"),
            part("test"),
            has_equations=False,
            any_order=True,
        )

    def metric_names(self, task: Task[Sequences]) -> tuple[str, ...]:
        """Return the names of the metrics of the sets that the task has."""
        own = sets_of(task.dataset.settings)
        return tuple(
            spec.name
            for spec in self.metrics
            if spec.name in OF_PAIRS or spec.name.partition("_")[0] in own
        )

    def read_answer(self, task: Task[Sequences], answer: Answer) -> Labels:  # noqa: ARG002
        """Read scores from 0 to 1, of which those from 0.5 on mean: right."""
        if answer.predictions is None:
            raise AnswerError("there are no labels")
        return Labels(right=_read(answer.predictions))

    def score(self, task: Task[Sequences], answer: Answer) -> Scores:
        """Score labels set by set, pair by pair, with what the candidates alone give away."""
        if not isinstance(answer, Labels):
            raise TypeError("an answer of another data type")
        dataset = task.dataset
        found = scores(dataset.rows["test"], answer.right) | _leaks(dataset)
        return Scores({name: found.get(name) for name in self.metric_names(task)})

    def kept_answers(self, task: Task[Sequences], answer: Answer) -> bytes | None:
        """Return the label of each sequence of the test, with the operators of its derivation."""
        if not isinstance(answer, Labels):
            raise TypeError("an answer of another data type")
        return write_labels(kept_labels(task.dataset.rows["test"], answer.right))

    def evaluate_candidate(
        self,
        task: Task[Sequences],  # noqa: ARG002 - the split has all
        data: Split,
        candidate: Candidate,
    ) -> ScoredCandidate:
        """Compare candidates by F1 on the validation data."""
        if candidate.predictions is None:
            raise AnswerError("there are no predictions")
        score = f1(_read(candidate.predictions), data.targets[:, 0] > _THRESHOLD)
        return ScoredCandidate(candidate, 1 - score, 0, score)

    def plots(
        self,
        dataset: Sequences,
        answers: Sequence[PlottedAnswer],
        budget: PlotBudget,  # noqa: ARG002 - nothing is evaluated
    ) -> Plots:
        """Draw the first derivation of the test, who chose which candidate, and all sets."""
        from mdbench.datatypes.derivation.plots import (  # noqa: PLC0415 - reports alone
            derivation_pictures,
            operator_pictures,
        )

        example = read_record(_read_examples(dataset.file)["test"][0])
        lines, asked = _lines(example)
        html = derivation_pictures(lines, asked, [_method_scores(one) for one in answers])
        tables, notes = {}, []
        for answer in answers:
            if answer.kept is None:
                continue
            try:
                tables[answer.method, answer.number] = operator_table(read_labels(answer.kept))
            except RecordsError as error:
                notes.append(f"{answer.method}: {error.message}")
        return Plots(html + operator_pictures(tables), " ".join(notes))

    def files(self, dataset: Sequences) -> Iterable[tuple[str, Callable[[IO[bytes]], None]]]:
        """Return the examples as JSON lines: as documented, and in the keys of the authors."""
        examples = _read_examples(dataset.file)
        for split, records in examples.items():
            for form in ("documented", "authors"):
                write = partial(_write_records, records=records, authors=form == "authors")
                yield f"{form}/{dataset.name}/{split}.jsonl", write


DATA_TYPE = DerivationType


def _read(predictions: NDArray[Any]) -> NDArray[np.bool_]:
    """Read scores, (n, 1), as labels, (n,)."""
    chances = np.asarray(predictions)[:, 0]
    if not np.all(np.isfinite(chances)) or np.any((chances < 0) | (chances > 1)):
        raise AnswerError("a score is not within 0 and 1; predict gives the chance of the label 1")
    return np.asarray(chances >= _THRESHOLD)


def _lines(example: Derivation | Calculation) -> tuple[list[DerivationLine], str]:
    """Return the lines of an example with both candidates, and what is asked."""
    from mdbench.datatypes.derivation.plots import DerivationLine  # noqa: PLC0415 - reports alone

    if isinstance(example, Calculation):
        result = symbol("y") if example.variable != symbol("y") else symbol("z")
        asked = f"{example.task} by {example.variable}"
        return [
            DerivationLine("1", "expression", (result, example.expression)),
            DerivationLine("right", asked, (symbol("answer"), example.positive)),
            DerivationLine("wrong", "another operation", (symbol("answer"), example.negative)),
        ], asked
    [negative, *_] = example.negatives
    lines = [
        DerivationLine(str(number), _operation_of(step), step.sides)
        for number, step in enumerate(example.context, 1)
    ]
    lines += [DerivationLine("right", _operation_of(example.final), example.final.sides)]
    lines += [DerivationLine("wrong", _operation_of(negative), negative.sides)]
    return lines, _operation_of(example.final)


def _operation_of(step: Step) -> str:
    operand = [] if step.operand is None else [str(step.operand)]
    return " ".join([step.op.replace("_", " "), *map(str, step.refs), *operand])


def _method_scores(answer: PlottedAnswer) -> MethodScores:
    from mdbench.datatypes.derivation.plots import MethodScores  # noqa: PLC0415 - reports alone

    accuracy = {}
    static = answer.metrics.get("static_accuracy")
    for name in SETS:
        value = answer.metrics.get(f"{name}_accuracy")
        if not isinstance(value, float | int) or not isinstance(static, float | int):
            continue
        ends = [answer.metrics.get(f"{name}_drop_{end}") for end in ("high", "low")]
        low, high = (static - end if isinstance(end, float | int) else None for end in ends)
        accuracy[TITLES[name]] = (float(value), low, high)
    return MethodScores(
        answer.method, answer.number, accuracy, str(answer.metrics.get("first_pair") or "")
    )


_known_leaks: dict[str, dict[str, Value]] = {}


def _leaks(dataset: Sequences) -> dict[str, Value]:
    """Return the accuracy, set by set, of who sees only the candidates."""
    if dataset.fingerprint not in _known_leaks:
        train, test = dataset.rows["train"], dataset.rows["test"]
        labels = np.array(probe(train.texts, train.labels.tolist(), test.texts))
        true = test.labels == 1
        _known_leaks.clear()
        _known_leaks[dataset.fingerprint] = {
            f"{name}_leak": accuracy(labels[test.sets == name], true[test.sets == name])
            for name in dict.fromkeys(test.sets.tolist())
        }
    return _known_leaks[dataset.fingerprint]


class _Configurations(Source[Sequences]):
    """The configurations in a folder, or one in a file."""

    def __init__(self, kind: DerivationType, path: Path) -> None:
        self._kind = kind
        self._path = path

    @cached_property
    def _files(self) -> dict[str, Path]:
        if not self._path.exists():
            raise DataError(f"There is nothing at {self._path}.")
        files = [self._path] if self._path.is_file() else sorted(self._path.glob("*.toml"))
        if not files:
            raise DataError(
                f"{self._path} has no configurations: no file ends in .toml",
                f"Give a configuration, or a folder of them: see {page('derivation')}.",
            )
        return {file.stem: file for file in files}

    def names(self) -> list[str]:
        """Return the small ones first."""
        return sorted(self._files, key=lambda name: (self._settings(name).train, name))

    def groups(self) -> dict[str, list[str]]:
        """Group by the size that the file states."""
        groups: dict[str, list[str]] = {}
        for name in self.names():
            if group := self._read(name).get("group"):
                groups.setdefault(str(group), []).append(name)
        return groups

    def title(self, name: str) -> str:
        return str(self._read(name)["title"])

    def is_cached(self, name: str, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - none
        return (self._folder(name, self._settings(name)) / "rows.npz").exists()

    def _read(self, name: str) -> dict[str, Any]:
        if name not in self._files:
            raise UsageError(f"There is no dataset {name!r}.", did_you_mean(name, self._files))
        file = self._files[name]
        try:
            content = read_toml(file)
        except (OSError, ValueError) as error:
            raise DataError(f"{file} is no valid TOML: {error}") from None
        if not isinstance(content.get("title"), str):
            raise DataError(f"{file}: key 'title' is missing.", "Give a title of a few words.")
        return content

    def _settings(self, name: str) -> GeneratorSettings:
        content = {k: v for k, v in self._read(name).items() if k not in {"title", "group"}}
        try:
            settings = read_settings(content)
        except DataError as error:
            raise DataError(f"{self._files[name]}: {error.message}", error.hint) from None
        if not (settings.train and settings.validation and settings.test):
            raise DataError(f"{self._files[name]}: every split needs sequences.")
        return settings

    def _folder(self, name: str, settings: GeneratorSettings) -> Path:
        """Return the folder of the data of these settings, this generator and this SymPy."""
        version = GENERATORS[settings.task]
        made_by = json.dumps([asdict(settings), version, sympy.__version__], sort_keys=True)
        return self._kind.cache / f"{name}-{hashlib.sha256(made_by.encode()).hexdigest()[:16]}"

    def load(
        self,
        name: str,
        *,
        snr_db: float | None,
        seed: int,  # noqa: ARG002 - the configuration has the seed of its data
        protocol: Protocol,  # noqa: ARG002 - the sequences are the same
        options: Mapping[str, Any] = NO_OPTIONS,  # noqa: ARG002 - there are none
    ) -> Sequences:
        if snr_db is not None:
            raise UsageError(f"{self._kind.name} has no noise levels.", "Leave --snr-db out.")
        settings = self._settings(name)
        folder = self._folder(name, settings)
        arrays = _read_arrays(folder / "rows.npz")
        if arrays is None or not (folder / "examples.json.gz").exists():
            self._kind.on_progress(f"{name}: sequences are made, once")
            self._make(name, settings, folder)
            arrays = _read_arrays(folder / "rows.npz")
        if arrays is None:
            raise DataError(f"{folder / 'rows.npz'} cannot be read.", "Delete it, and try again.")
        sha256 = hashlib.sha256(repr(asdict(settings)).encode())
        for key in sorted(arrays):
            sha256.update(f"{key}\n".encode() + arrays[key].tobytes())
        return Sequences(
            name=name,
            dim=1,
            snr_db=None,
            truth=None,
            target_source="equations",
            fingerprint=sha256.hexdigest(),
            floor=1.0,
            settings=settings,
            rows={split: _rows_of(arrays, split) for split in _SPLITS},
            file=folder / "examples.json.gz",
        )

    def _make(self, name: str, settings: GeneratorSettings, folder: Path) -> None:
        try:
            made = make_all(settings, self._kind.on_progress)
        except DataError as error:
            raise DataError(f"{name}: {error.message}", error.hint) from None
        arrays: dict[str, NDArray[Any]] = {}
        for split in _SPLITS:
            rows = [row for row in made.rows if row.split == split]
            # In an order that shows no pairs or sets.
            seed = int.from_bytes(hashlib.sha256(f"{settings.seed}:{split}".encode()).digest()[:8])
            rows = [rows[n] for n in np.random.default_rng(seed).permutation(len(rows))]
            arrays[f"{split}_texts"] = _bytes("\n".join(row.text for row in rows))
            arrays[f"{split}_trees"] = _bytes("\n".join(row.tree for row in rows))
            arrays[f"{split}_labels"] = np.array([row.label for row in rows], np.int8)
            arrays[f"{split}_sets"] = np.array([SETS.index(row.set) for row in rows], np.int8)
            arrays[f"{split}_pairs"] = np.array([row.pair for row in rows], np.int32)
        examples = {"splits": made.records, "skipped": made.skipped}

        def write_examples(file: IO[bytes]) -> None:
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
                packed.write(json.dumps(examples).encode())

        write_whole(folder / "examples.json.gz", write_examples)
        write_whole(
            folder / "rows.npz",
            lambda file: np.savez_compressed(file, allow_pickle=False, **arrays),
        )


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Read the arrays of a file; None if it is not there or damaged."""
    try:
        with PARSER_LOCK, np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except Exception:  # noqa: BLE001 - a damaged archive raises this and that; it is made again
        return None


def _rows_of(arrays: Mapping[str, NDArray[Any]], split: str) -> SequenceRows:
    texts, trees = (
        arrays[f"{split}_{what}"].tobytes().decode("ascii").split("\n")
        for what in ("texts", "trees")
    )
    return SequenceRows(
        texts,
        trees,
        arrays[f"{split}_labels"],
        np.array(SETS)[arrays[f"{split}_sets"]],
        arrays[f"{split}_pairs"],
    )


def _read_examples(file: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as packed:
            return dict(json.load(packed)["splits"])
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise DataError(f"{file} cannot be read: {error}", "Delete it: it is made again.") from None


def _write_records(file: IO[bytes], records: Sequence[dict[str, Any]], *, authors: bool) -> None:
    for data in records:
        shown = authors_record(read_record(data)) if authors else data
        file.write(json.dumps(shown).encode() + b"\n")
