"""A list of check boxes with help texts."""

from django import forms

from fixtures_app.editing.markup import TemplateContext


class Choices(forms.CheckboxSelectMultiple):
    """Check boxes; `help_by_value` has help texts for some of them.

    A short list begins with what is chosen, and scrolls after a few.
    """

    template_name = "admin/evals_app/kit/choices.html"
    input_type = "group"  # Unfold writes the label of a single check box behind it

    def __init__(
        self, help_by_value: dict[str, str] | None = None, *, is_short: bool = False
    ) -> None:
        super().__init__(attrs={"class": "ew-check"})
        self.help_by_value = help_by_value or {}
        self.is_short = is_short

    def get_context(
        self, name: str, value: object, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        context["widget"]["is_short"] = self.is_short
        if self.is_short:
            context["widget"]["optgroups"].sort(key=lambda group: not group[1][0]["selected"])
        for _, options, _ in context["widget"]["optgroups"]:
            for option in options:
                option["help"] = self.help_by_value.get(str(option["value"]), "")
        return context
