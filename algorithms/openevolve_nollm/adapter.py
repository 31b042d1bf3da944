"""The control of openevolve: random draws of the grammar in place of replies."""

from program_archive import ArchiveSearch


class Adapter(ArchiveSearch):
    """All but the replies is that of ``openevolve``, and is explained in ``program_archive``."""

    nollm = True
