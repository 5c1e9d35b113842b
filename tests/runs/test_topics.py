"""Ready by topic: what each topic of an agent says, from rows."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import get_args

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evals_app.engine.statistics.trust import Standing
from evals_app.library.baselines import set_baseline
from evals_app.library.shipping import accept_failures, set_readiness
from evals_app.models import Agent, Case, GradeResult, Suite, TopicReadiness
from evals_app.reports.answers.topics.topic_json import topic_json
from evals_app.reports.answers.topics.topic_words import STATES, ReadinessState
from evals_app.runs.reviews.reviewing import review_grade
from evals_app.runs.topics import TopicStanding, topics_of
from tests.labels import judged_answer, label, make_yardstick
from tests.makers import make_run, make_suite
from tests.runs import suites as run_suites

pytestmark = pytest.mark.django_db


def write_cases(suite: Suite, tagged: Mapping[str, str]) -> None:
    """Write cases of a suite: their names, and their tags with spaces between."""
    for name, tags in tagged.items():
        Case.objects.create(suite=suite, name=name, tags=tags.split())


def by_name() -> dict[str, TopicStanding]:
    return {topic.name: topic for topic in topics_of(Agent.objects.get()).topics}


def sentences() -> dict[str, str]:
    """Return the answers about the topics of the only agent, without “(scripted)”."""
    return {
        name: topic_json(topic, today=date(2026, 1, 1))["sentence"].replace(" (scripted)", "", 1)
        for name, topic in by_name().items()
    }


def test_each_topic_has_its_own_answer() -> None:
    suite = make_suite()
    write_cases(suite, {"A": "returns", "B": "returns sizes", "C": "sizes", "D": ""})
    set_baseline(make_run({name: ["passed"] * 3 for name in "ABCD"}))
    make_run({"A": ["failed"] * 3, **{name: ["passed"] * 3 for name in "BCD"}})

    found = by_name()

    assert sentences() == {
        "returns": "Not yet: 1 case got worse.",
        "sizes": "Yes: None of the 2 compared cases got worse.",
    }
    assert [(topic.check.exit_code, topic.cases) for topic in found.values()] == [
        (1, (1, 1, 0, 0, 0)),
        (0, (2, 0, 0, 0, 0)),
    ]


def test_the_tags_of_a_suite_are_those_of_all_its_cases() -> None:
    write_cases(make_suite(tags=["desk"]), {"A": "returns", "B": ""})
    make_run({"A": ["passed"], "B": ["failed"]})

    assert sentences() == {
        "desk": "No: 1 case failed, and all must pass.",
        "returns": "Yes: 1 of 1 case passed.",
    }


def test_the_gravest_suite_counts_and_is_named() -> None:
    first = make_suite("first")
    second = make_suite("second", agent=first.agent)
    for suite in (first, second):
        write_cases(suite, {"A": "returns"})
        make_run({"A": ["passed" if suite == first else "failed"]}, suite=suite)

    (topic,) = by_name().values()

    assert sentences() == {"returns": "No: Second: 1 case failed, and all must pass."}
    assert topic.cases == (1, 1, 0, 0, 0)
    assert [suite.slug for suite in topic.suites] == ["first", "second"]


def test_cases_that_have_not_run_leave_a_topic_open() -> None:
    suite = make_suite()
    run = make_run({"A": ["passed"]})
    write_cases(suite, {"A": "returns", "B": "returns", "C": "warranty"})
    expected = {
        "returns": "Not yet: 1 of 2 cases has not run.",
        "warranty": "Not yet: 1 of 1 case has not run.",
    }
    assert sentences() == expected

    set_baseline(run)  # what is released says no more of them

    assert sentences() == expected
    assert by_name()["warranty"].cases == (0, 0, 0, 0, 1)


def test_disabled_cases_and_archived_suites_have_no_topics() -> None:
    suite = make_suite()
    write_cases(suite, {"A": "returns", "B": "sizes"})
    Case.objects.filter(name="B").update(enabled=False)
    assert list(by_name()) == ["returns"]

    Suite.objects.archive()

    assert by_name() == {}


def test_a_suite_that_never_ran_says_so() -> None:
    write_cases(make_suite(), {"A": "returns"})

    assert sentences() == {"returns": "Not yet: The suite has not been run as a whole."}
    assert by_name()["returns"].last_runs == []


def test_gates_of_a_suite_do_not_count() -> None:
    suite = make_suite(max_regressions=5)
    write_cases(suite, {"A": "returns", "B": "sizes", "C": "sizes"})
    set_baseline(make_run({name: ["passed"] * 3 for name in "ABC"}))
    run = make_run({"A": ["passed"] * 3, "B": ["failed"] * 3, "C": ["passed"] * 3})
    run.summary["gates"] = [{"name": "pass_rate", "limit": 0.9, "actual": 0.5, "passed": False}]
    run.save()

    assert sentences() == {
        "returns": "Yes: The one compared case did not get worse.",
        "sizes": "Not yet: 1 case got worse.",
    }


def test_the_last_whole_runs_are_told_oldest_first() -> None:
    write_cases(make_suite(), {"A": "returns", "B": "returns", "C": "sizes"})
    ways = ["failed", "passed", "errored", "passed", "passed", "passed"]
    runs = [make_run({"A": [way], "B": ["passed"], "C": ["passed"]}) for way in ways]
    make_run({"A": ["failed"]}, case_count=1)  # not a whole one

    told = [
        (run.run, run.cases.passed, run.cases.decided) for run in by_name()["returns"].last_runs
    ]

    assert told == [
        (runs[1].pk, 2, 2),
        (runs[2].pk, 1, 1),
        *((run.pk, 2, 2) for run in runs[3:]),
    ]


def test_failures_that_people_accepted_count() -> None:
    write_cases(make_suite(), {"A": "returns", "B": "returns sizes", "C": "returns sizes"})
    run = make_run({"A": ["failed"], "B": ["failed"], "C": ["passed"]})
    accept_failures(run, ["B"], by=User.objects.create_user("ana"), reason="Known.")

    assert sentences() == {
        "returns": "No: 1 case failed, and all must pass.",
        "sizes": "Yes: 1 known failure, accepted until it passes again.",
    }


def test_grades_that_people_overruled_count() -> None:
    suite = run_suites.make_suite(["hello", "bye"])
    suite.cases.update(tags=["returns"])
    run = run_suites.finished(suite)
    assert by_name()["returns"].cases == (1, 1, 0, 0, 0)

    grade = GradeResult.objects.get(execution__run=run, passed=False)
    review_grade(grade, by=User.objects.create_user("ana"), passed=True)

    (topic,) = by_name().values()
    assert (topic.check.answer, topic.cases) == ("yes", (2, 0, 0, 0, 0))
    assert [told.cases.passed for told in topic.last_runs] == [2]


def test_a_judge_counts_for_the_topics_of_its_cases() -> None:
    write_cases(make_suite(), {"A": "returns", "B": "sizes", "C": "other"})
    head = make_run({"A": ["passed"], "B": ["passed"], "C": ["passed"]})
    doubted, new = make_yardstick("Is polite"), make_yardstick("Is short")
    labels = make_run({"Labels": ["passed"]}, is_tryout=True)
    for number in range(20):
        label(doubted, person=True, judge=number > 4, run=labels)
    judged_answer(doubted, run=head, case="A", number=2)
    judged_answer(new, run=head, case="B", number=2)

    found = by_name()

    standings = {name: topic.judge and topic.judge.standing for name, topic in found.items()}
    assert standings == {
        "other": None,
        "returns": Standing.WORSE,
        "sizes": Standing.NOT_COMPARED,
    }
    assert sentences()["returns"] == "Not yet: The judge cannot be trusted with this."
    assert sentences()["sizes"].startswith("Yes")


def test_the_newest_word_on_a_topic_counts() -> None:
    write_cases(make_suite(), {"A": "returns"})
    agent, user = Agent.objects.get(), User.objects.create_user("ana")
    for state in ("ready", "limited"):
        set_readiness(agent, "returns", known=["returns"], state=state, by=user, note="Unopened.")
    TopicReadiness.objects.create(agent=agent, topic="gone", state="ready", by_name="ana")

    topics = topics_of(agent)

    (topic,) = topics.topics
    assert topic.readiness is not None
    assert topic.readiness.state == "limited"
    assert [row.topic for row in topics.without_cases] == ["gone"]
    assert topics.find("returns") is topic
    assert topics.find("gone") is None


def test_a_day_that_has_passed_is_over() -> None:
    today = timezone.now().date()
    readiness = TopicReadiness(until=today)

    assert not readiness.is_over(today)
    assert readiness.is_over(today + timedelta(days=1))


def test_many_topics_cases_and_suites_take_no_more_queries() -> None:
    def ask() -> int:
        agent = Agent.objects.get()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            topics_of(agent)
        return len(queries)

    def write(number: int) -> None:
        suite = make_suite(f"suite-{number}", agent=Agent.objects.first())
        names = [f"case {place}" for place in range(3)]
        write_cases(suite, {name: f"all topic-{number}-{name[-1]}" for name in names})
        set_baseline(make_run({name: ["passed"] for name in names}, suite=suite))
        run = make_run({name: ["failed"] for name in names}, suite=suite)
        judged_answer(make_yardstick(f"Polite {number}"), run=run)
        accept_failures(run, names[:1], by=user, reason="Known.")

    user = User.objects.create_user("ana")
    write(0)
    few = ask()
    for number in range(1, 6):
        write(number)

    assert ask() == few <= 12


def test_answers_and_rows_know_the_same_states() -> None:
    assert dict(TopicReadiness.State.choices) == STATES
    assert get_args(ReadinessState) == tuple(STATES)
