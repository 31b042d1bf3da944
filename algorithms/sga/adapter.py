"""SGA: a language model proposes laws, Adam fits them, and the model gets the results."""

from class_feedback import FeedbackSearch


class Adapter(FeedbackSearch):
    """All of it is shared; the parameters are explained in ``class_feedback``."""
