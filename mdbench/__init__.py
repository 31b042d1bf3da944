"""mdbench: the benchmark bench for equation discovery."""

import sys

from mdbench.startup import unset, use_common_arithmetic

if "numpy" not in sys.modules:  # NumPy reads it when it is loaded
    use_common_arithmetic()

TYPE_CHECKING = False  # without an import: until the program has begun, Ctrl-C is not caught
if TYPE_CHECKING:
    from mdbench.api import compare, dataset, load, run
    from mdbench.cli.notebook import leaderboard, plot, predict, report, show

__version__ = "0.2.0"
__all__ = [
    "__version__",
    "compare",
    "dataset",
    "leaderboard",
    "load",
    "plot",
    "predict",
    "report",
    "run",
    "show",
]
_COMPUTES = ("dataset", "predict", "run")
_warned: list[str] = []
"""The name at which the warning about NumPy was given: once a process is enough."""
_OF_RESULTS = ("leaderboard", "plot", "predict", "report", "show")


def __getattr__(name: str) -> object:
    # On first use: what they need takes a second to import.
    from mdbench.doors import PYTHON  # noqa: PLC0415 - likewise

    added = name not in __all__
    if added and (name.startswith("_") or name not in PYTHON):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if (added or name in _COMPUTES) and not _warned and (names := unset()):
        _warned.append(name)
        from warnings import warn  # noqa: PLC0415 - likewise

        from mdbench.installation import page  # noqa: PLC0415 - likewise

        warn(
            "NumPy was loaded before mdbench, so that data and scores may have other last digits "
            "than from the command line. Import mdbench first; or set before NumPy is loaded: "
            f"{', '.join(names)} ({page('reproducibility')}).",
            stacklevel=2,
        )
    if added:
        return PYTHON.load(name)
    from importlib import import_module  # noqa: PLC0415 - likewise

    module = "mdbench.cli.notebook" if name in _OF_RESULTS else "mdbench.api"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    from mdbench.doors import PYTHON  # noqa: PLC0415 - on first use

    return sorted([*__all__, *PYTHON.names()])
