"""Adapters with modules that stand for the packages they work with, and problems for them."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torch_methods import folders, modules, specification

from eqverdict import parse
from mdbench.worker import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def adapter(name: str, **stand_ins: ModuleType) -> Iterator[Any]:
    """Import an adapter with modules that stand for packages.

    Adapters may change the variables of the process, which is their own in a run: here they are
    put back.
    """
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in os.environ.items():
            patch.setenv(variable, value)
        for module, stand_in in stand_ins.items():
            patch.setitem(sys.modules, module.replace("__", "."), stand_in)
        with modules(*folders(name)) as imported:
            yield imported("adapter")


def made(name: str, module: Any, **changes: Any) -> Any:
    given_there = {**specification(name)["hyperparameters"], **changes}
    return module.Adapter(**{"seed": 0, "threads": 1, **given_there})


def module(name: str, **content: Any) -> ModuleType:
    found = ModuleType(name)
    found.__dict__.update(content)
    return found


def problem(X: Any, *Y: Any, **more: Any) -> Problem:
    names = tuple(f"v{place}" for place in range(X.shape[1]))
    targets = tuple(f"y{place}" for place in range(len(Y)))
    arrays = {"X": X, "Y": np.stack(Y, axis=1)}
    return Problem("table", names, targets, arrays, **more)


def values(equation: str, question: Problem) -> Any:
    columns = dict(zip(question.variables, question.X.T, strict=True))
    return parse(equation, question.variables).evaluate(columns)
