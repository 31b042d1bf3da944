"""What the help of a verb says of options that only some data types have."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["OpenCommand"]


class OpenCommand(TyperCommand):
    """A verb that leaves options it does not know to the data type, and lists them in its help."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each data type with options of its own.

        The data types are imported here and not before: they bring SciPy.
        """
        from mdbench.datatypes import classes

        super().format_epilog(ctx, formatter)
        for kind in classes():
            rows = [
                (option.name + (" VALUE" if option.takes_value else ""), option.help)
                for option in kind.options
            ]
            rows += [(f"--variant {name}", "As above.") for name in kind.variants]
            if kind.subsampled_views:
                views = " or ".join(kind.subsampled_views)
                rows.append(("--max-rows N", f"As above, for methods with the view {views}."))
            if rows:
                with formatter.section(f"With --data-type {kind.name}"):
                    formatter.write_dl(rows)
