"""The pages that propose cases for a suite from a text: what to read, the price, and what to keep."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from evals_app.admin.kit.model_choices import JudgeInput
from evals_app.admin.kit.pages import form_data, person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.suites.suite_pages import PROPOSING, part_context
from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.proposing.cases_from_text import (
    MAX_PROPOSALS,
    MAX_SOURCE_CHARS,
    CaseFromText,
    ProposedCases,
    proposal_prompt,
    read_proposals,
)
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import Rights
from evals_app.models import Run, Suite, Turn
from evals_app.reports.answers.forecasts import all_in_words
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.questions import Question, answer_of, ask_model, forecast_question
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.models import Fixture

_TITLE = "Proposed cases"
_USUAL = 10
_MAX_KNOWN = 200  # questions that the model is shown, so that it asks for others
_NAME_CHARS = 80
_TEMPLATES = "admin/evals_app/suites/proposing"


class ProposingForm(forms.Form):
    """The text to read, the model that reads it, and how many cases."""

    text = forms.CharField(
        label="Text",
        required=False,
        max_length=MAX_SOURCE_CHARS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 10}),
        help_text="For example your refund policy: what the agent must go by.",
    )
    fixture = forms.ModelChoiceField(
        Fixture.objects.none(),
        label="Or test data",
        required=False,
        empty_label="None",
        widget=UnfoldAdminSelectWidget,
        help_text="Its texts and entries are read instead.",
    )
    count = forms.IntegerField(
        label="How many",
        min_value=1,
        max_value=MAX_PROPOSALS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=f"Up to {MAX_PROPOSALS}.",
    )
    model = forms.CharField(
        label="Model",
        max_length=301,
        widget=JudgeInput,
        help_text="It reads the text and proposes. You decide what becomes a case.",
    )
    max_cost_usd = CeilingField(required=False, help_text="Leave blank for no limit.")

    def __init__(self, request: HttpRequest, suite: Suite) -> None:
        judge = suite.judge_model or settings.EVALS_JUDGE_MODEL
        super().__init__(form_data(request), initial={"count": _USUAL, "model": judge})
        if request.user.has_perm("fixtures_app.view_fixture"):
            choice: Any = self.fields["fixture"]
            choice.queryset = Fixture.objects.with_namesakes().order_by("name")
        else:
            del self.fields["fixture"]
        self._suite = suite

    def clean(self) -> None:
        text, fixture = self.cleaned_data.get("text", ""), self.cleaned_data.get("fixture")
        if bool(text) == (fixture is not None):
            both = "Paste a text or choose test data, not both."
            raise ValidationError(both if text else "Paste a text, or choose test data.")

    def question(self) -> Question:
        """Return what the model is asked.

        Raises:
            CannotStartError: the test data has no text, or too much.
        """
        given = self.cleaned_data
        source = given["text"] or _text_of(given["fixture"])
        prompt = proposal_prompt(
            source,
            count=given["count"],
            known=_questions_of(self._suite)[:_MAX_KNOWN],
            secret=secrets.token_bytes(),
        )
        return Question(_TITLE, prompt, source)


class ProposalForm(forms.Form):
    """A proposed case, in the words of the person who keeps it."""

    keep = forms.BooleanField(label="Add this case", required=False)
    question = forms.CharField(
        label="The customer asks", max_length=4000, widget=UnfoldAdminTextareaWidget({"rows": 2})
    )
    answer = forms.CharField(
        label="A right reply says", max_length=4000, widget=UnfoldAdminTextareaWidget({"rows": 2})
    )


ProposalForms = forms.formset_factory(ProposalForm, extra=0, max_num=MAX_PROPOSALS)


def _text_of(fixture: Fixture) -> str:
    """Return the texts of test data, then its entries, a line each."""
    spec = Fixture.objects.with_everything().get(pk=fixture.pk).to_spec()
    entries = (
        f"{entity.type} {entity.ref}: {json.dumps(entity.data, ensure_ascii=False)}"
        for entity in spec.entities
    )
    text = "\n\n".join([*(chunk.text for chunk in spec.chunks), *entries])
    if not text.strip():
        raise CannotStartError(f"The test data {fixture.name} is empty.")
    if len(text) > MAX_SOURCE_CHARS:
        raise CannotStartError(
            f"The test data {fixture.name} has {len(text):,} characters; at most"
            f" {MAX_SOURCE_CHARS:,} are read. Paste a part of it instead."
        )
    return text


def _questions_of(suite: Suite) -> list[str]:
    return list(Turn.objects.filter(case__suite=suite).values_list("user", flat=True))


@permission_required(PROPOSING, raise_exception=True)
def propose_cases(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a text, then let a model read it."""
    suite = get_object_or_404(Suite.objects.current(), pk=pk)
    form = ProposingForm(request, suite)
    if form.is_valid():
        given = form.cleaned_data
        limit = {"max_cost_usd": given["max_cost_usd"]}
        try:
            run = ask_model(given["model"], form.question(), by=person(request), **limit)
        except CannotStartError as error:
            form.add_error(None, list(error.problems))
        else:
            return redirect("admin:evals_app_suite_proposals", suite.pk, run.pk)
    return _show(request, suite, "ask.html", {"form": form})


@require_POST
@permission_required(PROPOSING, raise_exception=True)
def price_of_proposals(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what reading the text would cost."""
    form = ProposingForm(request, get_object_or_404(Suite.objects.current(), pk=pk))
    if not form.is_valid():
        sentence = "Paste a text or choose test data to see the price."
    else:
        limit = form.cleaned_data["max_cost_usd"]
        try:
            expected = forecast_question(
                form.cleaned_data["model"], form.question(), by=person(request)
            )
        except CannotStartError as error:
            sentence = " ".join(error.problems)
        else:
            month = month_left(request.user.pk)
            sentence = all_in_words([expected], max_cost_usd=limit, month_left_usd=month)
    return render(request, "admin/evals_app/kit/price_answer.html", {"sentence": sentence})


@permission_required(PROPOSING, raise_exception=True)
def proposals(request: HttpRequest, pk: int, run: int) -> HttpResponse:
    """Show what was proposed, and add what is ticked."""
    suite = get_object_or_404(Suite.objects.current(), pk=pk)
    asked = get_object_or_404(Run, pk=run, is_tryout=True, suite_name=_TITLE)
    context: dict[str, object] = {"run": asked}
    if asked.is_open:
        context["has_workers"] = bool(live_workers())
        return _show(request, suite, "proposals.html", context)
    try:
        found = _read_answer(asked, suite)
    except UnreadableAnswerError as error:
        context["problem"] = str(error)
        return _show(request, suite, "proposals.html", context)
    words = [{"question": case.question, "answer": case.answer} for case in found.cases]
    rows = ProposalForms(form_data(request), initial=words)
    if rows.is_valid():
        kept = [
            replace(case, question=given["question"], answer=given["answer"])
            for case, given in zip(found.cases, rows.cleaned_data, strict=True)
            if given["keep"]
        ]
        problem = _add(request, suite, asked, kept) if kept else "Tick what to add."
        if not problem:
            messages.success(request, f"Added {plural(len(kept), 'case')}.")
            return redirect("admin:evals_app_suite_cases", suite.pk)
        messages.error(request, problem)
    context |= {
        "found": found,
        "rows": rows,
        "proposed": list(zip(found.cases, rows, strict=False)),
        "cost": usd_text(asked.agent_cost_usd),
    }
    return _show(request, suite, "proposals.html", context)


def _read_answer(run: Run, suite: Suite) -> ProposedCases:
    answer = answer_of(run)
    if answer.problem:
        raise UnreadableAnswerError(answer.problem)
    return read_proposals(
        answer.reply, source=answer.about, known=_questions_of(suite), count=MAX_PROPOSALS
    )


def _add(request: HttpRequest, suite: Suite, run: Run, kept: Iterable[CaseFromText]) -> str:
    """Add the cases to the suite as the rows of a table are; return why that is not possible."""
    rows = [
        {
            "name": case.question[:_NAME_CHARS],
            "question": case.question,
            "criteria": f"The reply says: {case.answer}",
            "context": case.quote,
            "inherit": True,
            "description": f"Proposed from a text in run {run.pk}, which says: {case.quote}",
        }
        for case in kept
    ]
    table = "\n".join(json.dumps(row) for row in rows).encode()
    try:
        import_files(
            [SourceFile("proposed.jsonl", table)],
            into=suite.slug,
            agent=suite.agent.slug,
            rights=Rights.of(request.user),
            edit=f"Cases added that run {run.pk} proposed from a text.",
        )
    except FormatError as error:
        return " ".join(problem.message for problem in error.problems)
    return ""


def _show(
    request: HttpRequest, suite: Suite, template: str, context: dict[str, Any]
) -> HttpResponse:
    _, about = part_context(request, suite.pk, tab="cases")
    context |= about | {"title": "Propose cases"}
    return render(request, f"{_TEMPLATES}/{template}", context)
