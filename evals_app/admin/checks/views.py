"""What pages load of checks: the inputs of one, the reference of a kind, and a trial on a reply.

A case with many checks would otherwise be a page of more than a megabyte. A trial grades a pasted
reply at once, without a run; nothing is stored.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET, require_POST
from markdown_it import MarkdownIt

from evals_app.admin.checks.check_form import CheckForm
from evals_app.admin.checks.options_form import options_form_class
from evals_app.admin.conversation.transcripts import readable_trial
from evals_app.admin.kit.pages import may_view, viewers_of
from evals_app.admin.kit.presentation import SIGNS, first_words, verdict_state
from evals_app.engine.graders import GRADERS
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Trial
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.example_replies import grade_examples
from evals_app.engine.verdicts.trying import reads_more, try_check
from evals_app.models import Assertion, Case, Suite, Transcript
from evals_app.reports.reference.checks import reference_of
from evals_app.reports.words.figures import score_text
from evals_app.requests.throttles import CheckTrials
from fixtures_app.editing.editor import problems_of, with_plain_newlines
from fixtures_app.editing.rows import read_position

_TEMPLATES = "admin/evals_app/checks"
_WRITING = [
    f"evals_app.{action}_{row}" for row in ("case", "suite") for action in ("add", "change")
]
_READING = "evals_app.view_execution"
_CODE = re.compile(r"`([^`]+)`")
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


@require_GET
def inputs_of_kind(request: HttpRequest, kind: str) -> HttpResponse:
    """Return the blank inputs of one kind of check; a page fragment."""
    if kind not in GRADERS:
        raise Http404
    check = Assertion(type=kind, options=dict(GRADERS[kind].begins))
    form = CheckForm(instance=check, prefix="__row__")
    return render(request, f"{_TEMPLATES}/kind_inputs.html", {"form": form})


@require_GET
def inputs_of_check(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the inputs of a stored check, with the prefix of its row; a page fragment."""
    check = get_object_or_404(Assertion, pk=pk)
    if not may_view(request, Case if check.suite_id is None else Suite):
        raise PermissionDenied
    form = CheckForm(instance=check, prefix=request.GET.get("prefix"))
    return render(request, f"{_TEMPLATES}/inputs.html", {"form": form})


@require_GET
def check_reference(request: HttpRequest, kind: str) -> HttpResponse:
    """Return how a kind of check scores, with an example and its cost; a part of a page."""
    if kind not in GRADERS:
        raise Http404
    reference = reference_of(kind)
    options = options_form_class(kind).base_fields.items()
    labels = CheckForm.Meta.labels | {name: str(field.label) for name, field in options}
    context = {"reference": reference, "scoring": prose(reference.scoring, labels)}
    return render(request, f"{_TEMPLATES}/reference.html", context)


def prose(markdown: str, labels: Mapping[str, str] = MappingProxyType({})) -> SafeString:
    """Write the Markdown of docstrings as HTML.

    `labels` are the labels of fields on the page, by their keys in files.
    """

    def code_tag(code: re.Match[str]) -> str:
        return f"“{labels[code[1]]}”" if code[1] in labels else code[0]

    return mark_safe(_MARKDOWN.render(_CODE.sub(code_tag, markdown)))  # noqa: S308 - HTML is escaped


# Trying a check

_EXAMPLE_WORDS = {True: "passes", False: "fails", None: "is not graded"}
_CHOICE_WORDS = {True: "would pass", False: "would fail", None: "would not be graded"}


@require_POST
def try_posted_check(request: HttpRequest) -> HttpResponse:
    """Grade `reply` by the check posted under `prefix`; a page fragment."""
    if not any(map(request.user.has_perm, _WRITING)):
        raise PermissionDenied
    rate = CheckTrials()
    if not rate.allow_request(request, None):
        refused = _render_trial(request, again_s=rate.retry_after, status=429)
        refused.headers["Retry-After"] = rate.retry_after
        return refused
    posted = with_plain_newlines(request.POST)
    form = CheckForm(posted, prefix=posted.get("prefix") or None)
    if not form.is_valid() or form.spec is None:
        problems = [
            problem for part in form.parts for problem in problems_of(part, "", form.prefix or "")
        ]
        return _render_trial(request, problems=problems)
    turn = read_position(posted.get("turn")) or None
    if "examples" in posted:
        return _examples_answer(form.spec, posted, turn)
    grade = async_to_sync(try_check)(
        form.spec,
        reply=posted.get("reply", ""),
        turn=turn,
        expected=posted.get("expected") or None,
        last=_last_trial(request, posted.get("case")) if reads_more(form.spec) else None,
    )
    state = _state(grade)
    score = "" if grade.score is None else score_text(grade.score, scale="0-1")
    return _render_trial(request, grade=grade, state=state, sign=SIGNS[state], score=score)


def _examples_answer(
    check: AssertionSpec, posted: Mapping[str, str], turn: int | None
) -> JsonResponse:
    """Answer with what the check says about its examples, and what each choice would say of a reply."""
    found = async_to_sync(grade_examples)(
        check, reply=posted.get("reply", ""), turn=turn, expected=posted.get("expected") or None
    )
    if found is None or all(grade.passed is None for grade in found.examples.values()):
        return JsonResponse({})
    words = [f"“{text}” {_EXAMPLE_WORDS[grade.passed]}" for text, grade in found.examples.items()]
    choices = {choice: _CHOICE_WORDS[grade.passed] for choice, grade in found.choices.items()}
    sentence = f"For example, {', '.join(words)}."
    if found.reply not in found.examples:
        sentence += f" The choices say whether “{first_words(found.reply)}” would pass."
    return JsonResponse({"sentence": sentence, "choices": choices})


def _render_trial(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    return render(request, f"{_TEMPLATES}/tried.html", context, status=status)


def _state(grade: Grade) -> str:
    if grade.status is GradeStatus.OK:
        return verdict_state(grade.passed, otherwise="informational")
    return "error" if grade.status is GradeStatus.ERROR else "ungraded"


@require_GET
@viewers_of(Case)
@permission_required(_READING, raise_exception=True)
def last_reply(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the latest reply of the agent in a turn of a case, to try checks on."""
    stored = _last_stored(get_object_or_404(Case, pk=pk))
    trial = readable_trial(stored)
    if stored is None or trial is None:
        return JsonResponse({"reply": "", "source": ""})
    number = read_position(request.GET.get("turn")) or len(trial.turns)
    reply = next((turn.reply for turn in trial.turns[number - 1 : number]), "")
    source = f"This is the reply of run {stored.execution.run_id}." if reply else ""
    return JsonResponse({"reply": reply, "source": source})


def _last_trial(request: HttpRequest, pk: str | None) -> Trial | None:
    """Return the last conversation of a case, if the person may read it."""
    if not request.user.has_perm(_READING):
        return None
    case = Case.objects.filter(pk=read_position(pk)).first()
    return None if case is None else readable_trial(_last_stored(case))


def _last_stored(case: Case) -> Transcript | None:
    stored = Transcript.objects.filter(
        execution__case=case.name, execution__run__suite=case.suite_id
    )
    return stored.select_related("execution").order_by("-execution").first()
