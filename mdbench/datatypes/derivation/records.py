"""Examples as lines of JSON: the documented form, read back with care, and that of the authors."""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import sympy

from mdbench.datatypes.derivation.authors import equation, read_authors_record
from mdbench.datatypes.derivation.calculus import Calculation, calculate
from mdbench.datatypes.derivation.operators import PREMISES, replay
from mdbench.datatypes.derivation.renaming import class_of, class_of_question
from mdbench.datatypes.derivation.settings import GENERATORS, TASKS, GeneratorSettings
from mdbench.datatypes.derivation.steps import Derivation, Step, latex, mirrored, read, write
from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_STEP_KEYS = ("op", "refs", "operand", "constants", "lhs", "rhs")


@singledispatch
def alpha_class(example: Derivation | Calculation) -> str:
    """Hash an example so that another one, which differs in names only, has the same hash.

    Some that differ in signs have the same, too.
    """
    raise TypeError(f"{type(example).__name__} is no example")


def context_class(example: Derivation | Calculation) -> str:
    """Hash what an example begins with: all steps but the final one, or the expression.

    Both candidates have it in common.  A split by the class of the whole derivation would
    reveal the label: what is right in the test would be in the training as wrong only.
    """
    if isinstance(example, Derivation):
        return _class_of(example.context)
    return alpha_class(example)


@alpha_class.register
def _(example: Derivation) -> str:
    return _class_of(example.steps)


def _class_of(steps: Sequence[Step]) -> str:
    parts: list[sympy.Basic] = []
    words: list[object] = []
    for step in steps:
        words.append((step.op, step.refs, step.operand is None))
        parts += [step.lhs, step.rhs] + ([] if step.operand is None else [step.operand])
    return class_of(words, parts)


@alpha_class.register
def _(example: Calculation) -> str:
    return class_of_question(example.task, example.expression, example.variable)


def record(example: Derivation | Calculation, settings: GeneratorSettings) -> dict[str, Any]:
    """Return an example as a JSON object, of which docs/derivation.md explains the keys."""
    content = _content(example)
    return {
        "id": _identity(content),
        "generator": {
            "version": GENERATORS[settings.task],
            "seed": settings.seed,
            "stream": example.stream,
            "index": example.index,
            "sympy": sympy.__version__,
        },
        "task": example.task if isinstance(example, Calculation) else "structured",
        **content,
        "alpha_class": alpha_class(example),
    }


@singledispatch
def _content(example: Derivation | Calculation) -> dict[str, Any]:
    raise TypeError(f"{type(example).__name__} is no example")


@_content.register
def _(example: Derivation) -> dict[str, Any]:
    return {
        "steps": [_step(each) for each in example.steps],
        "negatives": [_step(each) for each in example.negatives],
    }


@_content.register
def _(example: Calculation) -> dict[str, Any]:
    return {
        "expression": _expression(example.expression),
        "variable": str(example.variable.name),
        "positive": _expression(example.positive),
        "negatives": [_expression(example.negative)],
    }


def _identity(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _expression(expr: sympy.Expr) -> dict[str, str]:
    return {"latex": latex(expr), "srepr": write(expr)}


def _step(step: Step) -> dict[str, Any]:
    return {
        "op": step.op,
        "refs": list(step.refs),
        "operand": None if step.operand is None else _expression(step.operand),
        "constants": {write(integral): str(c.name) for integral, c in step.constants},
        "lhs": _expression(step.lhs),
        "rhs": _expression(step.rhs),
    }


def read_records(path: Path) -> Iterator[Derivation | Calculation]:
    """Read a file of records, documented or the authors', ``.jsonl`` or ``.jsonl.gz``; try each.

    Raises
    ------
    DataError
        If a line is no record, or one that is not true to itself: if its hashes do not fit, or
        an equation is not what its annotation gives.  Names the line and the reason.
    """
    return (example for _, example in read_lines(path))


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], Derivation | Calculation]]:
    """Read a file as `read_records`, and yield each record as it is written, too."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    data = json.loads(line)
                    yield data, read_record(data, number)
                except (json.JSONDecodeError, RecursionError) as error:
                    raise DataError(f"{path}, line {number}: no JSON: {error}") from None
                except DataError as error:
                    raise DataError(f"{path}, line {number}: {error.message}", error.hint) from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def read_record(data: object, number: int = 0) -> Derivation | Calculation:
    """Read one record, and try whether it is true to itself.

    One in the keys of the authors is taken as it is: their operators are not all ours.

    Parameters
    ----------
    number
        Of its line, which is the index of one in the keys of the authors.

    Raises
    ------
    DataError
        If it is not; the message has the reason.
    """
    if not isinstance(data, dict):
        raise DataError("a record is an object.")
    if not data.keys().isdisjoint({"derivation", "srepr_derivation", "premise_expression"}):
        return read_authors_record(data, "authors", number)
    task, generator = data.get("task"), data.get("generator")
    if task not in TASKS:
        raise DataError(f"task is {task!r}.", did_you_mean(str(task), TASKS))
    match generator:
        case {"index": int(index), "stream": str(stream)}:
            pass
        case _:
            raise DataError("generator has no index and no stream.")
    example = (
        _read_derivation(data, stream, index)
        if task == "structured"
        else _read_calculation(data, stream, index)
    )
    content = _content(example)
    if data.get("id") != _identity(content):
        raise DataError(
            f"id is {data.get('id')!r}, and the content of the record has the hash "
            f"{_identity(content)!r}.",
            "The record was changed after it was written.",
        )
    if differing := [key for key in content if data.get(key) != content[key]]:
        raise DataError(
            f"LaTeX and srepr differ in {', '.join(differing)}.",
            "What srepr says is what counts; write the record again.",
        )
    if data.get("alpha_class") != alpha_class(example):
        raise DataError(
            f"alpha_class is {data.get('alpha_class')!r}; it should be {alpha_class(example)!r}."
        )
    return example


def _read_derivation(data: dict[str, Any], stream: str, index: int) -> Derivation:
    steps, negatives = (
        tuple(_read_step(f"{what} {n}", each) for n, each in enumerate(_list(data, key), 1))
        for what, key in (("step", "steps"), ("negative", "negatives"))
    )
    if len(steps) < 2 or not negatives:  # noqa: PLR2004 - one known, one asked for
        raise DataError("a derivation has two steps and a negative at least.")
    example = Derivation(index, stream, steps, negatives)
    replay(example)
    for number, negative in enumerate(negatives, 1):
        if negative.sides in {example.final.sides, mirrored(example.final.sides)}:
            raise DataError(f"negative {number} is the final step itself.")
    return example


def _read_calculation(data: dict[str, Any], stream: str, index: int) -> Calculation:
    body = _read_expression("expression", data.get("expression"))
    positive = _read_expression("positive", data.get("positive"))
    variable = read(f"Symbol({str(data.get('variable'))!r})")
    negatives = [_read_expression("negative", each) for each in _list(data, "negatives")]
    if not negatives:
        raise DataError("a calculation has a negative at least.")
    found = calculate(str(data["task"]), body, variable)
    if found != positive:
        raise DataError(f"positive does not replay: {data['task']} gives {str(found)[:80]}.")
    if positive in negatives:
        raise DataError(f"negative {negatives.index(positive) + 1} is the positive itself.")
    return Calculation(index, stream, str(data["task"]), body, variable, positive, negatives[0])


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list) or len(value) > 100:  # noqa: PLR2004 - none has so many
        raise DataError(f"{key} is no list.")
    return value


def _read_step(what: str, data: object) -> Step:
    if not isinstance(data, dict) or set(data) != set(_STEP_KEYS):
        raise DataError(f"{what} has not the keys {', '.join(_STEP_KEYS)}.")
    refs, constants, operand = data["refs"], data["constants"], data["operand"]
    if not isinstance(refs, list) or not all(type(each) is int for each in refs):
        raise DataError(f"{what}: refs is {refs!r}; it is a list of step numbers.")
    if not isinstance(constants, dict):
        raise DataError(f"{what}: constants is {constants!r}; it is an object.")
    try:
        return Step(
            str(data["op"]),
            tuple(refs),
            None if operand is None else _read_expression("operand", operand),
            tuple((read(i), read(f"Symbol({str(c)!r})")) for i, c in constants.items()),
            _read_expression("lhs", data["lhs"]),
            _read_expression("rhs", data["rhs"]),
        )
    except DataError as error:
        raise DataError(f"{what}: {error.message}", error.hint) from None


def _read_expression(what: str, data: object) -> sympy.Expr:
    match data:
        case {"latex": str(), "srepr": str(text)}:
            return read(text)
    raise DataError(f"{what} is {str(data)[:80]!r}; it is an object with latex and srepr.")


SEPARATOR = " [SEP] "


@singledispatch
def texts(example: Derivation | Calculation) -> tuple[str, str]:
    r"""Write the two sequences of an example: that of the right candidate, and of the wrong one.

    A derivation's is ``[ann_1, eq_1], ..., [ann_{s-1}, eq_{s-1}] [SEP] ann_s [SEP] candidate``, a
    calculation's ``f [SEP] x [SEP] g``; expressions are LaTeX, step numbers are digits.
    """
    raise TypeError(f"{type(example).__name__} is no example")


@texts.register
def _(example: Derivation) -> tuple[str, str]:
    context = ", ".join(f"[{_annotation(step)}, {equation(step)}]" for step in example.context)
    known = f"{context}{SEPARATOR}{_annotation(example.final)}{SEPARATOR}"
    return known + equation(example.final), known + equation(example.negatives[0])


@texts.register
def _(example: Calculation) -> tuple[str, str]:
    body, variable = latex(example.expression), latex(example.variable)
    derivative = f"\\frac{{d {example.left}}}{{d {variable}}} = "
    first, last = "", ""
    if example.left:
        first, last = f"{example.left} = ", derivative
        if example.task == "integrate":
            first, last = last, first
    known = f"{first}{body}{SEPARATOR}{variable}{SEPARATOR}{last}"
    return known + latex(example.positive), known + latex(example.negative)


def _annotation(step: Step) -> str:
    if step.op in PREMISES:
        return step.op
    operand = [] if step.operand is None else [latex(step.operand)]
    return f"[{', '.join([step.op, *map(str, step.refs), *operand])}]"


@singledispatch
def trees(example: Derivation | Calculation) -> tuple[str, str]:
    """Write the same as JSON, with expressions as `write` has them.

    It holds nothing that is not in the text: no constants, and nothing of the other
    candidate.
    """
    raise TypeError(f"{type(example).__name__} is no example")


@trees.register
def _(example: Derivation) -> tuple[str, str]:
    steps = [{**_operation(step), **_sides(step)} for step in example.context]

    def one(candidate: Step) -> str:
        return _dump({"steps": steps, **_operation(example.final), **_sides(candidate)})

    return one(example.final), one(example.negatives[0])


@trees.register
def _(example: Calculation) -> tuple[str, str]:
    known = {
        "task": example.task,
        "left": example.left,
        "expression": write(example.expression),
        "variable": write(example.variable),
    }
    return tuple(  # type: ignore[return-value]
        _dump({**known, "candidate": write(each)}) for each in (example.positive, example.negative)
    )


def _operation(step: Step) -> dict[str, Any]:
    return {
        "op": step.op,
        "refs": list(step.refs),
        "operand": None if step.operand is None else write(step.operand),
    }


def _sides(step: Step) -> dict[str, str]:
    return {"lhs": write(step.lhs), "rhs": write(step.rhs)}


_dump: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":")).encode


def pieces(text: str) -> tuple[str, str, str]:
    """Cut a sequence at its separators: what is known, the operation, and the candidate.

    Raises
    ------
    DataError
        If there are not two of them.
    """
    parts = text.split(SEPARATOR)
    if len(parts) != 3 or text.count("[SEP]") != 2:  # noqa: PLR2004 - its three pieces
        raise DataError(
            f"{text[:80]!r} has {text.count('[SEP]')} times [SEP].",
            "A sequence has it twice: known [SEP] operation [SEP] candidate.",
        )
    known, operation, candidate = parts
    return known, operation, candidate
