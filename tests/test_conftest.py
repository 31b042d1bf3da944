from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mdbench.worker.serve import kernel_and_threads

if TYPE_CHECKING:
    from collections.abc import Callable

pytest_plugins = ["pytester"]
CONFTEST = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8")
TESTS = {
    "in a test": """
        import pytest
        def test_it():
            pytest.skip({reason!r})
    """,
    "by a mark": """
        import pytest
        @pytest.mark.skipif(True, reason={reason!r})
        def test_it(): ...
    """,
    "of a module": """
        import pytest
        pytest.skip({reason!r}, allow_module_level=True)
    """,
}


@pytest.fixture
def run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str, str], pytest.RunResult]:
    def run(test: str, reason: str, ci: str) -> pytest.RunResult:
        monkeypatch.setenv("CI", ci)
        pytester.makeconftest(CONFTEST)
        pytester.makepyfile(TESTS[test].format(reason=reason))
        return pytester.runpytest_inprocess("-ra", "-p", "no:cacheprovider")

    return run


@pytest.mark.parametrize("test", TESTS)
def test_an_unstated_skip_fails_on_a_ci_machine(
    run: Callable[[str, str, str], pytest.RunResult], test: str
) -> None:
    result = run(test, "it is Monday", "true")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*skipped on a CI machine: it is Monday"])


@pytest.mark.parametrize("test", TESTS)
def test_a_stated_skip_passes_on_a_ci_machine_and_its_reason_is_printed(
    run: Callable[[str, str, str], pytest.RunResult], test: str
) -> None:
    result = run(test, "no GPU: nvidia-smi does not answer", "true")
    assert result.ret in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    result.stdout.fnmatch_lines(["SKIPPED*no GPU: nvidia-smi does not answer"])


def test_any_skip_passes_elsewhere(
    run: Callable[[str, str, str], pytest.RunResult],
) -> None:
    assert run("in a test", "it is Monday", "").ret == 0


def test_tests_compute_with_one_thread_as_the_command_does() -> None:
    """Else what they compute differs in its last digits from what other processes do."""
    wanted = int(os.environ["OPENBLAS_NUM_THREADS"])
    assert kernel_and_threads()[1] in {None, wanted}  # None: another library than OpenBLAS


@pytest.mark.parametrize(
    ("lane", "passed"), [("--fast", 1), ("--slow", 4), ("--nightly", 1), ("", 5)]
)
def test_each_test_is_in_one_lane(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, lane: str, passed: int
) -> None:
    monkeypatch.setenv("CI", "")
    pytester.makeconftest(CONFTEST)
    marks = ["slow", "engine", "browser", "build", "nightly"]
    pytester.makeini("[pytest]\nmarkers =\n" + "\n".join(f"    {mark}: it is" for mark in marks))
    tests = [f"@pytest.mark.{mark}\ndef test_{mark}(): pass\n" for mark in marks]
    pytester.makepyfile("import pytest\n" + "".join(tests) + "def test_quick(): pass\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *filter(None, [lane]))
    result.assert_outcomes(passed=passed, deselected=6 - passed)


def test_each_run_tries_one_of_the_values_that_are_in_turn(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "")
    pytester.makeconftest(CONFTEST)
    marks = ("in_turn", "nightly")
    pytester.makeini("[pytest]\nmarkers =\n" + "\n".join(f"    {mark}: it is" for mark in marks))
    tests = "\n".join(f"def test_{number}(way, other): pass" for number in range(20))
    pytester.makepyfile(
        "import pytest\n"
        "pytestmark = [pytest.mark.in_turn(among=('a', 'b')),"
        " pytest.mark.parametrize('other', (1, 2)),"
        " pytest.mark.parametrize('way', ('a', 'b', 'always'))]\n" + tests
    )
    tried: list[set[str]] = []
    for lane in ("", "--nightly"):
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", *filter(None, [lane]))
        words = (word for line in result.outlines for word in line.split() if "PASSED" in line)
        tried.append({word.partition("::")[2] for word in words if "::" in word})
    each_run, at_night = tried
    assert len(each_run) == 20 * 2 * 2
    assert len(at_night) == 20 * 2
    assert not each_run & at_night
    for way in ("a", "b"):  # each has its turn
        assert 10 < sum(f"-{way}]" in name for name in each_run) < 30
    assert sum("-always]" in name for name in each_run) == 40


def test_a_share_is_a_part_and_the_same_each_time(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("\n".join(f"def test_{number}(): pass" for number in range(200)))
    shares = [
        pytester.runpytest_inprocess("-p", "no:cacheprovider", "--share=0.25") for _ in range(2)
    ]
    passed = [result.parseoutcomes()["passed"] for result in shares]
    assert passed[0] == passed[1]
    assert 30 < passed[0] < 70


def test_files_without_a_test_of_the_lane_are_not_imported(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n    slow: it is")
    pytester.makepyfile(
        test_fast="raise RuntimeError",
        test_slow="import pytest\n@pytest.mark.slow\ndef test_it(): pass",
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--slow").assert_outcomes(passed=1)
