"""The control of llmsr: random draws of the grammar in place of replies."""

from program_islands import IslandSearch


class Adapter(IslandSearch):
    """All but the replies is that of ``llmsr``, and is explained in ``program_islands``."""

    nollm = True
