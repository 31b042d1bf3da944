"""Main effects of a factorial: by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reporting import result
from whose_merit import (
    CHOICES,
    DERIVATIVES,
    cells,
    conditions_table,
    effects_table,
    finding_of_merit,
)

from mdbench.records import Status

if TYPE_CHECKING:
    from mdbench.records import Record


def factorial(
    system: str, found: set[tuple[str, str]], snr_db: float | None = None
) -> list[Record]:
    """Return the records of one system, identified under some conditions."""
    return [
        result(
            "sindy",
            system,
            verdict="identified" if (way, who) in found else None,
            snr_db=snr_db,
            options={"derivatives": way} | ({"choice": who} if who == "own" else {}),
        )
        for way in DERIVATIVES
        for who in CHOICES
    ]


BEST, ALONE, TRUE = ("smooth", "benchmark"), ("fd", "own"), ("exact", "benchmark")


def five() -> list[Record]:
    """Five systems: each identified with smoothing and the benchmark's choice, the first one
    without both, too, and two others with true derivatives and the benchmark's choice."""
    found = [{BEST, ALONE}, {BEST, TRUE}, {BEST, TRUE}, {BEST}, {BEST}]
    return [one for place, each in enumerate(found) for one in factorial(f"s{place}", each)]


def test_counts_stand_under_their_conditions() -> None:
    head, _, line = conditions_table(five()).splitlines()
    assert head.endswith(
        "| fd, own | fd, benchmark | smooth, own | smooth, benchmark | exact, own "
        "| exact, benchmark |"
    )
    assert line == "| ode | sindy § | clean | 5 | 1 | 0 | 0 | 5 | 0 | 2 |"


def test_effects_are_mean_differences_of_the_share_identified() -> None:
    *_, line = effects_table(five()).splitlines()
    cells_ = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells_[:4] == ["ode", "sindy §", "5", "30"]
    # Of ten jobs each fd has 1, smooth 5 and exact 2; of fifteen each own has 1, benchmark 7.
    assert [cell.split(" ")[0] for cell in cells_[4:7]] == ["+40", "+10", "+40"]
    assert all("…" in cell for cell in cells_[4:7])
    assert cells_[7:] == ["5", "1"]


def test_a_system_that_lacks_a_condition_is_left_out_and_a_failure_is_not() -> None:
    ones = five()
    ones[0] = ones[0].model_copy(update={"status": Status.FAILED, "metrics": {}})
    ones[-1] = ones[-1].model_copy(update={"status": Status.INTERRUPTED})
    (cell,) = cells(ones).values()
    assert cell.systems == ("s0", "s1", "s2", "s3")
    assert cell.left_out == 1
    assert not cell.identified[0, 0, 0]
    assert "[" not in effects_table(ones)  # no interval of fewer than five


def test_a_factorial_that_is_not_done_has_no_effects_and_is_said_so() -> None:
    clean = [one for place in (0, 1) for one in factorial(f"s{place}", {BEST, ALONE})]
    noisy = [one for place in (2, 3) for one in factorial(f"s{place}", {BEST}, 40.0)]
    assert len(effects_table([*clean, *noisy]).splitlines()) == 2  # no system has both levels
    assert "No method has all conditions" in finding_of_merit(clean[:-1][:5])
    assert "`sindy` 4 and 2 of 4" in finding_of_merit([*clean, *noisy])


def test_levels_of_noise_are_cells_of_their_own_and_pooled_in_the_effects() -> None:
    noisy = [one for place in range(5) for one in factorial(f"s{place}", {BEST}, 40.0)]
    lines = conditions_table([*noisy, *five()]).splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == ["clean", "40 dB"]
    *_, line = effects_table([*noisy, *five()]).splitlines()
    assert "| 5 | 60 |" in line
    assert line.endswith("| 10 | 1 |")
