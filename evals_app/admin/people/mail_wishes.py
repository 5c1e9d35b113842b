"""Which e-mails a person wants: on their profile about the runs they start, on a suite about its runs."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldBooleanWidget

from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import MailWish, Suite

WISHES = ("on_end", "on_failure", "on_worse")


class MailWishForm(forms.ModelForm):
    """The three occasions."""

    class Meta:
        model = MailWish
        fields = WISHES
        widgets = dict.fromkeys(WISHES, UnfoldBooleanWidget())


def mail_wish_page(request: HttpRequest, suite: Suite | None) -> HttpResponse:
    """Ask on which occasions a person wants an e-mail; none removes the row."""
    person: Any = request.user
    wish = MailWish.objects.filter(person=person.pk, suite=suite).first()
    nothing = MailWish(person=person, suite=suite, on_failure=False, on_worse=False)
    posted = request.POST if request.method == "POST" else None
    form = MailWishForm(posted, instance=wish or nothing)
    if form.is_valid():
        _write(form, wish)
        messages.success(request, "Your choice was saved.")
        return redirect("admin:evals_app_suite_cases", suite.pk) if suite else redirect("profile")
    context = {
        **admin.site.each_context(request),
        "title": f"E-mail about {suite}" if suite else "E-mail about runs that you start",
        "form": form,
        "suite": suite,
        "has_mail_server": settings.HAS_MAIL_SERVER,
        "email": User.objects.values_list("email", flat=True).get(pk=person.pk),
    }
    return TemplateResponse(request, "admin/evals_app/people/email.html", context)


@transaction.atomic
def _write(form: MailWishForm, wish: MailWish | None) -> None:
    person: Any = form.instance.person
    if not form.has_changed():
        return
    if any(form.cleaned_data.values()):
        note_edit(form.save(), user=person, note=_words(form), is_new=wish is None)
    elif wish is not None:
        note_deletion(wish, user=person)
        wish.delete()


def _words(form: MailWishForm) -> str:
    chosen = [form.fields[name].label for name in WISHES if form.cleaned_data[name]]
    return f"Asked for e-mails when: {', '.join(map(str, chosen))}."


@require_http_methods(["GET", "POST"])
def mail_about_own_runs(request: HttpRequest) -> HttpResponse:
    """Ask for e-mails about the runs that a person starts."""
    return mail_wish_page(request, None)


@require_http_methods(["GET", "POST"])
def mail_about_suite(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for e-mails about the runs of a suite."""
    person = request.user
    sees = person.has_perm("evals_app.view_suite") or person.has_perm("evals_app.change_suite")
    if not (sees and person.has_perm("evals_app.view_run")):
        raise PermissionDenied
    return mail_wish_page(request, get_object_or_404(Suite, pk=pk))
