"""The options of ``mdbench llm-probe``; light, as the command line is made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mdbench.runs.kept import declared
from mdbench.runs.model_terms import ModelRoute, ModelTerms
from mdbench.runs.options import Typed, names, read_path, read_seeds, read_whole

__all__ = ["ProbeOptions"]


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(ModelTerms, ModelRoute):
    """What ``mdbench llm-probe`` was asked for, one attribute an option."""

    data_type: str = field(
        metadata=declared(Typed("--data-type NAME", "Kind of problem, e.g. srsd."))
    )
    datasets: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            Typed("--dataset NAME...", "Exact name or glob; several allowed.  Default: all.", names)
        ),
    )
    samples: int = field(
        default=5,
        metadata=declared(Typed("--samples N", "Completions a question.  Default: 5.", read_whole)),
    )
    seed: tuple[int, ...] = field(
        default=(0,),
        metadata=declared(Typed("--seed N", "Seed of rows and units.  Default: 0.", read_seeds)),
    )
    result_dir: Path = field(
        default=Path("results"),
        metadata=declared(
            Typed("--result-dir DIR", "Where results go.  Default: results.", read_path)
        ),
    )
