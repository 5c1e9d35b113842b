"""The dialog that turns changes of a world into a check."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.formats.snapshots.run_snapshot import canonical_case
from evals_app.models import Assertion, Case, Execution, SnapshotCase
from tests.authored import write_case
from tests.engine.makers import make_world
from tests.makers import make_execution, make_run, make_trial

pytestmark = pytest.mark.django_db

BUTTON = "Add as a check"
MADE = {"total": 5, "made": "2026-05-01T09:30:00Z"}
CALLS = [
    ("entity.create", {"type": "order", "data": MADE}),
    ("entity.update", {"id": "order-1", "data": {"total": 0}, "status": "closed"}),
]


def run_case(case: Case, calls: Any = CALLS, *, state: str = "passed") -> Execution:
    """Return an execution of a case that changed the world."""
    world = make_world()
    for name, args in calls:
        world.call(name, args)
    trial = make_trial(
        case=case.name, world_changes=world.changes(), world_journal=tuple(world.journal)
    )
    run = make_run([], suite=case.suite, total=0, not_run=0)
    content = canonical_case(case.to_spec())
    SnapshotCase.objects.get_or_create(
        snapshot=run.snapshot, position=0, defaults={"content": content}
    )
    return make_execution(run, case.name, state=state, trial=trial, position=0)


def page_of(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


def dialog_of(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_expect", args=[execution.pk])


def html_of(client: Client, url: str, **data: Any) -> str:
    response = client.post(url, data) if data else client.get(url)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_the_dialog_says_in_words_what_would_be_expected(admin_client: Client) -> None:
    html = html_of(admin_client, dialog_of(run_case(write_case())))

    assert "to the case “Where is it”" in html
    for text in ("Created order", "total = 5", "Updated order-1, status closed", "total = 0"):
        assert text in html
    assert html.count("checkbox") == 6
    assert html.count(" checked>") == 5  # all but the moment
    assert 'value="created-1-2">' in html
    assert "edited after this conversation" not in html
    assert not Assertion.objects.filter(type="world_changes").exists()


def test_what_is_ticked_is_added_to_the_case(admin_client: Client) -> None:
    case = write_case()
    execution = run_case(case)

    answer = admin_client.post(
        dialog_of(execution),
        {"keep": ["created-1", "created-1-1", "updated-1", "updated-1-1"], "nothing_else": "on"},
    )

    assert answer.headers["HX-Redirect"] == page_of(execution)
    check = case.final_assertions.get()
    assert check.options == {
        "created": [{"type": "order", "data": {"total": 5}}],
        "updated": [{"id": "order-1", "status": "closed", "data": {"total": 0}}],
        "nothing_else": True,
    }
    page = admin_client.get(page_of(execution)).content.decode()
    assert "Check added: “Creates order with total = 5; updates order-1" in page
    assert f'href="{reverse("admin:evals_app_case_change", args=[case.pk])}">' in page
    (entry,) = LogEntry.objects.all()
    assert (entry.object_id, entry.get_change_message()) == (
        str(case.pk),
        f"Added final check “{check}”.",
    )


def test_what_another_passed_trial_did_otherwise_is_not_ticked(admin_client: Client) -> None:
    case = write_case()
    trials = [
        [("entity.create", {"type": "order", "data": {"total": 5, "by": name}})]
        for name in ("Ada", "Bob")
    ]
    execution = run_case(case, trials[0])
    html = [html_of(admin_client, dialog_of(execution))]
    for more in ([], [("entity.delete", {"id": "order-2"})]):
        other = run_case(case, [*trials[1], *more])
        other.run_id, other.trial = execution.run_id, Execution.objects.count()
        other.save()
        html.append(html_of(admin_client, dialog_of(execution)))

    ticked = [re.findall(r'value="(created[\w-]+)" checked', page) for page in html]
    nothing_else = [re.search(r'name="nothing_else" checked', page) is not None for page in html]
    assert ticked == [
        ["created-1", "created-1-1", "created-1-2"],
        *[["created-1", "created-1-1"]] * 2,
    ]
    assert nothing_else == [True, True, False]


@pytest.mark.parametrize(
    ("posted", "says"),
    [
        pytest.param({"keep": []}, "at least one", id="nothing"),
        pytest.param(
            {"keep": ["created-1"], "nothing_else": "on"},
            "not selected",
            id="not all",
        ),
    ],
)
def test_what_cannot_be_added_comes_back_as_it_was_ticked(
    admin_client: Client, posted: dict[str, Any], says: str
) -> None:
    html = html_of(admin_client, dialog_of(run_case(write_case())), x="1", **posted)

    assert says in html
    assert html.count(" checked>") == len(posted["keep"]) + ("nothing_else" in posted)
    assert not Assertion.objects.filter(type="world_changes").exists()


def test_an_edit_since_is_mentioned(admin_client: Client) -> None:
    case = write_case()
    execution = run_case(case)
    Case.objects.update(description="Changed.")

    assert "edited after this conversation" in html_of(admin_client, dialog_of(execution))


def test_a_case_that_is_gone_is_mentioned_and_offers_nothing(admin_client: Client) -> None:
    case = write_case()
    execution = run_case(case)
    Case.objects.all().delete()

    html = html_of(admin_client, dialog_of(execution))

    assert "deleted or renamed" in html
    assert "Add the check" not in html
    assert "deleted or renamed" in html_of(admin_client, dialog_of(execution), keep="created-1")
    assert BUTTON not in admin_client.get(page_of(execution)).content.decode()


def test_too_many_changes_are_not_offered(admin_client: Client) -> None:
    calls = [("entity.create", {"type": "order", "data": {"total": n}}) for n in range(251)]

    html = html_of(admin_client, dialog_of(run_case(write_case(), calls)))

    assert "more than 500 changes" in html


@pytest.mark.parametrize("state", ["failed", "errored"])
def test_only_what_passed_can_be_expected(admin_client: Client, state: str) -> None:
    execution = run_case(write_case(), state=state)

    assert admin_client.get(dialog_of(execution)).status_code == 404
    assert admin_client.post(dialog_of(execution), {"nothing_else": "on"}).status_code == 404
    assert BUTTON not in admin_client.get(page_of(execution)).content.decode()


def test_the_button_stands_where_the_changes_are(admin_client: Client) -> None:
    execution = run_case(write_case())

    for url in (page_of(execution), reverse("admin:evals_app_execution_live", args=[execution.pk])):
        html = admin_client.get(url).content.decode()
        assert html.index("World changes") < html.index(BUTTON)


def test_text_of_the_agent_is_shown_and_not_obeyed(admin_client: Client) -> None:
    calls = [
        ("entity.create", {"type": "order", "data": {"<b>x</b>": "<script>alert(1)</script>"}})
    ]

    html = html_of(admin_client, dialog_of(run_case(write_case(), calls)))

    assert "<script>" not in html
    assert "&lt;script&gt;" in html
