"""The dialog that tests the connection to a provider."""

from typing import Any

from django import forms
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from evals_app.engine.kinds import KINDS
from evals_app.models import Agent, Provider

ANSWER, EMBEDDING = "answer", "embedding"


class ConnectionForm(BaseDialogForm):
    """What to ask for, and from which model."""

    what = forms.ChoiceField(
        choices=[(ANSWER, "A short answer"), (EMBEDDING, "An embedding of one word")],
        initial=ANSWER,
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The page behind the dialog has fields of the same names.
        super().__init__(*args, auto_id="connection_%s", **kwargs)
        # The action refuses an unknown key.
        self.provider = Provider.objects.filter(pk=self.object_id).first()
        kind = KINDS[self.provider.kind] if self.provider else None
        if kind is None or not kind.has_embeddings:
            del self.fields["what"]
        elif kind.embedding_model:
            self.fields[
                "model"
            ].help_text += f" Leave blank to test embeddings with {kind.embedding_model}."
        if self.provider:
            self.fields["model"].initial = _model_in_use(self.provider)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.is_embedding and not cleaned.get("model") and self.provider:
            cleaned["model"] = KINDS[self.provider.kind].embedding_model or ""
        if not cleaned.get("model"):
            self.add_error("model", "Enter a model of this provider.")
        return cleaned

    @property
    def is_embedding(self) -> bool:
        return self.cleaned_data.get("what") == EMBEDDING


def _model_in_use(provider: Provider) -> str:
    """Return a model that an agent uses, or that has a price."""
    begins = f"{provider.slug}/"
    named = Agent.objects.filter(model__startswith=begins).order_by("pk").first()
    if named:
        return named.model.removeprefix(begins)
    priced = provider.prices.exclude(model__endswith="*").exclude(output_usd=0)
    return priced.order_by("pk").values_list("model", flat=True).first() or ""
