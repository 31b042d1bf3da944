"""Sweeps over all datasets: a seeded tenth is tried in every run, the rest in the nightly lane."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARE = 0.1
"""The part of a sweep that every run tries."""


def sampled(
    values: Iterable[Any], seed: int = 0, share: float = SHARE, least: int = 3
) -> list[Any]:
    """Return the values of a test's parameter, those outside a seeded sample marked nightly.

    Parameters
    ----------
    values
        Of one test; a tuple, or what `pytest.param` gives, has several.
    seed
        Another one gives another sample.
    share
        The part of the values that every run tries.
    least
        How many it tries in any case.
    """
    given = list(values)
    count = min(len(given), max(least, math.ceil(share * len(given))))
    chosen = set(random.Random(seed).sample(range(len(given)), count))
    return [value if index in chosen else _nightly(value) for index, value in enumerate(given)]


def paired(*values: Iterable[Any]) -> list[Any]:
    """Return all combinations of parameters, marked nightly but for some with each value.

    Parameters
    ----------
    values
        Those of each parameter.  Every run has as many combinations as the longest has values:
        the first of each, the second of each and so on, from the beginning where one is shorter.
    """
    axes = [list(each) for each in values]
    chosen = {tuple(index % len(axis) for axis in axes) for index in range(max(map(len, axes)))}
    return [
        values if index in chosen else _nightly(values)
        for index, values in zip(
            product(*(range(len(axis)) for axis in axes)), product(*axes), strict=True
        )
    ]


def _nightly(value: Any) -> Any:
    if isinstance(value, _PARAM):
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, pytest.mark.nightly])
    return pytest.param(
        *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.nightly
    )


_PARAM = type(pytest.param())
