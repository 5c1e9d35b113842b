"""Invitations: a person without a password, and a link with which they set one.

The link also serves people who forgot theirs. Django's page sets the password; `PasswordLink` states
until when a link works. With a mail server, Evalwell e-mails it; otherwise the person who makes it does.
People who forgot their password may ask for a link themselves: Django signs that one.
"""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.text import slugify
from unfold.widgets import INPUT_CLASSES, UnfoldAdminTextInputWidget

from evals_app.admin.kit.pages import page_context, secret_link_page
from evals_app.admin.people.password_mails import password_path
from evals_app.models import PasswordLink
from fixtures_app.ground.words import numbered_name, plain_name

_MAX_USERNAME = User._meta.get_field("username").max_length or 150  # noqa: SLF001 - documented


class PersonForm(forms.ModelForm):
    """A person, with one name instead of two."""

    name = forms.CharField(
        max_length=User._meta.get_field("first_name").max_length,  # noqa: SLF001 - documented
        required=False,
        widget=UnfoldAdminTextInputWidget(),
    )

    class Meta:
        model = User
        fields = ("username", "email", "groups", "is_active")  # pages may add more
        labels = {
            "email": "E-mail",
            "groups": "Roles",
            "is_staff": "May sign in",
            "is_superuser": "Superuser",
        }
        help_texts = {
            "username": "To sign in with. Letters, digits and @ . + - _",
            "is_active": "Deselect this instead of deleting a person: they can no longer sign in, "
            "and their API tokens stop working.",
            "is_staff": "Deselect this for an account that only uses API tokens.",
            "is_superuser": "May do everything, without a role.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "name" in self.fields and self.instance.pk:
            self.fields["name"].initial = self.instance.get_full_name()

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002 - Django's signature
        if "name" in self.changed_data:
            self.instance.first_name, self.instance.last_name = self.cleaned_data["name"], ""
        return super().save(commit)


class InvitationForm(PersonForm):
    """A new colleague: a name and a role are enough."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True
        self.fields["username"].required = False
        self.fields["username"].help_text += ". Leave blank to have one made from the name."
        if settings.HAS_MAIL_SERVER:
            self.fields["email"].help_text = "Optional. The link can be sent there."
        else:
            self.fields["email"].help_text = "Optional. Evalwell does not send e-mail."
        self.fields["groups"].required = True

    def clean_username(self) -> str:
        return self.cleaned_data["username"] or unused_name(self.cleaned_data.get("name", ""))

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002 - Django's signature
        self.instance.is_staff = True  # otherwise they could not sign in
        self.instance.set_unusable_password()
        return super().save(commit)


def unused_name(name: str) -> str:
    """Return a username that no one has: "ann-smith", or "ann-smith-2"."""
    wanted = slugify(plain_name(name)) or "person"
    taken = User.objects.filter(username__startswith=wanted[:10])
    return numbered_name(wanted, taken.values_list("username", flat=True), length=_MAX_USERNAME)


def link_page(request: HttpRequest, person: User) -> HttpResponse:
    """Show a new link for a person; an earlier one stops working."""
    made, token = PasswordLink.make(person, by=request.user)
    link = password_path(person, token)
    context = page_context(request, User, person) | {"person": person}
    context["can_mail"] = can_mail(person)
    return secret_link_page(
        request, "admin/evals_app/people/link.html", context, link=link, ends_at=made.ends_at
    )


def can_mail(person: User) -> bool:
    """Whether a link can be e-mailed to a person."""
    return settings.HAS_MAIL_SERVER and bool(person.email)


class ChosenPasswordForm(SetPasswordForm):
    """Django's form in Unfold's look."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(INPUT_CLASSES)


class LinkTokens:
    """Checks tokens in addresses for Django's page."""

    def check_token(self, person: User | None, token: str) -> bool:
        link = PasswordLink.objects.select_related("person", "made_by").filter(person=person)
        return any(found.fits(token) for found in link) or _is_own(person, token)


def _is_own(person: User | None, token: str) -> bool:
    """Whether a person asked for this link themselves, because they forgot their password."""
    can_ask = settings.HAS_MAIL_SERVER and person is not None and person.has_usable_password()
    return can_ask and default_token_generator.check_token(person, token)


class SetPassword(PasswordResetConfirmView):
    """The page that a link leads to."""

    token_generator = LinkTokens()
    form_class = ChosenPasswordForm
    template_name = "admin/evals_app/people/set_password.html"
    title = "Choose a password"
    success_url = reverse_lazy("admin:login")

    def get_user(self, uidb64: str) -> User | None:
        person = super().get_user(uidb64) if settings.PASSWORDS else None
        return person if person and person.is_active else None

    @transaction.atomic
    def form_valid(self, form: SetPasswordForm) -> HttpResponse:
        person: Any = self.user
        token = self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        link = PasswordLink.objects.select_for_update().filter(person=person).first()
        if link is not None and link.fits(token):
            used = f"Set a password with the link that {link.made_by} made."
            link.delete()
        elif _is_own(person, token):
            used = "Set a password with a link that they asked for by e-mail."
        else:  # used, replaced or ended a moment ago
            return redirect(self.request.path)
        LogEntry.objects.log_actions(person.pk, [person], CHANGE, used, single_object=True)
        sentence = f"Your password is saved. Sign in as {person.get_username()}."
        messages.success(self.request, sentence)
        return super().form_valid(form)

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        context: dict[str, object] = super().get_context_data(**kwargs)
        context |= {**admin.site.each_context(self.request), "person": self.user}
        context["has_passwords"] = settings.PASSWORDS
        context["title"] = self.title if self.validlink else "This link does not work"
        return context
