"""The page on which people turn the second step of signing in on and off."""

import segno
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from unfold.widgets import INPUT_CLASSES

from evals_app.admin.kit.pages import form_data, person
from evals_app.models.people import two_step


class CodeField(forms.CharField):
    """A code of an app, or a recovery code."""

    def __init__(self, **options: object) -> None:
        attributes = {"autocomplete": "one-time-code", "class": " ".join(INPUT_CLASSES)}
        widget = forms.TextInput(attrs=attributes)
        super().__init__(label="Code", max_length=40, widget=widget, **options)  # type: ignore[arg-type]


class ConfirmForm(forms.Form):
    """Their password and a code: an open browser is not enough to change how someone signs in."""

    password = forms.CharField(
        widget=forms.PasswordInput(
            attrs={"autocomplete": "current-password", "class": " ".join(INPUT_CLASSES)}
        )
    )
    code = CodeField()

    def __init__(self, request: HttpRequest, reader: User, *, is_on: bool) -> None:
        super().__init__(form_data(request))
        self._request, self._reader, self._is_on = request, reader, is_on
        self.recovery_codes: list[str] = []

    def clean(self) -> None:
        password, code = (self.cleaned_data.get(name, "") for name in ("password", "code"))
        if self.errors:
            return
        name = self._reader.get_username()
        # Failures count as those of signing in.
        if authenticate(self._request, username=name, password=password) is None:
            self.add_error("password", "This is not your password, or you tried too often.")
        elif self._is_on:
            if not two_step.is_right(self._reader, code):
                self.add_error("code", "This code is not right, or it was used before.")
        else:
            self.recovery_codes = two_step.turn_on(self._reader, code)
            if not self.recovery_codes:
                self.add_error("code", "This code is not right. Is the clock of your phone?")


@require_http_methods(["GET", "POST"])
@never_cache
def own_two_step(request: HttpRequest) -> HttpResponse:
    """Turn the second step on or off, or make new recovery codes."""
    reader = User.objects.get(pk=person(request).pk)
    is_on = two_step.has_two_steps(reader)
    form = ConfirmForm(request, reader, is_on=is_on)
    if form.is_valid():
        if not is_on:
            request.session[two_step.PASSED] = True
            return _codes_page(request, form.recovery_codes, "Turned the second step on.")
        if "codes" in request.POST:
            codes = two_step.new_recovery_codes(reader)
            return _codes_page(request, codes, "Made new recovery codes.")
        if settings.TWO_STEPS_REQUIRED:
            raise PermissionDenied("This site requires a second step.")
        two_step.turn_off(reader)
        _note(reader, reader, "Turned the second step off.")
        messages.success(request, "Signing in asks for no code any more.")
        return redirect("profile")
    context = {
        **admin.site.each_context(request),
        "title": "Two steps to sign in",
        "form": form,
        "is_on": is_on,
        "is_required": settings.TWO_STEPS_REQUIRED,
        "has_password": reader.has_usable_password(),
    }
    if is_on:
        context["left"] = two_step.recovery_codes_left(reader)
    elif reader.has_usable_password():
        device = two_step.app_to_confirm(reader)
        picture = segno.make(device.config_url).svg_data_uri(scale=5, border=4, light="white")
        context |= {"picture": picture, "key": two_step.key_in_groups(device)}
    return render(request, "admin/evals_app/people/two_step.html", context)


def end_two_step(request: HttpRequest, someone: User) -> None:
    """Turn the second step of a person off, who has lost their phone and their recovery codes."""
    two_step.turn_off(someone)
    _note(person(request), someone, "Turned the second step off.")


def _codes_page(request: HttpRequest, codes: list[str], words: str) -> HttpResponse:
    _note(person(request), person(request), words)
    context = {
        **admin.site.each_context(request),
        "title": "Your recovery codes",
        "codes": codes,
    }
    return render(request, "admin/evals_app/people/recovery_codes.html", context)


def _note(by: User, someone: User, words: str) -> None:
    LogEntry.objects.log_actions(by.pk, [someone], CHANGE, words, single_object=True)
