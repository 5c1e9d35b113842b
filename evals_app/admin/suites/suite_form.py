"""The settings of a suite as a form, validated as a file would be."""

from typing import Any

from django.conf import settings
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.checks.check_rows import note_choices
from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.lines import TagsField
from evals_app.admin.kit.model_choices import JUDGES
from evals_app.admin.kit.presentation import agent_label
from evals_app.admin.kit.quantities import UsdInput
from evals_app.admin.kit.spec_form import SpecForm
from evals_app.admin.suites.gate_inputs import NO_NUMBER, write_as_sentence
from evals_app.engine.judging import kinship_warning
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.models import Agent, Suite
from evals_app.models.authored.suites import SUITE
from fixtures_app.editing.editor import VersionedForm
from fixtures_app.models import Fixture

_NO_GATE = (
    "A run that passes by gates needs at least one gate, otherwise it could not fail. Tick one of "
    f"these, or choose “{Suite.RunRule.ALL_CASES.label}”."
)
_GATES = {column.name: column for column in SUITE.columns if column.key[0] == "gates"}
GATES = list(_GATES)


class SuiteForm(SpecForm, VersionedForm):
    """The settings of a suite, validated by SuiteSpec."""

    mapping = SUITE

    tags = TagsField(widget=UnfoldAdminTextInputWidget())
    max_cost_per_call_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())
    max_cost_usd = UsdInput(required=False, widget=UnfoldAdminDecimalFieldWidget())

    kinship = ""  # a warning to show after saving

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if "agent" in self.fields:
            choice: Any = self.fields["agent"]
            choice.label_from_instance = agent_label
        if "fixtures" in self.fields:
            data: Any = self.fields["fixtures"]
            data.queryset = Fixture.objects.with_namesakes().order_by("name")
        for name, column in _GATES.items():
            if field := self.fields.get(name):
                write_as_sentence(field, column.key[-1], about=column.info.description or "")

    class Meta:
        model = Suite
        fields = (*SUITE.names.values(), "agent", "fixtures")
        widgets = {
            "fixtures": Choices(),
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "judge_model": UnfoldAdminTextInputWidget(
                attrs={"list": JUDGES, "autocomplete": "off"}
            ),
            "judge_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "judge_context": UnfoldAdminTextareaWidget(attrs={"rows": 4}),
            "rubric": UnfoldAdminTextareaWidget(
                attrs={"rows": 8, "placeholder": "- Says when the money arrives"}
            ),
        }
        labels = SUITE.labels
        help_texts = SUITE.help_texts | {
            "tags": f"Separated by commas. {SUITE.help_texts['tags']}",
            # Their choices are self-explanatory.
            "pass_rule": "",
            "run_rule": "",
        }

    def clean(self) -> dict[str, Any]:
        fixtures = self.cleaned_data.get("fixtures") or ()
        for name in GATES:
            if self[name].data == " " and name not in self.errors:
                self.add_error(name, NO_NUMBER)
        note_choices(self.instance, changed=self.changed_data, fixtures=fixtures)
        return super().clean()

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        if cleaned["run_rule"] == Suite.RunRule.GATES and all(
            cleaned[name] is None for name in GATES
        ):
            self.add_error("gate_pass_rate", _NO_GATE)
            return
        same_judge = cleaned["judge_model"] == self.initial.get("judge_model")
        # The settings of a judge came from a file and belong to that judge.
        settings = self.instance.judge_settings if same_judge else {}
        written = SUITE.to_mapping(self.instance, cleaned | {"judge_settings": settings}) | {
            "agent": cleaned["agent"].slug,
            "fixtures": [fixture.slug for fixture in cleaned["fixtures"]],
            "cases": [],
        }
        spec = self.read(written)
        if spec is None:
            return
        for loc, message in spec.checks_that_cannot_fail():
            self.add_error(SUITE.names[".".join(map(str, loc))], message)
        self.kinship = _kinship(spec, cleaned["agent"])
        columns = SUITE.values(spec)
        cleaned["judge_model"] = columns["judge_model"]
        self.instance.judge_settings = columns["judge_settings"]


def _kinship(spec: SuiteSpec, agent: Agent) -> str:
    """Return a warning if the judge's model is of the agent's family."""
    judge = spec.judge_model or (settings.EVALS_JUDGE_MODEL if spec.rubric_check else "")
    judge = agent.model if judge == "agent" else str(judge)
    return "" if judge.startswith("scripted/") else kinship_warning([judge], [agent.model])
