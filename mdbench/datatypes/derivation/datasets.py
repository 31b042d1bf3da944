"""Whole sets of examples, made by several processes and always the same."""

from __future__ import annotations

import os
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from queue import SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Any, Self

from eqverdict.limited_process import LimitedProcess
from mdbench.datatypes.derivation.authors import with_known_negative
from mdbench.datatypes.derivation.calculus import Calculation, calculation
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.operators import SUBSTITUTIONS, learn, news, replay
from mdbench.datatypes.derivation.records import (
    context_class,
    read_lines,
    record,
    texts,
    trees,
)
from mdbench.datatypes.derivation.renaming import GREEK, LETTERS, names, rename, split_of
from mdbench.datatypes.derivation.settings import GeneratorSettings
from mdbench.datatypes.derivation.steps import Derivation, Step
from mdbench.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import sympy

STRUCTURED_SETS = ("static", "vr", "ee", "ar", "s1", "s2")
CALCULUS_SETS = ("static", "vr", "ec", "easy")
_CHUNK = 10
"""Examples that a process is asked for at a time."""
_CHUNK_SECONDS, _ONE_SECONDS = 300, 30
"""CPU time for a chunk, and for each of its examples where a chunk took longer."""
_MAX_BYTES = 2 << 30
"""Memory for a chunk."""
_MOST_SKIPPED = 1000
_PATIENCE = 50
"""Factor on the examples that a split should need for its next one, after which none is drawn."""
_WIDER = "Raise premise_size, steps or alternatives, so that more examples differ."
_OTHERS = "The settings are not the cause.  Another seed draws other examples."
_ENVIRONMENT = {"SYMPY_CACHE_SIZE": "20000"}
"""Measured: calculus takes a third less CPU time than with the 1,000 results that SymPy keeps."""


@dataclass(frozen=True)
class SequenceRow:
    """One sequence.

    Attributes
    ----------
    set
        The set of the test that it belongs to; ``static`` in training and validation.
    pair
        The number of its example in its split.
    label
        1 where the candidate is right, and else 0.
    """

    split: str
    set: str
    pair: int
    label: int
    text: str
    tree: str


@dataclass
class MadeExamples:
    """The examples that were made.

    Attributes
    ----------
    records
        For each split, or set of other examples, the records.
    classes
        The class of each of them: of what both candidates begin with, whatever the names.
    skipped
        Streams and numbers of examples that took too long to make.
    """

    rows: list[SequenceRow] = field(default_factory=list)
    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=dict)
    skipped: list[tuple[str, int]] = field(default_factory=list)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Make some examples: what a child process is asked."""
    settings = GeneratorSettings(**question["settings"])
    stream, first, count = question["stream"], question["first"], question["count"]
    learn(question.get("integrals", ()))
    examples = [_example(settings, stream, n) for n in range(first, first + count)]
    return {"examples": examples, "integrals": news()}


def _example(settings: GeneratorSettings, stream: str, index: int) -> dict[str, Any]:
    example: Derivation | Calculation = (
        generate(settings, stream, index)
        if settings.structured
        else calculation(settings, stream, index, one_variable=stream == "easy")
    )
    own = context_class(example)
    made = {"record": record(example, settings), "split": stream, "class": own}
    if stream == "main":
        made["split"] = split_of(settings, own) if settings.split == "alpha" else "training"
    perturbed = made["split"] == "test"
    made["rows"] = _written(_versions(example, settings.seed) if perturbed else {"static": example})
    return made


def _written(versions: Mapping[str, Derivation | Calculation | None]) -> dict[str, Any]:
    """Write the versions that there are of an example."""
    return {
        name: [texts(version), trees(version)]
        for name, version in versions.items()
        if version is not None
    }


def _versions(example: Derivation | Calculation, seed: int) -> dict[str, Any]:
    versions: dict[str, Any] = {"static": example, "vr": variable_renaming(example, seed)}
    if isinstance(example, Calculation):
        return versions | {"ec": equation_conversion(example, seed)}
    known = with_known_negative(example)
    return versions | {
        "ee": expression_exchange(example),
        "ar": None if known is None else alternative_results(known),
    }


def make_all(
    settings: GeneratorSettings,
    report: Callable[[str], None] = lambda _text: None,
    processes: int = 0,
) -> MadeExamples:
    """Make all splits and perturbed sets of a configuration.

    Parameters
    ----------
    report
        Called with messages on the progress.
    processes
        How many make examples at a time; 0 for as many as there are processors.

    Raises
    ------
    DataError
        If hardly any example can be made, or none that is in one of the splits.
    """
    made = MadeExamples()
    with _Makers(processes or len(os.sched_getaffinity(0))) as makers:
        wanted = {"train": settings.train, "validation": settings.validation}
        tested = {"test": settings.test}
        if settings.split == "authors":
            both = {"training": settings.train + settings.validation}
            _fill(made, makers, settings, "main", both, report)
            _cut(made, settings)
            _fill(made, makers, settings, "test", tested, report)
        else:
            _fill(made, makers, settings, "main", wanted | tested, report)
        for fewer in range(1, settings.steps - 1) if settings.structured else ():
            if fewer > 2:  # noqa: PLR2004 - s-1 and s-2 are what is reported
                break
            shorter = replace(settings, steps=settings.steps - fewer)
            _fill(made, makers, shorter, f"s{fewer}", {f"s{fewer}": settings.test}, report)
        if settings.easy and not settings.structured:
            _fill(made, makers, settings, "easy", {"easy": settings.easy}, report)
    return made


class _Makers:
    """Processes that make examples, each asked by a thread of its own.

    The integrals that one has worked out are sent to the others with the next question.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._closing = False
        self._integrals: list[tuple[LimitedProcess, list[str | None]]] = []
        self._sent: Counter[LimitedProcess] = Counter()
        self._free: SimpleQueue[LimitedProcess] = SimpleQueue()
        self._all = [
            LimitedProcess(__name__, _CHUNK_SECONDS, _MAX_BYTES, _ENVIRONMENT) for _ in range(count)
        ]
        for child in self._all:
            self._free.put(child)
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._threads.shutdown(cancel_futures=True)
        for child in self._all:
            child.end()

    def stream(self, settings: GeneratorSettings, stream: str) -> Iterator[dict[str, Any]]:
        """Return the examples of a stream, in their order and without end."""
        ahead: deque[Any] = deque()
        first = 0
        try:
            while True:
                while len(ahead) < 2 * self.count:
                    ahead.append(self._threads.submit(self._chunk, settings, stream, first))
                    first += _CHUNK
                yield from ahead.popleft().result()
        finally:
            for each in ahead:
                each.cancel()

    def _chunk(self, settings: GeneratorSettings, stream: str, first: int) -> list[dict[str, Any]]:
        child = self._free.get()
        question = {"settings": asdict(settings), "stream": stream}
        try:
            reply = self._ask(child, {**question, "first": first, "count": _CHUNK})
            if "error" not in reply:
                return list(reply["examples"])
            examples: list[dict[str, Any]] = []
            for index in range(first, first + _CHUNK):
                if self._closing:
                    return examples
                one = {**question, "first": index, "count": 1}
                reply = self._ask(child, one, _ONE_SECONDS)
                why = str(reply.get("error", ""))
                # What begins so is a limit of the child; the rest is a mistake of ours.
                if why and not why.startswith("it "):
                    raise DataError(f"example {index} of {stream} cannot be made: {why}.", _OTHERS)
                skipped = {"skipped": index, "why": why}
                examples += reply.get("examples", [skipped])
            return examples
        finally:
            self._free.put(child)

    def _ask(
        self, child: LimitedProcess, question: dict[str, Any], seconds: int | None = None
    ) -> dict[str, Any]:
        """Put a question, with what others have worked out since the last one."""
        known = len(self._integrals)
        unsent = self._integrals[self._sent[child] : known]
        others = [each for who, each in unsent if who is not child]
        reply = child.ask({**question, "integrals": others}, seconds)
        # A process that was ended has lost what it was sent.
        ended = "error" in reply or child.process is None
        self._sent[child] = 0 if ended else known
        self._integrals += [(child, each) for each in reply.get("integrals", ())]
        return reply


def _fill(  # noqa: PLR0917 - each is another thing
    made: MadeExamples,
    makers: _Makers,
    settings: GeneratorSettings,
    stream: str,
    wanted: dict[str, int],
    report: Callable[[str], None],
) -> None:
    """Take examples of a stream until every split has as many sequences as are wanted."""
    records = {name: made.records.setdefault(name, []) for name in wanted}
    classes = {name: made.classes.setdefault(name, []) for name in wanted}
    counts: Counter[tuple[str, str]] = Counter()
    missing = {name for name, count in wanted.items() if count}
    if not missing:
        return
    total, done, in_vain = sum(wanted.values()), 0, 0
    cap = settings.class_cap or 100
    patience = _PATIENCE * total // min(wanted[name] for name in missing) * 100 // cap
    for example in makers.stream(settings, stream):
        if "skipped" in example:
            made.skipped.append((stream, example["skipped"]))
            if len(made.skipped) > _MOST_SKIPPED:
                raise DataError(f"no examples can be made: {example['why']}.", _WIDER)
            continue
        split, own = example["split"], example["class"]
        # A split of so many sequences has half as many examples.
        if split not in missing or 200 * counts[split, own] >= cap * wanted[split]:
            in_vain += 1
            if in_vain > patience:
                lacking = ", ".join(sorted(missing))
                capped = f" within class_cap = {cap}" * (cap < 100)  # noqa: PLR2004 - all of them
                raise DataError(f"no example of {patience} more is in {lacking}{capped}.", _WIDER)
            continue
        in_vain = 0
        pair = len(records[split])
        records[split].append(example["record"])
        classes[split].append(own)
        counts[split, own] += 1
        made.rows += _rows(split, pair, example["rows"])
        done += 2
        if done % 2000 == 0:
            report(f"{done} of {total} sequences")
        if 2 * len(records[split]) >= wanted[split]:
            missing.remove(split)
            if not missing:
                return


_SHARES = GeneratorSettings(train=80, validation=10, test=10)
"""The shares of the splits of a file of examples that has no splits."""
_OF_TRAINING = GeneratorSettings(train=80, validation=20, test=0)


def read_all(files: Mapping[str, Path], seed: int) -> tuple[GeneratorSettings, MadeExamples]:
    """Read the user's examples from files, and perturb those of the test.

    Parameters
    ----------
    files
        The files by their splits, of which ``validation`` may be missing; or one under no name,
        which is split by what examples begin with.
    seed
        The seed of splits and of perturbations.

    Raises
    ------
    DataError
        If a line cannot be read, tasks are mixed, or a split has no example.
    """
    made = MadeExamples()
    tasks: set[str] = set()
    steps = 2
    for of_file, file in files.items():
        for data, example in read_lines(file):
            own, split = context_class(example), of_file
            if not of_file:
                split = split_of(replace(_SHARES, seed=seed), own)
            elif of_file == "train" and "validation" not in files:
                split = split_of(replace(_OF_TRAINING, seed=seed), own)
            if isinstance(example, Derivation):
                tasks.add("structured")
                steps = max(steps, len(example.steps))
            else:
                tasks.add(example.task)
            versions = _versions(example, seed) if split == "test" else {"static": example}
            pair = len(made.records.setdefault(split, []))
            made.records[split].append(data)
            made.classes.setdefault(split, []).append(own)
            made.rows += _rows(split, pair, _written(versions))
    if len(tasks) > 1:
        raise DataError(f"examples of {' and of '.join(sorted(tasks))} are in one dataset.")
    sizes = {name: 2 * len(made.records.get(name, ())) for name in ("train", "validation", "test")}
    if not all(sizes.values()):
        lacking = ", ".join(name for name, size in sizes.items() if not size)
        raise DataError(
            f"no example is in {lacking}.",
            "Give more examples, or a folder with train.jsonl, validation.jsonl and test.jsonl.",
        )
    settings = GeneratorSettings(
        task=tasks.pop(),
        steps=min(steps, 6),
        train=sizes["train"],
        validation=sizes["validation"],
        test=sizes["test"],
        seed=seed,
    )
    return settings, made


def _rows(split: str, pair: int, versions: dict[str, Any]) -> Iterator[SequenceRow]:
    for name, (written, as_trees) in versions.items():
        own = name
        part = split
        if split in {*STRUCTURED_SETS, *CALCULUS_SETS}:  # examples of their own in the test
            if name != "static":
                continue
            part, own = "test", split
        for label, text, tree in zip((1, 0), written, as_trees, strict=True):
            yield SequenceRow(part, own, pair, label, text, tree)


def _cut(made: MadeExamples, settings: GeneratorSettings) -> None:
    """Shuffle sequences and cut them, as the authors do: halves of a pair may be parted."""
    order = list(range(len(made.rows)))
    Random(f"{settings.seed}:cut").shuffle(order)  # noqa: S311 - no secret
    validation = set(order[settings.train :])
    made.rows = [
        replace(row, split="validation" if place in validation else "train")
        for place, row in enumerate(made.rows)
    ]
    made.records["train"] = made.records.pop("training")


_TRIES = 10
_MIRRORED = dict(zip(SUBSTITUTIONS, reversed(SUBSTITUTIONS), strict=True))


def renamings(example: Derivation | Calculation, seed: int) -> Iterator[dict[str, str]]:
    """Draw a Greek name for each name, some times; never where there are more than ten."""
    letters = names(_expressions(example))
    if len(letters) > len(GREEK):
        return
    rng = Random(f"{seed}:{example.stream}:{example.index}:names")  # noqa: S311 - no secret
    for _ in range(_TRIES):
        yield dict(zip(letters, rng.sample(GREEK, len(letters)), strict=True))


def variable_renaming(
    example: Derivation | Calculation, seed: int
) -> Derivation | Calculation | None:
    """VR: give all symbols and functions Greek names, each one of its own.

    Names may decide how SymPy writes signs, sin(a - b) or -sin(b - a), and in which order it has
    derivatives; where a step would not replay for that, others are drawn.  None if none will do,
    or if there are more than ten names.
    """
    must_replay = isinstance(example, Derivation) and _replays(example)
    for new in renamings(example, seed):
        other = renamed(example, new)
        if isinstance(other, Calculation) or not must_replay or _replays(other):
            return other
    return None


def _replays(example: Derivation) -> bool:
    try:
        replay(example)
    except DataError:
        return False
    return True


def renamed(example: Derivation | Calculation, new: Mapping[str, str]) -> Derivation | Calculation:
    """Substitute names, at once, arguments of functions in their order."""
    memo: dict[sympy.Basic, sympy.Basic] = {}
    if isinstance(example, Calculation):
        return replace(
            example,
            expression=rename(example.expression, new, memo),
            variable=rename(example.variable, new, memo),
            positive=rename(example.positive, new, memo),
            negative=rename(example.negative, new, memo),
        )

    def one(step: Step) -> Step:
        return Step(
            step.op,
            step.refs,
            None if step.operand is None else rename(step.operand, new, memo),
            tuple((rename(i, new, memo), rename(c, new, memo)) for i, c in step.constants),
            rename(step.lhs, new, memo),
            rename(step.rhs, new, memo),
        )

    return replace(
        example,
        steps=tuple(map(one, example.steps)),
        negatives=tuple(map(one, example.negatives)),
    )


def expression_exchange(example: Derivation) -> Derivation:
    """EE: swap the sides of all equations, and the names of the two substitutions."""

    def one(step: Step) -> Step:
        return replace(step, op=_MIRRORED.get(step.op, step.op), lhs=step.rhs, rhs=step.lhs)

    return replace(
        example,
        steps=tuple(map(one, example.steps)),
        negatives=tuple(map(one, example.negatives)),
    )


def alternative_results(example: Derivation) -> Derivation:
    """AR: ask for what gave the negative, so that the two candidates change places."""
    negative, *_ = example.negatives
    return example.with_final(negative, example.final)


def equation_conversion(example: Calculation, seed: int) -> Calculation:
    """EC: write equations, with a letter for the expression that is not in it."""
    taken = set(names(_expressions(example)))
    rng = Random(f"{seed}:{example.stream}:{example.index}:letter")  # noqa: S311 - no secret
    free = [letter for letter in LETTERS if letter not in taken]
    return replace(example, left=rng.choice(free))


def _expressions(example: Derivation | Calculation) -> list[sympy.Expr]:
    """Return all expressions of an example, operands and constants included."""
    if isinstance(example, Calculation):
        return [example.expression, example.variable, example.positive, example.negative]
    expressions: list[sympy.Expr] = []
    for step in example.steps + example.negatives:
        expressions += [step.lhs, step.rhs]
        expressions += [] if step.operand is None else [step.operand]
        expressions += [part for pair in step.constants for part in pair]
    return expressions
