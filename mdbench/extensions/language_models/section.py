"""The section of the report on language models: their use, what they knew, transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from mdbench.errors import counted
from mdbench.extensions.language_models.question_report import PROBE_FOLDER
from mdbench.extensions.language_models.transcripts import PAGE_LETTERS, limit_letters, transcripts
from mdbench.extensions.language_models.usage import (
    PROBE_HEADS,
    USAGE_HEADS,
    curves,
    model_tables,
    model_usage,
    probe_rows,
    read_probes,
    usage_row,
)
from mdbench.reports.html import safe_figure
from mdbench.reports.sections import Section, folders_of, templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    import rich.table

    from mdbench.extensions.language_models.contamination import ProbeReport
    from mdbench.reports.sections import Shown


class LanguageModelSection(Section):
    """What was asked of language models, and what they were found to know."""

    folders = (PROBE_FOLDER,)

    def html(self, shown: Shown) -> str:
        """Return the section; empty where nobody has asked a model."""
        probes = _probes(shown)
        rows = [usage_row(used) for used in model_usage(shown.results, shown.boards)]
        asked = transcripts(shown.results, folders_of(shown.places))
        texts, left_out = limit_letters(asked, PAGE_LETTERS)
        if not rows and not probes and not texts:
            return ""
        page = templates(__package__).get_template("section.html.j2")
        figures = curves(shown.results, shown.numbers).values()
        text = page.render(
            heads=USAGE_HEADS,
            rows=rows,
            figures=[safe_figure(figure) for figure in figures],
            probe_heads=PROBE_HEADS,
            probe_rows=probe_rows(probes),
            transcripts={"shown": texts, "left_out": left_out},
            later=shown.later,
            counted=counted,
        )
        return Markup(text)  # noqa: S704 - our own template, which escapes

    def tables(self, shown: Shown) -> Iterator[rich.table.Table]:
        """Yield the tables of use and of probes, where there are some."""
        yield from model_tables(model_usage(shown.results, shown.boards), _probes(shown))


def _probes(shown: Shown) -> list[ProbeReport]:
    return [probe for folder in shown.places for probe in read_probes(folder)]
