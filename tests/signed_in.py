"""A browser whose person is signed in already."""

from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer


def sign_in(page: Page, live_server: LiveServer, user: User) -> None:
    """Return the browser a session of the user."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies["sessionid"].value
    host = urlsplit(live_server.url).hostname or ""
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "domain": host, "path": "/"}])
