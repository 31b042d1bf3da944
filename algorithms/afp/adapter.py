"""AFP: symbolic regression by age-fitness Pareto optimisation."""

from regressor import AgeFitness


class Adapter(AgeFitness):
    """All of it is shared; the parameters are explained in ``regressor``."""
