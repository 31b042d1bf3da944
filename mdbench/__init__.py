"""mdbench: the benchmark bench for equation discovery."""

__version__ = "0.1.0"
__all__ = ["__version__"]
