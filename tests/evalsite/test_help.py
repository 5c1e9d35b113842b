"""The guide under Help: the pages of docs/, in their order, with links that work."""

import re
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.help import DOCS, content, pages

pytestmark = pytest.mark.django_db


@pytest.fixture(name="reader")
def _reader(client: Client) -> Client:
    client.force_login(User.objects.create_user("reader", is_staff=True))
    return client


def test_every_page_of_the_folder_is_listed_once() -> None:
    files = sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "README")

    assert sorted(page.slug for page in pages()) == files


def test_links_and_anchors_lead_somewhere(admin_client: Client) -> None:
    addresses = ["", *(page.slug for page in pages())]
    html = {
        reverse("help", args=[slug] if slug else []): content(slug or "README")[0]
        for slug in addresses
    }
    anchors = {address: set(re.findall(r' id="([^"]+)"', text)) for address, text in html.items()}

    broken = []
    for address, text in html.items():
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            to = urlsplit(urljoin(f"http://testserver{address}", target))
            if to.netloc != "testserver":
                continue
            if to.path in html:
                if to.fragment and to.fragment not in anchors[to.path]:
                    broken.append(f"{address} -> {target}")
            elif admin_client.get(to.path).status_code != HTTPStatus.OK:
                broken.append(f"{address} -> {target}")

    assert broken == []


def test_a_picture_has_its_size_and_is_sent_as_what_it_is(reader: Client) -> None:
    html, _ = content("without-code")
    address = reverse("help_image", args=["start.webp"])

    assert re.search(
        rf'<img src="{address}" alt="[^"]+" loading="lazy" width="1360" height="850"', html
    )
    assert reader.get(address)["Content-Type"] == "image/webp"


def test_a_page_leads_to_the_next_one(reader: Client) -> None:
    first, second = pages()[:2]

    page = reader.get(reverse("help", args=[first.slug])).content.decode()

    assert 'aria-current="page"' in page
    assert f'<a href="{reverse("help", args=[second.slug])}">Next' in page


@pytest.mark.parametrize("name", ["no-such-page", "README"])
def test_what_the_guide_does_not_list_is_not_served(reader: Client, name: str) -> None:
    assert reader.get(reverse("help", args=[name])).status_code == HTTPStatus.NOT_FOUND
    assert (
        reader.get(reverse("help_image", args=[f"{name}.webp"])).status_code == HTTPStatus.NOT_FOUND
    )


def test_markup_in_a_page_is_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw.md").write_text("Use <script>alert(1)</script> and [x](javascript:alert(1)).")
    monkeypatch.setattr("evalsite.help.DOCS", tmp_path)

    html, _ = content.__wrapped__("raw")

    assert "<script>" not in html
    assert 'href="javascript' not in html


@pytest.mark.parametrize(
    ("model", "guides"),
    [
        ("evals_app_suite", ["without-code/#5-make-a-suite", "verdicts/", "glossary/"]),
        (
            "evals_app_case",
            [
                *("without-code/#6-write-the-first-case", "regrading/", "good-evals/"),
                *("assertions/", "history/", "glossary/"),
            ],
        ),
        ("evals_app_agent", ["without-code/#4-make-an-agent", "own-agents/", "glossary/"]),
        ("evals_app_provider", ["operations/#models", "costs/#prices", "glossary/"]),
        ("fixtures_app_fixture", ["test-data/", "glossary/"]),
        ("fixtures_app_entitytype", ["test-data/", "glossary/"]),
        ("evals_app_apitoken", []),
    ],
)
def test_a_form_leads_to_the_pages_that_explain_it(
    admin_client: Client, model: str, guides: list[str]
) -> None:
    form = admin_client.get(reverse(f"admin:{model}_add"), {"start": "form"}).content.decode()
    links = re.findall(r'href="/admin/help/([\w-]+)/(#?[\w-]*)"', form)

    assert [f"{slug}/{anchor}" for slug, anchor in links] == guides
    for slug, anchor in links:
        assert f'id="{anchor[1:]}"' in content(slug)[0] or not anchor


def test_a_visitor_has_to_sign_in(client: Client) -> None:
    answer = client.get(reverse("help"))

    assert answer.status_code == HTTPStatus.FOUND
    assert reverse("admin:login") in answer["Location"]
