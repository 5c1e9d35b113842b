from contextlib import closing
from http import HTTPStatus

import pytest
from django.test import Client


def test_the_root_leads_to_the_admin(client: Client) -> None:
    response = client.get("/")

    assert response.status_code == HTTPStatus.FOUND
    assert response.headers["Location"] == "/admin/"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content-Security-Policy", "frame-ancestors 'none'"),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
    ],
)
def test_every_answer_carries_the_headers_that_protect_it(
    client: Client, header: str, value: str
) -> None:
    assert value in client.get("/").headers[header]


@pytest.mark.django_db
def test_the_admin_asks_strangers_to_log_in(client: Client) -> None:
    response = client.get("/admin/")

    assert response.status_code == HTTPStatus.FOUND
    assert response.headers["Location"].startswith("/admin/login/")


@pytest.mark.django_db
def test_a_page_asks_no_other_host_for_anything(client: Client) -> None:
    page = client.get("/admin/login/").content.decode()

    assert 'src="http' not in page
    assert 'href="http' not in page
    assert "//cdn" not in page


@pytest.mark.django_db
def test_static_files_need_no_collecting(client: Client) -> None:
    page = client.get("/admin/login/").content.decode()
    style = page.split('<link href="', 1)[1].split('"', 1)[0]

    with closing(client.get(style)) as response:
        content = response.getvalue()

    assert style.startswith("/static/")
    assert response.status_code == HTTPStatus.OK
    assert content
