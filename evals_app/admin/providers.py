"""The page of a provider: how models are reached. The key itself stays in the environment."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display
from unfold.widgets import UnfoldAdminURLInputWidget

from evals_app.admin.words import refuse
from evals_app.engine.spec import ProviderSpec
from evals_app.models import Provider
from fixtures_app.admin.editor import Editor, VersionedForm


class ProviderForm(VersionedForm):
    """Read by ProviderSpec."""

    base_url = forms.RegexField(
        r"^https?://\S+$",
        required=False,
        label="Base URL",
        max_length=200,
        widget=UnfoldAdminURLInputWidget(),
        help_text=Provider._meta.get_field("base_url").help_text,  # noqa: SLF001 - the documented API
        error_messages={"invalid": "An address begins with http:// or https:// and has no spaces."},
    )

    class Meta:
        model = Provider
        fields = ("name", "slug", "kind", "base_url", "api_key_env", "max_concurrency")
        help_texts = {"slug": "Models are named by it: slug/model."}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if any(name in self.errors for name in self.fields):
            return cleaned
        written = {
            "provider": cleaned["name"],
            "slug": cleaned["slug"],
            "kind": cleaned["kind"],
            "base_url": cleaned["base_url"] or None,
            "api_key_env": cleaned["api_key_env"] or None,
            "max_concurrency": cleaned["max_concurrency"],
        }
        try:
            ProviderSpec.model_validate(written)
        except ValidationError as error:
            fields = {name: name for name in self.fields} | {"provider": "name"}
            refuse(self, error, model=ProviderSpec, data=written, fields=fields)
        return cleaned


@admin.register(Provider)
class ProviderAdmin(Editor):
    """Providers: ways to reach models."""

    form = ProviderForm
    list_display = ["name", "slug", "kind", "key_status", "updated_at"]
    search_fields = ["name", "slug"]
    ordering = ["name"]
    when_empty = "A provider is a way to reach models, for example the API of Anthropic."
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["key_status"]
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "name",
                    "slug",
                    "kind",
                    "base_url",
                    "api_key_env",
                    "key_status",
                    "max_concurrency",
                ]
            },
        )
    ]

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Provider | None = None
    ) -> dict[str, list[str]]:
        # Model names begin with the slug; it does not follow a new name by itself.
        return {} if obj else self.prepopulated_fields

    @display(description="Key")
    def key_status(self, provider: Provider) -> str:
        """Say whether the variable is set where this page is made; never what it holds."""
        if provider.has_key is None:
            return "It needs no variable."
        return f"{provider.api_key_env} is {'set' if provider.has_key else 'not set'} here."
