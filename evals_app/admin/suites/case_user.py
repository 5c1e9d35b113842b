"""Who says the user's words in a case: its turns, a recorded user, or a model."""

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.model_choices import JUDGES
from evals_app.engine.suites.user_spec import MIN_TRIALS, NO_END, SimulatedUserSpec
from evals_app.models import Case
from fixtures_app.editing.rows import OrderedFormSet

WRITTEN, REPLAY, SIMULATED = "written", "replay", "simulated"
_SIDES = [
    (WRITTEN, "The turns, word for word"),
    (REPLAY, "The turns, while they fit"),
    (SIMULATED, "A model, after the turns"),
]
_INFOS = SimulatedUserSpec.model_fields
USER_FIELDS = ("user_side", *(f"user_{key}" for key in _INFOS))
# The fields of keys of the spec, for errors.
PLACES = {"replay": "user_side", "simulated_user": "user_side"} | {
    f"simulated_user.{key}": f"user_{key}" for key in _INFOS
}


def _words(key: str) -> dict[str, Any]:
    info = _INFOS[key]
    return {"label": info.title, "help_text": info.description, "required": False}


class UserFields(forms.Form):
    """The fields about the user's side of a case."""

    user_side = forms.ChoiceField(
        choices=_SIDES,
        label="Who says the user's words",
        widget=UnfoldAdminSelectWidget,
        help_text="Have you got a real conversation? Let its words be said while they fit: before each"
        " further message, a judge reads whether the user could still say it. A model that plays the"
        f" user says something else each time, so such cases run at least {MIN_TRIALS} times, in a suite"
        " of their own.",
    )
    user_goal = forms.CharField(
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}), **_words("goal")
    )
    user_facts = TextLines(placeholder="My order is A-1042.", **_words("facts"))
    user_manner = forms.CharField(widget=UnfoldAdminTextInputWidget(), **_words("manner"))
    user_max_turns = forms.IntegerField(
        widget=UnfoldAdminDecimalFieldWidget(), **_words("max_turns")
    )
    user_model = forms.CharField(
        widget=UnfoldAdminTextInputWidget(attrs={"list": JUDGES, "autocomplete": "off"}),
        **_words("model"),
    )


def side_of(case: Case) -> str:
    """Return who says the user's words of a stored case."""
    return SIMULATED if case.simulated_user else REPLAY if case.replay else WRITTEN


def initial_of(case: Case) -> dict[str, object]:
    """Return the initial values of the fields for a case."""
    user = {key: None if info.is_required() else info.default for key, info in _INFOS.items()}
    user |= {"facts": []} | case.simulated_user
    return {"user_side": side_of(case)} | {f"user_{key}": user[key] for key in _INFOS}


def columns_of(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a case as the fields define them."""
    side = cleaned["user_side"]
    typed = {key: cleaned[f"user_{key}"] for key in _INFOS}
    user = {key: value for key, value in typed.items() if value not in (None, "", [])}
    return {"replay": side == REPLAY, "simulated_user": user if side == SIMULATED else {}}


def refuse_without_end(final_checks: OrderedFormSet) -> None:
    """Refuse a simulated user whose conversation no check would end."""
    case: Case = final_checks.instance
    ends = (row.spec for row in final_checks.kept_rows if row.spec is not None)
    if case.simulated_user and not any(check.ends_conversations for check in ends):
        raise forms.ValidationError(NO_END)
