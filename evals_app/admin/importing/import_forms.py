"""The forms of the page that imports files: the files, their agent, and their unknown columns."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.text import Truncator
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.presentation import agent_label
from evals_app.formats.importing import SourceFile
from evals_app.formats.tables.chosen import IGNORED, UnknownColumn
from evals_app.formats.tables.columns import param_column
from evals_app.formats.tables.guide import ABOUT, ABOUT_PARAM
from evals_app.library.importing.rights import Rights
from evals_app.library.importing.sources import PASTED
from evals_app.models import Agent

AGENT_FIELD = "Agent for files that do not name one"
_MAX_COLUMNS = 200
_LABEL_CHARS = 60


class _AgentsForm(forms.Form):
    """A form with a choice of the agents that a person may see."""

    def __init__(self, rights: Rights, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["agent"]
        field.label_from_instance = agent_label
        if not rights.may_see("agent"):
            field.queryset = Agent.objects.none()


def _choice_of_agent(**options: Any) -> forms.Field:
    agents = Agent.objects.order_by("name")
    return forms.ModelChoiceField(
        agents, to_field_name="slug", widget=UnfoldAdminSelectWidget, **options
    )


class MissingAgentForm(_AgentsForm):
    """The agent for files that do not name one."""

    prefix = "asked"  # the page has another field for it

    agent = _choice_of_agent(empty_label="Choose an agent", label="Agent")

    def __init__(self, rights: Rights, *args: Any, **kwargs: Any) -> None:
        super().__init__(rights, *args, **kwargs)
        if len(only := Agent.objects.order_by("pk")[:2]) == 1:
            self.initial.setdefault("agent", only[0].slug)


class ImportForm(_AgentsForm):
    """The options sent along with files."""

    agent = _choice_of_agent(
        required=False,
        empty_label="None",
        label=AGENT_FIELD,
        help_text="Most spreadsheets do not name an agent. You will be asked if one is needed.",
    )
    pasted = forms.CharField(
        required=False,
        max_length=1_000_000,
        strip=False,
        label="File content",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"}),
    )
    pasted_name = forms.CharField(
        required=False,
        max_length=200,
        label="File name",
        initial=PASTED,
        help_text="The extension determines the format, for example refunds.suite.yaml.",
        widget=UnfoldAdminTextInputWidget,
    )

    def pasted_file(self) -> SourceFile | None:
        """Return the pasted text as a file, or None."""
        text = self.cleaned_data["pasted"].replace("\r\n", "\n")  # as browsers send lines
        if not text.strip():
            return None
        return SourceFile(self.cleaned_data["pasted_name"] or PASTED, text.encode())


class ColumnsForm(forms.Form):
    """The meaning of unknown columns of tables; `choices` are the previous ones."""

    prefix = "columns"

    def __init__(
        self, unknown: Iterable[UnknownColumn], choices: Mapping[str, str], data: Any = None
    ) -> None:
        super().__init__(data)
        asked = {column.header: column for column in unknown}
        headers = list(dict.fromkeys([*asked, *choices]))[:_MAX_COLUMNS]
        self._headers = {f"column{n}": header for n, header in enumerate(headers)}
        for name, header in self._headers.items():
            column = asked.get(header)
            self.fields[name] = forms.ChoiceField(
                choices=_columns(header),
                required=False,
                label=Truncator(header).chars(_LABEL_CHARS),
                help_text=f"For example: {column.sample}" if column and column.sample else "",
                initial=choices.get(header, column.nearest if column else IGNORED),
                widget=UnfoldAdminSelectWidget,
            )

    def choices_by_header(self) -> dict[str, str]:
        """Return the choices by header."""
        return {header: self.cleaned_data[name] for name, header in self._headers.items()}


def _columns(header: str) -> list[tuple[str, str]]:
    """Return what a column may be: ignored, a parameter of its name, or any known column."""
    param = param_column(header).header
    return [
        (IGNORED, "Ignore this column"),
        *((known, f"{known}: {about}") for known, about in ABOUT.items()),
        (param, f"{Truncator(param).chars(_LABEL_CHARS)}: {ABOUT_PARAM}"),
    ]
