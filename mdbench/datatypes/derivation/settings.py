"""Settings of the generator of derivations, and the values allowed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from mdbench.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

GENERATORS = {"structured": 4, "differentiate": 3, "integrate": 3}
"""Versions by task, raised when the same seed gives other examples."""
TASKS = tuple(GENERATORS)
_WORDS = {
    "task": TASKS,
    "mode": ("closed", "prefix", "open"),
    "negatives": ("symmetric", "balanced", "authors"),
    "split": ("alpha", "authors"),
}
_MOST_STEPS, _MOST_SEQUENCES, _HEAVIEST = 6, 1_000_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class GeneratorSettings:
    """The configuration of a generator.

    Attributes
    ----------
    task
        ``structured`` derivations, or one step of calculus: ``differentiate``, ``integrate``.
    steps
        Of a structured derivation.
    train, validation, test
        Numbers of sequences; two of them, one right and one wrong, make a derivation.
    easy
        Sequences of calculus in one variable.
    mode
        ``closed``: the final step needs all others.  ``prefix``: the first steps of a derivation
        of six that is closed, as the authors cut them.  ``open``: steps as they are drawn, and
        one candidate of every operator but ``premise`` as often as of every other.
    negatives
        ``symmetric``: both candidates are drawn in the same way, and a coin decides which is right.
        In calculus it decides which of two expressions is asked about; both are in one split.
        ``balanced``: the same, and in half of the derivations both are of one operator.
        ``authors``: the wrong one is any next step, or the nearest wrong answer of calculus.
    split
        ``alpha``: derivations whose steps but the last differ in names only are in one split.
        ``authors``: sequences are shuffled and cut, so that the halves of a pair may be in two.
    seed
        The seed of all random numbers.
    premise_size
        How many operators are put on a premise at most, plus one: M_c of algorithm 1.
    history
        p_h: how much newer equations are preferred to older ones.
    premises, renaming, unary, evaluation, binary, calculus, substitution
        p_0, p_r, p_1, p_e, p_2, p_c and p_s of algorithm 2.
    alternatives
        How many other expressions are tried for wrong answers, of which the nearest is taken, in
        calculus.
    class_cap
        The largest share, in percent, that examples which begin alike have of a split; 0 for any.
    """

    task: str = "structured"
    steps: int = 3
    train: int = 20_000
    validation: int = 5_000
    test: int = 4_000
    easy: int = 0
    mode: str = "closed"
    negatives: str = "symmetric"
    split: str = "alpha"
    seed: int = 0
    premise_size: int = 2
    history: int = 10
    premises: int = 5
    renaming: int = 100
    unary: int = 50
    evaluation: int = 50
    binary: int = 100
    calculus: int = 2
    substitution: int = 30
    alternatives: int = 8
    class_cap: int = 0

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise DataError(
                    f"{name} is {getattr(self, name)!r}.",
                    did_you_mean(str(getattr(self, name)), words),
                )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _WORDS:
                continue
            low, high = _BOUNDS.get(field.name, (0, _HEAVIEST))
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise DataError(
                    f"{field.name} is {value!r}; it must be a whole number from {low} to {high}."
                )
        if any(getattr(self, name) % 2 for name in ("train", "validation", "test", "easy")):
            raise DataError("sequences come in pairs; give even numbers of them.")
        self._refuse_contradictions()
        if not self.unary + self.binary or not self.premises + self.unary + self.binary:
            raise DataError("no operator has a weight.", "Give unary or binary a weight above 0.")

    def _refuse_contradictions(self) -> None:
        """Refuse words that do not go together."""
        if self.mode == "prefix" and self.negatives != "authors":
            raise DataError(
                f"mode is 'prefix' and negatives are {self.negatives!r}; the steps of a cut "
                "derivation are what they are.",
                "Give negatives = 'authors', or mode = 'closed'.",
            )
        if self.mode == "open" and self.negatives == "authors":
            raise DataError(
                "mode is 'open' and negatives are 'authors', who close derivations.",
                "Give negatives = 'symmetric' or 'balanced', or mode = 'prefix'.",
            )
        if not self.structured and (self.negatives == "balanced" or self.mode == "open"):
            raise DataError(
                f"negatives = {self.negatives!r} with mode = {self.mode!r} is of derivations of "
                "several steps.",
                "For calculus give negatives = 'symmetric' or 'authors', and no mode.",
            )
        if self.class_cap and self.split == "authors":
            raise DataError("class_cap goes with split = 'alpha'.", "Leave one of them out.")

    @property
    def structured(self) -> bool:
        """Whether it is about derivations of several steps."""
        return self.task == "structured"

    @property
    def identity(self) -> dict[str, Any]:
        """What sets these apart from others: all values, without later ones that change nothing."""
        return {name: value for name, value in asdict(self).items() if value or name not in _LATER}


_LATER = ("class_cap",)
"""Settings that data of earlier versions do not have in their fingerprints."""
_BOUNDS = {
    "steps": (2, _MOST_STEPS),
    "train": (0, _MOST_SEQUENCES),
    "validation": (0, _MOST_SEQUENCES),
    "test": (0, _MOST_SEQUENCES),
    "easy": (0, _MOST_SEQUENCES),
    "seed": (0, 2**63 - 1),
    "premise_size": (1, 5),
    "history": (1, 100),
    "alternatives": (1, 100),
    "class_cap": (0, 100),
}


def read_settings(values: Mapping[str, Any]) -> GeneratorSettings:
    """Read settings from a table of a file.

    Raises
    ------
    DataError
        If a key is not known or a value not allowed; the message has those that are.
    """
    known = [field.name for field in fields(GeneratorSettings)]
    for name in values:
        if name not in known:
            raise DataError(f"key {name!r} is not known.", did_you_mean(name, known))
    return GeneratorSettings(**values)
