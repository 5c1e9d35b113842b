"""Clients of the REST API: programs with tokens, people with sessions."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from django.contrib.auth.models import Permission, User
from rest_framework.test import APIClient

from evals_app.library.importing.file_import import import_files
from evals_app.models import ApiToken, Run, Suite
from evals_app.runs.starting.start_run import start_run
from tests.library.written import AGENT, JUDGE, written

_numbers = count(1)


def make_user(permissions: Sequence[str] | None = None) -> User:
    """Make a user with these permissions (app.codename); None: all of them."""
    name = f"user{next(_numbers)}"
    if permissions is None:
        return User.objects.create_superuser(name)
    user = User.objects.create_user(name)
    for permission in permissions:
        app, _, codename = permission.partition(".")
        row = Permission.objects.get(content_type__app_label=app, codename=codename)
        user.user_permissions.add(row)
    return user


def make_client(scope: str = "author", permissions: Sequence[str] | None = None) -> APIClient:
    """Make a client with a token."""
    _, text = ApiToken.issue(name="test", user=make_user(permissions), scope=scope)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    # Noted for this minute, so that query counts do not hold the note.
    client.get("/api/providers/")
    return client


def send(client: APIClient, method: str, path: str, content: Any, content_type: str) -> Any:
    """Send a body as it is."""
    return client.generic(method, path, content, content_type=content_type)


SUITE = written(
    "talks.suite.yaml",
    """
    suite: Talks
    slug: talks
    agent: shop
    tags: [all]
    cases:
      - name: Asks for a refund
        tags: [money]
        turns: [{user: refund, assertions: &way [{type: contains, value: way}]}]
      - name: Greets
        turns: [{user: Hello, assertions: *way}]
    """,
)


def start_talks() -> Run:
    """Import a suite of two cases and start it; no worker is there to carry it out."""
    import_files([AGENT, JUDGE, SUITE])
    return start_run(Suite.objects.get(slug="talks"))
