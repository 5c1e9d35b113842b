"""The page of a provider: how to reach models, and their prices. Keys stay in the environment."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldAdminURLInputWidget,
)

from evals_app.admin.kit.permissions import NotesEachDeletion, requires
from evals_app.admin.kit.quantities import UsdInput
from evals_app.admin.kit.spec_form import SpecForm, explain_errors
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.engine.basics.permits import permits
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.specs.base_spec import PriceSpec, ProviderSpec
from evals_app.library.saving import save_prices
from evals_app.models import Agent, ModelPrice, Provider
from evals_app.models.authored.providers import PRICE, PROVIDER
from evals_app.runs.providers.connection_test import GIVE_UP_S, try_provider
from fixtures_app.editing.editor import Editor, VersionedForm
from fixtures_app.editing.inputs import CheckBox, NumberInput, TextInput
from fixtures_app.editing.rows import OrderedFormSet, PositionField, RowForm, RowsInline


class ProviderForm(SpecForm, VersionedForm):
    """Validated by ProviderSpec."""

    mapping = PROVIDER

    base_url = forms.RegexField(
        r"^https?://\S+$",
        required=False,
        max_length=200,
        widget=UnfoldAdminURLInputWidget(),
        error_messages={
            "invalid": "Enter a URL that begins with http:// or https:// and has no spaces."
        },
    )

    class Meta:
        model = Provider
        fields = (
            *("name", "slug", "kind", "base_url", "api_key_env"),
            *("max_concurrency", "requests_per_minute", "max_tokens_parameter"),
        )
        labels = PROVIDER.labels
        help_texts = PROVIDER.help_texts

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for name, text in _help_of(self.instance.kind).items():
            if name in self.fields:  # read-only pages have none
                self.fields[name].help_text = text
        if "api_key_env" in self.fields:
            variables = dict.fromkeys(entry.partition("@")[0] for entry in permits().keys)
            permitted = ", ".join(variables) or "none"
            self.fields["api_key_env"].help_text += f" Permitted here: {permitted}."


def _help_of(kind: str) -> dict[str, str]:
    """Return help texts for a kind of provider, with its defaults."""
    known = KINDS.get(kind)
    if known is None or known.api is None:
        return {}
    if known.base_url is None:
        address = "For example https://NAME.openai.azure.com/openai/v1/ of your own resource."
    elif known.base_url_env:
        address = f"Leave blank for {known.base_url}, or the value of {known.base_url_env}."
    else:
        address = f"Leave blank for {known.base_url}."
    key = f"Leave blank for {known.key_env}." if known.key_env else "Leave blank if it needs none."
    return {
        "base_url": address,
        "api_key_env": f"Name of the environment variable with the key, never the key itself. {key}",
        "max_tokens_parameter": f"Leave blank for {known.max_tokens_parameter}. Older "
        "OpenAI-compatible servers expect max_tokens.",
    }


class UnorderedPosition(PositionField):
    """The position of a row without an order; it never counts as a change."""

    def has_changed(self, initial: object, data: object) -> bool:
        return False


class PriceForm(SpecForm, RowForm):
    """The price of a model from a day on."""

    mapping = PRICE

    position = UnorderedPosition()
    valid_from = forms.DateField(
        widget=TextInput({"type": "date"}), initial=lambda: timezone.now().date()
    )
    above_prompt_tokens = forms.IntegerField(required=False, min_value=0, widget=NumberInput)
    input_usd = UsdInput(widget=NumberInput)
    output_usd = UsdInput(widget=NumberInput)
    cache_read_usd = UsdInput(widget=NumberInput, required=False)
    cache_write_5m_usd = UsdInput(widget=NumberInput, required=False)
    cache_write_1h_usd = UsdInput(widget=NumberInput, required=False)

    class Meta:
        model = ModelPrice
        fields = (*PriceSpec.model_fields, "position")
        labels = PRICE.labels
        help_texts = PRICE.help_texts
        widgets = {"model": TextInput, "is_batch": CheckBox}

    @property
    def shown_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _SHOWN]

    @property
    def title(self) -> str:
        price = self.instance
        if not price.pk:
            return ""
        above = f", above {price.above_prompt_tokens:,} tokens" if price.above_prompt_tokens else ""
        batches = ", in batches" if price.is_batch else ""
        costs = f"{usd_text(price.input_usd)} in, {usd_text(price.output_usd)} out"
        return f"{price.model} from {date_format(price.valid_from)}{above}{batches}: {costs}"

    def clean(self) -> dict[str, object]:
        # Not ModelForm's, which compares rows with the database one by one: prices may swap values.
        return self.cleaned_data

    def to_mapping(self) -> dict[str, object]:
        """Return the price as in a file."""
        given = {name: self.cleaned_data[name] for name in PriceSpec.model_fields}
        return given | {"above_prompt_tokens": given["above_prompt_tokens"] or 0}


_SHOWN = (
    *("model", "valid_from", "input_usd", "output_usd"),
    *("cache_read_usd", "cache_write_5m_usd", "cache_write_1h_usd"),
    *("above_prompt_tokens", "is_batch"),
)


class PriceFormSet(OrderedFormSet):
    """The prices of a provider, validated together by ProviderSpec."""

    row_name = "price"
    specs: list[PriceSpec]

    def clean(self) -> None:
        if any(row.errors for row in self.kept_rows):
            return
        # The form of the page validates the rest.
        written = {
            "provider": "-",
            "slug": "x",
            "kind": "anthropic",
            "prices": [row.to_mapping() for row in self.kept_rows],
        }
        try:
            self.specs = ProviderSpec.model_validate(written).prices
        except ValidationError as error:
            for loc, message in explain_errors(error, model=ProviderSpec, data=written):
                _, number, field = loc
                self.kept_rows[int(number)].add_error(str(field), message)


class PriceInline(RowsInline):
    """Prices of the models of a provider."""

    model, form, formset, page_model = ModelPrice, PriceForm, PriceFormSet, Provider
    verbose_name_plural = "Prices"
    row_template = "admin/evals_app/site/price_row.html"
    add_label = "Add a price"
    hint = (
        "In USD per million tokens. A run keeps the prices of the day it starts. Without a price, "
        "its cost is unknown."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        order = ("model", "is_batch", "-valid_from", "above_prompt_tokens")
        rows: QuerySet[Any] = ModelPrice.objects.order_by(*order)
        return rows


class ConnectionForm(BaseDialogForm):
    """The dialog that tests the connection: what to ask for, and from which model."""

    what = forms.ChoiceField(
        choices=[("answer", "A short answer"), ("embedding", "An embedding of one word")],
        initial="answer",
        label="Ask for",
        widget=UnfoldAdminSelectWidget(),
    )
    model = forms.CharField(
        required=False,
        max_length=200,
        label="Model",
        widget=UnfoldAdminTextInputWidget(),
        help_text="The name that the provider uses.",
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        # The page behind the dialog has fields with the same names.
        super().__init__(*args, auto_id="connection_%s", **kwargs)
        # The action refuses an unknown key.
        self.provider = Provider.objects.filter(pk=self.object_id).first()
        kind = KINDS[self.provider.kind] if self.provider else None
        if kind is None or not kind.has_embeddings:
            del self.fields["what"]
        elif kind.embedding_model:
            blank = f" Leave blank to test embeddings with {kind.embedding_model}."
            self.fields["model"].help_text += blank
        if self.provider:
            self.fields["model"].initial = _model_in_use(self.provider)

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if self.is_embedding and not cleaned.get("model") and self.provider:
            cleaned["model"] = KINDS[self.provider.kind].embedding_model or ""
        if not cleaned.get("model"):
            self.add_error("model", "Enter a model of this provider.")
        return cleaned

    @property
    def is_embedding(self) -> bool:
        return self.cleaned_data.get("what") == "embedding"


def _model_in_use(provider: Provider) -> str:
    """Return a model that an agent uses, or else one that has a price."""
    begins = f"{provider.slug}/"
    named = Agent.objects.filter(model__startswith=begins).order_by("pk").first()
    if named:
        return named.model.removeprefix(begins)
    priced = provider.prices.exclude(model__endswith="*").exclude(output_usd=0)
    return priced.order_by("pk").values_list("model", flat=True).first() or ""


@admin.register(Provider)
class ProviderAdmin(NotesEachDeletion, Editor):
    """Providers: ways to reach models."""

    form = ProviderForm
    inlines = [PriceInline]
    list_display = ["name", "slug", "kind", "key_status", "updated_at"]
    search_fields = ["name", "slug"]
    ordering = ["name"]
    when_empty = "A provider gives access to models, for example the Anthropic API."
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["key_status"]
    actions_detail = ["test_connection"]
    fieldsets = [
        (None, {"fields": ["name", "slug", "kind", "base_url", "api_key_env", "key_status"]}),
        ("Limits", {"fields": ["max_concurrency", "requests_per_minute"]}),
        ("Self-hosted servers", {"fields": ["max_tokens_parameter"], "classes": ["collapse"]}),
    ]

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        save_prices(form.instance, formset.specs)

    @display(description="Key")
    def key_status(self, provider: Provider) -> str:
        """Return whether the variable is set on this server, never its value."""
        if not provider.pk:
            return "Shown after saving"
        if provider.has_key is None:
            return "No key needed"
        if not provider.is_key_permitted:
            return f"{provider.key_variable} is not permitted as a key. Ask your administrator to add it to EVALS_KEY_VARIABLES."
        return f"{provider.key_variable} is {'set' if provider.has_key else 'not set'}"

    # It may cost money, and shows whether a key is set.
    has_test_permission = requires("evals_app.change_provider")

    @action(
        description="Test the connection",
        icon="cable",
        url_path="test",
        permissions=["test"],
        dialog={
            "title": "Test the connection?",
            "description": (
                "Makes one short call from this server with the saved settings. It may cost a "
                f"fraction of a cent and takes at most {GIVE_UP_S:.0f} seconds."
            ),
            "form_submit_text": "Test",
            "form_class": ConnectionForm,
        },
    )
    def test_connection(
        self, request: HttpRequest, form: ConnectionForm, object_id: str
    ) -> HttpResponse:
        provider = get_object_or_404(Provider, pk=object_id)
        tried = try_provider(
            provider.to_spec(), model=form.cleaned_data["model"], is_embedding=form.is_embedding
        )
        show = messages.success if tried.is_well else messages.error
        show(request, tried.sentence)
        return leave_dialog(reverse("admin:evals_app_provider_change", args=[provider.pk]))
