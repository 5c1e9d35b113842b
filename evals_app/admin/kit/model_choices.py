"""Suggestions of models for text fields: those that agents use or that have a price."""

import os
from typing import Any

from django.db.models import Prefetch, Value
from django.db.models.functions import Concat
from pydantic import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from evals_app.engine.llm.keys import why_unreachable
from evals_app.engine.specs.base_spec import read_model
from evals_app.models import Agent, ModelPrice, Provider


def known_models() -> list[str]:
    """Return the models that agents use or that have a price of their own, as provider/model."""
    priced = ModelPrice.objects.exclude(model__contains="*")
    names = priced.values_list(Concat("provider__slug", Value("/"), "model"), flat=True)
    used = Agent.objects.exclude(model="").values_list("model", flat=True)
    return sorted(used.union(names))


def reachable_models(*others: str) -> list[str]:
    """Return these and the known models whose provider exists and has the key that it needs."""
    # Prices do not matter here: an empty prefetch keeps `to_spec` from reading those of each provider.
    rows = Provider.objects.prefetch_related(Prefetch("prices", ModelPrice.objects.none()))
    providers = {row.slug: row.to_spec() for row in rows}

    def is_reachable(name: str) -> bool:
        try:
            return why_unreachable(read_model(name), providers, os.environ) is None
        except ValidationError:
            return False

    return [name for name in dict.fromkeys([*others, *known_models()]) if is_reachable(name)]


class ModelInput(UnfoldAdminTextInputWidget):
    """A text input that suggests reachable models; any other model can be typed."""

    template_name = "admin/evals_app/kit/model_input.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        context["widget"]["offered"] = self.suggestions()
        return context

    def suggestions(self) -> list[str]:
        """Return the suggested models."""
        return reachable_models()
