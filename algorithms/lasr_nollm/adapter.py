"""The control of lasr: random draws of the grammar in place of replies."""

from library_evolution import LibrarySearch


class Adapter(LibrarySearch):
    """All but the replies is that of ``lasr``, and is explained in ``library_evolution``."""

    nollm = True
