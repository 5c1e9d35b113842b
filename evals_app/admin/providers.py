"""The page of a provider: how models are reached, and what they cost. Keys stay in the environment."""

from datetime import date
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminURLInputWidget

from evals_app.admin.connection import ConnectionForm
from evals_app.admin.money import DayInput, UsdInput
from evals_app.admin.starting import leave_dialog
from evals_app.admin.words import explained, refuse
from evals_app.engine.kinds import KINDS
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.permits import permits
from evals_app.engine.spec import PriceSpec, ProviderSpec
from evals_app.library.saving import save_prices
from evals_app.models import ModelPrice, Provider
from evals_app.runs.connection import GIVE_UP_S, try_provider
from fixtures_app.admin.editor import Editor, VersionedForm
from fixtures_app.admin.inputs import CheckBox, NumberInput, TextInput
from fixtures_app.admin.rows import OrderedFormSet, PositionField, RowForm, RowsInline


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
        fields = (
            *("name", "slug", "kind", "base_url", "api_key_env"),
            *("max_concurrency", "requests_per_minute", "max_tokens_parameter"),
        )
        help_texts = {"slug": "Models are named by it: slug/model."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, text in _help_of(self.instance.kind).items():
            if name in self.fields:  # whoever may only look has none
                self.fields[name].help_text = text
        if "api_key_env" in self.fields:
            self.fields["api_key_env"].help_text += f" Permitted here: {_permitted()}."

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
            "max_tokens_parameter": cleaned["max_tokens_parameter"] or None,
            "max_concurrency": cleaned["max_concurrency"],
            "requests_per_minute": cleaned["requests_per_minute"],
        }
        try:
            ProviderSpec.model_validate(written)
        except ValidationError as error:
            fields = {name: name for name in self.fields} | {"provider": "name"}
            refuse(self, error, model=ProviderSpec, data=written, fields=fields)
        return cleaned


def _permitted() -> str:
    """Name the variables that the operator permits as keys."""
    return ", ".join(dict.fromkeys(each.partition("@")[0] for each in permits().keys)) or "none"


def _help_of(kind: str) -> dict[str, str]:
    """Say what blank fields mean for a kind; nothing for a provider that has none yet."""
    known = KINDS.get(kind)
    if known is None or known.api is None:
        return {}
    if known.base_url is None:
        address = "For example https://NAME.openai.azure.com/openai/v1/ of your own resource."
    elif known.base_url_env:
        address = f"Blank: {known.base_url}, or what {known.base_url_env} says."
    else:
        address = f"Blank: {known.base_url}."
    blank = f"Blank: {known.key_env}." if known.key_env else "Blank: none, it needs no key."
    return {
        "base_url": address,
        "api_key_env": (
            f"Name of the environment variable that holds the key, never the key itself. {blank}"
        ),
        "max_tokens_parameter": (
            f"Blank: {known.max_tokens_parameter}. Older servers that speak like OpenAI want "
            "max_tokens."
        ),
    }


class Unmoved(PositionField):
    """The place of a row among others that have no order: never a change."""

    def has_changed(self, initial: object, data: object) -> bool:
        return False


def _today() -> date:
    return timezone.now().date()


class PriceForm(RowForm):
    """What a model costs from a day on."""

    position = Unmoved()
    valid_from = forms.DateField(
        label="From",
        widget=DayInput,
        initial=_today,
        help_text="First day, UTC. It replaces what the model cost before.",
    )
    above_prompt_tokens = forms.IntegerField(
        label="Only above (prompt tokens)",
        required=False,
        min_value=0,
        widget=NumberInput,
        help_text="For calls with a longer prompt than this. Blank: for all.",
    )
    input_usd = UsdInput(label="Input", widget=NumberInput)
    output_usd = UsdInput(label="Output", widget=NumberInput, help_text="Reasoning included.")
    cache_read_usd = UsdInput(
        label="Cache read", widget=NumberInput, required=False, help_text="Blank: not known."
    )
    cache_write_5m_usd = UsdInput(
        label="Cache write, 5 minutes",
        widget=NumberInput,
        required=False,
        help_text="Blank: not known.",
    )
    cache_write_1h_usd = UsdInput(
        label="Cache write, 1 hour",
        widget=NumberInput,
        required=False,
        help_text="Blank: not known.",
    )

    class Meta:
        model = ModelPrice
        fields = (*PriceSpec.model_fields, "position")
        labels = {"is_batch": "Only calls in batches"}
        help_texts = {"model": "As the provider calls it; claude-haiku-* for all that begin so."}
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
        return f"{price.model} from {price.valid_from}{above}{batches}: {costs}"

    def clean(self) -> dict[str, Any]:
        # Not ModelForm's, which compares each row with those in the database: prices may change
        # places, so only all of them together can be checked.
        return self.cleaned_data

    def written(self) -> dict[str, Any]:
        """Give what a file would say, of a row that is valid by itself."""
        given = {name: self.cleaned_data[name] for name in PriceSpec.model_fields}
        return given | {"above_prompt_tokens": given["above_prompt_tokens"] or 0}


_SHOWN = (
    *("model", "valid_from", "input_usd", "output_usd"),
    *("cache_read_usd", "cache_write_5m_usd", "cache_write_1h_usd"),
    *("above_prompt_tokens", "is_batch"),
)


class PriceFormSet(OrderedFormSet):
    """The prices of a provider, read together by ProviderSpec."""

    row_name = "price"
    specs: list[PriceSpec]

    def clean(self) -> None:
        if any(row.errors for row in self.kept):
            return
        # The rest of the provider is checked by the page's own form.
        written = {
            "provider": "-",
            "slug": "x",
            "kind": "anthropic",
            "prices": [row.written() for row in self.kept],
        }
        try:
            self.specs = ProviderSpec.model_validate(written).prices
        except ValidationError as error:
            for loc, message in explained(error, model=ProviderSpec, data=written):
                _, number, field = loc
                self.kept[int(number)].add_error(str(field), message)


class PriceInline(RowsInline):
    """What the models of a provider cost."""

    model, form, formset, page_model = ModelPrice, PriceForm, PriceFormSet, Provider
    verbose_name_plural = "Prices"
    row_template = "admin/evals_app/price_row.html"
    add_label = "Add a price"
    hint = (
        "In USD per million tokens. A run keeps the prices of the day it starts; without a price "
        "its cost is unknown."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = ModelPrice.objects.order_by(
            "model", "is_batch", "-valid_from", "above_prompt_tokens"
        )
        return rows


@admin.register(Provider)
class ProviderAdmin(Editor):
    """Providers: ways to reach models."""

    form = ProviderForm
    inlines = [PriceInline]
    list_display = ["name", "slug", "kind", "key_status", "updated_at"]
    search_fields = ["name", "slug"]
    ordering = ["name"]
    when_empty = "A provider is a way to reach models, for example the API of Anthropic."
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["key_status"]
    actions_detail = ["test_connection"]
    fieldsets = [
        (None, {"fields": ["name", "slug", "kind", "base_url", "api_key_env", "key_status"]}),
        ("Limits", {"fields": ["max_concurrency", "requests_per_minute"]}),
        ("Servers of your own", {"fields": ["max_tokens_parameter"], "classes": ["collapse"]}),
    ]

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Provider | None = None
    ) -> dict[str, list[str]]:
        # Model names begin with the slug; it does not follow a new name by itself.
        return {} if obj else self.prepopulated_fields

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: ANN401, FBT001 - Django's signature
        save_prices(form.instance, formset.specs)

    @display(description="Key")
    def key_status(self, provider: Provider) -> str:
        """Say whether the variable is set where this page is made; never what it holds."""
        if not provider.pk:
            return "Told once it is saved."
        if provider.has_key is None:
            return "It needs no variable."
        if not provider.is_key_permitted:
            return f"{provider.key_variable} is not permitted as a key (EVALS_KEY_VARIABLES)."
        return f"{provider.key_variable} is {'set' if provider.has_key else 'not set'} here."

    def has_test_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        # Named "test", without a dot: see CaseAdmin. It may cost money, and it shows what is there.
        return self.has_change_permission(request)

    @action(
        description="Test the connection",
        icon="cable",
        url_path="test",
        permissions=["test"],
        dialog={
            "title": "Test the connection?",
            "description": (
                "One short call with what is saved, from this web server: its environment holds "
                f"the key. It may cost a fraction of a cent, and takes at most {GIVE_UP_S:.0f} "
                "seconds."
            ),
            "form_submit_text": "Test it",
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
        tell = messages.success if tried.is_well else messages.error
        tell(request, tried.sentence)
        return leave_dialog(reverse("admin:evals_app_provider_change", args=[provider.pk]))
