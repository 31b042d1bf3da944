"""What a fitted estimator has: equations in all notations, and the front they were chosen from."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from eqverdict import parse
from eqverdict.grammar import read
from eqverdict.printers import PlainPrinter, left_hand_side, mathml, names_in
from eqverdict.tidy import tidy
from mdbench.reports.systems import code, states_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mdbench.records import FrontEntry, Record

__all__ = ["Equations", "Front", "FrontMember"]


def as_written(text: str, names: Sequence[str]) -> str:
    """Write an equation as a person would: without factors of 1, and brackets where needed.

    Examples
    --------
    >>> as_written("((1.0 * a) + (2.5 * b))", ["a", "b"])
    'a + 2.5*b'
    """
    return PlainPrinter().print(tidy(read(text, names)))


class Equations:
    """The equations of an answer, one for each target, in the names of the data.

    They are a sequence of texts, each the right-hand side of one of `targets`.

    Parameters
    ----------
    record
        A record with an answer.
    front
        What the answer was chosen from, for notebooks.
    """

    def __init__(self, record: Record, front: Front) -> None:
        self._record, self._front = record, front
        self.targets = record.targets
        self._texts = tuple(record.equations or ())

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __getitem__(self, number: int) -> str:
        return self._texts[number]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Equations):
            return self._texts == other._texts and self.targets == other.targets
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.targets, self._texts))

    def __repr__(self) -> str:
        """Write the equations as a person would."""
        return self.text()

    def text(self) -> str:
        """Write them as a person would, with four digits."""
        tidied = tuple(as_written(text, names_in(text)) for text in self._texts)
        return code(self._record.model_copy(update={"equations": tidied}), "plain", digits=4)

    def python(self) -> str:
        """Write them as a function of Python with NumPy, in all digits."""
        return code(self._record, "python")

    def latex(self) -> str:
        """Write them for LaTeX's mathematics, with four digits."""
        return code(self._record, "latex", digits=4)

    def sympy(self) -> list[Any]:
        """Return SymPy's expressions, one for each target; their symbols are the data's names."""
        system = states_of(self._record)
        names = [*system.states, *system.others] if system.rates else list(system.others)
        return [parse(text, names).to_sympy() for text in self._texts]

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<p>{left_hand_side(target)} = {mathml(text, tidied=True)}</p>"
            for target, text in zip(self.targets, self._texts, strict=True)
        )
        return lines + self._front._repr_html_()


class FrontMember(NamedTuple):
    """One of the candidates that an answer was chosen from.

    Attributes
    ----------
    equations
        One for each target; one where the targets were chosen one by one.
    complexity
        Nodes.
    loss
        What the bench compared candidates by; smaller is better.
    chosen
        Whether it is the answer, or a part of it.
    """

    equations: tuple[str, ...]
    complexity: int | None
    loss: float | None
    chosen: bool


class Front(tuple[FrontMember, ...]):
    """Candidates by size and error, the smallest first."""

    __slots__ = ()

    @classmethod
    def of(cls, record: Record) -> Front:
        """Return the front of a record; empty where it keeps none."""
        texts = set(record.equations or ())

        def member(one: FrontEntry) -> FrontMember:
            chosen = bool(one.equations) and set(one.equations) <= texts
            return FrontMember(one.equations, one.complexity, one.loss, chosen)

        members = [member(one) for one in record.front or ()]
        return cls(sorted(members, key=lambda one: (one.complexity or 0, one.loss or 0.0)))

    def _repr_html_(self) -> str:
        if not self:
            return ""
        rows = "".join(map(_row, self))
        head = "<tr><th></th><th>nodes</th><th>loss</th><th>equations</th></tr>"
        return f"<table>{head}{rows}</table>"


def _row(member: FrontMember) -> str:
    mark = "✓" if member.chosen else ""
    loss = "" if member.loss is None else f"{member.loss:.3g}"
    nodes = "" if member.complexity is None else str(member.complexity)
    texts = "<br>".join(f"<code>{escape(text)}</code>" for text in member.equations)
    return f"<tr><td>{mark}</td><td>{nodes}</td><td>{loss}</td><td>{texts}</td></tr>"
