"""Whether a method identifies laws from their data, or knows the benchmark's laws by heart.

A table of the first samples of a benchmark's systems, with their equations, identifies most of
them; no sandbox can hold that.  So a method is run on the same laws with other constants, starts
and order of states, too.  Who has a table identifies those as they are alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from mdbench import datatypes, methods
from mdbench.authoring.check import SECONDS, Finding
from mdbench.authoring.trials import Trials
from mdbench.datatypes.facts import Protocol
from mdbench.errors import DataError, UnavailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mdbench.datatypes.base import DataType, Source
    from mdbench.runtimes.base import Runtime
    from mdbench.workspace import Workspace

CASES = 20
"""Laws that are tried, each as it is and moved, unless others are asked for."""
SUSPICIOUS = 0.01
"""The chance, of an honest method, below which more laws as they are are suspicious."""
MOST_DRAWS = 1000
"""Draws of other constants that there are."""
DATA_TYPE = "ode"
"""The data type whose laws can be moved."""


@dataclass(frozen=True)
class MemoryCheck:
    """What a method identifies of laws as they are, and of the same laws moved.

    Attributes
    ----------
    cases
        Laws that were tried in both forms.
    here, moved
        How many were identified as they are, and moved.
    only_here, only_moved
        How many were identified in one form alone.
    """

    cases: int
    here: int
    moved: int
    only_here: int
    only_moved: int

    @property
    def p_value(self) -> float:
        """The chance that an honest method has as many more as they are (McNemar, exact, one side).

        Each law that is identified in one form alone is then as likely to be one as the other.
        """
        pairs = self.only_here + self.only_moved
        ways = sum(comb(pairs, k) for k in range(self.only_here, pairs + 1))
        return float(ways / 2**pairs)

    @property
    def words(self) -> str:
        """The counts in a sentence."""
        return (
            f"of {self.cases} laws it identifies {self.here} as they are and {self.moved} with "
            f"other constants, starts and order of states; {self.only_here} as they are alone, "
            f"{self.only_moved} moved alone (p = {self.p_value:.2g})"
        )


def check_memory(
    name: str,
    workspace: Workspace,
    runtime: Runtime,
    report: Callable[[str], None] = print,
    *,
    seconds: float = SECONDS,
    cases: int = CASES,
    number: int = 1,
) -> Finding:
    """Run a method on laws as they are and moved, and compare what it identifies.

    Parameters
    ----------
    report
        Called with the law that is tried.
    seconds
        Time for each try.
    cases
        How many laws, evenly spaced in the order of the suite.
    number
        Of the draw of other constants: an author may have seen one.

    Raises
    ------
    UsageError
        If there is no such method, or it does no systems of equations.
    MethodError, UnavailableError
        If it cannot be run here.
    """
    method = methods.find(name, workspace.algorithms)
    if DATA_TYPE not in method.spec.data_types or not method.spec.equations:
        raise UsageError(
            f"{name} gives no equations of {DATA_TYPE}, whose laws alone can be moved.",
            f"Its data types are: {', '.join(method.spec.data_types)}.",
        )
    data_type = datatypes.find(
        DATA_TYPE, workspace.datasets / DATA_TYPE, workspace.arrays / DATA_TYPE
    )
    source = data_type.source()
    pairs = []
    with Trials(method, runtime, runtime.prepare(method), seconds, lambda _: None) as trials:
        for system in _evenly(source.names(), cases):
            report(f"trying {system}, as it is and moved (at most {2 * trials.seconds:g} s)")
            verdicts = list(_verdicts(trials, data_type, source, system, number))
            if None not in verdicts:
                pairs.append(verdicts)
    if not pairs:
        raise UnavailableError(f"{name} could do none of the laws here.")
    result = MemoryCheck(
        len(pairs),
        sum(here is True for here, _ in pairs),
        sum(moved is True for _, moved in pairs),
        sum(here is True and moved is False for here, moved in pairs),
        sum(here is False and moved is True for here, moved in pairs),
    )
    return Finding(
        "laws are identified from their data",
        passed=result.p_value >= SUSPICIOUS,
        explanation=result.words,
    )


def _evenly(names: Sequence[str], count: int) -> list[str]:
    count = min(count, len(names))
    return [names[len(names) * k // count] for k in range(count)]


def _verdicts(
    trials: Trials, data_type: DataType[Any, Any], source: Source[Any], system: str, number: int
) -> Iterator[bool | None]:
    """Yield whether a law is identified as it is, and moved; None where that is not known."""
    for dataset in (system, f"{system}+moved={number}"):
        try:
            loaded = source.load(dataset, snr_db=None, seed=0, protocol=Protocol.STRICT)
        except DataError:
            yield None
            continue
        scored = trials.run(data_type, trials.task(data_type, loaded), dataset)
        verdict = scored.scores.metrics.get("identified", 0.0)
        yield None if verdict is None else verdict == 1.0
