"""The control of sga: random draws of the grammar in place of replies."""

from class_feedback import FeedbackSearch


class Adapter(FeedbackSearch):
    """All but the replies is that of ``sga``, and is explained in ``class_feedback``."""

    nollm = True
