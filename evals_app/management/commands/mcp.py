"""Answer a coding agent over the standard streams."""

import logging
import os
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand
from django.db import close_old_connections

from evals_app.checks import FOR_COMMANDS
from evals_app.engine.agents.tools.mcp_tools import MISSING
from evals_app.management import Options, usage_error
from evals_app.mcp.server import is_installed, serve_streams
from evals_app.mcp.tool import Caller
from evals_app.models import ApiToken
from evals_app.requests.auth import note_use
from evals_app.requests.permissions import Scope, includes
from fixtures_app.ground.words import near

_GONE = "This token or user is no longer valid. Restart the server with another one."


class Command(BaseCommand):
    """An MCP server over stdin and stdout."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Run an MCP server over stdin and stdout, for a coding agent on this machine to start. It acts"
        " as a user or with a token. Exit code: 0 when the agent disconnects, 2 wrong usage."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--user", metavar="NAME", help="User to act as.")
        who.add_argument(
            "--token-env", metavar="VARIABLE", help="Environment variable with an API token."
        )
        parser.add_argument(
            "--scope",
            choices=[scope.value for scope in Scope if includes(scope, Scope.READ)],
            help="With --user: read; run: also start and stop runs; author: also write. Default: author.",
        )

    def handle(self, *args: object, **options: Any) -> None:
        if not is_installed():
            raise usage_error(MISSING)
        if options["token_env"] and options["scope"]:
            raise usage_error("--scope needs --user: a token has its own scope.")
        who = _of_token(options["token_env"]) if options["token_env"] else _of_user(options)
        # Every line of the package about a message would fill the log of the coding agent.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)

        def fresh() -> Caller:
            close_old_connections()  # a connection idle for hours may have been closed
            return who()

        async_to_sync(serve_streams)(fresh)


def _of_token(variable: str) -> Callable[[], Caller]:
    text = os.environ.get(variable, "").strip()
    if not text:
        raise usage_error(f"The environment variable {variable} is not set.")

    def who() -> Caller:
        token = ApiToken.valid(text)
        if token is None or not token.user.is_active:
            raise PermissionDenied(_GONE)
        note_use(token)
        return Caller.of_token(token)

    try:
        who()
    except PermissionDenied:
        raise usage_error(
            f"{variable} has no valid token: it does not exist or has expired."
        ) from None
    return who


def _of_user(options: Options) -> Callable[[], Caller]:
    users = get_user_model()._default_manager.filter(is_active=True)  # noqa: SLF001 - Django's name
    name, scope = options["user"], ApiToken.Scope(options["scope"] or ApiToken.Scope.AUTHOR)
    if not users.filter(username=name).exists():
        known = users.order_by("username").values_list("username", flat=True)[:1000]
        raise usage_error(f"There is no active user {name!r}.{near(name, known)}")

    def who() -> Caller:
        user = users.filter(username=name).first()
        if user is None:
            raise PermissionDenied(_GONE)
        return Caller(user, scope)

    return who
