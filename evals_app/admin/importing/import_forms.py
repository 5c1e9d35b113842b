"""The forms of the page that imports files: the files, their agent, and what their columns are."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from django import forms
from django.db.models import QuerySet
from django.utils.text import Truncator
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from evals_app.admin.kit.presentation import agent_label
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.importing import SourceFile
from evals_app.formats.table_mapping import SheetShown, way_choices
from evals_app.formats.tables.answers import NAMES
from evals_app.formats.tables.chosen import (
    IGNORED,
    AnswerGuess,
    ColumnChoices,
    UnknownColumn,
)
from evals_app.formats.tables.columns import param_column
from evals_app.formats.tables.guide import ABOUT, ABOUT_PARAM
from evals_app.formats.tables.separated import is_pasted_table
from evals_app.formats.tables.table import MAX_ROWS
from evals_app.library.importing.rights import Rights
from evals_app.library.importing.sources import PASTED, PASTED_ROWS
from evals_app.models import Agent, Suite

AGENT_FIELD = "Agent for files that do not name one"
_MAX_COLUMNS = 200
_LABEL_CHARS = 60
_OTHER_THAN_ROWS = re.compile(r"\s*([\w-]+:(\s|$)|[-#\[{<])")  # YAML, JSON, XML
_SEPARATED = re.compile(r"\s*.*[,;|]")  # the first line
_T = TypeVar("_T")


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

    def __init__(self, rights: Rights, *args: object, **kwargs: object) -> None:
        super().__init__(rights, *args, **kwargs)
        if len(only := Agent.objects.order_by("pk")[:2]) == 1:
            self.initial.setdefault("agent", only[0].slug)


def suites_to_add_to(rights: Rights) -> QuerySet[Suite]:
    """Return the suites to which a person may add cases."""
    suites = Suite.objects.all()
    return suites if rights.may("change", "suite") else suites.none()


class ImportForm(_AgentsForm):
    """The options sent along with files; `into` is a suite to which their cases are added."""

    into = forms.ModelChoiceField(
        Suite.objects.none(), to_field_name="slug", required=False, widget=forms.HiddenInput
    )
    agent = _choice_of_agent(
        required=False,
        empty_label="None",
        label=AGENT_FIELD,
        help_text="Most spreadsheets do not name an agent. You will be asked if one is needed.",
    )
    as_one_suite = forms.BooleanField(
        required=False,
        label="One suite for each agent",
        help_text="For projects with one eval in each file: every eval becomes a case.",
        widget=UnfoldBooleanWidget,
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
        help_text=(
            "The extension determines the format, for example refunds.suite.yaml. Rows that you "
            "copied from a spreadsheet need none."
        ),
        widget=UnfoldAdminTextInputWidget,
    )

    def __init__(self, rights: Rights, *args: object, **kwargs: object) -> None:
        super().__init__(rights, *args, **kwargs)
        into: Any = self.fields["into"]
        into.queryset = suites_to_add_to(rights)

    def pasted_file(self) -> SourceFile | None:
        """Return the pasted text as a file, or None."""
        text = self.cleaned_data["pasted"].replace("\r\n", "\n")  # as browsers send lines
        if not text.strip():
            return None
        name = self.cleaned_data["pasted_name"] or PASTED
        is_copied = is_pasted_table(text)
        # What is pasted for a suite is rows: also one column, or lines with commas.
        is_rows = is_copied or (self.cleaned_data["into"] and not _OTHER_THAN_ROWS.match(text))
        if is_rows and (name == PASTED or "." not in name):
            name = PASTED_ROWS if name == PASTED else f"{name}.csv"
            if is_copied or not _SEPARATED.match(text):
                text = f"sep=\t\n{text}"
        return SourceFile(name, text.encode())


@dataclass(frozen=True, slots=True)
class OfferedColumn:
    """A column that a person may choose for, by its header."""

    header: str
    became: str
    is_asked: bool = False
    sample: str = ""


@dataclass(frozen=True, slots=True)
class OfferedChoices:
    """What a person may choose for the tables that were read.

    `kinds` are the kinds of expected answers, each with how it is usually compared, `beside` those
    that no sheet shows, with how many there are; `header_row` is the row of the headers where there is
    one sheet. `kept` are the ways to compare that were chosen for an earlier file, by kind.
    """

    columns: tuple[OfferedColumn, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    header_row: int | None = None
    kept: Mapping[str, str] = field(default_factory=dict)


def offer_choices(
    sheets: Sequence[SheetShown],
    unknown: Iterable[UnknownColumn],
    guesses: Iterable[AnswerGuess],
    chosen: TableChoices,
) -> OfferedChoices:
    """Return what may be chosen of sheets, and what is asked or guessed of other files.

    What is asked comes first.
    """
    columns = {
        column.header: OfferedColumn(
            column.header, column.became or column.nearest, column.is_asked, column.sample
        )
        for sheet in reversed(sheets)
        for column in sheet.columns
        if not column.is_part
    }
    for column in unknown:
        columns.setdefault(
            column.header,
            OfferedColumn(column.header, column.nearest, is_asked=True, sample=column.sample),
        )
    for header, meaning in chosen.columns.items():
        columns.setdefault(header, OfferedColumn(header, meaning))
    shown = {
        texts.kind: texts
        for sheet in sheets
        for column in sheet.columns
        for texts in column.texts
        if texts.kind
    }
    kinds: dict[str, str] = {kind: NAMES[kind][1] for kind in shown}
    beside = {guess.kind: guess for guess in guesses if guess.kind not in kinds}
    row = (sheets[0].header_row or None) if len(sheets) == 1 else chosen.header_row
    return OfferedChoices(
        tuple(sorted(columns.values(), key=lambda column: not column.is_asked)[:_MAX_COLUMNS]),
        kinds | {kind: NAMES[kind][1] for kind in beside},
        {kind: f"{guess.name} ({guess.rows:,})" for kind, guess in beside.items()},
        row,
        {kind: texts.way for kind, texts in shown.items() if texts.is_kept},
    )


class ColumnsForm(forms.Form):
    """What each column is, how answers of a kind are compared, and where the headers are."""

    prefix = "columns"

    def __init__(
        self,
        offered: OfferedChoices,
        chosen: TableChoices,
        data: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(data)
        self._offered, self._chosen = offered, chosen
        self._columns = {f"column{n}": column for n, column in enumerate(offered.columns)}
        self._kinds = {f"kind{n}": kind for n, kind in enumerate(offered.kinds)}
        for name, column in self._columns.items():
            self.fields[name] = forms.ChoiceField(
                choices=_columns(column),
                required=False,
                label=Truncator(column.header).chars(_LABEL_CHARS),
                help_text=f"For example: {column.sample}" if column.sample else "",
                initial=chosen.columns.get(column.header, column.became),
                widget=UnfoldAdminSelectWidget,
            )
        for name, kind in self._kinds.items():
            usual = offered.kinds[kind]
            self.fields[name] = forms.ChoiceField(
                choices=[("", f"{usual[:1].upper()}{usual[1:]} (usual)"), *way_choices()],
                required=False,
                label=f"{offered.beside.get(kind, kind)}: how it is compared",
                initial=chosen.checks.get(kind, offered.kept.get(kind, "")),
                widget=UnfoldAdminSelectWidget,
            )
        if offered.header_row:
            self.fields["header_row"] = forms.IntegerField(
                required=False,
                min_value=1,
                max_value=MAX_ROWS,
                label="Headers are in row",
                initial=offered.header_row,
                widget=UnfoldAdminIntegerFieldWidget,
            )

    def choices(self) -> TableChoices:
        """Return the choices of the person: what they left as it was read is none.

        Other headers are other columns, so that choices for columns begin again with them.
        """
        row = self.cleaned_data.get("header_row")
        if row and row != self._offered.header_row:
            return replace(self._chosen, columns={}, header_row=row)
        columns, checks = dict(self._chosen.columns), dict(self._chosen.checks)
        for name, column in self._sent_of(self._columns):
            choice = self.cleaned_data[name]
            if column.is_asked or column.header in columns or choice != column.became:
                columns[column.header] = choice
        for name, kind in self._sent_of(self._kinds):
            way = self.cleaned_data[name]
            if kind in checks or way != self._offered.kept.get(kind, ""):
                checks[kind] = way
        return replace(self._chosen, columns=columns, checks=checks)

    def kept_headers(self) -> list[str]:
        """Return the columns that are what was chosen for an earlier file."""
        chosen = ColumnChoices(self._chosen)
        headers = [column.header for column in self._columns.values()]
        return list(filter(chosen.is_kept, headers))

    def _sent_of(self, names: Mapping[str, _T]) -> Iterator[tuple[str, _T]]:
        return ((name, item) for name, item in names.items() if self.add_prefix(name) in self.data)

    def column_field(self, header: str) -> forms.BoundField | None:
        """Return the field of a column; None: there are too many."""
        names = (name for name, column in self._columns.items() if column.header == header)
        return next((self[name] for name in names), None)

    def fields_beside(self, sheets: Iterable[SheetShown]) -> list[forms.BoundField]:
        """Return the fields of columns and of kinds of answers that no sheet has."""
        known = {column.header for sheet in sheets for column in sheet.columns}
        columns = [name for name, item in self._columns.items() if item.header not in known]
        kinds = [name for name, kind in self._kinds.items() if kind in self._offered.beside]
        return [self[name] for name in [*columns, *kinds]]

    def kind_field(self, kind: str) -> forms.BoundField | None:
        """Return the field of a kind of answers; None: there is none."""
        return next((self[name] for name, known in self._kinds.items() if known == kind), None)


def _first_sentence(about: str) -> str:
    return about.partition(". ")[0].removesuffix(".")


def _columns(column: OfferedColumn) -> list[tuple[str, str]]:
    """Return what a column may be: ignored, a parameter of its name, or any known column."""
    param = param_column(column.header).header
    names = {IGNORED: "Ignore this column"}
    names |= {known: _first_sentence(about) for known, about in ABOUT.items()}
    names[param] = f"{_first_sentence(ABOUT_PARAM)}: {Truncator(param).chars(_LABEL_CHARS)}"
    return [*({column.became: column.became} | names).items()]
