"""The control of direct: random draws of the grammar in place of replies."""

from single_question import SingleQuestion


class Adapter(SingleQuestion):
    """All but the replies is that of ``direct``, and is explained in ``single_question``."""

    nollm = True
