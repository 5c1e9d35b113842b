"""The page to sign in on: a username and a password, or the way through the company."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from evals_app.requests.throttles import in_minutes
from evalsite.sign_in.limits import wait_s


class WithProfiles(ModelBackend):
    """Django's backend, which reads people with their time zones in one query."""

    def get_user(self, user_id: int) -> User | None:
        person = User.objects.select_related("profile").filter(pk=user_id).first()
        return person if person and self.user_can_authenticate(person) else None


class SignInForm(AuthenticationForm):
    """Unfold's form, with the time to try again; it shows more only with the right password."""

    def confirm_login_allowed(self, user: Any) -> None:
        if not user.is_staff:
            message = "Your account cannot open this site yet. Ask an administrator."
            raise ValidationError(message, code="not_yet")
        super().confirm_login_allowed(user)

    def get_invalid_login_error(self) -> ValidationError:
        seconds = wait_s(self.request)
        if seconds is None:
            return super().get_invalid_login_error()
        message = f"Too many failed attempts to sign in. Try again {in_minutes(seconds)}."
        return ValidationError(message, code="too_often")
