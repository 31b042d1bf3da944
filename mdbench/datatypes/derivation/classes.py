"""Classes of examples that differ in names only, and the split of the data that each belongs to."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

from mdbench.datatypes.derivation.naming import shade, shades

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sympy

    from mdbench.datatypes.derivation.settings import GeneratorSettings

__all__ = ["class_of", "class_of_question", "split_of"]


def class_of(words: Sequence[object], parts: Sequence[Any]) -> str:
    """Hash words and expressions so that neither names nor the signs that hang on them count.

    Parameters
    ----------
    words
        What counts as it is.
    parts
        Expressions; a name is the same one in all of them.
    """
    colours = shades(parts, signed=False)
    memo: dict[Any, int] = {}
    content = [*words, *(shade(part, colours, memo, signed=False) for part in parts)]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


@lru_cache(maxsize=50_000)
def class_of_question(task: str, body: sympy.Expr, variable: sympy.Symbol) -> str:
    """Hash what is asked about in calculus: an expression, and by what variable."""
    return class_of([task], [body, variable])


@lru_cache(maxsize=50_000)
def split_of(settings: GeneratorSettings, alpha: str) -> str:
    """Draw in which split all examples of a class are: ``train``, ``validation`` or ``test``."""
    sizes = (settings.train, settings.validation, settings.test)
    draw = Random(f"{settings.seed}:split:{alpha}").random() * sum(sizes)  # noqa: S311 - no secret
    if draw < sizes[0]:
        return "train"
    return "validation" if draw < sizes[0] + sizes[1] else "test"
