"""The page of a suite that shows which of its checks cannot fail."""

from typing import Any

import pytest
from django.test import Client

from evals_app.models import Assertion
from tests.authored import a_case, client_who_may, write_suite

pytestmark = pytest.mark.django_db

BLIND = {"type": "contains", "value": "e"}
WEAK = {"type": "contains", "value": "order"}


def page_of(client: Client, *checks: dict[str, Any], name: str = "Where is it") -> Any:
    turn = {"user": "Where is my order?", "assertions": list(checks)}
    suite = write_suite([a_case(name, turns=[turn])])
    return client.get(f"/admin/evals_app/suite/{suite.pk}/check/")


def test_what_was_tried_and_what_passed_is_in_words(admin_client: Client) -> None:
    judged = {"type": "llm_judge", "criteria": "It is kind."}
    page = page_of(admin_client, BLIND, WEAK, judged)
    text = page.content.decode()

    blind, weak = page.context["tables"]
    assert [line["label"] for line in blind["lines"]] == ["Reply contains “e”"]
    assert len(blind["lines"][0]["passed"]) == 2
    assert weak["lines"][0]["passed"] == ["the question repeated"]
    assert "The question repeated" in text
    assert page.context["counts"] == {
        "blind": 1,
        "weak": 1,
        "sound": 0,
        "undecided": 0,
        "not_tried": 1,
    }
    assert [count for _, count in page.context["not_tried"]] == [1]


def test_idle_agents_are_shown_by_case(admin_client: Client) -> None:
    page = page_of(admin_client, {"type": "not_contains", "value": "sorry"})
    text = page.content.decode()

    (case,) = page.context["cases"]
    assert [end["words"] for end in case["ends"]] == ["Passes", "Fails"]
    assert case["url"] in text
    assert page.context["warning"]


def test_the_page_is_offered_to_those_who_may_view_suites() -> None:
    client = client_who_may("view_suite")
    page = page_of(client, WEAK, name="A secret name")

    suite = page.context["suite"]
    assert page.status_code == 200
    assert page.context["cases"][0]["url"] not in page.content.decode()
    settings = client.get(f"/admin/evals_app/suite/{suite.pk}/change/")
    assert f"/suite/{suite.pk}/check/" in settings.content.decode()


def test_a_suite_that_no_longer_validates_says_so(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    Assertion.objects.update(type="of an older version")

    page = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/check/")

    assert "of an older version" in page.content.decode()
