"""mdbench: the benchmark bench for equation discovery."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdbench.api import compare, dataset, load, run

__version__ = "0.2.0"
__all__ = ["__version__", "compare", "dataset", "load", "run"]


def __getattr__(name: str) -> object:
    # On first use: what they need takes a second to import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mdbench import api  # noqa: PLC0415

    return getattr(api, name)
