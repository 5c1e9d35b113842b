"""API tokens: created here, shown once, revoked here."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from unfold.decorators import display

from evals_app.admin.kit.pages import page_context, person
from evals_app.admin.kit.permissions import NotesEachDeletion
from evals_app.models import ApiToken


class TokenForm(forms.ModelForm):
    """The name of a token, its scope and its expiry."""

    class Meta:
        model = ApiToken
        fields = ("name", "user", "scope", "expires_at", "requires_if_match")
        help_texts = {
            "user": "Requests with this token act as this person.",
            "expires_at": "Leave blank for a token that does not expire.",
        }

    def clean_expires_at(self) -> object:
        expires_at = self.cleaned_data["expires_at"]
        if expires_at and "expires_at" in self.changed_data and expires_at <= timezone.now():
            raise forms.ValidationError("This time is in the past.")
        return expires_at


@admin.register(ApiToken)
class ApiTokenAdmin(NotesEachDeletion):
    """People manage their own tokens; a superuser manages all tokens."""

    form = TokenForm
    list_display = ["name", "beginning", "user", "scope", "expires_at", "last_used_at"]
    list_select_related = ["user"]
    list_filter = ["scope"]
    search_fields = ["name", "prefix"]
    ordering = ["-pk"]
    when_empty = "A token lets a program use the REST API on behalf of a person."

    @display(description="Begins with")
    def beginning(self, token: ApiToken) -> str:
        return f"{token.prefix}…"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        rows: QuerySet[ApiToken] = super().get_queryset(request)
        return rows if request.user.is_superuser else rows.filter(user=request.user.pk)

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[Any]:
        # A token for another person would lend that person's rights.
        user = ["user"] if request.user.is_superuser else []
        return ["name", *user, "scope", "expires_at", "requires_if_match"]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> list[str]:
        # A wider scope, or another person, is another token.
        return ["user", "scope"] if obj else []

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"user": request.user.pk, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: ApiToken, form: object, change: bool) -> None:  # noqa: FBT001 - Django's signature
        if change:
            super().save_model(request, obj, form, change)
            return
        owner = obj.user if request.user.is_superuser else person(request)
        token, text = ApiToken.issue(
            name=obj.name,
            user=owner,
            scope=obj.scope,
            expires_at=obj.expires_at,
            requires_if_match=obj.requires_if_match,
        )
        obj.pk, obj.prefix, obj.user = token.pk, token.prefix, owner
        noted: Any = request
        noted.issued_token = text

    def response_add(
        self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None
    ) -> HttpResponse:
        context = page_context(request, ApiToken) | {
            "title": "New token",
            "token": obj,
            "text": getattr(request, "issued_token", ""),
        }
        page = render(request, "admin/evals_app/people/token_issued.html", context)
        # Not even the back button shows it again.
        page.headers["Cache-Control"] = "no-store"
        return page
