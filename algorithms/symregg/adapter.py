"""symregg: symbolic regression by equality graphs, the best expression grown first."""

from __future__ import annotations

from egraph_rounds import EGraphRounds
from symregg import SymRegg


class Adapter(EGraphRounds):
    """One search a target; its parameters are those of ``SymRegg``."""

    package = "symregg"
    estimator = SymRegg
