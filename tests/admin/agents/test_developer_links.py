"""A developer says how an agent is reached: the link, the page behind it, and what comes of it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from evals_app.admin.agents.developer_links import developer_note
from evals_app.models import Agent, DeveloperLink
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from tests.agent_server import Asked, Sent, WebServer
from tests.authored import a_case, client_who_may, write_suite
from tests.engine.permitting import permitting

pytestmark = pytest.mark.django_db

ASK = "/admin/evals_app/agent/ask-developer/"
LINK = re.compile(r"http://testserver(/admin/connect/[^\"]+)")
URL = "https://agent.example/chat"
CURL = f'curl {URL} -d \'{{"question": "Hi"}}\''
REPLY = '{"data": {"answer": "Hi."}}'
RIGHTS = ("add_agent", "view_agent", "change_agent", "view_run", "add_run")


@pytest.fixture
def author() -> Client:
    return client_who_may(*RIGHTS, name="ann")


@pytest.fixture
def server() -> Iterator[WebServer]:
    def answer(asked: Asked) -> Sent:
        key = asked.headers.get("authorization", "")
        return Sent.json({"data": {"answer": f"You said {asked.body.get('question')}. {key}"}})

    with WebServer(answer) as server, permitting(hosts=(server.host,), variables=("AGENT_*",)):
        yield server


def link_in(response: Any) -> str:
    (link,) = LINK.findall(response.content.decode())
    assert "no-store" in response.headers["Cache-Control"]
    return str(link)


def ask(client: Client, name: str = "Parcel desk") -> str:
    return link_in(client.post(ASK, {"name": name}))


def answer(link: str, request: str = CURL, reply: str = REPLY, **more: str) -> Any:
    """Send what a developer has pasted, with the places that the page guesses."""
    client = Client()
    pasted = {"request": request, "reply": reply} | more
    page = client.post(link, pasted)
    if page.status_code != 200 or not page.context["page"].places:
        return page
    places = page.context["page"].places
    chosen = {name: str(places.initial.get(name, "")) for name in places.fields}
    return client.post(link, pasted | chosen | {"chosen": "1", "use": "1"})


def test_an_agent_waits_until_its_developer_has_answered(author: Client) -> None:
    link = ask(author)
    agent = Agent.objects.get()
    assert (agent.slug, agent.is_waiting) == ("parcel-desk", True)

    assert answer(link).status_code == 302

    agent.refresh_from_db()
    assert (agent.name, agent.slug, agent.driver) == ("Parcel desk", "parcel-desk", "http")
    assert agent.connection["url"] == URL
    assert agent.connection["request"] == {"question": "{{input}}"}
    assert agent.connection["response"] == {"text": "data.answer"}
    assert not agent.is_waiting


def test_the_page_of_the_agent_says_who_is_waited_for_and_that_they_answered(
    author: Client,
) -> None:
    link = ask(author)
    page = f"/admin/evals_app/agent/{Agent.objects.get().pk}/change/"
    waiting = author.get(page).content.decode()
    listed = author.get("/admin/evals_app/agent/").content.decode()
    answer(link)
    answered = author.get(page).content.decode()

    assert "Waiting for your developer" in waiting
    assert "Waiting for its developer" in listed
    assert link not in waiting
    assert "Your developer answered" in answered


def test_a_developer_sees_nothing_but_the_name_and_who_asks(author: Client) -> None:
    ask(author, "Another agent")
    page = Client().get(ask(author)).content.decode()

    assert "Parcel desk" in page
    assert "ann" in page
    for hidden in ("Another agent", "/admin/evals_app/", "parcel-desk", "Suites"):
        assert hidden not in page


def test_the_address_is_tried_and_its_reply_shown(author: Client, server: WebServer) -> None:
    link = ask(author)
    typed = {"request": server.url, "key": "X-Pass: s3cret-1", "send": "1"}

    tried = Client().post(link, typed)

    (asked,) = server.asked
    assert asked.headers["x-pass"] == "s3cret-1"
    assert "You said" in tried.context["page"].form["reply"].value()
    assert Agent.objects.get().is_waiting


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/chat", "http://10.0.0.1/", "file:///etc/passwd"]
)
def test_an_address_that_people_may_not_name_is_not_called(author: Client, url: str) -> None:
    link = ask(author)

    refused = Client().post(link, {"request": url, "send": "1"})

    assert "request" in refused.context["page"].form.errors
    assert Agent.objects.get().is_waiting


def test_who_may_not_start_runs_lends_no_right_to_send_anything(server: WebServer) -> None:
    link = ask(client_who_may("add_agent", "view_agent"))

    assert Client().post(link, {"request": server.url, "send": "1"}).status_code == 403
    assert answer(link).status_code == 302
    assert server.asked == []


def test_a_link_tests_so_often_in_an_hour(author: Client, server: WebServer, settings: Any) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"agent_tests": "1/hour"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
    link, typed = ask(author), {"request": server.url, "send": "1"}

    statuses = [Client().post(link, typed).status_code for _ in range(2)]
    other = Client().post(ask(author), typed)

    assert (statuses, other.status_code) == ([200, 429], 200)
    assert len(server.asked) == 2


def test_a_stranger_opens_so_many_links_in_a_minute(settings: Any) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"strangers": "1/min"}
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}

    opened = [Client().get("/admin/connect/1/made-up/") for _ in range(2)]

    assert [response.status_code for response in opened] == [410, 429]
    assert int(opened[1].headers["Retry-After"]) > 0


@pytest.mark.parametrize("option", ["-H 'Authorization: Bearer s3cret'", "-u me:s3cret", ""])
def test_a_key_becomes_a_variable_that_is_not_set_yet(
    author: Client, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    # A developer must not have keys of this site sent to their address.
    monkeypatch.setenv("AGENT_PARCEL_DESK_AUTHORIZATION", "ours")
    key = {} if option else {"key": "Authorization: s3cret"}
    with permitting(variables=("AGENT_PARCEL_DESK_AUTHORIZATION",)):
        sent = answer(ask(author), f"{CURL} {option}", **key)

    assert sent.status_code == 302
    headers = Agent.objects.get().connection["headers"]
    assert headers == {"Authorization": {"env": "AGENT_PARCEL_DESK_AUTHORIZATION_2"}}


def test_the_page_of_the_agent_names_the_key_until_it_is_set(
    author: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(ask(author), key="X-Pass: s3cret")
    agent = Agent.objects.get()

    missing = developer_note(agent)
    monkeypatch.setenv("AGENT_PARCEL_DESK_X_PASS", "s3cret")
    with permitting(variables=("AGENT_*",)):
        nothing = developer_note(agent)

    assert missing is not None
    assert "AGENT_PARCEL_DESK_X_PASS" in missing.keys[0]
    assert nothing is not None
    assert nothing.keys == ()


@pytest.mark.parametrize("key", ["Bearer", "X-Pass:", ": a", "X-Päss: a"])
def test_a_key_without_its_header_is_refused(author: Client, key: str) -> None:
    page = answer(ask(author), key=key)

    assert "key" in page.context["page"].form.errors


def status_of(link: str) -> int:
    opened, sent = Client().get(link), Client().post(link, {"request": CURL, "use": "1"})
    assert opened.status_code == sent.status_code
    return opened.status_code


def wait_long(_: Client) -> None:
    DeveloperLink.objects.update(made_at=timezone.now() - timedelta(days=14, minutes=1))


def withdraw(client: Client) -> None:
    client.post(
        f"/admin/evals_app/agent/{Agent.objects.get().pk}/developer-link/", {"do": "withdraw"}
    )


def renew(client: Client) -> None:
    response = client.post(
        f"/admin/evals_app/agent/{Agent.objects.get().pk}/developer-link/", {"do": "renew"}
    )
    assert status_of(link_in(response)) == 200


def fill_in_by_hand(_: Client) -> None:
    Agent.objects.update(driver="http", connection={"url": URL})


def deactivate_maker(_: Client) -> None:
    User.objects.update(is_active=False)


def take_rights_of_maker(_: Client) -> None:
    User.objects.get().user_permissions.clear()


def do_nothing(_: Client) -> None:
    pass


@pytest.mark.parametrize(
    ("happens", "status"),
    [
        (do_nothing, 200),
        (wait_long, 410),
        (withdraw, 410),
        (renew, 410),
        (fill_in_by_hand, 410),
        (deactivate_maker, 410),
        (take_rights_of_maker, 410),
    ],
)
def test_a_link_ends_with_what_it_was_made_for(
    author: Client, happens: Callable[[Client], None], status: int
) -> None:
    link = ask(author)

    happens(author)

    assert status_of(link) == status


def test_a_link_works_once_and_says_so(author: Client) -> None:
    link = ask(author)
    answer(link)
    again = answer(link, 'curl https://other.example/ -d \'{"question": "Hi"}\'')

    assert again.status_code == 410
    assert "Thank you" in again.content.decode()
    assert Agent.objects.get().connection["url"] == URL


def test_who_guesses_learns_nothing_of_a_link(author: Client) -> None:
    ask(author)
    link = DeveloperLink.objects.get()
    guessed, none = (
        Client().get(f"/admin/connect/{pk}/made-up/").content.decode() for pk in (link.pk, 9999)
    )

    assert "ann" not in guessed
    assert guessed == none


def test_an_answer_needs_the_token_of_the_form(author: Client) -> None:
    link = ask(author)

    sent = Client(enforce_csrf_checks=True).post(link, {"request": CURL, "use": "1"})

    assert sent.status_code == 403


def test_the_history_of_the_agent_says_who_asked_and_that_it_was_answered(author: Client) -> None:
    answer(ask(author))

    entries = LogEntry.objects.filter(object_id=Agent.objects.get().pk).order_by("pk")
    assert [entry.user.get_username() for entry in entries] == ["ann", "ann"]
    assert "link" in entries[0].get_change_message()
    assert "developer" in entries[1].get_change_message()


def test_names_of_agents_may_repeat(author: Client) -> None:
    for name in ("Parcel desk", "Parcel desk", "安"):
        ask(author, name)

    assert [*Agent.objects.order_by("pk").values_list("slug", flat=True)] == [
        "parcel-desk",
        "parcel-desk-2",
        "agent",
    ]


def test_an_agent_that_waits_does_not_run(author: Client) -> None:
    ask(author)
    suite = write_suite([a_case()])
    suite.agent = Agent.objects.get(slug="parcel-desk")
    suite.save()

    with pytest.raises(CannotStartError, match="not connected"):
        start_run(suite)


def test_what_was_written_of_the_agent_stays(author: Client) -> None:
    link = ask(author)
    Agent.objects.update(name="Desk", description="For parcels.")
    answer(link)

    agent = Agent.objects.get()
    assert (agent.name, agent.description) == ("Desk", "For parcels.")
