"""The page on which people change their name, time zone and password, and see their tokens."""

from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_http_methods, require_POST
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.pages import may_view, person
from evals_app.engine.specs.rhythm import time_zones
from evals_app.library.changes.edits import note_edit
from evals_app.models import ApiToken, CompanyAccount, MailWish, Profile
from evals_app.models.people.company_accounts import connect_token
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.words import near


class ZoneInput(UnfoldAdminTextInputWidget):
    """An input that offers the time zones that contain what is typed."""

    template_name = "admin/evals_app/people/zone_input.html"

    def get_context(
        self, name: str, value: object, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        context["widget"]["offered"] = time_zones()
        return context


class ZoneField(forms.CharField):
    """The name of a time zone, in upper or lower case."""

    def clean(self, value: object) -> str:
        text: str = super().clean(value)
        known = {name.lower(): name for name in time_zones()}
        wanted = text.strip().replace(" ", "_").lower()
        if wanted in known:
            return known[wanted]
        cities = [name for name in time_zones() if name.rpartition("/")[2].lower() == wanted]
        if len(cities) == 1:
            return cities[0]
        raise forms.ValidationError(
            f"{cut_middle(text)!r} is not a time zone. Write it as Europe/Zurich."
            f"{near(text, time_zones())}"
        )


class ProfileForm(forms.ModelForm):
    """What people change about themselves."""

    name = forms.CharField(
        max_length=150, label="Name", required=False, widget=UnfoldAdminTextInputWidget()
    )
    time_zone = ZoneField(
        label="Time zone",
        max_length=100,
        widget=ZoneInput(),
        help_text="All pages show times in it. Type the name of a city, for example Zurich.",
    )

    class Meta:
        model = User
        fields = ("name", "email", "time_zone")
        labels = {"email": "E-mail"}
        widgets = {"email": UnfoldAdminEmailInputWidget()}

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002 - Django's signature
        if "name" in self.changed_data:
            self.instance.first_name, self.instance.last_name = self.cleaned_data["name"], ""
        person = super().save(commit)
        keep_time_zone(person, self.cleaned_data["time_zone"])
        return person


def keep_time_zone(person: User, name: str) -> None:
    """Store the time zone of a person."""
    Profile.objects.update_or_create(user=person, defaults={"time_zone": name})


def _read(request: HttpRequest) -> User:
    return User.objects.get(pk=person(request).pk)


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Show and save the profile of the signed-in person."""
    reader = _read(request)  # another object than in the menu, which keeps its name
    chosen = Profile.objects.filter(user=reader).values_list("time_zone", flat=True).first()
    initial = {"name": reader.get_full_name(), "time_zone": chosen or "UTC"}
    form = ProfileForm(request.POST or None, instance=reader, initial=initial)
    if form.is_valid():
        form.save()
        if changed := ", ".join(str(form[name].label) for name in form.changed_data):
            note_edit(reader, user=reader, note=f"Changed in their own profile: {changed}.")
        messages.success(request, "Your profile is saved.")
        return redirect("profile")
    has_tokens = may_view(request, ApiToken)
    wishes = MailWish.objects.filter(person=reader).order_by("suite__name")
    context = {
        **admin.site.each_context(request),
        "title": "Your profile",
        "has_passwords": settings.PASSWORDS,
        "form": form,
        "roles": [group.name for group in reader.groups.order_by("pk")],
        "mail_suites": [wish.suite for wish in wishes.exclude(suite=None).select_related("suite")],
        "company": _company(request),
        "has_tokens": has_tokens,
        "tokens": ApiToken.objects.filter(user=reader).order_by("-pk") if has_tokens else (),
    }
    return render(request, "admin/evals_app/people/profile.html", context)


def change_password(request: HttpRequest) -> HttpResponse:
    """Let people change their own password: Django's page, with an entry in the history."""
    response = admin.site.password_change(request)
    if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
        reader = person(request)
        note_edit(reader, user=reader, note="Changed their own password.")
    return response


def _company(request: HttpRequest) -> dict[str, object] | None:
    """Return what the page says about the account at the company; None without a provider."""
    provider = settings.IDENTITY_PROVIDER
    if provider is None:
        return None
    accounts = CompanyAccount.objects.filter(person=person(request), issuer=provider.issuer)
    token = connect_token(request.session.session_key)
    query = urlencode({"next": reverse("profile"), "connect": token})
    connect = f"{reverse('company_start')}?{query}"
    return {"name": provider.name, "is_connected": accounts.exists(), "connect": connect}


@require_POST
def choose_time_zone(request: HttpRequest) -> HttpResponse:
    """Store the time zone that each person is asked for once, and go back."""
    field = ZoneField(max_length=100)
    try:
        name = field.clean(request.POST.get("time_zone", ""))
    except forms.ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("profile")
    reader = _read(request)
    keep_time_zone(reader, name)
    note_edit(reader, user=reader, note="Chose their own time zone.")
    messages.success(request, f"Pages now show times in the time zone {name}.")
    back = request.META.get("HTTP_REFERER", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()})
    return redirect(back if is_ours else "admin:index")
