import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evals_app.models import Agent, Suite
from tests.authored import client_who_may

pytestmark = pytest.mark.django_db

URL = "/admin/evals_app/suite/import/"
AGENT = b"agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: Hello}]\n"
SUITE = b"""suite: Greetings
slug: greetings
agent: echo
cases:
  - name: Hello
    turns: [{user: Hi, assertions: [{type: contains, value: Hello}]}]
"""


def send(client: Client, button: str, **files: bytes) -> str:
    chosen = [
        SimpleUploadedFile(name.replace("__", ".") + ".yaml", content)
        for name, content in files.items()
    ]
    answer = client.post(URL, {"files": chosen, button: "1"}, follow=True)
    return answer.content.decode()


def test_files_that_belong_together_are_imported(admin_client: Client) -> None:
    text = send(admin_client, "import", greetings__suite=SUITE, echo__agent=AGENT)

    assert "Imported: 2 objects written." in text
    assert Suite.objects.get().agent == Agent.objects.get()


def test_checking_says_what_would_happen_and_saves_nothing(admin_client: Client) -> None:
    text = send(admin_client, "check", greetings__suite=SUITE, echo__agent=AGENT)

    assert "nothing is saved yet" in text
    assert "<code>greetings</code>: new" in text
    assert not Suite.objects.exists()


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        pytest.param(SUITE.replace(b"contains", b"contans"), "line 6", id="line"),
        pytest.param(SUITE + b"gatez: {}\n", "gatez", id="key"),
        pytest.param(b"suite: [", "Nothing was saved", id="no YAML"),
        pytest.param(b"<script>alert(1)</script>", "Nothing was saved", id="something else"),
    ],
)
def test_one_mistake_keeps_everything_out_and_is_told_with_its_place(
    admin_client: Client, suite: bytes, told: str
) -> None:
    text = send(admin_client, "import", greetings__suite=suite, echo__agent=AGENT)

    assert "Nothing was saved" in text
    assert told in text
    assert "<script>alert" not in text
    assert not Agent.objects.exists()


def test_without_a_file_the_page_asks_for_one(admin_client: Client) -> None:
    assert "Choose at least one file." in send(admin_client, "import")


def test_the_list_of_suites_leads_there(admin_client: Client) -> None:
    page = admin_client.get("/admin/evals_app/suite/choose/", follow=True)

    assert "Import files" in admin_client.get("/admin/evals_app/suite/").content.decode()
    assert page.redirect_chain[-1][0] == URL


def test_who_may_not_write_everything_is_refused() -> None:
    client = client_who_may("add_suite", "change_suite", "view_suite")

    assert client.get(URL).status_code == 403
    assert client.post(URL, {"import": "1"}).status_code == 403
    assert "Import files" not in client.get("/admin/evals_app/suite/").content.decode()
