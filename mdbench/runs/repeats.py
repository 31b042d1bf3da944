"""Jobs of several seeds of which one is enough: neither the method nor its data depend on the seed.

A method whose ``method.toml`` has ``seedable = false`` gives one answer to one set of data, and
clean data are the same for all seeds.  Of such jobs one is run.  The others take its record, under
their own seed and key, and ``measured.of_seed`` names the seed that was run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mdbench.errors import counted
from mdbench.records import Status, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mdbench.records import Record
    from mdbench.runs.due import RecordSummary
    from mdbench.runs.plan import ResolvedJob

__all__ = ["SeedRepeats", "question_of", "with_seed"]

_TAKEN: Final = {Status.OK, Status.UNSUPPORTED, Status.INVALID_OUTPUT}
"""Ends that have nothing to do with the machine; after any other a job of each seed is run."""
_SEED: Final = "seed"


def question_of(one: ResolvedJob) -> str | None:
    """Return what is equal for jobs that differ in nothing but a seed that changes nothing.

    Returns
    -------
    str or None
        A hash of the parts of the key but the seed, with the data's own among them; None where
        the seed may change the answer, as that of a method that draws numbers does.
    """
    spec = one.method.spec
    if spec.seedable is not False or not spec.repeatable or spec.service or _draws_rows(one):
        return None
    return _without_seed(one.parts)


def _draws_rows(one: ResolvedJob) -> bool:
    """Whether the rows that the method is given are drawn by the seed."""
    spec = one.method.spec
    asked = [each for each in one.data_type.options if each.method_key == "max_rows"]
    if any(each.key in one.job.options for each in asked):
        return True
    return spec.max_rows is not None and not asked


def _without_seed(parts: Mapping[str, str]) -> str:
    return key_of({name: value for name, value in parts.items() if name != _SEED})


@dataclass
class SeedRepeats:
    """Jobs that are due, divided.

    Attributes
    ----------
    to_run
        Those that are run.
    waiting
        Those that take the record of another job, by its key: of one in `to_run`, or of a record
        that is there already.
    """

    to_run: list[ResolvedJob] = field(default_factory=list)
    waiting: dict[str, list[ResolvedJob]] = field(default_factory=dict)

    @classmethod
    def among(
        cls,
        due: Sequence[ResolvedJob],
        past: Mapping[str, Mapping[str, RecordSummary]],
        rerun: Iterable[Status] = (),
    ) -> SeedRepeats:
        """Divide jobs.

        Parameters
        ----------
        due
            In the order in which they are run.
        past
            By the names of results files, the newest record of each key.
        rerun
            Records of these ends are not taken.
        """
        questions = {one.key: question for one in due if (question := question_of(one))}
        names = {one.job.results for one in due if one.key in questions}
        known: dict[tuple[str, str], tuple[str, RecordSummary | None]] = {}
        taken = _TAKEN - {*rerun}
        for name in names:
            for key, there in past.get(name, {}).items():
                if key not in questions and there.status in taken:
                    known.setdefault((name, _without_seed(there.key_parts)), (key, there))
        found = cls()
        for one in due:
            if one.key not in questions:
                found.to_run.append(one)
                continue
            place = one.job.results, questions[one.key]
            key, record = known.get(place, ("", None))
            lacks_front = record is not None and one.job.save_pareto and not record.front
            if not key or lacks_front:
                known[place] = one.key, None
                found.to_run.append(one)
            else:
                found.waiting.setdefault(key, []).append(one)
        return found

    def text(self) -> str:
        """Write how many jobs take a record, in a sentence."""
        jobs = self.left()
        methods = ", ".join(dict.fromkeys(one.job.algorithm for one in jobs))
        return (
            f"{counted(len(jobs), 'job')} of {methods} will not be run: each takes the record of "
            "another seed, since neither its method nor its data depend on the seed."
        )

    def taking(self, record: Record) -> list[tuple[ResolvedJob, Record]]:
        """Return the jobs that take a record, each with its own, and wait no more.

        There are none where a job did not end in a way that a seed cannot change.
        """
        if record.status not in _TAKEN:
            return []
        return [(one, with_seed(record, one)) for one in self.waiting.pop(record.key, [])]

    def left(self) -> list[ResolvedJob]:
        """Return the jobs that still wait; they are to be run themselves."""
        return [one for several in self.waiting.values() for one in several]


def with_seed(record: Record, one: ResolvedJob) -> Record:
    """Return a record as that of another seed's job."""
    seed = record.seed if record.measured.of_seed is None else record.measured.of_seed
    return record.model_copy(
        update={
            "key": one.key,
            "key_parts": dict(one.parts),
            "seed": one.job.seed,
            "study": one.job.study,
            "measured": record.measured.model_copy(update={"of_seed": seed}),
        }
    )
