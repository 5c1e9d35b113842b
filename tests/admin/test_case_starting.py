"""A new case that starts from a template."""

import pytest
from django.test import Client

from evals_app.models import Case
from tests.authored import write_case, write_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/evals_app/case/add/"


def test_a_template_fills_the_page_in_and_is_stored_when_it_is_saved(admin_client: Client) -> None:
    suite = write_suite([])

    page = open_page(admin_client, f"{ADDRESS}?suite={suite.pk}&template=look-up")
    assert not Case.objects.exists()
    saved = page.post(turns__0__user="Where is order 1001?", turns__0__expected="shipped")

    assert saved.is_saved, saved.problems
    (turn,) = Case.objects.get(name="Look-up").to_spec().turns
    assert turn.inherit
    assert [check.type for check in turn.assertions or ()] == ["tool_called", "contains"]
    # The tool is one that the agent has.
    assert [named.name for named in turn.assertions[0].grader.mentions()] == ["entity.query"]  # type: ignore[index]


def test_turns_keep_their_order_and_their_own_checks(admin_client: Client) -> None:
    suite = write_suite([])

    saved = open_page(admin_client, f"{ADDRESS}?suite={suite.pk}&template=memory").post()

    assert saved.is_saved, saved.problems
    first, _, last = Case.objects.get().to_spec().turns
    assert "1001" in first.user
    assert first.assertions is None
    assert [check.type for check in last.assertions or ()] == ["contains"]


@pytest.mark.parametrize(
    "query", ["", "template=", "template=nonsense", "template=look-up&suite=x"]
)
def test_any_address_opens_a_page_that_offers_the_templates(
    admin_client: Client, query: str
) -> None:
    page = open_page(admin_client, f"{ADDRESS}?{query}")

    assert "template=refusal" in page.html
    assert ("[brackets]" in page.text) == ("look-up" in query)


def test_a_stored_case_offers_no_templates(admin_client: Client) -> None:
    case = write_case()

    page = open_page(admin_client, f"/admin/evals_app/case/{case.pk}/change/?template=refusal")

    assert "template=refusal" not in page.html
    assert page.fields["turns-0-user"] == [case.turns.get().user]


def test_a_placeholder_that_was_not_replaced_is_named_when_the_case_is_saved(
    admin_client: Client,
) -> None:
    page = open_page(admin_client, f"{ADDRESS}?suite={write_suite([]).pk}&template=look-up")

    page.post(turns__0__user="Where is order 1001?", _continue="1")
    (case,) = Case.objects.all()
    shown = open_page(admin_client, f"/admin/evals_app/case/{case.pk}/change/").text

    assert "[words of the right answer" in shown.partition("Turns")[0]
    assert "[A question" not in shown
