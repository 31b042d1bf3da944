"""Direct: one question to a language model, best of n, constants fitted."""

from single_question import SingleQuestion


class Adapter(SingleQuestion):
    """All of it is shared; the parameters are explained in ``single_question``."""
