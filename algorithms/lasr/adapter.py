"""LaSR: genetic programming with a library of concepts of a language model."""

from library_evolution import LibrarySearch


class Adapter(LibrarySearch):
    """All of it is shared; the parameters are explained in ``library_evolution``."""
