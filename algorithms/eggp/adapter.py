"""eggp: genetic programming that keeps all that it has seen in an e-graph."""

from __future__ import annotations

import os

os.environ["GHCRTS"] = "-N1"  # read when the package is first called: one thread

from eggp import EGGP
from egraph_rounds import EGraphRounds


class Adapter(EGraphRounds):
    """One search a target; its parameters are those of ``EGGP``."""

    package = "eggp"
    estimator = EGGP
