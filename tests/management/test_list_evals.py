import json
import re
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.commands.list_evals import listed_suites
from evals_app.models import Agent, Suite
from tests.authored import a_case, write_suite
from tests.makers import make_run

pytestmark = pytest.mark.django_db

ENDED = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


def listed(*arguments: str) -> str:
    out = StringIO()
    call_command("list_evals", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def slugs(**chosen: str) -> list[str]:
    return [suite.slug for suite, _ in listed_suites(**chosen)]


def test_suites_are_listed_with_how_they_did() -> None:
    refunds = write_suite([a_case("a"), a_case("b")], tags=["money", "smoke"])
    write_suite(slug="empty")
    make_run(["failed"], suite=refunds)
    make_run(["passed"], suite=refunds, finished_at=ENDED)
    tried = make_run(["failed"], suite=refunds, is_tryout=True)
    make_run(["running"], suite=refunds)
    only = make_run(["passed"], suite=write_suite(slug="tried"), is_tryout=True)

    head, *rows = (re.split("  +", line) for line in listed().splitlines())
    assert head == ["Suite", "Agent", "Cases", "Tags", "Last run", "Ended", "Later"]
    assert rows == [
        ["empty", "shop", "0", "not run yet"],
        [
            *("refunds", "shop", "2", "money, smoke", "passed", "2026-05-01T09:30:00+00:00"),
            f"run {tried.pk}, try: failed",
        ],
        ["tried", "shop", "0", "not as a whole", f"run {only.pk}, try: passed"],
    ]


def test_a_part_does_not_become_the_verdict() -> None:
    refunds = write_suite([a_case()])
    make_run(["failed"], suite=refunds, is_similarity_stand_in=True, similarity="fuzzy_match")
    part = make_run(["passed"], suite=refunds, is_whole=False, suite_case_count=38)

    (row,) = json.loads(listed("--json"))["suites"]

    assert (row["last_run"]["verdict"], row["last_run"]["pass_rate"]) == ("failed", 0.0)
    assert row["last_run"]["similarity"] == {"method": "fuzzy_match", "is_stand_in": True}
    assert (row["later_run"]["id"], row["later_run"]["covers"]) == (part.pk, "1 of 38 cases")
    assert "stand-in" in listed()


def test_json_has_the_same() -> None:
    refunds = write_suite([a_case()], tags=["money"])
    run = make_run(["passed"], suite=refunds, finished_at=ENDED)

    assert json.loads(listed("--json")) == {
        "schema_version": 1,
        "suites": [
            {
                "slug": "refunds",
                "name": "Refunds",
                "agent": "shop",
                "cases": 1,
                "tags": ["money"],
                "last_run": {
                    "id": run.pk,
                    "verdict": "passed",
                    "finished_at": "2026-05-01T09:30:00+00:00",
                    "covers": None,
                    "similarity": None,
                    "pass_rate": 1.0,
                    "cases_passed": 1,
                    "cases_failed": 0,
                    "cases_not_graded": 0,
                },
                "later_run": None,
            }
        ],
    }


def test_suites_are_chosen_by_their_tags_and_those_of_their_cases() -> None:
    write_suite([a_case()], slug="own", tags=["Smoke"])
    write_suite([a_case(), a_case("b", tags=["smoke"])], slug="of-a-case")
    write_suite([a_case(tags=["smoker"])], slug="other", tags=["smoky"])

    assert slugs(tag="smoke") == ["of-a-case", "own"]


def test_suites_are_chosen_by_their_agent_unless_they_are_archived() -> None:
    write_suite(slug="one")
    clerk = Agent.objects.create(slug="clerk", name="Clerk")
    for slug in ("two", "three"):
        write_suite(slug=slug)
        Suite.objects.filter(slug=slug).update(agent=clerk)
    Suite.objects.filter(slug="three").archive()

    assert slugs(agent="clerk") == ["two"]
    assert slugs() == ["one", "two"]


def test_an_unknown_agent_is_named_with_the_nearest_one() -> None:
    write_suite()

    with pytest.raises(CommandError, match=r"agent 'shopp'\. Did you mean 'shop'\?") as caught:
        listed("--agent", "shopp")

    assert caught.value.returncode == 2


def test_nothing_to_list_is_shown_beside_an_empty_output() -> None:
    err = StringIO()
    call_command("list_evals", "--tag", "none", stdout=StringIO(), stderr=err, no_color=True)

    assert err.getvalue() == "No suite fits.\n"
    assert json.loads(listed("--json", "--tag", "none"))["suites"] == []
