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
    (turn,) = Case.objects.get(name="Where is order 1001?").to_spec().turns
    assert turn.inherit
    assert [check.type for check in turn.assertions or ()] == ["tool_called", "contains"]
    # The tool is one that the agent has.
    assert [named.name for named in turn.assertions[0].grader.mentions()] == ["entity.query"]  # type: ignore[index]


def test_turns_keep_their_order_and_their_own_checks(admin_client: Client) -> None:
    suite = write_suite([])

    saved = open_page(admin_client, f"{ADDRESS}?suite={suite.pk}&template=memory").post(
        turns__1__user="When are you open?"
    )

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


@pytest.mark.parametrize(
    ("template", "typed", "named"),
    [
        pytest.param("look-up", {}, ["[A question", "[words of"], id="all of it"),
        pytest.param("memory", {}, ["[A question about something else"], id="a later message"),
        pytest.param(
            "look-up",
            {
                "turns__0__user": "Hi. [A question about one record, for example: Where is order 1001?]"
            },
            ["[A question", "[words of"],
            id="inside of a message",
        ),
        ("refusal", {"turns__0__user": "Where does Ann live?"}, ["[a detail"]),
        pytest.param(
            "look-up",
            {"turns__0__user": "[Is 1001 in a list?]", "turns__0__expected": "[1]"},
            [],
            id="brackets of one's own",
        ),
    ],
)
def test_a_text_of_the_template_is_not_saved(
    admin_client: Client, template: str, typed: dict[str, str], named: list[str]
) -> None:
    page = open_page(admin_client, f"{ADDRESS}?suite={write_suite([]).pk}&template={template}")

    saved = page.post(**typed)

    assert saved.is_saved is not bool(named)
    for name in named:
        assert any(name in problem for problem in saved.problems)
