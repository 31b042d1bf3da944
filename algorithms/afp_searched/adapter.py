"""Random search of the hyperparameters of afp."""

from random_search import RandomSearch


class Adapter(RandomSearch):
    """All of it is shared; the parameters are explained in ``random_search``."""
