"""The page to sign in on: a username and a password, or the way through the company."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from unfold.forms import AuthenticationForm

from evals_app.models.people.two_step import has_two_steps
from evals_app.requests.throttles import in_minutes
from evalsite.sign_in.limits import wait_s
from evalsite.sign_in.second_step import ask_for_code


class WithProfiles(ModelBackend):
    """Django's backend, which reads people with their time zones in one query.

    It knows no passwords where they are switched off.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        if not settings.PASSWORDS:
            return None
        return super().authenticate(request, username, password, **kwargs)

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
            message = "The username or the password is wrong. Capital letters matter in both."
            return ValidationError(message, code="invalid_login")
        message = f"Too many failed attempts to sign in. Try again {in_minutes(seconds)}."
        return ValidationError(message, code="too_often")


def _context(request: HttpRequest, wanted: str) -> dict[str, object]:
    """Return what the page needs besides its form."""
    provider = settings.IDENTITY_PROVIDER
    start = f"{reverse('company_start')}?{urlencode({'next': wanted})}"
    return {
        **admin.site.each_context(request),
        "title": "Sign in",
        "app_path": reverse("admin:login"),
        "next": wanted,
        "has_passwords": settings.PASSWORDS,
        "can_mail": settings.HAS_MAIL_SERVER,
        "company": provider and {"name": provider.name, "url": start},
        "look": "default" if provider else "primary",  # of the button below the password
    }


class SignIn(LoginView):
    """Django's page, which offers the ways that are configured."""

    authentication_form = SignInForm
    template_name = "admin/login.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if admin.site.has_permission(request):
            return redirect("admin:index")
        return super().get(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        someone: User = form.get_user()
        if has_two_steps(someone):
            return ask_for_code(self.request, someone, wanted=self.get_success_url())
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | _context(
            self.request, self.get_redirect_url() or self.get_default_redirect_url()
        )


def refusal_page(request: HttpRequest, sentence: str, *, status: int = 403) -> HttpResponse:
    """Show the page to sign in on, with the reason why no one was signed in."""
    context = _context(request, reverse("admin:index"))
    context |= {"form": SignInForm(request), "refused": sentence}
    return render(request, "admin/login.html", context, status=status)
