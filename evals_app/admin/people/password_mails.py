"""E-mails with a link to set a password: of an admin, or for someone who forgot theirs."""

import logging
from collections.abc import Iterable
from smtplib import SMTPException
from threading import Thread

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.views.decorators.http import require_http_methods
from unfold.widgets import INPUT_CLASSES

from evals_app.admin.kit.pages import form_data
from evals_app.models import PasswordLink
from evals_app.models.people.names import shown_name
from evals_app.requests.throttles import PasswordMails, in_minutes

log = logging.getLogger(__name__)

_AT_ONCE = 5  # people who share an address


def password_path(person: User, token: str) -> str:
    """Return the address on which a person sets a password."""
    key = urlsafe_base64_encode(force_bytes(person.pk))
    return reverse("set_password", args=[key, token])


def _mail(person: User, token: str, subject: str, before: str, after: str) -> EmailMessage:
    # The address of the site, not that of the request: a client chooses the latter.
    link = settings.SITE.rstrip("/") + password_path(person, token)
    text = f"Hello {shown_name(person)},\n\n{before}\n\n{link}\n\n{after}\n"
    return EmailMessage(subject, text, to=[person.email])


def send_link(person: User, *, by: User) -> str:
    """E-mail a new link to a person; return why it was not sent, or nothing."""
    made, token = PasswordLink.make(person, by=by)
    mail = _mail(
        person,
        token,
        "Your account on Evalwell",
        f"{shown_name(by)} sends you this link. With it you choose a password; your username is"
        f" {person.get_username()}.",
        f"It works once, until {made.ends_at:%d %b %Y, %H:%M} UTC. Whoever has it can choose the"
        " password, so do not pass it on.",
    )
    try:
        mail.send()
    except (SMTPException, OSError) as error:
        log.warning(
            "The mail server did not accept a link for %r: %s", person.get_username(), error
        )
        return "The mail server did not accept it. The log has the reason. Copy a link instead."
    return ""


class ForgottenForm(forms.Form):
    """Who forgot their password."""

    name = forms.CharField(
        label="Username or e-mail",
        max_length=254,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "class": " ".join(INPUT_CLASSES)}
        ),
    )


@require_http_methods(["GET", "POST"])
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """E-mail a link to the person with this name; the answer is the same if no one has."""
    if not (settings.HAS_MAIL_SERVER and settings.PASSWORDS):
        raise Http404
    form, throttle = ForgottenForm(form_data(request)), PasswordMails()
    status = 200
    if form.is_valid() and not throttle.allow_request(request, None):
        wait = in_minutes(throttle.wait() or 60)
        form.add_error("name", f"You asked for too many links. Try again {wait}.")
        status = 429
    is_sent = form.is_valid()
    if is_sent:
        mails = [_forgotten_mail(person) for person in _who(form.cleaned_data["name"])]
        # Not here: how long the mail server takes would tell whether someone has this name.
        Thread(target=_send_all, args=[mails], daemon=True).start()
    context = {
        **admin.site.each_context(request),
        "title": "Forgot your password?",
        "form": form,
        "is_sent": is_sent,
    }
    return render(request, "admin/evals_app/people/forgotten.html", context, status=status)


def _who(name: str) -> list[User]:
    """Return the people with a password and an e-mail address whom a name means."""
    named = Q(username=name) | Q(email__iexact=name)
    people = User.objects.filter(named, is_active=True, is_staff=True).exclude(email="")
    return [person for person in people[:_AT_ONCE] if person.has_usable_password()]


def _forgotten_mail(person: User) -> EmailMessage:
    return _mail(
        person,
        default_token_generator.make_token(person),
        "Your password on Evalwell",
        f"Choose a new password for {person.get_username()}:",
        "The link works once, for an hour. If you did not ask for it, you need not do anything:"
        " your password stays as it is.",
    )


def _send_all(mails: Iterable[EmailMessage]) -> None:
    for mail in mails:
        try:
            mail.send()
        except (SMTPException, OSError) as error:
            log.warning("The mail server did not accept a link to set a password: %s", error)
