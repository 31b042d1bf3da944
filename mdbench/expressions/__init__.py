"""Text to equation, safely: reading, evaluating, and counting complexity.

What a method calls an equation is untrusted.  It is read by a small grammar of our own with
limits on everything, and never given to ``eval`` or to SymPy's parser.  Importing this package
does not import SymPy.
"""

from mdbench.expressions.equation import Equation, parse

__all__ = ["Equation", "parse"]
