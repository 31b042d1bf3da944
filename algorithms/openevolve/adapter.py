"""OpenEvolve, own form: MAP-Elites on islands, programs rewritten by a language model."""

from program_archive import ArchiveSearch


class Adapter(ArchiveSearch):
    """All of it is shared; the parameters are explained in ``program_archive``."""
