from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from evals_app.models import ApiToken

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def test_the_token_alone_stands_on_stdout_and_works() -> None:
    user = User.objects.create_user("ada")

    out, err = run("CI", "--user", "ada", "--scope", "run")

    token = ApiToken.valid(out.removesuffix("\n"))
    assert token is not None
    assert (token.name, token.user, token.scope, token.expires_at) == ("CI", user, "run", None)
    assert not token.requires_if_match
    assert out.strip() not in err
    assert out.strip() not in str(token.__dict__)


def test_without_a_scope_a_token_only_reads_and_it_may_expire_and_ask_for_if_match() -> None:
    User.objects.create_user("ada")

    run("CI", "--user", "ada", "--days", "30", "--require-if-match")

    token = ApiToken.objects.get()
    assert (token.scope, token.requires_if_match) == ("read", True)
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["CI", "--user", "ad"], "Did you mean 'ada'?", id="near name"),
        pytest.param(["CI", "--user", "eve"], "There is no active user 'eve'.", id="inactive"),
        pytest.param(["CI", "--user", "ada", "--scope", "all"], "invalid choice", id="scope"),
        pytest.param(["CI", "--user", "ada", "--days", "0"], "not a number of days", id="0 days"),
        (["CI", "--user", "ada", "--days", "9" * 30], "not a number of days"),
        pytest.param([" ", "--user", "ada"], "1 to 200 characters", id="no name"),
        pytest.param(["x" * 201, "--user", "ada"], "1 to 200 characters", id="long name"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], expected: str) -> None:
    User.objects.create_user("ada")
    User.objects.create_user("eve", is_active=False)

    with pytest.raises(CommandError) as caught:
        run(*arguments)

    assert expected in str(caught.value)
    assert not ApiToken.objects.exists()


def test_without_any_user_the_next_step_is_named() -> None:
    with pytest.raises(CommandError, match="createsuperuser"):
        run("CI", "--user", "ada")
