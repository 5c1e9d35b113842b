"""When tests run, and how long one may take."""

import pytest

from tests.tiers import JOURNEYS, TESTS, Tiers

pytest_plugins = ["pytester"]

BUSY = "start = time.process_time()\n    while time.process_time() < start + 0.3: pass"
IDLE = "time.sleep(0.3)"


def run(pytester: pytest.Pytester, *tests: str, plugin: Tiers, marks: str = "") -> pytest.RunResult:
    pytester.makepyfile("\n".join(["import pytest, time", *tests]))
    return pytester.runpytest_inprocess("-p", "no:django", "-m", marks, plugins=[plugin])


def a_test(body: str, mark: str = "", *, number: int = 0) -> str:
    marked = f"@pytest.mark.{mark}\n" if mark else ""
    return f"{marked}def test_{number}():\n    {body}"


@pytest.mark.parametrize(
    ("body", "mark", "is_refused"),
    [
        pytest.param(BUSY, "", True, id="computes"),
        pytest.param(BUSY, "slow", False, id="computes, and is marked"),
        pytest.param(IDLE, "", True, id="waits"),
        pytest.param(IDLE, "browser", False, id="waits for a browser"),
        pytest.param("pass", "", False, id="quick"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnknownMarkWarning")
def test_a_test_that_takes_too_long_needs_a_mark(
    pytester: pytest.Pytester, body: str, mark: str, *, is_refused: bool
) -> None:
    max_wall_s = 0.25 if body == IDLE else 60
    plugin = Tiers(max_cpu_s=0.2, max_wall_s=max_wall_s, is_busy=lambda: False, slowness=lambda: 1)

    result = run(pytester, a_test(body, mark), plugin=plugin)

    result.assert_outcomes(failed=int(is_refused), passed=int(not is_refused))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnknownMarkWarning")
def test_what_is_left_out_is_reported(pytester: pytest.Pytester) -> None:
    marks = ("", "slow", "slow", "fault")
    tests = [a_test("pass", mark, number=number) for number, mark in enumerate(marks)]

    result = run(pytester, *tests, plugin=Tiers(), marks="not slow and not fault")

    result.assert_outcomes(passed=1, deselected=3)
    result.stdout.fnmatch_lines("Left out: *(1 fault, 2 slow)*make test-rest*")


@pytest.mark.parametrize("journey", sorted(JOURNEYS))
def test_each_journey_before_a_commit_exists(journey: str) -> None:
    name, _, function = journey.partition("::")
    (path,) = (TESTS / "journeys").rglob(name)

    assert f"\ndef {function}(" in path.read_text(encoding="utf-8")
