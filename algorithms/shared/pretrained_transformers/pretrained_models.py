"""Common part of pretrained transformers for equations: weights, trees, an older PyTorch.

ODEFormer, E2E and TPSR share code of their authors', so that one parser serves all.
"""

from __future__ import annotations

import pickle
import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mdbench.worker import Unavailable, paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "byte_masks",
    "device",
    "given",
    "import_from",
    "in_calls",
    "load_pickled",
    "seed_all",
]

_BINARY = {"add", "sub", "mul", "div", "pow"}
_UNARY = {
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
    *("exp", "log", "sqrt", "abs", "neg", "inv", "id", "pow2", "pow3"),
}


def given(method: str, name: str, what: str) -> Path:
    """Return a path from the user's settings.

    Raises
    ------
    Unavailable
        If there is none.
    """
    if name not in paths:
        raise Unavailable(f"give {what} as paths.{name} in $MDBENCH_SETTINGS/{method}.toml")
    return paths[name]


def import_from(folder: Path, *needed: str) -> None:
    """Let a checkout be imported.

    Parameters
    ----------
    needed
        Files or folders that are in it.

    Raises
    ------
    Unavailable
        If one is not.
    """
    missing = [name for name in needed if not (folder / name).exists()]
    if missing:
        raise Unavailable(f"paths.checkout has no {missing[0]}: is it the checkout's root folder?")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def seed_all(seed: int, threads: int) -> None:
    """Seed all generators of the authors' code, and set the number of PyTorch's threads."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the code draws from it
    torch.manual_seed(seed)
    torch.set_num_threads(threads)


def device() -> torch.device:
    """Return the GPU where PyTorch finds one, and else the processor; the log names it."""
    found = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"device: {found}")  # noqa: T201 - for the log
    return found


def load_pickled(file: Path, where: torch.device, *attributes: str) -> Any:
    """Load a whole model, as these authors publish it: a pickle, which may run code.

    Parameters
    ----------
    attributes
        Attributes that it must have.

    Raises
    ------
    Unavailable
        If it is none.
    """
    try:
        model = torch.load(file, map_location=where, weights_only=False)
    except (OSError, RuntimeError, EOFError, AttributeError, ImportError) as error:
        raise Unavailable(f"paths.weights: no model: {type(error).__name__}: {error}") from error
    except (pickle.UnpicklingError, ValueError, KeyError) as error:
        raise Unavailable(f"paths.weights: no model: {error}") from error
    missing = [name for name in attributes if not hasattr(model, name)]
    if missing:
        raise Unavailable(
            f"paths.weights is a {type(model).__name__} without {missing[0]!r}, and no whole model"
        )
    return model


@contextmanager
def byte_masks() -> Iterator[None]:
    """Accept masks of bytes, which newer versions of PyTorch refuse."""
    own = torch.Tensor.masked_fill_

    def masked_fill_(tensor: torch.Tensor, mask: torch.Tensor, value: Any) -> torch.Tensor:
        return own(tensor, mask.bool(), value)

    torch.Tensor.masked_fill_ = masked_fill_
    try:
        yield
    finally:
        torch.Tensor.masked_fill_ = own


def in_calls(prefix: str) -> list[str]:
    """Write trees in prefix order, one a component, as calls: ``add,x_0,1|sin,x_1``.

    What these packages print lacks brackets: a - (b + c) is printed as a - b + c.

    Raises
    ------
    ValueError
        If a component is no expression.

    Examples
    --------
    >>> in_calls("sub,x_0,add,x_1,2.5,|,inv,x_1")
    ['sub(x_0,add(x_1,2.5))', 'inv(x_1)']
    """
    found = []
    for component in prefix.split("|"):
        words = [word for word in component.split(",") if word]
        text, rest = _call(words)
        if rest:
            raise ValueError(f"{prefix[:80]!r} has ended before {rest[0]!r}")
        found.append(text)
    return found


def _call(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    if not words:
        raise ValueError("an expression lacks its end")
    name, rest = words[0], words[1:]
    if name in _UNARY:
        inner, rest = _call(rest)
        return f"{name}({inner})", rest
    if name in _BINARY:
        left, rest = _call(rest)
        right, rest = _call(rest)
        return f"{name}({left},{right})", rest
    return name, rest
