"""The pages that turn a conversation into a case, or add checks to the case that ran."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.pages import form_data, may_view, page_context, viewers_of
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.proposing.proposals import Kind, Proposal
from evals_app.engine.proposing.recorded_tools import Recording
from evals_app.engine.record.trial import TurnRecord
from evals_app.library.making.case_making import (
    ADD_CASE,
    ADD_SUITE,
    COPY_AGENT,
    CaseOptions,
    LiveCase,
    add_checks,
    make_case,
    proposed_name,
    recorded_suites,
    recording_of,
    suites_for,
)
from evals_app.library.making.observing import ObservedConversation, observe
from evals_app.models import Case, Execution, Suite

CHANGE_CASE = "evals_app.change_case"
_NEW = "new"
_COUNTS: dict[Kind, str] = {
    "call": "check",
    "order": "check",
    "phrase": "check",
    "change": "world",
    "nothing_else": "world",
    "limit": "limit",
}


@dataclass(frozen=True, slots=True)
class Box:
    """A check box; `doubt` explains why it is not ticked, `counts` is what the page counts it as."""

    key: str
    text: str
    is_ticked: bool
    doubt: str = ""
    parts: tuple["Box", ...] = ()
    counts: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The proposals for a turn or, if `number` is None, for the whole conversation."""

    title: str
    boxes: Sequence[Box]
    number: int | None = None
    record: TurnRecord | None = None


class NewCaseForm(forms.Form):
    """Name and place of the new case."""

    name = forms.CharField(max_length=200, widget=UnfoldAdminTextInputWidget, label="Name")
    suite = forms.ChoiceField(widget=UnfoldAdminSelectWidget, label="Suite")
    asks_again = forms.BooleanField(
        required=False,
        label="Ask the earlier messages again, as turns",
        help_text="Otherwise they stay as they were, and only the last message is asked.",
    )
    replays = forms.BooleanField(
        required=False,
        label="Stop when the user's words no longer fit",
        help_text="Before each further message, a judge reads whether the user could still say it after"
        " the new reply.",
    )
    is_recorded = forms.BooleanField(
        required=False,
        label="Answer tools with what was recorded",
        help_text="The case then runs without calling your systems.",
    )
    recorded_suite = forms.ChoiceField(
        required=False,
        widget=UnfoldAdminSelectWidget,
        label="Suite of the copy",
    )

    def __init__(
        self, request: HttpRequest, page: "_Page", data: QueryDict | None, *, name: str
    ) -> None:
        super().__init__(data, initial={"name": name})
        self.page = page
        may_add = request.user.has_perm(ADD_SUITE)
        self._offer("suite", page.suites, is_new=may_add and not page.is_real)
        if not page.observed.trial.history:
            del self.fields["asks_again"]
        if len(page.observed.trial.turns) + len(page.observed.trial.history) <= 1:
            del self.fields["replays"]
        may_copy = request.user.has_perms(COPY_AGENT)
        if page.is_real:
            del self.fields["recorded_suite"]
            if not (page.observed.trial.tool_calls and may_copy and may_add):
                del self.fields["is_recorded"]
            return
        if not (page.recording and page.recording.tools and may_copy):
            del self.fields["is_recorded"]
        if "is_recorded" in self.fields and (page.recorded_suites or may_add):
            self._offer("recorded_suite", page.recorded_suites, is_new=may_add)
        else:
            self.fields.pop("is_recorded", None)
            del self.fields["recorded_suite"]

    def _offer(self, name: str, suites: Sequence[Suite], *, is_new: bool) -> None:
        choices = [(str(suite.pk), suite.name) for suite in suites]
        choices += [(_NEW, "A new suite")] if is_new else []
        cast("forms.ChoiceField", self.fields[name]).choices = choices

    def to_options(self, keys: Collection[str]) -> CaseOptions:
        """Return the chosen options of the new case."""
        cleaned = self.cleaned_data
        is_recorded = bool(cleaned.get("is_recorded"))
        is_of_copy = is_recorded and not self.page.is_real
        chosen = cleaned["recorded_suite" if is_of_copy else "suite"] or _NEW
        offered = self.page.recorded_suites if is_of_copy else self.page.suites
        suite = next((suite for suite in offered if str(suite.pk) == chosen), None)
        return CaseOptions(
            keys=keys,
            name=" ".join(cleaned["name"].split()),
            suite=suite,
            asks_again=bool(cleaned.get("asks_again")),
            replays=bool(cleaned.get("replays")),
            is_recorded=is_recorded,
        )


@dataclass(slots=True)
class _Page:
    """What the page shows of an execution."""

    observed: ObservedConversation
    suites: list[Suite]
    recording: Recording | None
    recorded_suites: list[Suite]
    is_real: bool  # it happened outside

    @classmethod
    def of(cls, execution: Execution, observed: ObservedConversation) -> "_Page":
        recording = recording_of(execution, observed)
        copies = recorded_suites(execution) if recording else []
        is_real = execution.run.is_of_real_conversations
        return cls(observed, suites_for(execution), recording, copies, is_real)


@viewers_of(Execution)
@permission_required(ADD_CASE, raise_exception=True)
def ask_to_make_case(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask what to check, then add the case to a suite."""
    execution, observed = _ended_conversation(pk)
    page = _Page.of(execution, observed)
    name = proposed_name(execution, observed)
    form = NewCaseForm(request, page, form_data(request), name=name)

    def make(keys: Collection[str]) -> Case:
        wanted = form.to_options(keys)
        if not request.user.has_perms(wanted.permissions(execution)):
            raise PermissionDenied
        return make_case(execution, observed, wanted, by=request.user)

    if (case := _try_to_write(request, form, make)) is not None:
        messages.success(request, f"Case “{case}” was added to the suite “{case.suite}”.")
        return redirect(_after(request, case, execution))
    return _ask(
        request,
        title="Make a case of this",
        execution=execution,
        observed=observed,
        recording=page.recording,
        form=form,
        sections=_sections(observed, observed.proposals(), _ticked_keys(request)),
    )


@viewers_of(Execution)
@permission_required(CHANGE_CASE, raise_exception=True)
def ask_to_add_checks(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask what to check, then add these checks to the case that ran."""
    execution, observed = _ended_conversation(pk)
    case = LiveCase.of(execution, observed)
    if case is None:
        raise Http404("The case was deleted or renamed.")
    form = forms.Form(form_data(request))

    def add(keys: Collection[str]) -> Case:
        return add_checks(execution, observed, keys, by=request.user)

    if (changed := _try_to_write(request, form, add)) is not None:
        messages.success(request, f"The checks were added to the case “{changed}”.")
        return redirect(_after(request, changed, execution))
    return _ask(
        request,
        title=f"Add checks to “{case.row}”",
        execution=execution,
        observed=observed,
        case=case,
        form=form,
        sections=_sections(observed, case.proposals(), _ticked_keys(request)),
    )


def _ended_conversation(pk: int) -> tuple[Execution, ObservedConversation]:
    """Return a conversation that checks can be made from."""
    rows = Execution.objects.select_related("run__snapshot", "run__suite", "reviewed").defer(
        "run__summary", "turn_ms"
    )
    execution = get_object_or_404(rows, pk=pk)
    observed = observe(execution) if execution.verdict else None
    if observed is None or not observed.trial.turns:
        raise Http404("This conversation has not ended, or is no longer stored.")
    return execution, observed


def _ask(request: HttpRequest, execution: Execution, **context: object) -> HttpResponse:
    context |= page_context(request, Execution, execution) | {"execution": execution}
    return render(request, "admin/evals_app/conversation/make_case.html", context)


def _ticked_keys(request: HttpRequest) -> Collection[str] | None:
    """Return the keys of what was ticked; None if nothing was ticked yet."""
    return frozenset(request.POST.getlist("keep")) if request.method == "POST" else None


def _try_to_write(
    request: HttpRequest, form: forms.Form, write: Callable[[Collection[str]], Case]
) -> Case | None:
    """Write the case; if that is not possible, the form shows why."""
    kept = _ticked_keys(request)
    if kept is None or not form.is_valid():
        return None
    try:
        return write(kept)
    except CannotError as error:
        form.add_error(error.key if error.key in form.fields else None, error.problems)
    return None


def _after(request: HttpRequest, case: Case, execution: Execution) -> str:
    """Return the editor of a case or, without the right to see it, the previous page."""
    if may_view(request, Case):
        return reverse("admin:evals_app_case_change", args=[case.pk])
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


def _sections(
    observed: ObservedConversation, proposals: Sequence[Proposal], kept: Collection[str] | None
) -> Iterator[Section]:
    for record in observed.trial.turns:
        about = [proposal for proposal in proposals if proposal.turn == record.index]
        boxes = [_box(proposal, kept) for proposal in about]
        yield Section(f"Turn {record.index}", boxes, record.index, record)
    for title, kinds in (
        ("Changes in the world", ("change", "nothing_else")),
        ("Limits", ("limit",)),
    ):
        boxes = [_box(proposal, kept) for proposal in proposals if proposal.kind in kinds]
        if boxes or ("change" in kinds and observed.trial.world_journal):
            yield Section(title, boxes)


def _box(proposal: Proposal, kept: Collection[str] | None) -> Box:
    """Return the box of a proposal, ticked as posted or, if `kept` is None, by default."""
    parts = (
        Box(
            part.key,
            str(part),
            not part.doubt if kept is None else part.key in kept,
            part.doubt,
        )
        for part in proposal.parts
    )
    return Box(
        proposal.key,
        proposal.words,
        proposal.is_ticked if kept is None else proposal.key in kept,
        proposal.doubt,
        tuple(parts),
        _COUNTS.get(proposal.kind, ""),
    )
