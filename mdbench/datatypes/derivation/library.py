"""Symbolic derivations: random ones, applied again, perturbed, written and read back.

The generator of Meadows et al. (2023), "A symbolic framework for evaluating mathematical reasoning
and generalisation with transformers", without mdbench's jobs and methods:

>>> from mdbench.datatypes.derivation.library import GeneratorSettings, generate, replay, texts
>>> example = generate(GeneratorSettings(steps=3), "main", 0)
>>> replay(example)
>>> right, wrong = texts(example)
"""

from mdbench.datatypes.derivation.authors import authors_record
from mdbench.datatypes.derivation.calculus import Calculation, calculation
from mdbench.datatypes.derivation.datasets import (
    alternative_results,
    equation_conversion,
    expression_exchange,
    make_all,
    variable_renaming,
)
from mdbench.datatypes.derivation.generation import generate
from mdbench.datatypes.derivation.operators import OPERATORS, apply, replay
from mdbench.datatypes.derivation.records import (
    read_record,
    read_records,
    record,
    texts,
    trees,
)
from mdbench.datatypes.derivation.settings import GeneratorSettings, read_settings
from mdbench.datatypes.derivation.steps import Derivation, Sides, Step, latex, read, write
from mdbench.datatypes.derivation.truth import falsehoods

__all__ = [
    "OPERATORS",
    "Calculation",
    "Derivation",
    "GeneratorSettings",
    "Sides",
    "Step",
    "alternative_results",
    "apply",
    "authors_record",
    "calculation",
    "equation_conversion",
    "expression_exchange",
    "falsehoods",
    "generate",
    "latex",
    "make_all",
    "read",
    "read_record",
    "read_records",
    "read_settings",
    "record",
    "replay",
    "texts",
    "trees",
    "variable_renaming",
    "write",
]
