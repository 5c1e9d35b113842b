"""The dialog that draws grades of a run for people to check."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from evals_app.admin.kit.choices import Choices
from evals_app.models import Run
from evals_app.models.people.names import shown_name
from evals_app.runs.reviews.review_tasks import (
    MAX_ITEMS,
    USUAL_COUNT,
    checks_to_offer,
    people_who_may_review,
)

MAX_LISTED = 100  # with more, all checks are drawn from


class ReviewTaskForm(forms.Form):
    """How many grades, of which checks, and who checks them."""

    count = forms.IntegerField(
        label="Grades to check",
        min_value=1,
        max_value=MAX_ITEMS,
        initial=USUAL_COUNT,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="Passed and failed grades of every check are among them, and different cases.",
    )
    checks = forms.MultipleChoiceField(label="Checks", required=False, widget=Choices())
    people = forms.ModelMultipleChoiceField(
        User.objects.none(),
        label="Who checks them",
        required=False,
        widget=Choices(),
        help_text="Each person checks all of them. Leave blank to let anyone who may review do it.",
    )

    def __init__(self, run: Run, *, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data, auto_id="task_%s")
        self.run = run
        people: Any = self.fields["people"]
        people.queryset = people_who_may_review()
        people.label_from_instance = shown_name
        self._offer_checks(checks_to_offer(run))

    def _offer_checks(self, offered: list[tuple[str, int]]) -> None:
        self.has_checks = bool(offered)
        if not 1 < len(offered) <= MAX_LISTED:
            del self.fields["checks"]
            return
        field: Any = self.fields["checks"]
        field.choices = [(check, check) for check, _ in offered]
        field.initial = [check for check, _ in offered]
        field.required = True
        field.error_messages["required"] = "Choose at least one check."

    @property
    def task_options(self) -> dict[str, Any]:
        """The choices as `create_task` takes them."""
        data = self.cleaned_data
        checks = data.get("checks")
        # Of a large run not every check is offered.
        is_all = "checks" not in self.fields or checks == self.fields["checks"].initial
        return {
            "count": data["count"],
            "people": list(data["people"]),
            "checks": None if is_all else checks,
        }
