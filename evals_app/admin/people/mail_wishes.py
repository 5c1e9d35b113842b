"""Which e-mails a person wants: on their profile about the runs they start, on a suite about its runs."""

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldBooleanWidget

from evals_app.admin.kit.pages import form_data, person, viewers_of
from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import MailWish, Suite

WISHES = ("on_end", "on_failure", "on_worse", "on_growth")


class MailWishForm(forms.ModelForm):
    """The occasions."""

    class Meta:
        model = MailWish
        fields = WISHES
        widgets = dict.fromkeys(WISHES, UnfoldBooleanWidget())


def mail_wish_page(request: HttpRequest, suite: Suite | None) -> HttpResponse:
    """Ask on which occasions a person wants an e-mail; none removes the row."""
    reader = person(request)
    wish = MailWish.objects.filter(person=reader, suite=suite).first()
    nothing = MailWish(person=reader, suite=suite, **dict.fromkeys(WISHES, False))
    form = MailWishForm(form_data(request), instance=wish or nothing)
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
        "email": User.objects.values_list("email", flat=True).get(pk=reader.pk),
    }
    return render(request, "admin/evals_app/people/email.html", context)


@transaction.atomic
def _write(form: MailWishForm, wish: MailWish | None) -> None:
    reader = form.instance.person
    if not form.has_changed():
        return
    if any(form.cleaned_data.values()):
        note_edit(form.save(), user=reader, note=_words(form), is_new=wish is None)
    elif wish is not None:
        note_deletion(wish, user=reader)
        wish.delete()


def _words(form: MailWishForm) -> str:
    chosen = [form.fields[name].label for name in WISHES if form.cleaned_data[name]]
    return f"Asked for e-mails when: {', '.join(map(str, chosen))}."


@require_http_methods(["GET", "POST"])
def mail_about_own_runs(request: HttpRequest) -> HttpResponse:
    """Ask for e-mails about the runs that a person starts."""
    return mail_wish_page(request, None)


@require_http_methods(["GET", "POST"])
@viewers_of(Suite)
@permission_required("evals_app.view_run", raise_exception=True)
def mail_about_suite(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for e-mails about the runs of a suite."""
    return mail_wish_page(request, get_object_or_404(Suite, pk=pk))
