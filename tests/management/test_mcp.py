"""Whom `manage.py mcp` acts as; the streams themselves are tested with a client of MCP."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.commands import mcp as command
from evals_app.mcp.tool import Caller
from evals_app.models import ApiToken

pytest.importorskip("mcp", reason="the package for MCP is not installed")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Caller]]:
    """Note as whom servers act, in place of answering on the streams of the tests."""
    servers: list[Callable[[], Caller]] = []

    async def note(who: Callable[[], Caller]) -> None:
        servers.append(who)

    monkeypatch.setattr(command, "serve_streams", note)
    # The command closes idle connections, but this one has the test's transaction.
    monkeypatch.setattr(command, "close_old_connections", lambda: None)
    return servers


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def test_it_acts_as_a_user_until_that_user_is_deactivated(
    ada: User, started: list[Callable[[], Caller]]
) -> None:
    call_command("mcp", "--user", "ada")
    call_command("mcp", "--user", "ada", "--scope", "read")

    assert [who() for who in started] == [
        Caller(ada, ApiToken.Scope.AUTHOR),
        Caller(ada, ApiToken.Scope.READ),
    ]
    User.objects.update(is_active=False)
    with pytest.raises(PermissionDenied):
        started[0]()


def test_it_acts_as_a_token_until_that_is_gone_and_notes_its_use(
    ada: User, started: list[Callable[[], Caller]], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, text = ApiToken.issue(name="editor", user=ada, scope="run")
    monkeypatch.setenv("EDITOR_TOKEN", text)

    call_command("mcp", "--token-env", "EDITOR_TOKEN")

    assert started[0]() == Caller(ada, ApiToken.Scope.RUN, token)
    token.refresh_from_db()
    assert token.last_used_at is not None
    token.delete()
    with pytest.raises(PermissionDenied):
        started[0]()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "--user", id="no one"),
        pytest.param(["--user", "adda"], "Did you mean 'ada'?", id="unknown user"),
        pytest.param(["--token-env", "NOT_SET"], "NOT_SET is not set", id="no variable"),
        pytest.param(["--token-env", "WRONG"], "WRONG has no valid token", id="wrong token"),
        (["--token-env", "WRONG", "--scope", "read"], "has its own scope"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    ada: User, arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG", "ew_secret")

    with pytest.raises(CommandError, match=words) as refused:
        call_command("mcp", *arguments)

    assert "ew_secret" not in str(refused.value)
