"""The form of one check: its kind, the options of that kind, and the fields that all kinds share.

AssertionSpec validates it, so forms, files and REST refuse the same things.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from django import forms
from pydantic import ValidationError

from evals_app.admin.checks.check_picker import KindInput, kind_choices
from evals_app.admin.checks.options_form import OptionsForm, initial_options, options_form_class
from evals_app.admin.kit.model_choices import JUDGES
from evals_app.admin.kit.spec_form import SpecForm, explain_errors
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.graders import GRADERS, PlainGrader
from evals_app.engine.graders.kit.base import Need
from evals_app.engine.specs.inventory import Inventory
from evals_app.engine.suites.case_templates import to_replace
from evals_app.engine.suites.suite_spec import COMMON_KEYS, AssertionSpec
from evals_app.formats.reading.problems import Loc
from evals_app.models import Assertion
from evals_app.models.authored.suites import ASSERTION
from fixtures_app.editing.inputs import CheckBox, NumberInput, Select, TextInput
from fixtures_app.editing.json_field import write_json
from fixtures_app.editing.rows import RowForm


class CheckForm(SpecForm, RowForm):
    """One check: its type, the options of that type, and the fields that all types share.

    The page shows a stored check as a sentence and loads its inputs when someone opens it. One that
    no one opened posts `closed` instead of them, and stays as it is stored.
    """

    mapping = ASSERTION

    type = forms.ChoiceField(
        label="Kind of check",
        choices=kind_choices,
        widget=KindInput({"data-check-kind": ""}),
        error_messages={"required": "Choose what to check, or remove this row."},
    )
    weight = forms.FloatField(required=False, min_value=0, initial=1.0, widget=NumberInput)
    threshold = forms.FloatField(required=False, min_value=0, max_value=1, widget=NumberInput)

    class Meta:
        model = Assertion
        fields = (*ASSERTION.names.values(), "position")
        labels = ASSERTION.labels
        help_texts = ASSERTION.help_texts | {"type": "", "enabled": "", "scope": ""}
        widgets = {
            "name": TextInput,
            "enabled": CheckBox,
            "fail_on_error": CheckBox,
            "model": TextInput({"list": JUDGES, "autocomplete": "off"}),
            "scope": Select,
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.spec: AssertionSpec | None = None
        self.concerns: list[str] = []
        self.is_closed = self.is_bound and bool(self.data.get(self.add_prefix("closed")))
        fields: Any = self.fields
        stored = self.instance.type
        posted = self.data.get(self.add_prefix("type")) if self.is_bound else None
        self.kind: str = stored if self.is_closed or posted is None else posted
        if stored and stored not in GRADERS:
            gone = (stored, f"{stored} (no longer available)")
            fields["type"].choices = [gone, *kind_choices()[1:]]
        fields["scope"].choices = [
            ("", "Default: this turn's reply (final checks: the last reply)"),
            *Assertion.Scope.choices,
        ]
        self.options_form: OptionsForm | None = None
        self.grader = GRADERS.get(self.kind)
        if self.is_closed:
            self.fields = {"position": fields["position"]}
        elif self.grader is not None:
            is_stored = self.kind == stored
            self.options_form = options_form_class(self.kind)(
                self.data if self.is_bound else None,
                prefix=self.add_prefix("opt"),
                initial=initial_options(stored, self.instance.options) if is_stored else None,
            )

    @property
    def is_gone(self) -> bool:
        """Whether the stored kind no longer exists."""
        return bool(self.kind) and self.kind == self.instance.type and self.grader is None

    @property
    def is_unreadable(self) -> bool:
        """Whether the stored options are no longer valid."""
        is_stored = bool(self.instance.pk) and self.kind == self.instance.type
        return is_stored and self.grader is not None and _stored_spec(self.instance) is None

    @property
    def loads_later(self) -> bool:
        """Whether the page loads its inputs when someone opens it."""
        is_stored = not self.is_bound and bool(self.instance.pk)
        return self.is_closed or (is_stored and not self.is_gone and not self.is_unreadable)

    @property
    def is_removed(self) -> bool:
        # Someone else has removed it, and its content is not in the posted page.
        return super().is_removed or (self.is_closed and self.is_added)

    @property
    def stored_options(self) -> str:
        return write_json(self.instance.options)

    @property
    def is_judged(self) -> bool:
        return self.grader is not None and self.grader.family == "judged"

    @property
    def can_be_tried(self) -> bool:
        """Whether the editor can grade a reply with it at once."""
        return self.grader is not None and issubclass(self.grader, PlainGrader)

    @property
    def needs_run(self) -> bool:
        return self.grader is not None and not self.can_be_tried

    @property
    def reads_text(self) -> bool:
        return self.grader is not None and self.grader.reads_text

    @property
    def only_measures(self) -> bool:
        """Whether its kind needs a threshold to pass or fail."""
        return self.grader is not None and only_measures(self.kind)

    @property
    def shows_score(self) -> bool:
        """Whether the stored check neither passes nor fails."""
        spec = _stored_spec(self.instance) if self.instance.pk else None
        return spec is not None and not spec.grader.decides(spec.threshold)

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("name", "weight")]

    @property
    def shows_more(self) -> bool:
        """Whether a rarely used field has an error, or a rarely used option is set."""
        is_set = self.options_form is not None and self.options_form.has_advanced
        return is_set or self._has_more_errors

    @property
    def _has_more_errors(self) -> bool:
        elsewhere = ("type", "threshold") if self.only_measures else ("type",)
        return self.is_bound and any(
            name in self.errors for name in self.fields if name not in elsewhere
        )

    @property
    def parts(self) -> list[forms.BaseForm]:
        return [self] if self.options_form is None else [self, self.options_form]

    @property
    def title(self) -> str:
        """The sentence that a closed row shows."""
        if self.is_bound and self.spec is not None:
            return self.spec.label
        if self.is_bound and self.grader is not None and not self.is_closed:
            return self.grader.label
        return title_of(self.instance) if self.instance.type else ""

    @property
    def is_open(self) -> bool:
        """Whether the page shows its inputs at once: one from a template only if something is to be replaced."""
        is_ready = not self.is_bound and self.instance.type and not to_replace(self.title)
        return self.has_errors or (self.is_added and not is_ready)

    def has_changed(self) -> bool:
        return super().has_changed() or bool(self.options_form and self.options_form.has_changed())

    def _get_validation_exclusions(self) -> set[str]:
        # The form validates the weight; Django would query the database for every check.
        django: Any = super()
        return {*django._get_validation_exclusions(), "weight"}  # noqa: SLF001 - a hook of forms

    def is_valid(self) -> bool:
        # Both forms are validated, so that both show their errors.
        return super().is_valid() and not (self.options_form and self.options_form.errors)

    def clean(self) -> dict[str, object]:
        cleaned = self.cleaned_data
        if self.is_closed:
            return super().clean()
        if cleaned.get("weight") is None and not self.has_error("weight"):
            cleaned["weight"] = 1.0
        if not self.is_judged:
            cleaned["model"] = ""
        if not self.reads_text:
            cleaned["scope"] = ""
        return super().clean()

    def clean_whole(self, cleaned: dict[str, object]) -> None:
        if self.is_removed:
            return
        if self.is_closed:
            self._read(self.instance.to_mapping())
        elif self.options_form is not None and self.options_form.is_valid():
            self._read(self._to_mapping(cleaned, self.options_form))

    def _to_mapping(self, cleaned: dict[str, object], options: OptionsForm) -> dict[str, object]:
        stored = self.initial.get("model") or ""
        # The settings of a judge came from a file and belong to that judge.
        settings = self.instance.model_settings if cleaned["model"] == stored else {}
        values = cleaned | {"model_settings": settings}
        return ASSERTION.to_mapping(self.instance, values) | options.to_mapping()

    def _read(self, written: dict[str, object]) -> None:
        try:
            self.spec = AssertionSpec.model_validate(written)
        except ValidationError as error:
            problems = explain_errors(error, model=AssertionSpec, data=written)
            self.spec = self._as_it_was(written)
            if self.spec is None:
                for loc, message in problems:
                    self._complain(loc, message)
                return
            self.concerns = [message for _, message in problems]
        if hollow := self.spec.cannot_fail_at():
            self._object(*hollow)
        for key, value in written.items():
            if isinstance(value, str) and (problem := to_replace(value)):
                self._object((key,), problem)
        columns = Assertion.columns_of(self.spec)
        self.cleaned_data["model"] = columns["model"]
        self.instance.options = columns["options"]
        self.instance.model_settings = columns["model_settings"]

    def _as_it_was(self, written: dict[str, object]) -> AssertionSpec | None:
        """Read options that did not change, even if the operator no longer permits them."""
        is_changed = self.options_form is not None and self.options_form.has_changed()
        if self.is_added or is_changed or self.kind != self.instance.type:
            return None
        try:
            return AssertionSpec.model_validate(written, context=FROZEN)
        except ValidationError:
            return None

    @property
    def is_edited(self) -> bool:
        """Whether this save changes the check; old problems do not prevent saving."""
        if self.is_added or (self.options_form is not None and self.options_form.has_changed()):
            return True
        return bool(set(self.changed_data) - {"position"})

    def _object(self, loc: Loc, message: str, *, is_new: bool = False) -> None:
        """Refuse a new problem, and warn about an old one."""
        if is_new or self.is_edited:
            self._complain(loc, message)
        else:
            self.concerns.append(message)

    def compare_names(self, inventory: Callable[[], Inventory], *, is_new: bool = False) -> None:
        """Refuse tools, chunks and entities unknown to the agent and the fixtures of the suite.

        `is_new`: agent or fixtures were chosen just now.
        """
        if self.errors or self.spec is None:
            return
        mentions = list(self.spec.grader.mentions())
        if not mentions:
            return
        known = inventory()
        self.concerns += [problem for _, problem in known.warnings(mentions)]
        for named, problem in known.problems(mentions):
            if named.thing == "tool" and not known.tools:
                self.concerns.append(problem)  # the agent may get tools later
            else:
                self._object(named.loc[:2], problem, is_new=is_new)

    def _complain(self, loc: Loc, message: str) -> None:
        key, rest = (loc[0], loc[1:]) if loc else (None, ())
        where = ": ".join(f"Line {step + 1}" if isinstance(step, int) else step for step in rest)
        sentence = f"{where}: {message}" if where else message
        if key in COMMON_KEYS and key in self.fields:
            self.add_error(str(key), sentence)
        elif self.options_form is not None:
            self.options_form.add_error(self.options_form.name_of(key), sentence)
        else:
            self.add_error(None, sentence)

    def lacks(self, gives: frozenset[Need] = frozenset()) -> Need | None:
        """Return what the check needs from a turn that has none of it; None while invalid."""
        if self.errors or self.spec is None:
            return None
        return min(self.spec.grader.needs() - gives, default=None)

    def warnings(self) -> Iterator[str]:
        """Yield warnings about what is valid but probably not intended."""
        if self.spec is None:
            return
        yield from self.concerns
        yield from self.spec.grader.warnings()
        yield from self.spec.grader.advice()
        if self.options_form is None:
            return
        for field in self.options_form:
            given = self.options_form.cleaned_data.get(field.name)
            if isinstance(given, str) and given.isspace():
                yield f"“{field.label}” contains only spaces."

    @property
    def takes_value(self) -> bool:
        return self.grader is not None and "value" in options_form_class(self.kind).base_fields

    def complain_of_value(self, message: str) -> None:
        """Add an error to the value, or to a missing one."""
        self._complain(("value",), message)
        self.spec = None


@cache
def only_measures(kind: str) -> bool:
    """Whether checks of a kind with default options need a threshold to pass or fail."""
    return not GRADERS[kind].model_construct().decides(None)


def title_of(row: Assertion) -> str:
    """Return a stored check as a sentence."""
    if spec := _stored_spec(row):
        return spec.label
    if row.type in GRADERS:
        return f"{GRADERS[row.type].label}: cannot be read. Open and save it"
    return f"“{row.type}” is no longer available"


def _stored_spec(row: Assertion) -> AssertionSpec | None:
    try:
        return row.to_spec()
    except ValidationError:
        return None
