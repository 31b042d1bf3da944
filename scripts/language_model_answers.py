"""Write the page of what each kind of answer of an endpoint leads to, from runs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
OF_MODELS = TESTS / "extensions" / "language_models" / "support"
sys.path[:0] = [str(ROOT), str(TESTS / "support"), str(OF_MODELS)]

from harness import make_workspace  # noqa: E402 - from the folder above
from language_loops import LOOPS  # noqa: E402
from model_answers import BY_THE_SERVER, CALLS, GROUPS, row, run_mode  # noqa: E402

PAGE = ROOT / "docs" / "results" / "language-model-answers.md"
ABOUT = """# What answers of an endpoint lead to

{finding}

Each row is a mode of the mock server of the tests, in which it answers every request; some are
modes of `mdbench llm stub`.
Each method was run on one system with a budget of {calls} completions.  The endpoint was given up
after 0.2 s.  What is `unavailable` is done again by the next run.  A method that `failed` got texts
from its model of which none has a formula, or no text.  Those that are `ok` there answer with the
program that their search begins with.  This page is written by `scripts/language-model-answers`.
"""


def main() -> None:
    """Run all modes, and write the page."""
    os.environ["MDBENCH_METHODS"] = str(ROOT / "algorithms")
    rows: dict[str, list[str]] = {}
    statuses: Counter[tuple[bool, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        place, home = Path(folder) / "workspace", Path(folder) / "home"
        place.mkdir()
        home.mkdir()
        workspace = make_workspace(place, home)
        for group, modes in GROUPS.items():
            for mode in modes:
                records = run_mode(mode, workspace, Path(folder) / mode)
                rows.setdefault(group, []).append(row(mode, records))
                statuses.update((mode in BY_THE_SERVER, str(each.status)) for each in records)
                print(rows[group][-1], flush=True)
    count = sum(map(len, rows.values()))
    servers = {status: n for (by_server, status), n in statuses.items() if by_server}
    finding = (
        f"Of {count} kinds of answers, {len(BY_THE_SERVER)} are the server's doing: of "
        f"{sum(servers.values())} jobs with these, {servers.get('failed', 0)} are `failed`, "
        + ", ".join(f"{n} `{status}`" for status, n in sorted(servers.items()) if n)
        + "."
    )
    text = ABOUT.format(finding=finding, calls=CALLS)
    head = f"| mode | the endpoint gives | {' | '.join(LOOPS)} | the user reads |"
    for group, lines in rows.items():
        text += f"\n## {group}\n\n{head}\n{'|---' * (len(LOOPS) + 3)}|\n" + "\n".join(lines) + "\n"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
