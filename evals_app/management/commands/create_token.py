"""Create a token for the REST API."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.utils import timezone

from evals_app import COMMAND
from evals_app.checks import FOR_COMMANDS
from evals_app.library.changes.edits import note_edit
from evals_app.management import usage_error
from evals_app.management.numbers import days
from evals_app.models import ApiToken
from fixtures_app.ground.words import near


class Command(BaseCommand):
    """Print a new token; it is stored hashed, so it cannot be shown again."""

    requires_system_checks = FOR_COMMANDS

    help = (
        "Create a token for the REST API and print it once. It may do what its scope says, and "
        "never more than its user may."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="What will use it, for example CI.")
        parser.add_argument("--user", required=True, help="User whom the token acts for.")
        parser.add_argument(
            "--scope",
            choices=ApiToken.Scope.values,
            default=ApiToken.Scope.READ.value,
            help="spans: only send spans of agents; connect: only connect a computer to an agent; read; run: also start and stop runs, and send"
            " spans; author: also write. Default: read.",
        )
        parser.add_argument(
            "--require-if-match",
            action="store_true",
            help="Refuse to replace what exists without the header If-Match.",
        )
        parser.add_argument(
            "--days", type=days, help="Days until it expires. Default: it never expires."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"].strip()
        if not 0 < len(name) <= 200:  # noqa: PLR2004 - the column's
            raise usage_error("A token's name has 1 to 200 characters.")
        users = get_user_model()._default_manager.filter(is_active=True)  # noqa: SLF001 - Django's name
        user = users.filter(username=options["user"]).first()
        if user is None:
            known = [person.get_username() for person in users.order_by("username")[:1000]]
            message = f"There is no active user {options['user']!r}.{near(options['user'], known)}"
            if not known:
                message += f" Create one: {COMMAND} createsuperuser"
            raise usage_error(message)
        days_left = options["days"]
        expires_at = timezone.now() + timedelta(days=days_left) if days_left else None
        token, text = ApiToken.issue(
            name=name,
            user=user,
            scope=options["scope"],
            expires_at=expires_at,
            requires_if_match=options["require_if_match"],
        )
        note_edit(token, user=None, note=f"Made for {user.get_username()}.", is_new=True)
        until = f"until {expires_at:%Y-%m-%d %H:%M} UTC" if expires_at else "without end"
        # On stderr, so that stdout contains the token alone.
        self.stderr.write(
            f"Token {token.name!r} of {user.get_username()}, scope {token.scope}, valid {until}. "
            "It is shown only now."
        )
        self.stdout.write(text)
