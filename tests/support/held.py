"""What each way of isolation holds, and the tests that show it: docs/isolation.md has the table.

.venv-dev/bin/python tests/support/held.py        # writes it again
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "isolation.md"
BEGIN, END = "<!-- begin: tests/support/held.py -->\n", "<!-- end -->\n"
SAME = "the same"


@dataclass(frozen=True)
class Held:
    """One thing that a job may try.

    Attributes
    ----------
    deed
        What it is.
    docker, room, plain, bare
        What comes of it in containers, in bubblewrap's rooms, and as plain processes with and
        without namespaces of the job's own.
    tests
        The names of the tests that show it.
    """

    deed: str
    docker: str
    room: str
    plain: str
    bare: str
    tests: tuple[str, ...]


HELD = (
    Held(
        "put a link in its folder's place, so that the bench writes or reads elsewhere",
        "hard: cannot",
        "hard: cannot",
        "hard: cannot",
        "it can, and leads nobody anywhere; the job fails",
        (
            "test_a_link_in_place_of_the_jobs_folder_leads_the_bench_nowhere",
            "test_a_job_without_a_folder_is_its_own_trouble",
        ),
    ),
    Held(
        "leave files for the next job, in its folder, `/tmp`, `/dev/shm` or elsewhere",
        "removed",
        "removed",
        "its folder is emptied, the rest read-only",
        "its folder is emptied; the rest **not held**",
        ("test_nothing_is_left_for_the_next_job", "test_no_job_can_send_anything_to_the_next_one"),
    ),
    Held(
        "write outside its folder",
        "256 MiB each in `/tmp` and `/dev/shm`",
        SAME,
        "256 MiB in `/dev/shm`",
        "**not held**: anywhere the user may write, and not counted",
        (
            "test_nothing_is_written_next_to_the_jobs_folder",
            "test_what_one_job_does_to_the_machine_the_next_does_not_feel",
        ),
    ),
    Held(
        "put files into another job's folder",
        "hard: cannot",
        "hard: cannot",
        "hard: cannot",
        "**not held**: what is in the way of a job is that job's record (`invalid_output`), and "
        "ends no run",
        (
            "test_what_is_planted_is_found_by_nobody_else",
            "test_what_the_import_plants_is_in_nobodys_way",
        ),
    ),
    Held(
        "write more than `--max-output`, or a terabyte of nothing",
        "one file: hard; together: soft",
        SAME,
        SAME,
        "one file: hard; its own folder: soft",
        (
            "test_output_has_a_limit",
            "test_output_is_looked_at_while_messages_come",
            "test_what_one_job_does_to_the_machine_the_next_does_not_feel",
        ),
    ),
    Held(
        "nest folders so deep that nobody can remove them",
        "removed",
        "removed",
        "removed",
        "removed",
        ("test_folders_in_folders_stop_nobody",),
    ),
    Held(
        "pass something to another job: System V IPC, message queues, the worker's memory",
        "hard: refused",
        "hard: refused",
        "hard: refused",
        "hard: refused",
        ("test_no_job_can_send_anything_to_the_next_one", "test_what_no_method_needs_is_refused"),
    ),
    Held(
        "pass something to another job by what its import left: threads, files, shared memory",
        "seen: each job imports again",
        SAME,
        SAME,
        SAME,
        ("test_no_job_can_send_anything_to_the_next_one",),
    ),
    Held(
        "patch the worker at import, so that it serves the jobs otherwise",
        "held by `--fresh-sandbox`, the default for folders outside the project",
        SAME,
        SAME,
        SAME,
        ("test_each_job_can_have_a_new_sandbox",),
    ),
    Held(
        "make namespaces or mounts, debug, use kernel keys",
        "hard: refused",
        "hard: refused",
        "hard: refused",
        "hard: refused",
        ("test_what_no_method_needs_is_refused",),
    ),
    Held(
        "end or stop its worker, or everything at once (`kill -9 -1`)",
        "hard: refused",
        "hard: refused",
        "hard: refused",
        "hard: refused; other processes of the user, one by one: **not held**",
        (
            "test_a_job_cannot_end_its_worker",
            "test_what_one_job_does_to_the_machine_the_next_does_not_feel",
        ),
    ),
    Held(
        "hide what it costs",
        "hard: the kernel counts",
        "hard with a cgroup; else seen in looks at /proc",
        SAME,
        SAME,
        ("test_costs_are_measured_from_outside",),
    ),
    Held(
        "take more cores than it was given (`sched_setaffinity`)",
        *("hard: refused",) * 4,
        ("test_no_job_takes_more_cores_than_it_was_given",),
    ),
    Held(
        "do its work at import, which is before it has begun",
        "what an import takes beyond the first one's counts",
        *(SAME,) * 3,
        ("test_what_an_import_takes_beyond_the_first_one_is_a_jobs_work",),
    ),
    Held(
        "let children die for want of memory, and answer",
        "`out_of_memory`",
        *("`out_of_memory` with a cgroup; else if it is seen",) * 3,
        ("test_a_child_that_memory_killed_is_no_answer",),
    ),
    Held(
        "compute on while the bench weighs its candidates",
        "soft: stopped, and looked at",
        SAME,
        SAME,
        SAME,
        ("test_while_the_clock_stands_the_job_stands",),
    ),
    Held(
        "report that it has ended, and stay",
        "seen: the next job gets another worker",
        SAME,
        SAME,
        SAME,
        ("test_a_job_that_only_states_that_it_ended_is_not_there_in_the_next",),
    ),
    Held(
        "outlive a bench that is killed",
        "hard: cannot",
        "hard: cannot",
        "hard: cannot",
        "ended by its worker",
        (
            "test_kill_9_of_the_bench_leaves_nothing_and_costs_nothing",
            "test_kill_9_of_the_bench_ends_a_job_where_somebody_holds_its_pipes",
        ),
    ),
)


def with_table(text: str) -> str:
    """Return the document with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    head = (
        "| what a job may try | `docker` | `venv` with bubblewrap | plain, with namespaces "
        "| plain, without |\n|---|---|---|---|---|\n"
    )
    rows = "".join(
        f"| {each.deed} | {each.docker} | {each.room} | {each.plain} | {each.bare} |\n"
        for each in HELD
    )
    return f"{before}{BEGIN}{head}{rows}{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
