"""LLM-SR: programs on islands, continued by a language model."""

from program_islands import IslandSearch


class Adapter(IslandSearch):
    """All of it is shared; the parameters are explained in ``program_islands``."""
