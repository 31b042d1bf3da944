"""Is this equation right?  A library that reads equations safely and compares them with the truth.

What a method calls an equation is untrusted.  It is read by a small grammar of our own with
limits on everything, and never given to ``eval`` or to SymPy's parser.  Importing this package
imports neither SymPy nor NumPy.

Examples
--------
>>> import eqverdict
>>> eqverdict.compare("2*x0*x1", "x1*(x0 + x0*1.001)").identified
True
>>> eqverdict.compare("2*x0*x1", "x0*x1 + x0").identified
False
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eqverdict.equation import Equation, parse
    from eqverdict.scores import Comparison, compare

__version__ = "0.2.0"
__all__ = ["Comparison", "Equation", "__version__", "compare", "parse"]


def __getattr__(name: str) -> object:
    # On first use: who needs the errors alone does not wait for NumPy.
    from importlib import import_module  # noqa: PLC0415

    if name in {"Equation", "parse"}:
        return getattr(import_module("eqverdict.equation"), name)
    if name in {"Comparison", "compare"}:
        return getattr(import_module("eqverdict.scores"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
